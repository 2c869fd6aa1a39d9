"""What an adversary believes about a movement before and after seeing a release: a Gaussian process.

One coordinate of a trace is X ~ N(mean, Σ), Σ_ij = k(t_i, t_j); the release is Z = X + G with G ~ N(0, Γ). Then

    E[X | Z] = mean + Σ (Σ+Γ)⁻¹ (Z - mean),      V = Σ - Σ (Σ+Γ)⁻¹ Σ.

Dense, O(n³): the exact reference for any kernel. :mod:`sfumato.tracks.priors.statespace` is the O(n) form for Matérn
sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh

from sfumato.base.arrays import FloatArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import Kernel


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is believed after the release: a mean per point and coordinate, and each coordinate's (n, n) covariance."""

    mean_m: FloatArray
    covariance_m2: FloatArray

    @property
    def sd_m(self) -> FloatArray:
        """The standard deviation per point: the half-width of the 68% interval."""
        return np.sqrt(np.maximum(np.diag(self.covariance_m2), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class GaussianPrior:
    """A kernel and a mean the adversary knows; coordinates are independent with the same kernel."""

    kernel: Kernel
    mean_m: float | tuple[float, ...] = 0.0

    def covariance(self, times_s: npt.ArrayLike) -> FloatArray:
        """Σ at the given times, (n, n)."""
        return self.kernel.covariance(finite(times_s, "times_s", dimensions=1))

    def posterior(self, times_s: npt.ArrayLike, release_m: npt.ArrayLike, noise_covariance_m2: FloatArray) -> Posterior:
        """The exact belief about X after seeing Z = X + G."""
        times, release = finite(times_s, "times_s", dimensions=1), finite(release_m, "release_m")
        if len(release) != len(times) or noise_covariance_m2.shape != (len(times), len(times)):
            raise InputError("Times, release and noise covariance do not fit together.", "Give n, n and (n, n).")
        prior = self.kernel.covariance(times)
        gain = solve_semidefinite(prior + noise_covariance_m2, prior).T
        mean = np.asarray(self.mean_m) + gain @ (release - np.asarray(self.mean_m))
        left = prior - gain @ prior
        return Posterior(read_only(mean), read_only((left + left.T) / 2))


def solve_semidefinite(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """matrix⁺ right for a positive semi-definite matrix: Cholesky where it stands, eigenvalues where it is singular.

    Directions with an eigenvalue below n·eps·(largest) count as absent: what is not random cannot be learned from.
    """
    scale = float(np.max(np.abs(np.diag(matrix)), initial=0.0))
    if scale == 0.0:
        return np.zeros_like(right)
    tolerance = len(matrix) * np.finfo(np.float64).eps * scale
    try:
        factor = cholesky(matrix, lower=True)
        if np.min(np.diag(factor)) ** 2 > 10 * tolerance:
            return np.asarray(cho_solve((factor, True), right), dtype=np.float64)
    except LinAlgError:
        pass
    values, vectors = eigh(matrix)
    if values[0] < -1e3 * tolerance:
        raise InputError("The covariance matrix is indefinite.", "A covariance has no negative eigenvalue.")
    kept = values > tolerance
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(basis @ (basis.T @ right), dtype=np.float64)
