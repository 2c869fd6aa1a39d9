"""Shares of pairs of cells: what an answer about flows is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.grid import Grid
from sfumato.tracks.answers.maps.cells import Cells

LARGEST = 20_000_000  # pairs that are worked on, or shown, all at once


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flows(ShownAnswer):
    """Shares of pairs (from cell, to cell); they sum to 1. ``lows`` and ``highs`` may be NaN.

    A pair that is not among ``pairs`` has no share, and at most ``elsewhere``. ``share``, ``low``, ``high`` and
    ``naive`` are the same as matrices (cells, cells).
    """

    cells: Cells
    grid: Grid
    pairs: IntArray
    shares: FloatArray
    lows: FloatArray
    highs: FloatArray
    naives: FloatArray
    elsewhere: float
    confidence: float
    people: int
    trips: int
    outside: int
    steps: int
    steps_by: str
    latent_m: float
    largest_person: float
    notes: tuple[str, ...] = ()

    drawn_from: ClassVar[str] = EstimatedMap.drawn_from

    @property
    def drawn(self) -> FloatArray:
        """What a picture shows: the shares of pairs."""
        return self.shares

    @property
    def share(self) -> FloatArray:
        """(cells, cells): from, to."""
        return self._matrix(self.shares, 0.0)

    @property
    def low(self) -> FloatArray:
        """(cells, cells): where the interval begins."""
        return self._matrix(self.lows, 0.0)

    @property
    def high(self) -> FloatArray:
        """(cells, cells): where the interval ends."""
        return self._matrix(self.highs, self.elsewhere)

    @property
    def naive(self) -> FloatArray:
        """(cells, cells): the released trips, counted."""
        return self._matrix(self.naives, 0.0)

    def _matrix(self, values: FloatArray, elsewhere: float) -> FloatArray:
        cells = self.cells.cells
        if cells * cells > LARGEST:
            raise InputError(f"{cells} cells make {cells * cells} pairs.", "Take .pairs and .shares, or .to_table().")
        out = np.full((cells, cells), elsewhere)
        out[self.pairs[:, 0], self.pairs[:, 1]] = values
        return out

    def to_table(self, *, least: float = 0.0) -> pa.Table:
        """One row for each pair with more than ``least``: the two centres, ``share``, ``low``, ``high``."""
        lat, lon = self.cells.centres_deg()
        kept = np.flatnonzero(self.shares > least)
        start, end = self.pairs[kept].T
        places = {"from_lat": lat[start], "from_lon": lon[start], "to_lat": lat[end], "to_lon": lon[end]}
        values = {"share": self.shares, "low": self.lows, "high": self.highs}
        shares = {name: pa.array(value[kept], from_pandas=True) for name, value in values.items()}
        if isinstance(self.cells, Grid):
            return pa.table({**places, **shares})
        names = self.cells.labels()
        ends = {"from": [names[one] for one in start], "to": [names[one] for one in end]}
        return pa.table({**ends, **places, **shares})

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.cells.cells,
            "cell_m": self.grid.cell_height if isinstance(self.cells, Grid) else None,
            "people": self.people,
            "share_of_the_largest_person": self.largest_person,
            "trips": self.trips,
            "trips_outside": self.outside,
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.lows).any()),
            "notes": list(self.notes),
        }
