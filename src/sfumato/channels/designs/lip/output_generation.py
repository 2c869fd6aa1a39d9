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

from sfumato.base.arrays import FloatArray, Solved
from sfumato.channels.designs.limits import NEVER, Deadline
from sfumato.channels.designs.lip.candidates import Candidate, solution
from sfumato.channels.designs.lip.interior_point import solve

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
