"""Channels that a solver passed on its way: each is made to keep the promise, and what then costs least ships.

A smaller gap continues where a larger one stopped, so it chooses among more of them and never ends with a worse one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import NotCertified
from sfumato.channels.designs.certified import merged


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A channel over some outputs, its cost, and the accuracy it was made at."""

    matrix: FloatArray
    outputs: IntArray
    cost: float
    accuracy: float


def gathered_outputs(candidate: Candidate, distortion: FloatArray, prior: FloatArray) -> tuple[FloatArray, IntArray]:
    """The candidate with outputs of almost no mass merged away, in the order of the distortion's columns, and those."""
    used, raw = candidate.outputs, candidate.matrix
    cost = float((prior[:, None] * raw * distortion[:, used]).sum())
    place = merged(raw, distortion[:, used], prior, allowance=0.1 * candidate.accuracy * max(cost, 1e-300))
    kept = np.unique(place)
    kept = kept[np.argsort(used[kept])]
    at = {int(column): index for index, column in enumerate(kept)}
    gathered = np.zeros((prior.size, kept.size))
    np.add.at(gathered.T, [at[int(column)] for column in place], raw.T)
    return gathered, used[kept]


Shipped = TypeVar("Shipped")


def cheapest(
    candidates: Sequence[Candidate], shipped: Callable[[Candidate], tuple[float, Shipped]]
) -> tuple[float, Shipped]:
    """Of everything a solver passed on its way, what costs least *after* it was made to keep the promise."""
    found: list[tuple[float, Shipped]] = []
    failed: NotCertified | None = None
    for candidate in candidates:
        try:
            found.append(shipped(candidate))
        except NotCertified as error:
            failed = error
    if not found:
        assert failed is not None
        raise failed
    return min(found, key=lambda made: made[0])


def constant_report(prior: FloatArray, distortion: FloatArray) -> Candidate:
    """Always the same report, the one that costs least: it tells nothing, and nothing that costs more should ship."""
    cost = prior @ distortion
    best = int(np.argmin(cost))
    return Candidate(np.ones((prior.size, 1)), np.array([best], dtype=np.int64), float(cost[best]), 1e-12)


def best_reported(matrix: FloatArray, prior: FloatArray, distortion: FloatArray) -> Candidate:
    """Every column of a channel reported as what then costs least on average."""
    costs = (matrix.T * prior) @ distortion
    best = np.argmin(costs, axis=1)
    gathered = np.zeros((distortion.shape[1], prior.size))
    np.add.at(gathered, best, matrix.T)
    used = np.unique(best)
    return Candidate(gathered[used].T, used.astype(np.int64), float(costs[np.arange(best.size), best].sum()), 1e-12)
