"""Where a blurred person is shown: the likeliest place by what was released so far, and the circle that holds them.

The place is E[X(t) | Z up to t] under public kernels of movement, exact and causal, over the latest releases
(:func:`sfumato.tracks.priors.statespace.smooth`); it sees nothing but releases, so it costs nothing (post-processing).
*Calm*: the place shown stays where it is while the likeliest one is within one standard deviation √V of it, and is
pulled after it, no farther than that, when it is not: nothing ever jumps to and fro. The circle is drawn around the
place shown: |X − shown|²/V is noncentral χ² with two degrees and noncentrality |E − shown|²/V, and the radius is its
68 % quantile.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ncx2

from sfumato.base.things.frames import displace, unroll
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern32
from sfumato.tracks.priors.statespace import smooth

HELD = 0.68
MOVEMENT = Matern32(1200.0, 2000.0) + Matern32(7200.0, 6000.0) + Constant(1e5)  # walks, rides, and anywhere
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class ShownCircle:
    """Where to draw somebody, and the radius that holds the true place with 68 % (0: exact)."""

    time_ms: int
    lat_deg: float
    lon_deg: float
    radius_m: float


@dataclass(slots=True, eq=False, repr=False)
class CalmView:
    """The releases of one person to one audience, as they come; ``noise`` is their law."""

    noise: Kernel
    times_ms: list[int] = field(default_factory=list)
    places: list[tuple[float, float]] = field(default_factory=list)
    shown: ShownCircle | None = None

    def add(self, time_ms: int, lat_deg: float, lon_deg: float) -> ShownCircle:
        """What to show after one more release, late ones in their place."""
        at = bisect_left(self.times_ms, time_ms)
        if at == len(self.times_ms) or self.times_ms[at] != time_ms:
            self.times_ms.insert(at, time_ms)
            self.places.insert(at, (lat_deg, lon_deg))
        del self.times_ms[:-REMEMBERED], self.places[:-REMEMBERED]
        self.shown = self._circle()
        return self.shown

    def _circle(self) -> ShownCircle:
        times, last = np.array(self.times_ms) / 1000.0, self.places[-1]
        path = unroll(*np.array(self.places).T)
        found = smooth(times - times[0], path - path[-1], prior=MOVEMENT, noise=self.noise, causal=True)
        likeliest, sd = found.mean_m[-1], float(found.sd_m[-1])
        away, at = 0.0, likeliest
        if self.shown is not None:
            here = np.array(_from(last, (self.shown.lat_deg, self.shown.lon_deg)))
            away = math.hypot(*(here - likeliest))
            at = here if away <= sd else likeliest + (here - likeliest) * (sd / away)
        radius = sd * math.sqrt(float(ncx2.ppf(HELD, 2, max(min(away / sd, 1.0) ** 2, 1e-9))))
        if self.shown is not None and away <= sd:
            return ShownCircle(self.times_ms[-1], self.shown.lat_deg, self.shown.lon_deg, radius)
        lat, lon = displace([last[0]], [last[1]], [at])
        return ShownCircle(self.times_ms[-1], float(lat[0]), float(lon[0]), radius)


def _from(origin: tuple[float, float], place: tuple[float, float]) -> tuple[float, float]:
    east, north = unroll([origin[0], place[0]], [origin[1], place[1]])[1]
    return float(east), float(north)
