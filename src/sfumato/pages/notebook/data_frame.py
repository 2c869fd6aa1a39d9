"""Any answer as a data frame: its own table where it has one, else its numbers under the names of what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.shown import ShownAnswer
from sfumato.tracks.answers.answer_files import PLACES, Tabled, with_geometry

if TYPE_CHECKING:
    from pandas import DataFrame

_INTERVAL = ("value", "low", "high")
_WHICH = ("person", "kind", "cell_m", "noise_m", "lag_s", "quantile", "statistic")
Row = dict[str, str | float | None]


def table_of(answer: ShownAnswer) -> pa.Table:
    """``quantity, value, low, high`` unless the answer has a table of its own."""
    own = getattr(answer, "to_table", None)
    if own is not None:
        found: pa.Table = own()
        return found
    rows = list(_rows("", answer.to_dict()))
    kinds = {"quantity": pa.string(), **dict.fromkeys(_INTERVAL, pa.float64())}
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in kinds.items()})


def frame(answer: ShownAnswer, *, geometry: bool = False) -> DataFrame:
    """As pandas has it; with ``geometry`` as GeoPandas has it, in longitude and latitude (EPSG:4326)."""
    _needed("pandas")
    table = table_of(answer)
    found: DataFrame
    if not geometry:
        found = table.to_pandas()
        return _noted(found, answer)
    geopandas = _needed("geopandas")
    if getattr(answer, "cells", None) is not None:
        drawn = with_geometry(cast(Tabled, answer))
        shapes = geopandas.GeoSeries.from_wkb(drawn["geometry"].to_pylist(), crs="EPSG:4326")
        found = geopandas.GeoDataFrame(drawn.select(table.column_names).to_pandas(), geometry=shapes)
        return _noted(found, answer)
    if not {"lat", "lon"} <= set(table.column_names):
        raise InputError("This answer has no place on a map.", "Leave geometry out.")
    points = geopandas.points_from_xy(table["lon"].to_numpy(), table["lat"].to_numpy(), crs="EPSG:4326")
    found = geopandas.GeoDataFrame(table.drop_columns(list(PLACES[:2])).to_pandas(), geometry=points)
    return _noted(found, answer)


def _noted(found: DataFrame, answer: ShownAnswer) -> DataFrame:
    found.attrs["notes"] = list(answer.notes)
    return found


def _needed(package: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(package, "geo") from error


def _rows(name: str, value: object) -> Iterator[Row]:
    if isinstance(value, Mapping):
        which = [f"{key} {value[key]}" for key in _WHICH if value.get(key) is not None]
        named = ", ".join([*([name] if name else []), *which])
        if "value" in value:
            yield {"quantity": named, **{key: value[key] for key in _INTERVAL if key in value}}
            return
        for key, part in value.items():
            if key not in _WHICH or not isinstance(part, str | float | int):
                yield from _rows(f"{named}, {key}" if named else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _rows(name, part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield {"quantity": name, "value": float(value)}
