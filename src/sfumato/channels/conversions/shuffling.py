"""Shuffled reports: what a crowd adds to local privacy *if* somebody trusted mixes them: off unless they are named.

n people report with an eps0-LDP randomizer; a shuffler forgets who sent what. Then the collection is (eps, delta)-DP
with delta(eps) at most the hockey-stick divergence between (A + D, C - A + 1 - D) and (A + 1 - D, C - A + D), where C
~ Bin(n - 1, e^-eps0), A ~ Bin(C, 1/2), D ~ Bern(e^eps0 / (1 + e^eps0)) [Feldman2021, Thm 3.2]: computed here, not its
closed form. Given C = c the likelihood ratio grows with A, so each term is two binomial tails. Tails of C cut off are
added.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from sfumato.base.arrays import positive
from sfumato.base.errors import InputError

_CUT = 1e-20
_ROUNDING = 1e-9
"""Relative allowance for the binomial tails, added to delta."""
MOST_PEOPLE = 10**12


def shuffled_delta(local_epsilon: float, people: int, epsilon: float) -> float:
    """An upper bound on the delta of (epsilon, delta)-DP of n shuffled reports; 0 from the local epsilon on."""
    eps0 = positive(local_epsilon, "local_epsilon", at_most=100.0)
    n = _people(people)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon is {epsilon}.", "It must be a finite number of at least 0.")
    if epsilon >= eps0:
        return 0.0
    clone = math.exp(-eps0)
    low, high = int(binom.ppf(_CUT, n - 1, clone)), int(binom.isf(_CUT, n - 1, clone))
    width = high - low + 1
    step = max(1, width // 4_000)
    c = np.arange(max(0, low), high + step, step)  # every c, or groups of them at their worst (smallest) member
    upto = binom.cdf(np.minimum(c + step - 1, n - 1), n - 1, clone)
    weight = np.diff(upto, prepend=float(binom.cdf(c[0] - 1, n - 1, clone)) if c[0] > 0 else 0.0)
    # w - e^eps (1 - w) and e^eps w - (1 - w), w = e^eps0 / (1 + e^eps0), without cancellation
    more = -math.expm1(epsilon - eps0) / (1 + math.exp(-eps0))
    less = math.exp(epsilon) * -math.expm1(-eps0 - epsilon) / (1 + math.exp(-eps0))
    start = np.floor(less * (c + 1) / (more + less)) + 1
    first = more * binom.sf(start - 2, c, 0.5)
    second = less * binom.sf(start - 1, c, 0.5)
    each = np.maximum(first - second, 0.0) + _ROUNDING * first
    return min(1.0, float(weight @ each) + 2 * _CUT + 1e-15 * float(np.asarray(first).max(initial=0.0)))


def shuffled_epsilon(local_epsilon: float, people: int, delta: float) -> float:
    """The smallest epsilon (to 1e-6, rounded up) with ``shuffled_delta <= delta``; never above the local epsilon."""
    eps0 = positive(local_epsilon, "local_epsilon", at_most=100.0)
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}.", "It lies strictly between 0 and 1.")
    low, high = 0.0, eps0
    if shuffled_delta(eps0, people, 0.0) <= delta:
        return 0.0
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shuffled_delta(eps0, people, middle) > delta else (low, middle)
    return high


def _people(people: int) -> int:
    if isinstance(people, bool) or int(people) != people or not 1 <= people <= MOST_PEOPLE:
        raise InputError(f"There are {people} people.", "Give a whole number of at least 1.")
    return int(people)
