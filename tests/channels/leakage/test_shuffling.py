"""Shuffling: the bound is above the exact divergence of small crowds, and names who is trusted."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.base.errors import InputError
from sfumato.channels.conversions.bounds import shuffled_delta, shuffled_epsilon
from sfumato.channels.conversions.routes import Facts, convert


def exact_binary(local: float, people: int, epsilon: float) -> float:
    """The hockey-stick divergence of shuffled binary randomized response, the others all saying 0: the count of 1s."""
    flip = 1 / (1 + math.exp(local))
    rest = binom.pmf(np.arange(people), people - 1, flip)
    one, zero = np.zeros(people + 1), np.zeros(people + 1)
    one[1:] += (1 - flip) * rest
    one[:-1] += flip * rest
    zero[1:] += flip * rest
    zero[:-1] += (1 - flip) * rest
    factor = math.exp(epsilon)
    return float(max(np.maximum(one - factor * zero, 0).sum(), np.maximum(zero - factor * one, 0).sum()))


def clones(local: float, people: int, epsilon: float) -> float:
    """The bound of the theorem by plain summation."""
    w = math.exp(local) / (1 + math.exp(local))
    total = 0.0
    for c in range(people):
        weight = binom.pmf(c, people - 1, math.exp(-local))
        a = np.arange(c + 2)
        shifted, same = binom.pmf(a - 1, c, 0.5), binom.pmf(a, c, 0.5)
        p, q = w * shifted + (1 - w) * same, (1 - w) * shifted + w * same
        total += weight * np.maximum(p - math.exp(epsilon) * q, 0).sum()
    return float(total)


@pytest.mark.parametrize("local", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("people", [1, 2, 20, 90])
def test_the_bound_is_the_theorems_and_above_the_exact_divergence(local: float, people: int) -> None:
    for share in (0.0, 0.1, 0.5, 0.9):
        ours = shuffled_delta(local, people, share * local)
        assert ours == pytest.approx(clones(local, people, share * local), rel=1e-6, abs=1e-12)
        assert ours >= clones(local, people, share * local)
        assert ours >= exact_binary(local, people, share * local)


def test_more_people_and_less_local_epsilon_are_more_private() -> None:
    found = [shuffled_epsilon(1.0, n, 1e-6) for n in (10, 1000, 10**6)]
    assert all(b < a for a, b in pairwise(found))
    assert found[0] <= 1.0
    assert found[-1] < 0.01
    assert shuffled_epsilon(0.5, 1000, 1e-6) < shuffled_epsilon(1.0, 1000, 1e-6)
    assert shuffled_delta(1.0, 1000, shuffled_epsilon(1.0, 1000, 1e-6)) <= 1e-6
    assert shuffled_delta(1.0, 10, 1.0) == 0.0


def test_without_a_name_there_is_no_amplification() -> None:
    known = {"people": 1000, "delta": 1e-6}
    with pytest.raises(InputError, match="Nothing follows about shuffled_epsilon"):
        convert(1.0, "ldp", "shuffled_epsilon", Facts(**known, shuffler=" "))
    assert convert(1.0, "ldp", "shuffled_epsilon", Facts(**known, shuffler="the statistics office")).value < 0.5


@pytest.mark.parametrize(
    "arguments",
    [(0.0, 10, 0.1), (math.nan, 10, 0.1), (101.0, 10, 0.1), (1.0, 0, 0.1), (1.0, 2.5, 0.1), (1.0, 10, -1.0),
     (1.0, 10, math.inf), (1.0, 10, math.nan)],
)  # fmt: skip
def test_what_means_nothing_is_refused(arguments: tuple[float, int, float]) -> None:
    with pytest.raises(InputError):
        shuffled_delta(*arguments)


@pytest.mark.parametrize("local", [1e-12, 1e-6, 1e-3, 10.0, 100.0])
def test_extreme_local_epsilons_stay_probabilities(local: float) -> None:
    for people in (1, 7, 10**6, 10**12):
        assert 0 <= shuffled_delta(local, people, 0.3 * local) <= 1
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(InputError):
            shuffled_epsilon(1.0, 10, delta)
