"""A channel together with what it leaks, measured on the very matrix that ships, and the promise that follows.

Solvers leave columns of almost no mass, in which ratios are garbage, and rounding overshoots a bound by 1e-14. So every
design passes through here: tiny columns are merged into the output that suits them best (a post-processing, which
never leaks more), the matrix is mixed with a constant channel just enough to bring every ratio inside, and the
leakage is then measured and must lie below the target by more than the rounding of that measurement.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, Solved
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.numbers.rounding import lift_error
from sfumato.base.randomness import Random
from sfumato.base.things.channel import Channel
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.measures.discrete import Leakage, epsilon_checked, lip, lip_over_set
from sfumato.channels.priors.prior_sets import Known, PriorSet, TVBall

NUMERICS = (
    "leakage measured on the shipped matrix in double precision, below the target by more than the rounding; "
    "reports are drawn exactly from the stored doubles"
)
LEAST_EPSILON = 1e-9

Value = TypeVar("Value")


def design_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """An epsilon a design can be certified for: below 1e-9 it drowns in the rounding of the matrix."""
    eps = epsilon_checked(epsilon, name)
    if eps < LEAST_EPSILON:
        raise InputError(
            f"{name} is {eps:g}: less than {LEAST_EPSILON:g} cannot be told from 0 in doubles.",
            "Report a constant, or ask for more.",
        )
    return eps


def bound_below(bound: float, cost: float) -> float:
    """The bound between 0 (distortions are not negative) and the cost; one above the cost by more than rounding is
    no bound at all, and is not hidden.
    """
    if bound > cost * (1 + 1e-9):
        raise NotCertified(
            f"The lower bound is {bound:.12g} and a channel costs {cost:.12g}: the bound is wrong.", "Report this."
        )
    return min(max(bound, 0.0), cost)


def judged(value: Value, cost: float, bound: float, *, gap: float, steps: int, began: float) -> Solved[Value]:
    """What a solver found, with its relative gap; "converged" where that is at most the one asked for."""
    reached = (cost - bound) / cost if cost > 0 else 0.0
    return Solved(
        value=value,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Designed:
    """A channel, the priors it is certified for, its measured leakage and its average distortion under ``prior``."""

    channel: Channel
    priors: PriorSet
    leakage: Leakage
    guarantee: Guarantee
    prior: FloatArray
    cost: float | None = None
    lower_bound: float | None = None

    @property
    def again(self) -> Recertify:
        """The same promise for a post-processing of the channel."""
        limits = self.guarantee.parameters
        return lip_again(self.priors, up=float(limits["epsilon_up_nats"]), low=float(limits["epsilon_low_nats"]))

    def release(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report for every true symbol in ``x``."""
        return self.channel.sample(x, rng)


def leakage_over(channel: Channel | FloatArray, priors: PriorSet) -> Leakage:
    """The LIP leakage over a set of priors (for one prior: over its support)."""
    return lip(channel, priors.prior) if isinstance(priors, Known) else lip_over_set(channel, priors)


def measuring_error(channel: Channel, priors: PriorSet, up: float) -> float:
    """By how much the leakage over a set may be more than measured (see :mod:`sfumato.base.numbers.rounding`).

    Over a ball the smallest output probability is a difference, of numbers that are at most e^up times as large.
    """
    error = lift_error(channel.matrix, priors.centre)
    return error * math.exp(min(up, 30.0)) if isinstance(priors, TVBall) else error


def repaired(matrix: FloatArray, priors: PriorSet, *, up: float, low: float) -> FloatArray:
    """(1 - th) Q + th 1 m0 with the smallest th that brings Q inside e^-low <= lift <= e^up over the set.

    One prior: th = max(0, (M - E)/(M - 1), (1/E' - mu)/(1 - mu)) with M, mu the largest and smallest lift, which leaves
    the output distribution unchanged. A set: s = max_y of (max_x Q - E inf_P m)/((E - 1) m0) and
    (sup_P m - E' min_x Q)/((E' - 1) m0), th = s/(1 + s), with m0 the output distribution of a prior of the set.
    """
    rows = np.flatnonzero(priors.supported)
    m0 = priors.centre @ matrix
    used = matrix[rows].max(axis=0) > 0
    q, weight = matrix[np.ix_(rows, np.flatnonzero(used))], m0[used]
    if np.any(weight <= 0):
        raise NotCertified(
            "An output has no mass under the reference prior but occurs under another of the set.",
            "Use a prior set whose centre supports every symbol.",
        )
    e_up, e_low = math.exp(up), math.exp(low)
    if isinstance(priors, Known):
        largest, smallest = float((q / weight).max()), float((q / weight).min())
        share = 0.0
        if largest > e_up:
            share = (largest - e_up) / (largest - 1)
        if smallest < 1 / e_low:
            share = max(share, (1 / e_low - smallest) / (1 - smallest))
    else:
        least, most = priors.support_min(matrix[:, used]), priors.support_max(matrix[:, used])
        above = (q.max(axis=0) - e_up * least) / ((e_up - 1) * weight)
        below = (most - e_low * q.min(axis=0)) / ((e_low - 1) * weight)
        s = max(0.0, float(above.max()), float(below.max()))
        share = s / (1 + s)
    if share == 0:
        return matrix
    out: FloatArray = (1 - share) * matrix + share * m0
    return out


def merged(matrix: FloatArray, distortion: FloatArray, prior: FloatArray, *, allowance: float) -> IntArray:
    """Which outputs remain and where the others go, spending at most ``allowance`` of extra average distortion.

    Returns ``target[y]``: the output that y is merged into (itself if it stays). Least likely outputs go first.
    """
    joint = prior[:, None] * matrix
    weight = joint.sum(axis=0)
    cost_now = (joint * distortion).sum(axis=0)
    cost_at = joint.T @ distortion
    target = np.arange(matrix.shape[1])
    staying = weight > 0
    if not staying.any():
        staying[int(np.argmax(weight))] = True
    spent = 0.0
    for y in np.argsort(weight, kind="stable"):
        if weight[y] > 1e-3 or staying.sum() <= 1:
            break
        others = staying.copy()
        others[y] = False
        place = int(np.flatnonzero(others)[np.argmin(cost_at[y, others])])
        extra = max(0.0, float(cost_at[y, place] - cost_now[y])) if weight[y] > 0 else 0.0
        if weight[y] > 1e-10 and spent + extra > allowance:
            break
        spent += extra
        staying[y] = False
        target[y] = place
    while np.any(target != target[target]):
        target = target[target]
    return target.astype(np.int64)


def certified(
    matrix: npt.ArrayLike,
    priors: PriorSet,
    *,
    up: float,
    low: float | None = None,
    inputs: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    distortion: FloatArray | None = None,
    distortion_name: str | None = None,
    positions_m: FloatArray | None = None,
) -> tuple[Channel, Leakage]:
    """The channel whose *measured* leakage over the set is below (up, low), and that leakage; or NotCertified."""
    low = up if low is None else low
    raw = np.maximum(np.asarray(matrix, dtype=np.float64), 0.0)
    raw = raw / raw.sum(axis=1, keepdims=True)
    slack = 0.0
    for _ in range(24):
        fixed = repaired(raw, priors, up=up - 2 * slack, low=low - 2 * slack if math.isfinite(low) else 700.0)
        channel = Channel(
            fixed / fixed.sum(axis=1, keepdims=True),
            inputs=inputs,
            outputs=outputs,
            distortion=distortion,
            distortion_name=distortion_name,
            positions_m=positions_m,
        )
        leakage, error = leakage_over(channel, priors), measuring_error(channel, priors, up)
        if leakage.up + error <= up and (leakage.low + error <= low or not math.isfinite(low)):
            return channel, leakage
        slack = max(4 * slack, error)
        if 2 * slack >= min(up, low):
            break
    raise NotCertified(
        f"The channel leaks {leakage.up:.12g} up and {leakage.low:.12g} down; {up:.12g} and {low:.12g} were asked for.",
        "Ask for a larger epsilon, or floor the prior so that its smallest probability is not so small.",
    )


Recertify = Callable[[Channel], tuple[Channel, Guarantee]]
"""The same promise for a channel made from the promised one: measured anew, repaired where rounding asks for it."""


def lip_again(priors: PriorSet, *, up: float, low: float | None = None) -> Recertify:
    """Local information privacy over a set, for a post-processing of a channel that has it."""

    def again(channel: Channel) -> tuple[Channel, Guarantee]:
        made, leakage = certified(
            channel.matrix,
            priors,
            up=up,
            low=low,
            inputs=channel.inputs,
            outputs=channel.outputs,
            distortion=channel.distortion,
            distortion_name=channel.distortion_name,
            positions_m=channel.positions_m,
        )
        return made, lip_guarantee(priors, leakage, up=up, low=low)

    return again


def lip_guarantee(priors: PriorSet, leakage: Leakage, *, up: float, low: float | None = None) -> Guarantee:
    """The statement of local information privacy for a set of priors, with the measured leakage beside the target."""
    low = up if low is None else low
    return Guarantee(
        notion="local information privacy",
        parameters={
            "epsilon_up_nats": up,
            "epsilon_low_nats": low,
            "measured_up_nats": leakage.up,
            "measured_low_nats": leakage.low,
        },
        assumes=(f"the adversary's prior is {priors.describe()}",),
        covers=("one report about one symbol; the belief in any symbol changes by at most these factors",),
        not_covered=(
            "several reports about the same symbol: leakages of local information privacy do not simply add",
            "a prior outside the set (see the mismatch bounds)",
            "graded protection by distance (that is geo-indistinguishability)",
        ),
        numerics=NUMERICS,
    )
