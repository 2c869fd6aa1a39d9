"""One person as the suite holds them: what attackers see before and after, and what is true. Private.

Kept is a digest, so that a table of any length is taken person by person. Where somebody was at a moment is read off
the original between two of its points at most ten minutes apart; home, work and stays are those that
:mod:`sfumato.tracks.places.find` finds in the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.releases.moments.kept_altitude import ELEVATION
from sfumato.tracks.adversary.releases.moments.kept_fields import COURSE, SPEED
from sfumato.tracks.adversary.releases.seen import SeenTrack, digest, rides_of
from sfumato.tracks.places.find import find_places
from sfumato.tracks.places.globe import Around, surface

GAP_S, MOST_STAYS = 600.0, 10
KEPT = (SPEED, COURSE, ELEVATION)  # fields that attackers use where a release kept them
_WAY_POINTS, _WAY_M, _MOST_FOUND_IN = 3000, 30.0, 20_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttackedPerson:
    """What is seen of the original (``before``) and of the release (``after``; None: nothing was released).

    Truths are metres around ``around``: ``at_after`` for every moment of the release (nan: not known), ``home`` and
    ``work`` (1, 2) or None, ``stays`` (k, 2). ``ways`` are rides as they were, earth-centred, for roads learnt from
    others; ``heights`` some of their points with the altitude, (k, 4).
    """

    name: str | None
    around: Around
    before: SeenTrack
    after: SeenTrack | None
    at_after: FloatArray
    home: FloatArray | None
    work: FloatArray | None
    stays: FloatArray
    ways: tuple[FloatArray, ...]
    heights: FloatArray

    def place(self, goal: str) -> FloatArray | None:
        """The true positions of a goal."""
        return {"home": self.home, "work": self.work, "stays": self.stays if len(self.stays) else None}[goal]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedDigest:
    """A release as attackers see it, and the point its metres are counted from; the release itself can be let go of."""

    around: Around
    seen: SeenTrack

    @classmethod
    def of(cls, trace: Trace) -> ReleasedDigest:
        """Around the middle of the trace."""
        around = Around(float(np.median(trace.lat_deg)), _middle(trace.lon_deg))
        return cls(around, _seen(trace, around))


def person_of(name: str | None, original: Trace, release: Trace | ReleasedDigest | None) -> AttackedPerson:
    """Both digests and the truths."""
    shown = ReleasedDigest.of(release) if isinstance(release, Trace) else release
    around = ReleasedDigest.of(original).around if shown is None else shown.around
    before, after = _seen(original, around), None if shown is None else shown.seen
    places = find_places(_thinned(original))

    def where(label: str) -> FloatArray | None:
        found = [around.to_metres(one.lat_deg, one.lon_deg) for one in places if one.label == label]
        return found[0] if found else None

    stays = [around.to_metres(one.lat_deg, one.lon_deg)[0] for one in places[:MOST_STAYS]]
    at_after = np.empty((0, 2)) if after is None else true_positions(original, around, after.times_s)
    found = np.array(stays).reshape(-1, 2)
    home, work, ways, heights = where("home"), where("work"), _ways(original), _heights(original)
    return AttackedPerson(name, around, before, after, at_after, home, work, found, ways, heights)


def _middle(lon_deg: FloatArray) -> float:
    return float((lon_deg[0] + np.median((lon_deg - lon_deg[0] + 180.0) % 360.0 - 180.0) + 180.0) % 360.0 - 180.0)


def _seen(trace: Trace, around: Around) -> SeenTrack:
    kept = {name: trace.columns[name] for name in KEPT if name in trace.columns}
    globe = surface(trace.lat_deg, trace.lon_deg)
    return digest(trace.times_s, around.metres_of(globe), globe, trace.segment, lon_deg=around.lon_deg, kept=kept)


def _thinned(trace: Trace) -> Trace:
    """At most twenty thousand points, the ends of rides among them: stays of minutes need no more."""
    if len(trace) <= _MOST_FOUND_IN:
        return trace
    edges = [k for ride in rides_of(trace.times_s, trace.segment) for k in (ride.start, ride.stop - 1)]
    few = np.union1d(evenly(len(trace), _MOST_FOUND_IN), edges)
    return Trace(trace.lat_deg[few], trace.lon_deg[few], trace.times_s[few], trace.segment[few])


def true_positions(original: Trace, around: Around, times_s: FloatArray) -> FloatArray:
    """Where the original was at these times, (n, 2); nan in gaps of more than ten minutes and beyond its ends."""
    order = np.argsort(original.times_s, kind="stable")
    own = original.times_s[order]
    after = np.clip(np.searchsorted(own, times_s), 1, max(len(own) - 1, 1))
    if len(own) == 1:
        order, own = np.repeat(order, 2), np.repeat(own, 2)
    low, high = own[after - 1], own[after]
    gap = np.maximum(high - low, 1e-9)
    share = np.clip((times_s - low) / gap, 0.0, 1.0)[:, None]
    ends = [around.to_metres(original.lat_deg[order[k]], original.lon_deg[order[k]]) for k in (after - 1, after)]
    found = (1.0 - share) * ends[0] + share * ends[1]
    inside = (times_s >= low - 1.0) & (times_s <= high + 1.0)
    exact = (np.abs(times_s - low) < 1.0) | (np.abs(times_s - high) < 1.0)
    found[~(inside & ((gap <= GAP_S) | exact))] = np.nan
    return np.asarray(found)


def _ways(trace: Trace) -> tuple[FloatArray, ...]:
    """Rides as they were, a point every thirty metres, at most three thousand points of one person."""
    left, ways = _WAY_POINTS, []
    for ride in rides_of(trace.times_s, trace.segment):
        if left < 2:
            break
        points = surface(trace.lat_deg[ride][: 20 * left], trace.lon_deg[ride][: 20 * left])
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        way = points[np.unique(np.floor(along / _WAY_M), return_index=True)[1]][:left]
        left -= len(way)
        if len(way) > 1:
            ways.append(way)
    return tuple(ways)


def _heights(trace: Trace) -> FloatArray:
    """Three thousand points at most and how high they are, where that is known."""
    if ELEVATION not in trace.columns:
        return np.empty((0, 4))
    known = np.flatnonzero(np.isfinite(trace.columns[ELEVATION]))
    some = known[evenly(len(known), _WAY_POINTS)]
    return np.column_stack([surface(trace.lat_deg[some], trace.lon_deg[some]), trace.columns[ELEVATION][some]])
