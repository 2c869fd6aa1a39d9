"""The least information a report can carry for its average distortion: the curve with its certificate, and a design.

    R(D) = min I(X; Y) over channels of average distortion at most D          [Shannon1948; Biswas2023, Def. C.1]

Each β >= 0 gives the point where the curve has slope -β: Blahut-Arimoto minimises I + β E d. With its certified gap G,
every channel has I >= objective - G - β E d: a straight line under the curve. The curve is thus bracketed: points
reached by channels from above, the envelope of those lines from below.

The named design is one such channel, by its rate β, by the distortion accepted, or by an exact epsilon [Biswas2023,
Def. 2.8]. What it is optimal for is an average, so the guarantee adds the information to a promise about every single
report, measured on the matrix that ships: geo-indistinguishability where the symbols have places, local differential
privacy where they have none. C⁽⁰⁾, the channel the iteration starts from, enters only through its output weights
c_0(y) = Σ p(x) C⁽⁰⁾(y|x): ``first_weights``. The limit does not depend on them where all are positive; a weight of 0
stays 0, so that an output can be forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities
from sfumato.channels.designs.limits import Deadline
from sfumato.channels.designs.promises import GeoPromise, InformationPromise, LipPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel
from sfumato.channels.measures.discrete import average_distortion, geo_epsilon, ldp, mutual_information
from sfumato.channels.priors.prior_sets import EveryPrior

_STEPS, _GAP_NATS = 20_000, 1e-8


@dataclass(frozen=True, slots=True)
class RatePoint:
    """One channel of the curve: its rate and distortion, and the line -β D + intercept that no channel is below."""

    beta: float
    distortion: float
    rate_nats: float
    intercept_nats: float
    gap_nats: float


@dataclass(frozen=True, slots=True, eq=False)
class RateDistortion:
    """Points by growing β, the entropy (the rate at distortion 0) and the distortion that needs no information."""

    points: tuple[RatePoint, ...]
    entropy_nats: float
    free_distortion: float

    def lower_bound(self, distortion: float) -> float:
        """Nats that every channel of at most this average distortion leaks: the best of the certified lines."""
        return max(0.0, *(point.intercept_nats - point.beta * distortion for point in self.points))

    def rate(self, distortion: float) -> float:
        """Nats that some mixture of the channels found leaks at this average distortion (convex interpolation)."""
        ends = [(0.0, self.entropy_nats), *((p.distortion, p.rate_nats) for p in self.points)]
        ends.append((self.free_distortion, 0.0))
        known = sorted(ends)
        return float(np.interp(distortion, [d for d, _ in known], [r for _, r in known]))


def rate_distortion(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    betas: Sequence[float] | None = None,
    *,
    tolerance: float = 1e-6,
    most_steps: int = 20_000,
) -> RateDistortion:
    """The curve at these slopes (default: 16, spread over the curve); each point to a gap of ``tolerance`` nats."""
    d = checked_distortion(distortion)
    p = checked_probabilities(prior, d.shape[0])
    positive(tolerance, "tolerance")
    slopes = _spread(d) if betas is None else sorted(positive(beta, "beta", at_most=1e100) for beta in betas)
    if not slopes:
        raise InputError("No beta was given.", "Give at least one, or none for a spread of them.")
    points = []
    for beta in slopes:
        solved = blahut_arimoto_matrix(p, d, beta=beta, steps=most_steps, tolerance=tolerance)
        assert solved.objective is not None
        assert solved.lower_bound is not None
        matrix = solved.value.matrix
        points.append(
            RatePoint(
                float(beta), average_distortion(matrix, p, d), mutual_information(matrix, p), solved.lower_bound,
                solved.objective - solved.lower_bound,
            )
        )  # fmt: skip
    seen = p[p > 0]
    return RateDistortion(tuple(points), float(-(seen @ np.log(seen))), float((p @ d).min()))


def _spread(d: FloatArray) -> list[float]:
    apart = d[d > 0]
    typical = float(np.median(apart)) if apart.size else 1.0
    return [float(beta) for beta in np.geomspace(0.3, 30, 16) / typical]


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's blahut-arimoto: exactly one of rate, average distortion or epsilon."""
    given = [value for value in (task.rate, task.average_distortion, task.epsilon) if value is not None]
    if len(given) != 1:
        raise InputError(
            f"blahut-arimoto needs one target and got {len(given)}.",
            "Give --beta (the rate), --distortion-target, or --epsilon (exact, per unit of distance).",
        )
    p, costs = task.prior.probabilities, task.distortion
    deadline = Deadline.after(task.most_seconds)
    places = task.prior.positions_m is not None
    metric = task.prior.distances_m() if places else 1.0 - np.eye(task.prior.size)
    solved = blahut_arimoto_matrix(
        p,
        costs,
        beta=task.rate,
        average_distortion=task.average_distortion,
        epsilon=task.epsilon,
        metric=metric,
        steps=_STEPS,
        tolerance=_GAP_NATS,
        start=None if task.first_weights is None else _weights(task.first_weights, costs.shape[1]),
        late=lambda: deadline.passed,
    )
    used = np.flatnonzero(p @ solved.value.matrix > 1e-12)
    matrix = solved.value.matrix[:, used]
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    limit = task.epsilon
    each: GeoPromise | LipPromise
    if places:
        limit = limit if limit is not None else geo_epsilon(matrix, metric) * (1 + 1e-9) + 1e-15
        each = GeoPromise(metric, limit, task.unit, task.plane_error)
    else:
        limit = limit if limit is not None else ldp(matrix) * (1 + 1e-9) + 1e-9
        each = LipPromise(EveryPrior(p.size), limit)
    labels = partial(Channel, inputs=task.prior.labels, outputs=tuple(task.prior.labels[int(y)] for y in used))
    channel = each.keep(matrix, labels)
    promise = InformationPromise(each, p, mutual_information(channel.matrix, p) * (1 + 1e-9))
    shipped = DesignedChannel(channel, promise, solved.status, solved.gap, steps=solved.steps).with_labels(task)
    return replace(shipped, average_distortion=average_distortion(channel, p, costs[:, used]))


def _weights(values: FloatArray, outputs: int) -> FloatArray:
    weights = finite(values, "The first weights", dimensions=1)
    if weights.size != outputs or weights.min() < 0 or weights.sum() <= 0:
        raise InputError(
            f"The first channel gives {weights.size} output weights for {outputs} outputs.",
            "Give one number of at least 0 per output, or a channel with one row per symbol.",
        )
    return np.asarray(weights / weights.sum())
