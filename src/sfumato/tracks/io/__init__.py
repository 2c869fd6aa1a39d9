"""Traces in and out of files. What is written holds released positions and times, and what was kept by name.

Every reader gives a checked :class:`~sfumato.base.things.traces.Trace` or an :class:`~sfumato.base.errors.InputError`
with advice that repeats no coordinate. Formats are listed in :mod:`sfumato.tracks.io.formats` and in
``docs/formats.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_whole
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, merge_drafts, require_kept
from sfumato.tracks.io.formats import (
    FORMATS,
    Format,
    format_named,
    format_of,
    module_of,
    output_format,
    refuse_notes,
    written_as,
)

if TYPE_CHECKING:
    from sfumato.tracks.io.tables.point_table import PointTable

__all__ = [
    "FORMATS",
    "SourceReading",
    "output_format",
    "read_points",
    "read_trace",
    "read_traces",
    "write_trace",
    "writer_of",
]


def read_trace(
    source: Any,
    *,
    format: str | None = None,
    zone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Iterable[str] = (),
    keep_if_there: bool = False,
    one_person: bool = False,
) -> Trace:
    """One trace from a file, or from any table that speaks Arrow (pandas, polars, DuckDB, pyarrow).

    ``zone`` is the zone of times that have none (they are refused without it); ``columns`` names a table's columns by
    role (lat, lon, time, date, segment, id, geometry); ``keep`` names what else should stay, one by one
    (``["elevation"]``), refused where it is missing unless ``keep_if_there``. Several tracks of one file become
    segments of one trace; a table of several people is refused, and so is one with an undeclared column that
    could tell people apart, unless ``one_person`` says that all rows are one person's.
    """
    found = _read(source, format, Reading.of(zone, columns, keep, keep_if_there, one_person))
    if isinstance(found[0], Draft):
        return merge_drafts(found).to_trace()
    if len(found) > 1:
        raise InputError(
            f"The table holds {len(found)} traces, told apart by an id column.",
            "Choose the rows of one, say that all are one person's (--one-person), or read them with read_traces.",
        )
    trace: Trace = found[0][1]
    return trace


def read_traces(
    source: Any,
    *,
    format: str | None = None,
    zone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Iterable[str] = (),
    one_person: bool = False,
) -> list[tuple[str, Trace]]:
    """Every trace of a file or table with its name: by id column, or by track. See :func:`read_trace`."""
    reading = Reading.of(zone, columns, keep, one_person=one_person)
    found = _read(source, format, reading)
    if not isinstance(found[0], Draft):
        return list(found)
    require_kept(reading, {word for draft in found for word in (*draft.kept, *draft.texts)}, found[0].dropped)
    return [(draft.identity, draft.to_trace(asked=False)) for draft in found]


def read_points(
    source: str | Path,
    *,
    format: str | None = None,
    zone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Iterable[str] = (),
    keep_if_there: bool = False,
    one_person: bool = False,
    small: bool = False,
) -> PointTable:
    """The rows of a table's file (CSV, Parquet), whoever they belong to, held ``small`` or as they are.

    See :func:`read_trace`.
    """
    how = "small_rows" if small else "rows"
    rows: PointTable = _read(source, format, Reading.of(zone, columns, keep, keep_if_there, one_person), how)
    return rows


def write_trace(trace: Trace, path: str | Path, *, format: str | None = None, times: bool = True) -> None:
    """Write a trace, whole or not at all, in the format named or told by the path's ending; without times if asked."""
    target = Path(path)
    write = writer_of(output_format(target, format), times=times)
    write_whole(target, lambda beside: write(trace, beside))


def writer_of(format: Format, *, times: bool = True) -> Callable[[Trace, Path], object]:
    """What fills a file of a format that is written; for files that nobody reads before they are whole."""
    write: Callable[..., object] = getattr(module_of(format), format.write or "write")
    if times:
        return write
    if not format.timeless:
        timeless = ", ".join(other.name for other in FORMATS.values() if other.timeless)
        raise InputError(f"{format.title} files are not written without times here.", f"Formats that are: {timeless}.")
    return partial(write, times=False)


def _read(source: Any, format: str | None, reading: Reading, how: str = "read") -> Any:
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return module_of(FORMATS["parquet"]).read_object(source, reading)
    if not isinstance(source, str | os.PathLike):
        raise InputError("That is neither a file nor a table that speaks Arrow.", "Give a path, or a table.")
    path = Path(os.fspath(source))
    chosen = format_of(path) if format is None or not path.exists() else format_named(format)
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.", "Give a file with at least one point.")
    try:
        return getattr(module_of(chosen), how)(path, reading)
    except SfumatoError:
        raise
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Check the name and its permissions.") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply.", "It is not a track.") from None


@dataclass(frozen=True, slots=True)
class SourceReading:
    """How sources are read."""

    format: str | None = None
    zone: str | None = None
    columns: dict[str, str] | None = None
    keep: tuple[str, ...] = ()
    one_person: bool = False

    def read(self, path: Path) -> tuple[Format, Trace]:
        """The format to write it in and the trace; what is asked to be kept stays where there is some."""
        if not self.format and not self.columns:
            refuse_notes(path)
        chosen = format_named(self.format) if self.format else format_of(path)
        trace = read_trace(
            path,
            format=chosen.name,
            zone=self.zone,
            columns=self.columns,
            keep=self.keep,
            keep_if_there=True,
            one_person=self.one_person,
        )
        return written_as(chosen, path), trace
