"""The O(n) walk: the same numbers as the dense formulas, at any lags, with repeats, under multiscale noise."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.losses.gaussian_loss import basic_losses, basic_losses_statespace
from sfumato.tracks.priors.gaussian import GaussianPrior
from sfumato.tracks.priors.kernels import RBF, Constant, Kernel, Matern12, Matern32, Matern52, White
from sfumato.tracks.priors.statespace import (
    innovations,
    is_markov,
    log_likelihood,
    markov_form,
    posterior_variances,
    sample,
    smooth,
    whitened_products,
)

O = 150.0**2
LADDER = ((10, 0.18), (20, 0.086), (80, 0.094), (160, 0.068), (320, 0.038), (640, 0.107), (2560, 0.129), (5120, 0.032),
          (20480, 0.212), (40960, 0.049))  # fmt: skip


def multiscale() -> Kernel:
    noise: Kernel = White(np.sqrt(0.05 * O)) + Constant(np.sqrt(0.1 * O))
    for length_scale, weight in LADDER:
        noise = noise + Matern32(length_scale, np.sqrt(0.85 * O * weight))
    return noise


PRIORS = [
    Matern32(66, 123) + White(1) + Constant(1000),
    Matern52(5000, 3000) + Constant(10),
    Matern32(10, 0.5),
    Matern32(21600, 1e5) + White(10),
    Matern12(100, 40) + Matern52(900, 200) + White(0.5),
]
NOISES = {"multiscale": multiscale(), "independent": White(150), "mixed": Matern32(66, 142) + White(47)}


def irregular(count: int = 120, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.sort(np.concatenate([rng.uniform(0, 3000, count), rng.uniform(0, 3000, 5) + 1e-6, [1e8, 1e8 + 1]]))


@pytest.mark.parametrize("prior", PRIORS[:1] + PRIORS[4:])
def test_the_walked_likelihood_is_the_dense_one(prior: Kernel) -> None:
    times = np.sort(np.random.default_rng(1).uniform(0, 3000, 150))
    values = sample(times, prior, rng=2)[:, 0]
    covariance = prior.covariance(times)
    dense = -0.5 * (
        np.linalg.slogdet(covariance)[1] + values @ np.linalg.solve(covariance, values) + len(times) * np.log(2 * np.pi)
    )
    assert log_likelihood(times, values, prior) == pytest.approx(dense, abs=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_every_point_losses_agree_with_the_dense_ones_to_1e8(prior: Kernel, noise: Kernel) -> None:
    times = irregular()
    dense = basic_losses(prior.covariance(times), noise.covariance(times))
    assert basic_losses_statespace(times, prior, noise) == pytest.approx(dense, rel=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_walked_posterior_is_the_dense_one(prior: Kernel, noise: Kernel) -> None:
    times = irregular(60, seed=3)
    release = np.random.default_rng(4).normal(0, 200, (len(times), 2))
    dense = GaussianPrior(prior).posterior(times, release, noise.covariance(times))
    walked = smooth(times, release, prior=prior, noise=noise)
    assert walked.mean_m == pytest.approx(dense.mean_m, abs=1e-5)
    # The dense route loses digits where sd² is 1e5 times the noise; the walk does not (checked against mpmath).
    assert walked.sd_m == pytest.approx(dense.sd_m, rel=1e-8 if prior.variance_m2 < 1e8 else 1e-3)


def test_losses_agree_with_fifty_digit_arithmetic() -> None:
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 50
    prior, noise = (Matern32(21600, 1e5), 10.0), multiscale()
    times = np.array([0, 1e-6, 1.0, 4.0, 60.0, 61.0, 500.0, 1e8])

    def matern(lag: object, l: float, sd: float) -> object:
        x = mp.sqrt(3) * lag / mp.mpf(l)
        return mp.mpf(sd) ** 2 * (1 + x) * mp.e**-x

    n = len(times)
    own, total = mp.matrix(n, n), mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            lag = abs(mp.mpf(float(times[i])) - mp.mpf(float(times[j])))
            own[i, j] = matern(lag, 21600, 1e5) + (prior[1] ** 2 if i == j else 0)
            other = mp.mpf(0.1 * O) + (mp.mpf(0.05 * O) if i == j else 0)
            for l, w in LADDER:
                other += matern(lag, l, float(np.sqrt(0.85 * O * w)))
            total[i, j] = own[i, j] + other
    solved = total**-1 * own
    exact = [float(1 / (own[i, i] - sum(own[i, k] * solved[k, i] for k in range(n))) - 1 / own[i, i]) for i in range(n)]
    found = basic_losses_statespace(times, prior[0] + White(prior[1]), noise)
    assert found == pytest.approx(exact, rel=1e-8)


def test_a_repeated_moment_has_one_position_one_noise_and_one_loss() -> None:
    times = np.array([0.0, 5.0, 5.0, 5.0, 11.0])
    prior, noise = PRIORS[0], NOISES["multiscale"]
    losses = basic_losses_statespace(times, prior, noise)
    assert losses[[0, 1, 4]] == pytest.approx(
        basic_losses_statespace(np.array([0.0, 5.0, 11.0]), prior, noise), rel=1e-12
    )
    assert losses[1] == losses[2] == losses[3]
    drawn = sample(times, prior, rng=0)
    assert drawn[1] == drawn[2] == drawn[3]


def test_the_order_of_the_times_does_not_matter() -> None:
    times = irregular(40)
    shuffle = np.random.default_rng(5).permutation(len(times))
    release = np.random.default_rng(6).normal(0, 100, len(times))
    sorted_ = smooth(times, release, prior=PRIORS[0], noise=NOISES["multiscale"])
    shuffled = smooth(times[shuffle], release[shuffle], prior=PRIORS[0], noise=NOISES["multiscale"])
    assert shuffled.mean_m == pytest.approx(sorted_.mean_m[shuffle], rel=1e-12)


def test_no_lag_is_too_short_or_too_long() -> None:
    times = np.cumsum([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3, 1e6, 1e9, 1e12])
    for noise in NOISES.values():
        learned, left = posterior_variances(times, prior=PRIORS[0], noise=noise)
        assert np.all(np.isfinite(left))
        assert np.all(left > 0)
        assert np.all(learned >= 0)


@pytest.mark.parametrize("kernel", [Matern12(30, 2), Matern32(30, 2), Matern52(30, 2) + White(1) + Constant(3)])
def test_drawn_paths_have_the_designed_covariance(kernel: Kernel) -> None:
    times = np.array([0.0, 1e-3, 4.0, 5.0, 40.0, 41.0])
    draws = sample(times, kernel, coordinates=40_000, rng=7)
    empirical = draws @ draws.T / draws.shape[1]
    # Standard error of a covariance entry: sqrt((σ⁴ + c²)/N) ≤ σ² sqrt(2/N); five of them.
    assert empirical == pytest.approx(kernel.covariance(times), abs=5 * kernel.variance_m2 * np.sqrt(2 / 40_000))


def test_a_smooth_path_is_drawn_smoothly_over_a_microsecond() -> None:
    draws = sample(np.array([0.0, 1e-6]), Matern52(30, 100.0), coordinates=2000, rng=8)
    steps = np.std(draws[1] - draws[0])
    assert steps == pytest.approx(100 * np.sqrt(5 / 3) / 30 * 1e-6, rel=0.1)


def test_kernels_without_a_markov_form_are_refused_with_advice() -> None:
    assert not is_markov(RBF(3))
    with pytest.raises(InputError, match="no exact state-space form"):
        log_likelihood([0, 1], [0, 1], RBF(3))


def test_white_noise_has_no_state_to_walk_through_and_whitens_by_its_sd():
    """It once began at a state that was not there, and read whatever lay in memory."""
    times = np.array([0.0, 1.0, 2.0, 5.0])
    columns = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [-1.0, 0.0]])
    assert markov_form(White(2.0)).offsets.size == 0
    np.testing.assert_allclose(innovations(times, columns, White(2.0)), columns / 2)
    np.testing.assert_allclose(whitened_products(times, columns, White(2.0)), columns.T @ columns / 4)
    flat = -0.5 * (np.sum(columns**2) / 4 + 8 * np.log(2 * np.pi * 4))
    assert log_likelihood(times, columns, White(2.0)) == pytest.approx(flat)
