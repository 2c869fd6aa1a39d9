"""Geo-indistinguishable channels of hundreds to thousands of places: a first-order method with a certified gap.

Splitting (:mod:`.geo_splitting`) over pairs with no place almost between them finds columns that nearly keep the
promise and multipliers that prove a lower bound; of those columns, raised to keep the promise on *all* pairs, the
cheapest channel is made. Rounds double in length until the gap asked for is certified, the time is over, or nothing is
gained any more. Within a round the weight rho falls: large, it moves the columns; small, it smooths the multipliers.

Leaving pairs out relaxes the program, so that a lower bound of the rest is a lower bound of all; what ships is checked
on every pair. With 3 % to spare a square grid keeps 16 neighbours a cell, with 1 % it keeps 32 (the constraint-reducing
spanner of [Bordenabe2014], without paying its dilation).

A column q keeps the promise by itself if ln q changes by at most g times the distance. So do e^(-g dist(s, .)), a peak
at s; its inverse, a pit; the larger and the smaller of two such columns; and every sum of them with weights c >= 0. A
channel is such a sum whose rows are one, and each column is reported as the place that costs least:

    min sum_j b_j c_j   s.t.  sum_j c_j q_j(x) = 1 for every x,   c >= 0,    b_j = min_y sum_x p_x d(x, y) q_j(x).

The peaks alone are the tight constraints mechanism [ElSalamouny2014] with weights that know the prior; the columns of
an iteration that has not converged bring it near the optimum. Solved by a primal-dual interior-point method whose
matrix is inputs x inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.sparse.csgraph import shortest_path

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.compiled import compile_loop
from sfumato.channels.designs.exponential import MOST_LOOKED_AT
from sfumato.channels.designs.geo.geo_splitting import Splitting
from sfumato.channels.designs.limits import Deadline
from sfumato.channels.designs.lip.candidates import Candidate

FIRST_ROUND = 150
ROUNDS = 6
_FALL = ((0.5, 1.0), (0.1, 0.5), (0.1, 0.2), (0.1, 0.1), (0.1, 0.05), (0.1, 0.025))
"""(share of the round's steps, weight as a share of the first)."""
_FIRST_FALL = ((0.5, 1.0), *((1 / 16, 0.005 ** (fall / 8)) for fall in range(1, 9)))
"""Of many places the first round may be all there is time for: a deeper fall smooths its rough multipliers (a gap of
4.6 % for 5.2 % at 900 places), but leaves less to later rounds."""
_PLENTY = 20.0
"""The first weight times the number of places, where the best constant report costs 1."""
_USED = 1e-9
"""Columns that weigh more than this share of a row go on into the next round."""

_CORE = 0.01
"""What of a column is not below this share of its largest is kept; the rest is as low as the promise allows."""

_SLACKS = (0.01, 0.03, 0.09)
_MOST_MULTIPLIERS = 120_000_000
"""Two multipliers per pair and output, four bytes each, are held at once."""

Progress = Callable[[str], None]


def first_order(
    p: FloatArray,
    d: FloatArray,
    far: FloatArray,
    g: float,
    *,
    gap: float,
    deadline: Deadline,
    progress: Progress | None = None,
) -> tuple[list[Candidate], float, int]:
    """The cheapest channel put together in each round, the best proved bound, and the steps.

    Peaks keep the promise where the distances obey the triangle inequality. Up to 400 places that is made true: the
    promise along the way is a promise for its ends, so that shortest paths state the same program.
    """
    tell = progress if progress is not None else _silent
    if p.size <= MOST_LOOKED_AT:
        far = np.minimum(far, shortest_path(far, method="FW"))
    decay = np.exp(-g * far)
    bound = distant_bound(p, d, decay)
    scale = float((p @ d).min())
    pairs = near_pairs(far, d.shape[1])
    state = Splitting(p[:, None] * d / scale, pairs, decay[pairs[:, 0], pairs[:, 1]])
    tell(f"{p.size} places, {pairs.shape[0]} pairs")
    columns = simple_columns(decay)
    simple = columns.shape[0]
    found: list[Candidate] = []
    steps, last = 0, 1.0
    for index in range(ROUNDS):
        # What was found must still be put together: a third of the time is kept for that.
        iterating = deadline.share(2 / 3)
        ends = steps + FIRST_ROUND * 2**index
        plan = _FIRST_FALL if index == 0 and p.size > FEW else _FALL
        for share, weight in plan:
            state.weigh(_PLENTY / p.size * weight)
            for _ in range(max(1, round(share * FIRST_ROUND * 2**index))):
                if iterating.passed:
                    break
                state.step()
                steps += 1
                if steps % 10 == 0:
                    tell(f"round {index + 1}, step {steps} of {ends}; gap so far {last:.2%}")
            bound = max(bound, scale * state.bound())
            if weight in (plan[0][1], plan[-1][1]):
                columns = np.concatenate([columns, kept_columns(state.channel, decay)])
        costs, reports = best_reports(columns, p, d)
        weights = best_weights(columns, costs, gap=max(1e-7, 1e-3 * gap), deadline=deadline, progress=tell)
        if weights is not None:
            cost = float(weights @ costs)
            matrix = np.zeros((d.shape[1], p.size))
            np.add.at(matrix, reports, weights[:, None] * columns)
            used = np.flatnonzero(matrix.max(axis=1) > 0)
            found = [Candidate(matrix[used].T, used.astype(np.int64), cost, 1e-6)]
            again = np.flatnonzero(weights > _USED)
            columns = np.concatenate([columns[:simple], columns[again[again >= simple]]])
            reached = max(0.0, 1 - bound / cost) if cost > 0 else 0.0
            tell(f"round {index + 1}, step {steps}: cost {cost:.6g}, bound {bound:.6g}, gap {reached:.2%}")
            if reached <= gap or (index > 1 and reached > 0.9 * last):
                break
            last = reached
        if deadline.passed:
            break
    return found, bound, steps


def kept_columns(channel: FloatArray, decay: FloatArray) -> FloatArray:
    """(columns, inputs): every column of an approximate channel, raised to keep the promise, largest value 1."""
    raised: FloatArray = _raised(np.ascontiguousarray(channel.T, dtype=np.float64), decay, _CORE)
    top = raised.max(axis=1)
    return np.asarray(raised[top > 0] / top[top > 0, None])


@compile_loop()
def _raised(columns: FloatArray, decay: FloatArray, core: float) -> FloatArray:
    """max over x' of q(x') e^(-g dist(x, x')), over the x' where q is not small."""
    out = np.zeros(columns.shape)
    for j in range(columns.shape[0]):
        least = core * columns[j].max()
        if least <= 0:
            continue
        for x in range(columns.shape[1]):
            value = columns[j, x]
            if value < least or value <= out[j, x]:
                continue
            for other in range(columns.shape[1]):
                reached = value * decay[x, other]
                if reached > out[j, other]:
                    out[j, other] = reached
    return out


def distant_bound(p: FloatArray, d: FloatArray, decay: FloatArray) -> float:
    """max over x0 of min_y sum_x p_x e^(-g dist(x, x0)) d(x, y): every Q(y | x) is at least so much of Q(y | x0).

    Weak on wide grids, exact as g falls to 0, where iterations drown in rounding.
    """
    least = float(((decay * p) @ d).min(axis=1).max())
    return least * (1 - 4 * p.size * np.finfo(np.float64).eps)


def _silent(words: str) -> None:
    """Nobody watches."""


def near_pairs(distances: FloatArray, outputs: int) -> IntArray:
    """(pairs, 2) places x < x' with none almost between them; fewer where the multipliers would not fit in memory."""
    order = np.argsort(distances, axis=1, kind="stable")
    for slack in _SLACKS:
        found: IntArray = _kept(distances, order, slack)
        if 2 * found.shape[0] * outputs <= _MOST_MULTIPLIERS:
            break
    return found


@compile_loop()
def _kept(distances: FloatArray, order: IntArray, slack: float) -> IntArray:
    count = distances.shape[0]
    pairs = []
    for x in range(count - 1):
        for other in range(x + 1, count):
            apart = distances[x, other]
            kept = True
            for middle in order[x]:
                near = distances[x, middle]
                if near >= apart:
                    break
                rest = distances[middle, other]
                if middle != x and rest < apart and near + rest <= (1 + slack) * apart:
                    kept = False
                    break
            if kept:
                pairs.append((x, other))
    out = np.empty((len(pairs), 2), np.int64)
    for index in range(len(pairs)):
        out[index, 0], out[index, 1] = pairs[index]
    return out


_GAP = 1e-7
_MOST_STEPS = 80
FEW = 500
"""Up to this many places pits and dents are tried too: they gain a digit on skewed priors, and time is no matter."""


def simple_columns(decay: FloatArray) -> FloatArray:
    """(columns, inputs): a constant and a peak at every place; of few places also a pit, and a dent of depth e^-1."""
    flat = np.ones((1, decay.shape[0]))
    if decay.shape[0] > FEW:
        return np.concatenate([flat, decay])
    pits = decay.min(axis=1, keepdims=True) / np.maximum(decay, 1e-290)
    dents = np.minimum(1.0, np.exp(-1.0) / np.maximum(decay, 1e-290))
    return np.concatenate([flat, decay, pits, dents])


def best_reports(columns: FloatArray, prior: FloatArray, distortion: FloatArray) -> tuple[FloatArray, IntArray]:
    """The least cost of every column and the output that has it."""
    costs = (columns * prior) @ distortion
    best = np.argmin(costs, axis=1)
    return np.asarray(costs[np.arange(best.size), best]), best.astype(np.int64)


def best_weights(
    columns: FloatArray,
    costs: FloatArray,
    *,
    gap: float = _GAP,
    deadline: Deadline,
    progress: Callable[[str], None] | None = None,
) -> FloatArray | None:
    """The weights c, rows summing to one within 1e-7; None if that was not reached in time.

    ``gap``: within which share of the cheapest sum to stop.

    Mehrotra's method. The start and the stop are judged by what a channel needs: rows first, then the last digits.
    """
    count, inputs = columns.shape
    ones = np.ones(inputs)
    b = costs / max(float(costs.max()), 1e-300)
    c = np.full(count, 1.0 / float(columns.sum(axis=0).mean()))
    rows, s = np.zeros(inputs), np.maximum(b, float(b.mean()))
    found: FloatArray | None = None
    longest, began = 0.0, time.perf_counter()
    for step in range(_MOST_STEPS):
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
        short = ones - c @ columns
        left = b - columns @ rows - s
        total, value = float(c @ s), float(b @ c)
        if np.abs(short).max() < 1e-7:
            found = c
            if total < gap * value:
                break
        if deadline.left_s <= longest:
            break
        if progress is not None:
            progress(f"putting {count} columns together, step {step + 1}: within {total / max(value, 1e-300):.1e}")
        weight = c / s
        normal = _squared(columns, weight)
        normal[np.diag_indices(inputs)] *= 1 + 1e-14
        try:
            factor = cho_factor(normal)
        except LinAlgError:
            break

        def direction(right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            target = short + (weight * left - right / s) @ columns  # noqa: B023
            move = cho_solve(factor, target)  # noqa: B023
            move += cho_solve(factor, target - normal @ move)  # noqa: B023
            ds = left - columns @ move  # noqa: B023
            return (right - c * ds) / s, move, ds  # noqa: B023

        dc, _, ds = direction(-c * s)
        after = float((c + _longest(c, dc) * dc) @ (s + _longest(s, ds) * ds))
        dc, move, ds = direction((after / total) ** 3 * total / count - c * s - dc * ds)
        primal, dual = min(1.0, 0.995 * _longest(c, dc)), min(1.0, 0.995 * _longest(s, ds))
        c, rows, s = c + primal * dc, rows + dual * move, s + dual * ds
    return found


def _squared(columns: FloatArray, weight: FloatArray) -> FloatArray:
    """columns' diag(weight) columns: half of a matrix product, mirrored."""
    half = dsyrk(1.0, (columns * np.sqrt(weight)[:, None]).T)
    out: FloatArray = np.triu(half) + np.triu(half, 1).T
    return out


def _longest(values: FloatArray, change: FloatArray) -> float:
    ratio = float((change / values).min())
    return 1.0 if ratio >= -1 else -1.0 / ratio
