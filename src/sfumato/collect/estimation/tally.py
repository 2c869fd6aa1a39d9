"""What a collector holds of one cycle, the channel published and how often each cell was reported, and its likelihood:

    l(theta) = sum_s sum_y n_s(y) log (theta C_s)(y),      C_s = diag(1/Z_s) K diag(c_s)

c_s cancels from a step of expectation maximisation (reports of cells with c_s = 0 were refused): it costs two products
with K per channel,

    theta <- theta . g(theta),     g = sum_s (1/Z_s) K [ w_s / K(theta / Z_s) ],     w_s = n_s / n

l is concave, and l(best) - l(theta) <= n (max g - 1): a certificate at any theta. The product over cycles is the exact
likelihood for disjoint cohorts, adaptive channels included; with the same people in every cycle it is a composite
likelihood whose target is the distribution of those reporters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.things.estimated_map import em_factor
from sfumato.collect.grids.distance_kernel import GridKernel
from sfumato.collect.grids.grid_channel import GridChannel


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Reports per cell (row 0 north, column 0 west) received through one channel."""

    channel: GridChannel
    counts: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", checked_counts(self.counts, self.channel.cells))
        impossible = (self.counts > 0) & (self.channel.output_weights <= 0)
        if impossible.any():
            raise InputError(
                f"{int(self.counts[impossible].sum())} reports are of {int(impossible.sum())} cells that this channel "
                "never reports.",
                "They belong to another channel version, or are forged: leave them out.",
            )

    @property
    def total(self) -> int:
        """How many reports there are."""
        return int(self.counts.sum())


def checked_counts(counts: npt.ArrayLike, cells: int) -> IntArray:
    """One whole number of at least 0 per cell."""
    values = finite(counts, "The counts", dimensions=1)
    if values.size != cells:
        raise InputError(f"There are {values.size} counts for {cells} cells.", "Give one count per cell of the grid.")
    if values.min(initial=0.0) < 0:
        raise InputError("Some counts are negative.", "A cell is reported 0 times or more.")
    if np.any(values != np.floor(values)):
        raise InputError("Some counts are not whole numbers.", "Count reports; do not weigh them.")
    out: IntArray = read_only(values, np.int64)
    return out


def tally_reports(channel: GridChannel, reports: npt.ArrayLike) -> Tally:
    """Count reports given as cell indexes; an unknown cell is refused."""
    cells = np.asarray(reports)
    if cells.size and not np.issubdtype(cells.dtype, np.integer):
        raise InputError("The reports are not whole numbers.", "A report is the index of a cell.")
    unknown = int(np.count_nonzero((cells < 0) | (cells >= channel.cells)))
    if unknown:
        raise InputError(
            f"{unknown} of {cells.size} reports are of cells outside 0 .. {channel.cells - 1}.",
            "They belong to another grid; leave them out before tallying.",
        )
    return Tally(channel, np.bincount(cells.ravel().astype(np.int64), minlength=channel.cells).astype(np.int64))


def checked_tallies(tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]]) -> Sequence[Tally]:
    """Tallies of one grid with at least one report; pairs (channel, counts) are accepted, empty cycles left out."""
    checked = [entry if isinstance(entry, Tally) else Tally(entry[0], np.asarray(entry[1])) for entry in tallies]
    if not checked:
        raise InputError("There is no tally.", "Close at least one cycle first.")
    grid = checked[0].channel.grid
    if any(entry.channel.grid != grid for entry in checked):
        raise InputError("The tallies are of different grids.", "Estimate each grid by itself.")
    filled = [entry for entry in checked if entry.total > 0]
    if not filled:
        raise InputError("No cycle has a report.", "Wait for reports before estimating.")
    return filled


def merge(tallies: Sequence[Tally]) -> Sequence[Tally]:
    """One tally per distinct channel: reports through the same weights are reports of one longer cycle."""
    together: dict[tuple[float, bytes], list[Tally]] = {}
    for tally in tallies:
        key = tally.channel.beta, hashlib.sha256(tally.channel.output_weights.tobytes()).digest()
        together.setdefault(key, []).append(tally)
    return [
        group[0] if len(group) == 1 else Tally(group[0].channel, np.sum([one.counts for one in group], axis=0))
        for group in together.values()
    ]


def alike(tallies: Sequence[Tally], *, most: int) -> Sequence[Tally]:
    """At most ``most`` tallies: neighbours in time whose channels differ least are put together, step by step.

    Their reports count as reports through the mean of their weights. That is no likelihood any more: good for what
    needs a channel only roughly (the weights of a linear estimate, a forecast), where dozens of them cost minutes.
    """
    groups = [([tally.channel.output_weights], [tally.total], tally) for tally in merge(tallies)]

    def apart(first: int) -> float:
        one, other = (groups[index][2].channel.output_weights for index in (first, first + 1))
        if groups[first][2].channel.beta != groups[first + 1][2].channel.beta:
            return np.inf
        return float(np.sum((np.sqrt(one) - np.sqrt(other)) ** 2))

    while len(groups) > most:
        gaps = [apart(index) for index in range(len(groups) - 1)]
        first = int(np.argmin(gaps))
        if not np.isfinite(gaps[first]):
            break
        weights = groups[first][0] + groups[first + 1][0]
        totals = groups[first][1] + groups[first + 1][1]
        channel = groups[first][2].channel
        mean = np.average(np.stack(weights), axis=0, weights=totals)
        counts = groups[first][2].counts + groups[first + 1][2].counts
        together = Tally(GridChannel(channel.grid, channel.beta, mean), counts)
        groups[first : first + 2] = [(weights, totals, together)]
    return [tally for _, _, tally in groups]


_SMALLEST_LOG_Z = -700.0


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The channels that share one beta: their kernel, 1/Z as (cells, channels)."""

    kernel: GridKernel
    inverse_z: FloatArray
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Channels grouped by beta; counts come separately, so that many thinned sets can be run at once."""

    groups: tuple[_Group, ...]
    cells: int

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Likelihood:
        """Precompute 1/Z of every channel."""
        by_beta: dict[float, list[int]] = {}
        for index, tally in enumerate(tallies):
            by_beta.setdefault(tally.channel.beta, []).append(index)
        groups = tuple(
            _Group(
                tallies[members[0]].channel.kernel,
                np.stack([inverse_normaliser(tallies[index].channel) for index in members], axis=1),
                tuple(members),
            )
            for members in by_beta.values()
        )
        return cls(groups, tallies[0].channel.cells)

    def step(
        self, theta: FloatArray, weights: FloatArray, *, scored: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """g for every column of ``theta`` (cells, k) under ``weights`` (cells, channels, k), and a log-likelihood.

        The log-likelihood is sum weights log(theta C / c), of ``scored`` instead of ``weights`` where given; it is
        computed only then or when k = 1.
        """
        columns = theta.shape[1]
        g = np.zeros_like(theta)
        level = np.zeros(columns)
        score = scored if scored is not None else (weights if columns == 1 else None)
        for group in self.groups:
            inverse_z = group.inverse_z[:, :, None]
            channels = len(group.members)
            whole = len(self.groups) == 1
            used = weights if whole else weights[:, list(group.members), :]
            shares = (theta[:, None, :] * inverse_z).reshape(self.cells, channels * columns)
            used = used.reshape(self.cells, channels * columns)
            dense = group.kernel.form == "dense"
            # On large grids only what was reported must be accurate; far from everyone, theta is negligible.
            reported = group.kernel.product(shares, needed=True if dense or score is not None else used > 0)
            if score is not None:
                judged = (score if whole else score[:, list(group.members), :]).reshape(self.cells, -1)
                terms = np.where(judged > 0, judged * np.log(np.where(judged > 0, reported, 1.0)), 0.0)
                level += terms.reshape(self.cells, channels, columns).sum(axis=(0, 1))
            product = partial(group.kernel.product, needed=dense)
            back = em_factor(used, reported, product).reshape(self.cells, channels, columns)
            back *= inverse_z
            g += back.sum(axis=1)
        return g, level


def inverse_normaliser(channel: GridChannel) -> FloatArray:
    """1/Z for every cell; refused where it is no double, because every product with it would be noise or NaN."""
    log_z = channel.log_normaliser()
    lost = int(np.count_nonzero(log_z < _SMALLEST_LOG_Z))
    if lost:
        raise NotCertified(
            f"{lost} cells are so far from every weight of a channel that nothing can be estimated through it.",
            "Mix a floor into the output weights (floor=0.01, --floor 0.01), or take a smaller beta.",
        )
    out: FloatArray = np.exp(-log_z)
    return out


def stacked_weights(tallies: Sequence[Tally]) -> FloatArray:
    """(cells, channels, 1): counts over the number of all reports."""
    counts = np.stack([tally.counts for tally in tallies], axis=1).astype(np.float64)
    counts /= counts.sum()
    return counts[:, :, None]
