"""What sfumato offers beside noise on all points: chosen secrets, and hidden places with noise on the rest."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.attacks.practices.trims_and_zones import random_zones
from sfumato.tracks.people.noise import protected_track
from sfumato.tracks.plan import plan_of

MOST, HIDDEN_M = 150, 1600.0


def chosen_secrets(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Noise shaped for stays of a quarter of an hour, on 150 points of each: designs are dense. No stay, no release."""
    plan, out = plan_of({"secrets": "stays:15min"}), list[Trace | None]()
    for trace in people:
        few = evenly(len(trace), MOST)
        some = Trace(trace.lat_deg[few], trace.lon_deg[few], trace.times_s[few], trace.segment[few])
        try:
            out.append(protected_track(plan, some, rng=int(rng.integers(2**31))))
        except InputError:
            out.append(None)
    return out


def hide_and_blur(people: list[Trace], size_m: float, rng: np.random.Generator) -> list[Trace | None]:
    """Off-centre zones of 1,600 m around home and work, and multiscale noise on what is left."""
    plan, left = plan_of({"noise_m": size_m}), random_zones(people, HIDDEN_M, rng)
    return [one and protected_track(plan, one, rng=int(rng.integers(2**31))) for one in left]
