"""The only door to OpenDP: discrete Laplace noise on whole numbers, and what it costs by OpenDP's own account.

Between the data and the release there is no floating-point number: OpenDP draws the law of :mod:`.noise_law` exactly,
and says its cost (``Measurement.map``). Where keys are those of the data, a key is released only if its noisy count
reaches a threshold, so that a key of one person alone appears with probability at most δ. A seed draws the same law
with NumPy instead: that is a simulation, and nothing that was computed from people may be released by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from types import ModuleType

import numpy as np

from sfumato.base.arrays import IntArray
from sfumato.base.errors import MissingExtra, NotCertified
from sfumato.base.randomness import Randomness
from sfumato.tracks.aggregates.noise_law import UseOfData, chance_of, seldom_of

try:
    import opendp.prelude as dp
except ImportError:
    dp = None
_ROOM = 1 - 1e-9  # so that sums of rounded epsilons stay below what was asked for


def library() -> ModuleType:
    """OpenDP, without its data frames."""
    found: ModuleType | None = dp
    if found is None:
        raise MissingExtra("opendp", "aggregates")
    found.enable_features("contrib")
    return found


def library_words() -> str:
    """Its name and version."""
    library()
    return f"OpenDP {metadata.version('opendp')}"


def noisy_counts(
    what: str, counts: IntArray, *, bound: int, epsilon: float, source: Randomness
) -> tuple[IntArray, UseOfData]:
    """The counts with noise, at a cost of ``epsilon`` at most."""
    opendp = library()
    scale = bound / (epsilon * _ROOM)
    whole = opendp.vector_domain(opendp.atom_domain(T="i64"))
    measurement = opendp.m.make_laplace(whole, opendp.l1_distance(T="i64"), scale)
    cost = float(measurement.map(bound))
    if cost > epsilon:
        raise NotCertified(f"The noise costs {cost:g}, more than {epsilon:g}.", "Give another epsilon.")
    if source.simulation:
        drawn = counts + _simulated(scale, len(counts), source)
    else:
        drawn = np.asarray(measurement(counts.tolist()), dtype=np.int64)
    return drawn, UseOfData(what, bound, scale, cost)


def noisy_keys(
    what: str, counts: Mapping[int, int], *, bound: int, epsilon: float, delta: float, source: Randomness
) -> tuple[dict[int, int], UseOfData]:
    """The noisy counts of those keys that reach the threshold: keys are of the data, and so is their number."""
    opendp = library()
    scale = bound / (epsilon * _ROOM)
    whole = opendp.map_domain(opendp.atom_domain(T="i64"), opendp.atom_domain(T="i64"))
    metric, apart = opendp.l01inf_distance(opendp.absolute_distance(T="i64")), (bound, bound, bound)
    # What is at the threshold is released, so P(Z ≥ T - B) counts; OpenDP 0.16 says P(Z > T - B), which is less.
    threshold = bound + seldom_of(scale, delta * _ROOM / bound)
    measurement = opendp.m.make_laplace_threshold(whole, metric, scale, threshold)
    cost, chance = float(measurement.map(apart)[0]), chance_of(UseOfData(what, bound, scale, 0.0, 0.0, threshold))
    if cost > epsilon or max(chance, float(measurement.map(apart)[1])) > delta:
        raise NotCertified(f"The noise costs ({cost:g}, {chance:g}).", "Give another epsilon and delta.")
    if source.simulation:
        noise = _simulated(scale, len(counts), source)
        drawn = {key: count + int(z) for (key, count), z in zip(sorted(counts.items()), noise, strict=True)}
        released = {key: count for key, count in drawn.items() if count >= threshold}
    else:
        released = dict(sorted(measurement(dict(counts)).items()))
    return released, UseOfData(what, bound, scale, cost, chance, threshold)


def _simulated(scale: float, count: int, source: Randomness) -> IntArray:
    one, other = (
        np.floor(-np.log(source.uniforms(count)) * scale).astype(np.int64) for _ in ("geometric", "geometric")
    )
    return one - other
