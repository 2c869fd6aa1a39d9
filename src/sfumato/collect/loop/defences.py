"""What stands against forged reports: a cap on the change of weights, a test of a cycle against a map, and a verdict.

Forged reports never weaken anyone's epsilon (2 beta holds for every c); they move the map and, where the channel
follows the map (promise "mutual-information"), where people are sent. After an alarm such a channel is kept, because
one that has followed a forged cell explains the forgeries. The cap and the floor bound how fast a channel follows what
raises no alarm; :func:`fake_report_influence` says how far forged reports would move the map. The tight channel
(promise "epsilon") follows nothing, and needs neither.

The verdict on a cycle asks two questions, in this order. *Does any map explain these reports?* Rings (:mod:`.rings` of
the estimation) answer exactly. Beside them the cycle is tested against the map that fits its own reports best, which
finds what is impossible only as a whole; being fitted to the same reports, it finds too little rather than too much.
Both hold however people move between cycles: reports that fail were not drawn by honest devices, and are called forged.
*Does the average map explain them?* (:func:`residual_test`) If not, people moved, or somebody forged reports that look
like people. Reports alone cannot tell which; the words say so.

Nobody can tell a liar from an honest person, so a map is shown with what a share of liars could do to it. They report
in *every* cycle of the pool, not in the last alone. Three ways of lying are tried at several places: all reports of one
cell (which the exact test may see), the same spread evenly over a block of 3 x 3 cells, and reports drawn through the
channel as if everybody stood there (which nothing can see). The range over places is printed: the worst place is the
one farthest from where people are; a liar who aims badly does less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, pdtrc

from sfumato.base.arrays import FloatArray, IntArray, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.earth_mover import earth_movers
from sfumato.collect.estimation.joint import Estimate, joint, steps_by_thinning
from sfumato.collect.estimation.rings import RINGS, Excess, cells_of_ring, impossible_excess
from sfumato.collect.estimation.tally import Tally, alike, checked_tallies, merge
from sfumato.collect.grids.grid_channel import GridChannel

DEFAULT_ALARM_P = 1e-4
_LEAST_EXPECTED = 0.1
Kind = Literal["fits", "changed", "forged"]
_FITTED_UP_TO = 2_500


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
class CycleVerdict:
    """``kind`` and why: p values of both tests, the cell that stands out, one sentence for a page."""

    kind: Kind
    p_no_map: float
    p_average: float
    cell: int
    words: str
    residual: ResidualTest

    @property
    def alarm(self) -> bool:
        """Only reports that no map explains raise an alarm."""
        return self.kind == "forged"


def judge_cycle(
    tallies: Sequence[Tally],
    average: FloatArray,
    *,
    alarm_p: float,
    beside: tuple[Sequence[Tally], FloatArray] | None = None,
) -> CycleVerdict:
    """Judge the last of these tallies, the earlier ones beside it; ``average`` is the map of all of them.

    ``beside``: the tallies of the last one's class (it among them, last) and their map, where classes are declared: a
    weekend that differs from the average of all days is no news.
    """
    last, earlier = tallies[-1], tallies[:-1]
    alike, expected = (tallies, average) if beside is None else beside
    residual = residual_test(last, expected, earlier=alike[:-1], alarm_p=alarm_p)
    excess = _no_map(last, earlier)
    if excess.p_value < alarm_p:
        kind: Kind = "forged"
        words = (
            f"No map explains these reports (p = {excess.p_value:.1e}): cell {excess.cell} was reported "
            f"{excess.reported} times, and its surroundings allow {excess.at_most:.0f}. They are forged, or a device "
            "is broken."
        )
    elif residual.alarm:
        kind = "changed"
        whom = "all" if beside is None else "its class"
        words = (
            f"This cycle differs from the average of {whom} (p = {residual.p_value:.1e}), most at cell "
            f"{residual.worst_cell}. People moved, or reports were forged to look like people: reports cannot tell."
        )
    else:
        kind, words = "fits", f"The reports fit the {'average map' if beside is None else 'map of their class'}."
    cell = excess.cell if kind == "forged" else residual.worst_cell
    return CycleVerdict(kind, excess.p_value, residual.p_value, cell, words, residual)


def _no_map(last: Tally, earlier: Sequence[Tally]) -> Excess:
    """This cycle and, where there are others, all together: rings and the best-fitting map, Bonferroni over all."""
    found = [impossible_excess([last]), _no_best_map(last)]
    if any(tally.total for tally in earlier):
        everything = [*(tally for tally in earlier if tally.total), last]
        pooled = [impossible_excess(everything)]
        through_one = merge(everything)
        # Through one channel the sum of maps that change is one map: their average.
        if len(through_one) == 1:
            pooled.append(_no_best_map(through_one[0]))
        # An old forgery must not accuse a new cycle: together counts only where this cycle adds to the same cell.
        found += [one for one in pooled if int(last.counts[one.cell]) * len(everything) > one.at_most]
    smallest = min(found, key=lambda one: one.p_value)
    return Excess(min(1.0, len(found) * smallest.p_value), smallest.cell, smallest.reported, smallest.at_most)


def _no_best_map(tally: Tally) -> Excess:
    """The residual test against the map of greatest likelihood; none above 2,500 cells, where it would take minutes."""
    if tally.channel.cells > _FITTED_UP_TO:
        return Excess(1.0, 0, int(tally.counts[0]), float(tally.counts[0]))
    best = joint([tally], stop="converge", gap=1e-4, most_steps=1_000).probabilities
    test = residual_test(tally, best)
    expected = tally.total * float(tally.channel.report_distribution(best)[test.worst_cell])
    return Excess(test.p_value, test.worst_cell, int(tally.counts[test.worst_cell]), expected)


Way = Literal["piled", "spread", "as people"]
WAYS: tuple[Way, ...] = ("piled", "spread", "as people")
_WATCHED_EXACTLY = 1_000
_EACH_UP_TO, _GROUPS = 20_000, 4
"""Cells times distinct channels up to which the forecast keeps every channel; beyond, this many groups of them."""
_MARGIN = 0.1
_STEPS_OF_SMOOTH = 50
"""Where the map is the smooth one: 2,450 cells and 30 channels are moved within 1 % as far as by 400 steps."""


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """How far a share of forged reports, in every pooled cycle, would move the estimate."""

    share: float
    way: Way
    cell: int
    """Where they do most."""
    moved: float
    """Earth mover's distance between the estimates without and with them, at the worst place, and a tenth more: other
    places are worse by about as much. The grid's unit."""
    least: float
    """The same at the best of the places tried, a tenth less."""
    into_cell: float
    """What share of people they would add to their worst cell."""


def fake_report_influence(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    estimate: Estimate,
    *,
    shares: Sequence[float] = (0.01, 0.05),
    candidates: int = 4,
) -> tuple[Influence, ...]:
    """For each share of forged reports and each way of lying, the range over several places.

    The places are the cells farthest from where people are in each direction, the emptiest and the fullest. A pile
    of reports also makes an estimate take up to three times as many steps: where the number is chosen by the reports
    it is chosen again with the forged ones among them, up to 1,000 cells (a smooth estimate takes none: 50).
    """
    filled = merge(checked_tallies(tallies))
    grid = filled[0].channel.grid
    if len(filled) * grid.cells > _EACH_UP_TO:
        filled = alike(filled, most=_GROUPS)
    checked_probabilities(estimate.probabilities, grid.cells)
    if candidates < 1:
        raise InputError(f"{candidates} cells to forge.", "Try at least one.")
    cells = forged_cells(filled[-1].channel, estimate.probabilities, candidates)
    fixed = estimate.stopped_by.startswith("smooth")
    steps = _STEPS_OF_SMOOTH if fixed else max(1, estimate.iterations)
    before = joint(filled, stop=steps).probabilities
    again = not fixed and grid.cells <= _WATCHED_EXACTLY
    found = []
    for share in shares:
        if not 0 < share < 1:
            raise InputError(f"A share of {share} forged reports.", "Give shares between 0 and 1.")
        for way in WAYS:
            tried = []
            for cell in cells:
                lied = [with_forged(tally, share, way, cell) for tally in filled]
                after = joint(lied, stop=max(1, steps_by_thinning(lied)) if again else steps).probabilities
                moved = monitored_distance(before, after, grid)
                tried.append((moved, cell, float(after[cell] - before[cell])))
            worst = max(tried)
            most, least = (1 + _MARGIN) * worst[0], (1 - _MARGIN) * min(tried)[0]
            found.append(Influence(float(share), way, worst[1], most, least, worst[2]))
    return tuple(found)


def with_forged(tally: Tally, share: float, way: Way, cell: int) -> Tally:
    """The tally with so many forged reports that they are ``share`` of all, without chance."""
    forged = share / (1 - share) * tally.total
    channel = tally.channel
    if way == "piled":
        shape = np.zeros(channel.cells)
        shape[cell] = 1.0
    elif way == "spread":
        shape = np.zeros(channel.cells)
        shape[[cell, *cells_of_ring(cell, channel.grid.shape, RINGS[1]).tolist()]] = 1.0
        shape *= channel.output_weights > 0
        shape /= max(1.0, float(shape.sum()))
    else:
        shape = channel.row(cell)
    return Tally(channel, tally.counts + whole(forged * shape))


def whole(amounts: FloatArray) -> IntArray:
    """Whole numbers nearest to ``amounts`` that keep their sum."""
    down = np.floor(amounts).astype(np.int64)
    short = round(float(amounts.sum())) - int(down.sum())
    if short > 0:
        down[np.argsort(down - amounts, kind="stable")[:short]] += 1
    out: IntArray = down
    return out


def forged_cells(channel: GridChannel, theta: FloatArray, count: int) -> list[int]:
    """Places worth forging: the farthest in each quarter, the emptiest, the fullest; only cells that are reported."""
    cells = np.flatnonzero(channel.output_weights > 0)
    centres = channel.grid.centres()
    away = centres[cells] - theta @ centres
    far: list[int] = []
    for down, right in ((1, 1), (1, -1), (-1, 1), (-1, -1))[:count]:
        far.append(int(cells[np.argmax(away @ np.array([down, right]))]))
    if count < 4:
        far = [int(cells[np.argmax(np.linalg.norm(away, axis=1))]), *far[: count - 1]]
    emptiest = cells[np.argsort(theta[cells], kind="stable")[: max(0, count - 3)]]
    return sorted(
        {*far, *(int(cell) for cell in emptiest), *([int(cells[np.argmax(theta[cells])])] if count > 1 else [])}
    )


def monitored_distance(a: npt.ArrayLike, b: npt.ArrayLike, grid: Grid) -> float:
    """The earth mover's distance, exact up to 1,000 cells and from blocks beyond: for watching, in seconds."""
    block = 1 if grid.cells <= _WATCHED_EXACTLY else math.ceil(math.sqrt(grid.cells / 1_000))
    return earth_movers(a, b, grid, block=block).value
