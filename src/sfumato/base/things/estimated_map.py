"""An estimated map: shares of cells with their intervals, whether from protected tracks or from reports."""

from __future__ import annotations

from collections.abc import Sequence
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
