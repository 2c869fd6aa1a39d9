"""Sets of priors: what is promised must then hold for every prior of the set.

Each set answers, for columns q of a channel, sup and inf of P.q over the set (``support_max``, ``support_min``), the
largest smallest probability it contains (``max_min_prob``, over the convex hull) and which symbols any of
its priors supports. From counts: a Clopper-Pearson box at beta / K per symbol by default, or a Weissman ball.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import betaincinv

from sfumato.base.arrays import BoolArray, FloatArray, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.priors.excess import excess_of_log


class PriorSet(ABC):
    """What every set of priors answers."""

    __slots__ = ()

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """A prior of the set."""

    @property
    def supported(self) -> BoolArray:
        """Symbols of positive probability under some prior of the set: those of its centre, unless it says more."""
        return np.asarray(self.centre > 0)

    @abstractmethod
    def support_max(self, values: FloatArray) -> FloatArray:
        """sup over the set of P.q for each column q."""

    def support_min(self, values: FloatArray) -> FloatArray:
        """inf over the set of P.q for each column q."""
        return -self.support_max(-np.asarray(values, dtype=np.float64))

    @abstractmethod
    def max_min_prob(self) -> float:
        """The largest smallest probability of a prior in the set."""

    @abstractmethod
    def describe(self) -> str:
        """In words."""


@dataclass(frozen=True, slots=True, eq=False)
class Known(PriorSet):
    """One prior, known exactly."""

    prior: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", checked_probabilities(self.prior))

    @property
    def centre(self) -> FloatArray:
        return self.prior

    def support_max(self, values: FloatArray) -> FloatArray:
        return np.asarray(self.prior @ values)

    def max_min_prob(self) -> float:
        return float(self.prior.min())

    def describe(self) -> str:
        return f"the known prior of {self.prior.size} symbols"


@dataclass(frozen=True, slots=True, eq=False)
class Polytope(PriorSet):
    """Every mixture of some priors (``vertices``, one per row)."""

    vertices: FloatArray

    def __post_init__(self) -> None:
        values = finite(self.vertices, "The vertices", dimensions=2)
        if 0 in values.shape:
            raise InputError("The polytope has no vertices.", "Give one prior per row.")
        object.__setattr__(self, "vertices", read_only(np.stack([checked_probabilities(row) for row in values])))

    @property
    def centre(self) -> FloatArray:
        mean = self.vertices.mean(axis=0)
        return np.asarray(mean / mean.sum())

    def support_max(self, values: FloatArray) -> FloatArray:
        return np.asarray((self.vertices @ values).max(axis=0))

    def max_min_prob(self) -> float:
        """max t with P_x >= t for a P in the convex hull: a small linear program."""
        count, size = self.vertices.shape
        above = np.hstack([-self.vertices.T, np.ones((size, 1))])
        equal = np.append(np.ones(count), 0.0)[None, :]
        cost = np.append(np.zeros(count), -1.0)
        found = scipy.optimize.linprog(cost, A_ub=above, b_ub=np.zeros(size), A_eq=equal, b_eq=[1.0], bounds=(0, None))
        # The mixture found is itself a proof; the value is recomputed from it and never above the optimum.
        weights = np.maximum(np.asarray(found.x)[:count], 0)
        return float((weights / weights.sum() @ self.vertices).min())

    def describe(self) -> str:
        return f"every mixture of {self.vertices.shape[0]} priors of {self.vertices.shape[1]} symbols"


@dataclass(frozen=True, slots=True, eq=False)
class Box(PriorSet):
    """Every prior with ``low`` <= P <= ``high``, symbol by symbol."""

    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        low, high = finite(self.low, "low", dimensions=1), finite(self.high, "high", dimensions=1)
        if low.shape != high.shape or low.size == 0:
            raise InputError(f"The box has {low.size} lower and {high.size} upper bounds.", "Give one pair per symbol.")
        if low.min() < 0 or high.max() > 1 or np.any(low > high):
            raise InputError("The box does not satisfy 0 <= low <= high <= 1.", "Correct its bounds.")
        if low.sum() > 1 + 1e-12 or high.sum() < 1 - 1e-12:
            raise InputError(
                f"No prior lies in the box: its lower bounds sum to {low.sum():.6g} and its upper to {high.sum():.6g}.",
                "The lower bounds must sum to at most 1 and the upper to at least 1.",
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def centre(self) -> FloatArray:
        """A prior of the set: the same share of the way from low to high for every symbol."""
        room = float((self.high - self.low).sum())
        share = 0.0 if room <= 0 else (1 - float(self.low.sum())) / room
        out = self.low + min(max(share, 0.0), 1.0) * (self.high - self.low)
        return np.asarray(out / out.sum())

    def support_max(self, values: FloatArray) -> FloatArray:
        values = np.asarray(values, dtype=np.float64)
        columns = values.reshape(values.shape[0], -1)
        order = np.argsort(-columns, axis=0, kind="stable")
        room = (self.high - self.low)[order]
        before = np.cumsum(room, axis=0) - room
        add = np.clip(max(0.0, 1 - float(self.low.sum())) - before, 0, room)
        total = self.low @ columns + (add * np.take_along_axis(columns, order, axis=0)).sum(axis=0)
        return np.asarray(total.reshape(values.shape[1:]))

    def max_min_prob(self) -> float:
        """The largest t with t <= high and sum max(low, t) <= 1."""
        top = float(self.high.min())
        if np.maximum(self.low, top).sum() <= 1:
            return top
        ordered = np.sort(self.low)
        for count in range(ordered.size, 0, -1):
            level = (1 - float(ordered[count:].sum())) / count
            if level >= ordered[count - 1]:
                return min(level, top)
        return float(ordered[0])

    def describe(self) -> str:
        widest = float((self.high - self.low).max())
        return f"every prior of {self.low.size} symbols within a box, intervals up to {widest:.3g} wide"


@dataclass(frozen=True, slots=True, eq=False)
class TVBall(PriorSet):
    """Every prior within total variation ``radius`` of a centre (total variation: half the L1 distance)."""

    around: FloatArray
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "around", checked_probabilities(self.around))
        if not (math.isfinite(self.radius) and 0 <= self.radius <= 1):
            raise InputError(f"The radius is {self.radius}.", "A total variation lies in 0 .. 1.")

    @property
    def centre(self) -> FloatArray:
        return self.around

    @property
    def supported(self) -> BoolArray:
        return np.asarray((self.centre > 0) | (self.radius > 0))

    def support_max(self, values: FloatArray) -> FloatArray:
        values = np.asarray(values, dtype=np.float64)
        columns = values.reshape(values.shape[0], -1)
        order = np.argsort(columns, axis=0, kind="stable")
        mass = self.centre[order]
        before = np.cumsum(mass, axis=0) - mass
        taken = np.clip(self.radius - before, 0, mass)
        gain = columns.max(axis=0) - np.take_along_axis(columns, order, axis=0)
        return np.asarray((self.centre @ columns + (taken * gain).sum(axis=0)).reshape(values.shape[1:]))

    def max_min_prob(self) -> float:
        """The largest t <= 1/K with sum (t - centre)^+ <= radius."""
        ordered, size = np.sort(self.centre), self.centre.size
        best = 1.0 / size
        for count in range(1, size + 1):
            level = (self.radius + float(ordered[:count].sum())) / count
            if count == size or level <= ordered[count]:
                best = min(best, level)
                break
        return float(min(best, 1.0 / size))

    def describe(self) -> str:
        return f"every prior of {self.centre.size} symbols within total variation {self.radius:.4g} of a centre"


@dataclass(frozen=True, slots=True)
class EveryPrior(PriorSet):
    """Every prior at all: the leakage is then that of local differential privacy."""

    size: int

    def __post_init__(self) -> None:
        if int(self.size) != self.size or self.size < 1:
            raise InputError(f"The simplex has {self.size} symbols.", "It needs at least one.")

    @property
    def centre(self) -> FloatArray:
        return np.full(self.size, 1.0 / self.size)

    def support_max(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.asarray(values).max(axis=0))

    def max_min_prob(self) -> float:
        return 1.0 / self.size

    def describe(self) -> str:
        return f"every prior of {self.size} symbols"


def prior_from_counts(
    counts: npt.ArrayLike, *, beta: float, method: Literal["clopper-pearson", "weissman"] = "clopper-pearson"
) -> Box | TVBall:
    """The priors that counts of independent draws leave plausible: the truth is among them with probability 1 - beta.

    ``clopper-pearson``: an exact interval per symbol at level beta / K, so that all hold together (without the division
    the joint coverage at K = 20 is .475). ``weissman``: the ball of radius 1/2 sqrt(2/n ln((2^K - 2)/beta))
    [Weissman2003], which is far too wide on location grids.
    """
    values = finite(counts, "The counts", dimensions=1)
    _checked_counts(values)
    level = positive(beta, "beta", at_most=0.999999)
    total, size = float(values.sum()), values.size
    if method == "weissman":
        return TVBall(values / total, min(1.0, weissman_variation(int(total), size, level)))
    if method != "clopper-pearson":
        raise InputError(f"There is no method '{method}'.", "Use clopper-pearson or weissman.")

    tail = level / size / 2
    low = np.where(values > 0, betaincinv(np.maximum(values, 1), total - values + 1, tail), 0.0)
    high = np.where(values < total, betaincinv(values + 1, np.maximum(total - values, 1), 1 - tail), 1.0)
    return Box(np.minimum(low, high), high)


def _checked_counts(values: FloatArray) -> None:
    whole = values.size >= 2 and values.min() >= 0 and values.max() < 2**53 and np.all(values == np.round(values))
    if not whole or values.max() == 0:
        raise InputError("The counts are not whole numbers from 0 of at least two symbols.", "Give observed counts.")


def weissman_variation(samples: int, size: int, beta: float) -> float:
    """Total variation within which the empirical distribution of ``samples`` draws lies with probability 1 - beta."""
    if samples < 1 or size < 2:
        raise InputError(f"There are {samples} samples of {size} symbols.", "At least one of two is needed.")
    positive(beta, "beta", at_most=1.0)
    return 0.5 * math.sqrt(2.0 / samples * _log_subsets(size, beta))


def samples_needed(
    size: int,
    smallest: float,
    beta: float,
    overhead: float,
    *,
    method: Literal["weissman", "source", "self-referential", "chernoff", "multiplicative"] = "multiplicative",
) -> int:
    """How many draws make the cost of not knowing the prior at most ``overhead`` nats, with probability 1 - beta.

    ``weissman``: ``smallest`` bounds both the true and the observed smallest probability from below. ``source``: the
    same with the source's looser K - ln beta. ``self-referential``: ``smallest`` is the observed one (or only the true
    one is known); fix n in advance and evaluate again with the final counts. ``chernoff`` and the tighter
    ``multiplicative`` need the true smallest probability only, once instead of squared.
    """
    if not math.isfinite(size) or int(size) != size or size < 2:
        raise InputError(f"There are {size} symbols.", "At least two are needed.")
    c, eta = positive(smallest, "smallest", at_most=1 / size), positive(overhead, "overhead", at_most=700)
    level = positive(beta, "beta", at_most=0.999999)
    per_symbol = math.log(2 * size / level)
    match method:
        case "weissman":
            exact = _over(_log_subsets(size, level), 2 * _square(c * math.expm1(eta)))
        case "source":
            exact = _over(size - math.log(level), 2 * _square(c * math.expm1(eta)))
        case "self-referential":
            exact = _over(_log_subsets(size, level), 2 * _square(c * math.expm1(-eta)))
        case "chernoff":
            exact = _over(3 * per_symbol, c * _square(math.expm1(-eta)))
        case "multiplicative":
            exact = _over(per_symbol, c * excess_of_log(-eta))
        case _:
            raise InputError(f"There is no method '{method}'.", "Use multiplicative, chernoff, weissman, ...")
    if not math.isfinite(exact):
        raise InputError("More draws would be needed than a number can say.", "Allow a larger overhead.")
    return max(1, math.ceil(exact))


def _square(value: float) -> float:
    return value * value  # infinite where ** would fail


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else math.inf


def _log_subsets(size: int, beta: float) -> float:
    # ln((2^K - 2) / beta) without overflow for large K.
    return size * math.log(2.0) + math.log1p(-(2.0 ** (1 - size))) - math.log(beta)
