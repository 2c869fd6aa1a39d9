"""Cutting: everything recorded inside the zones is left out of a trace, and the rest stays exactly as it is.

*The rules.* (1) A point inside any zone (margin included) is gone. (2) What was withheld is a *cut*: the points on its
two sides are in different segments, and so are two points whose straight connection leads through a zone although
none was recorded there; nothing is bridged and no point is invented on a border. (3) A stretch between two cuts that
stays within 100 m of the zones, and a single point next to a cut, are flicker of the receiver and go too. (4) Segments
are numbered anew, from 0. (5) Of other columns only those asked for stay, and only readings of one moment; within a
minute of a cut they are empty, because receivers smooth; a distance is counted anew over what is left.

*What this makes sure.* The output is a function of the points outside the zones, and of which neighbours among them had
something between them. Anything else in the zone, whatever it was, gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.zones import Withholding

FLICKER_M = 100.0
GUARD_S = 60.0
# Readings of one moment. Anything else may count from the start (steps, laps, calories) and is refused.
MOMENTARY = frozenset(
    {"elevation", "speed", "course", "heart_rate", "cadence", "temperature", "power", "accuracy"}
)  # fmt: skip
RECOMPUTED = frozenset({"distance"})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Withheld:
    """What is left of one trace, and, for its owner alone, what was taken out.

    ``trace`` is None when nothing is left. Private: ``kept`` are the places of the remaining points in the input,
    ``cut_before`` and ``cut_after`` mark remaining points next to a cut, ``by_zone`` counts points inside each zone.
    """

    trace: Trace | None
    kept: IntArray
    cut_before: BoolArray
    cut_after: BoolArray
    by_zone: tuple[int, ...]


def withhold(trace: Trace, zones: Sequence[Withholding], *, keep: Iterable[str] = ()) -> Withheld:
    """The trace without what lies in the zones; ``keep`` names columns and texts that may stay.

    Texts that are kept (a name, a description) are their owner's words and stay as they are. Two traces with the same
    points outside the zones, and something withheld between the same of them, give the same result.
    """
    names = _checked_keep(trace, keep)
    inside, points, by_zone = _inside(trace, zones)
    outside = np.flatnonzero(~inside)
    broken, cut = _breaks(trace, outside, inside, points, zones)
    stays = _without_flicker(outside, broken, cut, points, zones)
    # What was dropped as flicker leaves a cut where it was.
    run = np.cumsum(broken[:-1])[stays]
    cut_before = cut[:-1][stays] | _lost_before(stays, len(outside))
    cut_after = cut[1:][stays] | _lost_before(stays[::-1], len(outside), reverse=True)[::-1]
    kept = outside[stays]
    if not kept.size:
        return Withheld(None, kept, cut_before, cut_after, by_zone)
    segment: IntArray = np.cumsum(np.diff(run, prepend=run[0]) > 0, dtype=np.int64)
    columns = {name: trace.columns[name][kept] for name in names if name in trace.columns}
    times = trace.times_s[kept]
    columns = _guarded(columns, times, segment, cut_before, cut_after)
    if "distance" in columns:
        columns["distance"] = _distance_m(points[kept], segment)
    texts = {name: trace.texts[name] for name in names if name in trace.texts}
    left = Trace(trace.lat_deg[kept], trace.lon_deg[kept], times, segment, columns, (), texts)
    return Withheld(left, kept, cut_before, cut_after, by_zone)


def _checked_keep(trace: Trace, keep: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(keep))
    missing = [name for name in names if name not in trace.columns and name not in trace.texts]
    if missing:
        raise InputError(
            f"The trace holds no {', '.join(missing)} to keep.",
            f"It holds: {', '.join([*trace.columns, *trace.texts]) or 'positions and times only'}.",
        )
    unknown = [name for name in names if name in trace.columns and name not in MOMENTARY | RECOMPUTED]
    if unknown:
        raise InputError(
            f"Whether {', '.join(unknown)} counts what happened inside a zone is not known, so it cannot stay.",
            f"Columns that can: {', '.join(sorted(MOMENTARY | RECOMPUTED))}.",
        )
    return names


def _inside(trace: Trace, zones: Sequence[Withholding]) -> tuple[BoolArray, FloatArray, tuple[int, ...]]:
    points = surface(trace.lat_deg, trace.lon_deg)
    inside: BoolArray = np.zeros(len(trace), dtype=np.bool_)
    counts = []
    for zone in zones:
        held = zone.holds(points)
        counts.append(int(np.count_nonzero(held)))
        inside |= held
    return inside, points, tuple(counts)


def _breaks(
    trace: Trace, outside: IntArray, inside: BoolArray, points: FloatArray, zones: Sequence[Withholding]
) -> tuple[BoolArray, BoolArray]:
    """Before each outside point and after the last (one longer): whether a segment breaks, and whether by a cut."""
    count = len(outside)
    broken: BoolArray = np.ones(count + 1, dtype=np.bool_)
    cut: BoolArray = np.zeros(count + 1, dtype=np.bool_)
    if not count:
        return broken, cut
    same = np.diff(trace.segment[outside]) == 0
    between = np.diff(outside) > 1
    cut[1:-1] = between
    cut[0], cut[-1] = outside[0] > 0, outside[-1] < len(trace) - 1
    joined = np.flatnonzero(same & ~between)
    if joined.size:
        start, end = points[outside[joined]], points[outside[joined + 1]]
        through: BoolArray = np.zeros(len(joined), dtype=np.bool_)
        for zone in zones:
            through |= zone.crosses(start, end)
        cut[1:-1][joined] |= through
    broken[1:-1] = ~same | cut[1:-1]
    return broken, cut


def _without_flicker(
    outside: IntArray, broken: BoolArray, cut: BoolArray, points: FloatArray, zones: Sequence[Withholding]
) -> IntArray:
    """Which outside points stay: not single points next to a cut, nor stretches between cuts along a border."""
    count = len(outside)
    if not count or not cut.any():
        return np.arange(count)
    starts = np.flatnonzero(broken[:-1])
    ends = np.append(starts[1:], count)
    before, after = cut[starts], cut[ends]
    drop = (ends - starts == 1) & (before | after)
    for run in np.flatnonzero(before & after & ~drop):
        stretch = points[outside[starts[run] : ends[run]]]
        nearest = np.min([zone.beyond_m(stretch) for zone in zones], axis=0)
        drop[run] = nearest.max() < FLICKER_M
    return np.flatnonzero(np.repeat(~drop, ends - starts))


def _lost_before(stays: IntArray, count: int, *, reverse: bool = False) -> BoolArray:
    """For each remaining point, whether the outside point before (after, reversed) it was dropped as flicker."""
    step = -np.diff(stays) if reverse else np.diff(stays)
    lost: BoolArray = np.empty(len(stays), dtype=np.bool_)
    if len(stays):
        lost[1:] = step > 1
        lost[0] = (stays[0] < count - 1) if reverse else (stays[0] > 0)
    return lost


def _guarded(
    columns: dict[str, FloatArray], times_s: FloatArray, segment: IntArray, before: BoolArray, after: BoolArray
) -> dict[str, FloatArray]:
    """Empty readings within a minute of a cut: a receiver's filters still remember what they passed through."""
    if not columns:
        return columns
    first = np.searchsorted(segment, segment, side="left")
    last = np.searchsorted(segment, segment, side="right") - 1
    close = before[first] & (times_s - times_s[first] < GUARD_S)
    close |= after[last] & (times_s[last] - times_s < GUARD_S)
    return {name: np.where(close, np.nan, values) for name, values in columns.items()}


def _distance_m(points: FloatArray, segment: IntArray) -> FloatArray:
    """Metres along what is left, from its first point; gaps count nothing."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    steps[np.diff(segment) > 0] = 0.0
    return np.concatenate([[0.0], np.cumsum(steps)])
