"""CSV and its relatives: the delimiter sniffed, the columns found by name or given."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv

from sfumato.base.errors import InputError
from sfumato.base.things.frames import decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Reading, looks_like_position
from sfumato.tracks.io.tables.columns import Roles, find_roles
from sfumato.tracks.io.tables.point_table import PointTable, held_small
from sfumato.tracks.io.times import format_times

_DELIMITERS = ",;\t|"
_HEAD_BYTES = 1 << 16


def read(path: Path, reading: Reading) -> list[tuple[str, Trace]]:
    """The traces of :func:`rows`."""
    return rows(path, reading).traces()


def rows(path: Path, reading: Reading) -> PointTable:
    """Points by row, after a header with the columns' names; lines that start with # are skipped before it."""
    return _rows(path, reading, small=False)


def small_rows(path: Path, reading: Reading) -> PointTable:
    """The same, read piece by piece with ids of four bytes and positions as numbers, where they are plain ones."""
    try:
        return _rows(path, reading, small=True)
    except pa.ArrowInvalid:
        return rows(path, reading)


def _rows(path: Path, reading: Reading, *, small: bool) -> PointTable:
    encoding, skipped, delimiter, names = _header(path)
    roles = find_roles(names, reading)
    wanted = names if roles.names_nobody(reading) else roles.needed  # any column may tell people apart
    small = small and wanted is not names and "id" in roles.by_role
    damaged: list[None] = []

    def left_out(row: arrow_csv.InvalidRow) -> str:
        damaged.extend([None] * (1 + row.text.strip().count("\n")))  # quotation marks make one row of many lines
        return "skip"

    try:
        read = partial(
            arrow_csv.open_csv if small else arrow_csv.read_csv,
            path,
            read_options=arrow_csv.ReadOptions(encoding=encoding, skip_rows=skipped),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=left_out
            ),
            # As texts: what looks like a date or a number is read by the same code as in every other format.
            convert_options=arrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.string() for name in wanted} | (_numbers(roles) if small else {}),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=["", "NULL", "null", "NA"],
            ),
        )
        table = held_small(read(), roles) if small else read()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        if small and isinstance(error, pa.ArrowInvalid):
            raise
        # The library's message would repeat the row.
        raise InputError(
            "The CSV file cannot be read as rows of text.", "It may be cut off or damaged; export it again."
        ) from None
    if damaged and (len(damaged) >= table.num_rows or _cut_off(path, encoding, delimiter, len(names))):
        raise InputError(
            f"{len(damaged)} line(s) of the CSV file do not have as many fields as its header, most of them or the "
            "last one.",
            "It may be cut off or damaged, or have decimal commas between commas; export it again.",
        )
    lines, quotes = _lines_and_quotes(path)
    of_many_lines = quotes and lines > table.num_rows + len(damaged) + skipped + 1
    if of_many_lines and quotes % 2 == 1 and encoding != "utf-16":
        raise InputError("A quotation mark of the CSV file is not closed.", "Repair or remove it.")
    if of_many_lines and _rows_in_quotes(path, encoding, delimiter, len(names)):
        raise InputError("Quotation marks of the CSV file enclose whole rows.", "Repair or remove the stray ones.")
    left = {"rows with too few or too many fields": len(damaged)} if damaged else None
    return PointTable(table, reading, roles, left or {})


def _numbers(roles: Roles) -> dict[str, pa.DataType]:
    return {roles.by_role[role]: pa.float64() for role in ("lat", "lon") if role in roles.by_role}


def _cut_off(path: Path, encoding: str, delimiter: str, fields: int) -> bool:
    """Whether the last row has another number of fields than the header."""
    last: list[str] = []
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        for row in csv.reader(stream, delimiter=delimiter):
            last = row or last
    return len(last) != fields


def _rows_in_quotes(path: Path, encoding: str, delimiter: str, fields: int) -> bool:
    """Whether a value of several lines holds lines that are rows: two stray marks swallow what is between them."""
    with path.open(encoding=encoding, errors="replace", newline="") as stream, suppress(csv.Error):
        for row in csv.reader(stream, delimiter=delimiter):
            for value in row:
                for line in value.splitlines()[1:] if "\n" in value else ():
                    parts = line.split(delimiter)
                    if len(parts) >= fields - 1 and sum(map(_is_number, parts)) >= 2:
                        return True
        return False
    return True  # a value too long for any note


def _header(path: Path) -> tuple[str, int, str, list[str]]:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    encoding = "utf-8"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    else:
        try:
            head.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if error.start < len(head) - 4:
                encoding = "latin-1"
    lines = head.decode(encoding, errors="replace").lstrip("\ufeff").splitlines()
    skipped = 0
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped].startswith("#")):
        skipped += 1
    if skipped == len(lines):
        raise InputError("The CSV file has no header.", "Its first line must name the columns, as in time,lat,lon.")
    line = lines[skipped]
    delimiter = max(_DELIMITERS, key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    if any(_is_number(name) for name in names):
        raise InputError(
            "The CSV file starts with numbers instead of a header.",
            "Add a first line that names the columns, as in time,lat,lon.",
        )
    if len(set(names)) < len(names):
        raise InputError("Two columns of the CSV file have the same name.", "Give every column its own name.")
    return encoding, skipped, delimiter, names


def _is_number(text: str) -> bool:
    """Whether a name is data: a number, a time or something with a coordinate in it."""
    try:
        float(text.strip().replace(",", "."))
    except ValueError:
        return re.match(r"\s*\d{4}[-/]\d\d[-/]\d\d", text) is not None or looks_like_position(text)
    return True


def _lines_and_quotes(path: Path) -> tuple[int, int]:
    """How many line ends and quotation marks there are: an odd one, or more lines than rows, tell of stray marks."""
    lines = quotes = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            lines, quotes = lines + block.count(b"\n"), quotes + block.count(b'"')
    return lines, quotes


def write(trace: Trace, path: Path, *, times: bool = True) -> None:
    """``time,lat,lon,segment`` and the kept columns; times in UTC, or left out."""
    if trace.texts:
        raise InputError(f"CSV cannot hold a {next(iter(trace.texts))}.", "Write GPX, KML or GeoJSON to keep it.")
    fields = [
        *([format_times(trace.times_s)] if times else []),
        decimal_texts(trace.lat_deg),
        decimal_texts(trace.lon_deg),
        [str(number) for number in trace.segment.tolist()],
    ]
    for values in trace.columns.values():
        fields.append(["" if value != value else f"{value:.12g}" for value in values.tolist()])
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerow(
            [*(["time"] if times else []), "lat", "lon", "segment", *trace.columns]
        )
        out.writelines(",".join(row) + "\n" for row in zip(*fields, strict=True))
