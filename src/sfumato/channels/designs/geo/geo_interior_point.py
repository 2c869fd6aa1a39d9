"""The interior-point method for geo-indistinguishable channels: outputs meet only in the n multipliers of the rows.

With W = z/s the weights of the constraints, output y contributes an n x n matrix H_y, and the row multipliers solve
(sum_y H_y^-1) dpi = rhs. The lower bound is the dual objective after shifting pi to exact dual feasibility, so it does
not depend on the method having converged.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import cho_solve

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.channels.designs.limits import Deadline
from sfumato.channels.designs.lip.candidates import Candidate

STALLED = 30
USUAL_STEPS = 30
"""After about so many steps something is found; with time for fewer the first-order method finds more."""
_SAMPLE = 2


def interior_point(
    p: FloatArray,
    d: FloatArray,
    decay: FloatArray,
    pairs: BoolArray,
    *,
    gap: float,
    most_steps: int,
    deadline: Deadline,
) -> tuple[list[Candidate], float, int]:
    """Channels passed, the best proved bound and the steps (Mehrotra with Gondzio's centrality correctors).

    s[y, x, x'] = q[x', y] - decay[x, x'] q[x, y] >= 0 with multiplier z, for the ordered pairs that count.
    """
    scale = float((p @ d).min())
    everything = np.arange(d.shape[1], dtype=np.int64)
    found: list[Candidate] = []
    next_mark = 1e-2
    cost = (p[:, None] * d / scale).T
    k, n = cost.shape
    count = float(pairs.sum() * k)
    q = np.full((k, n), 1.0 / k)
    s = _slacks(q, decay, pairs, outside=1.0)
    z = np.where(pairs, 1.0 / (count * s), 0.0)
    pi = np.zeros(n)
    best_value, best_bound, best = np.inf, -np.inf, q
    since, steps, longest, began = 0, 0, 0.0, time.perf_counter()
    for steps in range(1, most_steps + 1):  # noqa: B007
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
        dual_left = cost - pi - _adjoint(z, decay)
        row_left = 1.0 - q.sum(axis=0)
        mean = float((s * z)[:, pairs].sum()) / count
        value = float((cost * q).sum())
        # Shifting pi makes cost - pi - A'z >= 0: a feasible dual point whatever happened before.
        bound = float((pi + np.minimum(0.0, dual_left.min(axis=0))).sum())
        better = False
        if np.abs(row_left).max() < 1e-9 and value < best_value:
            best_value, best, better = value, q.copy(), True
        if bound > best_bound:
            best_bound, better = bound, True
        since = 0 if better else since + 1
        left = best_value - best_bound
        if left <= next_mark * best_value:
            found.append(Candidate(best.T, everything, best_value * scale, next_mark))
            while left <= next_mark * best_value and next_mark > 1e-15:
                next_mark /= 10
        # Under a skewed prior the first steps improve nothing: they only find the scale.
        if left <= 0.2 * gap * best_value or since > STALLED or deadline.left_s <= longest:
            break
        try:
            newton = _Newton(s, z, decay, pairs, dual_left, row_left)
            _, _, ds, dz = newton.direction(-s * z)
            primal, dual = _longest(s, ds, pairs), _longest(z, dz, pairs)
            after = float(((s + primal * ds) * (z + dual * dz))[:, pairs].sum()) / count
            target = mean * min(1.0, (after / mean) ** 3)
            dq, dpi, ds, dz = newton.towards(target - s * z - ds * dz, target)
        except np.linalg.LinAlgError:
            break
        primal, dual = (min(1.0, 0.999 * length) for length in (_longest(s, ds, pairs), _longest(z, dz, pairs)))
        # s is carried along rather than recomputed, which would lose it by cancellation near the optimum.
        q, pi, z, s = q + primal * dq, pi + dual * dpi, z + dual * dz, s + primal * ds
    found.append(Candidate(best.T, everything, best_value * scale, 0.1 * next_mark))
    return found, best_bound * scale, steps


def seconds_per_step(decay: FloatArray, pairs: BoolArray, outputs: int) -> float:
    """What one step takes on this machine now: the time of one with two outputs, in proportion."""
    began = time.perf_counter()
    n = decay.shape[0]
    q = np.full((_SAMPLE, n), 1.0 / outputs)
    s = _slacks(q, decay, pairs, outside=1.0)
    z = np.where(pairs, 1.0 / s, 0.0)
    newton = _Newton(s, z, decay, pairs, -_adjoint(z, decay), np.zeros(n))
    newton.direction(-s * z)
    newton.towards(-s * z, 1.0)
    return (time.perf_counter() - began) * outputs / _SAMPLE


class _Newton:
    """Newton's equations at slacks s with multipliers z, factored; ``dual`` and ``rows`` are residuals."""

    def __init__(
        self, s: FloatArray, z: FloatArray, decay: FloatArray, pairs: BoolArray, dual: FloatArray, rows: FloatArray
    ) -> None:
        self.s, self.z, self.decay, self.pairs = s, z, decay, pairs
        self.dual_left, self.row_left = dual, rows
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            normal = _normal(np.where(pairs, z / s, 0.0), decay)
        if not np.all(np.isfinite(normal)):
            raise np.linalg.LinAlgError("beyond the range of doubles")
        where = np.arange(normal.shape[1])
        size = 1.0 / np.sqrt(normal[:, where, where])
        scaled = np.linalg.inv(normal * size[:, :, None] * size[:, None, :])
        inverse = (0.5 * (scaled + scaled.transpose(0, 2, 1))) * size[:, :, None] * size[:, None, :]
        total = inverse.sum(axis=0)
        diagonal = np.diag(total)
        if not np.all(diagonal > 0):
            raise np.linalg.LinAlgError("no longer positive definite")
        total_scale = 1.0 / np.sqrt(diagonal)
        factor = np.linalg.cholesky(total * total_scale[:, None] * total_scale)
        self.normal, self.inverse, self.total_scale = normal, np.asarray(inverse), np.asarray(total_scale)
        self.total_factor = np.asarray(factor)

    def _rows(self, right: FloatArray) -> FloatArray:
        if not np.all(np.isfinite(right)):
            raise np.linalg.LinAlgError("beyond the range of doubles")
        return np.asarray(self.total_scale * cho_solve((self.total_factor, True), self.total_scale * right))

    def direction(self, right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """H_y dq_y = dpi + pull_y and sum_y dq_y = row_left, refined twice because H is very badly scaled."""
        pull = _adjoint(np.where(self.pairs, right / self.s, 0.0), self.decay) - self.dual_left
        dpi, dq = np.zeros(pull.shape[1]), np.zeros_like(pull)
        for _ in range(3):
            left = pull + dpi - np.einsum("yij,yj->yi", self.normal, dq)
            moved = np.einsum("yij,yj->yi", self.inverse, left)
            change = self._rows(self.row_left - dq.sum(axis=0) - moved.sum(axis=0))
            dpi, dq = dpi + change, dq + moved + self.inverse @ change
        ds = _slacks(dq, self.decay, self.pairs, outside=0.0)
        dz = np.where(self.pairs, (right - self.z * ds) / self.s, 0.0)
        return dq, dpi, ds, dz

    def towards(self, right: FloatArray, target: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The direction, corrected up to three times towards products s z near ``target`` while steps lengthen."""
        move = self.direction(right)
        for _ in range(3):
            primal, dual = _longest(self.s, move[2], self.pairs), _longest(self.z, move[3], self.pairs)
            further = min(1.0, 1.2 * primal + 0.15), min(1.0, 1.2 * dual + 0.15)
            product = (self.s + further[0] * move[2]) * (self.z + further[1] * move[3])
            low, high = 0.1 * target, 10 * target
            correction = np.where(
                product < low, low - product, np.where(product > high, np.maximum(high - product, -high), 0.0)
            )
            tried = self.direction(right + correction)
            gained = _longest(self.s, tried[2], self.pairs) + _longest(self.z, tried[3], self.pairs)
            if gained < primal + dual + 0.05:
                break
            right, move = right + correction, tried
        return move


def _slacks(q: FloatArray, a: FloatArray, pairs: BoolArray, *, outside: float) -> FloatArray:
    out = q[:, None, :] - a * q[:, :, None]
    out[:, ~pairs] = outside
    return out


def _adjoint(z: FloatArray, a: FloatArray) -> FloatArray:
    out: FloatArray = z.sum(axis=1) - (a * z).sum(axis=2)
    return out


def _normal(w: FloatArray, a: FloatArray) -> FloatArray:
    cross = a * w
    out: FloatArray = -(cross + cross.transpose(0, 2, 1))
    where = np.arange(w.shape[1])
    out[:, where, where] += w.sum(axis=1) + (a * cross).sum(axis=2)
    return out


def _longest(values: FloatArray, change: FloatArray, pairs: BoolArray) -> float:
    ratio = float((change[:, pairs] / values[:, pairs]).min())
    return 1.0 if ratio >= -1 else -1.0 / ratio
