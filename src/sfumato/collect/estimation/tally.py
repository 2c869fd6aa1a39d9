"""What a collector holds of one cycle: the channel that was published and how often each cell was reported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import IntArray, finite, read_only
from sfumato.base.errors import InputError
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
