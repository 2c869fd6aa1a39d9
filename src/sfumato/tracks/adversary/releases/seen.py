"""What an attacker holds of one person: what was published, in metres, and what they are said to know besides.

A track of any length is kept as a digest of bounded size: its first moments exactly, means over ten minutes of all of
it, the ends of its rides and the shapes of some of them. Metres are east and north of one point near the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Concatenate, ParamSpec, TypeVar, cast

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, evenly
from sfumato.tracks.adversary.places.zone_view import outward
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel, White

MOST_MOMENTS, MOST_ENDS, MOST_RIDES, SHAPE = 1500, 800, 12, 48
SLOT_S, PAUSE_S, _HOUR_S, _DAY_S = 600.0, 1800.0, 3600.0, 86400.0
_LEAST_NOISE_M = 3.0  # receivers are no better
Told = ParamSpec("Told")
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class SeenTrack:
    """The digest of one person's release; ``east_s`` turns UTC into hours by the sun.

    ``mean_m`` is the mean of all points of a moment, ``looks`` how many there are (several releases were put together);
    ``slots_m`` are means over ten minutes (``globe_m`` the same, earth-centred), ``slot_points`` how many points each.
    ``ends`` has a row of seven per end of a ride (:attr:`ZoneView.rows`) and ``end_s`` its time; ``shapes`` are rides
    of 48 points evenly along the way, earth-centred, and ``shape_s`` when they began.
    """

    times_s: FloatArray
    path_m: FloatArray
    mean_m: FloatArray
    looks: IntArray
    ride: IntArray
    slot_s: FloatArray
    slots_m: FloatArray
    globe_m: FloatArray
    slot_points: FloatArray
    ends: FloatArray
    end_s: FloatArray
    shapes: FloatArray
    shape_s: FloatArray
    east_s: float
    kept: Mapping[str, FloatArray] = field(default_factory=dict)

    @cached_property
    def worked_out(self) -> dict[object, object]:
        """What attackers have worked out of it before (:func:`once`)."""
        return {}

    @cached_property
    def apparent_noise_m(self) -> float:
        """The independent noise of each point that shows in the track's roughness, per coordinate."""
        times, first = np.unique(self.times_s, return_index=True)
        if times.size < 10:
            return _LEAST_NOISE_M
        found = fit(times, self.path_m[first] - self.path_m[first].mean(axis=0), unknown_mean=True)
        return max(found.nugget_m, _LEAST_NOISE_M)

    def nightly(self, times_s: FloatArray) -> BoolArray:
        """Whether moments lie between 22 and 6 by the sun."""
        hour = (times_s + self.east_s) % _DAY_S / _HOUR_S
        return np.asarray((hour >= 22) | (hour < 6))

    def at_work(self, times_s: FloatArray) -> BoolArray:
        """Whether moments lie between 9 and 17 by the sun, Monday to Friday."""
        local = times_s + self.east_s
        hour, day = local % _DAY_S / _HOUR_S, (local // _DAY_S + 3) % 7
        return np.asarray((hour >= 9) & (hour < 17) & (day < 5))

    @cached_property
    def later(self) -> SeenTrack:
        """Its later half."""
        return self.part(later=True)

    def part(self, *, later: bool) -> SeenTrack:
        """The earlier or the later half of its slots and rides."""
        middle = float(np.median(self.slot_s))
        slots, rides = (self.slot_s > middle) == later, (self.shape_s > middle) == later
        return replace(
            self,
            slot_s=self.slot_s[slots],
            slots_m=self.slots_m[slots],
            globe_m=self.globe_m[slots],
            slot_points=self.slot_points[slots],
            shapes=self.shapes[rides],
            shape_s=self.shape_s[rides],
        )


Step = Callable[Concatenate[SeenTrack, Told], Found]


def once(work: Step[Told, Found]) -> Step[Told, Found]:
    """A step that several attackers take of the same track: kept with the track, by what else it was told."""

    def step(seen: SeenTrack, /, *told: Told.args, **named: Told.kwargs) -> Found:
        key = (work, told, tuple(named.items()))
        if key not in seen.worked_out:
            seen.worked_out[key] = work(seen, *told, **named)
        return cast("Found", seen.worked_out[key])

    return step


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Somebody else's release, what was told about them, and where they truly were (nan: not known)."""

    seen: SeenTrack
    told: Knowledge
    truth_m: FloatArray


@dataclass(frozen=True, eq=False)
class Lessons:
    """Other people, never the one attacked; the same object for everybody who is attacked from them."""

    taught: tuple[Lesson, ...]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What an attacker is said to know besides: the law of the noise, other people's places, roads, true moments.

    ``crowd_m`` are places of other people as released, ``ways_m`` rides of other people as they were (or roads), each
    (k, 2), and ``heights_m`` (k, 3) how high they were on them; ``lessons`` are others' releases beside what was true.
    At ``known_s`` the person truly was at ``known_m``.
    ``work`` asks for the place of working hours.
    """

    law: Kernel | None = None
    crowd_m: FloatArray | None = None
    ways_m: Sequence[FloatArray] = ()
    heights_m: FloatArray | None = None
    known_s: FloatArray | None = None
    known_m: FloatArray | None = None
    work: bool = False
    lessons: Lessons | None = None

    def noise(self, seen: SeenTrack) -> Kernel:
        """The law, or where none is stated what shows in the track's roughness, independent from point to point."""
        return White(seen.apparent_noise_m) if self.law is None else self.law

    def noise_m(self, seen: SeenTrack) -> float:
        """Its size per coordinate."""
        return math.sqrt(self.noise(seen).variance_m2)


def rides_of(times_s: FloatArray, segment: IntArray) -> Iterator[slice]:
    """Stretches without a pause of half an hour."""
    breaks = np.flatnonzero((np.diff(times_s) > PAUSE_S) | (np.diff(times_s) < 0) | (np.diff(segment) != 0)) + 1
    edges = np.concatenate([[0], breaks, [len(times_s)]])
    return (slice(int(a), int(b)) for a, b in pairwise(edges))


def digest(
    times_s: FloatArray,
    positions_m: FloatArray,
    globe_m: FloatArray,
    segment: IntArray,
    *,
    lon_deg: float,
    kept: Mapping[str, FloatArray],
) -> SeenTrack:
    """The digest of a track of any length."""
    rides = list(rides_of(times_s, segment))
    first = slice(0, MOST_MOMENTS)
    number = np.concatenate([np.full(ride.stop - ride.start, k) for k, ride in enumerate(rides)])
    order = np.argsort(times_s, kind="stable")
    slot, at, points = np.unique(np.floor(times_s[order] / SLOT_S), return_index=True, return_counts=True)

    def mean(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values[order], at, axis=0) / points[:, None])

    long = [ride for ride in rides if ride.stop - ride.start > 1]
    some = [long[k] for k in evenly(len(long), MOST_ENDS // 2)]
    ends = [np.concatenate([*outward(positions_m[ride][::way]), [1.0]]) for ride in some for way in (1, -1)]
    shapes = [_shape(globe_m[long[k]]) for k in evenly(len(long), MOST_RIDES)]
    _, which, looks = np.unique(times_s, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(which, weights=column) for column in positions_m.T])
    return SeenTrack(
        times_s=times_s[first].copy(),  # a view would hold the whole track
        path_m=positions_m[first].copy(),
        mean_m=(sums / looks[:, None])[which[first]],
        looks=looks[which[first]],
        ride=number[first].astype(np.int64),
        slot_s=(slot + 0.5) * SLOT_S,
        slots_m=mean(positions_m),
        globe_m=mean(globe_m),
        slot_points=points.astype(np.float64),
        ends=np.array(ends).reshape(-1, 7),
        end_s=np.array([times_s[k] for ride in some for k in (ride.start, ride.stop - 1)], dtype=np.float64),
        shapes=np.array(shapes).reshape(-1, SHAPE, 3),
        shape_s=np.array([times_s[long[k].start] for k in evenly(len(long), MOST_RIDES)], dtype=np.float64),
        east_s=lon_deg / 360.0 * _DAY_S,
        kept={name: values[first].copy() for name, values in kept.items()},
    )


def _shape(points: FloatArray) -> FloatArray:
    """So many points evenly along a way."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], SHAPE)
    return np.column_stack([np.interp(at, along, column) for column in points.T])
