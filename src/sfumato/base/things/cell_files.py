"""Files that say how likely each cell is, or what each pair costs: CSV, Parquet or JSON, read into plain arrays.

A prior file holds one probability or count per line, or columns ``label``, ``value`` and, where cells have places,
``lat`` and ``lon`` or ``x_m`` and ``y_m``. A distortion file is a bare numeric CSV, one row per input.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray, read_only
from sfumato.base.errors import InputError

_NAMES = {
    "label": ("label", "cell", "id", "name", "symbol"),
    "value": ("value", "probability", "prior", "count", "p", "weight"),
    "lat": ("lat", "latitude", "lat_deg"),
    "lon": ("lon", "lng", "longitude", "lon_deg"),
    "x_m": ("x_m",),
    "y_m": ("y_m",),
}


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """The columns of a prior file; places are there in pairs or not at all."""

    values: FloatArray
    labels: tuple[str, ...] = ()
    lat_deg: FloatArray | None = None
    lon_deg: FloatArray | None = None
    x_m: FloatArray | None = None
    y_m: FloatArray | None = None


def read_cells(path: str | Path) -> CellTable:
    """Read a prior file; what cannot be understood is refused with the line."""
    where = Path(path)
    suffix = where.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _from_columns(parquet_columns(where), where)
    if suffix == ".json":
        return _from_json(where)
    rows = csv_rows(where)
    if not rows:
        raise InputError(f"{where.name} is empty.", "Give one probability or count per line.")
    first = [cell.strip().lower() for cell in rows[0][1]]
    header = any(cell in names for cell in first for names in _NAMES.values())
    if header:
        body = rows[1:]
        for line, row in body:
            if len(row) != len(first):
                raise InputError(f"Line {line} of {where.name} has {len(row)} columns, the header {len(first)}.")
        return _from_columns({name: [row[i] for _, row in body] for i, name in enumerate(first)}, where)
    widths = {len(row) for _, row in rows}
    if widths == {1}:
        return CellTable(_numbers([row[0] for _, row in rows], "value", where))
    if widths == {2}:
        return _from_columns({"label": [r[0] for _, r in rows], "value": [r[1] for _, r in rows]}, where)
    raise InputError(
        f"{where.name} has rows of {sorted(widths)} columns and no header.",
        "Give one number per line, or a header line: label,value,lat,lon or label,value,x_m,y_m.",
    )


def read_matrix(path: str | Path) -> FloatArray:
    """A bare numeric CSV (or a JSON list of rows): one row per input."""
    where = Path(path)
    if where.suffix.lower() == ".json":
        found = load_json(where)
        if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
            raise InputError(f"{where.name} is not a list of rows.", "Give [[...], [...]], one list per input.")
        texts = [[str(cell) for cell in row] for row in found]
    else:
        texts = [row for _, row in csv_rows(where)]
    if not texts:
        raise InputError(f"{where.name} holds no rows.", "Give one row of numbers per input.")
    if len({len(row) for row in texts}) != 1:
        raise InputError(f"The rows of {where.name} have different lengths.", "Give a rectangular table.")
    return read_only(np.stack([_numbers(row, f"row {i}", where) for i, row in enumerate(texts)]))  # type: ignore[no-any-return]


def csv_rows(where: Path) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file with their line numbers; comments before the first row and empty rows are skipped."""
    return csv_with_comments(where)[1]


def csv_with_comments(where: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The comment lines above a CSV file's first row, and its rows with their line numbers."""
    try:
        text = where.read_bytes().decode("utf-8-sig")  # line ends as they are: a label may hold one
    except OSError as error:
        raise InputError(f"Cannot read {where}: {error.strerror}.", "Check the name of the file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where.name} is not a text file.", "Give CSV, Parquet or JSON.") from error
    # Only the lines before the first row are comments: further down a leading # belongs to a label.
    comments, rest = [], text
    while rest:
        line, newline, after = rest.partition("\n")
        if line.strip() and not line.startswith("#"):
            break
        comments.append(line)
        rest = after if newline else ""
    sample = rest.partition("\n")[0]
    delimiter = ";" if sample.count(";") > sample.count(",") else "\t" if "\t" in sample and "," not in sample else ","
    reader = csv.reader(io.StringIO(rest, newline=""), delimiter=delimiter)
    try:
        rows = [(len(comments) + reader.line_num, row) for row in reader if row and any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{where.name} is not CSV: {error}.", "Check the quotes and the line ends.") from error
    return comments, rows


def _from_columns(columns: Mapping[str, Sequence[object]], where: Path) -> CellTable:
    lowered = {str(name).strip().lower(): values for name, values in columns.items()}
    found: dict[str, Sequence[object]] = {}
    for name, aliases in _NAMES.items():
        match = next((alias for alias in aliases if alias in lowered), None)
        if match is not None:
            found[name] = lowered[match]
    if "value" not in found:
        raise InputError(f"{where.name} has no column 'value'.", "Name the column of probabilities or counts 'value'.")
    for one, other in (("lat", "lon"), ("x_m", "y_m")):
        if (one in found) != (other in found):
            raise InputError(f"{where.name} has only one of {one} and {other}.", "Give both.")
    if len(found["value"]) == 0:
        raise InputError(f"{where.name} has a header and no rows.", "Give one line per cell.")
    numbers = {name: _numbers(found[name], name, where) for name in found if name != "label"}
    if any(label is None for label in found.get("label", ())):
        raise InputError(f"A label in {where.name} is missing.", "Give every cell a label, or none.")
    labels = tuple(str(label).strip() for label in found.get("label", ()))
    if len(set(labels)) != len(labels):
        raise InputError(f"Some labels in {where.name} are the same.", "Make them different.")
    if "lat" in numbers and (np.abs(numbers["lat"]).max() > 90 or np.abs(numbers["lon"]).max() > 360):
        raise InputError(f"A latitude or longitude in {where.name} is out of range.", "Give degrees: lat, lon.")
    return CellTable(
        numbers["value"], labels, numbers.get("lat"), numbers.get("lon"), numbers.get("x_m"), numbers.get("y_m")
    )


def _from_json(where: Path) -> CellTable:
    found = load_json(where)
    if isinstance(found, list) and all(isinstance(item, int | float) for item in found):
        return CellTable(_numbers([str(item) for item in found], "value", where))
    if isinstance(found, list) and found and all(isinstance(item, dict) for item in found):
        names = list(found[0])
        if any(list(item) != names for item in found):
            raise InputError(f"The records of {where.name} do not have the same fields.")
        return _from_columns({name: [item[name] for item in found] for name in names}, where)
    if isinstance(found, dict) and all(isinstance(value, int | float) for value in found.values()):
        return _from_columns({"label": list(found), "value": list(found.values())}, where)
    raise InputError(f"{where.name} is not a prior.", "Give a list of numbers, or records with label and value.")


def load_json(where: Path) -> object:
    """What a JSON file holds."""
    try:
        return json.loads(where.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {where}: {error.strerror}.", "Check the name of the file.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where.name} is not JSON.", "Check the file.") from error


def parquet_columns(where: Path) -> dict[str, list[object]]:
    """The columns of a Parquet file."""
    return parquet_with_note(where)[0]


def parquet_with_note(where: Path) -> tuple[dict[str, list[object]], str]:
    """The columns of a Parquet file, and what sfumato noted in it ("{}" where there is nothing)."""
    try:
        table = pq.read_table(where)
    except OSError as error:
        raise InputError(f"Cannot read {where}: no such file, or not Parquet.", "Check the file.") from error
    except (pa.ArrowException, UnicodeError) as error:
        raise InputError(f"{where.name} is not Parquet.", "Check the file.") from error
    note = (table.schema.metadata or {}).get(b"sfumato", b"{}").decode("utf-8", "replace")
    return {name: table.column(name).to_pylist() for name in table.column_names}, note


def _numbers(values: Sequence[object], name: str, where: Path) -> FloatArray:
    out = np.empty(len(values))
    for index, value in enumerate(values):
        try:
            out[index] = float(value)  # type: ignore[arg-type]  # what is not a number is refused below
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Entry {index + 1} of {name} in {where.name} is not a number.",
                "Use a point as decimal sign, and no line of names above a matrix.",
            ) from error
        if not math.isfinite(out[index]):
            raise InputError(f"Entry {index + 1} of {name} in {where.name} is NaN or infinite.", "Remove or repair it.")
    return read_only(out)  # type: ignore[no-any-return]
