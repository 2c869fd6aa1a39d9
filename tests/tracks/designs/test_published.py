"""The published mechanisms as published: their table within 5%, their own bounds beside the exact loss."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.papers.cip.theorems import gp_loss_bound
from sfumato.tracks.designs.convex import least_loss
from sfumato.tracks.designs.exact_designs import joint
from sfumato.tracks.designs.published import concentrated_noise, multiple_secrets, sdp_a, sdp_a_basic, sdp_b, uniform
from sfumato.tracks.priors.kernels import RBF, Periodic

pytest.importorskip("cvxpy")
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def prior_of(kernel, points, nugget=0.0):
    return kernel.covariance(np.arange(float(points))) + nugget * np.eye(points)


@pytest.mark.parametrize(
    ("kernel", "points", "golden"),
    [(RBF(1), 50, 3.0273), (RBF(10), 50, 35.4343), (Periodic(24, 1.1), 48, 34.639)],
)
def test_sdp_a_for_one_time_is_the_tables_and_equals_its_closed_form(kernel, points, golden):
    prior = prior_of(kernel, points)
    found = sdp_a(prior, [24], budget=0.02 * points).value
    assert found.losses()[0] == pytest.approx(golden, rel=0.05)
    closed = sdp_a_basic(prior, 24, budget=0.02 * points)
    np.testing.assert_allclose(found.noise_covariance, closed.noise_covariance, atol=1e-4)
    own = gp_loss_bound(prior, found.noise_covariance + 1e-12 * np.eye(points), [24])
    assert own.total == pytest.approx(found.losses()[0], rel=1e-4)


@pytest.mark.parametrize(("length", "golden"), [(1, 6.18), (3, 106.3), (6, 857.6)])
def test_sdp_a_for_a_compound_pair_is_the_tables(length, golden):
    found = sdp_a(prior_of(RBF(length), 50, 1e-6), [24, 25], budget=1.0).value
    assert found.losses()[0] == pytest.approx(golden, rel=0.05)


def test_sdp_a_breaks_for_smooth_compound_secrets_erratum_7():
    prior = prior_of(RBF(10), 50, 1e-6)
    broken = sdp_a(prior, [24, 25], budget=1.0).value.losses()[0]
    assert broken > 5 * least_loss(prior, [[24, 25]], budget=1.0).objective


@pytest.mark.says("Meehan2021, App. 7.3.1", "gap")
def test_our_optimum_beats_sdp_a_at_the_same_trace_in_the_same_run():
    for length, ratio in ((1, 1.85), (10, 2.75)):
        prior = prior_of(RBF(length), 50)
        published = sdp_a(prior, [24], budget=1.0).value
        ours = joint(prior, 24, budget=published.trace)
        assert ours.objective <= published.losses()[0] / ratio
        assert ours.objective == pytest.approx(ours.value.losses()[0], rel=1e-6)
        assert ours.value.trace == pytest.approx(published.trace)


def test_sdp_b_lies_above_everything_it_was_given():
    rng = np.random.default_rng(0)
    parts = [np.outer(v, v) for v in rng.normal(size=(4, 6))]
    above = sdp_b(parts).value
    for part in parts:
        assert np.linalg.eigvalsh(above - part)[0] >= -1e-9
    assert np.trace(above) <= sum(np.trace(p) for p in parts) * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("length", "golden", "mse"), [(6, 7.37, 0.347), (10, 10.86, 0.251)])
def test_multiple_secrets_is_the_tables_and_the_floor_beats_it(length, golden, mse):
    prior = prior_of(RBF(length), 50, 1e-9)
    secrets = [[i] for i in range(50)]
    found = multiple_secrets(prior, secrets, budget=1.0).value
    assert found.trace / 50 == pytest.approx(mse, rel=0.01)
    assert np.max(found.losses()) == pytest.approx(golden, rel=0.05)
    ours = least_loss(prior, secrets, budget=found.trace)
    assert ours.objective == pytest.approx(50 / found.trace, rel=1e-9)
    assert np.max(found.losses()) >= 2.4 * ours.objective


def test_the_baselines_spend_their_budget_where_they_say():
    prior = prior_of(RBF(6), 50, 1e-9)
    even = uniform(prior, [[i] for i in range(50)], budget=50 * 0.347)
    assert np.max(even.losses()) == pytest.approx(19.49, rel=2e-3)
    there = concentrated_noise(prior, [[3, 4]], budget=1.0)
    assert np.flatnonzero(np.diag(there.noise_covariance)).tolist() == [3, 4]
    assert there.trace == pytest.approx(1.0)


@pytest.mark.slow
def test_a_smooth_compound_design_is_stable_where_the_usual_tolerance_is_solver_noise():
    pytest.importorskip("cvxpy")

    def width(step: float, tolerance: float | None) -> float:
        prior = RBF(80**0.5 + step).covariance(np.arange(50.0)) + 1e-6 * np.eye(50)
        solved = sdp_a(prior, [24, 25], budget=1.0, tolerance=tolerance)
        assert solved.status in ("converged", "stopped")
        assert solved.steps > 0
        return float(solved.value.summary()["two_sigma"] or 0.0)

    tight = [width(step, 1e-8) for step in (-1e-5, 0.0, 1e-5)]
    assert max(tight) / min(tight) < 1.001
    usual = [width(step, None) for step in (-1e-5, 0.0, 1e-5)]
    assert max(usual) <= max(tight) * 1.01
