"""Moving points: independently, by one offset for each place, or in time. Sizes are metres per coordinate (RMS)."""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.numbers.planar_laplace_noise import planar_laplace_noise
from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import surface

CELL_M, HOUR_S = 250.0, 3600.0


def gaussian(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Independent Gaussian noise at every point."""
    return [_displaced(trace, rng.normal(0.0, size_m, (len(trace), 2))) for trace in people]


def planar_laplace(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Independent planar Laplace steps: ε = √3 / size per metre for each point on its own."""
    steps = [planar_laplace_noise(len(trace), math.sqrt(3.0) / size_m, int(rng.integers(2**31))) for trace in people]
    return [_displaced(trace, step) for trace, step in zip(people, steps, strict=True)]


def donut(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Donut masking: a step between a and 2a in any direction, uniform in area, a = √(4/5) size."""
    least = math.sqrt(0.8) * size_m
    out: list[Trace | None] = []
    for trace in people:
        reach = least * np.sqrt(rng.uniform(1.0, 4.0, len(trace)))
        turn = rng.uniform(0.0, 2.0 * math.pi, len(trace))
        out.append(_displaced(trace, np.column_stack([reach * np.cos(turn), reach * np.sin(turn)])))
    return out


def memoise(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Gaussian noise that is drawn once per person for every cell of 250 m, and repeated there."""
    out: list[Trace | None] = []
    for trace in people:
        points = np.floor(surface(trace.lat_deg, trace.lon_deg) / CELL_M)
        cells, which = np.unique(points, axis=0, return_inverse=True)
        out.append(_displaced(trace, rng.normal(0.0, size_m, (len(cells), 2))[which.reshape(-1)]))
    return out


def shifted_times(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Every person's times are moved by one amount between one and three hours, forth or back; places stay."""
    out: list[Trace | None] = []
    for trace in people:
        shift = HOUR_S * rng.uniform(1.0, 3.0) * rng.choice([-1.0, 1.0])
        out.append(Trace(trace.lat_deg, trace.lon_deg, trace.times_s + shift, trace.segment))
    return out


def _displaced(trace: Trace, step_m: FloatArray) -> Trace:
    lat, lon = displace(trace.lat_deg, trace.lon_deg, step_m)
    return Trace(lat, lon, trace.times_s, trace.segment)
