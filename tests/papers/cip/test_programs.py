"""The programs of [Meehan2021] as printed, as coded and as they could be."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.papers.cip.cip_programs import errors_drawn, least_above, least_loss_program
from sfumato.papers.cip.several_moments import compound_loss_exact
from sfumato.tracks.designs.design import design_for
from sfumato.tracks.designs.exact_designs import joint
from sfumato.tracks.designs.noise_design import losses_of
from sfumato.tracks.designs.published import (
    multiple_secrets,
    sdp_a_basic,
    sdp_a_printed,
    sdp_b,
)
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.priors.kernels import RBF, Periodic
from sfumato.tracks.secret import Secret

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def prior_of(kernel, points=25, nugget=1e-6):
    return kernel.covariance(np.arange(float(points))) + nugget * np.eye(points)


@pytest.mark.says("Meehan2021, Sec. 4, MSE", "typo")
def test_the_utility_loss_is_the_expected_square_and_the_trace():
    noise = 0.1 * prior_of(RBF(2))
    printed, meant = errors_drawn(noise, 40_000)
    assert abs(printed) < 0.05
    assert meant == pytest.approx(np.trace(noise), rel=0.02)


@pytest.mark.says("Meehan2021, SDP_A", "false")
@pytest.mark.parametrize("kernel", [RBF(2), RBF(6), Periodic(12, 1.1)])
def test_sdp_a_as_printed_leaves_the_secret_itself_without_noise(kernel):
    design = sdp_a_printed(prior_of(kernel), 12, budget=0.5)
    assert design.noise_covariance[12, 12] == 0.0
    assert design.trace == pytest.approx(0.5)
    assert np.isinf(design.losses()[0]) or design.losses()[0] > 1e6
    assert np.isfinite(sdp_a_basic(prior_of(kernel), 12, budget=0.5).losses()[0])


def test_sdp_a_as_printed_is_the_optimum_of_its_own_objective():
    prior = prior_of(RBF(2))
    a = np.delete(prior[:, 12] / prior[12, 12], 12)
    assert a @ a == pytest.approx(2.54, abs=0.01)

    def objective(noise):  # σ_s² + aᵀΓ_uu a, what Ã⁺B̃⁻¹Ã⁺ᵀ is but for constants
        rest = np.delete(np.delete(noise, 12, 0), 12, 1)
        return noise[12, 12] + a @ rest @ a

    best = objective(sdp_a_printed(prior, 12, budget=1.0).noise_covariance)
    assert best == pytest.approx(a @ a)
    assert best > objective(sdp_a_basic(prior, 12, budget=1.0).noise_covariance)
    alone = sdp_a_printed(prior_of(RBF(1)), 12, budget=1.0).noise_covariance
    assert alone[12, 12] == pytest.approx(1.0) == np.trace(alone)


def test_sdp_b_of_two_is_the_known_closed_form_and_of_one_is_itself():
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    parts = [np.outer(v, v) + 0.1 * np.eye(6) for v in rng.normal(size=(2, 6))]
    solved, closed = sdp_b(parts), least_above(*parts)
    above = solved.value
    np.testing.assert_allclose(above, closed, atol=2e-3)
    assert np.trace(above) < 0.98 * sum(np.trace(part) for part in parts)
    for part in parts:
        assert np.linalg.eigvalsh(above - part)[0] >= -1e-9
    assert np.linalg.eigvalsh(closed - parts[1])[0] >= -1e-12
    assert solved.status == "converged"
    assert np.trace(solved.value) == pytest.approx(np.trace(closed), rel=1e-3)
    np.testing.assert_allclose(sdp_b(parts[:1]).value, parts[0], atol=2e-3)


def test_multiple_secrets_keeps_every_loss_of_its_parts_and_the_share_keeps_the_budget():
    pytest.importorskip("cvxpy")
    prior = prior_of(RBF(6))
    secrets = [np.array([place]) for place in (4, 12, 20)]
    together = multiple_secrets(prior, secrets, budget=0.5).value
    for secret, loss in zip(secrets, together.losses(), strict=True):
        part = sdp_a_basic(prior, int(secret[0]), budget=0.5).noise_covariance
        assert np.linalg.eigvalsh(together.noise_covariance - part)[0] >= -1e-9
        assert loss <= loss_matrix(prior, part, secret)[0, 0] * (1 + 1e-9)
    assert 0.5 < together.trace < 1.5
    assert multiple_secrets(prior, secrets, budget=0.5 / 3).value.trace <= 0.5 * (1 + 1e-9)


def test_published_noise_for_several_secrets_is_brought_to_the_trace_asked_for():
    pytest.importorskip("cvxpy")
    prior = prior_of(RBF(6))
    secrets = [Secret(np.array([place])) for place in (4, 20)]
    found = design_for([prior], secrets, budget=0.5, targets=None, method="published", nugget=0.0).value
    assert found.trace == pytest.approx(0.5, rel=1e-6)
    worst = [loss_matrix(prior, found.noise_covariance, s.indices)[0, 0] for s in secrets]
    np.testing.assert_allclose(found.losses(), worst, rtol=1e-9)


def test_the_optimum_as_a_semidefinite_program_is_that_of_the_closed_form():
    pytest.importorskip("cvxpy")
    prior = prior_of(RBF(2), 8)
    assert least_loss_program(prior, 4, budget=0.16) == pytest.approx(joint(prior, 4, budget=0.16).objective, rel=1e-4)


def test_a_compound_promise_need_not_cover_its_basic_secrets_but_does_where_no_slope_exceeds_one():
    steep = np.array([[1.0, 3.0], [3.0, 9.1]])
    assert compound_loss_exact(loss_matrix(steep, np.eye(2), [0, 1])) == pytest.approx(2.0)
    assert loss_matrix(steep, np.eye(2), [0])[0, 0] == pytest.approx(9.18, abs=0.01)
    rng = np.random.default_rng(0)
    for _ in range(100):
        prior = prior_of(RBF(rng.uniform(0.5, 4)), 6, 1e-4)
        root = rng.normal(size=(6, 6))
        noise = root @ root.T / 6 + 0.01 * np.eye(6)
        pair = np.sort(rng.choice(6, 2, replace=False))
        alone = max(loss_matrix(prior, noise, [int(k)])[0, 0] for k in pair)
        assert alone <= compound_loss_exact(loss_matrix(prior, noise, pair)) * (1 + 1e-9)


def test_the_loss_over_a_class_of_priors_is_that_of_its_worst_member():
    priors = [prior_of(RBF(length)) for length in (2, 4, 6)]
    noise = joint(priors[1], 12, budget=0.5).value.noise_covariance + 1e-3 * np.eye(25)
    each = [loss_matrix(prior, noise, [12])[0, 0] for prior in priors]
    (found,) = losses_of(priors, noise, [np.array([12])])
    assert found == pytest.approx(max(each), rel=1e-6)
    assert max(each) > 1.01 * min(each)
    (alone,) = losses_of(priors[:1], noise, [np.array([12])])
    assert alone == pytest.approx(each[0], rel=1e-6)


@pytest.mark.slow
def test_every_time_of_a_periodic_prior_gets_less_noise_in_the_middle_where_the_period_is_half_the_span():
    pytest.importorskip("cvxpy")
    dips = {}
    for period in (23.0, 23.5, 24.0):
        prior = prior_of(Periodic(period, 1.1), 48)
        noise = multiple_secrets(prior, [np.array([i]) for i in range(48)], budget=0.96).value
        assert noise.trace == pytest.approx(10.4, abs=0.1)
        variances = np.diag(noise.noise_covariance)
        dips[period] = max(variances[0], variances[-1], variances[23:25].max()) / np.median(variances)
    assert dips[23.0] == pytest.approx(0.97, abs=0.005)
    assert dips[23.5] == pytest.approx(0.985, abs=0.005)
    assert dips[24.0] == pytest.approx(1.0, abs=1e-3)
