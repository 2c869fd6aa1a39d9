"""The hyper-distribution of a prior and a channel: the posteriors a report can lead to, and how likely each is.

[p, Q] has inner distributions P(x | y) with outer probabilities m[y]; equal inners are one, impossible outputs none. It
is all an adversary can learn, whatever the outputs are called [Alvim2020, ch. 4]; every leakage is a function of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.channels.measures.discrete import ChannelLike, matrix_of

SAME = 1e-12
"""Posteriors that differ by at most this everywhere are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Hyper:
    """``outer`` (k,) probabilities of the ``inners`` (k, symbols), each a posterior; likeliest first."""

    outer: FloatArray
    inners: FloatArray

    def __post_init__(self) -> None:
        outer = checked_probabilities(self.outer)
        inners = finite(self.inners, "The inner distributions", dimensions=2)
        if inners.shape[0] != outer.size:
            raise InputError(
                f"There are {outer.size} outer probabilities and {inners.shape[0]} inners.", "Give one each."
            )
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inners", inners)

    @property
    def prior(self) -> FloatArray:
        """The belief before any report: the mean of the inners."""
        out: FloatArray = self.outer @ self.inners
        return out

    def expected(self, uncertainty: Callable[[FloatArray], float]) -> float:
        """The mean over reports of a function of the posterior."""
        return float(sum(o * uncertainty(inner) for o, inner in zip(self.outer, self.inners, strict=True)))

    def worst(self, vulnerability: Callable[[FloatArray], float]) -> float:
        """The largest value of a function of the posterior over all reports."""
        return max(vulnerability(inner) for inner in self.inners)

    def channel(self) -> Channel:
        """The smallest channel with this hyper-distribution; symbols of prior 0 get the outer distribution as row."""
        p = self.prior
        joint = self.outer[:, None] * self.inners
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(p > 0, joint / p, self.outer[:, None]).T
        return Channel(rows)


def hyper(channel: ChannelLike, prior: npt.ArrayLike) -> Hyper:
    """The hyper-distribution: posteriors of the possible outputs, equal ones merged."""
    q = matrix_of(channel)
    p = checked_probabilities(prior, q.shape[0])
    joint = p[:, None] * q
    m = joint.sum(axis=0)
    possible = np.flatnonzero(m > 0)
    inners = (joint[:, possible] / m[possible]).T
    order = np.argsort(-m[possible], kind="stable")
    outer: list[float] = []
    kept: list[FloatArray] = []
    for at in order:
        inner, weight = inners[at], float(m[possible[at]])
        alike = np.abs(np.array(kept) - inner).max(axis=1) <= SAME if kept else np.zeros(0, dtype=bool)
        if alike.any():
            outer[int(np.argmax(alike))] += weight
        else:
            outer.append(weight)
            kept.append(inner)
    return Hyper(read_only(np.array(outer) / np.sum(outer)), read_only(np.array(kept)))


def reduced(channel: ChannelLike) -> Channel:
    """The channel without outputs that never occur and with proportional ones merged: nobody can tell them apart."""
    q = matrix_of(channel)
    uniform = np.full(q.shape[0], 1.0 / q.shape[0])
    return hyper(q, uniform).channel()
