"""A sheet: what there is to see of a value, however it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Bars, HeatMap, Panel, Tracks
from sfumato.base.drawing.svg import drawn_places
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.answer_files import Pictured

_MOST_CELLS = 160
Part = Panel | HeatMap | Tracks | Bars


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """``alarms`` are printed in red, ``folded`` lists under their titles; ``on_map`` is drawn as a map."""

    title: str
    parts: tuple[Part, ...]
    promise: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    alarms: tuple[str, ...] = ()
    folded: Mapping[str, Sequence[str]] | None = None
    on_map: Pictured | None = None


def drawn_tracks(title: str, drawn: Mapping[str, Sequence[Trace]]) -> Tracks:
    """Lines in metres from one corner: the shape, and no coordinate."""
    first = next(iter(drawn.values()))[0]
    lines: dict[str, FloatArray] = {}
    for name, traces in drawn.items():
        pieces = []
        for trace in traces:
            at = drawn_places(trace, 600)
            here = (np.full(len(at), first.lat_deg[0]), np.full(len(at), first.lon_deg[0]))
            metres = differences_m(*here, trace.lat_deg[at], trace.lon_deg[at])
            breaks = np.flatnonzero(np.diff(trace.segment[at])) + 1
            pieces += [np.insert(metres, breaks, np.nan, axis=0), np.full((1, 2), np.nan)]
        lines[name] = np.concatenate(pieces)
    corner = np.nanmin(np.concatenate(list(lines.values())), axis=0)
    return Tracks(title, {name: line - corner for name, line in lines.items()})


def averaged_matrix(title: str, values: FloatArray, across: str, down: str) -> HeatMap:
    """A matrix, averaged down where it has more cells than a picture shows."""
    rows, columns = (max(1, -(-size // _MOST_CELLS)) for size in values.shape)
    if rows > 1 or columns > 1:
        tall, wide = values.shape[0] // rows * rows, values.shape[1] // columns * columns
        values = values[:tall, :wide].reshape(tall // rows, rows, wide // columns, columns).mean(axis=(1, 3))
    return HeatMap(title, values, across, down)
