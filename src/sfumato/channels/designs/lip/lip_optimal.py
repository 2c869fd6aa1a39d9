"""The channel that costs the least among all that promise local information privacy, for any distortion.

Known prior: an interior-point method made for the problem, with output generation and a proved lower bound. A set of
priors, every prior (local differential privacy), or a latent variable: sparse linear programs. Whatever the solver,
the matrix that ships is cleaned, repaired and measured, and its cost is compared with the bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, positive
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import checked_distortion, checked_labels
from sfumato.channels.designs.limits import Deadline, design_epsilon
from sfumato.channels.designs.lip.candidates import (
    Candidate,
    Labels,
    bound_below,
    cheapest,
    constant_report,
    solution,
)
from sfumato.channels.designs.lip.closed_forms import hamming_bound
from sfumato.channels.designs.lip.interior_point import generate, proved_bound, solve
from sfumato.channels.designs.lip.linear_program import best_over_set
from sfumato.channels.designs.promises import LipPromise
from sfumato.channels.designs.task import ChannelTask, DesignedChannel
from sfumato.channels.measures.discrete import hamming
from sfumato.channels.priors.prior_sets import EveryPrior, Known, PriorSet

Solver = Literal["auto", "lp", "output-generation"]
MOST_EPSILON = 30.0
GAP = 1e-6


def optimal_channel(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    priors: PriorSet | None = None,
    epsilon_low: float | None = None,
    solver: Solver = "auto",
    gap: float = 1e-6,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    distortion_name: str | None = None,
    positions_m: npt.ArrayLike | None = None,
    most_seconds: float | None = None,
) -> Solved[DesignedChannel]:
    """Least average distortion subject to e^-epsilon_low <= lift <= e^epsilon, certified.

    ``prior`` weighs the cost and, unless ``priors`` says otherwise, is the prior of the promise. ``epsilon_low`` makes
    it asymmetric (ALIP); infinity, or more than 30, leaves only the upper side (pointwise maximal leakage).
    ``outputs`` label the columns of ``distortion``; the channel keeps only those it uses. ``solver``:
    ``output-generation`` needs a known prior; ``auto`` chooses it there, the interior point for every prior, and the
    linear program for other sets. Every lower bound is recomputed here from the solver's multipliers and is valid
    whatever they are; a gap that is not reached is said (``status`` "stopped").
    """
    began = time.perf_counter()
    up = design_epsilon(epsilon)
    if up > MOST_EPSILON:
        raise InputError(
            f"epsilon is {up:g}: beyond {MOST_EPSILON:g} nats nothing is protected and doubles do not suffice.",
            "Ask for a smaller epsilon.",
        )
    low = up if epsilon_low is None else float(epsilon_low)
    if math.isnan(low) or low <= 0:
        raise InputError(f"epsilon_low is {low}.", "It must be greater than 0; infinity drops the lower side.")
    design_epsilon(min(low, up), "epsilon_low")
    positive(gap, "gap", at_most=1.0)
    low = math.inf if low > MOST_EPSILON else low
    d = checked_distortion(distortion)
    p = positive_prior(prior, d.shape[0])
    if d.min() < 0:
        raise InputError("The distortion has negative entries.", "Distortions are at least 0.")
    target: PriorSet = Known(p) if priors is None else priors
    if target.supported.size != p.size:
        raise InputError(f"The prior set has {target.supported.size} symbols for {p.size}.", "They must match.")
    if not target.supported.all():
        raise InputError(
            "No prior of the set supports some of the symbols: nothing can be promised about them.",
            "Widen the set or drop those symbols.",
        )
    if not isinstance(target, Known) and not math.isfinite(low):
        raise InputError("A one-sided promise over a set of priors is not offered.", "Give epsilon_low.")
    kind = _solver(solver, target, d.shape)
    deadline = Deadline.after(most_seconds)
    aim = max(min(gap, 1e-9) if d.size <= 10_000 else gap, 1e-15)  # small problems cost nothing to solve further
    candidates, bound, steps = _solved(p, d, target, up=up, low=low, kind=kind, gap=aim, deadline=deadline)
    names = tuple(outputs) if len(outputs) else tuple(inputs) if d.shape[0] == d.shape[1] else ()
    names = checked_labels(names, d.shape[1], "output") if names else ()
    promise = LipPromise(target, up, low)
    labels = Labels(tuple(inputs), names, distortion_name, positions_m)
    cost, channel = cheapest(candidates, lambda candidate: labels.ship(candidate, promise, p, d))
    if isinstance(target, Known) and low == up and np.array_equal(d, hamming(*d.shape)):
        bound = max(bound, 1 - hamming_bound(p, up).accuracy - 1e-13)
    made = DesignedChannel(channel, promise, average_distortion=cost)
    return solution(made, cost, bound_below(bound, cost), gap=gap, steps=steps, began=began)


def worst_case_channel(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    gap: float = 1e-6,
    inputs: Sequence[str] = (),
    most_seconds: float | None = None,
) -> Solved[DesignedChannel]:
    """Least average distortion among eps-LDP channels: the promise for every prior at all."""
    size = checked_distortion(distortion).shape[0]
    return optimal_channel(
        prior, distortion, epsilon, priors=EveryPrior(size), gap=gap, inputs=inputs, most_seconds=most_seconds
    )


def _solver(solver: Solver, priors: PriorSet, shape: tuple[int, ...]) -> Literal["lp", "output-generation", "ldp"]:
    if solver not in ("auto", "lp", "output-generation"):
        raise InputError(f"There is no solver '{solver}'.", "Use auto, lp or output-generation.")
    known = isinstance(priors, Known)
    if solver == "output-generation" and not known:
        raise InputError("Output generation needs a known prior.", "Use solver='lp' for a set of priors.")
    linear = solver == "lp" or not isinstance(priors, Known | EveryPrior)
    if linear and shape[0] * shape[1] > 40_000:
        raise InputError(
            f"A linear program with {shape[0]} x {shape[1]} entries is too large for this route.",
            "Use a known prior with output generation, or merge cells.",
        )
    if linear:
        return "lp"
    return "output-generation" if known else "ldp"


def _solved(
    p: FloatArray,
    d: FloatArray,
    target: PriorSet,
    *,
    up: float,
    low: float,
    kind: Literal["lp", "output-generation", "ldp"],
    gap: float,
    deadline: Deadline,
) -> tuple[list[Candidate], float, int]:
    """Channels to choose from (the best constant report first), a lower bound of the optimum and the solver's steps."""
    everything = np.arange(d.shape[1], dtype=np.int64)
    trivial = constant_report(p, d)
    if trivial.cost <= 0:  # some output costs nothing for anybody: always report it
        return [trivial], 0.0, 0
    lo, hi = (0.0 if math.isinf(low) else math.exp(-low)), math.exp(up)
    if kind == "output-generation":
        found = generate(p, d, lo=lo, hi=hi, gap=0.5 * gap, deadline=deadline)
        assert found.lower_bound is not None
        return [trivial, *found.value], found.lower_bound, found.steps
    if kind == "ldp":
        inside = solve(p, d, lo=1.0, hi=hi, balanced=False, tolerance=0.1 * gap, deadline=deadline)
        passed = [Candidate(matrix, everything, math.nan, mark) for mark, matrix in inside.passed]
        last = Candidate(inside.matrix, everything, math.nan, 1e-12)
        return [trivial, *passed, last], ldp_bound(p, d, inside.multipliers, hi=hi), inside.steps
    raw, bound, steps = best_over_set(p, d, target, up=up, low=low, deadline=deadline)
    if isinstance(target, Known):
        bound = max(bound, _dual_bound(p, d, lo=lo, hi=hi, deadline=deadline))
    if raw is None:
        return [trivial], bound, steps
    return [trivial, Candidate(np.maximum(raw, 0), everything, math.nan, 1e-9)], bound, steps


def ldp_bound(p: FloatArray, d: FloatArray, multipliers: FloatArray, *, hi: float) -> float:
    """A lower bound of the eps-LDP optimum valid for any multipliers pi, by scaling them to feasibility.

    pi is dual feasible iff min over q in [1, hi]^n of sum_x q_x (p_x d_xy - pi_x) >= 0 for every output y; subtracting
    a share of p from pi raises that minimum until it is.
    """

    def slack(shift: float) -> float:
        reduced = p[:, None] * d - (multipliers - shift * p)[:, None]
        return float((np.maximum(reduced, 0) + hi * np.minimum(reduced, 0)).sum(axis=0).min())

    if slack(0.0) >= 0:
        return float(multipliers.sum())
    high = 1e-12
    while slack(high) < 0:
        high *= 2
    low = 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if slack(middle) >= 0:
            high = middle
        else:
            low = middle
    return float(multipliers.sum()) - high


def _dual_bound(p: FloatArray, d: FloatArray, *, lo: float, hi: float, deadline: Deadline) -> float:
    inside = solve(p, d, lo=lo, hi=hi, tolerance=1e-10, deadline=deadline)
    return proved_bound(p, d, inside.multipliers, lo=lo, hi=hi)[0]


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's lip-optimal."""
    return DesignedChannel.from_solved(_optimum(task, task.priors))


def build_worst_case(task: ChannelTask) -> DesignedChannel:
    """The registry's ldp-optimal: the same program with the promise for every prior."""
    return DesignedChannel.from_solved(_optimum(task, EveryPrior(task.prior.size)))


def _optimum(task: ChannelTask, priors: PriorSet | None) -> Solved[DesignedChannel]:
    return optimal_channel(
        task.prior.probabilities,
        task.distortion,
        task.level,
        priors=priors,
        epsilon_low=task.epsilon_low,
        gap=GAP if task.gap is None else task.gap,
        inputs=task.prior.labels,
        outputs=task.outputs,
        distortion_name=task.distortion_name,
        positions_m=task.positions_m,
        most_seconds=task.most_seconds,
    )
