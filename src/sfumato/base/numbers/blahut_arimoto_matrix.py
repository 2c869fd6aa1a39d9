"""Blahut-Arimoto for any distortion matrix: the channel that leaks least for its average distortion, dense.

    minimise I(X; Y) + beta E d(X, Y)   by   c <- c . K(p / K c),     C(y | x) = c(y) exp(-beta d(x, y)) / Z(x)

started from uniform c; "n steps" are n - 1 updates, as in [Biswas2023, Sec. 2]. With g = K(p / K c), the objective
-sum p log Z is within log max_y g(y) of the best possible: a certified gap, recomputed at the weights as shipped.
Grids, whose kernel is never formed, have :mod:`sfumato.collect.grids.blahut_arimoto`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, Status, checked_steps, finite, one_target, positive
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.numbers.geo import geo_epsilon_at_most
from sfumato.base.things.channel import Channel, checked_floor, checked_probabilities, with_floor
from sfumato.base.things.estimated_map import em_factor

_BISECTIONS = 60

Answer = TypeVar("Answer")


def blahut_arimoto_matrix(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    *,
    beta: float | None = None,
    average_distortion: float | None = None,
    epsilon: float | None = None,
    metric: npt.ArrayLike | None = None,
    steps: int = 1000,
    tolerance: float | None = 1e-7,
    floor: float = 0.0,
    start: npt.ArrayLike | None = None,
    late: Callable[[], bool] = bool,
) -> Solved[Channel]:
    """The channel for any (inputs, outputs) distortion matrix. No 2 beta holds unless the distortion is a metric.

    ``epsilon`` asks for exact geo-indistinguishability with respect to ``metric`` (inputs, inputs), by default the
    distortion itself, which must then be square. ``start`` are the output weights of C⁽⁰⁾ (uniform unless given); a
    weight of 0 stays 0. ``late`` says when to stop refining: what was found by then is returned as "stopped".
    """
    d = finite(distortion, "The distortion", dimensions=2)
    if d.min(initial=0.0) < 0:
        raise InputError("The distortion has negative entries.", "Distortions are at least 0.")
    p = checked_probabilities(prior, d.shape[0])
    floor = checked_floor(floor)
    steps = checked_steps(steps)
    one_target(beta, average_distortion, epsilon)

    first = None if start is None else np.array(checked_probabilities(start, d.shape[1]))
    allowed = np.ones(d.shape[1], dtype=bool) if first is None else first > 0  # the optimum is among these

    @lru_cache(maxsize=2)  # the ends of a bracket are asked for again, and after the time is over come out rougher
    def solve(beta: float) -> Solved[Channel]:
        # Shifting a row by its smallest distortion changes neither the channel nor the updates, and keeps K from 0.
        kernel = np.exp(-beta * (d - d.min(axis=1, keepdims=True)))
        seen = p > 0
        c = np.full(d.shape[1], 1.0 / d.shape[1]) if first is None else first.copy()
        taken = 1
        while taken < steps and not late():
            g = em_factor(p, kernel @ c, kernel.T.dot)
            if tolerance is not None and math.log(float(g[allowed].max())) <= tolerance:
                break
            c *= g
            c /= c.sum()
            taken += 1
        c = with_floor(c, floor)
        z = kernel @ c
        g = em_factor(p, z, kernel.T.dot)
        gap = max(0.0, math.log(float(g[allowed].max())))
        matrix = _rows(kernel, c, beta * d)
        objective = float(-(p[seen] @ np.log(z[seen])) + beta * (p @ d.min(axis=1)))
        status: Status = "converged" if tolerance is not None and gap <= tolerance and not late() else "stopped"
        return Solved(
            Channel(matrix, distortion=d),
            status,
            taken,
            gap / objective if objective > 0 else gap,
            objective,
            objective - gap,
        )

    if beta is not None:
        return solve(positive(beta, "beta"))
    if epsilon is not None:
        target = positive(epsilon, "epsilon")
        ground = finite(d if metric is None else metric, "The metric", dimensions=2)
        if ground.shape != (d.shape[0], d.shape[0]):
            raise InputError("The metric is not (inputs, inputs).", "Give metric= for a distortion that is not square.")
        scale = _matrix_scale(d)

        def within(found: Solved[Channel]) -> bool:
            return geo_epsilon_at_most(found.value.matrix, ground) <= target

        # For a metric beta <= epsilon <= 2 beta; for any other distortion what is looked for may lie elsewhere.
        low = high = min(target / 2, 1e4 / scale)
        while not within(solve(low)):
            low, high = low / 2, low
            if low * scale < 1e-12:
                raise NotConverged("No beta meets that target.", "Ask for a larger epsilon.")
        while low == high or (not late() and high * scale < 1e4 and within(solve(high))):
            low, high = high, high * 2
        return largest_good_beta(solve, low, high, within, late=late)
    assert average_distortion is not None
    target = positive(average_distortion, "average_distortion")

    def close_enough(found: Solved[Channel]) -> bool:
        return float(p @ (found.value.matrix * d).sum(axis=1)) <= target

    low = high = 1.0 / _matrix_scale(d)
    while not close_enough(solve(high)):
        low, high = high, high * 2
        if high * _matrix_scale(d) > 1e5:
            raise NotConverged(
                f"An average distortion of {target:g} cannot be reached.", "Ask for a larger one, or lower the floor."
            )
    while low == high or (not late() and low > 1e-12 and close_enough(solve(low))):
        low, high = low / 2, low
    return smallest_good_beta(solve, low, high, close_enough, late=late)


def _rows(kernel: FloatArray, c: FloatArray, exponents: FloatArray) -> FloatArray:
    """c(y) exp(-exponent) by rows, in logarithms where a row of the kernel does not meet the weights."""
    matrix = kernel * c[None, :]
    totals = matrix.sum(axis=1)
    for x in np.flatnonzero(totals < 1e-290):
        with np.errstate(divide="ignore"):
            logits = np.log(c) - exponents[x]
        matrix[x] = np.exp(logits - logits.max())
        totals[x] = matrix[x].sum()
    matrix /= totals[:, None]
    return matrix


def largest_good_beta(
    solve: Callable[[float], Solved[Answer]],
    low: float,
    high: float,
    good: Callable[[Solved[Answer]], bool],
    *,
    found_at_low: bool = False,
    late: Callable[[], bool] = bool,
) -> Solved[Answer]:
    """The largest beta in [low, high] whose channel is good, from below: what is returned was itself checked."""
    best = solve(low)
    if not good(best):
        if not found_at_low:
            raise NotConverged("No beta meets that target.", "Ask for a larger epsilon.")
        # 2 beta bounds epsilon, so only rounding can bring us here.
        low *= 1 - 1e-9
        best = solve(low)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if high - low <= 1e-10 * high:
            break
        if late():
            return replace(best, status="stopped")
        candidate = solve(middle)
        if good(candidate):
            low, best = middle, candidate
        else:
            high = middle
    if not good(best):
        raise NotConverged("No beta meets that target.", "Ask for a larger epsilon.")
    return best


def smallest_good_beta(
    solve: Callable[[float], Solved[Answer]],
    low: float,
    high: float,
    good: Callable[[Solved[Answer]], bool],
    *,
    late: Callable[[], bool] = bool,
) -> Solved[Answer]:
    """The smallest beta in [low, high] whose channel is good, from above."""
    best = solve(high)
    for _ in range(_BISECTIONS):
        if high - low <= 1e-10 * high:
            break
        if late():
            return replace(best, status="stopped")
        middle = 0.5 * (low + high)
        candidate = solve(middle)
        if good(candidate):
            high, best = middle, candidate
        else:
            low = middle
    return best


def _matrix_scale(d: FloatArray) -> float:
    positive_entries = d[d > 0]
    return float(np.median(positive_entries)) if positive_entries.size else 1.0
