"""A number over people with its interval: everybody is left out in turn (jackknife), for points are not independent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from sfumato.answers.people import LEAST_PEOPLE
from sfumato.arrays import FloatArray
from sfumato.errors import InputError


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
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
    there = counts > 0
    sums, counts = sums[there], counts[there]
    people = len(sums)
    if not people:
        return OverPeople(math.nan, math.nan, math.nan)
    value = float(sums.sum() / counts.sum())
    if people < LEAST_PEOPLE:
        return OverPeople(value, math.nan, math.nan)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    sd = math.sqrt((people - 1) / people * float(np.sum((without - without.mean()) ** 2)))
    reach = float(student.ppf((1 + confidence) / 2, people - 1)) * sd
    return OverPeople(value, value - reach, value + reach)
