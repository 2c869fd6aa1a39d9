"""Every subsequence that contains a point, whole-trace notions, and correlated axes."""

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.papers.cip.several_moments import approaches, axes_loss, worst_subsequence
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.priors.kernels import RBF


def test_the_worst_subsequence_is_above_the_point_and_above_the_whole_trace():
    prior = RBF(2.0).covariance(np.arange(6.0)) + 1e-9 * np.eye(6)
    found = worst_subsequence(prior, np.eye(6), 2)
    assert found.examined == 32
    assert 2 in found.indices
    assert found.loss > 6.0  # the whole trace loses n / variance
    assert found.loss > found.alone
    assert found.alone == pytest.approx(loss_matrix(prior, np.eye(6), [2])[0, 0])
    less = worst_subsequence(prior, 0.5 * np.eye(6), 2)
    assert less.alone == pytest.approx(loss_matrix(prior, 0.5 * np.eye(6), [2])[0, 0])


def test_independent_points_lose_what_they_show():
    found = worst_subsequence(np.eye(5), 0.5 * np.eye(5), 0)
    assert found.alone == pytest.approx(2)
    assert found.loss == pytest.approx(10)


def test_long_traces_are_refused():
    with pytest.raises(InputError, match="subsequences"):
        worst_subsequence(np.eye(20), np.eye(20), 0)


def test_approach_a_and_b_for_all_points_promise_the_same_and_c_ignores_dependence():
    a, b, all_of_them, c = approaches(points=50, noise_variance=0.02, radius=0.2, domain=4.0)
    assert a.epsilon == pytest.approx(all_of_them.epsilon) == pytest.approx(50 * b.epsilon)
    assert c.epsilon == pytest.approx(2.5 * 0.04 / 0.02)
    assert a.noise_sd_for_epsilon_1 == pytest.approx(44.72, abs=0.01)


@pytest.mark.says("Meehan2021, Sec. 5, axes", "undecided")
@pytest.mark.parametrize("rho", [-0.645, 0.0, 0.645])
def test_correlated_axes_lose_what_the_joint_covariance_says(rho):
    n, point = 8, 3
    path = RBF(2.0).covariance(np.arange(float(n))) + 1e-6 * np.eye(n)
    joint_prior = np.kron(np.array([[1.0, rho], [rho, 1.0]]), path)
    joint_noise = 0.1 * np.eye(2 * n)
    exact = float(np.linalg.eigvalsh(loss_matrix(joint_prior, joint_noise, [point, n + point]))[-1])
    alone, found = axes_loss(path, 0.1 * np.eye(n), point, correlation=rho)
    assert found == pytest.approx(exact, rel=1e-8)
    assert found >= alone - 1e-12
