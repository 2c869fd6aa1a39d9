"""An estimated map: shares of cells with their intervals, from protected tracks or from reports; and the step to it.

One step of expectation maximisation for a mixture seen through noise, which five methods share:

    c  <-  c . g,      g = Kᵀ (p / K c)

K c is how the places c would be seen, p how they were seen. With a channel's rows for K it is the iterative Bayesian
update [Biswas2023, Def. 2.5]; with counts p and the spread of a noise it deconvolves [Vardi1985]; with p a prior and
K = exp(-beta d) it is Blahut-Arimoto's. Σ p log K c never falls, and is within Σp · (max g - 1) of the best there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.grid import Grid

LEAST_PEOPLE = 5  # fewer give no interval worth the name
Weight = Literal["points", "time"]


class MapCells(Protocol):
    """Cells that a map can be of: a grid, hexagons, or named areas."""

    @property
    def kind(self) -> str:
        """What they are called in JSON."""

    @property
    def cells(self) -> int:
        """How many."""

    def centres_deg(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of their centres."""

    def labels(self) -> Sequence[str]:
        """Their names."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatedMap(ShownAnswer):
    """Shares of the cells (they sum to 1), with the interval over people where there is one (NaN otherwise)."""

    cells: MapCells
    grid: Grid
    share: FloatArray
    low: FloatArray
    high: FloatArray
    naive: FloatArray
    confidence: float
    weight: Weight
    people: int
    points: int
    outside: int
    steps: int
    steps_by: str
    latent_m: float
    noise_m: tuple[float, ...]
    largest_person: float
    notes: tuple[str, ...] = ()

    drawn_from: ClassVar[str] = "From protected releases with the blur of the noise taken out"

    @property
    def drawn(self) -> FloatArray:
        """What a picture shows: the shares."""
        return self.share

    def to_table(self) -> pa.Table:
        """``lat, lon, share, low, high`` at the centres of the cells, as Arrow; ``cell`` first if named."""
        lat, lon = self.cells.centres_deg()
        interval = {"low": pa.array(self.low, from_pandas=True), "high": pa.array(self.high, from_pandas=True)}
        values = {"lat": lat, "lon": lon, "share": self.share, **interval}
        return pa.table(values if isinstance(self.cells, Grid) else {"cell": list(self.cells.labels()), **values})

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.cells.cells,
            "kind_of_cells": self.cells.kind,
            "cell_m": self.grid.cell_height if isinstance(self.cells, Grid) else None,
            "people": self.people,
            "share_of_the_largest_person": self.largest_person,
            "points": self.points,
            "points_outside": self.outside,
            "weight": self.weight,
            "noise_m": list(self.noise_m),
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.low).any()),
            "notes": list(self.notes),
        }


def em_factor(seen: FloatArray, expected: FloatArray, back: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """g from p = ``seen`` and K c = ``expected``; ``back`` multiplies by Kᵀ. What nobody saw, and may be 0/0, is 0."""
    return back(np.divide(seen, expected, out=np.zeros_like(seen), where=seen > 0))


def dense_em_steps(
    c: FloatArray, seen: FloatArray, matrix: FloatArray, steps: int, *, scale: FloatArray | None = None
) -> None:
    """So many steps in place, where K = ``matrix`` diag(``scale``) is symmetric but for the scale and nowhere 0.

    Small matrices spend their time in calls: no masks and no new arrays.
    """
    spread, expected, factor = (np.empty_like(c) for _ in range(3))
    for _ in range(steps):
        np.dot(matrix, c if scale is None else np.multiply(c, scale, out=spread), out=expected)
        np.divide(seen, expected, out=expected)
        np.dot(matrix, expected, out=factor)
        if scale is not None:
            factor *= scale
        c *= factor
