"""Where somebody who shares live positions is now: the likeliest place given what was released so far, and a circle.

The place is E[X(t) | Z up to t] under the movement fitted to the release so far, which is fitted anew whenever the
number of points has doubled. A second movement, :data:`MAY_MOVE`, may begin at any time: without it the circles of
people who had stood still were too narrow. The circle holds the true place with 68 %; its radius is √(-2 ln .32) times
the posterior's standard deviation along an axis. Nothing of the future is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.frames import displace, unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Release, receive
from sfumato.tracks.answers.ways.movement import FEWEST_MOMENTS, Movement, fit_movement
from sfumato.tracks.answers.ways.smooth_tracks import each_track, path_by_time, people_table
from sfumato.tracks.priors.kernels import Matern32
from sfumato.tracks.priors.statespace import smooth

HELD = 0.68
MAY_MOVE = Matern32(1800.0, 1500.0)  # about walking speed
IN_SDS = math.sqrt(-2.0 * math.log(1.0 - HELD))
LIVE = (
    "Each place is the likeliest given what was released by then; the circle (radius_68_m) holds the true one 68 times "
    "in 100, as far as people move like the fitted kernel. Computed from the release and its certificate alone."
)
REMEMBERED = 1000  # positions of a stream: what is older says little about now


class LiveCircle(NamedTuple):
    """A place, and the radius around it that holds the true one with 68 %."""

    lat_deg: float
    lon_deg: float
    radius_m: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LiveTracks(ShownAnswer):
    """The track of each person as it was known at every moment; ``radius_m`` of each one's circles."""

    people: tuple[tuple[str | None, Trace], ...]
    radius_m: tuple[FloatArray, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a circle is."""
        return (LIVE,)

    def to_table(self) -> pa.Table:
        """``lat, lon, time, segment, radius_68_m``, and ``id`` where people have one."""
        return people_table(self.people).append_column("radius_68_m", pa.array(np.concatenate(self.radius_m)))

    @property
    def median_radius_m(self) -> float:
        """Of all circles."""
        return float(np.median(np.concatenate(self.radius_m)))

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        points = sum(len(radius) for radius in self.radius_m)
        return {"people": len(self.people), "points": points, "median_radius_68_m": self.median_radius_m}


def live_circles(
    release: Release,
    certificate: str | Path | Mapping[str, object],
    *,
    step: Callable[[], None] = lambda: None,
) -> LiveTracks:
    """A certified release as somebody saw it who watched it live; ``step`` after each person."""
    return LiveTracks(*each_track(receive(release, certificate), live_track, step))


def live_track(trace: Trace, law: NoiseLaw) -> tuple[Trace, FloatArray]:
    """One track as it was known at every moment, and the radii of its circles."""
    order, times, path = path_by_time(trace)
    moves, radius = np.empty_like(path), np.empty(len(times))
    begin = 0
    while begin < len(times):
        # Known at `begin`: everything before it, and itself; the movement is fitted to that and used until it doubles.
        end = min(max(FEWEST_MOMENTS, 2 * begin), len(times))
        movement = fit_movement(times[: max(begin, 1)], path[: max(begin, 1)], law.kernel)
        mean, sd = _known(times[:end], path[:end], movement, law)
        moves[order[begin:end]] = mean[begin:] - path[begin:end]
        radius[order[begin:end]] = IN_SDS * sd[begin:]
        begin = end
    return trace.moved_to(*displace(trace.lat_deg, trace.lon_deg, moves)), radius


@dataclass(slots=True, eq=False)
class LiveView:
    """Positions of one person as they arrive, under noise of a known law."""

    law: NoiseLaw
    _times_s: list[float] = field(default_factory=list)
    _places: list[tuple[float, float]] = field(default_factory=list)
    _movement: Movement | None = None
    _fitted_to: int = 0

    def add(self, lat_deg: float, lon_deg: float, time_s: float) -> LiveCircle:
        """What is known after one more released position; times run forward."""
        if not all(map(math.isfinite, (lat_deg, lon_deg, time_s))):
            raise InputError("A position or time is no number.", "Leave it out.")
        if self._times_s and time_s < self._times_s[-1]:
            raise InputError("The time lies before the last one.", "Give positions in the order of their times.")
        self._times_s.append(float(time_s))
        self._places.append((float(lat_deg), float(lon_deg)))
        count = len(self._times_s)
        times, path = np.array(self._times_s), unroll(*np.array(self._places).T)
        if self._movement is None or count >= 2 * self._fitted_to:
            self._movement, self._fitted_to = fit_movement(times, path, self.law.kernel), count
        last = slice(-REMEMBERED, None)
        mean, sd = _known(times[last], path[last], self._movement, self.law)
        lat, lon = displace([lat_deg], [lon_deg], (mean[-1] - path[-1])[None, :])
        return LiveCircle(float(lat[0]), float(lon[0]), IN_SDS * float(sd[-1]))

    seen = add  # what it was called in 0.2.0


def _known(times: FloatArray, path: FloatArray, movement: Movement, law: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation along an axis at every time, given the release up to it."""
    prior = movement.prior + MAY_MOVE
    found = smooth(times - times[0], path - path[0], prior=prior, noise=law.kernel, causal=True)
    return np.asarray(found.mean_m + path[0]), found.sd_m
