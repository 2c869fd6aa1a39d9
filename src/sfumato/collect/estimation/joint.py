"""Where people are, from all cycles' reports at once: expectation maximisation stopped where it predicts best.

Run to convergence, maximum likelihood overfits; the useful estimate lies early on its path. The number of steps is
chosen by thinning: each report goes to one of five parts at random, four parts are fitted and the fifth is
predicted, five times over, and the step count with the best predictions is used on all reports. Nothing looks at the
truth.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.base.things.estimated_map import dense_em_steps, em_factor
from sfumato.collect.estimation.tally import (
    Likelihood,
    Tally,
    checked_counts,
    checked_tallies,
    inverse_normaliser,
    merge,
    stacked_weights,
)
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.on_gpu import attempt, bayesian_updates

PARTS = 5
REPEATS = 5
MOST_STEPS = 6_000
_THINNING_SEED = 20_231_015
_MANY_REPEATS_UP_TO = 2_500
_NOBODY = 1e-290
_NEGLIGIBLE_NATS = 0.01
"""A part whose prediction gains less than this over half as many steps again gains nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Probabilities per cell. ``gap``: the log-likelihood per report (nats) is within it of the best possible."""

    probabilities: FloatArray
    gap: float
    iterations: int
    reports: int
    log_likelihood: float
    stopped_by: str
    """What was asked for: predict, converge or a number of steps; "most_steps" where those ran out first."""
    seconds: float = 0.0


def joint(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    stop: Literal["predict", "converge"] | int = "predict",
    start: npt.ArrayLike | None = None,
    most_steps: int = MOST_STEPS,
    gap: float = 1e-6,
    rng: Random = _THINNING_SEED,
) -> Estimate:
    """Estimate from every cycle's tally together.

    ``stop``: "predict" chooses the number of steps by 5 x 5 thinning (5 x 1 above 2,500 cells); "converge" runs SQUAREM
    until the certified gap is at most ``gap``; a number takes that many steps. ``rng`` only thins reports; its default
    is a fixed seed, so that the same tallies give the same estimate.
    """
    began = time.perf_counter()
    filled = merge(checked_tallies(tallies))
    model = Likelihood.of(filled)
    weights = stacked_weights(filled)
    theta = _starting(start, model.cells)
    if stop == "converge":
        theta, steps = squarem(model, theta, weights, gap=gap, most_steps=most_steps)
    else:
        repeats = REPEATS if model.cells <= _MANY_REPEATS_UP_TO else 1
        steps = (
            steps_by_thinning(filled, start=theta, most_steps=most_steps, repeats=repeats, rng=rng)
            if stop == "predict"
            else _checked_steps(stop)
        )
        for _ in range(steps):
            theta = theta * model.step(theta, weights)[0]
    reason = "most_steps" if isinstance(stop, str) and steps >= most_steps else str(stop)
    return with_certificate(model, theta, weights, filled, steps, reason, began)


def ibu(
    channel: GridChannel | Channel, counts: npt.ArrayLike, *, steps: int = 10, start: npt.ArrayLike | None = None
) -> Estimate:
    """The iterative Bayesian update through one channel, ``steps`` times from ``start`` (uniform by default).

    theta <- theta . C (q / theta C): [Biswas2023, Def. 2.5], for a published grid channel or any dense one.
    """
    began = time.perf_counter()
    if isinstance(channel, GridChannel):
        return _update_on_grid(Tally(channel, np.asarray(counts)), _checked_steps(steps), start, began)
    matrix = channel.matrix
    n = checked_counts(counts, matrix.shape[1])
    possible = matrix.max(axis=0) > 0
    if n.sum() == 0 or np.any(n[~possible] > 0):
        raise InputError("There is no report, or one that this channel cannot make.", "Leave such reports out.")
    q = n / n.sum()
    theta = _starting(start, matrix.shape[0])[:, 0]
    for _ in range(_checked_steps(steps)):
        theta = theta * em_factor(q, theta @ matrix, matrix.dot)
    reported = theta @ matrix
    level = float(np.sum(n[n > 0] * np.log(reported[n > 0])))
    gap = float(max(0.0, em_factor(q, reported, matrix.dot).max() - 1))
    seconds = time.perf_counter() - began
    return Estimate(read_only(theta / theta.sum()), gap, int(steps), int(n.sum()), level, str(steps), seconds)


def _update_on_grid(tally: Tally, steps: int, start: npt.ArrayLike | None, began: float) -> Estimate:
    """The update with c cancelled: theta <- theta (1/Z) K [ q / K(theta / Z) ]."""
    channel, counts, reports = tally.channel, tally.counts, tally.total
    if reports == 0:
        raise InputError("No cycle has a report.", "Wait for reports before estimating.")
    kernel, inverse_z = channel.kernel, inverse_normaliser(channel)
    seen, q = counts > 0, counts / reports
    theta = _starting(start, channel.cells)[:, 0]
    device = kernel.device
    moved = None if device is None else attempt(lambda: bayesian_updates(device, q, inverse_z, theta, steps))
    if moved is not None:
        theta = moved
    elif kernel.form == "dense" and kernel.smallest > 0.0:
        dense_em_steps(theta, q, kernel.values, steps, scale=inverse_z)
    else:
        for _ in range(steps):
            theta = theta * (em_factor(q, kernel.product(theta * inverse_z), kernel.product) * inverse_z)
    reported = kernel.product(theta * inverse_z)
    g = em_factor(q, reported, kernel.product) * inverse_z
    level = float(counts[seen] @ np.log(reported[seen] * channel.output_weights[seen]))
    gap = float(max(0.0, g.max() - 1))
    seconds = time.perf_counter() - began
    return Estimate(read_only(theta / theta.sum()), gap, steps, reports, level, str(steps), seconds)


def steps_by_thinning(
    tallies: Sequence[Tally],
    *,
    start: FloatArray | None = None,
    most_steps: int = MOST_STEPS,
    parts: int = PARTS,
    repeats: int = REPEATS,
    rng: Random = _THINNING_SEED,
) -> int:
    """The number of steps after which four fifths of the reports predict the last fifth best, over five divisions.

    Every part has its own best number; the geometric mean is taken (the path moves by ratios of steps). The best of the
    summed predictions is decided by the flattest part: it can be thousands of steps too late.
    """
    model = Likelihood.of(tallies)
    streams = [rng + r if isinstance(rng, int) else rng for r in range(repeats)]  # a source is simply read on
    held = np.concatenate([thin(tallies, parts, randomness(stream)) for stream in streams], axis=2)
    full = np.stack([tally.counts for tally in tallies], axis=1).astype(np.float64)[:, :, None]
    kept = full - held
    totals = kept.sum(axis=(0, 1))
    if not totals.any():
        return 0
    # With a handful of reports a part may hold them all, which leaves nothing to predict it from.
    held, kept = held[:, :, totals > 0], kept[:, :, totals > 0] / totals[totals > 0]
    theta = np.repeat(_starting(None, model.cells) if start is None else start, held.shape[2], axis=1)
    own_best, own_level = np.zeros(held.shape[2]), np.full(held.shape[2], -np.inf)
    best_steps, best_level, worth_steps, worth_level, next_check = 0, -np.inf, 0, -np.inf, 0
    negligible = _NEGLIGIBLE_NATS * held.shape[2]
    for taken in range(most_steps + 1):
        check = taken >= next_check
        g, level = model.step(theta, kept, scored=held if check else None)
        if check:
            next_check = max(taken + 1, int(taken * 1.04))
            predicted = float(level.sum())
            if not np.isfinite(predicted):
                raise NotCertified(
                    "The likelihood of these reports cannot be computed.",
                    "Mix a floor into the output weights (floor=0.01), or start from a map without zeros.",
                )
            own_best = np.where(level > own_level, taken, own_best)
            own_level = np.maximum(level, own_level)
            if predicted > best_level:
                best_steps, best_level = taken, predicted
            if predicted > worth_level + negligible:
                worth_steps, worth_level = taken, predicted
            if taken > 1.5 * min(best_steps, worth_steps) + 20:
                break
        theta *= g
    # Each part votes for its own best number: one that rises for ever no longer decides for the others.
    return round(float(np.exp(np.mean(np.log(own_best + 0.5)))) - 0.5)


def thin(tallies: Sequence[Tally], parts: int, source: Randomness) -> FloatArray:
    """(cells, channels, parts): every report in exactly one part, chosen uniformly."""
    out = np.empty((tallies[0].channel.cells, len(tallies), parts))
    for index, tally in enumerate(tallies):
        cells = np.repeat(np.arange(tally.counts.size), tally.counts)
        part = source.integers(parts, cells.size)
        out[:, index, :] = np.bincount(cells * parts + part, minlength=tally.counts.size * parts).reshape(-1, parts)
    return out


def squarem(
    model: Likelihood, theta: FloatArray, weights: FloatArray, *, gap: float, most_steps: int
) -> tuple[FloatArray, int]:
    """Extrapolated expectation maximisation [Varadhan2008, scheme S3], monotone, until max g - 1 <= gap."""
    longest, taken = 4.0, 0
    while taken < most_steps:
        g, _ = model.step(theta, weights)
        taken += 1
        if float(g.max()) - 1 <= gap:
            break
        first = theta * g
        g_first, level_first = model.step(first, weights)
        second = first * g_first
        taken += 1
        change = first - theta
        bend = (second - first) - change
        norm = float(np.linalg.norm(bend))
        if norm == 0.0:
            theta = second
            continue
        length = min(max(float(np.linalg.norm(change)) / norm, 1.0), longest)
        far = theta + 2 * length * change + length**2 * bend
        np.maximum(far, 1e-14 * second, out=far)
        far /= far.sum()
        g_far, level_far = model.step(far, weights)
        taken += 1
        if np.isfinite(level_far[0]) and level_far[0] >= level_first[0] - 1e-13:
            theta = far * g_far
            if length == longest:
                longest *= 4
        else:
            theta = second
            longest = max(longest / 4, 4.0)
    return theta, taken


def with_certificate(
    model: Likelihood,
    theta: FloatArray,
    weights: FloatArray,
    tallies: Sequence[Tally],
    steps: int,
    stopped_by: str,
    began: float,
) -> Estimate:
    """The gap recomputed at the returned probabilities."""
    # What a step has driven below every number that can be divided by is nobody.
    theta = np.where(theta < _NOBODY, 0.0, theta)
    theta = theta / theta.sum()
    g, level = model.step(theta, weights)
    reports = sum(tally.total for tally in tallies)
    # (theta C)(y) = c(y) times what the step scored.
    offset = sum(
        float(np.sum(t.counts[t.counts > 0] * np.log(t.channel.output_weights[t.counts > 0]))) for t in tallies
    )
    return Estimate(
        read_only(theta[:, 0]),
        float(max(0.0, g.max() - 1)),
        steps,
        reports,
        float(level[0]) * reports + offset,
        stopped_by,
        time.perf_counter() - began,
    )


def _starting(start: npt.ArrayLike | None, cells: int) -> FloatArray:
    if start is None:
        return np.full((cells, 1), 1.0 / cells)
    return np.array(checked_probabilities(start, cells))[:, None]


def _checked_steps(steps: int | str) -> int:
    if isinstance(steps, str | bool) or int(steps) != steps or steps < 0:
        raise InputError(f"stop is {steps!r}.", "Use 'predict', 'converge' or a number of steps.")
    return int(steps)
