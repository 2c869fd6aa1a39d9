"""What a release with Gaussian noise gives away about a moment: the exact loss, for any noise and any secret.

Model, one coordinate: X ~ N(mean, Σ) at n times, release Z = X + G, G ~ N(0, Γ). A *secret* S is a set of indices.
Two hypotheses about X_S that differ by Δ make two Gaussians of Z with the same covariance; with

    V = Σ - Σ(Σ+Γ)⁻¹Σ                      what the adversary still does not know,
    J_S = V_SS⁻¹ - Σ_SS⁻¹ = Hᵀ(P+Γ)⁻¹H      H = Σ_{:S}Σ_SS⁻¹,  P = Σ - HΣ_{S:},

their Rényi divergence of order λ is exactly (λ/2) ΔᵀJ_SΔ, in both directions and for every mean: the release is
μ-Gaussian-DP between them with μ² = ΔᵀJ_SΔ [Dong2022], so μ is the number to keep. The loss is infinite where HΔ is
outside the range of P+Γ (for instance Γ_ii = 0). It equals [Meehan2021, Thm 3.4] when the noise at S is independent of
the rest. All n basic losses come from one factorisation: J_i = 1/V_ii - 1/Σ_ii.

Numerics. D = σ² - V is computed as a sum of squares and J = D/(σ²V), so small losses keep their digits. Where Σ+Γ or
V_SS is singular to working precision the pseudo-inverse of P+Γ decides, with the threshold n·eps·(largest
diagonal). A smooth kernel without nugget (RBF, many points per length scale) is beyond double precision: ask
:func:`stated_jitter` for the white variance that makes it well posed, *add it to the noise that is sampled*, and
certify with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh, solve_triangular

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.tracks.priors.gaussian import solve_semidefinite
from sfumato.tracks.priors.statespace import posterior_variances

if TYPE_CHECKING:
    from sfumato.tracks.priors.kernels import Kernel

_EPS = float(np.finfo(np.float64).eps)


def _square(matrix: npt.ArrayLike, name: str) -> FloatArray:
    array = finite(matrix, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InputError(f"{name} is not a square matrix.", "Give an (n, n) covariance.")
    scale = float(np.max(np.abs(array), initial=0.0))
    if scale > 0 and not 1e-100 <= scale <= 1e100:
        raise InputError(f"{name} has entries of {scale:.3g}.", "Doubles do not suffice for it: use another unit.")
    if not np.allclose(array, array.T, rtol=0, atol=1e-9 * scale):
        raise InputError(f"{name} is not symmetric.", "A covariance equals its transpose.")
    return (array + array.T) / 2


def checked_pair(prior_m2: npt.ArrayLike, noise_m2: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Prior and noise as symmetric, positive semi-definite matrices of one size, or an :class:`InputError`."""
    prior, noise = checked_prior(prior_m2), _square(noise_m2, "The noise covariance")
    if prior.shape != noise.shape:
        raise InputError(f"The prior has {len(prior)} points and the noise {len(noise)}.", "They must be the same.")
    # Their sum may be positive definite though one of them is no covariance at all.
    _refuse_unless_semidefinite(noise)
    return prior, noise


def checked_prior(prior_m2: npt.ArrayLike, name: str = "The prior covariance") -> FloatArray:
    """A symmetric, positive semi-definite, finite matrix with a positive diagonal, or an :class:`InputError`."""
    prior = _square(prior_m2, name)
    if np.any(np.diag(prior) <= 0):
        raise InputError(f"{name} has a variance of 0.", "A place the adversary already knows is no secret.")
    _refuse_unless_semidefinite(prior)
    return prior


def checked_indices(secret: Sequence[int] | npt.ArrayLike, n: int) -> npt.NDArray[np.intp]:
    """The indices of a secret among n points, each once, or an :class:`InputError`."""
    index = np.atleast_1d(np.asarray(secret))
    if index.ndim != 1 or index.size == 0 or not np.issubdtype(index.dtype, np.integer):
        raise InputError("A secret is a non-empty list of indices.", f"Give whole numbers in 0 .. {n - 1}.")
    if np.any(index < 0) or np.any(index >= n):
        raise InputError(f"A secret index lies outside 0 .. {n - 1}.", "Indices count the trace's own points.")
    if len(np.unique(index)) != len(index):
        raise InputError("A secret names a point twice.", "Name each point once.")
    return index.astype(np.intp)


def _factor(total: FloatArray) -> FloatArray | None:
    """The Cholesky factor of Σ+Γ, or None where the matrix is singular to working precision."""
    try:
        factor = cholesky(total, lower=True)
    except LinAlgError:
        _refuse_indefinite(total)
        return None
    threshold = 10 * len(total) * _EPS * float(np.max(np.diag(total)))
    return factor if float(np.min(np.diag(factor))) ** 2 > threshold else None


def _refuse_unless_semidefinite(matrix: FloatArray) -> None:
    """One Cholesky factor settles the usual case; eigenvalues are computed only where it fails."""
    room = 1e2 * len(matrix) * _EPS * float(np.max(np.abs(np.diag(matrix)), initial=0.0))
    try:
        cholesky(matrix + room * np.eye(len(matrix)), lower=True, check_finite=False)
    except LinAlgError:
        _refuse_indefinite(matrix)


def _refuse_indefinite(matrix: FloatArray) -> None:
    least = float(eigvalsh(matrix)[0])
    if least < -1e3 * len(matrix) * _EPS * float(np.max(np.abs(np.diag(matrix)))):
        raise InputError(
            f"The covariance is indefinite (an eigenvalue of {least:.3g}).", "A covariance has no negative eigenvalue."
        )


def posterior_covariance(prior_m2: npt.ArrayLike, noise_m2: npt.ArrayLike) -> FloatArray:
    """V = Σ - Σ(Σ+Γ)⁺Σ, (n, n)."""
    prior, noise = checked_pair(prior_m2, noise_m2)
    factor = _factor(prior + noise)
    if factor is not None:
        white = solve_triangular(factor, prior, lower=True)
        left = prior - white.T @ white
    else:
        left = prior - prior @ solve_semidefinite(prior + noise, prior)
    return (left + left.T) / 2


def loss_matrix(prior_m2: npt.ArrayLike, noise_m2: npt.ArrayLike, secret: Sequence[int] | npt.ArrayLike) -> FloatArray:
    """J_S, (|S|, |S|), per m²; where some direction is infinitely exposed the diagonal is infinite and the rest 0."""
    prior, noise = checked_pair(prior_m2, noise_m2)
    index = checked_indices(secret, len(prior))
    own = prior[np.ix_(index, index)]
    own_values = eigvalsh(own)
    if own_values[0] <= len(own) * _EPS * own_values[-1]:
        raise InputError(
            "The prior makes two points of the secret the same place.", "Leave one out, or give the prior a nugget."
        )
    factor = _factor(prior + noise)
    if factor is not None:
        white = solve_triangular(factor, prior[:, index], lower=True)
        left = own - white.T @ white
        # V_SS must stand clear of rounding for its inverse to mean anything.
        if eigvalsh(left)[0] > 1e3 * len(prior) * _EPS * own_values[-1]:
            own_inverse = np.linalg.inv(own)
            # V⁻¹ - Σ_SS⁻¹ = V⁻¹ (Σ_SS - V) Σ_SS⁻¹: no difference of two close inverses.
            loss = np.linalg.solve(left, white.T @ white) @ own_inverse
            return np.asarray((loss + loss.T) / 2)
    return _loss_by_range(prior, noise, index)


def _loss_by_range(prior: FloatArray, noise: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
    """Hᵀ(P+Γ)⁺H where H lies in the range of P+Γ, infinite otherwise."""
    own = prior[np.ix_(index, index)]
    slopes = np.linalg.solve(own, prior[index, :]).T
    inner = prior - slopes @ prior[index, :] + noise
    values, vectors = eigh((inner + inner.T) / 2)
    scale = float(max(np.max(np.diag(prior)), np.max(np.diag(noise))))
    threshold = len(prior) * _EPS * scale
    if values[0] < -1e3 * threshold:
        _refuse_indefinite(noise)
    kept = values > threshold
    coordinates = vectors.T @ slopes
    if not np.all(kept):
        outside = float(np.max(np.abs(coordinates[~kept])))
        # A direction of size ~sqrt(eps) cannot be told from rounding of the null space.
        if outside > 1e-6 * float(np.max(np.abs(slopes))):
            return np.diag(np.full(len(index), math.inf))
    seen = coordinates[kept]
    loss = seen.T @ (seen / values[kept][:, None])
    return np.asarray((loss + loss.T) / 2)


def _column_squares(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))


def basic_losses(prior_m2: npt.ArrayLike, noise_m2: npt.ArrayLike) -> FloatArray:
    """J_i = 1/V_ii - 1/Σ_ii for every point, (n,), from one factorisation; infinite where a point is given away."""
    prior, noise = checked_pair(prior_m2, noise_m2)
    variance = np.diag(prior)
    factor = _factor(prior + noise)
    if factor is None:
        return np.array([float(_loss_by_range(prior, noise, np.array([i]))[0, 0]) for i in range(len(prior))])
    own = np.diag(noise)
    # V = Σ - Σ(Σ+Γ)⁻¹Σ = Γ - Γ(Σ+Γ)⁻¹Γ: start from the smaller one, so that little cancels.
    learned = _column_squares(solve_triangular(factor, prior, lower=True))
    kept = _column_squares(solve_triangular(factor, noise, lower=True))
    left = np.where(own < variance, own - kept, variance - learned)
    losses = np.full(len(prior), np.nan)
    clear = left > 1e3 * len(prior) * _EPS * np.minimum(own, variance)
    losses[clear] = learned[clear] / (variance[clear] * left[clear])
    for i in np.flatnonzero(~clear):
        losses[i] = float(_loss_by_range(prior, noise, np.array([i]))[0, 0])
    return losses


def basic_losses_statespace(times_s: npt.ArrayLike, prior: Kernel, noise: Kernel) -> FloatArray:
    """The same n losses in O(n), for prior and noise that are sums of Matérn kernels, white and constant.

    Times may be irregular and repeated (a repeated time is one moment: same position, same noise, same loss).
    """
    learned, left = posterior_variances(times_s, prior=prior, noise=noise)
    variance = prior.variance_m2
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = learned / (variance * left)
    return np.where(left <= 1e-13 * min(variance, noise.variance_m2), np.inf, losses)


def worst_direction(loss: FloatArray) -> tuple[float, FloatArray]:
    """λ_max(J) and its unit vector; infinite where the loss is."""
    if not np.all(np.isfinite(loss)):
        return math.inf, np.eye(len(loss))[0]
    values, vectors = np.linalg.eigh(loss)
    return float(values[-1]), vectors[:, -1]


def stated_jitter(prior_m2: npt.ArrayLike, noise_m2: npt.ArrayLike, *, digits: int = 6) -> float:
    """The white variance (m²) to add to the *sampled* noise so that losses carry about ``digits`` digits; 0 if none.

    The relative error of a solve with Σ+Γ is about n·eps·(largest/smallest eigenvalue).
    """
    prior, noise = checked_pair(prior_m2, noise_m2)
    if not 1 <= digits <= 15:
        raise InputError(f"{digits} digits were asked for.", "Doubles have 1 to 15.")
    values = eigvalsh(prior + noise)
    needed = len(prior) * _EPS * float(values[-1]) * 10.0**digits
    return 0.0 if float(values[0]) >= needed else needed - max(float(values[0]), 0.0)
