"""Channels in files: Parquet, CSV or JSON with labels, distortion and places; a bare numeric CSV is a channel too.

A table has a column ``input``, one column ``P(<output>)`` per output and, where they are known, ``D(<output>)`` (the
distortion), ``x_m`` and ``y_m``. Doubles are written so that reading gives the same bits.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import (
    csv_rows,
    csv_with_comments,
    load_json,
    parquet_columns,
    parquet_with_note,
    read_matrix,
)
from sfumato.base.things.channel import Channel

_MARK = "sfumato channel"
_VERSION = 1


def write_channel(channel: Channel, path: str | Path) -> None:
    """Write by the file's ending: .parquet, .csv or .json."""
    where = Path(path)
    match where.suffix.lower():
        case ".parquet" | ".pq":
            _write_parquet(channel, where)
        case ".csv":
            where.write_bytes(_as_csv(channel).encode())  # bytes: a label may hold a line end, which must stay
        case ".json":
            where.write_text(json.dumps(_as_json(channel), allow_nan=False), encoding="utf-8")
        case _:
            raise InputError(f"A channel cannot be written as '{where.suffix}'.", "Use .parquet, .csv or .json.")


def read_channel(path: str | Path) -> Channel:
    """Read what :func:`write_channel` wrote, or a bare numeric CSV or JSON matrix."""
    where = Path(path)
    match where.suffix.lower():
        case ".parquet" | ".pq":
            return _read_parquet(where)
        case ".json":
            return _read_json(where)
        case _:
            return _read_csv(where)


def _columns(channel: Channel) -> dict[str, object]:
    columns: dict[str, object] = {"input": list(channel.inputs)}
    for index, label in enumerate(channel.outputs):
        columns[f"P({label})"] = channel.matrix[:, index]
    if channel.distortion is not None:
        for index, label in enumerate(channel.outputs):
            columns[f"D({label})"] = channel.distortion[:, index]
    if channel.positions_m is not None:
        columns["x_m"], columns["y_m"] = channel.positions_m[:, 0], channel.positions_m[:, 1]
    return columns


def _note(channel: Channel) -> str:
    return json.dumps({"format": _MARK, "version": _VERSION, "distortion_name": channel.distortion_name})


def _from_columns(columns: Mapping[str, Sequence[object]], note: dict[str, object], where: Path) -> Channel:
    if note.get("version", _VERSION) != _VERSION:
        raise InputError(f"{where.name} was written by a newer sfumato.", "Use that version.")
    outputs = [name[2:-1] for name in columns if name.startswith("P(") and name.endswith(")")]
    if not outputs:
        raise InputError(
            f"{where.name} holds no channel: it has no columns P(...).", "Give a bare matrix or such columns."
        )
    try:
        matrix = np.column_stack([np.array(columns[f"P({label})"], dtype=np.float64) for label in outputs])
        held = [label for label in outputs if f"D({label})" in columns]
        distortion: FloatArray | None = None
        if held:
            distortion = np.column_stack([np.array(columns[f"D({label})"], dtype=np.float64) for label in outputs])
        positions = None
        if "x_m" in columns and "y_m" in columns:
            positions = np.column_stack([np.array(columns[name], dtype=np.float64) for name in ("x_m", "y_m")])
    except KeyError as error:
        raise InputError(f"{where.name} has a distortion for some outputs only.", "Give D(...) for all.") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{where.name} holds something that is not a number.", "Check the file.") from error
    labels = tuple(map(str, columns.get("input", ()))), tuple(outputs)
    return _channel(matrix, labels, distortion, note.get("distortion_name"), positions)


def _channel(
    matrix: FloatArray,
    labels: tuple[tuple[str, ...], ...],
    distortion: FloatArray | None,
    name: object,
    positions: FloatArray | None,
) -> Channel:
    named = name if isinstance(name, str) else None
    return Channel(matrix, labels[0], labels[1], distortion, named, positions)


def _write_parquet(channel: Channel, where: Path) -> None:
    table = pa.table(_columns(channel)).replace_schema_metadata({"sfumato": _note(channel)})
    pq.write_table(table, where)


def _read_parquet(where: Path) -> Channel:
    columns, note = parquet_with_note(where)
    return _from_columns(columns, _parsed(note, where), where)


def _as_csv(channel: Channel) -> str:
    out = io.StringIO()
    out.write(f"# {_note(channel)}\n")
    columns = _columns(channel)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([cell if isinstance(cell, str) else repr(float(cell)) for cell in row])
    return out.getvalue()


def _read_csv(where: Path) -> Channel:
    comments, numbered = csv_with_comments(where)
    if not numbered:
        raise InputError(f"{where.name} is empty.", "Give one row of probabilities per input.")
    rows = [row for _, row in numbered]
    if not any(name.startswith("P(") for name in rows[0]):
        return Channel(read_matrix(where))
    note = _parsed(comments[0][1:], where) if comments and comments[0].startswith("#") else {}
    if len({len(row) for row in rows}) != 1 or len(set(rows[0])) != len(rows[0]):
        raise InputError(f"The rows of {where.name} have different lengths or repeated columns.", "Check the file.")
    return _from_columns({name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}, note, where)


def _as_json(channel: Channel) -> dict[str, object]:
    return {
        "format": _MARK,
        "version": _VERSION,
        "inputs": list(channel.inputs),
        "outputs": list(channel.outputs),
        "matrix": channel.matrix.tolist(),
        "distortion_name": channel.distortion_name,
        "distortion": None if channel.distortion is None else channel.distortion.tolist(),
        "positions_m": None if channel.positions_m is None else channel.positions_m.tolist(),
    }


def _read_json(where: Path) -> Channel:
    found = load_json(where)
    if isinstance(found, list):
        return Channel(read_matrix(where))
    if not isinstance(found, dict) or found.get("format") != _MARK:
        raise InputError(f"{where.name} is not a channel.", "Give a matrix or what `sfumato channel design` wrote.")
    if found.get("version") != _VERSION:
        raise InputError(f"{where.name} was written by a newer sfumato.", "Use that version.")
    try:
        parts = {
            name: None if found.get(name) is None else np.array(found[name], dtype=np.float64)
            for name in ("matrix", "distortion", "positions_m")
        }
    except (TypeError, ValueError) as error:
        raise InputError(f"{where.name} holds something that is not a number.", "Check the file.") from error
    if parts["matrix"] is None:
        raise InputError(f"{where.name} has no matrix.", "Check the file.")
    labels = [found.get(kind) or [] for kind in ("inputs", "outputs")]
    if not all(isinstance(names, list) and all(isinstance(label, str) for label in names) for names in labels):
        raise InputError(f"The labels in {where.name} are not lists of text.", "Check the file.")
    names = tuple(tuple(kind) for kind in labels)
    return _channel(parts["matrix"], names, parts["distortion"], found.get("distortion_name"), parts["positions_m"])


def _parsed(text: str, where: Path) -> dict[str, object]:
    try:
        note = json.loads(text)
    except ValueError as error:
        raise InputError(f"The note at the top of {where.name} is damaged.", "Remove that line.") from error
    return note if isinstance(note, dict) else {}


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
