"""Laws every noise design obeys: trace as asked, loss as stated, interval as measured, no better than proved."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.tracks.designs.design import CONVEX, METHODS, design
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.priors.kernels import RBF, Matern32
from sfumato.tracks.secret import basic, compound, every_point

POINTS = 24
TIMES = np.arange(float(POINTS))
NUGGET = 1e-3
CASES = {
    "one time": [basic(11)],
    "two times together": [compound([11, 12])],
    "several": [basic(4), compound([11, 12]), basic(19)],
    "every time": list(every_point(POINTS)),
}
ONE_ONLY = ("joint", "block")


def solved_for(method, case):
    secrets = CASES[case]
    if method == "published":
        pytest.importorskip("cvxpy")
    return design(TIMES, secrets, RBF(3), budget=0.02 * POINTS, method=method, nugget=NUGGET, gap=1e-4)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(
    ("method", "case"),
    [
        (method, case)
        for method in METHODS
        for case in CASES
        if not (method in ONE_ONLY and len(CASES[case]) > 1)  # closed forms for one secret
        and not (method == "published" and case == "every time")  # slow: the published table has its own test
    ],
)
def test_the_design_is_a_covariance_with_the_loss_it_states(method, case):
    solved = solved_for(method, case)
    value = solved.value
    noise = value.noise_covariance
    assert np.linalg.eigvalsh(noise)[0] >= -1e-9 * np.trace(noise)
    if not (method == "published" and len(CASES[case]) > 1):  # Algorithm 1 does not fix the trace
        assert value.trace == pytest.approx(0.02 * POINTS, rel=1e-6)
    prior = value.priors[0]
    measured = max(
        np.linalg.eigvalsh(loss_matrix(prior, noise + 1e-10 * np.eye(POINTS), s.indices))[-1] for s in CASES[case]
    )
    assert solved.value.summary()["loss"] == pytest.approx(measured, rel=1e-4)
    if solved.lower_bound is not None:
        assert solved.lower_bound <= measured * (1 + 1e-6)
    assert not noise.flags.writeable


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("method", METHODS)
def test_the_adversarys_measured_interval_is_the_one_claimed(method):
    value = solved_for(method, "one time").value
    prior, noise = value.priors[0], value.noise_covariance
    rng = np.random.default_rng(8)
    draws = 6000
    path = np.linalg.cholesky(prior) @ rng.normal(size=(POINTS, draws))
    released = value.release(path, rng=9)
    weights = np.linalg.solve(prior + noise + 1e-12 * np.eye(POINTS), prior[:, 11])
    error = path[11] - weights @ released
    width = 2 * float(np.sqrt(np.mean(error**2)))
    claimed = value.summary()["two_sigma"]
    assert width == pytest.approx(claimed, rel=4 / math.sqrt(2 * draws))
    inside = np.mean(np.abs(error) <= claimed / 2)
    assert inside == pytest.approx(0.6827, abs=4 * math.sqrt(0.22 / draws))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("case", ["one time", "two times together", "several"])
def test_no_method_beats_the_certified_optimum_at_its_own_trace(case):
    for method in METHODS:
        if method in CONVEX or (method in ONE_ONLY and len(CASES[case]) > 1):
            continue
        other = solved_for(method, case).value
        best = design(TIMES, CASES[case], RBF(3), budget=other.trace, method="convex", nugget=NUGGET, gap=1e-4)
        assert best.lower_bound <= other.summary()["loss"] * (1 + 1e-6)
        assert best.objective <= other.summary()["loss"] * (1 + 1e-3)


def test_the_guarantee_speaks_of_the_worst_secret_and_of_the_public_times():
    value = design(TIMES, [basic(3), compound([11, 12])], Matern32(4), budget=1.0, nugget=NUGGET, gap=1e-3).value
    promise = value.guarantee(radius_m=0.5, order=5)
    sizes = np.array([1, 2])
    mu = 0.5 * math.sqrt(float(np.max(value.losses() * sizes)))
    assert promise.parameters["mu"] == pytest.approx(mu)
    assert promise.parameters["epsilon"] == pytest.approx(5 / 2 * mu**2)
    assert any("times" in line for line in promise.not_covered)


def test_a_class_of_kernels_is_judged_by_its_worst_member():
    kernels = [RBF(2), RBF(3), RBF(4)]
    one = design(TIMES, [basic(11)], kernels, budget=0.5, method="joint", nugget=NUGGET)
    all_of_them = design(TIMES, [basic(11)], kernels, budget=0.5, method="minimax", nugget=NUGGET, gap=1e-3)
    assert all_of_them.objective <= one.objective * (1 + 1e-3)
    for kernel in kernels:
        prior = kernel.covariance(TIMES) + NUGGET * np.eye(POINTS)
        loss = loss_matrix(prior, all_of_them.value.noise_covariance, [11])[0, 0]
        assert loss <= all_of_them.objective * (1 + 1e-6)


def test_ill_conditioned_kernels_state_their_jitter_and_are_certified_with_it():
    solved = design(np.arange(50.0), [basic(24)], RBF(10), budget=1.0, method="joint")
    certain = solved.value.certify()
    assert certain.jitter > 0
    assert np.max(certain.losses()) <= solved.objective * (1 + 1e-6)
    assert certain.trace == pytest.approx(1.0 + 50 * certain.jitter)
