"""Files of samples (input, output) of a mechanism nobody can look into, and files of exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import csv_rows, parquet_columns

_INPUT, _OUTPUT = ("input", "x", "true", "secret"), ("output", "y", "report", "reported")
_PLACES = ("x_m", "y_m")


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """One input label per sample, and its output as a label or as a point in metres."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    points_m: FloatArray | None = None


def read_samples(path: str | Path) -> SampleTable:
    """CSV or Parquet with columns input, and output or x_m, y_m; without a header two columns: input, output."""
    where = Path(path)
    columns: dict[str, Sequence[str]]
    if where.suffix.lower() in (".parquet", ".pq"):
        columns = {name.lower(): [str(v) for v in column] for name, column in parquet_columns(where).items()}
    else:
        columns = _csv(where)
    first = next((columns[name] for name in _INPUT if name in columns), None)
    if first is None:
        raise InputError(f"{where.name} has no column of inputs.", "Name the columns input and output.")
    if not first:
        raise InputError(f"{where.name} holds no samples.", "Give one line per sample: input,output.")
    if all(name in columns for name in _PLACES):
        try:
            places = np.array([[float(str(v)) for v in columns[name]] for name in _PLACES]).T
        except ValueError as error:
            raise InputError(f"A place in {where.name} is not a number.", "x_m and y_m are metres.") from error
        return SampleTable(tuple(first), points_m=finite(places, "The places", dimensions=2))
    second = next((columns[name] for name in _OUTPUT if name in columns), None)
    if second is None:
        raise InputError(f"{where.name} has no column of outputs.", "Name it output, or give x_m and y_m.")
    return SampleTable(tuple(first), outputs=tuple(second))


def read_fractions(path: str | Path) -> list[list[str]]:
    """The cells of a CSV as text, for exact fractions such as 1/3; rows may hold one cell (a prior)."""
    rows = [[cell.strip() for cell in row] for _, row in csv_rows(Path(path))]
    if not rows:
        raise InputError(f"{Path(path).name} is empty.", "Give one row of fractions per input, for example 1/3,2/3.")
    return rows


def _csv(where: Path) -> dict[str, Sequence[str]]:
    rows = csv_rows(where)
    if not rows:
        raise InputError(f"{where.name} is empty.", "Give one line per sample: input,output.")
    names = [cell.strip().lower() for cell in rows[0][1]]
    known = {*_INPUT, *_OUTPUT, *_PLACES}
    body = rows[1:] if any(name in known for name in names) else rows
    if body is rows:
        if len(names) != 2:
            raise InputError(f"{where.name} has {len(names)} columns and no header.", "Give a header: input,output.")
        names = ["input", "output"]
    for line, row in body:
        if len(row) != len(names):
            raise InputError(f"Line {line} of {where.name} has {len(row)} columns, not {len(names)}.")
    return {name: [row[i].strip() for _, row in body] for i, name in enumerate(names)}
