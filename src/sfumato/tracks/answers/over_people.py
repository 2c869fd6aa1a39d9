"""A number over people with its interval: everybody is left out in turn (jackknife), for points are not independent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.tracks.answers.groups import dealt

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
    _check(confidence)
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
    _check(confidence)
    kept = [one for one in people if len(one[0])]
    if not kept:
        return tuple(OverPeople(math.nan, math.nan, math.nan) for _ in quantiles)
    values, counts = (np.concatenate([one[part] for one in kept]) for part in (0, 1))
    whose = np.repeat(dealt(len(kept)), [len(one[0]) for one in kept])
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
    return float(student.ppf((1 + confidence) / 2, groups - 1)) * sd


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
