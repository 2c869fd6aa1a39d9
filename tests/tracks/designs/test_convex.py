"""Any set of secrets: golden optima, certified gaps checked by an independent evaluation, both directions, classes."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.designs.barrier import Program, centre
from sfumato.tracks.designs.convex import design_within, least_loss, least_noise
from sfumato.tracks.designs.design import design, least_loss_two_axes, stacked_prior
from sfumato.tracks.designs.exact_designs import block_compound, one_compound
from sfumato.tracks.designs.lower_bound import dual_terms
from sfumato.tracks.designs.noise_design import Problem, regression
from sfumato.tracks.priors.kernels import RBF, Matern32
from sfumato.tracks.secret import basic

SEVERAL = [[5], [24, 25], [30], [40, 44]]
WEIGHTS = [1.0, 20.0, 1.0, 2.0]


def prior_of(kernel, points, nugget=1e-6):
    return kernel.covariance(np.arange(float(points))) + nugget * np.eye(points)


def exact_losses(priors, noise, secrets):
    """The definition, by plain inverses: V_SS⁻¹ - Σ_SS⁻¹."""
    out = []
    for secret in secrets:
        worst = 0.0
        for prior in priors:
            left = prior - prior @ np.linalg.solve(prior + noise, prior)
            own = np.ix_(secret, secret)
            worst = max(worst, np.linalg.eigvalsh(np.linalg.inv(left[own]) - np.linalg.inv(prior[own]))[-1])
        out.append(worst)
    return np.array(out)


def independent_lower_bound(prior, secrets, targets, budget, factors):
    """The dual bound written out with dense matrices and no shared code."""
    gain = cost = 0.0
    total = np.zeros_like(prior)
    for secret, target, x in zip(secrets, targets, factors, strict=True):
        d = x @ x.T
        inverse = np.linalg.inv(prior[np.ix_(secret, secret)])
        h = prior[:, secret] @ inverse
        p = prior - h @ prior[secret, :]
        gain += np.trace(h @ h.T @ d) / target
        cost += np.trace(p @ d)
        total += d
    return gain / (cost + budget * np.linalg.eigvalsh(total)[-1])


@pytest.mark.parametrize(
    ("length", "best", "split"),
    [(1, 2.961331, 5.0398), (3, 32.281177, 45.875), (6, 205.533011, 240.65), (10, 822.828372, 892.77)],
)
def test_the_golden_numbers_of_a_compound_pair(length, best, split):
    prior = prior_of(RBF(length), 50)
    solved = least_loss(prior, [[24, 25]], budget=1.0)
    assert solved.objective == pytest.approx(best, rel=1e-6)
    assert solved.gap < 1e-9
    assert exact_losses([prior], solved.value.noise_covariance, [[24, 25]])[0] == pytest.approx(best, rel=1e-5)
    assert block_compound(prior, [24, 25], budget=1.0).objective == pytest.approx(split, rel=1e-4)


@pytest.mark.parametrize("secret", [[24], [3, 10, 24, 25], list(range(10, 18))])
def test_one_secret_of_any_size_is_closed_form_with_equal_losses_in_every_direction(secret):
    prior = prior_of(RBF(4), 50)
    solved = one_compound(prior, secret, budget=1.0)
    left = prior - prior @ np.linalg.solve(prior + solved.value.noise_covariance, prior)
    own = np.ix_(secret, secret)
    values = np.linalg.eigvalsh(np.linalg.inv(left[own]) - np.linalg.inv(prior[own]))
    np.testing.assert_allclose(values, solved.objective, rtol=1e-4)
    assert solved.gap < 1e-9


def test_several_secrets_reach_a_gap_that_an_independent_evaluation_confirms():
    prior = prior_of(RBF(6), 50)
    program = Program((prior,), tuple(np.array(s) for s in SEVERAL), np.array(WEIGHTS), 1.0)
    m, t = program.start(np.eye(50) * 0.01)
    t *= 1.2
    tau = program.degree / t
    for _ in range(7):
        m, t, _ = centre(program, m, t, tau)
        tau *= 10
    noise = program.noise(m)
    noise /= np.trace(noise)
    upper = np.max(exact_losses([prior], noise, SEVERAL) / WEIGHTS)
    multipliers = program.multipliers(m, t)
    lower = independent_lower_bound(prior, SEVERAL, WEIGHTS, 1.0, multipliers)
    assert lower <= upper
    assert (upper - lower) / upper < 1e-4
    ours = dual_terms(Problem((prior,), tuple(np.array(s) for s in SEVERAL), np.asarray(WEIGHTS)), multipliers)
    assert ours.loss_at(1.0) == pytest.approx(lower, rel=1e-9)


def test_what_a_solution_claims_can_be_proved_again_from_what_it_carries():
    prior = prior_of(RBF(6), 50)
    for secrets, weights in ((SEVERAL, WEIGHTS), ([[24, 25]], [1.0]), ([[24]], [1.0])):
        solved = least_loss(prior, secrets, budget=1.0, targets=weights)
        again = independent_lower_bound(prior, secrets, weights, 1.0, solved.value.proof)
        assert again == pytest.approx(solved.lower_bound, rel=1e-9)
        upper = np.max(exact_losses([prior], solved.value.noise_covariance, secrets) / weights)
        assert (upper - again) / upper < 1e-4


def test_the_lower_bound_holds_for_any_factors_and_any_noise():
    prior = prior_of(RBF(3), 20)
    rng = np.random.default_rng(1)
    secrets = [[3], [8, 9]]
    for _ in range(200):
        factors = [rng.normal(size=(20, 1)), rng.normal(size=(20, 2))]
        root = rng.normal(size=(20, rng.integers(1, 20)))
        noise = root @ root.T / np.sum(root * root)
        upper = np.max(exact_losses([prior], noise + 1e-12 * np.eye(20), secrets))
        assert independent_lower_bound(prior, secrets, [1.0, 1.0], 1.0, factors) <= upper * (1 + 1e-9)


def test_both_directions_agree():
    prior = prior_of(RBF(6), 50)
    there = least_loss(prior, SEVERAL, budget=1.0, targets=WEIGHTS)
    assert there.gap < 1e-5
    back = least_noise(prior, SEVERAL, targets=np.array(WEIGHTS) * there.objective)
    assert back.objective == pytest.approx(1.0, rel=1e-4)
    assert back.lower_bound <= back.objective
    found = exact_losses([prior], back.value.noise_covariance, SEVERAL)
    assert np.all(found <= np.array(WEIGHTS) * there.objective * (1 + 1e-6))


def test_random_problems_of_every_kind_are_solved_both_ways_to_a_certified_gap():
    rng = np.random.default_rng(5)
    for kernel_type in (RBF, Matern32) * 6:
        n = int(rng.integers(3, 16))
        kernel = kernel_type(float(rng.uniform(0.5, 6)), float(10 ** rng.uniform(-2, 3)))
        prior = kernel.covariance(np.sort(rng.uniform(0, n, n)))
        prior += 10 ** rng.uniform(-7, -2) * kernel.variance_m2 * np.eye(n)
        secrets = [
            np.sort(rng.choice(n, size=int(rng.integers(1, min(4, n) + 1)), replace=False))
            for _ in range(int(rng.integers(1, 6)))
        ]
        targets = 10 ** rng.uniform(-1, 1, len(secrets)) / kernel.variance_m2
        budget = n * kernel.variance_m2 * 10 ** rng.uniform(-3, 1)
        there = least_loss(prior, secrets, budget=budget, targets=targets, gap=1e-4)
        back = least_noise(prior, secrets, targets=targets * there.objective, gap=1e-4)
        assert max(there.gap, back.gap) < 1e-3
        assert back.objective == pytest.approx(budget, rel=2e-3)
        assert np.all(back.value.losses() <= targets * there.objective * (1 + 1e-9))


def test_every_point_attains_the_floor_exactly_for_a_constant_diagonal():
    for kernel in (RBF(1), RBF(6), Matern32(9)):
        prior = prior_of(kernel, 50, 1e-9)
        solved = least_loss(prior, [[i] for i in range(50)], budget=50 * 0.35)
        assert solved.objective == pytest.approx(1 / 0.35, rel=1e-9)
        assert solved.gap == 0
        measured = exact_losses([prior], solved.value.noise_covariance, [[i] for i in range(50)])
        np.testing.assert_allclose(measured, 1 / 0.35, rtol=1e-5)


def test_every_point_with_unequal_variances_beats_the_prior_shaped_noise():
    scale = np.linspace(1, 2, 14)
    prior = scale[:, None] * RBF(3).covariance(np.arange(14.0)) * scale + 1e-6 * np.eye(14)
    secrets = [[i] for i in range(14)]
    solved = least_loss(prior, secrets, budget=5.0, gap=1e-4)
    shaped = prior * (5.0 / np.trace(prior))
    assert solved.gap < 1e-3
    assert solved.objective < 0.95 * np.max(exact_losses([prior], shaped, secrets))
    assert solved.objective >= 14 / 5.0 * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("lengths", "golden"), [((3, 6, 9), 3.20), ((2, 4, 8), 3.37)])
def test_minimax_over_a_class_costs_what_the_spec_says(lengths, golden):
    priors = [prior_of(RBF(length), 30) for length in lengths]
    secrets = [[i] for i in range(30)]
    solved = least_loss(priors, secrets, budget=30 * 0.35, gap=1e-3)
    assert solved.objective == pytest.approx(golden, abs=0.01)
    assert solved.gap <= 1e-3
    assert np.max(exact_losses(priors, solved.value.noise_covariance, secrets)) == pytest.approx(solved.objective)


def test_minimax_is_never_better_than_any_member_and_never_worse_than_a_design_for_one():
    priors = [prior_of(RBF(length), 12) for length in (2, 4)]
    solved = least_loss(priors, [[5], [6]], budget=0.5, gap=1e-4)
    alone = [least_loss(p, [[5], [6]], budget=0.5, gap=1e-6) for p in priors]
    assert solved.objective >= max(a.lower_bound for a in alone) * (1 - 1e-9)
    for one in alone:
        noise = one.value.noise_covariance + 1e-9 * np.eye(12)
        assert solved.objective <= np.max(exact_losses(priors, noise, [[5], [6]])) * (1 + 1e-4)


def test_independent_axes_are_designed_apart_and_correlated_ones_gain_from_being_together():
    prior = prior_of(RBF(4), 20)
    apart = least_loss(prior, [[9]], budget=0.5).objective
    both = least_loss_two_axes(prior, prior, [[9]], budget=1.0)
    assert both.objective == pytest.approx(apart, rel=1e-8)
    cross = 0.6 * RBF(4).covariance(np.arange(20.0))
    linked = least_loss_two_axes(prior, prior, [[9]], budget=1.0, cross=cross)
    assert linked.gap < 1e-9
    assert linked.objective != pytest.approx(apart, rel=1e-3)
    with pytest.raises(InputError, match="indefinite"):
        stacked_prior(prior, prior, 1.5 * prior)


def test_secrets_too_many_for_newton_fall_back_to_descent_with_an_honest_gap():
    scale = np.linspace(1, 1.3, 100)
    prior = scale[:, None] * Matern32(5).covariance(np.arange(100.0)) * scale + 1e-3 * np.eye(100)
    solved = least_loss(prior, [[i] for i in range(100)], budget=35.0, gap=0.2)
    assert 0 <= solved.gap < 0.5
    assert solved.lower_bound <= solved.objective
    assert np.max(exact_losses([prior], solved.value.noise_covariance, [[i] for i in range(100)])) == pytest.approx(
        solved.objective, rel=1e-6
    )


def test_targets_below_what_the_budget_allows_say_the_least_budget_that_works():
    prior = prior_of(RBF(6), 50)
    with pytest.raises(InputError) as caught:
        design_within(prior, [[24]], budget=0.1, targets=[7.0])
    least = least_noise(prior, [[24]], targets=[7.0]).objective
    assert f"{least:.6g}" in caught.value.advice
    assert design_within(prior, [[24]], budget=least * 1.001, targets=[7.0]).value.trace <= least * 1.001


def test_bad_input_is_refused():
    prior = prior_of(RBF(3), 10)
    for secrets in ([], [[10]], [[-1]], [[]]):
        with pytest.raises(InputError):
            least_loss(prior, secrets, budget=1.0)
    with pytest.raises(InputError, match="targets"):
        least_loss(prior, [[1], [2]], budget=1.0, targets=[1.0])
    with pytest.raises(InputError, match="different numbers"):
        least_loss([prior, prior[:9, :9]], [[1]], budget=1.0)
    with pytest.raises(InputError, match="indefinite"):
        least_loss(prior - 0.9 * np.eye(10), [[1]], budget=1.0)


@pytest.mark.slow
def test_clarabel_agrees_with_the_closed_form():
    cvxpy = pytest.importorskip("cvxpy")

    def exact_sdp(prior, secret, *, budget):
        """The least loss over every Γ as a Schur-complement SDP in a general solver."""
        slopes, rest = regression(prior, np.array(secret))
        noise, loss = cvxpy.Variable(prior.shape, PSD=True), cvxpy.Variable()
        matrix = cvxpy.bmat([[loss * np.eye(len(secret)), slopes.T], [slopes, rest + noise]])
        held = [(matrix + matrix.T) / 2 >> 0, cvxpy.trace(noise) <= budget]
        cvxpy.Problem(cvxpy.Minimize(loss), held).solve(solver="CLARABEL")
        return float(loss.value)

    prior = prior_of(RBF(3), 20)
    for secret in ([9], [9, 10]):
        assert exact_sdp(prior, secret, budget=0.4) == pytest.approx(
            one_compound(prior, secret, budget=0.4).objective, rel=1e-4
        )


def test_each_secret_is_weighed_by_its_own_radius_and_kept_to_its_own_target():
    times = np.arange(50.0)
    plain = design(times, [basic(10), basic(40)], RBF(6.0), budget=1.0).value.losses()
    own = design(times, [basic(10, radius_m=10.0), basic(40, radius_m=1.0)], RBF(6.0), budget=1.0)
    losses = own.value.losses()
    assert losses[0] < 0.8 * plain[0]  # the wide one gets the noise
    assert losses[0] * 100 == pytest.approx(max(losses[0] * 100, losses[1]), rel=1e-4)
    assert own.value.guarantee().parameters["mu"] == pytest.approx(10 * np.sqrt(losses[0]), rel=1e-4)
    with pytest.raises(InputError, match="radii of their own"):
        own.value.guarantee(radius_m=1.0)
    kept = design(times, [basic(10, target_loss=20.0), basic(40, target_loss=50.0)], RBF(6.0), budget=1.0)
    assert np.all(kept.value.losses() <= np.array([20.0, 50.0]) * (1 + 1e-6))
    assert kept.value.trace <= 1.0
    with pytest.raises(InputError, match="cannot be met"):
        design(times, [basic(10, target_loss=5.0), basic(40, target_loss=50.0)], RBF(6.0), budget=1.0)
    for wrong, word in (
        ([basic(10, target_loss=5.0), basic(40)], "target loss"),
        ([basic(10, radius_m=5.0), basic(40)], "radius"),
    ):
        with pytest.raises(InputError, match=f"1 of 2 secrets have a {word}"):
            design(times, wrong, RBF(6.0), budget=1.0)
    with pytest.raises(InputError, match="does not weigh"):
        design(times, [basic(10, radius_m=2.0), basic(40, radius_m=1.0)], RBF(6.0), budget=1.0, method="concentrated")


def test_one_time_in_the_plane_is_one_time_in_the_guarantee():
    prior = prior_of(RBF(3.0), 12)
    both = least_loss_two_axes(prior, prior, [[5]], budget=1.0).value
    assert both.guarantee(radius_m=2.0).parameters["mu"] == pytest.approx(2.0 * np.sqrt(both.losses()[0]))


def test_beyond_the_largest_union_the_gap_is_never_worse_than_the_floor_and_the_priors_own_shape(monkeypatch):
    monkeypatch.setattr("sfumato.tracks.designs.convex.LARGEST_UNION", 10)
    monkeypatch.setattr("sfumato.tracks.designs.convex.descend", lambda *_: 0)
    prior = prior_of(RBF(6.0), 24)
    secrets = [[i] for i in range(24)] + [[3, 4]]
    solved = least_loss(prior, secrets, budget=0.48, targets=[1.0] * 24 + [60.0])
    assert solved.lower_bound == pytest.approx(50.0)
    assert solved.objective == pytest.approx(np.max(exact_losses([prior], prior * 0.02 / prior[0, 0], secrets)
                                                    / np.array([1.0] * 24 + [60.0])), rel=1e-3)  # fmt: skip
    assert independent_lower_bound(prior, secrets, [1.0] * 24 + [60.0], 0.48, solved.value.proof) == pytest.approx(50.0)
