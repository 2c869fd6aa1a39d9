"""Dense Gaussian priors: posteriors, also where matrices are singular."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.priors.gaussian import GaussianPrior, solve_semidefinite
from sfumato.tracks.priors.kernels import Constant, Matern32, White

PRIOR = GaussianPrior(Matern32(60, 100) + White(1), mean_m=5.0)


def test_the_posterior_is_the_conditional_of_the_joint_law() -> None:
    times = np.array([0.0, 7.0, 20.0, 90.0])
    noise = Matern32(30, 80).covariance(times) + 400 * np.eye(4)
    release = np.array([[30.0, 0.0], [40.0, 1.0], [-5.0, 2.0], [0.0, 3.0]])
    belief = PRIOR.posterior(times, release, noise)
    prior = PRIOR.covariance(times)
    # Precision form: (Σ⁻¹ + Γ⁻¹)⁻¹, another route to the same law.
    left = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(noise))
    assert belief.covariance_m2 == pytest.approx(left, rel=1e-8)
    assert belief.mean_m == pytest.approx(5.0 + left @ np.linalg.solve(noise, release - 5.0), rel=1e-8)


def test_a_constant_path_is_learned_through_a_singular_covariance() -> None:
    prior = GaussianPrior(Constant(10.0))
    belief = prior.posterior([0.0, 1.0, 2.0], [4.0, 4.0, 4.0], np.zeros((3, 3)))
    assert belief.mean_m == pytest.approx([4.0, 4.0, 4.0])
    assert belief.sd_m == pytest.approx(np.zeros(3), abs=1e-5)


def test_solving_with_a_semidefinite_matrix_is_the_pseudo_inverse() -> None:
    factor = np.random.default_rng(0).normal(size=(6, 3))
    matrix, right = factor @ factor.T, np.random.default_rng(1).normal(size=(6, 2))
    assert solve_semidefinite(matrix, right) == pytest.approx(np.linalg.pinv(matrix) @ right, abs=1e-9)
    assert solve_semidefinite(np.zeros((3, 3)), np.ones(3)).tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="indefinite"):
        solve_semidefinite(np.diag([1.0, -1.0]), np.ones(2))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError):
        PRIOR.posterior([0.0, 1.0], [1.0, 2.0], np.eye(3))
