"""The interval of a share over people: how far the share of people like these may lie from what these people show.

Three parts. *Chance of people*: the answers without each of up to twenty groups of people give a variance V (the
delete-a-group jackknife); points of one person are no sample. *The common shift*: what all releases lie off together,
which no group can show (:mod:`~sfumato.tracks.answers.maps.heatmap`). *Smoothing*: an answer stopped early is flatter
than the truth by about b, what it loses when the whole way is walked once more.

A cell that few people visit has a skewed law and no variance worth the name, so V is expressed as a number of people,
1/φ = p (1 - p) / V, drawn towards that of all cells together where few people were in the cell, and the interval is
[Wilson1927]'s for that number: |p̂ - p| ≤ z √(φ p (1 - p)), with b² in φ (less what smoothing
takes from chance alone). Other numbers leave everybody out in turn (jackknife), for points are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from sfumato.base.arrays import FloatArray
from sfumato.base.numbers.area_shares import score_ends
from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.tracks.answers.received import check_confidence, groups_of

OF_BIAS = 1.5  # times what is seen of it: people are less smooth than a map
_BY_CHANCE = 0.25  # of the variance: so large is the square of what smoothing takes from chance alone
_DRAWN = 5.0  # people: a cell with so many is half its own


def people_interval(
    share: FloatArray,
    without: FloatArray,
    people: int,
    confidence: float,
    *,
    bias: FloatArray | float = 0.0,
    more: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Low and high: ``without`` each group of people, the ``bias`` of smoothing, and ``more`` variance."""
    groups = len(without)
    mean = without.mean(axis=0)
    variance = (groups - 1) / groups * sum(np.square(one - mean) for one in without) + more  # one by one: memory
    spread = share * (1 - share)
    pooled = float(np.sum(variance)) / max(float(np.sum(spread)), 1e-300)
    if not 1e-12 < pooled < 1:  # nothing told people apart
        pooled = 1.0 / people
    seen = share / pooled
    own = variance / np.maximum(spread, pooled * 1e-6)
    lost = OF_BIAS**2 * np.maximum(np.square(bias) - _BY_CHANCE * variance, 0.0)
    phi = (own * seen + pooled * _DRAWN) / (seen + _DRAWN) + lost / np.maximum(spread, pooled)
    reach = float(ndtri((1 + confidence) / 2)) ** 2 * phi
    middle, half = share + reach / 2, np.sqrt(reach * spread + reach**2 / 4)
    low, high = (middle - half) / (1 + reach), (middle + half) / (1 + reach)
    return np.clip(np.minimum(low, share), 0.0, 1.0), np.clip(np.maximum(high, share), 0.0, 1.0)


_EMPTY = 0.99
_OWN_DRAWS = 4.0  # an area's own draws count against all areas' as so many


def interval_of_released(
    share: FloatArray,
    counted: FloatArray,
    errors: FloatArray,
    confidence: float,
    *,
    in_empty: float,
    more: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Low and high for the people released: by the ``errors`` (draws, cells) of releases that might have been.

    The noise carries people into an area by how many were released there (``counted``) and out of it by how many are in
    it, so the variance is V(R) = κ (counted + R) / 2 where the share is R, with κ drawn towards that of all areas. The
    interval is every R with (share - R)² ≤ t² V(R), as [Wilson1927]'s, with Student's t, since κ is told by so few
    draws, and ``more`` variance. Whole people are carried into areas where nobody is (``in_empty`` counted): an area is
    said to have anybody only where so much is carried into one of a hundred that are empty.
    """
    draws = len(errors)
    scale = (share + counted) / 2 + 1e-9
    mean = errors.mean(axis=0)
    by_chance = np.var(errors, axis=0, ddof=1) / draws
    square = np.mean(errors**2, axis=0) + (OF_BIAS**2 - 1) * np.maximum(mean**2 - by_chance, 0.0)
    pooled = float(square.sum() / scale.sum())
    kappa = (draws * square + _OWN_DRAWS * pooled * scale) / ((draws + _OWN_DRAWS) * scale)
    z = float(stdtrit(draws + _OWN_DRAWS - 1, (1 + confidence) / 2))
    low, high = score_ends(share, kappa * counted / 2 + more, kappa / 2, z)
    carried_at_most = float(ndtri(_EMPTY)) ** 2 * np.maximum(kappa / 2, in_empty) * counted
    low = np.where(share**2 <= carried_at_most, 0.0, low)
    return np.clip(low, 0.0, share), np.clip(high, share, 1.0)


def poisson_interval(count: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Low and high of the expectation behind a count that Poisson's law drew [Garwood1936]."""
    tail = (1 - confidence) / 2
    return np.where(count > 0, chdtri(2 * np.maximum(count, 1e-9), 1 - tail) / 2, 0.0), chdtri(2 * count + 2, tail) / 2


Sample = tuple[FloatArray, FloatArray]  # values, and what each counts


@dataclass(frozen=True, slots=True)
class OverPeople:
    """A value (NaN where nobody has any), and its interval over people (NaN for fewer than five)."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """Plain numbers."""
        return {"value": self.value, "low": self.low, "high": self.high}


def ratio_over_people(sums: FloatArray, counts: FloatArray, confidence: float) -> OverPeople:
    """Σ sums / Σ counts over people, and the jackknife's interval by Student's t."""
    check_confidence(confidence)
    there = counts > 0
    sums, counts = sums[there], counts[there]
    people = len(sums)
    if not people:
        return OverPeople(math.nan, math.nan, math.nan)
    value = float(sums.sum() / counts.sum())
    if people < LEAST_PEOPLE:
        return OverPeople(value, math.nan, math.nan)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    reach = _reach(without, confidence)
    return OverPeople(value, value - reach, value + reach)


def quantiles_over_people(
    people: Sequence[Sample], quantiles: Sequence[float], confidence: float
) -> tuple[OverPeople, ...]:
    """Weighted quantiles of all people's values together; the interval leaves out up to twenty groups in turn."""
    check_confidence(confidence)
    kept = [one for one in people if len(one[0])]
    if not kept:
        return tuple(OverPeople(math.nan, math.nan, math.nan) for _ in quantiles)
    values, counts = (np.concatenate([one[part] for one in kept]) for part in (0, 1))
    whose = np.repeat(groups_of(len(kept)), [len(one[0]) for one in kept])
    order = np.argsort(values)
    values, counts, whose = values[order], counts[order], whose[order]
    found = _quantiles(values, counts, quantiles)
    if len(kept) < LEAST_PEOPLE:
        return tuple(OverPeople(float(value), math.nan, math.nan) for value in found)
    without = np.array([_quantiles(values, np.where(whose == g, 0.0, counts), quantiles) for g in np.unique(whose)])
    reach = [_reach(column, confidence) for column in without.T]
    return tuple(OverPeople(float(v), max(float(v - r), 0.0), float(v + r)) for v, r in zip(found, reach, strict=True))


def _quantiles(values: FloatArray, counts: FloatArray, quantiles: Sequence[float]) -> FloatArray:
    passed = np.cumsum(counts)
    at = np.searchsorted(passed, np.asarray(quantiles) * passed[-1])
    return np.asarray(values[np.minimum(at, len(values) - 1)])


def _reach(without: FloatArray, confidence: float) -> float:
    groups = len(without)
    sd = math.sqrt((groups - 1) / groups * float(np.sum((without - without.mean()) ** 2)))
    return float(stdtrit(groups - 1, (1 + confidence) / 2)) * sd
