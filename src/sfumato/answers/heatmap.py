"""Where people are: shares of cells from protected releases, with the spread of the noise taken out.

Each released point is its true place plus noise of the certified law. The map that explains all of them best is found
on cells finer than those reported (:mod:`~sfumato.answers.deconvolution`). Points of one person share their noise, so
the interval is over *people*: the maps without each of up to twenty groups of people give the variance (delete-a-group
jackknife, Student's t). It says how far the map of these people may lie from that of everybody like them; it does not
say that the model is wrong, nor where fewer than one noise's width is to be resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.answers.deconvolution import choose_steps, dealt, density
from sfumato.answers.people import LEAST_PEOPLE, Person, people_interval, people_of, time_weights
from sfumato.answers.received import NoiseLaw, Received
from sfumato.answers.spread import Spread
from sfumato.answers.window import Bounds, Window, reporting_grid
from sfumato.arrays import FloatArray, read_only
from sfumato.errors import InputError
from sfumato.grid import Grid

STEPS_FOR_ONE = 50
NOTHING = 1e-12  # of everybody
Weight = Literal["points", "time"]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedMap:
    """Shares of the cells (they sum to 1), with the interval over people where there is one (NaN otherwise)."""

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

    def to_table(self) -> Any:
        """``lat, lon, share, low, high`` at the centres of the cells, as Arrow."""
        lat, lon = self.grid.centres_deg()
        values = {"lat": lat, "lon": lon, "share": self.share, "low": self.low, "high": self.high}
        return pa.table(values)

    def to_dict(self) -> dict[str, object]:
        """How it was made, for ``--json``."""
        return {
            "cells": self.grid.cells,
            "cell_m": self.grid.cell_height,
            "people": self.people,
            "points": self.points,
            "points_outside": self.outside,
            "weight": self.weight,
            "noise_m": list(self.noise_m),
            "latent_cell_m": self.latent_m,
            "steps": self.steps,
            "steps_chosen_by": self.steps_by,
            "confidence": self.confidence,
            "intervals": bool(np.isfinite(self.low).any()),
        }


def estimate_heatmap(
    received: Sequence[Received],
    *,
    cell_m: float,
    bounds: Bounds | None = None,
    weight: Weight = "points",
    confidence: float = 0.9,
    each_release_a_person: bool = False,
) -> EstimatedMap:
    """The heat map of one or several releases, each with its own law. See the module for what the interval says."""
    if weight not in ("points", "time"):
        raise InputError(f"There is no weight '{weight}'.", "Count points, or the time they stand for.")
    if not 0 < confidence < 1:
        raise InputError(f"The confidence is {confidence:g}.", "Give a number between 0 and 1, such as 0.9.")
    people = people_of(received, each_release_a_person=each_release_a_person)
    laws = _laws(received)
    grid = reporting_grid([trace for one in received for _, trace in one.people], cell_m, bounds)
    window = Window.around(grid, min(law.noise_m for law in laws))
    spreads = [Spread.of(law, *window.shape, *window.latent_m) for law in laws]
    counts, outside = _counted(people, laws, window, weight)
    whole = [count.sum(axis=0) for count in counts]
    if not sum(float(count.sum()) for count in whole) > 0:
        raise InputError("No released point lies in the rectangle.", "Name another rectangle.")
    chosen = choose_steps(spreads, counts, lambda latent: _shares(window, latent)) if len(counts[0]) > 1 else None
    steps = chosen.steps if chosen else STEPS_FOR_ONE
    share = _shares(window, density(spreads, whole, steps))
    low, high = people_interval(share, chosen.without if chosen and len(people) >= LEAST_PEOPLE else None, confidence)
    return EstimatedMap(
        grid=grid,
        share=read_only(share),
        low=read_only(low),
        high=read_only(high),
        naive=read_only(_shares(window, np.asarray(sum(whole)))),
        confidence=confidence,
        weight=weight,
        people=len(people),
        points=sum(one.points for one in received),
        outside=outside,
        steps=steps,
        steps_by="likelihood of people left out" if chosen else "fixed: one person leaves nobody to judge by",
        latent_m=window.latent_m[0],
        noise_m=tuple(law.noise_m for law in laws),
    )


def _laws(received: Sequence[Received]) -> list[NoiseLaw]:
    if not received:
        raise InputError("There is no release.", "Give at least one, with its certificate.")
    return list(dict.fromkeys(one.law for one in received))


def _counted(
    people: Sequence[Person], laws: Sequence[NoiseLaw], window: Window, weight: Weight
) -> tuple[list[FloatArray], int]:
    """Counts (groups, rows, columns) for each law, and how many points fell outside the window."""
    group, cells = dealt(len(people)), window.shape[0] * window.shape[1]
    counts = [np.zeros((int(group.max()) + 1, cells)) for _ in laws]
    outside = 0
    for person, where in zip(people, group, strict=True):
        for law, trace in person.releases:
            bins = window.bins(trace.lat_deg, trace.lon_deg)
            inside = bins >= 0
            outside += int(np.count_nonzero(~inside))
            mass = time_weights(trace)[inside] if weight == "time" else None
            counts[laws.index(law)][where] += np.bincount(bins[inside], weights=mass, minlength=cells)
    return [count.reshape(-1, *window.shape) for count in counts], outside


def _shares(window: Window, latent: FloatArray) -> FloatArray:
    reported = window.reported(latent)
    share = reported / reported.sum(axis=-1, keepdims=True)
    return np.where(share < NOTHING, 0.0, share)
