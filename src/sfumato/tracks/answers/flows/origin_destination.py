"""From where to where: origin-destination shares from protected trips, with the spread of the noise taken out.

The noise at a trip's start and end, T seconds apart, is correlated by ρ(T), which the certificate states, so the
likelihood of the pair of cells (a, b) is a bivariate Gaussian on each axis. Latent cells are half the reporting cells
(with latent = reporting cells the answer is worse than counting the released ends); people within a latent cell are
spread over it, which adds w²/12 to the variance. Expectation-maximisation starts where one end says about the other
only how far and in which direction it lies (m_a m_b g(b - a), with g from the release, too), which needs few steps and
keeps rare pairs plausible; releases are laid on one another first (:mod:`~sfumato.tracks.answers.maps.heatmap`). It is
stopped by the likelihood of people left out, after one step at least, and raked to where trips begin and end, which is
known better (:mod:`~sfumato.tracks.answers.flows.trip_ends`). Intervals are over people, as for heat maps
(:mod:`~sfumato.tracks.answers.intervals`; what smoothing takes is told by walking twice as far).

Where that makes too many pairs of latent cells, square cells at least four times as wide as the noise are latent cells
themselves (:mod:`~sfumato.tracks.answers.flows.border_flows`), and only pairs that some trip may come from are kept: a
whole city is worked out in seconds. Most of its pairs have few trips or none. Those are counted, for taking the noise
out of a few trips leaves them farther from the truth; and an interval is never narrower than Poisson's for so many
trips [Garwood1936].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.areas import Areas
from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.base.things.grid import Grid
from sfumato.tracks.answers.flows.border_flows import WIDE, PairLikelihood, pairs_of
from sfumato.tracks.answers.flows.pair_shares import LARGEST, Flows
from sfumato.tracks.answers.flows.trip_ends import rake, trip_ends
from sfumato.tracks.answers.flows.trips import TripLikelihood, Trips, likelihood_of, trips_of
from sfumato.tracks.answers.intervals import people_interval, poisson_interval
from sfumato.tracks.answers.maps.cells import AskedCells, Bounds, Cells, Reporting, Window, asked_for, units_of
from sfumato.tracks.answers.maps.heatmap import Aligned, align
from sfumato.tracks.answers.received import (
    NoiseLaw,
    Pair,
    Person,
    Received,
    check_confidence,
    crowd_notes,
    groups_of,
    largest_share,
    laws_of,
    people_of,
    received_all,
    release_notes,
)

LATENT_OF_NOISE = 1.15  # and at least two latent cells along a reporting cell
MOST_STEPS = 10  # farther, and it makes up for people who do not stand evenly over a latent cell
MOST_WORK = 9_000_000  # trips times steps, over all groups
MOST_GROUPS = 8
ONE_START = 30_000  # trips: so many tell where to start, and no group of people changes it
FIRST_STEPS = 6  # to know the two ends; how they go together is found from there
GRAVITY_STEPS = 3
STEPS_FOR_ONE = 3
OF_AGAIN = 1.5  # walking once more tells this part of what smoothing takes from starts and ends
LEAST_STEPS = 1  # the start alone says too little about these people
USUAL_STEPS = (MOST_GROUPS + 1) * (FIRST_STEPS + GRAVITY_STEPS + 3)  # for a progress bar
FEW = 100  # trips: to take the noise out of fewer leaves them farther from the truth than counting
RARE = 0.05  # of the trips of people left out may go between places that nobody else's do
_ALONE = "fixed: one person leaves nobody to judge by"


def estimate_flows(
    received: Sequence[Received | Pair],
    *,
    cell_m: float | None = None,
    h3: int | None = None,
    areas: Areas | None = None,
    bounds: Bounds | None = None,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    on_step: Callable[[], None] | None = None,
) -> Flows:
    """Flows between cells. A trip is one segment of a released trace, from its first to its last point.

    ``on_step`` is called after every step of the search.
    """
    received = received_all(received)
    laws = laws_of(received)
    check_confidence(confidence)
    people = people_of(received, each_release_a_person=each_release_a_person)
    if any(one.times == "drop" for one in received):
        raise InputError("The release has no times, so how long a trip took is not known.", "Keep or shift the times.")
    noise_m = max(law.noise_m for law in laws)
    traces = [trace for one in received for _, trace in one.people]
    asked = asked_for(traces, noise_m, cell_m=cell_m, h3=h3, areas=areas, bounds=bounds)
    window = _window(asked.grid, noise_m, least=2 if asked.cells is asked.grid else 1)
    if (window.shape[0] * window.shape[1]) ** 2 <= LARGEST:
        trips, found = _by_finer_cells(people, laws, asked, window, confidence, on_step)
    elif asked.cells is asked.grid and min(asked.grid.cell_height, asked.grid.cell_width) >= WIDE * noise_m:
        trips, found = _by_borders(people, laws, asked.grid, confidence, on_step)
    else:
        raise InputError(
            f"{asked.grid.rows} x {asked.grid.columns} cells make {window.shape[0] * window.shape[1]} latent cells, "
            "and too many pairs of them to be worked out.",
            f"Use larger cells (square ones of {WIDE * noise_m:.0f} m and more can be any number), or a smaller "
            "rectangle (--bounds south,west,north,east).",
        )
    largest = largest_share(trips.person)
    notes = release_notes(received, trips=True) + crowd_notes(len(people), largest, "trips", trips.outside)
    return Flows(
        cells=asked.cells,
        grid=asked.grid,
        pairs=read_only(found.pairs, np.int64),
        shares=read_only(found.share),
        lows=read_only(found.low),
        highs=read_only(found.high),
        naives=read_only(_counted(trips, found.pairs, asked.cells.cells)),
        elsewhere=found.elsewhere,
        confidence=confidence,
        people=len(people),
        trips=len(trips),
        outside=trips.outside,
        steps=found.steps,
        steps_by=found.steps_by,
        latent_m=found.latent_m,
        largest_person=largest,
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What one of the two ways found."""

    pairs: IntArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    elsewhere: float
    steps: int
    steps_by: str
    latent_m: float


def _by_borders(
    people: Sequence[Person],
    laws: Sequence[NoiseLaw],
    grid: Grid,
    confidence: float,
    on_step: Callable[[], None] | None,
) -> tuple[Trips, _Found]:
    """Cells far wider than the noise: the cells themselves, and the pairs that a trip may come from."""
    window = Window(grid, 1, 1)
    moved_m, less_m2 = np.zeros((sum(len(person.releases) for person in people), 2)), (0.0,) * len(laws)
    if Window.fits(grid, min(law.noise_m for law in laws)):  # a larger city is not worth the work: cells are wide
        laid, moved_m = _laid(people, laws, grid)
        less_m2 = laid.less_m2
    trips = _some_trips(people, laws, window, grid, moved_m)
    said = pairs_of(trips, laws, window, less_m2, on_step)
    groups = _trip_groups(len(people), trips)
    several = int(groups.max()) > 0
    steps, walked = STEPS_FOR_ONE, list[FloatArray]()
    if several:
        number = trips.start_cell * grid.cells + trips.end_cell
        _, of, often = np.unique(number, return_inverse=True, return_counts=True)
        steps, walked = _choose(
            said, groups, MOST_STEPS, [said.apart] * (int(groups.max()) + 1), (often[of] >= FEW) | (often.max() < FEW)
        )
    rows, columns = np.divmod(said.pairs, window.shape[1])
    at = np.stack([rows, columns], axis=-1) - 1
    inside = ((at >= 0) & (at < np.array(grid.shape))).all(axis=(1, 2))

    def shares_of(flows: FloatArray) -> FloatArray:
        return np.asarray(flows[inside] / max(float(flows[inside].sum(dtype=np.float64)), 1e-300))

    found = _walk(said, said.apart, steps)
    corrected, pairs = shares_of(found), at[inside, :, 0] * grid.columns + at[inside, :, 1]
    farther = shares_of(_walk(said, found, steps + 1)) - corrected if several else 0.0
    del said, at, rows, columns, found  # as large as everything below
    counted = _counted(trips, pairs, grid.cells)
    few = np.maximum(corrected, counted) * len(trips) < FEW
    others = float(corrected[~few].sum(dtype=np.float64))
    left = (1 - float(counted[few].sum())) / others if others > 0 else 0.0
    share = np.where(few, counted, corrected * left)
    low, high, elsewhere = share * np.nan, share * np.nan, math.nan
    if several and len(people) >= LEAST_PEOPLE:
        answers = np.array([shares_of(walked.pop(0)).astype(np.float32) for _ in range(len(walked))])
        low, high = people_interval(corrected, answers, len(people), confidence, bias=np.abs(farther))
        for one in (corrected, share):
            fewest, most = poisson_interval(one * len(trips), confidence)
            low = np.minimum(low, fewest / len(trips))
            high = np.maximum(high, np.minimum(most / len(trips), 1.0))
        elsewhere = float(poisson_interval(np.zeros(1), confidence)[1][0]) / len(trips)
    by = "likelihood of people left out" if several else _ALONE
    return trips, _Found(pairs, share, low, high, elsewhere, steps, by, window.latent_m[0])


def _some_trips(
    people: Sequence[Person], laws: Sequence[NoiseLaw], window: Window, cells: Cells, moved_m: FloatArray
) -> Trips:
    trips = trips_of(people, laws, window, cells, moved_m)
    if len(trips) == 0:
        raise InputError("There is no trip in the rectangle.", "A trip is a segment of at least two moments.")
    return trips


def _by_finer_cells(
    people: Sequence[Person],
    laws: Sequence[NoiseLaw],
    asked: AskedCells,
    window: Window,
    confidence: float,
    on_step: Callable[[], None] | None,
) -> tuple[Trips, _Found]:
    """Finer latent cells, and every pair of them."""
    reporting = asked.summed_on(window)
    laid, moved_m = _laid(people, laws, asked.grid)
    trips = _some_trips(people, laws, window, asked.cells, moved_m)
    said = likelihood_of(trips, laws, window, laid.less_m2, on_step)
    groups = _trip_groups(len(people), trips)
    most, several = _most_steps(len(trips)), int(groups.max()) > 0
    intervals = several and len(people) >= LEAST_PEOPLE
    start = _start(said, np.ones(len(trips)), window)
    steps, walked = STEPS_FOR_ONE, list[FloatArray]()
    if several:
        without = [(groups != group).astype(np.float64) for group in range(int(groups.max()) + 1)]
        # Many trips tell one start that serves all; else each group's walk has a start of its own, without that group.
        starts = [start if len(trips) > ONE_START else _start(said, weight, window) for weight in without]
        steps, walked = _choose(said, groups, most, starts)
    ends = trip_ends(trips, laid.laws, window, groups, leave_out=intervals, on_step=on_step)
    flows = _walk(said, start, steps)
    share = _reported(rake(flows, ends.found), reporting)
    low, high = share * np.nan, share * np.nan
    if intervals:
        farther = _reported(rake(_walk(said, flows, steps + 1), ends.found), reporting) - share
        again = _reported(rake(flows, ends.again), reporting) - share
        answers = [_reported(rake(one, both), reporting) for one, both in zip(walked, ends.without, strict=True)]
        low, high = people_interval(
            share, np.array(answers), len(people), confidence, bias=np.hypot(farther, OF_AGAIN * again)
        )
    by = "likelihood of people left out" + (", as many as fit a minute" if steps == most else "")
    cells = asked.cells.cells
    pairs = np.column_stack(np.divmod(np.arange(cells * cells), cells))
    kept = share.ravel(), low.ravel(), high.ravel()
    return trips, _Found(pairs, *kept, 0.0, steps, by if several else _ALONE, window.latent_m[0])


def _laid(people: Sequence[Person], laws: Sequence[NoiseLaw], grid: Grid) -> tuple[Aligned, FloatArray]:
    """Releases laid on one another by all their points, as for a heat map, and by how many metres each was moved."""
    window = Window.around(grid, min(law.noise_m for law in laws))
    laid = align(units_of(people, laws, window), laws, window)
    return laid, laid.moved * np.array(window.latent_m)


def _window(grid: Grid, noise_m: float, *, least: int) -> Window:
    finer = max(least, round(grid.cell_height / (LATENT_OF_NOISE * noise_m)))
    return Window(grid, finer, math.ceil(2 * noise_m * finer / grid.cell_height))


def _start(trips: TripLikelihood, weight: FloatArray, window: Window) -> FloatArray:
    """Where trips begin times where they end times how far apart the two lie: the start of the walk."""
    rows, columns = window.shape
    flows = np.full((rows, rows, columns, columns), 1.0 / (rows * columns) ** 2)
    for _ in range(FIRST_STEPS):
        flows, _ = trips.step(flows, weight)
    apart = np.einsum("ik,jl->ijkl", flows.sum(axis=(1, 3)), flows.sum(axis=(0, 2)))
    flows = apart
    for _ in range(GRAVITY_STEPS):
        flows, _ = trips.step(flows, weight)
        flows = _by_way(flows, apart.copy())
    return np.asarray(flows)


def _by_way(flows: FloatArray, apart: FloatArray) -> FloatArray:
    """The flows in which an end says about the other only how far and in which direction it lies: m_a m_b g(b - a)."""
    rows, columns = flows.shape[0], flows.shape[2]
    wanted, there = (_ways(one) for one in (flows, apart))
    more = wanted / np.maximum(there, 1e-300)
    across = np.arange(columns)[None, :] - np.arange(columns)[:, None] + columns - 1
    for i in range(rows):
        for j in range(rows):
            apart[i, j] *= more[j - i + rows - 1][across]
    return np.asarray(apart / apart.sum())


def _ways(flows: FloatArray) -> FloatArray:
    """How much goes each way: (2 rows - 1, 2 columns - 1)."""
    rows, columns = flows.shape[0], flows.shape[2]
    across = (np.arange(columns)[None, :] - np.arange(columns)[:, None] + columns - 1).ravel()
    out = np.zeros((2 * rows - 1, 2 * columns - 1))
    for way in range(-rows + 1, rows):
        index = np.arange(max(-way, 0), rows - max(way, 0))
        plane = flows[index, index + way].sum(axis=0)
        out[way + rows - 1] = np.bincount(across, weights=plane.ravel(), minlength=2 * columns - 1)
    return out


def _trip_groups(people: int, trips: Trips) -> IntArray:
    """The group of each trip's person, numbered from 0 without a gap."""
    return np.asarray(np.unique((groups_of(people) % MOST_GROUPS)[trips.person], return_inverse=True)[1])


def _most_steps(trips: int) -> int:
    """So many that all groups together take a minute at most."""
    starts = 1 if trips > ONE_START else MOST_GROUPS + 1
    return int(np.clip((MOST_WORK / trips - starts * (FIRST_STEPS + GRAVITY_STEPS)) / 10, 2, MOST_STEPS))


def _choose(
    trips: TripLikelihood | PairLikelihood,
    groups: IntArray,
    most_steps: int,
    starts: Sequence[FloatArray],
    judge: BoolArray | None = None,
) -> tuple[int, list[FloatArray]]:
    """The number of steps that is best for people left out, and the flows after them without each group.

    Where most pairs have few trips, only those of the others ``judge``, and a little of them may go as at the start:
    people left out go between places that nobody else does.
    """
    rare = 0.0 if judge is None else trips.step(starts[0], np.zeros(trips.trips))[1] * RARE
    asked = np.ones(trips.trips, dtype=bool) if judge is None else judge
    best, most, kept = 0, -math.inf, list(starts)
    flows = kept
    for taken in range(max(most_steps, LEAST_STEPS) + 1):
        said, ahead = 0.0, []
        for group, one in enumerate(flows):
            weight = (groups != group).astype(np.float64)
            moved, likelihood = trips.step(one, weight)
            said += float(np.log(np.maximum(likelihood + rare, 1e-300)[(weight == 0) & asked]).sum())
            ahead.append(moved)
        if said <= most and taken > LEAST_STEPS:
            break
        best, most, kept = taken, said, flows
        flows = ahead
    return best, kept


def _walk(trips: TripLikelihood | PairLikelihood, flows: FloatArray, steps: int) -> FloatArray:
    """The flows after so many steps with all trips."""
    for _ in range(steps):
        flows, _ = trips.step(flows, np.ones(trips.trips))
    return flows


def _reported(flows: FloatArray, reporting: Reporting) -> FloatArray:
    """(cells, cells): from, to."""
    window = reporting.window
    m, k, rows, columns = window.margin, window.finer, window.grid.rows, window.grid.columns
    if reporting.into is None:
        inner = flows[m : m + rows * k, m : m + rows * k, m : m + columns * k, m : m + columns * k]
        summed = inner.reshape(rows, k, rows, k, columns, k, columns, k).sum(axis=(1, 3, 5, 7))
        out = summed.transpose(0, 2, 1, 3).reshape(rows * columns, rows * columns)
    else:
        latent = window.shape[0] * window.shape[1]
        out = reporting.into @ (reporting.into @ flows.transpose(1, 3, 0, 2).reshape(latent, latent)).T
    return np.asarray(out / max(float(out.sum()), 1e-300))


def _counted(trips: Trips, pairs: IntArray, cells: int) -> FloatArray:
    """The share of the released trips that each of these pairs has."""
    inside = (trips.start_cell >= 0) & (trips.end_cell >= 0)
    number = pairs[:, 0] * cells + pairs[:, 1]
    order = np.argsort(number)
    seen, count = np.unique(trips.start_cell[inside] * cells + trips.end_cell[inside], return_counts=True)
    at = order[np.minimum(np.searchsorted(number, seen, sorter=order), len(number) - 1)]
    out, there = np.zeros(len(number)), number[at] == seen
    out[at[there]] = count[there]
    return out / max(int(inside.sum()), 1)
