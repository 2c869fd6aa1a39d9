"""What forged reports can do and what stands against them: a cap on the change of weights, a residual test, a forecast.

Forged reports never weaken anyone's epsilon (2 beta holds for every c); they move the map and, through the next
channel, where people are sent. The residual test says when; after its alarm the channel is kept, because a channel that
has followed a forged cell explains the forgeries and silences the test. The cap and the floor bound how fast a channel
follows what raises no alarm; the forecast says how far one and five percent of forged reports would move the estimate.
None of them can tell a liar from an honest person, and none of them cleans the map.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, pdtrc

from sfumato.arrays import FloatArray, positive, read_only
from sfumato.channel import checked_probabilities
from sfumato.errors import InputError
from sfumato.estimation.earth_mover import earth_movers
from sfumato.estimation.joint import Estimate, joint
from sfumato.estimation.tally import Tally, checked_tallies
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import GridChannel

DEFAULT_ALARM_P = 1e-4
_LEAST_EXPECTED = 0.1
_WATCHED_EXACTLY = 2_500


def capped_weights(previous: FloatArray, fresh: FloatArray, max_log_change: float, floor: float) -> FloatArray:
    """The weights proportional to ``fresh`` as far as previous/e^cap, floor/m <= c <= previous e^cap allow, summing
    to 1.

    clip(s fresh) for the one scale s that sums to 1: it exists, because the lower limits sum to at most 1 (``previous``
    respects the floor) and the upper ones to e^cap.
    """
    # A factor of e^700 is no cap any more, and the largest that a double holds.
    growth = math.exp(min(positive(max_log_change, "max_log_change"), 700.0))
    low = np.maximum(previous / growth, np.minimum(floor / previous.size, previous))
    high = previous * growth

    def total(log_scale: float) -> float:
        return float(np.clip(fresh * math.exp(log_scale), low, high).sum())

    lower, upper = -1.0, 1.0
    while total(lower) > 1 and lower > -700:
        lower *= 2
    while total(upper) < 1 and upper < 700:
        upper *= 2
    for _ in range(200):
        middle = 0.5 * (lower + upper)
        lower, upper = (middle, upper) if total(middle) < 1 else (lower, middle)
    return read_only(np.clip(fresh * math.exp(upper), low, high))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class ResidualTest:
    """Do the reports of one cycle look like reports of *any* map through the published channel?"""

    statistic: float
    degrees_of_freedom: int
    p_value: float
    worst_cell: int
    worst_excess: float
    """(observed - expected) / sqrt(expected) at the worst cell, in this cycle."""
    alarm: bool


def residual_test(
    tally: Tally, probabilities: npt.ArrayLike, *, earlier: Sequence[Tally] = (), alarm_p: float = DEFAULT_ALARM_P
) -> ResidualTest:
    """Three tests of a cycle's counts against ``probabilities`` sent through its channel; p is three times the least.

    Pearson's sees the whole cycle (cells that expect fewer than 5 reports are pooled; ``statistic`` and
    ``degrees_of_freedom`` are its). A spike of forged reports of one cell cannot be explained by people near it, who
    would also report its neighbours: Poisson's tail of the most excessive cell, times the number of cells, in this
    cycle and in all cycles together (``earlier``, each through its own channel), finds a small one. The map was fitted
    to the same reports, so that every statistic is if anything too small: the alarm is conservative.
    """
    if not 0 <= alarm_p <= 1:
        raise InputError(f"The alarm's p value is {alarm_p}.", "It lies between 0 (never) and 1.")
    theta = checked_probabilities(probabilities, tally.channel.cells)
    n = tally.total
    if n == 0:
        raise InputError("This cycle has no report.", "Wait for reports before testing them.")
    expected = n * tally.channel.report_distribution(theta)
    observed = tally.counts.astype(np.float64)
    standard = (observed - expected) / np.sqrt(np.maximum(expected, 1e-12 * n))
    enough = expected >= 5
    parts_expected = np.append(expected[enough], expected[~enough].sum())
    parts_observed = np.append(observed[enough], observed[~enough].sum())
    used = parts_expected > 0
    statistic = float(np.sum((parts_observed[used] - parts_expected[used]) ** 2 / parts_expected[used]))
    freedom = max(1, int(used.sum()) - 1)
    worst, worst_p = _most_excessive(observed, expected)
    everything = [other for other in earlier if other.total > 0]
    if everything:
        for other in everything:
            observed = observed + other.counts
            expected = expected + other.total * other.channel.report_distribution(theta)
        pooled, pooled_p = _most_excessive(observed, expected)
        worst, worst_p = (pooled, pooled_p) if pooled_p < worst_p else (worst, worst_p)
    p_value = min(1.0, 3 * min(float(chdtrc(freedom, statistic)), worst_p))
    return ResidualTest(statistic, freedom, p_value, worst, float(standard[worst]), bool(p_value < alarm_p))


def _most_excessive(observed: FloatArray, expected: FloatArray) -> tuple[int, float]:
    """The cell whose count is least likely to be so large, and how likely that is for any of them (Bonferroni)."""
    # A fitted map may expect next to nothing of a cell; one stray report of it is no evidence.
    expected = np.maximum(expected, _LEAST_EXPECTED)
    # Of a cell that nobody reported the tail is everything; pdtrc knows no count of -1.
    tails: FloatArray = np.where(observed > 0, pdtrc(np.maximum(observed - 1, 0), expected), 1.0)
    excess = (observed - expected) / np.sqrt(expected)
    worst = int(np.argmax(np.where(tails <= tails.min(), excess, -np.inf)))
    return worst, min(1.0, float(tails[worst]) * observed.size)


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How far forged reports, all of one cell in the last cycle, would move the estimate."""

    share: float
    cell: int
    moved: float
    """Earth mover's distance between the estimates without and with them, in the grid's unit."""
    into_cell: float
    """What share of people they would add to their cell."""


def fake_report_influence(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    estimate: Estimate,
    *,
    shares: Sequence[float] = (0.01, 0.05),
    candidates: int = 4,
) -> tuple[Influence, ...]:
    """For each share of forged reports among the last cycle's, the worst of several cells to forge.

    The cells tried are the emptiest and fullest of the estimate and those farthest from where people are; the estimate
    is redone with as many steps as the true one took. A hostile participant can always do this much.
    """
    filled = checked_tallies(tallies)
    last = filled[-1]
    grid = last.channel.grid
    checked_probabilities(estimate.probabilities, grid.cells)
    if candidates < 1:
        raise InputError(f"{candidates} cells to forge.", "Try at least one.")
    cells = _forged_cells(grid, estimate.probabilities, last.channel, candidates)
    steps = max(1, estimate.iterations)
    before = joint(filled, stop=steps).probabilities
    found = []
    for share in shares:
        if not 0 < share < 1:
            raise InputError(f"A share of {share} forged reports.", "Give shares between 0 and 1.")
        forged = max(1, round(share * last.total / (1 - share)))
        worst: Influence | None = None
        for cell in cells:
            counts = last.counts.copy()
            counts[cell] += forged
            after = joint([*filled[:-1], Tally(last.channel, counts)], stop=steps).probabilities
            moved = monitored_distance(before, after, grid)
            if worst is None or moved > worst.moved:
                worst = Influence(float(share), int(cell), moved, float(after[cell] - before[cell]))
        assert worst is not None
        found.append(worst)
    return tuple(found)


def monitored_distance(a: npt.ArrayLike, b: npt.ArrayLike, grid: Grid) -> float:
    """The earth mover's distance, exact up to 2,500 cells and from blocks beyond: for watching, in seconds."""
    block = 1 if grid.cells <= _WATCHED_EXACTLY else math.ceil(math.sqrt(grid.cells / 1_000))
    return earth_movers(a, b, grid, block=block).value


def _forged_cells(grid: Grid, theta: FloatArray, channel: GridChannel, count: int) -> list[int]:
    possible = channel.output_weights > 0
    centre = theta @ grid.centres()
    away = np.linalg.norm(grid.centres() - centre, axis=1)
    # A forged report of a cell that the channel never reports is refused, so only the others are worth forging.
    cells = np.flatnonzero(possible)
    far = cells[np.argsort(-away[cells], kind="stable")[:count]]
    ordered = cells[np.argsort(theta[cells], kind="stable")]
    return sorted({int(cell) for cell in (*far, *ordered[: max(1, count - 2)], cells[np.argmax(theta[cells])])})
