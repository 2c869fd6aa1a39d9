"""Averaging over visits: one place seen on many nights or days, in the ten-minute means of the hours one is there.

Of those means the fullest neighbourhood is taken, as wide as the noise, and of it the generalised least squares mean
under the law of the noise. Whoever knows another place of yours (``knows="place=work"``) sees the bare noise there, and
takes from the noise at home what they can tell of it.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.priors.kernels import Kernel, Sum, White
from sfumato.tracks.priors.statespace import is_markov, whitened_products

NEAR_M, _MOST, _DOUBLED = 100.0, 1500, 4


def hours(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The mean over visits; None where nothing is released at those hours."""
    chosen = _at_these_hours(seen, told)
    if not chosen.size:
        return None
    return mean_under(told.noise(seen), seen.slot_s[chosen], seen.slots_m[chosen], seen.slot_points[chosen])[None]


def known_place(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The same with the noise at known moments seen bare; None where nothing is known."""
    chosen, law = _at_these_hours(seen, told), told.noise(seen)
    if told.known_s is None or told.known_m is None or not is_markov(law) or not chosen.size:
        return None
    away = np.abs(seen.slot_s[:, None] - told.known_s[None, evenly(len(told.known_s), _MOST)])
    known = np.flatnonzero(away.min(axis=1) < 300.0)
    known = known[~np.isin(known, chosen)]
    truth = np.column_stack([np.interp(seen.slot_s[known], told.known_s, column) for column in told.known_m.T])
    at = np.concatenate([chosen, known])
    values = np.vstack([seen.slots_m[chosen], seen.slots_m[known] - truth])
    there = np.concatenate([np.ones(len(chosen)), np.zeros(len(known))])
    order = np.argsort(seen.slot_s[at])
    found = whitened_products(seen.slot_s[at][order], np.column_stack([there, values])[order], law)
    return np.asarray(found[0, 1:] / found[0, 0])[None]


def _at_these_hours(seen: SeenTrack, told: Knowledge) -> IntArray:
    when = seen.at_work(seen.slot_s) if told.work else seen.nightly(seen.slot_s)
    at = np.flatnonzero(when)
    if not at.size:
        return at
    points = seen.slots_m[at]
    return at[fullest(points, width_of(points, max(NEAR_M, told.noise_m(seen))), seen.slot_points[at])]


def width_of(points_m: FloatArray, least_m: float) -> float:
    """The radius of the fullest neighbourhood: doubled from the least while twice as wide holds 1.6 times as much."""
    some, radius = points_m[evenly(len(points_m), _MOST)], least_m
    apart = np.hypot(*(some[:, None] - some[None]).transpose(2, 0, 1))
    most = [int((apart < radius * 2**k).sum(axis=1).max()) for k in range(_DOUBLED + 1)]
    for k in range(_DOUBLED):
        if most[k + 1] < 1.6 * most[k]:
            return float(radius * 2**k)
    return float(radius * 2**_DOUBLED)


def fullest(points_m: FloatArray, radius_m: float, weights: FloatArray | None = None) -> IntArray:
    """The numbers of the points in the fullest neighbourhood, moved twice to its mean and half as wide again."""
    weight = np.ones(len(points_m)) if weights is None else np.minimum(weights, 60.0)
    few = evenly(len(points_m), _MOST)
    some = points_m[few]
    near = np.hypot(*(some[:, None] - some[None]).transpose(2, 0, 1)) < radius_m
    centre = some[np.argmax(near @ weight[few])]
    for _ in range(2):
        inside = np.hypot(*(points_m - centre).T) < 1.5 * radius_m
        centre = (weight[inside] @ points_m[inside]) / weight[inside].sum() if inside.any() else centre
    return np.flatnonzero(np.hypot(*(points_m - centre).T) < 1.5 * radius_m)


def mean_under(
    noise: Kernel, times_s: FloatArray, positions_m: FloatArray, counts: FloatArray | None = None
) -> FloatArray:
    """(1ᵀΓ⁻¹1)⁻¹ 1ᵀΓ⁻¹z; under independent noise the mean, weighted by how many points each value is the mean of."""
    parts = noise.parts if isinstance(noise, Sum) else (noise,)
    times, first = np.unique(times_s, return_index=True)
    if all(isinstance(part, White) for part in parts) or not is_markov(noise) or times.size < 2:
        return np.asarray(np.average(positions_m, axis=0, weights=counts))
    middle = positions_m.mean(axis=0)
    columns = np.column_stack([np.ones(times.size), positions_m[first] - middle])
    found = whitened_products(times, columns, noise)
    return np.asarray(found[0, 1:] / found[0, 0] + middle)
