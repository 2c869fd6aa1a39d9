"""What everybody knows before a report: how likely each cell (or symbol) is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_labels, checked_probabilities
from sfumato.base.things.grid import LARGEST_DISTANCE_MATRIX, Grid


@dataclass(frozen=True, slots=True, eq=False)
class CellPrior:
    """Probabilities of the symbols, in order, with labels and, where they have any, places in metres or their grid."""

    probabilities: FloatArray
    labels: tuple[str, ...] = ()
    positions_m: FloatArray | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", checked_probabilities(self.probabilities))
        if self.grid is not None:
            if self.grid.cells != self.size:
                raise InputError(
                    f"The grid has {self.grid.cells:,} cells and the prior {self.size:,} probabilities.",
                    "Give one probability per cell, row 0 the northernmost.",
                )
            if not self.labels:
                object.__setattr__(self, "labels", self.grid.labels())
        object.__setattr__(self, "labels", checked_labels(self.labels, self.size, "prior"))
        if self.positions_m is not None:
            positions = finite(self.positions_m, "positions_m", dimensions=2)
            if positions.shape != (self.size, 2):
                raise InputError(f"There are {positions.shape[0]} places for {self.size} symbols.", "Give one each.")
            object.__setattr__(self, "positions_m", positions)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[np.generic]:
        return np.array(self.probabilities, dtype=dtype)

    @classmethod
    def from_counts(
        cls,
        counts: npt.ArrayLike,
        *,
        labels: Sequence[str] = (),
        positions_m: npt.ArrayLike | None = None,
        grid: Grid | None = None,
        floor: float = 0.0,
    ) -> CellPrior:
        """Counts or weights divided by their total, then mixed with a share ``floor`` of the uniform distribution."""
        values = finite(counts, "The counts", dimensions=1)
        if values.size == 0 or values.min() < 0 or values.max() <= 0:
            raise InputError("The counts are negative, empty or all 0.", "Give how often each symbol occurred.")
        shares = values / values.max()  # sums of the largest doubles overflow
        prior = cls(
            shares / shares.sum(),
            labels=tuple(labels),
            positions_m=None if positions_m is None else finite(positions_m, "positions_m", dimensions=2),
            grid=grid,
        )
        return prior.with_floor(floor) if floor else prior

    @property
    def size(self) -> int:
        """How many symbols there are."""
        return int(self.probabilities.size)

    @property
    def smallest(self) -> float:
        """The smallest positive probability."""
        return float(self.probabilities[self.probabilities > 0].min())

    @property
    def zeros(self) -> IntArray:
        """The symbols of probability 0."""
        return np.flatnonzero(self.probabilities == 0).astype(np.int64)

    def entropy_nats(self) -> float:
        """H(X): what there is to know."""
        p = self.probabilities[self.probabilities > 0]
        return float(-(p * np.log(p)).sum())

    def with_floor(self, share: float) -> CellPrior:
        """(1 - share) of this prior and ``share`` of the uniform one: no symbol is impossible any more."""
        if not 0 < share < 1:
            raise InputError(f"The floor is {share}.", "It is a share between 0 and 1, for example 0.01.")
        mixed = (1 - share) * self.probabilities + share / self.size
        return CellPrior(mixed / mixed.sum(), labels=self.labels, positions_m=self.positions_m, grid=self.grid)

    def without_zeros(self) -> tuple[CellPrior, IntArray]:
        """The prior on its support, and which symbols those were."""
        kept = np.flatnonzero(self.probabilities > 0).astype(np.int64)
        positions = None if self.positions_m is None else read_only(self.positions_m[kept])
        labels = tuple(self.labels[index] for index in kept)
        return CellPrior(self.probabilities[kept], labels=labels, positions_m=positions), kept

    def distances_m(self) -> FloatArray:
        """Distances between the symbols' places."""
        if self.positions_m is None and self.grid is not None and self.grid.unit == "m":
            return self.grid.distance_matrix()
        if self.positions_m is None:
            raise InputError(
                "The prior has no coordinates, so there are no distances.",
                "Add columns lat and lon, or x_m and y_m, to the prior file, or use --distortion hamming.",
            )
        if len(self.positions_m) > LARGEST_DISTANCE_MATRIX:
            raise InputError(
                f"The distances between {len(self.positions_m):,} places are too many to hold.",
                f"Use at most {LARGEST_DISTANCE_MATRIX:,} places, or a grid, whose distances are never stored.",
            )
        step = self.positions_m[:, None, :] - self.positions_m[None, :, :]
        distances: FloatArray = np.hypot(step[..., 0], step[..., 1])
        return distances


def positive_prior(prior: npt.ArrayLike, count: int | None = None) -> FloatArray:
    """A prior without impossible symbols, as the designs need; refused with advice otherwise."""
    p = checked_probabilities(prior, count)
    if np.any((p > 0) & (p < 1e-50)):
        raise InputError("Some symbols have prior probabilities below 1e-50.", "Merge them, or give them a floor.")
    zeros = int(np.count_nonzero(p == 0))
    if zeros:
        raise InputError(
            f"{zeros} symbol(s) have prior probability 0: nothing can be promised about them.",
            "Give them a floor (CellPrior.with_floor) or drop them on purpose (without_zeros); `channel design` "
            "and `channel measure` do either with --floor 0.01 or --drop-zeros.",
        )
    return p
