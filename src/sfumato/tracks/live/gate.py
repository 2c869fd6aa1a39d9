"""Zones while positions arrive: nothing from inside leaves, and entering and leaving are cut by the rules of ``hide``.

The rules are those of :mod:`sfumato.tracks.places.withhold`: a point inside a zone is gone; a *run* of points outside
begins where the point before was inside, or where the straight way from it leads through a zone; a run of one point,
and a run that stays within 100 m of the zones between two cuts, is flicker of the receiver and goes too.

*Without the future.* Whether a run is flicker is known only later, so its first points are held until it has two and
one of them is 100 m away from every zone; then all of them leave at once. So what has left is at every moment a part of
what ``hide`` would leave of the whole stream, and the same once the run is that far: the live case costs delay after
leaving a zone, and no point. The first point ever, and the first after a restart (no true position is kept), begin a
run; what was held before a restart is withheld.

*Late points.* Two points of neighbouring times with no zone on their way, one of them 100 m away, are no flicker
whatever was before and after them: so a point that comes late leaves with such a neighbour, and waits for one where it
has none (it may come late, too) or does not know where it was. It cannot take back what was sent before it came.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from sfumato.base.arrays import FloatArray
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.withhold import FLICKER_M
from sfumato.tracks.places.zones import Withholding, Zone

REMEMBERED = 48  # true positions per person, in memory only


class Fate(Enum):
    """What becomes of a point."""

    PASSES = "passes"
    HELD = "held"
    INSIDE = "inside"
    WITHHELD = "withheld"


@dataclass(slots=True, eq=False)
class Track:
    """What is known of one person's way: where they are by name, the run they are on, and (in memory) the last points.

    ``place`` is the zone they are in, by the last point that counts; ``held_ms`` are times of points that wait;
    ``last_ms`` is the latest time there was, which outlives a restart: what is not after it is late. ``late_ms`` are
    times of late points that wait for a neighbour.
    """

    place: str | None = None
    count: int = 0
    far: bool = False
    held_ms: list[int] = field(default_factory=list)
    last_ms: int | None = None
    late_ms: list[int] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    points: list[tuple[FloatArray, Fate]] = field(default_factory=list)

    @property
    def confirmed(self) -> bool:
        """Whether the run is no flicker."""
        return self.count >= 2 and self.far


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A point's fate, the zone it lies in, and the times of held points that leave or are withheld because of it."""

    fate: Fate
    zone: str | None = None
    leave_ms: tuple[int, ...] = ()
    withhold_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gate:
    """The zones of one person, by the names of their places."""

    zones: tuple[tuple[str, Withholding], ...] = ()
    _reach: tuple[tuple[float, float, float, float], ...] = field(init=False)

    def __post_init__(self) -> None:
        reach = [(*zone.around.axes[0].tolist(), zone.reach_m) for _, zone in self.zones]
        object.__setattr__(self, "_reach", tuple(reach))

    def take(
        self, track: Track, time_ms: int, lat_deg: float, lon_deg: float, beside: Sequence[int] | None = None
    ) -> Passage:
        """What becomes of one more point; ``track`` is changed.

        ``beside`` are the times right before and after a late point of all that were ever taken; without them those
        that are remembered.
        """
        if not self.zones:
            return Passage(Fate.PASSES)
        point = surface(lat_deg, lon_deg)
        late = track.last_ms is not None and time_ms <= track.last_ms
        zone = self._zone(point)
        if late:
            found = self._late(track, time_ms, point, zone, track.times_ms if beside is None else beside)
        else:
            found = self._next(track, time_ms, point, zone)
        track.last_ms = time_ms if track.last_ms is None else max(time_ms, track.last_ms)
        at = bisect_left(track.times_ms, time_ms)
        track.times_ms.insert(at, time_ms)
        waits = late and found.fate is Fate.HELD  # for a neighbour, not with the run that waits
        track.points.insert(at, (point, Fate.WITHHELD if waits else found.fate))
        del track.times_ms[:-REMEMBERED], track.points[:-REMEMBERED]
        return found

    def zone(self, lat_deg: float, lon_deg: float) -> str | None:
        """The name of the zone a place lies in."""
        return self._zone(surface(lat_deg, lon_deg))

    def _next(self, track: Track, time_ms: int, point: FloatArray, zone: str | None) -> Passage:
        before = track.points[-1] if track.points else None
        if zone is not None:
            gone = self._end_run(track)
            track.place = zone
            return Passage(Fate.INSIDE, zone, withhold_ms=gone)
        gone = ()
        if before is None or track.count == 0 or self._crosses(before[0], point):
            gone = self._end_run(track)
        track.count += 1
        track.far = track.far or self._beyond_m(point) >= FLICKER_M
        if not track.confirmed:
            track.held_ms.append(time_ms)
            return Passage(Fate.HELD, withhold_ms=gone)
        leave, track.held_ms, track.place = tuple(track.held_ms), [], None
        if leave:
            track.points[:] = [(at, Fate.PASSES if fate is Fate.HELD else fate) for at, fate in track.points]
        return Passage(Fate.PASSES, leave_ms=leave, withhold_ms=gone)

    def _late(self, track: Track, time_ms: int, point: FloatArray, zone: str | None, beside: Sequence[int]) -> Passage:
        after = bisect_left(track.times_ms, time_ms)
        near = [at for at in (after - 1, after) if 0 <= at < len(track.times_ms) and track.times_ms[at] in beside]
        near = [at for at in near if zone is None and track.points[at][1] is not Fate.INSIDE]
        joined = [at for at in near if not self._crosses(track.points[at][0], point)]
        between = len(joined) == 2 and all(track.points[at][1] is Fate.PASSES for at in joined)
        # Else the run it falls into is no longer known to be whole: what waits of it does not leave.
        whole = between or (track.held_ms and time_ms < track.held_ms[0])
        gone = () if whole else self._end_run(track)
        if zone is not None:
            return Passage(Fate.INSIDE, zone, withhold_ms=gone)
        far = self._beyond_m(point) >= FLICKER_M
        pairs = [at for at in joined if far or self._beyond_m(track.points[at][0]) >= FLICKER_M]
        if not pairs:
            track.late_ms.append(time_ms)
            return Passage(Fate.HELD, withhold_ms=gone)
        leave = tuple(track.times_ms[at] for at in pairs if track.times_ms[at] in track.late_ms)
        track.late_ms = [one for one in track.late_ms if one not in leave]
        for at in pairs:
            if track.times_ms[at] in leave:
                track.points[at] = track.points[at][0], Fate.PASSES
        return Passage(Fate.PASSES, leave_ms=leave, withhold_ms=gone)

    def _end_run(self, track: Track) -> tuple[int, ...]:
        gone, track.held_ms, track.count, track.far = tuple(track.held_ms), [], 0, False
        if gone:
            track.points[:] = [(at, Fate.WITHHELD if fate is Fate.HELD else fate) for at, fate in track.points]
        return gone

    def _zone(self, point: FloatArray) -> str | None:
        x, y, z = point[0].tolist()
        for (name, zone), (cx, cy, cz, reach) in zip(self.zones, self._reach, strict=True):
            if (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2 < reach * reach and zone.holds(point)[0]:
                return name
        return None

    def _crosses(self, start: FloatArray, end: FloatArray) -> bool:
        step = math.dist(start[0].tolist(), end[0].tolist())
        for (_, zone), (*centre, reach) in zip(self.zones, self._reach, strict=True):
            # The straight way is at most π/2 times shorter than that along the globe; what is left is decided exactly.
            near = math.dist(start[0].tolist(), centre) - reach <= 1.6 * step
            if near and zone.crosses(start, end)[0]:
                return True
        return False

    def _beyond_m(self, point: FloatArray) -> float:
        found = math.inf
        for (_, zone), (*centre, _reach) in zip(self.zones, self._reach, strict=True):
            if isinstance(zone, Zone):
                beyond = math.dist(point[0].tolist(), centre) - zone.radius_m
            else:
                beyond = float(zone.beyond_m(point)[0])
            found = min(found, beyond)
        return found
