"""A channel design that has a name: what it is asked for, what it answers, and what it needs before it can answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np

from sfumato.base.arrays import FloatArray, Solved, Status
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.lip.deadline import NEVER, Deadline
from sfumato.channels.measures import discrete

if TYPE_CHECKING:  # the list of names is part of --help, which loads no mathematics
    from sfumato.base.things.cell_prior import CellPrior
    from sfumato.base.things.channel import Channel
    from sfumato.base.things.grid import Grid
    from sfumato.channels.designs.certified import Recertify
    from sfumato.channels.priors.prior_sets import PriorSet


class _Certified(Protocol):
    @property
    def channel(self) -> Channel: ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def again(self) -> Recertify: ...


Certified = TypeVar("Certified", bound=_Certified)
"""What solvers ship: a channel with the guarantee that was measured on it."""


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
    """The channel that ships, its guarantee, and how far to believe that no other is cheaper.

    ``gap`` is None where no optimum is claimed (status "exact": the channel is what its formula says).
    """

    channel: Channel
    guarantee: Guarantee
    status: Status
    again: Recertify
    gap: float | None = None
    average_distortion: float | None = None
    lower_bound: float | None = None
    steps: int | None = None

    @classmethod
    def solved(cls, found: Solved[Certified]) -> DesignedChannel:
        """What a solver found, with its certified gap."""
        made = found.value
        return cls(
            made.channel,
            made.guarantee,
            found.status,
            made.again,
            found.gap,
            found.objective,
            found.lower_bound,
            found.steps,
        )

    @classmethod
    def exact(
        cls, task: ChannelTask, channel: Channel, guarantee: Guarantee, again: Recertify, *, status: Status = "exact"
    ) -> DesignedChannel:
        """A channel in closed form, with the task's labels, places and distortion of the outputs it uses."""
        names, costs = task.prior.labels, task.distortion
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
        return cls(shipped, guarantee, status, again)


NOTIONS = ("lip", "ldp", "geo", "mi")


@dataclass(frozen=True, slots=True, eq=False)
class LeakageTarget:
    """Designs are compared at one leakage under one prior: ``at`` is lip, ldp or mi (nats), or geo (per unit)."""

    prior: FloatArray
    distortion: FloatArray
    epsilon: float
    grid: Grid | None = None
    deadline: Deadline = NEVER
    at: str = "lip"
    distances: FloatArray | None = None

    def measured(self, channel: Channel) -> float:
        """How much a channel leaks, in the notion that is held equal."""
        if self.at == "lip":
            return discrete.lip(channel, self.prior).max
        if self.at == "geo" and self.distances is not None:
            return discrete.geo_epsilon(channel, self.distances)
        if self.at in ("ldp", "mi"):
            return discrete.ldp(channel) if self.at == "ldp" else discrete.mutual_information(channel, self.prior)
        raise InputError(
            f"Mechanisms cannot be compared at equal '{self.at}' here.",
            f"Choose from {', '.join(NOTIONS)}; geo needs places (coordinates, a grid, or distances).",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """A channel that leaks at most the target, and the value of its knob (None where it has none)."""

    channel: Channel
    knob: float | None


@dataclass(frozen=True, slots=True)
class ChannelDesign:
    """One design: its name, what it is in a sentence, how it is made, and what it needs and understands."""

    name: str
    summary: str
    epsilon_unit: Literal["nats", "per metre"]
    build: Callable[[ChannelTask], DesignedChannel]
    tune: Callable[[LeakageTarget], Tuned] | None = None
    """The design at a given leakage of local information privacy; None where it is not compared."""
    remap: Literal["no", "too", "only"] = "no"
    """In a comparison: also (or only) followed by the best answer to each report."""
    compared_up_to: int = 400
    """The most symbols it is tuned for in a comparison: what is optimised takes minutes beyond."""
    needs_grid: bool = False
    reports_symbols: bool = False
    """Whether every report is one of the symbols, so that the distortion must be square."""
    for_prior_sets: bool = False
    """Whether it can promise for a set of priors, and differently up and down."""
    by_rate: bool = False
    """Whether it can be asked by its rate or the average distortion accepted, and started from a first channel."""

    def designed(self, task: ChannelTask) -> DesignedChannel:
        """The channel for ``task``; what the design cannot do is refused before anything is computed."""
        symbols, outputs = task.distortion.shape
        if self.reports_symbols and not task.square:
            raise InputError(
                f"{self.name} reports one of the {symbols} symbols; the distortion has {outputs} columns.",
                "Use hamming, euclidean or a square file.",
            )
        others = (task.rate, task.average_distortion, task.first_weights)
        if not self.by_rate and any(other is not None for other in others):
            raise InputError(
                f"--beta, --distortion-target and --first-channel are not used by {self.name}.",
                "They are for blahut-arimoto.",
            )
        if self.needs_grid and (task.grid is None or task.grid.cells != symbols):
            raise InputError(f"{self.name} needs --grid, with one line of the prior per cell.", "Add --grid 6x6.")
        return self.build(task)

    @property
    def compared_as(self) -> tuple[str, ...]:
        """The rows it has in a comparison."""
        if self.tune is None:
            return ()
        remapped = f"{self.name}+remap"
        return {"no": (self.name,), "too": (self.name, remapped), "only": (remapped,)}[self.remap]
