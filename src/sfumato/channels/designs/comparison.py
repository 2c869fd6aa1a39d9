"""Mechanisms side by side at equal leakage in one notion, with every other measure beside the cost.

Each mechanism is tuned until its measured leakage (LIP, LDP, geo-indistinguishability or mutual information) is just
below the target, never above. What is optimal for a notion wins its column by construction; the other columns say what
that choice costs elsewhere. Mechanisms of one's own (:mod:`.own`) stand in the same table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.design_registry import ChannelDesign
from sfumato.channels.designs.door import compared_named, compared_rows, tune_design
from sfumato.channels.designs.own import Own, is_own, object_named, own_named, tuned_own
from sfumato.channels.designs.task import LeakageTarget, OwnNotion, Tuned, remap
from sfumato.channels.measures import discrete
from sfumato.channels.measures.g_leakage import posterior_guessing_entropy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Compared:
    """One mechanism at one target: its knob, its cost and everything it leaks (nats)."""

    mechanism: str
    at: str
    target: float
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
    measured: float
    """How much it leaks in the notion that was held equal."""
    within_target: bool
    lower_bound: float | None
    """What no channel within the target costs less than, certified; of the optimum of the notion only."""


class Comparison(tuple[Compared, ...], Shown):
    """The rows of a comparison; ``table`` is them as Arrow, ``frame`` as pandas."""

    __slots__ = ()

    @property
    def table(self) -> pa.Table:
        """One row for each mechanism and target, one column for each measure."""
        return pa.Table.from_pylist([asdict(row) for row in self])

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a pandas frame."""
        try:
            frame: pd.DataFrame = self.table.to_pandas()
            return frame
        except ImportError as error:
            raise InputError("pandas is not installed.", "Install it, or use .table (Arrow, polars).") from error


def compare(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilons: Sequence[float],
    *,
    grid: Grid | None = None,
    distances: npt.ArrayLike | None = None,
    at: str | OwnNotion = "lip",
    mechanisms: Sequence[Own] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Every mechanism at every target of the notion ``at``: lip, ldp or mi in nats, or geo per unit of ``distances``.

    ``at`` may be a notion of your own: a function of a matrix P(y | x) and a prior that gives a number, larger where
    more is told, or ``module:object`` that names one.

    ``mechanisms`` are names of ours and, among them, your own: a function of epsilon that gives a matrix P(y | x), a
    channel or matrix (compared as it is), a channel's file, or ``module:object``. Some of ours need ``grid``;
    ``distances`` add geo-indistinguishability. What is in closed form, and the optimum of the notion itself, is
    compared up to 2,500 symbols, other optima up to 400; the others are left out. The optimum's row says what no
    channel costs less than.
    """
    notion = object_named(at) if isinstance(at, str) and ":" in at else at
    own_notion, at = (None, str(at)) if isinstance(notion, str) else _own_notion(notion)
    p = positive_prior(prior)
    cost = checked_distortion(distortion)
    if cost.shape != (p.size, p.size):
        raise InputError(f"The distortion is {cost.shape} for {p.size} symbols.", "Give a square matrix.")
    chosen = compared_rows(at) if mechanisms is None else mechanisms
    ours = [str(name) for name in chosen if not is_own(name)]
    own = [own_named(given) for given in chosen if is_own(given)]
    wanted = compared_named(ours)
    if p.size < 2 or cost.max() <= 0:
        raise InputError("There is nothing to compare.", "Give at least two symbols and a distortion that is not 0.")
    gridded = grid is not None and grid.cells == p.size
    small = [(row, design) for row, design in wanted if p.size <= design.most_symbols(at)]
    if not small and not own:
        most = max(design.most_symbols(at) for _, design in wanted)
        if most == 0:
            raise InputError(f"{_named(wanted)} cannot be compared at equal {at}.", "It is compared with --at geo.")
        raise InputError(
            f"{p.size} symbols are too many to compare {_named(wanted)}.",
            f"Merge cells to at most {most}, or compare what is in closed form.",
        )
    rows = [(row, design) for row, design in small if gridded or not design.needs_grid]
    if not rows and not own:
        raise InputError(
            f"{_named(small)}: this needs a grid.",
            "Add --grid ROWSxCOLUMNS, one line of the prior per cell.",
        )
    metric = None if distances is None else checked_distortion(distances, "The distances")
    if at == "geo" and metric is None:
        metric = None if grid is None else grid.distance_matrix()
    found = []
    for epsilon in epsilons:
        target = LeakageTarget(
            p, cost, discrete.epsilon_checked(epsilon), grid, at=at, distances=metric, notion=own_notion
        )
        made: dict[str, Tuned] = {}
        for row, design in rows:
            if progress is not None:
                progress(f"{row} at {epsilon:g}")
            if design.name not in made:
                made[design.name] = tune_design(design, target)
            tuned = made[design.name]
            # What is only ever remapped has the relabelling in its construction.
            after = design.remap == "too" and row != design.name
            channel = remap(tuned.channel, p, cost) if after else tuned.channel
            found.append(_row(row, channel, tuned, target))
        for row, given in own:
            if progress is not None:
                progress(f"{row} at {epsilon:g}")
            tuned = tuned_own(row, given, target)
            found.append(_row(row, tuned.channel, tuned, target))
    return Comparison(found)


def _own_notion(notion: object) -> tuple[OwnNotion, str]:
    """A function that measures a leakage, and its name in the table."""
    if not callable(notion):
        raise InputError("The notion is neither a name nor a function.", "Give a function of a matrix and a prior.")
    name = getattr(notion, "__name__", "own").replace("<lambda>", "own")

    def measure(matrix: FloatArray, prior: FloatArray) -> float:
        try:
            told = float(notion(matrix, prior))
        except Exception as error:
            raise InputError(f"{name} failed: {type(error).__name__}: {error}", "Repair it.") from error
        if math.isnan(told):
            raise InputError(f"{name} gave no number.", "Give infinity where everything is told.")
        return told

    return measure, name


def _named(rows: Sequence[tuple[str, ChannelDesign]]) -> str:
    """Their names, for a sentence."""
    return ", ".join(row for row, _ in rows)


def _row(name: str, channel: Channel, tuned: Tuned, target: LeakageTarget) -> Compared:
    p, cost, metric = target.prior, target.distortion, target.distances
    used = cost[:, columns_of(channel)]
    q = channel.matrix  # bare, as each is measured once: compiled loops would take longer to load
    return Compared(
        mechanism=name,
        at=target.at,
        target=target.epsilon,
        knob=tuned.knob,
        average_distortion=discrete.average_distortion(channel, p, used),
        lip=discrete.lip(channel, p).max,
        ldp=discrete.ldp(channel),
        mutual_information_nats=discrete.mutual_information(q, p),
        maximal_leakage=discrete.maximal_leakage(q, p),
        min_entropy_leakage=discrete.min_entropy_leakage(q, p),
        guessing_entropy=posterior_guessing_entropy(q, p),
        bayes_error=discrete.bayes_error(q, p),
        adversary_distortion=discrete.adversary_error(channel, p, cost),
        geo_epsilon_per_unit=None if metric is None else discrete.geo_epsilon(channel, metric),
        outputs=int(np.count_nonzero(p @ q > 0)),
        measured=target.leakage_of(channel),
        within_target=target.holds(channel),
        lower_bound=tuned.lower_bound,
    )


def columns_of(channel: Channel) -> IntArray:
    """Which symbol each output is, by its label: outputs may be few and in any order."""
    place = {label: index for index, label in enumerate(channel.inputs)}
    unknown = [label for label in channel.outputs if label not in place]
    if unknown:
        raise InputError(f"{len(unknown)} output(s) are not symbols.", "Compare mechanisms that report symbols.")
    return np.array([place[label] for label in channel.outputs], dtype=np.int64)
