"""A city with a known answer: people who live around a few centres and take trips between them."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import Received, receive
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan

CORNER = (48.80, 2.25)
BOUNDS = (48.80, 2.25, 48.90, 2.40)
DEGREES = np.array([111_200.0, 73_300.0])
CENTRES = np.array([[2500.0, 2500.0], [5500.0, 8000.0], [9000.0, 4000.0]])
SHARES = np.array([0.5, 0.3, 0.2])


def fleet(people: int, stays: int = 12, points: int = 20, seed: int = 1) -> list[tuple[str, Trace]]:
    """Everybody visits centres, a stay at a time; a segment leads from one stay to the next."""
    rng = np.random.default_rng(seed)
    out = []
    for person in range(people):
        towns = rng.choice(3, size=stays, p=SHARES)
        at = CENTRES[towns] + rng.normal(0, 350, (stays, 2))
        where: list[FloatArray] = []
        segment = []
        for trip in range(stays - 1):
            way = np.linspace(0, 1, points)[:, None]
            where.append(at[trip] * (1 - way) + at[trip + 1] * way)
            segment += [trip] * points
        places = np.concatenate(where)
        times = 1.7e9 + np.arange(len(places)) * 90.0
        lat, lon = (CORNER[axis] + places[:, axis] / DEGREES[axis] for axis in (0, 1))
        out.append((f"p{person}", Trace(lat, lon, times, np.array(segment))))
    return out


def received(people: list[tuple[str, Trace]], seed: int = 2, **wish: object) -> Received:
    """Their release, as somebody else gets it (a simulation)."""
    done = protect_fleet(Plan(**{"noise_m": 300.0, **wish}), people, rng=seed)  # type: ignore[arg-type]
    return receive([(person, trace) for person, trace in done.releases], done.certificate)
