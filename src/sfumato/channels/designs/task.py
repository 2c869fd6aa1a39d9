"""What a channel design is asked for, and what it answers: a channel with its promise, or one at a given leakage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, IntArray, Solved, Status
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.limits import NEVER, Deadline
from sfumato.channels.designs.promises import Promise
from sfumato.channels.measures import discrete
from sfumato.channels.measures.discrete import average_distortion
from sfumato.channels.priors.prior_sets import PriorSet

NOTIONS = ("lip", "ldp", "geo", "mi")
OwnNotion = Callable[[FloatArray, FloatArray], float]


@dataclass(frozen=True, slots=True, eq=False)
class ChannelTask:
    """What a channel is asked for: whose symbols, what a wrong report costs, and how much may be told.

    ``epsilon`` is in nats or per unit of distance, as the design says, and None only where a design is asked by its
    ``rate`` or the ``average_distortion`` accepted instead; ``distortion`` is (symbols, outputs).
    ``plane_error``: by which share distances between the prior's places may be off.
    """

    prior: CellPrior
    distortion: FloatArray
    epsilon: float | None
    distortion_name: str | None = None
    grid: Grid | None = None
    plane_error: float = 0.0
    priors: PriorSet | None = None
    """For which priors to promise; None for the prior itself."""
    epsilon_low: float | None = None
    gap: float | None = None
    """The relative gap to certify; None for the design's own."""
    most_seconds: float | None = None
    progress: Callable[[str], None] | None = None
    """Told how far a long solve is, and its gap."""
    rate: float | None = None
    """β of Blahut-Arimoto, per unit of distortion."""
    average_distortion: float | None = None
    first_weights: FloatArray | None = None
    """Output weights of the channel an iteration starts from; None for uniform."""

    @property
    def level(self) -> float:
        """The epsilon asked for; a design that needs one and was given none says so."""
        if self.epsilon is None:
            raise InputError("No epsilon was given.", "Add --epsilon.")
        return self.epsilon

    @property
    def unit(self) -> str:
        """What distances are measured in: places are metres, those of a grid without a size are cells."""
        return "m" if self.grid is None else self.grid.unit

    @property
    def positions_m(self) -> FloatArray | None:
        """The symbols' places, where they are metres."""
        return self.prior.positions_m if self.unit == "m" else None

    @property
    def square(self) -> bool:
        """Whether reports are symbols: one column of the distortion per symbol."""
        return bool(self.distortion.shape[0] == self.distortion.shape[1])

    @property
    def outputs(self) -> tuple[str, ...]:
        """Labels of the distortion's columns: the symbols', or none."""
        return self.prior.labels if self.square else ()


@dataclass(frozen=True, slots=True, eq=False)
class DesignedChannel(Shown):
    """A channel, what it promises, and how far to believe that no other is cheaper.

    ``gap`` is None where no optimum is claimed (status "exact": the channel is what its formula says).
    """

    channel: Channel
    promise: Promise
    status: Status = "exact"
    gap: float | None = None
    average_distortion: float | None = None
    lower_bound: float | None = None
    steps: int | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, measured on this channel when it is asked for; NotCertified where it is not kept."""
        return self.promise.state(self.channel)

    @property
    def leakage(self) -> float:
        """How much the channel leaks in the promised notion, measured."""
        return self.promise.leakage(self.channel)

    @classmethod
    def from_solved(cls, found: Solved[DesignedChannel]) -> DesignedChannel:
        """What a solver found, with its certified gap."""
        return replace(
            found.value,
            status=found.status,
            gap=found.gap,
            average_distortion=found.objective,
            lower_bound=found.lower_bound,
            steps=found.steps,
        )

    def with_labels(self, task: ChannelTask) -> DesignedChannel:
        """The same with the task's labels, places and distortion of the outputs it uses."""
        names, costs, channel = task.prior.labels, task.distortion, self.channel
        whole = channel.shape[1] == costs.shape[1]
        where = np.arange(costs.shape[1]) if whole else np.array([names.index(label) for label in channel.outputs])
        shipped = replace(
            channel,
            inputs=names,
            outputs=tuple(names[y] for y in where) if task.square else channel.outputs,
            distortion=costs[:, where],
            distortion_name=task.distortion_name,
            positions_m=task.positions_m,
        )
        return replace(self, channel=shipped, average_distortion=None)


@dataclass(frozen=True, slots=True, eq=False)
class LeakageTarget:
    """Designs are compared at one leakage under one prior: ``at`` is lip, ldp or mi (nats), or geo (per unit).

    ``notion`` measures it where it is one of the user's own, from a matrix P(y | x) and a prior; ``at`` is its name.
    """

    prior: FloatArray
    distortion: FloatArray
    epsilon: float
    grid: Grid | None = None
    deadline: Deadline = NEVER
    at: str = "lip"
    distances: FloatArray | None = None
    notion: OwnNotion | None = None

    def holds(self, channel: Channel) -> bool:
        """Whether a channel leaks at most the target."""
        return self.leakage_of(channel) <= self.epsilon * (1 + 1e-9)

    def leakage_of(self, channel: Channel) -> float:
        """How much a channel leaks, in the notion that is held equal."""
        if self.notion is not None:
            return float(self.notion(channel.matrix, self.prior))
        if self.at == "lip":
            return discrete.lip(channel, self.prior).max
        if self.at == "geo" and self.distances is not None:
            return discrete.geo_epsilon(channel, self.distances)
        if self.at in ("ldp", "mi"):
            return (
                discrete.ldp(channel) if self.at == "ldp" else discrete.mutual_information(channel.matrix, self.prior)
            )
        raise InputError(
            f"Mechanisms cannot be compared at equal '{self.at}' here.",
            f"Choose from {', '.join(NOTIONS)}; geo needs places (coordinates, a grid, or distances).",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A channel that leaks at most the target, and the value of its knob (None where it has none).

    ``lower_bound``: what every channel within the target costs at least, certified; None where none is known.
    """

    channel: Channel
    knob: float | None
    lower_bound: float | None = None


def best_answers(channel: Channel, prior: npt.ArrayLike, distortion: npt.ArrayLike) -> IntArray:
    """For each output y the z that minimises sum_x p(x) Q(y | x) d(x, z)."""
    p = checked_probabilities(prior, channel.shape[0])
    d = checked_distortion(distortion)
    if d.shape[0] != channel.shape[0]:
        raise InputError(f"The distortion has {d.shape[0]} rows for {channel.shape[0]} inputs.", "Give d(x, answer).")
    return np.asarray(np.argmin((p[:, None] * channel.matrix).T @ d, axis=1), dtype=np.int64)


def remap(
    channel: Channel, prior: npt.ArrayLike, distortion: npt.ArrayLike, *, answers: tuple[str, ...] = ()
) -> Channel:
    """Bayesian remapping: every report replaced by the answer that is nearest on average; only those in use remain.

    It uses the prior and the report only, so it is a post-processing: no leakage of any notion grows, and the average
    distortion never does either.
    """
    d: FloatArray = checked_distortion(distortion)
    best = best_answers(channel, prior, d)
    used, place = np.unique(best, return_inverse=True)
    names = answers or (channel.inputs if d.shape[1] == channel.shape[0] else tuple(str(z) for z in range(d.shape[1])))
    matrix = channel.post_process(place.astype(np.int64)).matrix
    return Channel(
        matrix,
        inputs=channel.inputs,
        outputs=tuple(names[z] for z in used),
        distortion=d[:, used],
        distortion_name=channel.distortion_name,
        positions_m=channel.positions_m,
    )


def remap_design(made: DesignedChannel, task: ChannelTask) -> DesignedChannel:
    """A design followed by the best answer to each report: cost, gap and promise are measured on what then ships."""
    after = remap(made.channel, task.prior, task.distortion, answers=task.prior.labels)
    channel = made.promise.after(after)
    assert channel.distortion is not None
    cost = average_distortion(channel, task.prior, channel.distortion)
    bound = None if made.lower_bound is None else min(made.lower_bound, cost)
    gap = made.gap if bound is None else (cost - bound) / cost if cost > 0 else 0.0
    return replace(made, channel=channel, gap=gap, average_distortion=cost, lower_bound=bound)
