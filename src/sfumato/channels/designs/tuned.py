"""Designs turned until they leak, under one prior, just below a target in one notion; never above."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.base.arrays import Solved
from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import Channel
from sfumato.channels.designs.design_registry import MANY
from sfumato.channels.designs.exponential import exponential_matrix
from sfumato.channels.designs.geo.geo_optimal import closed_forms, optimal_geo_channel
from sfumato.channels.designs.geo.planar import planar_laplace_channel, planar_laplace_matrix
from sfumato.channels.designs.limits import Deadline, design_epsilon, largest_rate
from sfumato.channels.designs.lip.closed_forms import lip_design, resampling_channel
from sfumato.channels.designs.lip.lip_optimal import optimal_channel, worst_case_channel
from sfumato.channels.designs.task import ChannelTask, DesignedChannel, LeakageTarget, Tuned
from sfumato.channels.frequency.frequency_oracles import RandomizedResponse
from sfumato.channels.measures.discrete import lip
from sfumato.channels.priors.prior_sets import Known

_GAP_OF_MANY, _MOST_SECONDS = 0.01, 120.0


def lip_optimal(target: LeakageTarget) -> Tuned:
    """The optimum for the target itself; in another notion, for the largest leakage of its own that is within it."""
    if target.at == "lip":
        return _optimum(partial(optimal_channel, target.prior, target.distortion, target.epsilon), target)
    return _turned(lambda eps: optimal_channel(target.prior, target.distortion, eps).value.channel, target)


def ldp_optimal(target: LeakageTarget) -> Tuned:
    """The target as a budget of local differential privacy: it leaks less under any one prior."""
    if target.at == "ldp":
        return _optimum(partial(worst_case_channel, target.prior, target.distortion, target.epsilon), target)
    if target.at != "lip":
        return _turned(lambda epsilon: _worst_case(target, epsilon), target)
    return Tuned(_worst_case(target, target.epsilon), target.epsilon)


def geo_optimal(target: LeakageTarget) -> Tuned:
    """The optimum per unit of distance, the only notion in which it is compared."""
    far, g = target.distances, target.epsilon
    assert far is not None
    rivals = partial(closed_forms, far, g, target.grid)
    solve = partial(optimal_geo_channel, target.prior, far, g, distortion=target.distortion, rivals=rivals)
    return _optimum(solve, target)


def ldp_tuned(target: LeakageTarget) -> Tuned:
    """The largest budget of local differential privacy whose leakage under the prior is within the target.

    On the tenths: the optimum of the program is not unique, so its leakage is not smooth in the budget.
    """
    if target.at != "lip":
        return ldp_optimal(target)
    epsilon = target.epsilon
    tenths = max(1, int(np.floor(epsilon * 10 + 1e-9)))
    knob = min(tenths / 10, epsilon)
    best = _worst_case(target, knob)
    for step in range(tenths + 1, tenths + 41):
        if target.deadline.passed:
            break
        channel = _worst_case(target, step / 10)
        if lip(channel, target.prior).max > epsilon:
            break
        best, knob = channel, step / 10
    return Tuned(best, knob)


def blahut_arimoto(target: LeakageTarget) -> Tuned:
    """The rate of Blahut-Arimoto; its leakage jumps where its support changes, so it may lie below the target."""
    rate = _bracketed(lambda r: _rate_distortion(target, r), target)
    return Tuned(_rate_distortion(target, rate), rate)


def exponential(target: LeakageTarget) -> Tuned:
    """The rate of the exponential mechanism."""
    rate = _bracketed(lambda r: Channel(exponential_matrix(target.distortion, r)), target)
    return Tuned(Channel(exponential_matrix(target.distortion, rate)), rate)


def planar_laplace(target: LeakageTarget) -> Tuned:
    """The rate of planar Laplace on the grid."""
    assert target.grid is not None
    grid = target.grid

    def at(rate: float) -> Channel:
        matrix = planar_laplace_matrix(grid, rate)
        return Channel(matrix / matrix.sum(axis=1, keepdims=True))

    rate = _bracketed(at, target, steps=22)
    return Tuned(planar_laplace_channel(grid, rate).channel, rate)


def randomized_response(target: LeakageTarget) -> Tuned:
    """The largest budget of randomized response whose leakage under the prior is within the target."""

    def leaks(epsilon: float) -> float:
        return target.leakage_of(RandomizedResponse(target.prior.size, epsilon).channel())

    low = target.epsilon * (1 - 1e-9)  # a budget of local differential privacy leaks less under any prior
    high = 1.5 * low
    while leaks(high) <= target.epsilon and high < 300:
        low, high = high, 1.5 * high
    budget = largest_rate(leaks, target.epsilon, low=low, high=high, steps=40, deadline=target.deadline)
    return Tuned(RandomizedResponse(target.prior.size, budget).channel(), budget)


def prior_resampling(target: LeakageTarget) -> Tuned:
    """Prior resampling has no knob beyond its leakage under the prior."""

    def at(epsilon: float) -> Channel:
        return resampling_channel(target.prior, epsilon, distortion=target.distortion).channel

    return Tuned(at(target.epsilon), None) if target.at == "lip" else _turned(at, target)


def build_ldp_tuned(task: ChannelTask) -> DesignedChannel:
    """The registry's ldp-tuned, with the promise that was measured: for the known prior, and no other."""
    p, labels, deadline = task.prior.probabilities, task.prior.labels, Deadline.after(task.most_seconds)
    target = LeakageTarget(p, task.distortion, design_epsilon(task.level), task.grid, deadline)
    raw = ldp_tuned(target).channel
    outputs = tuple(labels[int(y)] for y in raw.outputs)
    made = lip_design(raw.matrix, Known(p), p, task.level, None, inputs=labels, outputs=outputs)
    return replace(made.with_labels(task), status="stopped" if deadline.passed else "exact")


def _optimum(solve: Callable[..., Solved[DesignedChannel]], target: LeakageTarget) -> Tuned:
    """The optimum with what no channel is below; of many symbols what is found in two minutes, and its bound."""
    found = solve(gap=_GAP_OF_MANY, most_seconds=_MOST_SECONDS) if target.prior.size > MANY else solve()
    return Tuned(found.value.channel, target.epsilon, found.lower_bound)


def _worst_case(target: LeakageTarget, epsilon: float) -> Channel:
    left = target.deadline.left_s
    seconds = None if math.isinf(left) else max(left, 1e-3)
    return worst_case_channel(target.prior, target.distortion, epsilon, most_seconds=seconds).value.channel


def _rate_distortion(target: LeakageTarget, rate: float) -> Channel:
    found = blahut_arimoto_matrix(target.prior, target.distortion, beta=rate, steps=20_000, tolerance=1e-10)
    matrix = found.value.matrix
    kept = target.prior @ matrix > 1e-6  # what remains of outputs that the optimum does not use
    names = tuple(str(y) for y in np.flatnonzero(kept))
    return Channel(matrix[:, kept] / matrix[:, kept].sum(axis=1, keepdims=True), outputs=names)


def _turned(channel_at: Callable[[float], Channel], target: LeakageTarget) -> Tuned:
    """A design whose own epsilon is another notion's: turned until it leaks just below the target in that one."""
    near = target.epsilon * (float(target.distances.max()) if target.distances is not None else 1.0)
    if target.at != "geo":
        near = target.epsilon
    knob = largest_rate(
        lambda epsilon: target.leakage_of(channel_at(epsilon)),
        target.epsilon,
        low=0.5 * near,
        high=near,
        steps=12,
        deadline=target.deadline,
    )
    return Tuned(channel_at(knob), knob)


def _bracketed(channel_at: Callable[[float], Channel], target: LeakageTarget, *, steps: int = 26) -> float:
    def leaks(rate: float) -> float:
        return target.leakage_of(channel_at(rate))

    # A kernel e^(-rate d), normalised or not, leaks at most 2 rate d: this start is always within the target.
    farthest = float(target.distortion.max())
    low = 0.49 * target.epsilon / farthest
    high = 2 * low
    while not target.deadline.passed and leaks(high) <= target.epsilon and high * farthest < 1e6:
        low, high = high, 1.5 * high
    return largest_rate(leaks, target.epsilon, low=low, high=high, steps=steps, deadline=target.deadline)
