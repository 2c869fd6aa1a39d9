"""Channels of local information privacy that need no solver: prior resampling, two symbols, top-k, and a bound.

tau = 1/(1 + e^eps) decides: when every symbol has prior probability at least tau, prior resampling dominates every
eps-LIP channel (each is a garbling of it), so with the best relabelling it is optimal for any distortion. Two symbols
always have a dominant channel. Proofs are ours; the notion is that of [Jiang2021].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, inside_one
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion, checked_labels
from sfumato.channels.conversions.lip_constants import binary_excess, threshold
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.promises import DeltaPromise, LipPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel, best_answers
from sfumato.channels.frequency.frequency_oracles import RandomizedResponse
from sfumato.channels.measures.discrete import average_distortion, hamming
from sfumato.channels.priors.prior_sets import Box, EveryPrior, Known, PriorSet


def resampling_share(prior: npt.ArrayLike, epsilon: float, *, delta: float = 0.0) -> float:
    """The largest lam for which lam I + (1 - lam) 1 p is (eps, delta)-LIP, delta additive, exact for a discrete prior.

    ``min{1, 1 - e^-eps + delta e^-eps / (1 - p_min), ((e^eps - 1) p_min + delta) / (1 - p_min)}``. The source's
    ``min{delta e^eps, ...}`` for continuous X is for another place of delta (E5); here it is delta itself.
    """
    eps, p = design_epsilon(epsilon), positive_prior(prior)
    if not 0 <= delta < 1:
        raise InputError(f"delta is {delta}.", "It lies in [0, 1).")
    smallest = float(p.min())
    if p.size == 1:
        return 1.0
    low = -math.expm1(-eps) + delta * math.exp(-eps) / (1 - smallest)
    up = (math.expm1(eps) * smallest + delta) / (1 - smallest)
    return min(1.0, low, up)


def resampling_channel(
    prior: npt.ArrayLike, epsilon: float, *, distortion: npt.ArrayLike | None = None, inputs: Sequence[str] = ()
) -> DesignedChannel:
    """Tell the truth with probability lam, else draw a symbol from the prior; then relabel outputs for the least cost.

    Optimal for every distortion when p_min >= tau; poor below, where the rarest symbol forces lam down: use the linear
    program there. Without ``distortion`` nothing is relabelled and the cost is the Hamming error.
    """
    p = positive_prior(prior)
    lam = resampling_share(p, epsilon)
    matrix = lam * np.eye(p.size) + (1 - lam) * p
    names: tuple[str, ...] = tuple(inputs)
    d = hamming(p.size) if distortion is None else checked_distortion(distortion)
    if d.shape[0] != p.size:
        raise InputError(f"The distortion has {d.shape[0]} rows for {p.size} symbols.", "Give d(x, y).")
    if distortion is not None:
        best = best_answers(Channel(matrix), p, d)
        matrix = Channel(matrix).post_process(best, outputs=[str(y) for y in range(d.shape[1])]).matrix
        names = tuple(inputs) if d.shape[0] == d.shape[1] else ()
    return lip_design(matrix, Known(p), p, epsilon, d, inputs=tuple(inputs), outputs=names)


def binary_channel(
    probability: float | tuple[float, float], epsilon: float, *, prior: float | None = None
) -> DesignedChannel:
    """The dominant eps-LIP channel on symbols 0 and 1 with P(X = 1) known, or anywhere in an interval.

    ``L1 = F(p)``, ``L0 = F(1 - p)`` (over an interval: the smaller value at its two ends, because F is unimodal with
    its peak at tau), ``Q(1|0) = (L0 - 1)/(L0 L1 - 1)``, ``Q(1|1) = L1 Q(1|0)``. The promise is for ``probability``;
    ``prior`` only weighs the cost (the middle of the interval unless given).
    """
    ends = (float(probability),) if isinstance(probability, int | float) else tuple(float(q) for q in probability)
    if len(ends) > 2 or any(not 0 < q < 1 for q in ends) or ends[0] > ends[-1]:
        raise InputError(f"The probability of symbol 1 is {probability}.", "Give p or (low, high) inside (0, 1).")
    eps = design_epsilon(epsilon)
    middle = 0.5 * (ends[0] + ends[-1]) if prior is None else float(prior)
    inside_one(middle, "The prior probability of symbol 1")
    one = min(binary_excess(q, eps) for q in ends)
    zero = min(binary_excess(1 - q, eps) for q in ends)
    matrix = np.array([[one * (1 + zero), zero], [one, (1 + one) * zero]]) / (one + zero + one * zero)
    priors: PriorSet = (
        Known(np.array([1 - ends[0], ends[0]]))
        if len(ends) == 1
        else Box(np.array([1 - ends[1], ends[0]]), np.array([1 - ends[0], ends[1]]))
    )
    return lip_design(matrix, priors, np.array([1 - middle, middle]), eps, hamming(2))


def top_k_channel(prior: npt.ArrayLike, epsilon: float, *, inputs: Sequence[str] = ()) -> tuple[DesignedChannel, int]:
    """Randomized response over the k likeliest symbols, the eps-LDP optimum for 0/1 loss [Ghazi2021], and its k.

    k maximises e^eps/(e^eps + k - 1) times the prior mass of the k likeliest; a symbol outside reports one of them at
    random.
    """
    eps, p = design_epsilon(epsilon), positive_prior(prior)
    order = np.argsort(-p, kind="stable")
    e = math.exp(eps)
    accuracy = [e / (e + k - 1) * float(p[order[:k]].sum()) for k in range(1, p.size + 1)]
    k = int(np.argmax(accuracy)) + 1
    chosen = np.sort(order[:k])
    matrix = np.full((p.size, k), 1.0 / k)
    matrix[chosen] = 1.0 / (e + k - 1)
    matrix[chosen, np.arange(k)] = e / (e + k - 1)
    names = checked_labels(inputs, p.size, "input") if len(inputs) else ()
    designed = lip_design(
        matrix,
        EveryPrior(p.size),
        p,
        eps,
        hamming(p.size)[:, chosen],
        inputs=names,
        outputs=tuple(names[y] for y in chosen) if names else tuple(str(y) for y in chosen),
    )
    return designed, k


@dataclass(frozen=True, slots=True, eq=False)
class HammingBound:
    """An upper bound on P(Y = X) over eps-LIP channels, the output distribution it uses, and whether it is exact."""

    accuracy: float
    outputs: FloatArray
    exact: bool


def hamming_bound(prior: npt.ArrayLike, epsilon: float) -> HammingBound:
    """The fractional knapsack over the output distribution m, filled by descending slope until its mass is 1.

    For p_x >= tau: slope 1 - (1 - p_x)/e^eps up to m_x = p_x, then p_x/e^eps. Below tau: slope p_x e^eps up to tau,
    then p_x/e^eps. Exact iff there is no small symbol; or the fill reaches a second slope; or no small symbol is
    fractional; or p(T) + p(strictly smaller, dropped) >= tau with T every symbol of the fractional one's probability
    (checked on 20,000 cases, not fully proved).
    """
    eps, p = design_epsilon(epsilon), positive_prior(prior)
    e, tau = math.exp(eps), threshold(eps)
    segments: list[tuple[float, float, int, bool]] = []
    for x, q in enumerate(p):
        large = q >= tau
        segments.append((1 - (1 - q) / e if large else q * e, float(q) if large else tau, x, False))
        segments.append((float(q) / e, 1.0, x, True))
    segments.sort(key=lambda piece: -piece[0])
    left, value, second = 1.0, 0.0, False
    m = np.zeros(p.size)
    fractional: int | None = None
    for slope, cap, x, is_second in segments:
        if left <= 1e-15:
            break
        amount = min(cap, left)
        value += slope * amount
        left -= amount
        m[x] += amount
        second = second or is_second
        if not is_second and p[x] < tau and amount < cap - 1e-15:
            fractional = x
    exact = not np.any(p < tau) or second or fractional is None
    if not exact:
        assert fractional is not None
        level = p[fractional]
        tied = np.isclose(p, level, rtol=1e-12, atol=0)
        dropped = (p < level) & ~tied
        exact = bool(p[tied].sum() + p[dropped].sum() >= tau * (1 - 1e-12))
    return HammingBound(min(float(value), 1.0), m, exact)


def resampling_with_delta(prior: npt.ArrayLike, epsilon: float, delta: float) -> DesignedChannel:
    """The (eps, delta) version of prior resampling: the share of truth lowered until the measured delta is within."""
    p = positive_prior(prior)
    whole, less = resampling_share(p, epsilon, delta=delta), 0.0
    promise = DeltaPromise(p, epsilon, delta)
    while less < 0.5:
        lam = whole * (1 - less)
        channel = Channel(lam * np.eye(p.size) + (1 - lam) * p)
        if promise.leakage(channel) <= delta:
            return DesignedChannel(channel, promise)
        less = max(4 * less, 1e-15)
    raise InputError(f"delta would be {promise.leakage(channel):.6g}.", "Ask for a larger delta.")


def lip_design(
    matrix: FloatArray,
    priors: PriorSet,
    p: FloatArray,
    epsilon: float,
    distortion: FloatArray | None,
    *,
    inputs: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
) -> DesignedChannel:
    """A matrix certified as a channel that keeps epsilon-LIP for every prior of the set; its cost at ``p``."""
    zero_or_one = distortion is not None and set(np.unique(distortion)) <= {0.0, 1.0}
    labels = partial(
        Channel,
        inputs=inputs,
        outputs=outputs,
        distortion=distortion,
        distortion_name="hamming" if zero_or_one else None,
    )
    promise = LipPromise(priors, epsilon)
    channel = promise.keep(matrix, labels)
    cost = None if distortion is None else average_distortion(channel, p, distortion)
    return DesignedChannel(channel, promise, average_distortion=cost)


def build_resampling(task: ChannelTask) -> DesignedChannel:
    """The registry's prior-resampling."""
    p, names = task.prior.probabilities, task.prior.labels
    return resampling_channel(p, task.level, distortion=task.distortion, inputs=names).with_labels(task)


def build_top_k(task: ChannelTask) -> DesignedChannel:
    """The registry's top-k."""
    return top_k_channel(task.prior.probabilities, task.level, inputs=task.prior.labels)[0].with_labels(task)


def build_randomized_response(task: ChannelTask) -> DesignedChannel:
    """The registry's randomized-response, the only oracle whose reports are the symbols: certified on the doubles."""
    names, p = task.prior.labels, task.prior.probabilities
    matrix = RandomizedResponse(p.size, design_epsilon(task.level)).channel().matrix
    return lip_design(matrix, EveryPrior(p.size), p, task.level, None, inputs=names, outputs=names).with_labels(task)
