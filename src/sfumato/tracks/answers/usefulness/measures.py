"""How far maps from a release lie from the truth: heat maps and flows, naive and corrected.

*Naive* counts the release as if it were the truth; *corrected* is what :mod:`sfumato.tracks.answers` makes of it with
the law on its certificate. Errors are total variations: the share of people (or trips) that would have to be moved to
make the two maps alike. Maps are compared where the originals are, as far as a map of it can be worked out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid, metres_per_degree
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, format_length
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.flows.trips import segment_ends
from sfumato.tracks.answers.maps.cells import Bounds, extent_of, reporting_grid
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import Received

_KINDS = {"length": "trip length", "speed": "median speed", "heatmap": "heat map", "flows": "flows"}
People = Sequence[tuple[str | None, Trace]]


@dataclass(frozen=True, slots=True)
class Quality:
    """Errors as shares; None where there is none, for the reason in ``note``.

    ``sampling`` is half the width of a 90 % interval over people of a corrected length: how far it differs with whom
    it was measured on.
    """

    kind: str
    cell_m: float | None
    naive: float | None
    corrected: float | None
    note: str = ""
    sampling: float | None = None

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
        return {**plain, "sampling": self.sampling, "note": self.note}


def mean_measures(draws: Sequence[tuple[Quality, ...]]) -> tuple[Quality, ...]:
    """The mean of every measure over several releases of the same people."""

    def mean(values: Sequence[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else None

    return tuple(
        replace(
            rows[0], **{name: mean([getattr(row, name) for row in rows]) for name in ("naive", "corrected", "sampling")}
        )
        for rows in zip(*draws, strict=True)
    )


HEAT_CELLS_M, FLOW_CELLS_M = (500.0, 1000.0, 2000.0), (1500.0, 3000.0, 6000.0)
FEWEST_TRIPS = 20
QUICK_HEAT_GROUPS, QUICK_FLOW_GROUPS = 4, 3  # that judge a map by being left out
_MANY_PAIRS = "noise so small makes more pairs of places than can be worked out"
COUNTING = "where the corrected error is the larger one, counting is nearer: there is too little to correct from"
ALONE = "not corrected: of one person among others there is nobody to judge by"


@dataclass(frozen=True, slots=True)
class MapsAsked:
    """Which maps are asked for: sides of their cells, and the rectangle (by default where the originals are).

    ``quick`` estimates as receivers do, but with fewer groups left out, and coarse maps as sums of fine ones.
    """

    heat_cells_m: tuple[float, ...] = HEAT_CELLS_M
    flow_cells_m: tuple[float, ...] = FLOW_CELLS_M
    bounds: Bounds | None = None
    quick: bool = False


class _Shares(NamedTuple):
    """The true map, counted and corrected, flattened; ``note`` says why it is not corrected."""

    truth: FloatArray
    naive: FloatArray
    corrected: FloatArray | None
    note: str


def maps_measured(originals: People, releases: People, received: Sequence[Received], asked: MapsAsked) -> list[Quality]:
    """Every map of these people together; nothing was ``received`` where no certificate gives the noise's law."""
    why = "" if received else "not corrected: no certificate gives a law of the noise"

    def heat(cell_m: float) -> FloatArray:
        whose = _grouped(received, QUICK_HEAT_GROUPS) if asked.quick else received
        return np.asarray(estimate_heatmap(whose, cell_m=cell_m, bounds=asked.bounds).picture)

    def flows(cell_m: float) -> FloatArray:
        whose = _grouped(received, QUICK_FLOW_GROUPS) if asked.quick else received
        return np.asarray(estimate_flows(whose, cell_m=cell_m, bounds=asked.bounds).share).ravel()

    return _rows(originals, releases, asked, (heat, flows) if received else (None, None), why)


def _grouped(received: Sequence[Received], groups: int) -> list[Received]:
    """The same releases, as if they were of few people: each is left out once to judge a map."""
    numbers = itertools.count()
    return [
        replace(one, people=tuple((str(next(numbers) % groups), trace) for _, trace in one.people)) for one in received
    ]


def maps_counted(originals: People, releases: People, asked: MapsAsked) -> list[Quality]:
    """The maps of one person among others: counted, and not corrected."""
    return _rows(originals, releases, asked, (None, None), ALONE)


Answer = Callable[[float], FloatArray] | None


def _rows(
    originals: People, releases: People, asked: MapsAsked, answers: tuple[Answer, Answer], why: str
) -> list[Quality]:
    trips = sum(len(segment_ends(trace)[0]) for _, trace in originals)
    few = f"only {count_of(trips, 'trip')}: too few for a map of flows" if trips < FEWEST_TRIPS else ""
    rows = []
    for kind, cells_m, answer, counted in (
        ("heatmap", asked.heat_cells_m, answers[0], _heat),
        ("flows", asked.flow_cells_m, answers[1], _flows),
    ):
        known: list[tuple[Grid, _Shares]] = []
        for cell_m in sorted(cells_m):
            if kind == "flows" and few:
                rows.append(Quality(kind, cell_m, None, None, few))
                continue
            grid = reporting_grid([trace for _, trace in originals], cell_m, asked.bounds)
            shares = _summed(known, grid, kind) if asked.quick else None
            if shares is None:
                seen = _Shares(counted(originals, grid), counted(releases, grid), None, why)
                shares = _corrected(seen, answer, cell_m)
            known.append((grid, shares))
            naive, better = shares.naive, shares.corrected
            error = None if better is None else _apart(shares.truth, better)
            one_cell = "one cell holds everybody" if kind == "heatmap" and grid.cells == 1 else ""
            counting = _apart(shares.truth, naive)
            nearer = COUNTING if error is not None and error > counting else ""
            rows.append(Quality(kind, cell_m, counting, error, one_cell or shares.note or nearer))
    return rows


def _corrected(shares: _Shares, answer: Answer, cell_m: float) -> _Shares:
    if answer is None:
        return shares
    try:
        return shares._replace(corrected=answer(cell_m))
    except InputError as error:
        why = _MANY_PAIRS if "pairs" in error.what else error.what
        return shares._replace(note=f"not corrected: {why.rstrip('.')}")


def _summed(known: Sequence[tuple[Grid, _Shares]], grid: Grid, kind: str) -> _Shares | None:
    """A map as the sum of a finer one whose cells lie in its cells; None where there is none."""
    for finer, shares in known:
        into = _inside(finer, grid)
        if into is None or shares.corrected is None:
            continue
        if kind == "flows":
            into = (into[:, None] * grid.cells + into[None, :]).ravel()
        size = grid.cells**2 if kind == "flows" else grid.cells
        truth, naive, corrected = (
            np.asarray(np.bincount(into, weights=one, minlength=size), dtype=np.float64)
            for one in (shares.truth, shares.naive, shares.corrected)
        )
        return _Shares(truth, naive, corrected, shares.note)
    return None


def _inside(finer: Grid, grid: Grid) -> IntArray | None:
    """The cell of ``grid`` around each cell of a finer one with the same corner; None where cells are cut."""
    times = grid.cell_height / finer.cell_height
    if abs(times - round(times)) > 1e-6 or (finer.north_deg, finer.west_deg) != (grid.north_deg, grid.west_deg):
        return None
    into = grid.locate(*finer.centres_deg())
    return into if into.min() >= 0 else None


def _apart(one: FloatArray, other: FloatArray) -> float:
    if not other.sum() > 0:
        return 1.0  # nothing of it lies in the rectangle
    return 0.5 * float(np.abs(one - other).sum())


def _heat(people: People, grid: Grid) -> FloatArray:
    cells = np.concatenate([grid.locate(trace.lat_deg, trace.lon_deg) for _, trace in people])
    counts = np.bincount(cells[cells >= 0], minlength=grid.cells)
    return np.asarray(counts / max(counts.sum(), 1))


def _flows(people: People, grid: Grid) -> FloatArray:
    counts = np.zeros(grid.cells**2)
    for _, trace in people:
        start, end = (grid.locate(trace.lat_deg[at], trace.lon_deg[at]) for at in segment_ends(trace))
        inside = (start >= 0) & (end >= 0)
        counts += np.bincount(start[inside] * grid.cells + end[inside], minlength=grid.cells**2)
    return np.asarray(counts / max(counts.sum(), 1.0))


WIDEST_CELLS, WIDEST_NOISES = 120, 120.0  # of the smallest cell; beyond, a map takes minutes


def rectangle(traces: Sequence[Trace], asked: MapsAsked, noise_m: float) -> tuple[MapsAsked, list[str]]:
    """The rectangle asked for, or where the points are; cut around their middle where that is too large to work out."""
    if asked.bounds is not None:
        return asked, []
    south, west, north, east = extent_of(traces)
    middle = float(np.median(np.concatenate([trace.lat_deg for trace in traces])))
    up, right = metres_per_degree(middle)
    most = WIDEST_CELLS * min((*asked.heat_cells_m, *asked.flow_cells_m), default=500.0)
    most = min(most, WIDEST_NOISES * noise_m) if noise_m else most
    height, width = (north - south) * up, ((east - west) % 360.0) * right
    if max(height, width) <= most:
        return replace(asked, bounds=(south, west, north, east)), []
    lon = np.concatenate([trace.lon_deg for trace in traces])
    turn = float(np.angle(np.median(np.cos(np.radians(lon))) + 1j * np.median(np.sin(np.radians(lon))), deg=True))
    centre = float(np.median((lon - turn + 180.0) % 360.0 - 180.0)) + turn
    bounds: Bounds = (
        max(south, middle - most / 2 / up),
        _wrapped(centre - most / 2 / right) if width > most else west,
        min(north, middle + most / 2 / up),
        _wrapped(centre + most / 2 / right) if width > most else east,
    )
    return replace(asked, bounds=bounds), [f"Maps are of the {format_length(most)} around the middle of the points."]


def _wrapped(lon_deg: float) -> float:
    return math.fmod(lon_deg + 540.0, 360.0) - 180.0
