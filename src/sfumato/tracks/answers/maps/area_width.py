"""How wide areas must be for their shares to be numbers: told from the noise and the releases' times, not from places.

Cells narrower than :data:`OF_NOISE` times the noise cannot be told from their neighbours by any number of points: what
a map says of them is how smooth it was taken to be. And few points tell wide areas only. Were people spread evenly, one
point released on its own would tell the share s of an area with variance v, by the information in areas seen through
the noise; a person's n points count as 1 / mean ρ of their own, for noise that lasts is drawn once. Areas are told
apart where z_0.95 sqrt(v / points) ≤ s, as in a collection: one with twice its even share comes out above it, one with
none below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.answers.maps.alignment import Unit
from sfumato.tracks.answers.maps.deconvolution import axis_steps
from sfumato.tracks.answers.received import NoiseLaw

OF_NOISE = 3.0
TOLD = float(ndtri(0.95))
_WIDER = 1.25
_ASKED = 150  # releases, and points of each, whose noise is asked how long it lasts


def width_told_apart(units: Sequence[Unit], laws: Sequence[NoiseLaw], whole_m2: float, cell_m: float) -> float | None:
    """The least width of areas on a map of ``whole_m2`` of cells of ``cell_m``; None where not even halves are told."""
    noise_m = max(law.noise_m for law in laws)
    points = own_points(units, laws)
    width = max(cell_m, OF_NOISE * noise_m)
    while width**2 <= whole_m2 / 2:
        share = width**2 / whole_m2
        if TOLD * math.sqrt(variance_of_one(width / noise_m) * share / points) <= share:
            return width
        width *= _WIDER
    return None


def variance_of_one(noises: float) -> float:
    """v / s: the variance of an area's share told by one point, less its own chance, as part of the share."""
    across = 9
    fine = max(4, math.ceil(4 * noises))
    steps = axis_steps(fine / noises, across * fine)
    chance = steps[np.abs(np.arange(across * fine)[:, None] - np.arange(across * fine)[None, :])]
    seen = chance.reshape(across * fine, across, fine).mean(axis=2)
    q = seen.mean(axis=1)
    information = seen.T @ (seen / q[:, None]) / across**2
    middle = float(np.linalg.inv(information)[across // 2, across // 2]) / across
    return middle**2 - 1.0


def own_points(units: Sequence[Unit], laws: Sequence[NoiseLaw]) -> float:
    """How many points with noise of their own these are worth, weighted as they count."""
    some = evenly(len(units), _ASKED)
    share, square = 0.0, 0.0
    for unit in (units[one] for one in some):
        mass = float(unit.mass.sum())
        times = unit.times_s[evenly(len(unit.times_s), _ASKED)]
        same = 1 / len(unit.places) if laws[unit.law].epsilon_per_m else _shared(laws[unit.law], times)
        share += mass
        square += mass**2 * same
    return share**2 / square * len(units) / len(some)


def _shared(law: NoiseLaw, times_s: FloatArray) -> float:
    return float(np.mean(law.correlation(times_s[:, None] - times_s[None, :])))
