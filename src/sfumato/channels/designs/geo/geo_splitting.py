"""Operator splitting for geo-indistinguishable channels: one factor serves every output, one sweep every constraint.

With A the differences q[x'] - e^(-g dist) q[x] of the pairs that are compared,

    min <C, Q>   s.t.  A Q = s >= 0,  Q 1 = 1,           C[x, y] = p_x d(x, y)

by alternating directions: Q minimises <C, Q> + rho/2 |A Q - s + w|^2 under Q 1 = 1, s = max(A Q + w, 0) and w what is
left. The normal matrix A'A is the same for every output, so that the rows' multipliers come in closed form: outputs
share what their sums miss equally. s and w are the two parts of one array v = s + w, and s - w = |v|.

Whatever the iteration has reached, z = -rho min(v, 0) >= 0 are multipliers, and for *any* pi and z >= 0

    sum_x (pi_x + min(0, min_y (C - pi - A'z)[x, y]))   <=   the least cost

(weak duality). v is held in single precision; the bound is computed in double from the multipliers as they are held.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop

_RELAXED = 1.6
_SINGLE_FROM = 1e-2
"""Below this g times distance the normal matrix is too close to singular for single precision."""


class Splitting:
    """The state of the iteration: v, the last channel (inputs, outputs) and the multipliers of its rows."""

    def __init__(self, cost: FloatArray, pairs: IntArray, decay: FloatArray) -> None:
        inputs, outputs = cost.shape
        self.cost, self.decay = cost, decay
        self.first, self.second = pairs[:, 0].copy(), pairs[:, 1].copy()
        normal = np.zeros((inputs, inputs))
        np.add.at(normal, (self.first, self.second), -2 * decay)
        normal += normal.T
        np.add.at(normal, (self.first, self.first), 1 + decay**2)
        np.add.at(normal, (self.second, self.second), 1 + decay**2)
        self.normal = normal
        single = bool(decay.max() < np.exp(-_SINGLE_FROM))
        self.kind: type[np.float64] = np.float32 if single else np.float64  # type: ignore[assignment]
        self.inverse = cho_solve(cho_factor(normal), np.eye(inputs)).astype(self.kind)
        self.held = decay.astype(self.kind)
        self.channel = np.full((inputs, outputs), 1.0 / outputs, dtype=self.kind)
        self.v = np.zeros((pairs.shape[0], 2, outputs), dtype=self.kind)
        _forth(self.v, self.channel, self.first, self.second, self.held, self.kind(1.0))
        self.rows = np.zeros(inputs)
        self.rho = 1.0
        self.price = cost.astype(self.kind)

    def weigh(self, rho: float) -> None:
        """Go on with another weight, the multipliers as they are."""
        np.multiply(self.v, self.kind(self.rho / rho), out=self.v, where=self.v < 0)
        self.rho = rho
        self.price = (self.cost / rho).astype(self.kind)

    def step(self) -> None:
        """One iteration, over-relaxed."""
        right = _back(self.v, self.first, self.second, self.held, self.channel.shape[0])
        right -= self.price
        free = self.inverse @ right
        missed = (1.0 - free.sum(axis=1, dtype=np.float64)) / free.shape[1]
        self.channel = free + missed.astype(self.kind)[:, None]
        self.rows = self.rho * (self.normal @ missed)
        _forth(self.v, self.channel, self.first, self.second, self.held, self.kind(_RELAXED))

    def bound(self) -> float:
        """The lower bound that these multipliers prove, less what its own rounding may add."""
        paid = _paid(self.v, self.first, self.second, self.decay, self.channel.shape[0], self.rho)
        left = (self.cost - self.rows[:, None] - paid).min(axis=1)
        size = float(self.cost.max() + np.abs(self.rows).max() + np.abs(paid).max())
        terms = 8.0 + 4.0 * float(np.bincount(np.concatenate([self.first, self.second])).max())
        slack = terms * np.finfo(np.float64).eps * size * self.rows.size
        return float((self.rows + np.minimum(0.0, left)).sum()) - slack


@compile_loop(fastmath=True)
def _back(v: FloatArray, first: IntArray, second: IntArray, decay: FloatArray, inputs: int) -> FloatArray:
    """A' |v|."""
    out = np.zeros((inputs, v.shape[2]), v.dtype)
    for e in range(v.shape[0]):
        x, other, c = first[e], second[e], decay[e]
        for y in range(v.shape[2]):
            up, down = abs(v[e, 0, y]), abs(v[e, 1, y])
            out[other, y] += up - c * down
            out[x, y] += down - c * up
    return out


@compile_loop(fastmath=True)
def _forth(v: FloatArray, q: FloatArray, first: IntArray, second: IntArray, decay: FloatArray, relaxed: float) -> None:
    """v <- relaxed A q + (1 - relaxed) max(v, 0) + min(v, 0), in place."""
    kept = 1 - relaxed
    for e in range(v.shape[0]):
        x, other, c = first[e], second[e], decay[e]
        for y in range(v.shape[2]):
            here, there = q[x, y], q[other, y]
            up, down = v[e, 0, y], v[e, 1, y]
            v[e, 0, y] = relaxed * (there - c * here) + (kept * up if up > 0 else up)
            v[e, 1, y] = relaxed * (here - c * there) + (kept * down if down > 0 else down)


@compile_loop()
def _paid(v: FloatArray, first: IntArray, second: IntArray, decay: FloatArray, inputs: int, rho: float) -> FloatArray:
    """A'z in double precision, z = -rho min(v, 0)."""
    out = np.zeros((inputs, v.shape[2]))
    for e in range(v.shape[0]):
        x, other, c = first[e], second[e], decay[e]
        for y in range(v.shape[2]):
            up, down = -rho * min(v[e, 0, y], 0.0), -rho * min(v[e, 1, y], 0.0)
            out[other, y] += up - c * down
            out[x, y] += down - c * up
    return out
