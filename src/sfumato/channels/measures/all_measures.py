"""Everything a channel tells under one prior, side by side in nats, with what it costs: one record, one call.

What compares all pairs of inputs costs inputs² × outputs; above a limit it is left out and named, never guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import NotCertified
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.channels.measures import discrete, renyi_ldp, trade_off
from sfumato.channels.measures import g_leakage as guesses
from sfumato.channels.measures.alpha_leakage import alpha_leakage, checked_order, sibson_information
from sfumato.channels.measures.capacity import maximal_alpha_leakage, shannon_capacity
from sfumato.channels.measures.g_leakage import Gain, identity_gain

MOST_PAIRS_WORK = 30_000_000
MOST_CURVES_WORK = 300_000
CURVE_RATES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
PAIRWISE = (
    *("capacity", "renyi_ldp", "approximate_ldp", "total_variation", "bayes_security"),
    *("maximal_alpha_leakage", "alpha_beta_leakage"),
)
CURVES = ("gaussian_ldp", "trade_off")
WORDS: dict[str, str] = {
    "lip": "local information privacy (LIP)",
    "lip_up": "  up: a belief grows at most by e^",
    "lip_low": "  low: a belief falls at most by e^",
    "ldp": "local differential privacy",
    "di": "differential identifiability",
    "mutual_information_nats": "mutual information",
    "maximal_leakage": "maximal leakage",
    "geo_epsilon_per_{unit}": "geo-indistinguishability per {metric}",
    "average_distortion": "average distortion",
    "bayes_error": "error of the best guess",
    "adversary_error_{unit}": "distance of the best guess ({guess})",
    "min_entropy_leakage": "min-entropy leakage (one guess)",
    "min_entropy_capacity": "  its capacity (every prior and gain)",
    "g_leakage": "g-leakage{gain}",
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
class Measures:
    """Numbers by their keys (leakages in nats, infinite where a report excludes a symbol; the cost in its own unit).

    The keys are those of ``conversions.routes`` and some beside them; ``geo_epsilon_per_...`` and
    ``adversary_error_...`` (how far the best guess is from the truth) are there where the symbols have places.
    """

    numbers: dict[str, float]
    details: dict[str, object]
    left_out: tuple[str, ...]
    asked: Asked
    unit: str
    symbols: int
    about: dict[str, object]
    """Where the leakage is attained, the distortion, the prior and the shape."""

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; infinite numbers are named in ``infinite`` (a printer writes them as null)."""
        asked = self.asked
        return {
            **self.numbers,
            **self.details,
            "orders": {"order": asked.order, "second_order": asked.second_order, "delta": asked.delta},
            "not_computed": list(self.left_out),
            **self.about,
            "infinite": [name for name, value in self.numbers.items() if math.isinf(value)],
        }

    def lines(self) -> list[str]:
        """One line per measure, for people."""
        asked, metres = self.asked, self.unit == "m"
        fill: dict[str, object] = {
            "unit": self.unit,
            "metric": "metre" if metres else self.unit,
            "guess": "m" if metres else f"{self.unit}s",
            "gain": "" if asked.gain is None else f" ({asked.gain.name})",
        }
        fill |= {"order": asked.order, "second_order": asked.second_order, "delta": asked.delta}
        named = ((key.format(**fill), words.format(**fill)) for key, words in WORDS.items())
        return [f"{words:<40} {self.numbers[key]:.6g}" for key, words in named if key in self.numbers]


def measure_all(
    channel: Channel,
    prior: CellPrior,
    distortion: FloatArray,
    *,
    distortion_name: str,
    unit: str = "m",
    asked: Asked | None = None,
) -> Measures:
    """Every measure of ``channel`` under ``prior``; places come from the prior, else from the channel.

    Each is taken once, from the bare matrix: loading compiled loops would take longer.
    """
    wanted, p, q = Asked() if asked is None else asked, prior.probabilities, channel.matrix
    leakage = discrete.lip(channel, p)
    numbers = {
        "lip": leakage.max,
        "lip_up": leakage.up,
        "lip_low": leakage.low,
        "ldp": discrete.ldp(channel),
        "di": discrete.differential_identifiability(channel, p),
        "mutual_information_nats": discrete.mutual_information(q, p),
        "maximal_leakage": discrete.maximal_leakage(channel, p),
        "pointwise_maximal_leakage": leakage.up,
        "bayes_error": discrete.bayes_error(q, p),
        "average_distortion": discrete.average_distortion(channel, p, distortion),
    }
    positions = prior.positions_m if prior.positions_m is not None else channel.positions_m
    if positions is not None and channel.shape[0] > 1:
        step = positions[:, None, :] - positions[None, :, :]
        distances = np.hypot(step[..., 0], step[..., 1])
        numbers[f"geo_epsilon_per_{unit}"] = discrete.geo_epsilon(channel, distances)
        numbers[f"adversary_error_{unit}"] = discrete.adversary_error(channel, p, distances)
    guessed, details = _guesses(channel, p, wanted)
    paired, curves, left_out = _pairs(channel, p, wanted)
    numbers |= guessed | paired
    if math.isnan(numbers["g_leakage"]):  # a factor means nothing where gains are negative; "gain" has what was added
        del numbers["g_leakage"]
        left_out = ("g_leakage", *left_out)
    unknown = [key for key, value in numbers.items() if math.isnan(value)]
    if unknown:  # what is not a number must not pass for a small one
        raise NotCertified(f"No number came out for {', '.join(unknown)}.", "Report this, with the channel.")
    x, y = leakage.pair
    about: dict[str, object] = {
        "lip_pair": {"input": channel.inputs[x], "output": channel.outputs[y]},
        "distortion": distortion_name,
        "prior": {
            "symbols": prior.size,
            "smallest": prior.smallest,
            "zeros": int(prior.zeros.size),
            "entropy_nats": prior.entropy_nats(),
        },
        "shape": list(channel.shape),
    }
    return Measures(numbers, details | curves, left_out, wanted, unit, prior.size, about)


def _guesses(channel: Channel, p: FloatArray, asked: Asked) -> tuple[dict[str, float], dict[str, object]]:
    """What helps who guesses, and the orders that need no pairs of inputs."""
    q = channel.matrix
    found = guesses.g_leakage(q, p, identity_gain(p.size) if asked.gain is None else asked.gain)
    singled = guesses.singling_out(channel, p)
    numbers = {
        "min_entropy_leakage": discrete.min_entropy_leakage(q, p),
        "min_entropy_capacity": discrete.maximal_leakage(q),
        "bayes_vulnerability": discrete.bayes_vulnerability(q, p),
        "guessing_entropy": guesses.posterior_guessing_entropy(q, p),
        "prior_guessing_entropy": guesses.guessing_entropy(p),
        "g_leakage": found.nats,
        "sibson_information": sibson_information(channel, p, asked.order),
        "alpha_leakage": alpha_leakage(channel, p, asked.order),
        "pointwise_quantile": discrete.quantile(channel, p, asked.delta),
    }
    gain = {
        "name": found.gain,
        "before": found.before,
        "average": found.average,
        "worst": found.worst,
        "worst_output": channel.outputs[found.worst_output],
        "worst_nats": found.worst_nats,
        "added": found.added,
    }
    risk = {"input": channel.inputs[singled.symbol], "before": singled.before, "after": singled.after}
    return numbers, {"gain": gain, "prediction_risk": risk}


def _pairs(
    channel: Channel, p: FloatArray, asked: Asked
) -> tuple[dict[str, float], dict[str, object], tuple[str, ...]]:
    """What compares pairs of inputs, its curves, and what is left out because there are too many of them."""
    work = channel.shape[0] ** 2 * channel.shape[1]
    if work > MOST_PAIRS_WORK:
        return {}, {}, PAIRWISE + CURVES
    matrix = np.asarray(channel.matrix)
    left_out: tuple[str, ...] = ()
    variation = renyi_ldp.total_variation(matrix)
    numbers = {
        "renyi_ldp": renyi_ldp.renyi_ldp(matrix, asked.order),
        "approximate_ldp": renyi_ldp.ldp_epsilon(matrix, asked.delta),
        "total_variation": variation,
        "bayes_security": 1.0 - variation,
        "maximal_alpha_leakage": maximal_alpha_leakage(matrix, p, asked.order),
    }
    one_programme_per_input = 1 < asked.second_order < asked.order and channel.shape[0] > 60
    if asked.order > 1 and not one_programme_per_input:
        numbers["alpha_beta_leakage"] = renyi_ldp.alpha_beta_leakage(matrix, asked.order, asked.second_order)
    else:
        left_out = ("alpha_beta_leakage",)
    capacity = shannon_capacity(channel, gap=1e-10)
    numbers["capacity"] = float(capacity.objective or 0.0)
    details: dict[str, object] = {"capacity_gap": capacity.gap}
    if work > MOST_CURVES_WORK:
        return numbers, details, (*left_out, *CURVES)
    numbers["gaussian_ldp"] = trade_off.gaussian_mu(channel)
    misses = [float(v) for v in trade_off.channel_trade_off(channel, CURVE_RATES)]
    details["trade_off"] = {"false_alarm": list(CURVE_RATES), "miss": misses}
    return numbers, details, left_out
