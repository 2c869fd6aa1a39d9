"""A loss that is certainly not too small: an upper bound of λ_max(J_S) for the very doubles of the covariances.

J_S = Hᵀ(P+Γ)⁻¹H with H = Σ_{:S}Σ_SS⁻¹, P = Σ - HΣ_{S:}. For *any* V, with A = P+Γ and the residual R = H - AV,

    J_S = HᵀV + VᵀR + RᵀA⁻¹R  ⪯  HᵀV + VᵀR + ‖R‖²/λ·I     for every λ ≤ λ_min(A),

because H = AV + R. V comes from an ordinary factorisation; H, P and R are formed in the widest numbers the machine has
(at least doubles), whose rounding is added, and A is scaled to a unit diagonal first. λ is a number for which the
factorisation of A - λI succeeds, less what its rounding can hide [Rump2006]. Where none is positive the loss is not
certain, and infinity is returned: add a white jitter (:func:`sfumato.tracks.losses.gaussian_loss.stated_jitter`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_solve, cholesky

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.numbers.rounding import UNIT

Wide = npt.NDArray[np.longdouble]
_WIDE = float(np.finfo(np.longdouble).eps)
_LEVELS = (1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
_TOGETHER = 64
"""From this many single secrets on, one factorisation of Σ+Γ serves all of them where it is accurate enough."""


def losses_at_most(priors: Sequence[FloatArray], noise: FloatArray, secrets: Sequence[IntArray]) -> FloatArray:
    """For every secret at least λ_max(J_S), the worst over the priors; infinite where it is not certain."""
    worst = np.zeros(len(secrets))
    single = len(secrets) >= _TOGETHER and all(len(secret) == 1 for secret in secrets)
    for prior in priors:
        together = _single_losses(prior, noise, np.concatenate(secrets)) if single else np.full(len(secrets), np.inf)
        for k, secret in enumerate(secrets):
            loss = together[k] if math.isfinite(together[k]) else loss_at_most(prior, noise, secret)
            worst[k] = max(worst[k], loss)
    return worst


def loss_at_most(prior: FloatArray, noise: FloatArray, secret: IntArray) -> float:
    """At least λ_max(J_S) under one prior, by the bound above."""
    wide = prior.astype(np.longdouble)
    own = prior[np.ix_(secret, secret)]
    spread = float(np.linalg.cond(own)) if len(secret) > 1 else 1.0
    slopes = _solved(wide[np.ix_(secret, secret)], wide[secret, :]).T
    slopes[secret] = np.eye(len(secret))
    rest = wide - slopes @ wide[secret, :]
    rest[secret, :] = 0.0
    rest[:, secret] = 0.0
    inner: Wide = np.asarray((rest + rest.T) / 2 + noise, dtype=np.longdouble)
    found = _inverse_bound(inner, slopes)
    if found is None:
        return math.inf
    matrix, v = found
    # Rounding of P and H in wide numbers: |dP| <= c sqrt(S_ii S_jj) entry by entry, seen along v from both sides.
    sizes = np.sqrt(np.diag(prior))
    along = float(np.max((np.abs(v).T @ sizes) ** 2)) * len(secret)
    error = 16 * len(secret) * _WIDE * spread * (along + float(np.abs(slopes).T.max(axis=1) @ np.abs(v).sum(axis=0)))
    top = float(np.linalg.eigvalsh(matrix)[-1])
    return max(0.0, top) * (1 + 32 * len(secret) * UNIT) + error


def _single_losses(prior: FloatArray, noise: FloatArray, index: IntArray) -> FloatArray:
    """J_i = D/(σ²V), D = Σ_i:(Σ+Γ)⁻¹Σ_:i bounded above likewise and V = σ² - D below; infinite where V is not clear."""
    wide = prior.astype(np.longdouble)
    found = _inverse_bound(wide + noise, wide[:, index], diagonal=True)
    if found is None:
        return np.full(index.size, np.inf)
    explained = found[0]
    variances = np.diag(prior)[index]
    error = 16 * len(prior) * _WIDE * variances
    left = variances - explained - error
    with np.errstate(divide="ignore"):
        loss = (explained + error) / (variances * left)
    return np.where(left > 1e-9 * variances, loss * (1 + 64 * UNIT), np.inf)


def _inverse_bound(matrix: Wide, right: Wide, *, diagonal: bool = False) -> tuple[FloatArray, FloatArray] | None:
    """(an upper bound of HᵀA⁻¹H or of its diagonal, V), or None where A is not certainly positive definite."""
    own = np.diag(matrix).astype(np.float64)
    if not np.all(own > 0) or not np.all(np.isfinite(matrix)):
        return None
    scale = 1 / np.sqrt(own)
    scaled = np.asarray(matrix * np.outer(scale, scale), dtype=np.float64)
    least = _least_eigenvalue(scaled)
    if least <= 0:
        return None
    factor = cholesky(scaled, lower=True)
    solution = np.zeros(right.shape, dtype=np.longdouble)
    left = right.copy()
    for _ in range(3):
        step = scale[:, None] * cho_solve((factor, True), np.asarray(scale[:, None] * left, dtype=np.float64))
        solution = solution + step
        left = right - matrix @ solution
    v, r = solution, left
    small = np.asarray(scale[:, None] * r, dtype=np.float64)
    more = float(np.linalg.norm(small)) ** 2 / least
    if diagonal:
        value = np.asarray(((right + r) * v).sum(axis=0), dtype=np.float64)
        return value + more, np.asarray(v, dtype=np.float64)
    value = np.asarray((right + r).T @ v, dtype=np.float64)
    return (value + value.T) / 2 + more * np.eye(value.shape[0]), np.asarray(v, dtype=np.float64)


def _least_eigenvalue(unit: FloatArray) -> float:
    """A number not above the least eigenvalue of a matrix with unit diagonal; 0 or less where none is found."""
    n = len(unit)
    hidden = 4 * (n + 3) * n * UNIT
    for level in _LEVELS:
        if level <= 2 * hidden:
            break
        try:
            cholesky(unit - level * np.eye(n), lower=True, check_finite=False)
        except LinAlgError:
            continue
        return level - hidden
    return 0.0


def _solved(matrix: Wide, right: Wide) -> Wide:
    """matrix⁻¹ right by elimination with pivots, in wide numbers."""
    a, b = matrix.copy(), right.copy()
    size = len(a)
    for column in range(size):
        pivot = column + int(np.argmax(np.abs(a[column:, column])))
        a[[column, pivot]], b[[column, pivot]] = a[[pivot, column]], b[[pivot, column]]
        for row in range(column + 1, size):
            share = a[row, column] / a[column, column]
            a[row] -= share * a[column]
            b[row] -= share * b[column]
    for column in range(size - 1, -1, -1):
        b[column] = (b[column] - a[column, column + 1 :] @ b[column + 1 :]) / a[column, column]
    return b
