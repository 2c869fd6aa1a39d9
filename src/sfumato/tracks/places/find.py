"""Finding the places somebody stayed at or returned to: home, work, and those one would have forgotten.

*Events.* A track's first and last point, and every *stay*: five minutes within 100 m, also the time between two tracks
when the next starts within 200 m of where the last one ended. Passing by is no event. Single bad fixes (far from both
neighbours, which are near each other) are left out first.

*Places.* Events are counted in cells of 25 m; from the fullest 100 m neighbourhood down, each takes the events within
150 m of its median. Reported is what was visited twice (with something else in between: also a loop of one's own)
or stayed at for ten minutes.

*Labels are guesses.* Home: most of the hours between 22 and 6 by the sun; work: most of those between 9 and 17 on
weekdays, elsewhere.

*Departures.* A ride that is cut at a zone still shows, by its first shared fix, about when it began. The first from a
place on a weekday counts, by the sun (what a clock shows there is not known); *regular* is where half of the days or
more lie within ten minutes of one time of day.

Everything is O(n log n) in the points; distances are on the globe. The result is private.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import scipy

from sfumato.base.arrays import BoolArray, FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.places.given_tables import is_table, traces_of_table
from sfumato.tracks.places.globe import degrees, surface
from sfumato.tracks.places.places_file import Place

STAY_S, STAY_RADIUS_M = 300.0, 100.0
LONG_STAY_S = 600.0
PLACE_RADIUS_M = 150.0
_RESUME_M, _CELL_M, _SLOT_S = 200.0, 25.0, 10.0
_HOUR_S, _DAY_S = 3600.0, 86400.0
_EPOCH_WEEKDAY = 3  # 1970-01-01 was a Thursday; Monday is 0
FEWEST_DAYS, REGULAR, NEAR_S = 5, 0.5, 600.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FoundPlace:
    """One place, most visited first. All of it is private."""

    lat_deg: float
    lon_deg: float
    label: str
    visits: int
    stayed_s: float
    first_seen_s: float
    last_seen_s: float
    track_ends: int
    scatter_m: float
    night_h: float = 0.0
    nights: int = 0

    def __repr__(self) -> str:
        return f"<FoundPlace {self.label}, {count_of(self.visits, 'visit')}, not shown where>"


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """Moments (from, to) at points of the globe; ``end`` marks tracks' first and last points.

    ``away_s``: when each track that went away was farthest from both its ends, in order: a loop from home leaves home.
    """

    points: FloatArray
    from_s: FloatArray
    to_s: FloatArray
    end: BoolArray
    away_s: FloatArray


def find_places(tracks: object) -> list[FoundPlace]:
    """Home, work and every place stayed at or returned to, of *one* person's tracks.

    ``tracks`` is a :class:`~sfumato.base.things.traces.Trace`, any number of them, alone or as (name, trace) pairs, or
    a table of points (pandas, GeoPandas, polars, Arrow).
    """
    stops = Stops()
    for trace in _traces(tracks):
        stops.add(trace)
    return stops.places()


def _places_of(events: _Events) -> list[FoundPlace]:
    label = _clustered(events.points)
    hours = _hours(events)
    found = []
    for number in range(int(label.max()) + 1):
        mine = label == number
        visits = _visits(label, mine, events)
        stayed = float(np.sum(events.to_s[mine] - events.from_s[mine]))
        if visits < 2 and stayed < LONG_STAY_S:
            continue
        spent = hours[mine].sum(axis=0)
        record = replace(_record(events, mine, visits, stayed), night_h=float(spent[0]), nights=_nights(events, mine))
        found.append((record, spent))
    return _labelled(found)


def _traces(tracks: object) -> list[Trace]:
    if isinstance(tracks, Trace):
        return [tracks]
    if is_table(tracks):
        return [trace for _, trace in traces_of_table(tracks)]
    out = []
    for item in tracks if isinstance(tracks, Iterable) else [tracks]:
        trace = item[1] if isinstance(item, tuple) else item
        if not isinstance(trace, Trace):
            raise InputError("Places are found in traces.", "Read files with sfumato.read_traces first.")
        out.append(trace)
    return out


@dataclass(slots=True, eq=False)
class Stops:
    """Where somebody's tracks begin, end and rest, gathered track by track; nothing else of them is kept."""

    _events: list[tuple[FloatArray, float, float, bool]] = field(default_factory=list)
    _away_s: list[float] = field(default_factory=list)
    _limits: list[tuple[float, float, FloatArray, FloatArray]] = field(default_factory=list)

    def add(self, trace: Trace) -> None:
        """One track."""
        where, times = _clean(trace)
        if not len(times):
            return
        first, last = float(times[0]), float(times[-1])
        self._limits.append((first, last, where[0], where[-1]))
        self._events += [(where[0], first, first, True), (where[-1], last, last, True)]
        away = np.minimum(*(np.linalg.norm(where - where[end], axis=1) for end in (0, -1)))
        if away.max() > 2 * PLACE_RADIUS_M:
            self._away_s.append(float(times[np.argmax(away)]))
        self._events += [(middle, start, stop, False) for middle, start, stop in _stays(where, times)]

    def numbers(self) -> dict[str, FloatArray]:
        """All that was gathered so far, as tables."""
        out = {"events": np.array([[*where, *rest] for where, *rest in self._events]).reshape(-1, 6)}
        out["limits"] = np.array([[a, b, *start, *end] for a, b, start, end in self._limits]).reshape(-1, 8)
        return {**out, "away": np.array(self._away_s)}

    def take(self, numbers: Mapping[str, FloatArray]) -> None:
        """Add what others gathered."""
        self._events += [(row[:3], float(row[3]), float(row[4]), bool(row[5])) for row in numbers["events"]]
        self._limits += [(float(row[0]), float(row[1]), row[2:5], row[5:]) for row in numbers["limits"]]
        self._away_s += numbers["away"].tolist()

    def places(self) -> list[FoundPlace]:
        """Every place stayed at or returned to; between two tracks, where the next starts near the last one's end."""
        events = list(self._events)
        for before, after in pairwise(sorted(self._limits, key=lambda item: item[0])):
            if after[0] > before[1] and float(np.linalg.norm(after[2] - before[3])) < _RESUME_M:
                events.append(((before[3] + after[2]) / 2, before[1], after[0], False))
        if not events:
            return []
        points, starts, stops, ends = (np.array(column) for column in zip(*events, strict=True))
        order = np.lexsort((stops, starts))
        return _places_of(_Events(points[order], starts[order], stops[order], ends[order], np.sort(self._away_s)))


def _clean(trace: Trace) -> tuple[FloatArray, FloatArray]:
    """Points in the order of time without single jumps: far from both neighbours, which are near each other."""
    order = np.argsort(trace.times_s, kind="stable")
    where, times = surface(trace.lat_deg[order], trace.lon_deg[order]), trace.times_s[order]
    if len(times) < 3:
        return where, times
    step = np.linalg.norm(np.diff(where, axis=0), axis=1)
    skip = np.linalg.norm(where[2:] - where[:-2], axis=1)
    good: BoolArray = np.ones(len(times), dtype=np.bool_)
    good[1:-1] = ~((step[:-1] > STAY_RADIUS_M) & (step[1:] > STAY_RADIUS_M) & (3 * skip < step[:-1] + step[1:]) &
                   (skip < np.minimum(step[:-1], step[1:])))  # fmt: skip
    # A first or last fix that is far from everything after it is a cold start, not where the ride began.
    good[0] = not (step[0] > 20 * max(float(np.median(step)), STAY_RADIUS_M / 10))
    good[-1] = not (step[-1] > 20 * max(float(np.median(step)), STAY_RADIUS_M / 10))
    return where[good], times[good]


def _stays(where: FloatArray, times_s: FloatArray) -> list[tuple[FloatArray, float, float]]:
    """Stays of one track: at least five minutes in which no two fixes in a row leave 100 m around the first fixes."""
    slots = np.floor(times_s / _SLOT_S)
    first = np.flatnonzero(np.diff(slots, prepend=slots[0] - 1))
    rows, moments = where[first].tolist(), times_s[first].tolist()
    out, anchor, count, limit = [], 0, len(rows), STAY_RADIUS_M**2
    while anchor < count:
        x, y, z = rows[anchor]
        last, misses, at = anchor, 0, anchor + 1
        while at < count and misses < 2:
            px, py, pz = rows[at]
            if (px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2 <= limit:
                last, misses = at, 0
            else:
                misses += 1
            at += 1
        if moments[last] - moments[anchor] >= STAY_S:
            middle = np.median(where[first[anchor] : first[last] + 1], axis=0)
            out.append((middle, moments[anchor], moments[last]))
            anchor = last + 1
        else:
            anchor += 1
    return out


def _clustered(points: FloatArray) -> IntArray:
    """The place of each event: fullest neighbourhood first, each takes what lies within 150 m of its median."""
    cells, member, weight = np.unique(
        np.floor(points / _CELL_M).astype(np.int64), axis=0, return_inverse=True, return_counts=True
    )
    member = member.reshape(-1)
    middles = np.zeros((len(cells), 3))
    np.add.at(middles, member, points)
    middles /= weight[:, None]
    tree = scipy.spatial.cKDTree(middles)
    near: list[list[int]] = tree.query_ball_point(middles, STAY_RADIUS_M).tolist()  # type: ignore[union-attr]
    full = np.array([weight[cells_near].sum() for cells_near in near])
    place: IntArray = np.full(len(cells), -1, dtype=np.int64)
    number = 0
    for cell in np.argsort(-full, kind="stable"):
        if place[cell] >= 0:
            continue
        core = [other for other in near[cell] if place[other] < 0]
        centre = _weighted_median(middles[core], weight[core])
        taken = [other for other in tree.query_ball_point(centre, PLACE_RADIUS_M) if place[other] < 0]
        place[[*taken, cell]] = number
        number += 1
    return np.asarray(place[member])


def _weighted_median(points: FloatArray, weight: IntArray) -> FloatArray:
    out = np.empty(3)
    for axis in range(3):
        order = np.argsort(points[:, axis])
        total = np.cumsum(weight[order])
        out[axis] = points[order[np.searchsorted(total, total[-1] / 2)], axis]
    return out


def _visits(label: IntArray, mine: BoolArray, events: _Events) -> int:
    """Times one came: runs of events here with one elsewhere, a track that went away, or a day without any between."""
    at = np.flatnonzero(mine)
    elsewhere = np.diff(at) > 1
    left_s, back_s = np.maximum.accumulate(events.to_s[at])[:-1], events.from_s[at[1:]]
    apart = back_s - left_s > _DAY_S
    away = np.searchsorted(events.away_s, back_s, "right") > np.searchsorted(events.away_s, left_s)
    return 1 + int(np.count_nonzero(elsewhere | apart | away))


def _record(events: _Events, mine: BoolArray, visits: int, stayed_s: float) -> FoundPlace:
    points = events.points[mine]
    middle = np.median(points, axis=0)
    lat, lon = degrees(middle[None])
    scatter = 1.4826 * float(np.median(np.linalg.norm(points - middle, axis=1)))
    return FoundPlace(
        float(lat[0]), float(lon[0]), "place", visits, stayed_s, float(events.from_s[mine].min()),
        float(events.to_s[mine].max()), int(np.count_nonzero(events.end[mine])), scatter,
    )  # fmt: skip


def _hours(events: _Events) -> FloatArray:
    """Hours of each event at night (22 to 6 by the sun) and at working time (9 to 17, Monday to Friday)."""
    _, lon = degrees(events.points)
    start, stop = (moment + lon / 15.0 * _HOUR_S for moment in (events.from_s, events.to_s))
    out: FloatArray = np.zeros((len(start), 2))
    # A moment counts as a minute, so that tracks without stays still say something.
    stop = np.maximum(stop, start + 60.0)
    stop = np.minimum(stop, start + 14 * _DAY_S)
    first_day, last_day = np.floor(start / _DAY_S).astype(np.int64) - 1, np.floor(stop / _DAY_S).astype(np.int64)
    for ahead in range(int((last_day - first_day).max()) + 1):
        day = first_day + ahead
        live = day <= last_day
        for column, (begin, end) in enumerate(((22.0, 30.0), (9.0, 17.0))):
            low, high = day * _DAY_S + begin * _HOUR_S, day * _DAY_S + end * _HOUR_S
            overlap = np.clip(np.minimum(stop, high) - np.maximum(start, low), 0.0, None) / _HOUR_S
            counts = live if column == 0 else live & ((day + _EPOCH_WEEKDAY) % 7 < 5)
            out[:, column] += np.where(counts, overlap, 0.0)
    return out


def _nights(events: _Events, mine: BoolArray) -> int:
    """In how many nights (22 to 6 by the sun) somebody was there for an hour in all."""
    spent: dict[int, float] = {}
    lon = degrees(events.points[mine])[1]
    for start, stop in zip(
        events.from_s[mine] + lon / 15 * _HOUR_S, events.to_s[mine] + lon / 15 * _HOUR_S, strict=True
    ):
        for night in range(int((start - 6 * _HOUR_S) // _DAY_S), int((min(stop, start + 14 * _DAY_S)) // _DAY_S) + 1):
            low = night * _DAY_S + 22 * _HOUR_S
            over = min(stop, low + 8 * _HOUR_S) - max(start, low)
            if over > 0:
                spent[night] = spent.get(night, 0.0) + over
    return sum(seconds >= _HOUR_S for seconds in spent.values())


def day(moment_s: float) -> str:
    """The date of a moment, in UTC."""
    return datetime.fromtimestamp(moment_s, UTC).strftime("%Y-%m-%d")


def _labelled(found: list[tuple[FoundPlace, FloatArray]]) -> list[FoundPlace]:
    found.sort(key=lambda item: (-item[0].visits, -item[0].stayed_s))
    places, hours = [item[0] for item in found], [item[1] for item in found]
    home = work = None
    if hours:
        table = np.array(hours)
        best = int(np.argmax(table[:, 0]))
        home = best if table[best, 0] > 0 else 0
        table[home] = 0.0
        busiest = int(np.argmax(table[:, 1]))
        work = busiest if table[busiest, 1] > 0 and places[busiest].visits > 1 else None
    return [
        replace(place, label="home" if k == home else "work" if k == work else "place")
        for k, place in enumerate(places)
    ]


@dataclass(slots=True, eq=False)
class Departures:
    """First shared fixes of rides that began in a place's zone, by day, and how long after their beginning."""

    place: Place
    _first_s: dict[int, float] = field(default_factory=dict)
    _delays_s: list[float] = field(default_factory=list)

    def add(self, original: Trace, published: Trace | None) -> None:
        """One ride, as it was recorded and as it is shared with its times."""
        start = int(np.argmin(original.times_s))
        began = surface(original.lat_deg[start], original.lon_deg[start])
        if published is None or not self.place.withheld.holds(began)[0]:
            return
        shown = float(published.times_s.min())
        self._delays_s.append(shown - float(original.times_s[start]))
        by_the_sun = shown + self.place.lon_deg / 360.0 * _DAY_S
        day = int(by_the_sun // _DAY_S)
        if (day + _EPOCH_WEEKDAY) % 7 < 5:
            self._first_s[day] = min(by_the_sun % _DAY_S, self._first_s.get(day, np.inf))

    def numbers(self) -> dict[str, FloatArray]:
        """All that was gathered so far, as tables."""
        return {"first": np.array([[*row] for row in self._first_s.items()]), "delays": np.array(self._delays_s)}

    def take(self, numbers: Mapping[str, FloatArray]) -> None:
        """Add what others gathered."""
        for day, first_s in numbers["first"].tolist():
            self._first_s[int(day)] = min(first_s, self._first_s.get(int(day), np.inf))
        self._delays_s += numbers["delays"].tolist()

    def sentence(self) -> str:
        """What the shared times tell; empty where departures are not regular, or few."""
        times = np.sort(list(self._first_s.values()))
        if len(times) < FEWEST_DAYS:
            return ""
        near = np.abs(times[:, None] - times[None]) <= NEAR_S
        together = times[near[int(near.sum(axis=1).argmax())]]
        share = len(together) / len(times)
        if share < REGULAR:
            return ""
        middle = float(np.median(together))
        spread = max(float(np.abs(together - middle).max()), 60.0) / 60
        clock = f"{int(middle // 3600):02}:{int(middle % 3600 // 60):02}"
        after = float(np.median(self._delays_s)) / 60
        return (
            f"Shared times tell when you leave {self.place.name}: on {share:.0%} of weekdays the first shared fix is "
            f"at {clock} ± {spread:.0f} min by the sun, {after:.0f} min (median) after you left. --times shift hides "
            "the time of day."
        )
