"""What commands on tracks share: columns by role, a passphrase from its file, progress, and the private summary."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sfumato.base.errors import InputError
from sfumato.base.files import remove_leftovers, write_text
from sfumato.base.things.traces import PointsRead
from sfumato.base.units import count_of
from sfumato.tracks.certificates.document import certificate_text

if TYPE_CHECKING:
    from sfumato.tracks.adversary.companions import WorstGroup
    from sfumato.tracks.folders.audit_archive import AuditRow
    from sfumato.tracks.folders.rides.ride_job import Row

R = TypeVar("R", "Row", "AuditRow")

_MOST_LINES = 20


def named_columns(pairs: Sequence[str]) -> dict[str, str] | None:
    """``role=name`` pairs of ``--column`` as a mapping."""
    columns = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(columns) != len(pairs):
        raise InputError("A --column is not of the form role=name.", "For instance --column lat=Y --column time=when.")
    return columns or None


def passphrase_in(file: Path | None) -> str | None:
    """The first line of the file."""
    if file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"Cannot read the passphrase file {file}.", "Put the passphrase on its first line.") from error
    if not text or not text[0]:
        raise InputError("The passphrase file is empty.", "Put the passphrase on its first line.")
    return text[0]


def write_certificate(path: Path | None, document: Mapping[str, object]) -> None:
    """Write it down, if it was asked for; before what it speaks of is in place."""
    if path is not None:
        write_text(path, certificate_text(document))
        remove_leftovers(path)


def say_table(rows: Sequence[R], what: str, words: Callable[[R], str]) -> int:
    """One line for each source where there are few, else for those that need a look; how many were left out of it."""
    shown = [row for row in rows if not row.no_track]
    few = shown if len(shown) <= _MOST_LINES else [row for row in shown if row.refused][:_MOST_LINES]
    if few:
        width = min(max(len(row.source) for row in few), 48)
        typer.echo(f"{'file':<{width}}  {'in':>8}  {'out':>8}  {what} (private: do not share this table)")
        for row in few:
            typer.echo(f"{row.source[-width:]:<{width}}  {row.points_in:>8}  {row.points_out:>8}  {words(row)}")
    return len(shown) - len(few)


def say_rows(rows: Sequence[Row]) -> None:
    """The private summary: every source where there are few, else those that need a look."""
    left = say_table(rows, "what", lambda row: _became(row))
    skipped = sum(row.no_track for row in rows)
    # What was skipped is counted once, over all files, with the points.
    left_out = list(
        dict.fromkeys(name for row in rows for name in row.left_out if name.rpartition(" (")[0] not in row.skipped)
    )
    if left:
        some = any(row.refused and not row.no_track for row in rows)
        others = f"... and {left} more" if some else f"{left} files, none refused"
        typer.echo(f"{others}; all of them are in the private summary.")
    if skipped:
        typer.echo(f"{count_of(skipped, 'other file')}: no track.")
    if unreleased := sum(row.unreleased for row in rows):
        typer.echo(f"NOT USED: {count_of(unreleased, 'file')}, for the reasons above.")
    if earlier := sum(bool(row.refused) and not row.no_track for row in rows) - unreleased:
        typer.echo(f"As shared before: {count_of(earlier, 'file')}, for the reasons above.")
    if words := points_read(rows).sentence():
        typer.echo(words)
    if left_out:
        typer.echo(f"Left out: {', '.join(left_out)}.")


def _became(row: Row) -> str:
    return row.refused or ("taken out of the folder" if row.gone else row.output or "nothing is left")


def points_read(rows: Sequence[Row] | Sequence[AuditRow]) -> PointsRead:
    """Points read and skipped in all sources together."""
    why: Counter[str] = Counter()
    for row in rows:
        why.update(row.skipped)
    return PointsRead(sum(row.points_in for row in rows), dict(why))


def rows_csv(rows: Sequence[Row]) -> str:
    """The whole summary as a table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", "points_in", "points_skipped", "points_out", "output", "left_out", "refused"])
    for row in rows:
        writer.writerow(
            [
                row.source,
                row.points_in,
                sum(row.skipped.values()),
                row.points_out,
                row.output or "",
                "; ".join(row.left_out),
                row.refused or "",
            ]
        )
    return out.getvalue()


def say_left_out(skipped: Mapping[str, int], output: str | Path | None) -> None:
    """Rows that could not be used, by reason; where ``output`` is given, each of them is named there."""
    see = "" if output is None else f", see {output}/_rejects"
    for reason, count in skipped.items():
        typer.echo(f"Left out{see}: {reason} ({count}).")


@contextmanager
def dataset_progress(rows: int, *, quiet: bool) -> Iterator[Callable[[str, int], None] | None]:
    """Two bars on the terminal's stderr, with points per second and the time that is left."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {
            name: bars.add_task(words, total=rows, rate="", start=False)
            for name, words in (("read", "Reading"), ("protect", "Protecting"))
        }

        def step(name: str, count: int) -> None:
            task = bars.tasks[tasks[name]]
            if not task.started:
                bars.start_task(tasks[name])
            bars.advance(tasks[name], count)
            speed = task.completed / max(task.elapsed or 1e-9, 1e-9) / 1e6
            bars.update(tasks[name], rate=f"{speed:.2f} M points/s")

        yield step


def say_worst_group(group: WorstGroup, body: Mapping[str, object], *, quiet: bool) -> dict[str, object]:
    """The worst group of a table, said before anything is written; for the steward, not the release."""
    companions = import_module("sfumato.tracks.adversary.companions")
    if not quiet:
        typer.echo(companions.group_words(group, body))
    odds = companions.group_odds(group, body)
    return {"worst_group": {"people": group.people, "together_s": group.together_s, "odds_99": odds}}


def runs_on_spark(engine: str, master: str | None, addresses: Sequence[str]) -> bool:
    """Whether ``--engine`` is Spark; what only Spark can reach, or is told, is refused elsewhere."""
    if engine not in ("local", "spark"):
        raise InputError(f"There is no engine '{engine}'.", "Engines: local, spark.")
    far = [one for one in addresses if "://" in one]
    if engine == "local" and (far or master is not None):
        what = f"{far[0]} is not on this machine" if far else "--master is for Spark"
        raise InputError(f"{what}.", "Add --engine spark, which reads and writes any address that Hadoop knows.")
    return engine == "spark"
