"""Channels that a solver passed on its way: each is made to keep the promise, and what then costs least ships.

A smaller gap continues where a larger one stopped, so it chooses among more of them and never ends with a worse one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, Solved, finite
from sfumato.base.errors import NotCertified
from sfumato.base.things.channel import Channel
from sfumato.channels.designs.promises import Promise
from sfumato.channels.measures.discrete import average_distortion

Shipped = TypeVar("Shipped")


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A channel over some outputs, its cost, and the accuracy it was made at."""

    matrix: FloatArray
    outputs: IntArray
    cost: float
    accuracy: float


def merge_targets(matrix: FloatArray, distortion: FloatArray, prior: FloatArray, *, allowance: float) -> IntArray:
    """Which outputs remain and where the others go, spending at most ``allowance`` of extra average distortion.

    Returns ``target[y]``: the output that y is merged into (itself if it stays). Least likely outputs go first.
    """
    joint = prior[:, None] * matrix
    weight = joint.sum(axis=0)
    cost_now = (joint * distortion).sum(axis=0)
    cost_at = joint.T @ distortion
    target = np.arange(matrix.shape[1])
    staying = weight > 0
    if not staying.any():
        staying[int(np.argmax(weight))] = True
    spent = 0.0
    for y in np.argsort(weight, kind="stable"):
        if weight[y] > 1e-3 or staying.sum() <= 1:
            break
        others = staying.copy()
        others[y] = False
        place = int(np.flatnonzero(others)[np.argmin(cost_at[y, others])])
        extra = max(0.0, float(cost_at[y, place] - cost_now[y])) if weight[y] > 0 else 0.0
        if weight[y] > 1e-10 and spent + extra > allowance:
            break
        spent += extra
        staying[y] = False
        target[y] = place
    while np.any(target != target[target]):
        target = target[target]
    return target.astype(np.int64)


def gathered_outputs(candidate: Candidate, distortion: FloatArray, prior: FloatArray) -> tuple[FloatArray, IntArray]:
    """The candidate with outputs of almost no mass merged away, in the order of the distortion's columns, and those."""
    used, raw = candidate.outputs, candidate.matrix
    cost = float((prior[:, None] * raw * distortion[:, used]).sum())
    place = merge_targets(raw, distortion[:, used], prior, allowance=0.1 * candidate.accuracy * max(cost, 1e-300))
    kept = np.unique(place)
    kept = kept[np.argsort(used[kept])]
    at = {int(column): index for index, column in enumerate(kept)}
    gathered = np.zeros((prior.size, kept.size))
    np.add.at(gathered.T, [at[int(column)] for column in place], raw.T)
    return gathered, used[kept]


class Labels(NamedTuple):
    """The names of inputs and of the distortion's columns (none: their numbers), of the distortion, and the places."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    distortion_name: str | None
    positions_m: npt.ArrayLike | None

    def ship(
        self, candidate: Candidate, promise: Promise, prior: FloatArray, distortion: FloatArray
    ) -> tuple[float, Channel]:
        """What would ship of a candidate: cleaned, in the order of the symbols, repaired, measured; and its cost."""
        gathered, columns = gathered_outputs(candidate, distortion, prior)
        labels = partial(
            Channel,
            inputs=self.inputs,
            outputs=tuple(self.outputs[y] if self.outputs else str(y) for y in columns),
            distortion=distortion[:, columns],
            distortion_name=self.distortion_name,
            positions_m=None if self.positions_m is None else finite(self.positions_m, "positions_m", dimensions=2),
        )
        channel = promise.keep(gathered, labels)
        return average_distortion(channel, prior, distortion[:, columns]), channel


def cheapest(
    candidates: Sequence[Candidate], ship: Callable[[Candidate], tuple[float, Shipped]]
) -> tuple[float, Shipped]:
    """Of everything a solver passed on its way, what costs least *after* it was made to keep the promise."""
    found: list[tuple[float, Shipped]] = []
    failed: NotCertified | None = None
    for candidate in candidates:
        try:
            found.append(ship(candidate))
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


def bound_below(bound: float, cost: float) -> float:
    """The bound between 0 (distortions are not negative) and the cost; one above the cost by more than rounding is
    no bound at all, and is not hidden.
    """
    if bound > cost * (1 + 1e-9):
        raise NotCertified(
            f"The lower bound is {bound:.12g} and a channel costs {cost:.12g}: the bound is wrong.", "Report this."
        )
    return min(max(bound, 0.0), cost)


def solution(value: Shipped, cost: float, bound: float, *, gap: float, steps: int, began: float) -> Solved[Shipped]:
    """What a solver found, with its relative gap; "converged" where that is at most the one asked for."""
    reached = (cost - bound) / cost if cost > 0 else 0.0
    return Solved(
        value=value,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )
