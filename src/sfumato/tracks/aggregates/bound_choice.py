"""How much of one person counts, chosen privately: so much that few people have more.

A person with many rows needs a large bound, and everybody pays for it in noise. The bound is taken from a noisy
histogram of how many rows people have: one person is in one of its bins, so B = 1 and its noise costs what OpenDP says.
From it, without the data: the smallest bound that at most one person in twenty passes, or no more than its noise alone
could show (three standard deviations). What is cut off is not in any interval: it is said beside them.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import IntArray
from sfumato.base.randomness import Randomness
from sfumato.tracks.aggregates.noise_law import UseOfData
from sfumato.tracks.aggregates.opendp_noise import noisy_counts

SHARE = 0.1  # of epsilon
CHOICES = (*(step * 10**power for power in range(4) for step in (1, 2, 3, 5, 7)), 10_000)
_FEW = 0.05


def chosen_bound(each: IntArray, *, epsilon: float, source: Randomness) -> tuple[int, UseOfData]:
    """A bound on rows per person, from how many ``each`` has; at a cost of ``epsilon`` at most."""
    passed = np.searchsorted(CHOICES, each)  # 0: at most the first choice; the last bin: more than any
    counts = np.bincount(passed, minlength=len(CHOICES) + 1).astype(np.int64)
    noisy, spent = noisy_counts("the bound", counts, bound=1, epsilon=epsilon, source=source)
    people = max(float(noisy.sum()), 1.0)
    for number, choice in enumerate(CHOICES):
        above = noisy[number + 1 :]
        if above.sum() <= max(_FEW * people, 3.0 * spent.scale * math.sqrt(2.0 * len(above))):
            return choice, spent
    return CHOICES[-1], spent
