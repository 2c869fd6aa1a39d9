"""Everything a channel tells under one prior, side by side in nats, with what it costs: one record, one call."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.channels.measures import discrete
from sfumato.channels.measures.notion_measures import Asked, NotionMeasures, notions_measured


@dataclass(frozen=True, slots=True)
class Measures:
    """Leakages in nats (infinite where a report excludes a symbol), and the cost in the distortion's own unit.

    ``geo_epsilon`` is per ``unit`` and ``adversary_error`` in it: how far the best guess is from the truth; both None
    where the symbols have no places.
    """

    lip_up: float
    lip_low: float
    lip_input: str
    lip_output: str
    ldp: float
    differential_identifiability: float
    mutual_information_nats: float
    maximal_leakage: float
    bayes_error: float
    geo_epsilon: float | None
    adversary_error: float | None
    unit: str
    average_distortion: float
    distortion_name: str
    symbols: int
    smallest_probability: float
    zeros: int
    entropy_nats: float
    shape: tuple[int, int]
    notions: NotionMeasures
    """Guesses, capacities, orders and curves (see :mod:`sfumato.channels.measures.notion_measures`)."""

    @property
    def lip(self) -> float:
        """The leakage of local information privacy: the larger side."""
        return max(self.lip_up, self.lip_low)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; infinite numbers are named in ``infinite`` (a printer writes them as null)."""
        numbers: dict[str, float] = {
            "lip": self.lip,
            "lip_up": self.lip_up,
            "lip_low": self.lip_low,
            "ldp": self.ldp,
            "di": self.differential_identifiability,
            "mutual_information_nats": self.mutual_information_nats,
            "maximal_leakage": self.maximal_leakage,
            "pointwise_maximal_leakage": self.lip_up,
            "bayes_error": self.bayes_error,
            "average_distortion": self.average_distortion,
        }
        if self.geo_epsilon is not None and self.adversary_error is not None:
            numbers[f"geo_epsilon_per_{self.unit}"] = self.geo_epsilon
            numbers[f"adversary_error_{self.unit}"] = self.adversary_error
        every = numbers | self.notions.numbers
        return {
            **numbers,
            **self.notions.to_dict(),
            "lip_pair": {"input": self.lip_input, "output": self.lip_output},
            "distortion": self.distortion_name,
            "prior": {
                "symbols": self.symbols,
                "smallest": self.smallest_probability,
                "zeros": self.zeros,
                "entropy_nats": self.entropy_nats,
            },
            "shape": list(self.shape),
            "infinite": [name for name, value in every.items() if math.isinf(value)],
        }


def measured(
    channel: Channel,
    prior: CellPrior,
    distortion: FloatArray,
    *,
    distortion_name: str,
    unit: str = "m",
    asked: Asked | None = None,
) -> Measures:
    """Every measure of ``channel`` under ``prior``; places come from the prior, else from the channel."""
    p = prior.probabilities
    leakage = discrete.lip(channel, p)
    x, y = leakage.pair
    positions = prior.positions_m if prior.positions_m is not None else channel.positions_m
    geo, guess = None, None
    if positions is not None and channel.shape[0] > 1:
        step = positions[:, None, :] - positions[None, :, :]
        distances = np.hypot(step[..., 0], step[..., 1])
        geo, guess = discrete.geo_epsilon(channel, distances), discrete.adversary_error(channel, p, distances)
    return Measures(
        lip_up=leakage.up,
        lip_low=leakage.low,
        lip_input=channel.inputs[x],
        lip_output=channel.outputs[y],
        ldp=discrete.ldp(channel),
        differential_identifiability=discrete.differential_identifiability(channel, p),
        mutual_information_nats=discrete.mutual_information(channel, p),
        maximal_leakage=discrete.maximal_leakage(channel, p),
        bayes_error=discrete.bayes_error(channel, p),
        geo_epsilon=geo,
        adversary_error=guess,
        unit=unit,
        average_distortion=discrete.average_distortion(channel, p, distortion),
        distortion_name=distortion_name,
        symbols=prior.size,
        smallest_probability=prior.smallest,
        zeros=int(prior.zeros.size),
        entropy_nats=prior.entropy_nats(),
        shape=channel.shape,
        notions=notions_measured(channel, p, asked),
    )
