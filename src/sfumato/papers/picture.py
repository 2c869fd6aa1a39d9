"""The papers' pictures as data: what stands in each panel. matplotlib (the extra [plot]) draws them when asked.

Verdicts and tables need no picture, so a reproduction only says what there is to draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Bars, HeatMap, Panel
from sfumato.base.errors import InputError

NEEDS_PLOT = "pip install 'sfumato[plot]'"


@dataclass(frozen=True, slots=True, eq=False)
class BandPanel(Panel):
    """Lines over a grey band of x."""

    shaded: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseMap(HeatMap):
    """A covariance, and under it one draw of the noise."""

    sample: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CellMap:
    """A map of cells (rows, columns), dark where a share is large, by its root."""

    title: str
    shares: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PathMap:
    """A path in the plane and its release, with discs around its points and some of them marked."""

    title: str
    path: FloatArray
    released: FloatArray
    radii: FloatArray
    marked: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Simplex:
    """States of three cells in a triangle, each as large as its mass."""

    title: str
    states: FloatArray
    mass: FloatArray


Part = Panel | HeatMap | Bars | CellMap | PathMap | Simplex


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Parts side by side under one title."""

    parts: Sequence[Part]
    title: str = ""
    columns: int = 1

    def svg(self) -> str:
        """One SVG that asks nothing of any host."""
        try:
            text: str = import_module("sfumato.papers.plates").svg_of(self)
        except ImportError as error:
            raise InputError("The picture needs matplotlib.", f"Install it: {NEEDS_PLOT}.") from error
        return text


def lines(series: Mapping[str, Sequence[tuple[float, float]]], *, title: str, x: str, y: str) -> Picture:
    """One line per series of (x, y) points, y logarithmic; where a series has no point, its line goes on."""
    every = sorted({a for points in series.values() for a, _ in points})
    found = {name: np.array([dict(points).get(a, np.nan) for a in every]) for name, points in series.items()}
    return Picture([Panel("", np.array(every), found, x, y, log_y=True)], title)
