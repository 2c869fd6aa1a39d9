"""The LIP-optimal channel of many cells: few outputs are used, so start with few and add those that would pay.

The master problem is restricted to outputs S (at first a greedy k-median of the prior). Its row multipliers pi price
every output by a fractional knapsack over the lifts V = {r : p.r = 1, lo <= r <= hi}::

    v_y(pi) = min over r in V of sum_x r_x (p_x d[x, y] - pi_x)

and for *any* pi, over all outputs y including S, sum(pi) + min_y v_y is a lower bound of the optimum. The gap reported
is between that bound and the cost of the channel that ships, so it does not depend on how the master was solved.
"""

from __future__ import annotations

import time

import numpy as np

from sfumato.arrays import FloatArray, IntArray, Solved
from sfumato.mechanisms.channels.interior_point import solve


def priced(prior: FloatArray, distortion: FloatArray, multipliers: FloatArray, *, lo: float, hi: float) -> FloatArray:
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
    prices = priced(prior, distortion, multipliers, lo=lo, hi=hi)
    size = float(np.abs(multipliers).sum() + np.abs(distortion).max())
    return float(multipliers.sum() + prices.min()) - 1e-14 * size, prices


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
    most_rounds: int = 60,
    most_seconds: float | None = None,
) -> Solved[tuple[FloatArray, IntArray]]:
    """(matrix over the outputs in use, those outputs), with the certified relative gap; ``stopped`` if not reached."""
    began = time.perf_counter()
    chosen = greedy_medians(prior, distortion, first)
    bound, steps, best_cost = -np.inf, 0, np.inf
    best: tuple[FloatArray, IntArray] | None = None
    inner = min(1e-3, gap) / 10
    status = "stopped"
    for round_number in range(1, most_rounds + 1):
        found = solve(prior, distortion[:, chosen], lo=lo, hi=hi, tolerance=inner)
        steps += found.steps
        matrix = found.matrix / found.matrix.sum(axis=1, keepdims=True)
        cost = float((prior[:, None] * matrix * distortion[:, chosen]).sum())
        if cost < best_cost:
            best_cost, best = cost, (matrix, np.array(chosen, dtype=np.int64))
        proved, prices = proved_bound(prior, distortion, found.multipliers, lo=lo, hi=hi)
        bound = max(bound, proved)
        if best_cost - bound <= gap * best_cost:
            status = "converged"
            break
        inside = set(chosen)
        paying = [int(y) for y in np.argsort(prices) if prices[y] < 0 and int(y) not in inside]
        if most_seconds is not None and time.perf_counter() - began > most_seconds:
            break
        if not paying:
            # Nothing pays, so only the master's own accuracy is missing.
            if inner < 1e-12 or round_number == most_rounds:
                break
            inner /= 10
            continue
        chosen += paying[: max(8, len(chosen) // 2)]
    assert best is not None
    return Solved(
        value=best,
        status="converged" if status == "converged" else "stopped",
        steps=steps,
        gap=max(0.0, (best_cost - bound) / best_cost),
        objective=best_cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )
