"""Everything a channel tells under one prior, side by side in nats, with what it costs: one record, one call.

What compares all pairs of inputs costs inputs² × outputs; above a limit it is left out and named, never guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import NotCertified
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.channels.measures import discrete, pointwise, renyi_ldp, trade_off
from sfumato.channels.measures import g_leakage as guesses
from sfumato.channels.measures.alpha_leakage import alpha_leakage, checked_order, sibson_information
from sfumato.channels.measures.capacity import maximal_alpha_leakage, shannon_capacity
from sfumato.channels.measures.g_leakage import Gain, identity_gain

MOST_PAIRS_WORK = 30_000_000
MOST_CURVES_WORK = 300_000
CURVE_RATES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """The orders and the delta that some notions need, and the gain function of g-leakage (one guess by default)."""

    order: float = 2.0
    second_order: float = 4.0
    delta: float = 1e-3
    gain: Gain | None = None

    def __post_init__(self) -> None:
        checked_order(self.order, at_least=1.0)
        checked_order(self.second_order, at_least=1.0)
        renyi_ldp.checked_delta(self.delta)


@dataclass(frozen=True, slots=True, eq=False)
class NotionMeasures:
    """Numbers by the keys of ``conversions.notions`` (and some beside them), what was left out, and details."""

    numbers: dict[str, float]
    details: dict[str, object]
    left_out: tuple[str, ...]
    asked: Asked

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; infinities are named by whoever prints them."""
        return {
            **self.numbers,
            **self.details,
            "orders": {"order": self.asked.order, "second_order": self.asked.second_order, "delta": self.asked.delta},
            "not_computed": list(self.left_out),
        }


def measure_notions(channel: Channel, prior: npt.ArrayLike, asked: Asked | None = None) -> NotionMeasures:
    """Every further notion, each the number of its own function."""
    wanted = Asked() if asked is None else asked
    p = checked_probabilities(prior, channel.shape[0])
    gain = identity_gain(p.size) if wanted.gain is None else wanted.gain
    found = guesses.g_leakage(channel, p, gain)
    singled = guesses.singling_out(channel, p)
    numbers = {
        "min_entropy_leakage": discrete.min_entropy_leakage(channel, p),
        "min_entropy_capacity": discrete.maximal_leakage(channel),
        "bayes_vulnerability": discrete.bayes_vulnerability(channel, p),
        "guessing_entropy": guesses.posterior_guessing_entropy(channel, p),
        "prior_guessing_entropy": guesses.guessing_entropy(p),
        "g_leakage": found.nats,
        "sibson_information": sibson_information(channel, p, wanted.order),
        "alpha_leakage": alpha_leakage(channel, p, wanted.order),
        "pointwise_quantile": pointwise.quantile(channel, p, wanted.delta),
    }
    details: dict[str, object] = {
        "gain": {
            "name": found.gain,
            "before": found.before,
            "average": found.average,
            "worst": found.worst,
            "worst_output": channel.outputs[found.worst_output],
            "worst_nats": found.worst_nats,
            "added": found.added,
        },
        "prediction_risk": {
            "input": channel.inputs[singled.symbol],
            "before": singled.before,
            "after": singled.after,
        },
    }
    left_out: tuple[str, ...] = ()
    if math.isnan(found.nats):  # a factor means nothing where gains are negative; "gain" has what was added
        del numbers["g_leakage"]
        left_out = ("g_leakage",)
    work = channel.shape[0] ** 2 * channel.shape[1]
    if work > MOST_PAIRS_WORK:
        return NotionMeasures(_known(numbers), details, left_out + PAIRWISE + CURVES, wanted)
    numbers |= _pairwise(channel, p, wanted)
    if "alpha_beta_leakage" not in numbers:
        left_out += ("alpha_beta_leakage",)
    capacity = shannon_capacity(channel, gap=1e-10)
    numbers["capacity"] = float(capacity.objective or 0.0)
    details["capacity_gap"] = capacity.gap
    if work > MOST_CURVES_WORK:
        return NotionMeasures(_known(numbers), details, left_out + CURVES, wanted)
    numbers["gaussian_ldp"] = trade_off.gaussian_mu(channel)
    details["trade_off"] = {
        "false_alarm": list(CURVE_RATES),
        "miss": [float(v) for v in trade_off.channel_trade_off(channel, CURVE_RATES)],
    }
    return NotionMeasures(_known(numbers), details, left_out, wanted)


PAIRWISE = (
    "capacity",
    "renyi_ldp",
    "approximate_ldp",
    "total_variation",
    "bayes_security",
    "maximal_alpha_leakage",
    "alpha_beta_leakage",
)
CURVES = ("gaussian_ldp", "trade_off")


def _pairwise(channel: Channel, p: FloatArray, asked: Asked) -> dict[str, float]:
    matrix = np.asarray(channel.matrix)
    variation = renyi_ldp.total_variation(matrix)
    found = {
        "renyi_ldp": renyi_ldp.renyi_ldp(matrix, asked.order),
        "approximate_ldp": renyi_ldp.ldp_epsilon(matrix, asked.delta),
        "total_variation": variation,
        "bayes_security": 1.0 - variation,
        "maximal_alpha_leakage": maximal_alpha_leakage(matrix, p, asked.order),
    }
    if asked.order > 1:
        one_programme_per_input = 1 < asked.second_order < asked.order and channel.shape[0] > 60
        if not one_programme_per_input:
            found["alpha_beta_leakage"] = renyi_ldp.alpha_beta_leakage(matrix, asked.order, asked.second_order)
    return found


def _known(numbers: dict[str, float]) -> dict[str, float]:
    """Every number, or a refusal: what is not a number must not pass for a small one."""
    unknown = [key for key, value in numbers.items() if math.isnan(value)]
    if unknown:
        raise NotCertified(f"No number came out for {', '.join(unknown)}.", "Report this, with the channel.")
    return numbers


WORDS: dict[str, str] = {
    "min_entropy_leakage": "min-entropy leakage (one guess)",
    "min_entropy_capacity": "  its capacity (every prior and gain)",
    "g_leakage": "g-leakage",
    "guessing_entropy": "guesses needed on average",
    "capacity": "Shannon capacity (every prior)",
    "sibson_information": "Sibson's information, order {order:g}",
    "alpha_leakage": "alpha-leakage, order {order:g}",
    "maximal_alpha_leakage": "maximal alpha-leakage, order {order:g}",
    "alpha_beta_leakage": "maximal ({order:g}, {second_order:g})-leakage",
    "renyi_ldp": "Rényi LDP, order {order:g}",
    "approximate_ldp": "epsilon of (epsilon, {delta:g})-LDP",
    "gaussian_ldp": "Gaussian LDP, mu",
    "total_variation": "total variation",
    "bayes_security": "Bayes security",
    "pointwise_quantile": "leakage of all but {delta:g} of reports",
}
"""One line of a table each; the numbers are those of the same key."""


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
    """Guesses, capacities, orders and curves ."""

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


def measure_all(
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
        notions=measure_notions(channel, p, asked),
    )
