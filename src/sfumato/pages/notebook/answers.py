"""What there is to see of answers about many people: maps, flows, lengths, speeds, stays, tracks, published tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Bars, Panel
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.units import plain_number
from sfumato.pages.notebook.contents import Sheet, averaged_matrix, drawn_tracks
from sfumato.tracks.aggregates.public_table import PublicTable
from sfumato.tracks.answers.answer_files import MOST_OUTLINES
from sfumato.tracks.answers.flows.pair_shares import Flows
from sfumato.tracks.answers.intervals import OverPeople
from sfumato.tracks.answers.ways.displacement import Displacements
from sfumato.tracks.answers.ways.drawn_ways import QUANTILES, Ways
from sfumato.tracks.answers.ways.how_people_move import DISTRIBUTION_OF, MovingAnswer
from sfumato.tracks.answers.ways.live import LiveTracks
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks

_MOST_BARS = 20
MODEL = "Mostly the model: the release tells too little of the way for these numbers."


def _on_map(found: EstimatedMap | Flows, original: bool) -> Sheet:
    title = "Where people are" if isinstance(found, EstimatedMap) else "From where to where"
    small = isinstance(found, Flows) or found.asked.cells <= MOST_OUTLINES
    parts = () if small else (averaged_matrix("share of each cell", _rows_of(found), "column (west to east)", "row"),)
    on_map = found if small else None
    return Sheet(title, parts, _mean(found), _figures(found), on_map=on_map)


def _rows_of(found: EstimatedMap | Flows) -> FloatArray:
    """The cells of a grid as they lie; others one after the other."""
    return found.drawn.reshape(found.grid.shape if found.drawn.size == found.grid.cells else (1, -1))


def _mean(found: EstimatedMap | Flows) -> str:
    return (
        f"{found.drawn_from}. Intervals of {100 * found.confidence:g} %: those of the table (to_frame()), not of the "
        "picture, whose cells may be finer than the noise can tell."
    )


def _table(found: PublicTable, original: bool) -> Sheet:
    title = {"heatmap": "Where people are", "flows": "From where to where", "counts": "How many people"}
    promise = f"{found.guarantee.notion}: {found.guarantee.covers[0]}."
    figures = [(name, plain_number(float(value), 4)) for name, value in found.guarantee.parameters.items()]
    alarms = found.notes[:1] if found.guarantee.simulation else ()
    parts: tuple[Bars, ...] = ()
    if found.cells is None:
        most = np.argsort(-np.nan_to_num(found.count))[:_MOST_BARS]
        names = [" to ".join(texts[one] for texts in found.names.values()) for one in most]
        counts = {name: float(found.count[one]) for name, one in zip(names, most, strict=True) if found.count[one] > 0}
        parts = (Bars("the largest counts", counts, found.terms["counted"]),) if counts else ()
    rows = (*figures, ("rows", str(found.terms["rows"])), ("least count shown", str(found.terms["least"])))
    folded = {"The rules of this table": found.notes, "What is not covered": found.guarantee.not_covered}
    return Sheet(
        title[found.terms["question"]], parts, promise, rows, alarms, folded, None if found.cells is None else found
    )


def _displacements(found: Displacements, original: bool) -> Sheet:
    return Sheet("How far people get", (_squares(found),), "", _figures(found))


def _squares(found: Displacements) -> Panel:
    lines = {name: np.array([getattr(one, name) for one in found.squared_m2]) for name in ("value", "low", "high")}
    return Panel("squared displacement", np.array(found.lags_s), lines, "lag (s)", "m²")


def _ways(found: Ways, original: bool) -> Sheet:
    parts = tuple(_quantiles(name, values) for name, values in found.distributions().items())
    return _moving("How people move", parts, found, stays=True)


def _answer(found: MovingAnswer, original: bool) -> Sheet:
    name = DISTRIBUTION_OF[found.question]
    parts = [_quantiles(name, found.ways.distributions()[name])]
    if found.squares is not None:
        parts.append(_squares(found.squares))
    title = {"distances": "How far people get", "speeds": "How fast people are", "stays": "How long people stay"}
    return _moving(title[found.question], parts, found.ways, stays=found.question == "stays")


def _moving(title: str, parts: Sequence[Panel], ways: Ways, *, stays: bool) -> Sheet:
    model = ways.stays_mostly_model if stays else ways.mostly_model
    drawn = tuple(part for part in parts if any(np.isfinite(line).any() for line in part.lines.values()))
    return Sheet(title, drawn, "", _figures(ways), (MODEL,) if model else ())


def _quantiles(name: str, values: Sequence[OverPeople]) -> Panel:
    lines = {end: np.array([getattr(one, end) for one in values]) for end in ("value", "low", "high")}
    what, unit = {"trip_length_m": ("trip length", "m"), "speed_m_s": ("speed", "m/s"), "stay_s": ("stay", "s")}[name]
    return Panel(f"{what}, by quantile", np.array(QUANTILES), lines, "quantile", unit)


def _people(found: SmoothTracks | LiveTracks, original: bool) -> Sheet:
    live = isinstance(found, LiveTracks)
    drawn = drawn_tracks("", {"as known then" if live else "smooth": [trace for _, trace in found.people]})
    return Sheet("Where people were, as known then" if live else "Smooth tracks", (drawn,), "", _figures(found))


def _figures(found: ShownAnswer) -> tuple[tuple[str, str], ...]:
    numbers = {k: v for k, v in found.to_dict().items() if isinstance(v, str | int | float) and v not in (True, False)}
    said = {k: v if isinstance(v, str) else plain_number(float(v), 4) for k, v in numbers.items()}
    return tuple((name.replace("_", " "), text) for name, text in said.items())


ANSWERS: Mapping[type, Callable[..., Sheet]] = {
    EstimatedMap: _on_map,
    Flows: _on_map,
    PublicTable: _table,
    Displacements: _displacements,
    Ways: _ways,
    MovingAnswer: _answer,
    SmoothTracks: _people,
    LiveTracks: _people,
}
