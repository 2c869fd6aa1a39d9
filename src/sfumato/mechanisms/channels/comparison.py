"""Mechanisms side by side at equal leakage of local information privacy, with every other measure beside the cost.

Each mechanism is tuned until its measured LIP leakage is just below the target (never above). The LIP-optimal channel
wins the column it is optimised for by construction; the other columns say what that choice costs elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, IntArray
from sfumato.channel import Channel, checked_distortion
from sfumato.errors import InputError
from sfumato.grid import Grid
from sfumato.leakage import discrete
from sfumato.leakage.g_leakage import min_entropy_leakage, posterior_guessing_entropy
from sfumato.mechanisms.channels.channel_registry import COMPARED, compared_named
from sfumato.mechanisms.channels.named_design import ChannelDesign, LeakageTarget, Tuned
from sfumato.mechanisms.channels.remap import remapped
from sfumato.priors.cells import positive_prior


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
    min_entropy_leakage: float
    guessing_entropy: float
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
    mechanisms: Sequence[str] = COMPARED,
    progress: Callable[[str], None] | None = None,
) -> list[Compared]:
    """Every mechanism at every target. Some need ``grid``; ``distances`` add geo-indistinguishability.

    What is optimised is compared up to 400 symbols, what is in closed form up to 2,500; the others are left out.
    """
    p = positive_prior(prior)
    cost = checked_distortion(distortion)
    if cost.shape != (p.size, p.size):
        raise InputError(f"The distortion is {cost.shape} for {p.size} symbols.", "Give a square matrix.")
    wanted = compared_named(mechanisms)
    if p.size < 2 or cost.max() <= 0:
        raise InputError("There is nothing to compare.", "Give at least two symbols and a distortion that is not 0.")
    gridded = grid is not None and grid.cells == p.size
    small = [(row, design) for row, design in wanted if p.size <= design.compared_up_to]
    if not small:
        most = max(design.compared_up_to for _, design in wanted)
        raise InputError(f"{p.size} symbols are too many to compare {_named(wanted)}.",
                         f"Merge cells to at most {most}, or compare what is in closed form.")  # fmt: skip
    rows = [(row, design) for row, design in small if gridded or not design.needs_grid]
    if not rows:
        raise InputError(
            f"{_named(small)}: this needs a grid.",
            "Add --grid ROWSxCOLUMNS, one line of the prior per cell.",
        )
    metric = None if distances is None else checked_distortion(distances, "The distances")
    found = []
    for epsilon in epsilons:
        target = LeakageTarget(p, cost, discrete.epsilon_checked(epsilon), grid)
        made: dict[str, Tuned] = {}
        for row, design in rows:
            if progress is not None:
                progress(f"{row} at {epsilon:g}")
            if design.name not in made:
                assert design.tune is not None
                made[design.name] = design.tune(target)
            tuned = made[design.name]
            # What is only ever remapped has the relabelling in its construction.
            after = design.remap == "too" and row != design.name
            channel = remapped(tuned.channel, p, cost) if after else tuned.channel
            found.append(_row(row, channel, tuned.knob, p, cost, epsilon, metric))
    return found


def _named(rows: Sequence[tuple[str, ChannelDesign]]) -> str:
    """Their names, for a sentence."""
    return ", ".join(row for row, _ in rows)


def _row(
    name: str,
    channel: Channel,
    knob: float | None,
    p: FloatArray,
    cost: FloatArray,
    epsilon: float,
    metric: FloatArray | None,
) -> Compared:
    used = cost[:, columns_of(channel)]
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
        min_entropy_leakage=min_entropy_leakage(channel, p),
        guessing_entropy=posterior_guessing_entropy(channel, p),
        bayes_error=discrete.bayes_error(channel, p),
        adversary_distortion=discrete.adversary_error(channel, p, cost),
        geo_epsilon_per_unit=None if metric is None else discrete.geo_epsilon(channel, metric),
        outputs=int(never.sum()),
    )


def columns_of(channel: Channel) -> IntArray:
    """Which symbol each output is, by its label: outputs may be few and in any order."""
    place = {label: index for index, label in enumerate(channel.inputs)}
    unknown = [label for label in channel.outputs if label not in place]
    if unknown:
        raise InputError(f"{len(unknown)} output(s) are not symbols.", "Compare mechanisms that report symbols.")
    return np.array([place[label] for label in channel.outputs], dtype=np.int64)
