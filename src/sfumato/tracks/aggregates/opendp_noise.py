"""The only door to OpenDP: discrete Laplace noise on whole numbers, and what it costs by OpenDP's own account.

P(Z = z) = (1 - a) / (1 + a) a^|z|, a = exp(-1 / s): a table whose neighbours differ by at most B in L1 is B / s-private
[Ghosh2012], with no floating-point number between the data and the release. OpenDP draws it exactly and says its cost
(``Measurement.map``). Where keys are those of the data, a key is released only if its noisy count reaches a threshold,
so that a key of one person alone appears with probability at most δ. A seed draws the same law with NumPy instead:
that is a simulation, and nothing that was computed from people may be released by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from types import ModuleType

import numpy as np

from sfumato.base.arrays import IntArray
from sfumato.base.errors import MissingExtra, NotCertified
from sfumato.base.randomness import Randomness

_ROOM = 1 - 1e-9  # so that sums of rounded epsilons stay below what was asked for


@cache
def library() -> ModuleType:
    """OpenDP, without its data frames."""
    try:
        found = import_module("opendp.prelude")
    except ImportError as error:
        raise MissingExtra("opendp", "aggregates") from error
    found.enable_features("contrib")
    return found


def library_words() -> str:
    """Its name and version."""
    library()
    return f"OpenDP {metadata.version('opendp')}"


@dataclass(frozen=True, slots=True)
class Spent:
    """One use of the data: noise of ``scale`` on counts of which one person changes at most ``bound`` in all."""

    what: str
    bound: int
    scale: float
    epsilon: float
    delta: float = 0.0
    threshold: int | None = None


def chance_of(use: Spent) -> float:
    """The probability that a key of one person alone is released: each of at most B keys reaches the threshold.

    Of no key has that person more than B, and P(B + Z ≥ T) = a^(T - B) / (1 + a).
    """
    if use.threshold is None:
        return 0.0
    return use.bound * math.exp((use.bound - use.threshold) / use.scale) / (1 + math.exp(-1 / use.scale))


def noisy_counts(
    what: str, counts: IntArray, *, bound: int, epsilon: float, source: Randomness
) -> tuple[IntArray, Spent]:
    """The counts with noise, at a cost of ``epsilon`` at most."""
    dp = library()
    scale = bound / (epsilon * _ROOM)
    whole = dp.vector_domain(dp.atom_domain(T="i64"))
    measurement = dp.m.make_laplace(whole, dp.l1_distance(T="i64"), scale)
    cost = float(measurement.map(bound))
    if cost > epsilon:
        raise NotCertified(f"The noise costs {cost:g}, more than {epsilon:g}.", "Give another epsilon.")
    if source.simulation:
        drawn = counts + _simulated(scale, len(counts), source)
    else:
        drawn = np.asarray(measurement(counts.tolist()), dtype=np.int64)
    return drawn, Spent(what, bound, scale, cost)


def noisy_keys(
    what: str, counts: Mapping[int, int], *, bound: int, epsilon: float, delta: float, source: Randomness
) -> tuple[dict[int, int], Spent]:
    """The noisy counts of those keys that reach the threshold: keys are of the data, and so is their number."""
    dp = library()
    scale = bound / (epsilon * _ROOM)
    whole = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric, apart = dp.l01inf_distance(dp.absolute_distance(T="i64")), (bound, bound, bound)
    # What is at the threshold is released, so P(Z ≥ T - B) counts; OpenDP 0.16 says P(Z > T - B), which is less.
    threshold = bound + seldom_of(scale, delta * _ROOM / bound)
    measurement = dp.m.make_laplace_threshold(whole, metric, scale, threshold)
    cost, chance = float(measurement.map(apart)[0]), chance_of(Spent(what, bound, scale, 0.0, 0.0, threshold))
    if cost > epsilon or max(chance, float(measurement.map(apart)[1])) > delta:
        raise NotCertified(f"The noise costs ({cost:g}, {chance:g}).", "Give another epsilon and delta.")
    if source.simulation:
        noise = _simulated(scale, len(counts), source)
        drawn = {key: count + int(z) for (key, count), z in zip(sorted(counts.items()), noise, strict=True)}
        released = {key: count for key, count in drawn.items() if count >= threshold}
    else:
        released = dict(sorted(measurement(dict(counts)).items()))
    return released, Spent(what, bound, scale, cost, chance, threshold)


def _simulated(scale: float, count: int, source: Randomness) -> IntArray:
    one, other = (
        np.floor(-np.log(source.uniforms(count)) * scale).astype(np.int64) for _ in ("geometric", "geometric")
    )
    return one - other


def reach_of(scale: float, confidence: float) -> int:
    """The least t with P(|Z| > t) = 2 a^(t+1) / (1 + a) ≤ 1 - confidence."""
    a = math.exp(-1 / scale)
    return max(0, math.ceil(math.log((1 - confidence) * (1 + a) / 2) * -scale - 1 - 1e-9))


def seldom_of(scale: float, chance: float) -> int:
    """The least k with P(Z ≥ k) = a^k / (1 + a) ≤ chance."""
    return max(1, math.ceil(math.log(chance * (1 + math.exp(-1 / scale))) * -scale - 1e-9))
