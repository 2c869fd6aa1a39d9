"""How far answers from a release lie from the truth: lengths, speeds, heat maps and flows, naive and corrected.

*Naive* reads the release as if it were the truth; *corrected* is what :mod:`sfumato.answers` makes of it with the law
on its certificate. Lengths and speeds are off by a share of the truth, |answer / truth - 1|; maps by total variation,
the share of people (or trips) that would have to be moved to make the two maps alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.answers.flows import Flows, estimate_flows
from sfumato.answers.heatmap import EstimatedMap, estimate_heatmap
from sfumato.answers.received import Received
from sfumato.answers.smooth import walked
from sfumato.answers.ways import DRAWS, estimate_ways
from sfumato.answers.window import Bounds, reporting_grid
from sfumato.arrays import FloatArray, IntArray
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.traces import Trace
from sfumato.units import format_length

HEAT_CELLS_M, FLOW_CELLS_M = (500.0, 1000.0, 2000.0), (1500.0, 3000.0, 6000.0)
FEWEST_TRIPS, LEAST_TRIP_S = 20, 1.0
MOST_POINTS, MOST_POINTS_QUICK = 20_000, 8_000  # whose lengths and speeds are drawn: evenly chosen people
QUICK_DRAWS, QUICK_GROUPS = 6, 5  # paths of each person, and groups that judge a map by being left out
ALONE = "not corrected: of one person among others there is nobody to judge by"
_KINDS = {"length": "trip length", "speed": "median speed", "heatmap": "heat map", "flows": "flows"}
People = Sequence[tuple[str | None, Trace]]


@dataclass(frozen=True, slots=True)
class Quality:
    """One answer's error, naive and corrected, as shares; None where there is none, for the reason in ``note``."""

    kind: str
    cell_m: float | None
    naive: float | None
    corrected: float | None
    note: str = ""

    @property
    def name(self) -> str:
        """In words, with the size of the cells."""
        return _KINDS[self.kind] + ("" if self.cell_m is None else f", cells of {format_length(self.cell_m)}")

    @property
    def best(self) -> float | None:
        """The error of the better answer: the owner, who sees both, can tell receivers which to use."""
        return min((error for error in (self.corrected, self.naive) if error is not None), default=None)

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        plain = {"answer": self.kind, "cell_m": self.cell_m, "naive": self.naive, "corrected": self.corrected}
        return {**plain, "note": self.note}


@dataclass(frozen=True, slots=True)
class MapsAsked:
    """Which maps are asked for: sides of their cells, and the rectangle (by default where the originals are).

    ``quick`` estimates as receivers do, but from fewer people and with fewer groups left out.
    """

    heat_cells_m: tuple[float, ...] = HEAT_CELLS_M
    flow_cells_m: tuple[float, ...] = FLOW_CELLS_M
    bounds: Bounds | None = None
    quick: bool = False


def measured(
    originals: People, releases: People, received: Received | None, asked: MapsAsked, *, maps: bool = True
) -> tuple[Quality, ...]:
    """Every measure for these people together; ``received`` is None where no certificate gives the noise's law.

    Without ``maps`` maps are counted and not corrected.
    """
    rows = list(_ways(originals, releases, received, quick=asked.quick))
    if received is not None and asked.quick:
        renamed = [(str(k % QUICK_GROUPS), trace) for k, (_, trace) in enumerate(received.people)]
        received = replace(received, people=tuple(renamed))
    for cell_m in asked.heat_cells_m:
        grid = reporting_grid([trace for _, trace in originals], cell_m, asked.bounds)
        truth, naive = _heat(originals, grid), _heat(releases, grid)
        one_cell = "one cell holds everybody" if grid.cells == 1 else ""
        row = Quality("heatmap", cell_m, _apart(truth, naive), None, one_cell)
        rows.append(
            _corrected(row, received, truth, partial(_share, estimate_heatmap, cell_m, asked))
            if maps
            else replace(row, note=ALONE)
        )
    trips = sum(len(_trips(trace)[0]) for _, trace in originals)
    for cell_m in asked.flow_cells_m:
        if trips < FEWEST_TRIPS:
            rows.append(Quality("flows", cell_m, None, None, f"only {trips} trip(s): too few for a map of flows"))
            continue
        grid = reporting_grid([trace for _, trace in originals], cell_m, asked.bounds)
        truth, naive = _flows(originals, grid), _flows(releases, grid)
        row = Quality("flows", cell_m, _apart(truth, naive), None)
        rows.append(
            _corrected(row, received, truth, partial(_share, estimate_flows, cell_m, asked))
            if maps
            else replace(row, note=ALONE)
        )
    return tuple(rows)


def averaged(draws: Sequence[tuple[Quality, ...]]) -> tuple[Quality, ...]:
    """The mean of every measure over several releases of the same people."""

    def mean(values: Sequence[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else None

    return tuple(
        replace(rows[0], naive=mean([row.naive for row in rows]), corrected=mean([row.corrected for row in rows]))
        for rows in zip(*draws, strict=True)
    )


def _share(
    estimate: Callable[..., EstimatedMap | Flows], cell_m: float, asked: MapsAsked, received: Received
) -> FloatArray:
    return np.asarray(estimate([received], cell_m=cell_m, bounds=asked.bounds).share).ravel()


def _corrected(
    row: Quality, received: Received | None, truth: FloatArray, answer: Callable[[Received], FloatArray]
) -> Quality:
    if received is None:
        return replace(row, note="not corrected: no certificate gives a law of the noise")
    try:
        return replace(row, corrected=_apart(truth, answer(received)))
    except InputError as error:
        return replace(row, note=f"not corrected: {error.what.rstrip('.')}")


def _apart(one: FloatArray, other: FloatArray) -> float:
    if not other.sum() > 0:
        return 1.0  # nothing of it lies in the rectangle
    return 0.5 * float(np.abs(one - other).sum())


def _heat(people: People, grid: Grid) -> FloatArray:
    cells = np.concatenate([grid.locate(trace.lat_deg, trace.lon_deg) for _, trace in people])
    counts = np.bincount(cells[cells >= 0], minlength=grid.cells)
    return np.asarray(counts / max(counts.sum(), 1))


def _trips(trace: Trace) -> tuple[IntArray, IntArray]:
    """First and last point of every segment that lasts."""
    order = np.lexsort((trace.times_s, trace.segment))
    start = np.flatnonzero(np.r_[True, np.diff(trace.segment[order]) != 0])
    end = np.r_[start[1:], len(order)] - 1
    lasting = trace.times_s[order[end]] - trace.times_s[order[start]] >= LEAST_TRIP_S
    return order[start[lasting]], order[end[lasting]]


def _flows(people: People, grid: Grid) -> FloatArray:
    counts = np.zeros(grid.cells**2)
    for _, trace in people:
        start, end = (grid.locate(trace.lat_deg[at], trace.lon_deg[at]) for at in _trips(trace))
        inside = (start >= 0) & (end >= 0)
        counts += np.bincount(start[inside] * grid.cells + end[inside], minlength=grid.cells**2)
    return np.asarray(counts / max(counts.sum(), 1.0))


def _ways(originals: People, releases: People, received: Received | None, *, quick: bool) -> tuple[Quality, Quality]:
    """Total length of trips, and the speed that is passed half of the time."""
    chosen, cut = _some(originals, MOST_POINTS_QUICK if quick else MOST_POINTS)
    true_length, true_speed = _travelled([first_points(originals[k][1], cut) for k in chosen])
    length, speed = _travelled([first_points(releases[k][1], cut) for k in chosen])
    rows = (
        Quality("length", None, _off(length, true_length), None, "" if true_length else "nobody moved"),
        Quality("speed", None, _off(speed, true_speed), None, "" if true_speed else "the median speed is 0"),
    )
    if received is None:
        return rows
    try:
        some = replace(received, people=tuple((str(k), first_points(received.people[k][1], cut)) for k in chosen))
        found = estimate_ways([some], draws=QUICK_DRAWS if quick else DRAWS)
    except InputError as error:
        note = f"not corrected: {error.what.rstrip('.')}"
        return replace(rows[0], note=note), replace(rows[1], note=note)
    model = "mostly the model" if found.mostly_model else ""
    values = (found.total_length_m, true_length), (found.speed_quantiles_m_s[1], true_speed)
    one, two = (
        replace(row, corrected=_off(*pair), note=row.note or model) for row, pair in zip(rows, values, strict=True)
    )
    return one, two


def _some(people: People, most: int) -> tuple[list[int], int]:
    """Which people, evenly chosen, and how many of each one's points."""
    number = len(people)
    cut = max(most // min(number, 20), 200)
    total = sum(min(len(trace), cut) for _, trace in people)
    kept = number if total <= most else max(1, number * most // total)
    return sorted({int(k) for k in np.linspace(0, number - 1, kept)}), cut


def first_points(trace: Trace, points: int) -> Trace:
    """The trace, cut after so many points."""
    if len(trace) <= points:
        return trace
    return Trace(trace.lat_deg[:points], trace.lon_deg[:points], trace.times_s[:points], trace.segment[:points])


def _travelled(traces: Sequence[Trace]) -> tuple[float, float]:
    """Metres, and the median over time of the speed of steps."""
    steps, seconds = [np.zeros(0)], [np.zeros(0)]
    for trace in traces:
        order, every, walk = walked(trace)
        times, first = np.unique(every, return_index=True)
        same = np.diff(trace.segment[order][first]) == 0
        steps.append(np.linalg.norm(np.diff(walk[first], axis=0), axis=1)[same])
        seconds.append(np.diff(times)[same])
    length, gaps = np.concatenate(steps), np.concatenate(seconds)
    if not length.size:
        return 0.0, 0.0
    speeds = length / gaps
    order = np.argsort(speeds)
    passed = np.cumsum(gaps[order])
    return float(length.sum()), float(speeds[order][int(np.searchsorted(passed, passed[-1] / 2))])


def _off(answer: float, truth: float) -> float | None:
    return abs(answer / truth - 1.0) if truth > 0 else None
