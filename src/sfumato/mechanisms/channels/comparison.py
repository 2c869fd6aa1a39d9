"""Mechanisms side by side at equal leakage of local information privacy, with every other measure beside the cost.

Each mechanism is tuned until its measured LIP leakage is just below the target (never above). The LIP-optimal channel
wins the column it is optimised for by construction; the other columns say what that choice costs elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, finite
from sfumato.channel import Channel
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.leakage import discrete
from sfumato.mechanisms.channels.closed_forms import resampling_channel
from sfumato.mechanisms.channels.exponential import exponential_matrix
from sfumato.mechanisms.channels.lip_optimal import optimal_channel, worst_case_channel
from sfumato.mechanisms.channels.planar_laplace import planar_laplace_channel, planar_laplace_matrix
from sfumato.mechanisms.channels.rate import largest_rate
from sfumato.mechanisms.channels.remap import remapped
from sfumato.mechanisms.grids.blahut_arimoto import blahut_arimoto_matrix
from sfumato.priors.cells import positive_prior

MECHANISMS = (
    "lip-optimal",
    "ldp-tuned",
    "ldp-optimal",
    "blahut-arimoto",
    "planar-laplace",
    "planar-laplace+remap",
    "exponential",
    "exponential+remap",
    "prior-resampling+remap",
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One mechanism at one target: its knob, its cost and everything it leaks (nats)."""

    mechanism: str
    target_lip: float
    knob: float | None
    average_distortion: float
    lip: float
    ldp: float
    mutual_information_nats: float
    maximal_leakage: float
    bayes_error: float
    adversary_distortion: float
    geo_epsilon_per_unit: float | None
    outputs: int


def compare(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilons: Sequence[float],
    *,
    grid: Grid | None = None,
    distances: npt.ArrayLike | None = None,
    mechanisms: Sequence[str] = MECHANISMS,
    progress: Callable[[str], None] | None = None,
) -> list[Compared]:
    """Every mechanism at every target. Planar Laplace needs ``grid``; ``distances`` add geo-indistinguishability."""
    p = positive_prior(prior)
    cost = finite(distortion, "The distortion", dimensions=2)
    if cost.shape != (p.size, p.size):
        raise InputError(f"The distortion is {cost.shape} for {p.size} symbols.", "Give a square matrix.")
    unknown = set(mechanisms) - set(MECHANISMS)
    if unknown:
        raise InputError(f"There is no mechanism {sorted(unknown)}.", f"Use some of: {', '.join(MECHANISMS)}.")
    if p.size < 2 or cost.max() <= 0:
        raise InputError("There is nothing to compare.", "Give at least two symbols and a distortion that is not 0.")
    gridded = grid is not None and grid.cells == p.size
    if not gridded and all(name.startswith("planar-laplace") for name in mechanisms):
        raise InputError("Planar Laplace needs a grid.", "Add --grid ROWSxCOLUMNS, one line of the prior per cell.")
    metric = None if distances is None else finite(distances, "The distances", dimensions=2)
    found = []
    for epsilon in epsilons:
        made: dict[str, tuple[Channel, float | None]] = {}
        for name in mechanisms:
            if name.startswith("planar-laplace") and not gridded:
                continue
            if progress is not None:
                progress(f"{name} at {epsilon:g}")
            base = name.removesuffix("+remap")
            if base not in made:
                made[base] = _tuned(base, p, cost, discrete.epsilon_checked(epsilon), grid)
            channel, knob = made[base]
            found.append(_row(name, channel, knob, p, cost, epsilon, metric))
    return found


def _tuned(
    name: str, p: FloatArray, cost: FloatArray, epsilon: float, grid: Grid | None
) -> tuple[Channel, float | None]:
    def leakage(channel: Channel) -> float:
        return discrete.lip(channel, p).max

    farthest = float(cost.max())
    match name:
        case "lip-optimal":
            return optimal_channel(p, cost, epsilon, distortion_name=None).value.channel, epsilon
        case "ldp-optimal":
            return worst_case_channel(p, cost, epsilon).value.channel, epsilon
        case "ldp-tuned":
            # On the tenths: the optimum of the program is not unique, so its leakage is not smooth in the budget.
            tenths = max(1, int(np.floor(epsilon * 10 + 1e-9)))
            best = worst_case_channel(p, cost, tenths / 10 if tenths / 10 <= epsilon else epsilon).value.channel
            knob = min(tenths / 10, epsilon)
            for step in range(tenths + 1, tenths + 41):
                channel = worst_case_channel(p, cost, step / 10).value.channel
                if leakage(channel) > epsilon:
                    break
                best, knob = channel, step / 10
            return best, knob
        case "blahut-arimoto":
            rate = _bracketed(lambda r: leakage(_rate_distortion(p, cost, r)), epsilon, farthest)
            return _rate_distortion(p, cost, rate), rate
        case "exponential":
            rate = _bracketed(lambda r: leakage(Channel(exponential_matrix(cost, r))), epsilon, farthest)
            return Channel(exponential_matrix(cost, rate)), rate
        case "planar-laplace":
            assert grid is not None
            rate = _bracketed(
                lambda r: leakage(_normalised(planar_laplace_matrix(grid, r))), epsilon, farthest, steps=22
            )
            return planar_laplace_channel(grid, rate).channel, rate
        case _:
            return resampling_channel(p, epsilon, distortion=cost).channel, None


def _rate_distortion(p: FloatArray, cost: FloatArray, rate: float) -> Channel:
    matrix = blahut_arimoto_matrix(p, cost, beta=rate, steps=20_000, tolerance=1e-10).value.matrix
    kept = p @ matrix > 1e-6  # what remains of outputs that the optimum does not use
    return Channel(matrix[:, kept] / matrix[:, kept].sum(axis=1, keepdims=True), outputs=_names(kept))


def _normalised(matrix: FloatArray) -> Channel:
    return Channel(matrix / matrix.sum(axis=1, keepdims=True))


def _names(kept: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(str(y) for y in np.flatnonzero(kept))


def _bracketed(measured: Callable[[float], float], epsilon: float, farthest: float, *, steps: int = 26) -> float:
    # A kernel e^(-rate d), normalised or not, leaks at most 2 rate d: this start is always within the target.
    low = 0.49 * epsilon / farthest
    high = 2 * low
    while measured(high) <= epsilon and high * farthest < 1e6:
        low, high = high, 1.5 * high
    return largest_rate(measured, epsilon, low=low, high=high, steps=steps)


def _row(
    name: str,
    channel: Channel,
    knob: float | None,
    p: FloatArray,
    cost: FloatArray,
    epsilon: float,
    metric: FloatArray | None,
) -> Compared:
    if name.endswith("+remap") and name != "prior-resampling+remap":
        channel = remapped(channel, p, cost)
    columns = [int(label) for label in channel.outputs] if all(o.isdigit() for o in channel.outputs) else None
    used = (
        cost if channel.shape[1] == cost.shape[1] else cost[:, columns] if columns is not None else channel.distortion
    )
    assert used is not None
    never = (p @ channel.matrix) > 0
    return Compared(
        mechanism=name,
        target_lip=epsilon,
        knob=knob,
        average_distortion=discrete.average_distortion(channel, p, used),
        lip=discrete.lip(channel, p).max,
        ldp=discrete.ldp(channel),
        mutual_information_nats=discrete.mutual_information(channel, p),
        maximal_leakage=discrete.maximal_leakage(channel, p),
        bayes_error=discrete.bayes_error(channel, p),
        adversary_distortion=discrete.adversary_error(channel, p, cost),
        geo_epsilon_per_unit=None if metric is None else discrete.geo_epsilon(channel, metric),
        outputs=int(never.sum()),
    )
