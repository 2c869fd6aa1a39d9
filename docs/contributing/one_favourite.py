# src/sfumato/channels/designs/one_favourite.py
"""The likeliest symbol, or now and then the truth: local differential privacy where the usual answer is wanted."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.channel import Channel
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.promises import LipPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel, LeakageTarget, Tuned
from sfumato.channels.priors.prior_sets import EveryPrior


def favourite_matrix(prior: FloatArray, epsilon: float) -> FloatArray:
    """Half of the favourite, half of randomized response: any two rows are within e^epsilon, and mostly much nearer."""
    response = np.ones((prior.size, prior.size)) + np.expm1(epsilon) * np.eye(prior.size)
    favourite = np.eye(prior.size)[[int(np.argmax(prior))] * prior.size]
    return np.asarray(0.5 * favourite + 0.5 * response / response.sum(axis=1, keepdims=True))


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's one-favourite."""
    promise = LipPromise(EveryPrior(task.prior.size), task.level)
    matrix = favourite_matrix(task.prior.probabilities, design_epsilon(task.level))
    return DesignedChannel(promise.keep(matrix), promise).with_labels(task)


def tune(target: LeakageTarget) -> Tuned:
    """The budget itself: a prior never makes it leak more."""
    return Tuned(Channel(favourite_matrix(target.prior, target.epsilon * (1 - 1e-12))), target.epsilon)
