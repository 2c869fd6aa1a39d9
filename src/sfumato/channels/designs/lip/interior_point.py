"""A primal-dual interior-point method made for channels whose columns are bounded by a common level.

Problem (x over n inputs, y over k outputs, weights p, cost c[x, y] = p_x d[x, y])::

    min sum c Q   s.t.  sum_y Q[x, y] = 1,   lo m_y <= Q[x, y] <= hi m_y,   [ m_y = sum_x p_x Q[x, y] ]

With the last line it is local information privacy for a known prior; without it (and lo = 1) local differential
privacy. Write u = Q - lo m, t = hi m - Q, w = hi - lo. The Newton step of the optimality conditions couples outputs
only through the n multipliers pi of the rows: per output there remains a 2 x 2 system in (mu_y, m_y), so a step costs
three n x k by k x n products and one Cholesky factor of size n, where a general solver factors a matrix of size n k.

Nothing here is trusted: whoever calls this takes pi to a lower bound valid for *any* pi and Q to a measured leakage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray, Solved
from sfumato.channels.designs.limits import NEVER, Deadline
from sfumato.channels.designs.lip.candidates import Candidate, solution


@dataclass(frozen=True, slots=True, eq=False)
class InteriorPoint:
    """Where the method stopped: the channel, the row multipliers pi and its own duality gap.

    ``passed``: the channel where the gap first fell below each tenth of the cost's, the same whatever the tolerance.
    """

    matrix: FloatArray
    multipliers: FloatArray
    gap: float
    steps: int
    passed: tuple[tuple[float, FloatArray], ...] = ()


def solve(
    prior: FloatArray,
    distortion: FloatArray,
    *,
    lo: float,
    hi: float,
    balanced: bool = True,
    tolerance: float = 1e-8,
    most_steps: int = 200,
    stalled: int = 12,
    deadline: Deadline = NEVER,
) -> InteriorPoint:
    """Follow the central path from a strictly feasible pair until the gap is ``tolerance`` of the cost (Mehrotra)."""
    n, k = distortion.shape
    p = prior[:, None]
    scale = float((prior @ distortion).min())
    cost = p * (distortion / scale)
    w = hi - lo
    start = 1.0 if balanced else 2.0 / (lo + hi)
    m = np.full(k, start / k)
    u = np.tile((1.0 / k) - lo * m, (n, 1))
    t = np.tile(hi * m - (1.0 / k), (n, 1))
    pi = -prior.copy()
    mu = np.full(k, 0.5 if balanced else 0.0)
    base = cost - pi[:, None] - p * mu
    surplus = lo * (cost - pi[:, None]).sum(axis=0) + (1 - lo) * mu if balanced else lo * base.sum(axis=0)
    zt = np.tile(surplus / (w * n), (n, 1))
    point = _Point(u, t, m, pi, mu, base + zt, zt)
    best: tuple[float, FloatArray, _Point] | None = None
    since_best = 0
    steps = 0
    passed: list[tuple[float, FloatArray]] = []
    next_mark = 1e-3
    longest, began = 0.0, time.perf_counter()
    for steps in range(1, most_steps + 1):  # noqa: B007
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
        gap, matrix = point.products(), point.u + lo * point.m
        value = float((cost * matrix).sum())
        if not np.isfinite(gap):
            break
        if best is None or gap < best[0]:
            best, since_best = (gap, matrix, point), 0
        else:
            since_best += 1
        if gap <= next_mark * value:
            passed.append((next_mark, matrix))
            while gap <= next_mark * value and next_mark > 1e-15:
                next_mark /= 10
        if gap <= tolerance * value or since_best >= stalled or deadline.left_s <= longest:
            break
        try:
            direction = _newton(prior, cost, point, lo=lo, w=w, balanced=balanced)
        except np.linalg.LinAlgError:
            break
        centre = gap / (2 * n * k)
        left = -point.u * point.zu, -point.t * point.zt
        affine = direction(*left)
        after = point.after(affine, *_steps(point, affine)).products()
        target = centre * min(1.0, (after / gap) ** 3)
        move = direction(target + left[0] - affine.u * affine.zu, target + left[1] - affine.t * affine.zt)
        primal, dual = (min(1.0, 0.9995 * size) for size in _steps(point, move))
        point = point.after(move, primal, dual)
    assert best is not None
    return InteriorPoint(best[1], best[2].pi * scale, best[0] * scale, steps, tuple(passed))


class _Point(NamedTuple):
    """Slacks u and t, their multipliers zu and zt, the levels m, and the multipliers of rows (pi) and levels (mu)."""

    u: FloatArray
    t: FloatArray
    m: FloatArray
    pi: FloatArray
    mu: FloatArray
    zu: FloatArray
    zt: FloatArray

    def products(self) -> float:
        """The duality gap: what is left of complementarity."""
        return float((self.u * self.zu).sum() + (self.t * self.zt).sum())

    def after(self, by: _Point, primal: float, dual: float) -> _Point:
        """This point after steps of two lengths."""
        steps = (primal, primal, primal, dual, dual, dual, dual)
        return _Point(*(here + step * change for here, step, change in zip(self, steps, by, strict=True)))


def _newton(
    prior: FloatArray, cost: FloatArray, point: _Point, *, lo: float, w: float, balanced: bool
) -> Callable[[FloatArray, FloatArray], _Point]:
    """Factor the n x n system that remains after eliminating everything that is diagonal or 2 x 2 per output."""
    u, t, m, pi, mu, zu, zt = point
    p = prior[:, None]
    a, b = u / zu, t / zt
    inverse = 1.0 / (a + b)
    f, g = a * inverse, a * b * inverse
    beta = lo + w * f
    diagonal = g.sum(axis=1)
    third = w * w * inverse.sum(axis=0)
    if balanced:
        alpha = p * g
        first = (p * alpha).sum(axis=0)
        second = w * (prior @ f) - (1 - lo)
        determinant = first * third + second * second
        cross = (alpha * (second / determinant)) @ beta.T
        schur = (beta * (first / determinant)) @ beta.T - (alpha * (third / determinant)) @ alpha.T - cross - cross.T
    else:
        schur = (beta / third) @ beta.T
    where = np.diag_indices(prior.size)
    schur[where] += diagonal
    schur[where] *= 1 + 1e-13
    factor = cho_factor(schur, lower=True, check_finite=False)
    # Residuals are 0 in exact arithmetic; keeping them removes the drift of rounding.
    row_left = 1.0 - (u.sum(axis=1) + lo * m.sum())
    sum_left = w * m - (u + t)
    dual_left = cost - pi[:, None] - p * mu + zt - zu
    level_left = w * zt.sum(axis=0) - lo * (cost - pi[:, None]).sum(axis=0) - (1 - lo) * mu
    mass_left = (1 - lo) * m - prior @ u

    def direction(ru: FloatArray, rt: FloatArray) -> _Point:
        rho = ru / zu + rt / zt - a * dual_left - sum_left
        e = ru / zu - a * dual_left - f * rho
        y2 = w * (rho * inverse).sum(axis=0) + level_left
        if balanced:
            y1 = mass_left - prior @ e
            c1, c2 = (third * y1 - second * y2) / determinant, (second * y1 + first * y2) / determinant
            dpi = cho_solve(factor, row_left - e.sum(axis=1) - alpha @ c1 - beta @ c2, check_finite=False)
            s1, s2 = y1 - alpha.T @ dpi, y2 + beta.T @ dpi
            dmu, dm = (third * s1 - second * s2) / determinant, (second * s1 + first * s2) / determinant
        else:
            dpi = cho_solve(factor, row_left - e.sum(axis=1) - beta @ (y2 / third), check_finite=False)
            dmu, dm = np.zeros_like(m), (y2 + beta.T @ dpi) / third
        h = dpi[:, None] + p * dmu
        dzt = (rho + a * h - w * dm) * inverse
        dzu = dzt - h + dual_left
        return _Point((ru - u * dzu) / zu, (rt - t * dzt) / zt, dm, dpi, dmu, dzu, dzt)

    return direction


def _steps(point: _Point, move: _Point) -> tuple[float, float]:
    """The longest primal and dual steps that keep everything positive."""
    primal = min(_longest(point.u, move.u), _longest(point.t, move.t))
    return primal, min(_longest(point.zu, move.zu), _longest(point.zt, move.zt))


def _longest(values: FloatArray, change: FloatArray) -> float:
    smallest = float((change / values).min())
    return 1.0 if smallest >= -1 else -1.0 / smallest


ACCURACIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)


def prices(prior: FloatArray, distortion: FloatArray, multipliers: FloatArray, *, lo: float, hi: float) -> FloatArray:
    """v_y for every output: fill the cheapest inputs up to lift ``hi``, leave the others at ``lo``."""
    reduced = distortion - (multipliers / prior)[:, None]
    order = np.argsort(reduced, axis=0)
    room = prior[order] * (hi - lo)
    added = np.clip((1 - lo) - (np.cumsum(room, axis=0) - room), 0, room)
    out: FloatArray = lo * (prior @ reduced) + (added * np.take_along_axis(reduced, order, axis=0)).sum(axis=0)
    return out


def proved_bound(
    prior: FloatArray, distortion: FloatArray, multipliers: FloatArray, *, lo: float, hi: float
) -> tuple[float, FloatArray]:
    """A lower bound of the optimum valid for any ``multipliers`` (less its own rounding), and the prices v."""
    found = prices(prior, distortion, multipliers, lo=lo, hi=hi)
    size = float(np.abs(multipliers).sum() + np.abs(distortion).max())
    return float(multipliers.sum() + found.min()) - 1e-14 * size, found


def greedy_medians(prior: FloatArray, distortion: FloatArray, count: int) -> list[int]:
    """Outputs chosen one at a time so that the prior is nearest to them on average."""
    chosen = [int(np.argmin(prior @ distortion))]
    nearest = distortion[:, chosen[0]].copy()
    while len(chosen) < min(count, distortion.shape[1]):
        average = prior @ np.minimum(nearest[:, None], distortion)
        average[chosen] = np.inf
        chosen.append(int(np.argmin(average)))
        nearest = np.minimum(nearest, distortion[:, chosen[-1]])
    return chosen


def generate(
    prior: FloatArray,
    distortion: FloatArray,
    *,
    lo: float,
    hi: float,
    gap: float = 1e-6,
    first: int = 12,
    most_rounds: int = 200,
    deadline: Deadline = NEVER,
) -> Solved[list[Candidate]]:
    """The cheapest channel found at each accuracy tried, with the certified relative gap of the best of them.

    Few outputs are used, so start with few (a greedy k-median of the prior) and add those that would pay. The master's
    row multipliers pi price every output by a fractional knapsack over the lifts V = {r : p.r = 1, lo <= r <= hi}::

        v_y(pi) = min over r in V of sum_x r_x (p_x d[x, y] - pi_x)

    and for *any* pi, over all outputs y, sum(pi) + min_y v_y is a lower bound of the optimum.

    Accuracies go down by decades and every run begins with the same ones: asking for a smaller gap continues where a
    larger one stops, so it never ends with a worse channel. ``stopped`` if the gap is not reached.
    """
    began = time.perf_counter()
    chosen = greedy_medians(prior, distortion, first)
    found: list[Candidate] = []
    bound, steps, best_cost, rounds = -np.inf, 0, np.inf, 0
    for accuracy in ACCURACIES:
        before = best_cost - bound
        if found and before <= accuracy * best_cost:
            continue
        inner = accuracy / 10
        while rounds < most_rounds:
            rounds += 1
            master = solve(prior, distortion[:, chosen], lo=lo, hi=hi, tolerance=inner, deadline=deadline)
            steps += master.steps
            matrix = master.matrix / master.matrix.sum(axis=1, keepdims=True)
            cost = float((prior[:, None] * matrix * distortion[:, chosen]).sum())
            if cost < best_cost or not found:
                best_cost = cost
                found.append(Candidate(matrix, np.array(chosen, dtype=np.int64), cost, accuracy))
            proved, price = proved_bound(prior, distortion, master.multipliers, lo=lo, hi=hi)
            bound = max(bound, proved)
            if best_cost - bound <= max(accuracy, gap) * best_cost or deadline.passed:
                break
            inside = set(chosen)
            paying = [int(y) for y in np.argsort(price) if price[y] < 0 and int(y) not in inside]
            if not paying:
                # Nothing pays, so only the master's own accuracy is missing.
                if inner < 1e-12:
                    break
                inner /= 10
                continue
            chosen += paying[: max(8, len(chosen) // 2)]
        left = best_cost - bound
        if left <= gap * best_cost or left > 0.9 * before or deadline.passed or rounds >= most_rounds:
            break
    return solution(found, best_cost, bound, gap=gap, steps=steps, began=began)
