"""The largest value of a concave function over all priors, with a bound that proves it: every capacity is one.

maximise F(p) = c.p + sum_y phi(y, (p A)_y) over the simplex, phi concave. A logarithmic barrier and Newton's method
find p; the certificate does not trust them: by concavity max F <= F(p) + max_x dF/dp_x - p.grad F at *any* p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import NotConverged


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """A prior, the value it attains, and a proved upper bound on every other's."""

    prior: FloatArray
    value: float
    upper_bound: float
    steps: int

    @property
    def gap(self) -> float:
        """upper_bound - value, certified."""
        return self.upper_bound - self.value


Pieces = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""p -> (F, its gradient, d2phi/dm2 for each output: the Hessian is A diag(.) A')."""


def largest_on_simplex(pieces: Pieces, directions: FloatArray, *, gap: float = 1e-12, most_steps: int = 400) -> Maximum:
    """Maximise F until the certified gap is at most ``gap`` (absolute); the best point found if rounding stops it.

    Raises :class:`NotConverged` when the gap stays above 1e-6.
    """
    n = directions.shape[0]
    p: FloatArray = np.full(n, 1.0 / n)
    best = _judged(pieces, p, 0)
    if n == 1:
        return Maximum(p, best.value, best.value, 0)
    barrier = max(best.gap, 1e-12) / n
    steps = 0
    while steps < most_steps and best.gap > gap and barrier * n > 1e-3 * gap:
        for _ in range(30):
            steps += 1
            value, gradient, curvature = pieces(p)
            step, decrement = _newton(p, gradient, curvature, directions, barrier)
            p = _moved(pieces, p, step, value, barrier, decrement)
            if decrement < 0.02 * barrier * n or decrement < 1e-18:
                break
        here = _judged(pieces, p, steps)
        if here.gap < best.gap:
            best = here
        barrier *= 0.05
    if best.gap > max(gap, 1e-6):
        raise NotConverged(
            f"The capacity is known only to within {best.gap:.3g} nats after {best.steps} steps.",
            "Allow a larger gap, or merge inputs whose rows are almost the same.",
        )
    return best


def _judged(pieces: Pieces, p: FloatArray, steps: int) -> Maximum:
    value, gradient, _ = pieces(p)
    bound = value + max(0.0, float(gradient.max() - p @ gradient))
    return Maximum(p, value, bound, steps)


def _newton(
    p: FloatArray, gradient: FloatArray, curvature: FloatArray, directions: FloatArray, barrier: float
) -> tuple[FloatArray, float]:
    """The step in p / p (scaled), from (barrier I - P A diag(curvature) A' P) z = P grad + barrier 1 - multiplier p."""
    scaled = p[:, None] * directions
    matrix = -(scaled * curvature) @ scaled.T
    matrix[np.diag_indices(p.size)] += barrier
    right = np.stack([p * gradient + barrier, p], axis=1)
    try:
        solved = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    multiplier = (p @ solved[:, 0]) / (p @ solved[:, 1])
    step: FloatArray = solved[:, 0] - multiplier * solved[:, 1]
    return step, max(0.0, float(step @ (matrix @ step)))


def _moved(
    pieces: Pieces, p: FloatArray, step: FloatArray, value: float, barrier: float, decrement: float
) -> FloatArray:
    length = min(1.0, 0.95 / max(1e-300, float(-step.min()))) if step.min() < 0 else 1.0
    start = value + barrier * float(np.log(p).sum())
    for _ in range(40):
        trial: FloatArray = p * (1.0 + length * step)
        trial = trial / trial.sum()
        if trial.min() > 0:
            there = pieces(trial)[0] + barrier * float(np.log(trial).sum())
            if there >= start + 1e-4 * length * decrement - 1e-15 * (1.0 + abs(start)) and math.isfinite(there):
                return trial
        length *= 0.5
    return p
