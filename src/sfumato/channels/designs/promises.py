"""What a channel promises, as an object that measures it: no statement about a channel is made in any other way.

A design gives a channel and its promise, never a guarantee. :meth:`Promise.state` measures the very matrix that ships,
adds what the rounding of that measurement may hide, and either states the guarantee or refuses. :meth:`Promise.keep`
brings a solver's matrix inside first: solvers overshoot a bound by 1e-14, so the matrix is mixed with a constant
channel just enough to bring every ratio below the limit by more than the rounding.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.geo import geo_epsilon_at_most
from sfumato.base.numbers.rounding import UNIT, lift_error
from sfumato.base.things.channel import Channel, checked_rows
from sfumato.channels.designs.limits import checked_plane_error
from sfumato.channels.measures.discrete import (
    Leakage,
    average_distortion,
    epsilon_delta,
    lip,
    lip_over_set,
    mutual_information,
)
from sfumato.channels.priors.prior_sets import Known, PriorSet, TVBall

NUMERICS = (
    "leakage measured on the shipped matrix in double precision, below the target by more than the rounding; "
    "reports are drawn exactly from the stored doubles"
)
_ROUNDS = 24


class Promise(ABC):
    """One promise about a channel, in the notion of its class."""

    __slots__ = ()

    @abstractmethod
    def leakage(self, channel: Channel) -> float:
        """How much the channel leaks in this notion, measured (of two sides, the larger)."""

    @abstractmethod
    def state(self, channel: Channel) -> Guarantee:
        """The guarantee, measured on this channel; NotCertified where it leaks more than is promised."""

    def keep(self, matrix: npt.ArrayLike, as_channel: Callable[[FloatArray], Channel] = Channel) -> Channel:
        """A channel that keeps the promise, as little away from ``matrix`` as possible; or NotCertified."""
        channel = as_channel(_rows(matrix))
        self.state(channel)
        return channel

    def after(self, channel: Channel) -> Channel:
        """The same promise for a post-processing of a channel that keeps it: measured anew, repaired if need be."""
        return self.keep(channel.matrix, lambda matrix: replace(channel, matrix=matrix))


@dataclass(frozen=True, slots=True, eq=False)
class LipPromise(Promise):
    """e^-low <= lift <= e^up for every prior of a set: one prior, several, or all (local differential privacy)."""

    priors: PriorSet
    up: float
    low: float | None = None
    """The limit of the lower side; None for the same, infinity for no promise about it."""

    @property
    def below(self) -> float:
        """The limit of the lower side."""
        return self.up if self.low is None else self.low

    def measure(self, channel: Channel | FloatArray) -> Leakage:
        """Both sides over the set (for one prior: over its support)."""
        one = isinstance(self.priors, Known)
        return lip(channel, self.priors.centre) if one else lip_over_set(channel, self.priors)

    def leakage(self, channel: Channel) -> float:
        """The larger of the two sides, in nats."""
        return self.measure(channel).max

    def state(self, channel: Channel) -> Guarantee:
        """Local information privacy, with the measured leakage beside the limit."""
        leakage, error = self.measure(channel), self._error(channel)
        if not self._within(leakage, error):
            raise self._broken(leakage)
        return Guarantee(
            notion="local information privacy",
            parameters=both_sides((self.up, self.below), (leakage.up, leakage.low)),
            assumes=(f"the adversary's prior is {self.priors.describe()}",),
            covers=("one report about one symbol; the belief in any symbol changes by at most these factors",),
            not_covered=(
                "several reports about the same symbol: leakages of local information privacy do not simply add",
                "a prior outside the set (see the mismatch bounds)",
                "graded protection by distance (that is geo-indistinguishability)",
            ),
            numerics=NUMERICS,
        )

    def keep(self, matrix: npt.ArrayLike, as_channel: Callable[[FloatArray], Channel] = Channel) -> Channel:
        """The matrix repaired until its *measured* leakage over the set is within both limits."""
        raw, slack = _rows(matrix), 0.0
        for _ in range(_ROUNDS):
            low = self.below - 2 * slack if math.isfinite(self.below) else 700.0
            fixed = repair(raw, self.priors, up=self.up - 2 * slack, low=low)
            channel = as_channel(fixed / fixed.sum(axis=1, keepdims=True))
            leakage, error = self.measure(channel), self._error(channel)
            if self._within(leakage, error):
                return channel
            slack = max(4 * slack, error)
            if 2 * slack >= min(self.up, self.below):
                break
        raise self._broken(leakage)

    def _within(self, leakage: Leakage, error: float) -> bool:
        return leakage.up + error <= self.up and (leakage.low + error <= self.below or not math.isfinite(self.below))

    def _error(self, channel: Channel) -> float:
        """By how much the leakage may be more than measured (see :mod:`sfumato.base.numbers.rounding`).

        Over a ball the smallest output probability is a difference, of numbers that are at most e^up times as large.
        """
        error = lift_error(channel.matrix, self.priors.centre)
        return error * math.exp(min(self.up, 30.0)) if isinstance(self.priors, TVBall) else error

    def _broken(self, leakage: Leakage) -> NotCertified:
        found, asked = f"{leakage.up:.12g} up and {leakage.low:.12g} down", f"{self.up:.12g} and {self.below:.12g}"
        return NotCertified(
            f"The channel leaks {found}; {asked} were asked for.",
            "Ask for a larger epsilon, or floor the prior so that its smallest probability is not so small.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class GeoPromise(Promise):
    """Q(y | x) <= e^(epsilon d(x, x')) Q(y | x') for every pair, epsilon per ``unit`` of the distances [Andres2013].

    ``plane_error``: how far the metres of the distances may be from metres on the ground, as a share.
    """

    distances: FloatArray
    epsilon: float
    unit: str = "m"
    plane_error: float = 0.0

    def __post_init__(self) -> None:
        checked_plane_error(self.plane_error)

    def leakage(self, channel: Channel) -> float:
        """The exact epsilon of the stored doubles, rounded up."""
        return geo_epsilon_at_most(channel, self.distances)

    def state(self, channel: Channel) -> Guarantee:
        """Geo-indistinguishability, with the measured value beside the nominal one."""
        measured = self.leakage(channel)
        if not measured <= self.epsilon:
            raise self._broken(measured)
        unit, error = self.unit, self.plane_error
        parameters = {f"epsilon_per_{unit}": self.epsilon, f"measured_epsilon_per_{unit}": measured}
        assumes: tuple[str, ...] = ("nothing about the adversary's prior",)
        if error > 0:
            parameters |= {"plane_error": error, "epsilon_per_ground_m": self.epsilon / (1 - error)}
            assumes += (
                f"metres are those of the plane of the cells, off by at most {error:.2g} of a distance on the "
                "ground: per metre on the ground epsilon_per_ground_m holds",
            )
        return Guarantee(
            notion="geo-indistinguishability",
            parameters=parameters,
            assumes=assumes,
            covers=(f"one report: places d {unit} apart are told apart with odds of at most e^(epsilon d)",),
            not_covered=("several reports about the same place: their epsilons add", "places far apart are told apart"),
            numerics=NUMERICS,
        )

    def keep(self, matrix: npt.ArrayLike, as_channel: Callable[[FloatArray], Channel] = Channel) -> Channel:
        """The matrix mixed with its mean row until the measured epsilon, rounded up, is at most the nominal one."""
        raw = _rows(matrix)
        mean = raw.mean(axis=0)
        share, measured = 0.0, math.inf
        while share <= 1e-2:
            mixed = (1 - share) * raw + share * mean
            channel = as_channel(mixed / mixed.sum(axis=1, keepdims=True))
            measured = self.leakage(channel)
            if measured <= self.epsilon:
                return channel
            # Mixing lowers every log-ratio by about this share; what is left over the target says which is needed.
            needed = (measured - self.epsilon) / measured if math.isfinite(measured) else 0.0
            share = max(4 * share, 1e-15, share + 1.5 * min(needed, 1e-3))
        raise self._broken(measured)

    def _broken(self, measured: float) -> NotCertified:
        return NotCertified(
            f"The channel's epsilon is {measured:.9g}; {self.epsilon:.9g} was asked for.",
            "Ask for a larger epsilon: what is left of it at the smallest distance drowns in the rounding of the "
            "matrix.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class InformationPromise(Promise):
    """At most ``nats`` of mutual information under a prior, an average, beside a promise about every single report."""

    each: Promise
    prior: FloatArray
    nats: float

    def leakage(self, channel: Channel) -> float:
        """The mutual information, in nats."""
        return mutual_information(channel.matrix, self.prior)

    def state(self, channel: Channel) -> Guarantee:
        """The promise about one report, with what the channel tells and costs on average."""
        told = self.leakage(channel)
        if not told <= self.nats:
            raise NotCertified(
                f"The channel tells {told:.12g} nats on average; {self.nats:.12g} were promised.", "Promise more."
            )
        about_one = self.each.state(channel)
        numbers = {"mutual_information_nats": told}
        if channel.distortion is not None:
            numbers["average_distortion"] = average_distortion(channel, self.prior, channel.distortion)
        return replace(about_one, parameters={**about_one.parameters, **numbers}).assuming(
            "mutual_information_nats, an average: people follow the stated prior"
        )

    def keep(self, matrix: npt.ArrayLike, as_channel: Callable[[FloatArray], Channel] = Channel) -> Channel:
        """What keeps the promise about every report."""
        return self.each.keep(matrix, as_channel)


@dataclass(frozen=True, slots=True, eq=False)
class DeltaPromise(Promise):
    """(epsilon, delta)-LIP under one prior, delta additive."""

    prior: FloatArray
    epsilon: float
    delta: float

    def leakage(self, channel: Channel) -> float:
        """The smallest delta at this epsilon, less what rounding may hide of epsilon."""
        error = lift_error(channel.matrix, self.prior)
        return max(epsilon_delta(channel, self.prior, max(0.0, self.epsilon - error))) + (error if self.delta else 0.0)

    def state(self, channel: Channel) -> Guarantee:
        """(epsilon, delta) local information privacy, with both measured deltas."""
        if not self.leakage(channel) <= self.delta:
            raise NotCertified(f"delta would be {self.leakage(channel):.6g}.", "Ask for a larger delta.")
        low, up = epsilon_delta(channel, self.prior, self.epsilon)
        return Guarantee(
            notion="(epsilon, delta) local information privacy, additive delta",
            parameters={
                "epsilon_nats": self.epsilon,
                "delta": self.delta,
                "measured_delta_low": low,
                "measured_delta_up": up,
                "measured_lip_nats": lip(channel, self.prior).max,
            },
            assumes=(f"the adversary's prior is {Known(self.prior).describe()}",),
            covers=("one report about one symbol",),
            not_covered=("several reports: no composition rule is known for (epsilon, delta)-LIP",),
        )


@dataclass(frozen=True, slots=True, eq=False)
class LatentPromise(Promise):
    """Local information privacy of S alone, with S -> X -> Y, its prior and ``given`` = P(x | s)."""

    secret_prior: FloatArray
    given: FloatArray
    up: float
    low: float

    def measure(self, channel: Channel | FloatArray) -> tuple[Leakage, float]:
        """Both sides of what a report says about S, and by how much each may be more than measured."""
        seen = checked_rows(self.given @ (channel.matrix if isinstance(channel, Channel) else channel))
        return lip(seen, self.secret_prior), lift_error(seen, self.secret_prior) + 4 * self.given.shape[1] * UNIT

    def leakage(self, channel: Channel) -> float:
        """The larger of the two sides, in nats."""
        return self.measure(channel)[0].max

    def state(self, channel: Channel) -> Guarantee:
        """The promise about S; about the symbol itself there is none."""
        leakage, error = self.measure(channel)
        if max(leakage.up - self.up, leakage.low - self.low) + error > 0:
            raise NotCertified(
                f"The report moves the belief in the latent variable by up to {leakage.max:.12g} nats.",
                "Ask for a larger epsilon.",
            )
        return Guarantee(
            notion="local information privacy of a latent variable",
            parameters=both_sides((self.up, self.low), (leakage.up, leakage.low)),
            assumes=("the latent variable has the stated prior and gives the symbol by the stated P(x | s)",),
            covers=("one report; the belief in any value of the latent variable",),
            not_covered=("the symbol itself: nothing is promised about it", "several reports"),
            numerics=NUMERICS,
        )

    def keep(self, matrix: npt.ArrayLike, as_channel: Callable[[FloatArray], Channel] = Channel) -> Channel:
        """Mixing Q with the constant channel m mixes P(y | s) with the same m: a repair of S is a repair of Q."""
        raw, slack = np.asarray(matrix, dtype=np.float64), 0.0
        m = (self.secret_prior @ self.given) @ raw
        for _ in range(_ROUNDS):
            lifts = (self.given @ raw)[:, m > 0] / m[m > 0]
            share = _share_to_mix(lifts, most=math.exp(self.up - slack), least=math.exp(-(self.low - slack)))
            channel = as_channel((1 - share) * raw + share * m)
            leakage, error = self.measure(channel)
            if max(leakage.up - self.up, leakage.low - self.low) + error <= 0:
                return channel
            slack = max(4 * slack, 2 * error)
        raise InputError("The latent design could not be repaired.", "Ask for a larger epsilon.")


PROMISES = (LipPromise, GeoPromise, InformationPromise, DeltaPromise, LatentPromise)
"""The notions in which a channel is measured on its way out; a promise of any other class is refused there."""


def repair(matrix: FloatArray, priors: PriorSet, *, up: float, low: float) -> FloatArray:
    """(1 - th) Q + th 1 m0 with the smallest th that brings Q inside e^-low <= lift <= e^up over the set.

    One prior: th = max(0, (M - E)/(M - 1), (1/E' - mu)/(1 - mu)) with M, mu the largest and smallest lift, which leaves
    the output distribution unchanged. A set: s = max_y of (max_x Q - E inf_P m)/((E - 1) m0) and
    (sup_P m - E' min_x Q)/((E' - 1) m0), th = s/(1 + s), with m0 the output distribution of a prior of the set.
    """
    rows = np.flatnonzero(priors.supported)
    m0 = priors.centre @ matrix
    used = matrix[rows].max(axis=0) > 0
    q, weight = matrix[np.ix_(rows, np.flatnonzero(used))], m0[used]
    if np.any(weight <= 0):
        raise NotCertified(
            "An output has no mass under the reference prior but occurs under another of the set.",
            "Use a prior set whose centre supports every symbol.",
        )
    e_up, e_low = math.exp(up), math.exp(low)
    if isinstance(priors, Known):
        share = _share_to_mix(q / weight, most=e_up, least=1 / e_low)
    else:
        least, most = priors.support_min(matrix[:, used]), priors.support_max(matrix[:, used])
        above = (q.max(axis=0) - e_up * least) / ((e_up - 1) * weight)
        below = (most - e_low * q.min(axis=0)) / ((e_low - 1) * weight)
        s = max(0.0, float(above.max()), float(below.max()))
        share = s / (1 + s)
    if share == 0:
        return matrix
    out: FloatArray = (1 - share) * matrix + share * m0
    return out


def _share_to_mix(lifts: FloatArray, *, most: float, least: float) -> float:
    """The smallest share of the output distribution that brings these lifts between the two bounds."""
    largest, smallest = float(lifts.max()), float(lifts.min())
    share = (largest - most) / (largest - 1) if largest > most else 0.0
    return max(share, (least - smallest) / (1 - smallest)) if smallest < least else share


def both_sides(limits: tuple[float, float], measured: tuple[float, float]) -> dict[str, float]:
    """The parameters of a promise of local information privacy: both limits and both leakages, up and low."""
    names = ("epsilon_up_nats", "epsilon_low_nats", "measured_up_nats", "measured_low_nats")
    return dict(zip(names, (*limits, *measured), strict=True))


def _rows(matrix: npt.ArrayLike) -> FloatArray:
    raw = np.maximum(np.asarray(matrix, dtype=np.float64), 0.0)
    out: FloatArray = raw / raw.sum(axis=1, keepdims=True)
    return out
