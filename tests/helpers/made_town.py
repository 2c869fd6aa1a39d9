"""Made-up people of a town with streets 250 m apart: a home, a workplace, commutes along streets, nights at home."""

from __future__ import annotations

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import Around

CENTRE = Around(48.2, 16.37)
BLOCK_M, DAY_S, MONDAY_S = 250.0, 86400.0, 1_709_510_400.0  # 4 March 2024, 0:00 UTC; local time is an hour later


def person(seed: int, days: int = 6) -> Trace:
    """Nights until 8 and from 18, work from 9 to 17; a point every minute, every ten on the way."""
    rng = np.random.default_rng(seed)
    home, work = (BLOCK_M * rng.integers(-12, 13, 2) for _ in range(2))
    if (home == work).all():
        work = work + 4 * BLOCK_M
    way = _along_streets(home.astype(float), work.astype(float))
    times, where, segment = [], [], []
    shift = -CENTRE.lon_deg / 360.0 * DAY_S + rng.uniform(-1200, 1200)
    for day in range(days):
        begin = MONDAY_S + day * DAY_S + shift
        for start_s, stop_s, path in (
            (1.0, 7.5, None), (7.6, 8.2, way), (9.0, 16.5, "work"), (16.6, 17.2, way[::-1]), (18.0, 24.5, None),
        ):  # fmt: skip
            every = 20.0 if isinstance(path, np.ndarray) else 300.0
            moments = np.arange(begin + start_s * 3600, begin + stop_s * 3600, every)
            if isinstance(path, np.ndarray):
                share = np.linspace(0.0, 1.0, len(moments))
                points = np.column_stack([np.interp(share, np.linspace(0, 1, len(path)), c) for c in path.T])
            else:
                points = np.tile(home if path is None else work, (len(moments), 1)).astype(float)
            times.append(moments)
            where.append(points + rng.normal(0, 4.0, points.shape))
            segment.append(np.full(len(moments), len(times)))
    lat, lon = CENTRE.to_degrees(np.concatenate(where))
    return Trace(lat, lon, np.concatenate(times), np.concatenate(segment))


def _along_streets(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    corner = np.array([end[0], start[1]])
    legs = [np.linspace(a, b, max(int(np.hypot(*(b - a)) / 25.0), 1) + 1) for a, b in ((start, corner), (corner, end))]
    return np.vstack(legs)


def moved(trace: Trace, noise_m: np.ndarray) -> Trace:
    """The trace with metres east and north added."""
    lat, lon = CENTRE.to_degrees(CENTRE.to_metres(trace.lat_deg, trace.lon_deg) + noise_m)
    return Trace(lat, lon, trace.times_s, trace.segment)


def somewhere_else(trace: Trace, seed: int) -> Trace:
    """Pure noise: the same times, places all over town, nothing of the original."""
    rng = np.random.default_rng(seed)
    lat, lon = CENTRE.to_degrees(rng.uniform(-4000, 4000, (len(trace), 2)))
    return Trace(lat, lon, trace.times_s, trace.segment)


def height_m(where_m: np.ndarray) -> np.ndarray:
    """Hills of 80 m, a kilometre and a half apart."""
    return np.asarray(200.0 + 80.0 * np.sin(where_m[:, 0] / 700.0) * np.cos(where_m[:, 1] / 500.0))
