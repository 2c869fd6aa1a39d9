"""Blahut-Arimoto as a named design: by its rate β, by the distortion accepted, or by an exact epsilon.

The channel of least mutual information for its average distortion [Biswas2023, Def. 2.8]. What it is optimal for is an
average, so the guarantee adds the information to a promise about every single report, measured on the matrix that
ships: geo-indistinguishability where the symbols have places, local differential privacy where they have none.

C⁽⁰⁾, the channel the iteration starts from, enters only through its output weights c_0(y) = Σ p(x) C⁽⁰⁾(y|x):
``first_weights``. The limit does not depend on them where all are positive; a weight of 0 stays 0, so that an output
can be forbidden.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, finite
from sfumato.base.errors import InputError
from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import Channel
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.certified import Recertify, certified, lip_again, lip_guarantee
from sfumato.channels.designs.geo.geo_promise import certified_geo
from sfumato.channels.designs.lip.deadline import Deadline
from sfumato.channels.designs.named_design import ChannelTask, DesignedChannel
from sfumato.channels.measures.discrete import average_distortion, geo_epsilon, ldp, mutual_information
from sfumato.channels.priors.prior_sets import Simplex

_STEPS, _GAP_NATS = 20_000, 1e-8


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
    found = _promised(task, matrix / matrix.sum(axis=1, keepdims=True), used, metric if places else None)
    channel, promise, again = found
    cost = average_distortion(channel, p, costs[:, used])
    shipped = DesignedChannel.exact(task, channel, promise, again).channel
    promise = _with_information(promise, shipped, task)

    def informed(other: Channel) -> tuple[Channel, Guarantee]:
        made, stated = again(other)
        return made, _with_information(stated, made, task)

    return DesignedChannel(shipped, promise, solved.status, informed, solved.gap, cost, None, solved.steps)


def _with_information(promise: Guarantee, channel: Channel, task: ChannelTask) -> Guarantee:
    """The promise about one report beside what the channel tells and costs on average."""
    p = task.prior.probabilities
    assert channel.distortion is not None
    told = {
        "mutual_information_nats": mutual_information(channel, p),
        "average_distortion": average_distortion(channel, p, channel.distortion),
    }
    return replace(
        promise,
        parameters={**promise.parameters, **told},
        assumes=(*promise.assumes, "mutual_information_nats, an average: people follow the stated prior"),
    )


def _promised(
    task: ChannelTask, matrix: FloatArray, used: IntArray, metric: FloatArray | None
) -> tuple[Channel, Guarantee, Recertify]:
    """The channel and what it promises of any one report, at the epsilon asked for or the one measured."""
    labels = task.prior.labels
    outputs = tuple(labels[int(y)] for y in used)
    if metric is None:
        limit = task.epsilon if task.epsilon is not None else ldp(matrix) * (1 + 1e-9) + 1e-9
        everyone = Simplex(task.prior.size)
        channel, leakage = certified(matrix, everyone, up=limit, inputs=labels, outputs=outputs)
        return channel, lip_guarantee(everyone, leakage, up=limit), lip_again(everyone, up=limit)
    limit = task.epsilon if task.epsilon is not None else geo_epsilon(matrix, metric) * (1 + 1e-9) + 1e-15
    made = certified_geo(
        matrix, metric, limit, unit=task.unit, plane_error=task.plane_error, inputs=labels, outputs=outputs
    )
    return made.channel, made.guarantee, made.again


def _weights(values: FloatArray, outputs: int) -> FloatArray:
    weights = finite(values, "The first weights", dimensions=1)
    if weights.size != outputs or weights.min() < 0 or weights.sum() <= 0:
        raise InputError(
            f"The first channel gives {weights.size} output weights for {outputs} outputs.",
            "Give one number of at least 0 per output, or a channel with one row per symbol.",
        )
    return np.asarray(weights / weights.sum())
