"""The law of the noise on whole numbers, and what a table with it costs: all that a reader can recompute.

P(Z = z) = (1 - a) / (1 + a) a^|z|, a = exp(-1 / s): counts of which one person changes at most B in all, in L1, are
B / s-private with it [Ghosh2012].
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UseOfData:
    """One use of the data: noise of ``scale`` on counts of which one person changes at most ``bound`` in all."""

    what: str
    bound: int
    scale: float
    epsilon: float
    delta: float = 0.0
    threshold: int | None = None


def chance_of(use: UseOfData) -> float:
    """The probability that a key of one person alone is released: each of at most B keys reaches the threshold.

    Of no key has that person more than B, and P(B + Z ≥ T) = a^(T - B) / (1 + a).
    """
    if use.threshold is None:
        return 0.0
    return use.bound * math.exp((use.bound - use.threshold) / use.scale) / (1 + math.exp(-1 / use.scale))


def reach_of(scale: float, confidence: float) -> int:
    """The least t with P(|Z| > t) = 2 a^(t+1) / (1 + a) ≤ 1 - confidence."""
    a = math.exp(-1 / scale)
    return max(0, math.ceil(math.log((1 - confidence) * (1 + a) / 2) * -scale - 1 - 1e-9))


def seldom_of(scale: float, chance: float) -> int:
    """The least k with P(Z ≥ k) = a^k / (1 + a) ≤ chance."""
    return max(1, math.ceil(math.log(chance * (1 + math.exp(-1 / scale))) * -scale - 1e-9))
