"""Districts as files: a table and shapes, with how many reported, from when until when, and the level of intervals."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import BoolArray
from sfumato.base.things.areas import Polygon, wkb
from sfumato.collect.service.models.kept import DistrictFacts, DistrictShare, Specification
from sfumato.collect.service.models.replies import ClosedCycleView
from sfumato.collect.service.pages.exports import geoparquet
from sfumato.collect.service.pages.layout import local_time
from sfumato.collect.service.pages.words import Words

Row = dict[str, str | int | float | None]


def district_rows(
    number: int, known: DistrictFacts, period: Row, *, alone: bool = False, elsewhere: str = ""
) -> list[Row]:
    """A row for each district, or for several that are not told apart, with its share in round ``number``, too.

    ``alone``: of that round only, where an average is no answer.
    """
    of_round = {one.names: one for one in known.this_round}
    rows: list[Row] = []
    for one in known.this_round if alone else known.average:
        row: Row = {"district": " + ".join(one.names) or elsewhere, **_between(one, ""), "round": number}
        rows.append({**row, **({} if alone else _between(of_round.get(one.names), "round_")), **period})
    return rows


def _between(one: DistrictShare | None, of: str) -> Row:
    """A share and the ends of its interval, in columns that begin with ``of``."""
    names = ("share", "low", "high")
    return {f"{of}{name}": None if one is None else round(getattr(one, name), 6) for name in names}


def csv_bytes(rows: Sequence[Row], language: str = "en", heads: dict[str, str] | None = None) -> bytes:
    """CSV: with semicolons and decimal commas where the language writes them, and a mark that spreadsheets know."""
    english = language == "en"
    out = io.StringIO()
    table = csv.writer(out, delimiter="," if english else ";", lineterminator="\r\n")
    names = list(rows[0]) if rows else []
    table.writerow([(heads or {}).get(name, name) for name in names])
    for row in rows:
        values = ["" if value is None else value for value in row.values()]
        spoken = [str(one).replace(".", ",") if isinstance(one, float) else one for one in values]
        table.writerow(values if english else spoken)
    return ("" if heads is None else "\ufeff").encode() + out.getvalue().encode("utf-8")


def district_geojson(asked: Specification, rows: Sequence[Row], shares: Iterable[DistrictShare]) -> bytes:
    """A FeatureCollection of the districts as the map counts them: their squares, put together."""
    features = [
        {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": shape}, "properties": row}
        for row, shape in zip(rows, _shapes(asked, shares), strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False).encode("utf-8")


def district_geoparquet(asked: Specification, rows: Sequence[Row], shares: Iterable[DistrictShare]) -> bytes:
    """The same as GeoParquet."""
    shapes = list(_shapes(asked, shares))
    table = pa.Table.from_pylist(list(rows)).append_column("geometry", pa.array(map(wkb, shapes), pa.binary()))
    corners = np.array([corner for shape in shapes for rings in shape for corner in rings[0]])
    return geoparquet(table, [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()], "Polygon", "MultiPolygon")


def _shapes(asked: Specification, shares: Iterable[DistrictShare]) -> Iterator[list[list[list[list[float]]]]]:
    """The polygons of each."""
    numbers = {one.name: number for number, one in enumerate(asked.districts)}
    of_cell = asked.district_of_cell
    for one in shares:
        inside = np.isin(of_cell, [numbers[name] for name in one.names]) if one.names else of_cell < 0
        yield _polygons(asked, inside)


def _polygons(asked: Specification, inside: BoolArray) -> list[list[list[list[float]]]]:
    """The outlines of these cells: polygons counter-clockwise, with their holes."""
    grid = asked.grid
    cells = np.pad(inside.reshape(grid.rows, grid.columns), 1)
    onward: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, column in np.argwhere(cells).tolist():
        top, left = row - 1, column - 1
        corners = [(top, left), (top + 1, left), (top + 1, left + 1), (top, left + 1)]
        beside = [cells[row, column - 1], cells[row + 1, column], cells[row, column + 1], cells[row - 1, column]]
        for at, other in enumerate(beside):
            if not other:
                onward.setdefault(corners[at], []).append(corners[(at + 1) % 4])
    rings = [_degrees(asked, ring) for ring in _rings(onward)]
    outer = [[ring] for ring in rings if _area(ring) > 0]
    for hole in (ring for ring in rings if _area(ring) <= 0):
        lon, lat = np.array(hole[:-1]).mean(axis=0)
        around = [one for one in outer if Polygon((np.array(one[0]),)).holds(np.array([lat]), np.array([lon]))[0]]
        min(around or outer, key=lambda one: _area(one[0])).append(hole)
    return outer


def _rings(onward: dict[tuple[int, int], list[tuple[int, int]]]) -> Iterator[list[tuple[int, int]]]:
    """Closed ways along the edges; where two touch in a corner, the way turns left, so that they stay two."""
    while onward:
        start = next(iter(onward))
        ring, at, came = [start], start, (0, 0)
        while True:
            ways = onward[at]
            way = min(ways, key=lambda to: _turn(came, (to[0] - at[0], to[1] - at[1]))) if len(ways) > 1 else ways[0]
            ways.remove(way)
            if not ways:
                del onward[at]
            came, at = (way[0] - at[0], way[1] - at[1]), way
            ring.append(at)
            if at == start:
                break
        yield ring


def _turn(came: tuple[int, int], goes: tuple[int, int]) -> int:
    """-1 for a turn to the left of someone walking (rows grow to the south), 1 to the right."""
    return came[1] * goes[0] - came[0] * goes[1]


def _degrees(asked: Specification, ring: Sequence[tuple[int, int]]) -> list[list[float]]:
    grid = asked.grid
    kept = [
        at
        for before, at, after in zip([ring[-2], *ring[:-2]], ring[:-1], ring[1:], strict=True)
        if (at[0] - before[0], at[1] - before[1]) != (after[0] - at[0], after[1] - at[1])
    ]
    places = [
        [round(grid.west_deg + c * grid.cell_width_deg, 7), round(grid.north_deg - r * grid.cell_height_deg, 7)]
        for r, c in kept
    ]
    return [*places, places[0]]


def _area(ring: Sequence[Sequence[float]]) -> float:
    """Twice the area, positive where the ring runs counter-clockwise."""
    x, y = np.array(ring).T
    return float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))


def period_of(rounds: Sequence[ClosedCycleView], zone: str, level: float | None, said: Words | None = None) -> Row:
    """How many reported in these rounds, from when until when by the campaign's clock, and the level of intervals."""
    at = local_time if said is None else said.moment
    opened, closed = min(one.opened_at_s for one in rounds), max(one.closed_at_s or 0 for one in rounds)
    return {
        "reports": sum(one.reports for one in rounds),
        "from": at(opened, zone),
        "until": at(closed, zone),
        "level": level,
    }


def spoken_heads(said: Words) -> dict[str, str]:
    """The heads of the report's table in the reader's language."""
    keys = ("col_district", "col_share", "col_low", "col_high", "col_round", "col_reports", "col_from", "col_until")
    heads = {key.removeprefix("col_"): said.say(key) for key in (*keys, "col_level")}
    own = said.say("col_this_round")
    return {**heads, **{f"round_{name}": f"{own}: {heads[name]}" for name in ("share", "low", "high")}}
