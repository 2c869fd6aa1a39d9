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

from sfumato.arrays import FloatArray, Solved, finite, positive
from sfumato.channel import Channel, checked_probabilities, checked_rows
from sfumato.errors import InputError
from sfumato.guarantees import Guarantee
from sfumato.leakage.discrete import average_distortion, lip
from sfumato.mechanisms.channels.certified import (
    NUMERICS,
    Designed,
    bound_below,
    certified,
    design_epsilon,
    lip_guarantee,
    merged,
)
from sfumato.mechanisms.channels.interior_point import solve
from sfumato.mechanisms.channels.linear_program import best_for_latent, best_over_set
from sfumato.mechanisms.channels.named_design import ChannelTask, DesignedChannel
from sfumato.mechanisms.channels.output_generation import generate, proved_bound
from sfumato.priors.cells import positive_prior
from sfumato.priors.sets import Known, PriorSet, Simplex

Solver = Literal["auto", "lp", "output-generation"]
MOST_EPSILON = 30.0


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
) -> Solved[Designed]:
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
    positive(gap, "gap")
    if most_seconds is not None:
        positive(most_seconds, "most_seconds")
    low = math.inf if low > MOST_EPSILON else low
    d = finite(distortion, "The distortion", dimensions=2)
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
    aim = min(gap, 1e-9) if d.size <= 10_000 else gap  # small problems cost nothing to solve further
    raw, used, bound, steps = _solved(p, d, target, up=up, low=low, kind=kind, gap=aim, most_seconds=most_seconds)
    place = merged(raw, d[:, used], p, allowance=0.1 * aim * max(float((p[:, None] * raw * d[:, used]).sum()), 1e-300))
    kept = np.unique(place)
    kept = kept[np.argsort(used[kept])]  # outputs come in the order they were generated; they leave in the symbols'
    at = {int(column): index for index, column in enumerate(kept)}
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, [at[int(column)] for column in place], raw.T)
    names = tuple(outputs) if len(outputs) else tuple(inputs) if d.shape[0] == d.shape[1] else ()
    columns = used[kept]
    channel, leakage = certified(
        gathered,
        target,
        up=up,
        low=low,
        inputs=tuple(inputs),
        outputs=tuple(names[y] for y in columns) if names else tuple(str(y) for y in columns),
        distortion=d[:, columns],
        distortion_name=distortion_name,
        positions_m=None if positions_m is None else finite(positions_m, "positions_m", dimensions=2),
    )
    cost = average_distortion(channel, p, d[:, columns])
    bound = bound_below(bound, cost)
    reached = (cost - bound) / cost if cost > 0 else 0.0
    designed = Designed(
        channel=channel,
        priors=target,
        leakage=leakage,
        prior=p,
        cost=cost,
        lower_bound=bound,
        guarantee=lip_guarantee(target, leakage, up=up, low=low),
    )
    return Solved(
        value=designed,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def worst_case_channel(
    prior: npt.ArrayLike, distortion: npt.ArrayLike, epsilon: float, *, gap: float = 1e-6, inputs: Sequence[str] = ()
) -> Solved[Designed]:
    """Least average distortion among eps-LDP channels: the promise for every prior at all."""
    size = finite(distortion, "The distortion", dimensions=2).shape[0]
    return optimal_channel(prior, distortion, epsilon, priors=Simplex(size), gap=gap, inputs=inputs)


def latent_channel(
    secret_prior: npt.ArrayLike,
    given: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    epsilon_low: float | None = None,
    gap: float = 1e-5,
    inputs: Sequence[str] = (),
) -> Solved[Designed]:
    """Protect a latent S (S -> X -> Y) and nothing else: the cheapest channel on X for which Y says little about S.

    ``given[s, x]`` = P(x | s). The promise is about S; about X itself there is none (its leakage is often infinite).
    """
    began = time.perf_counter()
    up = design_epsilon(epsilon)
    low = up if epsilon_low is None else design_epsilon(epsilon_low, "epsilon_low")
    rows = checked_rows(given)
    ps = positive_prior(secret_prior, rows.shape[0])
    d = finite(distortion, "The distortion", dimensions=2)
    if d.shape[0] != rows.shape[1] or d.min() < 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {rows.shape[1]} symbols.", "Give d(x, y) >= 0.")
    p = checked_probabilities(ps @ rows)
    raw, bound, steps = best_for_latent(p, d, rows, up=up, low=low)
    raw = np.maximum(raw, 0)
    raw /= raw.sum(axis=1, keepdims=True)
    place = merged(raw, d, p, allowance=1e-7 * max(bound, 1e-300))
    kept = np.unique(place)
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, np.searchsorted(kept, place), raw.T)
    shipped = _repaired_for_latent(gathered, rows, ps, up=up, low=low)
    channel = Channel(shipped, inputs=tuple(inputs), outputs=tuple(str(y) for y in kept), distortion=d[:, kept])
    leakage = lip(checked_rows(rows @ channel.matrix), ps)
    cost = average_distortion(channel, p, d[:, kept])
    bound = bound_below(bound, cost)
    guarantee = Guarantee(
        notion="local information privacy of a latent variable",
        parameters={
            "epsilon_up_nats": up,
            "epsilon_low_nats": low,
            "measured_up_nats": leakage.up,
            "measured_low_nats": leakage.low,
        },
        assumes=("the latent variable has the stated prior and gives the symbol by the stated P(x | s)",),
        covers=("one report; the belief in any value of the latent variable",),
        not_covered=("the symbol itself: nothing is promised about it", "several reports"),
        numerics=NUMERICS,
    )
    designed = Designed(
        channel=channel,
        priors=Known(ps),
        leakage=leakage,
        guarantee=guarantee,
        prior=p,
        cost=cost,
        lower_bound=bound,
    )
    reached = (cost - bound) / cost if cost > 0 else 0.0
    return Solved(
        value=designed,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def _repaired_for_latent(
    matrix: FloatArray, given: FloatArray, secret_prior: FloatArray, *, up: float, low: float
) -> FloatArray:
    # Mixing Q with the constant channel m mixes P(y | s) with the same m, so the repair of S is a repair of Q.
    slack = 4e-13
    m = (secret_prior @ given) @ matrix
    for _ in range(24):
        ratio = (given @ matrix) / m
        largest, smallest = float(ratio.max()), float(ratio.min())
        e_up, e_low = math.exp(up - slack), math.exp(-(low - slack))
        share = max(
            0.0,
            (largest - e_up) / (largest - 1) if largest > e_up else 0.0,
            (e_low - smallest) / (1 - smallest) if smallest < e_low else 0.0,
        )
        fixed: FloatArray = (1 - share) * matrix + share * m
        leakage = lip(checked_rows(given @ fixed), secret_prior)
        if leakage.up <= up - 2e-13 and leakage.low <= low - 2e-13:
            return fixed
        slack *= 4
    raise InputError("The latent design could not be repaired.", "Ask for a larger epsilon.")


def _solver(solver: Solver, priors: PriorSet, shape: tuple[int, ...]) -> Literal["lp", "output-generation", "ldp"]:
    if solver not in ("auto", "lp", "output-generation"):
        raise InputError(f"There is no solver '{solver}'.", "Use auto, lp or output-generation.")
    known = isinstance(priors, Known)
    if solver == "output-generation" and not known:
        raise InputError("Output generation needs a known prior.", "Use solver='lp' for a set of priors.")
    linear = solver == "lp" or not isinstance(priors, Known | Simplex)
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
    most_seconds: float | None,
) -> tuple[FloatArray, npt.NDArray[np.int64], float, int]:
    """The raw matrix, which outputs its columns are, a lower bound of the optimum and the solver's steps."""
    everything = np.arange(d.shape[1], dtype=np.int64)
    constant = p @ d
    if constant.min() <= 0:  # some output costs nothing for anybody: always report it
        return np.ones((p.size, 1)), np.array([int(np.argmin(constant))], dtype=np.int64), 0.0, 0
    lo, hi = (0.0 if math.isinf(low) else math.exp(-low)), math.exp(up)
    if kind == "output-generation":
        found = generate(p, d, lo=lo, hi=hi, gap=0.5 * gap, most_seconds=most_seconds)
        assert found.lower_bound is not None
        return found.value[0], found.value[1], found.lower_bound, found.steps
    if kind == "ldp":
        inside = solve(p, d, lo=1.0, hi=hi, balanced=False, tolerance=0.1 * gap)
        return inside.matrix, everything, ldp_bound(p, d, inside.multipliers, hi=hi), inside.steps
    raw, bound, steps = best_over_set(p, d, target, up=up, low=low)
    if isinstance(target, Known):
        bound = max(bound, _dual_bound(p, d, lo=lo, hi=hi))
    return np.maximum(raw, 0), everything, bound, steps


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


def _dual_bound(p: FloatArray, d: FloatArray, *, lo: float, hi: float) -> float:
    inside = solve(p, d, lo=lo, hi=hi, tolerance=1e-10)
    return proved_bound(p, d, inside.multipliers, lo=lo, hi=hi)[0]


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's lip-optimal."""
    return DesignedChannel.solved(_optimum(task, task.priors))


def build_worst_case(task: ChannelTask) -> DesignedChannel:
    """The registry's ldp-optimal: the same program with the promise for every prior."""
    return DesignedChannel.solved(_optimum(task, Simplex(task.prior.size)))


def _optimum(task: ChannelTask, priors: PriorSet | None) -> Solved[Designed]:
    return optimal_channel(
        task.prior.probabilities,
        task.distortion,
        task.level,
        priors=priors,
        epsilon_low=task.epsilon_low,
        gap=task.gap,
        inputs=task.prior.labels,
        outputs=task.outputs,
        distortion_name=task.distortion_name,
        positions_m=task.positions_m,
        most_seconds=task.most_seconds,
    )
