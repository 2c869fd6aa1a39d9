"""Rows that are counted: whose each is, and what it is counted as; of any number of files whose ids differ in type.

*One person, one id.* Ids are compared as texts without the spaces around them (Unicode's NFKC), whole numbers alike
however they are typed: ``7``, ``7.0`` and ``" 7 "`` are one person. Rows whose id is null, empty, NaN or a text such as
``none`` belong to nobody, cannot be bounded and are left out. Capital letters and leading zeros tell ids apart.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, wrap_longitude
from sfumato.base.errors import InputError
from sfumato.tracks.answers.maps.cells import Cells
from sfumato.tracks.io.draft import Reading, plain
from sfumato.tracks.io.tables.columns import (
    NAMES,
    PEOPLE,
    TRIPS,
    Roles,
    column_names,
    find_roles,
    geometry_column,
    positions_of,
    times_of,
    with_time,
)
from sfumato.tracks.io.tables.kinds import as_arrow

Data = str | Path | Sequence[str | Path] | object  # or a table
_NOBODY = frozenset(("", "nan", "none", "null", "na", "n/a", "<na>", "nat"))
_WHOLE = re.compile(r"[+-]?\d+\.0*")
_EXACT = 2.0**53  # beyond, neighbouring whole numbers are one float
_TABULAR = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".geoparquet")


@dataclass(frozen=True, slots=True, eq=False)
class PersonRows:
    """``person`` 0, 1 ... and the number of the key of each row that counts."""

    person: IntArray
    key: IntArray

    def once_each(self, keys: int) -> PersonRows:
        """Every person at most once in every key."""
        pair = np.unique(self.person * keys + self.key)
        return PersonRows(pair // keys, pair % keys)


def id_text(value: object) -> str:
    """An id as it is compared; "" for nobody."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes | list | dict):
        raise InputError("The column of people holds neither texts nor numbers.", "Name another (--person-column).")
    if isinstance(value, float) and abs(value) >= _EXACT:
        raise InputError(
            "Ids are floating-point numbers too large to be told apart.", "Write them as whole numbers or texts."
        )
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        return str(int(value))
    text = unicodedata.normalize("NFKC", str(value)).strip()
    if _WHOLE.fullmatch(text):
        text = text.split(".")[0]
    return "" if text.casefold() in _NOBODY else text


def texts_of(column: pa.ChunkedArray) -> pa.Array:
    """A column as such texts, null for nobody."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    array = pa.concat_arrays(encoded.chunks) if isinstance(encoded, pa.ChunkedArray) else encoded
    texts = pa.array([id_text(value) or None for value in array.dictionary.to_pylist()], pa.string())
    return texts.take(array.indices)


def codes_of(texts: Sequence[pa.Array]) -> tuple[IntArray, list[str]]:
    """The number of each text among those that occur (-1 for null), and these, sorted."""
    encoded = pa.chunked_array(texts, pa.string()).combine_chunks().dictionary_encode()
    array = pa.concat_arrays(encoded.chunks) if isinstance(encoded, pa.ChunkedArray) else encoded
    found = array.dictionary.to_pylist()
    order = sorted(range(len(found)), key=lambda number: found[number])
    rank = np.full(len(found) + 1, -1)
    rank[order] = np.arange(len(found))
    codes = array.indices.fill_null(len(found)).to_numpy(zero_copy_only=False).astype(np.int64)
    return rank[codes].astype(np.int64), [found[number] for number in order]


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """The tables of some data, and which columns play which part; ``zone`` is that of times without one."""

    data: Data
    person: str | None = None
    trip: str | None = None
    columns: Mapping[str, str] | None = None
    zone: str | None = None

    def in_cells(self, cells: Cells) -> PersonRows:
        """Every row with a person and a place in a cell."""
        ids, keys = [], []
        for table in self._tables():
            lat, lon, there = self._places(table)
            key: IntArray = np.full(table.num_rows, -1, dtype=np.int64)
            key[there] = _locate(cells, lat[there], lon[there])
            ids.append(texts_of(table.column(self._person(table.column_names))))
            keys.append(key)
        return _counted(codes_of(ids)[0], np.concatenate(keys))

    def between_cells(self, cells: Cells) -> PersonRows:
        """Every trip of a person, by the cells of its first and of its last point: ``start * cells + end``."""
        ids, trips = list[pa.Array](), list[pa.Array]()
        moments, lats, lons = list[FloatArray](), list[FloatArray](), list[FloatArray]()
        for table in self._tables():
            lat, lon, there = self._places(table)
            times_s = times_of(table, self._roles(table, timed=True), self._reading(table, timed=True))
            if len(times_s) and not np.isfinite(times_s).any():
                raise InputError("The column of times holds no time.", "Name it: --column time=NAME.")
            there &= np.isfinite(times_s)
            kept = table.filter(pa.array(there))
            ids.append(texts_of(kept.column(self._person(table.column_names))))
            trips.append(texts_of(kept.column(self._trip(table.column_names))))
            for values, column in ((lat, lats), (lon, lons), (times_s, moments)):
                column.append(values[there])
        person, trip = codes_of(ids)[0], codes_of(trips)[0]
        times, lat, lon = (np.concatenate(column) for column in (moments, lats, lons))
        known = np.flatnonzero((person >= 0) & (trip >= 0))
        order = known[np.lexsort((times[known], trip[known], person[known]))]
        fresh = np.ones(len(order) + 1, dtype=bool)
        fresh[1:-1] = (np.diff(person[order]) != 0) | (np.diff(trip[order]) != 0)
        first = order[np.flatnonzero(fresh[: len(order)])]
        last = order[np.flatnonzero(fresh[1:])] if len(order) else order
        start, end = (_locate(cells, lat[ends], lon[ends]) for ends in (first, last))
        return _counted(person[first], np.where((start >= 0) & (end >= 0), start * cells.cells + end, -1))

    def by_columns(self, names: Sequence[str], values: Sequence[str] | None) -> tuple[PersonRows, list[str]]:
        """Every row by the text in one column, or from the text in one to that in another, and the texts.

        With ``values`` other texts are left out; without, the texts are those of the data.
        """
        ids: list[pa.Array] = []
        found: list[list[pa.Array]] = [[] for _ in names]
        for table in self._tables():
            ids.append(texts_of(table.column(self._person(table.column_names))))
            for name, column in zip(names, found, strict=True):
                column.append(texts_of(_named(table, name)))
        person = codes_of(ids)[0]
        codes, texts = codes_of([part for column in found for part in column])
        if values is not None:
            place = {text: number for number, text in enumerate(values)}
            codes = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.int64)[codes]
            texts = list(values)
        ends = np.split(codes, len(names))
        good = np.all([one >= 0 for one in ends], axis=0)
        key = ends[0] if len(ends) == 1 else ends[0] * len(texts) + ends[1]
        return _counted(person, np.where(good, key, -1)), texts

    def _tables(self) -> Iterator[pa.Table]:
        if isinstance(self.data, str | Path):
            sources: list[object] = list(_files(Path(self.data)))
        elif isinstance(self.data, list | tuple):
            sources = [file for one in self.data for file in _files(Path(one))]
        else:
            sources = [self.data]
        for source in sources:
            table = _read_file(source) if isinstance(source, Path) else as_arrow(source)
            yield table.select([name for name in table.column_names if not name.startswith("__index_level_")])

    def _person(self, names: Sequence[str]) -> str:
        found = self.person or _first(names, PEOPLE)
        if found is None or found not in names:
            raise InputError(
                "No column says whose each row is." if found is None else f"There is no column '{found}' of people.",
                f"Name it (--person-column): privacy is each person's. The columns: {', '.join(names)}.",
            )
        return found

    def _trip(self, names: Sequence[str]) -> str:
        found = self.trip or _first(names, (*TRIPS, *NAMES["segment"]))
        if found is None or found not in names:
            raise InputError(
                "No column tells trips apart." if found is None else f"There is no column '{found}' of trips.",
                f"Name it (--trip-column), or two columns of places (--by FROM --by TO). The columns: "
                f"{', '.join(names)}.",
            )
        return found

    def _reading(self, table: pa.Table, *, timed: bool) -> Reading:
        given = with_time(table.schema, table.column_names, self.columns or {})
        if not timed and "time" not in given:
            given["time"] = self._person(table.column_names)  # not read: where somebody is needs no time
        return Reading.of(self.zone, given, ())

    def _roles(self, table: pa.Table, *, timed: bool) -> Roles:
        return find_roles(table.column_names, self._reading(table, timed=timed), geometry=geometry_column(table.schema))

    def _places(self, table: pa.Table) -> tuple[FloatArray, FloatArray, BoolArray]:
        try:
            lat, lon, _ = positions_of(table, self._roles(table, timed=False))
        except (pa.ArrowException, TypeError, OverflowError):
            raise InputError("A column of positions cannot be read as numbers.", "Check its type.") from None
        there = np.isfinite(lat) & np.isfinite(lon) & (np.abs(lat) <= 90.0) & (np.abs(lon) <= 360.0)
        return lat, lon, there


def _counted(person: IntArray, key: IntArray) -> PersonRows:
    good = (person >= 0) & (key >= 0)
    return PersonRows(person[good], key[good])


def _locate(cells: Cells, lat_deg: FloatArray, lon_deg: FloatArray) -> IntArray:
    locate: Callable[..., IntArray] = cells.locate
    return locate(lat_deg, wrap_longitude(lon_deg))


def _first(names: Sequence[str], words: Sequence[str]) -> str | None:
    by_plain = {plain(name): name for name in reversed(names)}
    return next((by_plain[word] for word in words if word in by_plain), None)


def _named(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise InputError(f"There is no column '{name}'.", f"The columns: {', '.join(table.column_names)}.")
    return table.column(name)


def _files(path: Path) -> list[Path]:
    found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _TABULAR) if path.is_dir() else [path]
    if not found or not all(one.is_file() for one in found):
        raise InputError(f"There is no table {path}.", "Give CSV or Parquet files, or a folder of them.")
    if found[0].suffix.lower() not in _TABULAR:
        raise InputError(f"Tables are not read from '{found[0].suffix}'.", f"Use {', '.join(_TABULAR)}.")
    return found


def _read_file(path: Path) -> pa.Table:
    try:
        if path.suffix.lower() in _TABULAR[3:]:
            with pyarrow.parquet.ParquetFile(path) as file:
                return file.read()
        names = column_names(path)
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            delimiter = max(",;\t|", key=file.readline(100_000).count)
        return pyarrow.csv.read_csv(  # as texts: ids keep their leading zeros
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, MemoryError):
        raise InputError(f"{path.name} cannot be read as a table.", "It may be cut off or damaged.") from None
