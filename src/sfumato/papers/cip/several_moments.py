"""How much several moments together can give away: the largest ΔᵀJΔ over the moves an adversary compares.

J is the loss matrix of a compound secret (:func:`sfumato.tracks.losses.gaussian_loss.loss_matrix`). The hypotheses
differ by at most r at *each* location. All values here are per unit radius: multiply by r² for μ².

* Bound: ‖Δ‖² ≤ |S| r² gives |S| λ_max(J) [Meehan2021, Sec. 3].
* Exact, one coordinate: ΔᵀJΔ is convex, so its maximum over the box |Δ_k| ≤ 1 is at a sign vector.
* Two independent coordinates: maximise Δ_xᵀJ_xΔ_x + Δ_yᵀJ_yΔ_y over Δ_{x,k}² + Δ_{y,k}² ≤ 1. For one point that is
  max(J_x, J_y); for several it can exceed both one-coordinate maxima, up to their sum, and is bracketed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

_LARGEST_ENUMERATION = 20


def compound_loss_bound(loss: FloatArray) -> float:
    """|S| λ_max(J), an upper bound for one coordinate; infinite where the loss is."""
    if not np.all(np.isfinite(loss)):
        return math.inf
    return len(loss) * max(float(np.linalg.eigvalsh(loss)[-1]), 0.0)


def _signs(count: int) -> FloatArray:
    """All 2^count sign vectors, (2^count, count)."""
    codes = np.arange(1 << count)[:, None] >> np.arange(count)[None, :]
    return np.where(codes & 1, -1.0, 1.0)


def compound_loss_exact(loss: FloatArray) -> float:
    """max ΔᵀJΔ over |Δ_k| ≤ 1, by enumerating sign vectors in two halves; at most 20 locations."""
    size = len(loss)
    if size > _LARGEST_ENUMERATION:
        raise InputError(
            f"The secret has {size} locations; the exact maximum is enumerated up to {_LARGEST_ENUMERATION}.",
            "Use compound_loss_bound, or split the secret.",
        )
    if not np.all(np.isfinite(loss)):
        return math.inf
    return _best_signs(loss)[0]


def _best_signs(loss: FloatArray) -> tuple[float, FloatArray]:
    """The largest ΔᵀJΔ over sign vectors, and one that attains it."""
    half = len(loss) // 2
    # Δ and -Δ give the same value, so the last sign is fixed.
    first, second = _signs(half), _signs(len(loss) - half)
    second = second[second[:, -1] > 0]
    own_first = np.einsum("ij,jk,ik->i", first, loss[:half, :half], first)
    own_second = np.einsum("ij,jk,ik->i", second, loss[half:, half:], second)
    cross = first @ loss[:half, half:] @ second.T
    values = own_first[:, None] + own_second[None, :] + 2 * cross
    i, j = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[i, j]), np.concatenate([first[i], second[j]])


@dataclass(frozen=True, slots=True, eq=False)
class TwoAxisLoss:
    """The two-coordinate maximum per unit radius, bracketed: certify with ``upper``; ``move`` attains ``lower``."""

    lower: float
    upper: float
    move: FloatArray

    @property
    def exact(self) -> bool:
        """Whether both ends agree to 1e-9."""
        return self.upper <= self.lower * (1 + 1e-9) + 1e-300


def two_axis_loss(loss_x: FloatArray, loss_y: FloatArray, *, starts: int = 64) -> TwoAxisLoss:
    """The largest Δ_xᵀJ_xΔ_x + Δ_yᵀJ_yΔ_y over Δ_{x,k}² + Δ_{y,k}² ≤ 1.

    Lower end: ascent Δ_k ← g_k/‖g_k‖ with g = JΔ (each step maximises the tangent of a convex function, so it never
    falls), from sign vectors, eigenvectors and fixed pseudo-random starts. Upper end: the least of |S| max λ_max, the
    sum of the two one-coordinate maxima, and the Lagrangian dual Σ_k d_k for any d with diag(d) ⪰ J_x and
    diag(d) ⪰ J_y, taken at the multipliers of the best move (exact when those are feasible) and improved by descent.
    """
    x, y = np.asarray(loss_x, dtype=np.float64), np.asarray(loss_y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2:
        raise InputError("The two loss matrices differ in shape.", "Give one (|S|, |S|) matrix per coordinate.")
    size = len(x)
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return TwoAxisLoss(math.inf, math.inf, np.zeros((size, 2)))
    if size == 1:
        top = float(max(x[0, 0], y[0, 0]))
        return TwoAxisLoss(top, top, np.array([[1.0, 0.0]] if x[0, 0] >= y[0, 0] else [[0.0, 1.0]]))
    lower, move = _ascend(x, y, starts)
    upper = size * max(float(np.linalg.eigvalsh(x)[-1]), float(np.linalg.eigvalsh(y)[-1]))
    if size <= _LARGEST_ENUMERATION:
        upper = min(upper, compound_loss_exact(x) + compound_loss_exact(y))
    upper = min(upper, _dual(x, y, move))
    return TwoAxisLoss(lower, max(lower, upper), move)


def _ascend(x: FloatArray, y: FloatArray, starts: int) -> tuple[float, FloatArray]:
    size = len(x)
    phases = np.random.default_rng(20210413).uniform(0, 2 * math.pi, (starts, size))  # fixed: part of the algorithm
    begins = [np.stack([np.cos(p), np.sin(p)], axis=1) for p in phases]
    for matrix, axis in ((x, 0), (y, 1)):
        for vector in np.linalg.eigh(matrix)[1].T[-3:]:
            begin = np.full((size, 2), 1e-3)
            begin[:, axis] = np.where(vector >= 0, 1.0, -1.0)
            begins.append(begin)
        if size <= _LARGEST_ENUMERATION:  # never end below what one coordinate alone reaches
            alone = np.zeros((size, 2))
            alone[:, axis] = _best_signs(matrix)[1]
            begins.append(alone)
    moves = np.stack(begins)
    moves /= np.linalg.norm(moves, axis=2, keepdims=True)
    values = np.full(len(moves), -math.inf)
    for _ in range(2000):
        gradient = np.stack([moves[:, :, 0] @ x, moves[:, :, 1] @ y], axis=2)
        new_values = np.einsum("sij,sij->s", gradient, moves)
        length = np.linalg.norm(gradient, axis=2, keepdims=True)
        moves = np.where(length > 0, gradient / np.where(length > 0, length, 1.0), moves)
        if np.all(new_values - values <= 1e-14 * np.abs(new_values)):
            break
        values = new_values
    gradient = np.stack([moves[:, :, 0] @ x, moves[:, :, 1] @ y], axis=2)
    values = np.einsum("sij,sij->s", gradient, moves)
    best = int(np.argmax(values))
    return float(values[best]), moves[best]


def _dual(x: FloatArray, y: FloatArray, move: FloatArray) -> float:
    """The least Σd found with diag(d) ⪰ J_x, J_y: weak duality makes every value an upper bound."""
    gradient = np.stack([x @ move[:, 0], y @ move[:, 1]], axis=1)
    d = np.einsum("ij,ij->i", gradient, move)
    scale = float(np.mean(np.abs(d))) or 1.0

    def lift(d: FloatArray) -> tuple[float, FloatArray]:
        """(Σd after lifting d until feasible, the eigenvector of the worst violation)."""
        worst, vector = -math.inf, np.zeros(len(d))
        for matrix in (x, y):
            values, vectors = np.linalg.eigh(matrix - np.diag(d))
            if values[-1] > worst:
                worst, vector = float(values[-1]), vectors[:, -1]
        # Lifting may be negative too: d can be larger than needed. The margin covers the eigenvalue's rounding.
        return float(np.sum(d)) + len(d) * (worst + 1e-13 * scale), vector

    best, vector = lift(d)
    for step in range(400):
        # Subgradient of Σd + |S| λ_max(J - diag d): 1 - |S| v².
        subgradient = 1.0 - len(d) * vector**2
        norm = float(np.linalg.norm(subgradient))
        if norm < 1e-12:
            break
        d = d - scale * 0.3 / (1 + step) ** 0.75 * subgradient / norm
        value, vector = lift(d)
        best = min(best, value)
    return best
