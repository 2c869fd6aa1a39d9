"""The exact loss and what follows from it: golden numbers, identities, and what must be infinite."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import (
    delta_at,
    epsilon_at,
    mu_at_epsilon,
    mu_at_odds,
    mu_of,
    odds_after_coarsening,
    odds_at,
    renyi_epsilon,
)
from sfumato.papers.cip.several_moments import compound_loss_bound, compound_loss_exact
from sfumato.tracks.losses.gaussian_loss import (
    basic_losses,
    loss_matrix,
    posterior_covariance,
    stated_jitter,
    worst_direction,
)
from sfumato.tracks.priors.kernels import RBF, Kernel, Matern32, White

TIMES_50 = np.arange(50.0)


# --- golden numbers ---


@pytest.mark.parametrize(
    ("delta", "one", "two", "coarse", "rest"), [(0.01, 1.62, 1.68, 1.74, 3.49), (0.1, 1.32, 1.39, 1.44, 1.97)]
)
def test_the_odds_at_mu_one_fifth_are_the_published_ones(
    delta: float, one: float, two: float, coarse: float, rest: float
) -> None:
    assert odds_at(0.2, delta) == pytest.approx(one, abs=0.005)
    assert odds_at(0.2, delta, two_sided=True) == pytest.approx(two, abs=0.005)
    assert odds_after_coarsening(0.2, delta) == pytest.approx(coarse, abs=0.006)
    # What [Meehan2021, Thm 3.1] would say at order 5 and ε = .1 is much weaker.
    assert renyi_epsilon(0.2, 5) == pytest.approx(0.1)
    assert math.exp(0.1 + math.log(1 / delta) / 4) == pytest.approx(rest, abs=0.01)


def test_after_coarsening_the_one_percent_odds_have_probability_two_and_a_half_percent() -> None:
    assert odds_after_coarsening(0.2, 0.025) == pytest.approx(odds_at(0.2, 0.01), rel=1e-2)


@pytest.mark.parametrize(
    ("length_scale", "o", "shaped", "independent"),
    [(1, 0.571, 1.752, 2.544), (3, 0.485, 2.061, 7.815), (6, 0.347, 2.879, 19.49), (10, 0.251, 3.976, 41.05)],
)
def test_prior_shaped_noise_reaches_the_floor_where_independent_noise_does_not(
    length_scale: float, o: float, shaped: float, independent: float
) -> None:
    prior = RBF(length_scale).covariance(TIMES_50) + 1e-9 * np.eye(50)
    assert basic_losses(prior, o * prior).max() == pytest.approx(shaped, rel=2.5e-3)  # o is printed with three digits
    assert basic_losses(prior, o * prior) == pytest.approx(np.full(50, 1 / o), rel=1e-6)
    assert basic_losses(prior, o * np.eye(50)).max() == pytest.approx(independent, rel=2.5e-3)


@pytest.mark.parametrize(
    ("white", "every", "pair", "window"),
    [
        (0.0, 1.000, 125.6, 3676.5),
        (0.05, 1.038, 94.0, 101.1),
        (0.10, 1.085, 89.7, 81.0),
        (0.20, 1.197, 87.4, 67.4),
        (1.0, 10.198, 147.8, 113.0),
    ],
)
def test_a_white_share_of_a_tenth_beats_independent_noise_on_points_pairs_and_windows(
    white: float, every: float, pair: float, window: float
) -> None:
    times, kernel, o = np.arange(64) * 5.0, Matern32(66, 120) + White(1), 150.0**2
    prior = kernel.covariance(times)
    noise = o * ((1 - white) * prior / kernel.variance_m2 + white * np.eye(64))
    assert basic_losses(prior, noise).max() * o == pytest.approx(every, abs=6e-4)
    pairs = max(worst_direction(loss_matrix(prior, noise, [i, i + 1]))[0] for i in range(63))
    windows = max(worst_direction(loss_matrix(prior, noise, np.arange(i, i + 12)))[0] for i in range(53))
    assert pairs * o == pytest.approx(pair, abs=0.06)
    assert windows * o == pytest.approx(window, rel=1e-3)


@pytest.mark.parametrize(
    ("kernel", "nugget", "redrawn"),
    [
        (RBF(6), 1e-9, {1: 5.714, 6: 5.662, 12: 4.018, 24: 2.857}),
        (Matern32(6), 0.0, {1: 5.436, 6: 3.160, 12: 2.878, 24: 2.857}),
    ],
    ids=["rbf", "matern32"],
)
def test_continuing_noise_composes_for_free_and_redrawn_noise_does_not(
    kernel: Kernel, nugget: float, redrawn: dict[int, float]
) -> None:
    """Two traces of 25 points, o = .35: one continuing process against [Meehan2021, Cor. 3.4.1]'s independent draws."""
    o = 0.35
    for gap, expected in redrawn.items():
        times = np.concatenate([np.arange(25.0), 24 + gap + np.arange(25.0)])
        prior = kernel.covariance(times) + nugget * np.eye(50)
        apart = o * prior.copy()
        apart[:25, 25:] = apart[25:, :25] = 0.0
        assert basic_losses(prior, apart).max() == pytest.approx(expected, abs=1.5e-3)
        assert basic_losses(prior, o * prior) == pytest.approx(np.full(50, 1 / o), rel=1e-6)


@pytest.mark.parametrize(
    ("truth", "shaped", "independent"),
    [(1, 5.62, 3.94), (2, 3.89, 7.29), (3, 3.31, 10.44), (4, 3.03, 13.49), (6, 2.86, 19.36), (9, 3.15, 27.78),
     (12, 3.70, 35.71), (20, 5.34, 54.12)],
)  # fmt: skip
def test_noise_shaped_for_another_length_scale_is_priced_exactly(
    truth: float, shaped: float, independent: float
) -> None:
    o, jitter = 0.35, 1e-9 * np.eye(50)
    prior = RBF(truth).covariance(TIMES_50) + jitter
    noise = o * (RBF(6).covariance(TIMES_50) + jitter)
    assert basic_losses(prior, noise).max() == pytest.approx(shaped, rel=5e-3)
    assert basic_losses(prior, o * np.eye(50)).max() == pytest.approx(independent, rel=5e-3)


def test_a_smaller_length_scale_can_lose_more_for_compound_secrets_even_under_independent_noise() -> None:
    """Erratum 4: compliance at the largest length scale does not imply it below."""
    times = np.arange(5.0)
    worst = [worst_direction(loss_matrix(RBF(l).covariance(times), 0.16 * np.eye(5), [0, 1, 3, 4]))[0] for l in (2, 20)]
    assert worst == pytest.approx([13.67, 12.17], abs=0.01)


# --- identities ---


def random_covariance(rng: np.random.Generator, n: int, floor: float = 0.05) -> np.ndarray:
    factor = rng.normal(size=(n, n))
    return factor @ factor.T / n + floor * np.eye(n)


@pytest.mark.parametrize("secret", [[7], [7, 8], [3, 14, 25]])
def test_the_two_forms_of_the_loss_and_the_factorised_one_agree(secret: list[int]) -> None:
    rng = np.random.default_rng(0)
    prior, noise = RBF(2).covariance(np.arange(30.0)) + 1e-6 * np.eye(30), random_covariance(rng, 30, 0.1)
    left = posterior_covariance(prior, noise)[np.ix_(secret, secret)]
    own = prior[np.ix_(secret, secret)]
    by_information = np.linalg.inv(left) - np.linalg.inv(own)
    slopes = np.linalg.solve(own, prior[secret]).T
    by_range = slopes.T @ np.linalg.solve(prior - slopes @ prior[secret] + noise, slopes)
    loss = loss_matrix(prior, noise, secret)
    assert loss == pytest.approx(by_information, rel=1e-7)
    assert loss == pytest.approx(by_range, rel=1e-7)
    if len(secret) == 1:
        assert basic_losses(prior, noise)[secret[0]] == pytest.approx(loss[0, 0], rel=1e-9)


def test_the_loss_is_the_brute_force_divergence_of_the_two_releases() -> None:
    """Rényi divergence of N(HΔ, P+Γ) against N(0, P+Γ), by integrating the densities of their sufficient statistic."""
    rng = np.random.default_rng(1)
    prior, noise = random_covariance(rng, 6), random_covariance(rng, 6)
    secret, delta, order = [1, 4], np.array([0.7, -0.3]), 3.0
    slopes = np.linalg.solve(prior[np.ix_(secret, secret)], prior[secret]).T
    total = prior - slopes @ prior[secret] + noise
    shift = slopes @ delta
    # Along the likelihood-ratio direction w = (P+Γ)⁻¹HΔ both are normal with the same variance.
    direction = np.linalg.solve(total, shift)
    mean, sd = float(direction @ shift), float(np.sqrt(direction @ total @ direction))

    def integrand(z: float) -> float:
        return math.exp(order * norm.logpdf(z, mean, sd) + (1 - order) * norm.logpdf(z, 0, sd))

    value, _ = quad(integrand, order * mean - 12 * sd, order * mean + 12 * sd, points=[order * mean], limit=500)
    mu = math.sqrt(delta @ loss_matrix(prior, noise, secret) @ delta)
    assert renyi_epsilon(mu, order) == pytest.approx(math.log(value) / (order - 1), rel=1e-6)


def test_small_and_large_losses_keep_their_digits() -> None:
    for scale in (1e-6, 1e-3, 1.0, 1e3, 1e6):
        prior, noise = scale**2 * Matern32(10).covariance(TIMES_50), np.eye(50)
        own = scale**2
        # Independent route: eigenvalues, no Cholesky.
        values, vectors = np.linalg.eigh(prior)
        left = (vectors**2) @ (np.maximum(values, 0) / (np.maximum(values, 0) + 1))
        learned = (vectors**2) @ (np.maximum(values, 0) ** 2 / (np.maximum(values, 0) + 1))
        assert basic_losses(prior, noise) == pytest.approx(learned / (own * left), rel=1e-6)


# --- what must be infinite, singular or refused ---


def test_a_point_without_noise_is_infinitely_exposed_and_its_neighbours_are_not() -> None:
    prior = Matern32(10).covariance(np.arange(12.0))
    noise = np.eye(12)
    noise[3, 3] = 0
    losses = basic_losses(prior, noise)
    assert math.isinf(losses[3])
    assert np.all(np.isfinite(np.delete(losses, 3)))
    assert math.isinf(worst_direction(loss_matrix(prior, noise, [3, 4]))[0])
    assert math.isinf(compound_loss_exact(loss_matrix(prior, noise, [3, 4])))
    assert math.isinf(compound_loss_bound(loss_matrix(prior, noise, [3, 4])))


def test_noise_of_rank_one_along_the_prior_slope_protects_with_the_pseudo_inverse() -> None:
    """A perfectly known rest (P = 0): X = h x, and noise on the same line; only the pseudo-inverse is defined."""
    h = np.array([1.0, 0.5, -2.0])
    prior = np.outer(h, h)
    noise = 4.0 * np.outer(h, h)
    assert loss_matrix(prior, noise, [0])[0, 0] == pytest.approx(1 / 4)
    assert basic_losses(prior, noise)[0] == pytest.approx(1 / 4)
    assert posterior_covariance(prior, noise) == pytest.approx(0.8 * prior)
    sideways = np.diag([1.0, 0.0, 0.0])
    assert math.isinf(basic_losses(prior, sideways)[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda s: basic_losses(s, -s),
        lambda s: basic_losses(s, np.eye(3)),
        lambda s: loss_matrix(s, np.eye(4), [4]),
        lambda s: loss_matrix(s, np.eye(4), [-1]),
        lambda s: loss_matrix(s, np.eye(4), []),
        lambda s: loss_matrix(s, np.eye(4), [1, 1]),
        lambda s: loss_matrix(s, np.eye(4), [0.5]),
        lambda s: loss_matrix(np.ones((4, 4)), np.eye(4), [0, 1]),
        lambda s: basic_losses(np.zeros((4, 4)), np.eye(4)),
        lambda s: basic_losses(s + np.triu(np.ones((4, 4))), np.eye(4)),
        lambda s: basic_losses(s, np.full((4, 4), np.nan)),
        lambda s: compound_loss_exact(np.eye(21)),
        lambda s: mu_of(-1, 200),
        lambda s: mu_of(1, 0),
        lambda s: odds_at(0.2, 0),
        lambda s: renyi_epsilon(0.2, 1),
        lambda s: delta_at(-1, 0.2),
        lambda s: mu_at_odds(1.0),
    ],
)
def test_bad_input_is_refused_with_advice(call: object) -> None:
    with pytest.raises(InputError) as caught:
        call(Matern32(2).covariance(np.arange(4.0)))  # type: ignore[operator]
    assert caught.value.advice


@pytest.mark.parametrize("which", ["prior", "noise"])
def test_a_matrix_that_is_no_covariance_is_refused_even_where_the_sum_is_one(which: str) -> None:
    odd = np.array([[1.0, 1.5, 0.0], [1.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    prior, noise = (odd, 10 * np.eye(3)) if which == "prior" else (10 * np.eye(3), odd)
    for call in (lambda: loss_matrix(prior, noise, [0]), lambda: basic_losses(prior, noise),
                 lambda: posterior_covariance(prior, noise)):  # fmt: skip
        with pytest.raises(InputError, match="indefinite"):
            call()


def test_the_stated_jitter_makes_a_smooth_kernel_well_posed() -> None:
    prior, flat = RBF(20).covariance(TIMES_50), np.zeros((50, 50))
    jitter = stated_jitter(prior, flat)
    assert jitter > 0
    assert stated_jitter(prior, jitter * np.eye(50)) <= 1e-3 * jitter
    assert stated_jitter(prior, np.eye(50)) == 0
    assert np.all(np.isfinite(basic_losses(prior, jitter * np.eye(50))))


# --- compound secrets ---


def test_the_sign_vector_maximum_is_the_brute_force_one_and_below_the_bound() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 3, 6, 9):
        loss = random_covariance(rng, size)
        brute = max(np.array(s) @ loss @ np.array(s) for s in itertools.product((-1.0, 1.0), repeat=size))
        assert compound_loss_exact(loss) == pytest.approx(brute, rel=1e-12)
        assert brute <= compound_loss_bound(loss) * (1 + 1e-12)
        inside = rng.uniform(-1, 1, (2000, size))
        assert np.einsum("ij,jk,ik->i", inside, loss, inside).max() <= brute * (1 + 1e-12)
    assert compound_loss_exact(np.eye(20)) == pytest.approx(20)


# --- odds, delta, epsilon ---


def test_delta_and_epsilon_are_inverse_and_rounded_toward_privacy() -> None:
    for mu in (0.05, 0.2, 0.61, 2.0, 8.0):
        for delta in (1e-12, 1e-5, 0.01):
            epsilon = epsilon_at(delta, mu)
            assert delta_at(epsilon, mu) <= delta
            if epsilon > 0:
                assert delta_at(epsilon * (1 - 1e-6), mu) > delta
    value, _ = quad(lambda z: max(0.0, norm.pdf(z, 0.8, 1) - math.e * norm.pdf(z, 0, 1)), -8, 10, limit=400)
    assert delta_at(1.0, 0.8) == pytest.approx(value, rel=1e-6)
    assert delta_at(500.0, 1.0) == 0.0
    assert delta_at(0.0, math.inf) == 1.0


def test_the_odds_are_passed_as_often_as_claimed() -> None:
    rng, mu = np.random.default_rng(4), 0.6
    log_odds = mu**2 / 2 + mu * rng.normal(size=400_000)
    for delta in (0.01, 0.1):
        error = 4 * math.sqrt(delta / 400_000)
        assert np.mean(log_odds > math.log(odds_at(mu, delta))) == pytest.approx(delta, abs=error)
        both = np.mean(np.abs(log_odds) > math.log(odds_at(mu, delta, two_sided=True)))
        assert both == pytest.approx(delta, abs=error)


def test_calibration_rounds_toward_privacy() -> None:
    for odds in (1.01, 2.0, 5.0, 20.0, 1e6):
        mu = mu_at_odds(odds)
        assert odds_at(mu) <= odds
        assert odds_at(mu * (1 + 1e-9)) > odds * (1 - 1e-12)
    assert renyi_epsilon(mu_at_epsilon(1.3, 5), 5) == pytest.approx(1.3)
    assert mu_of(4.0 / 150**2, 300) == pytest.approx(4.0)
