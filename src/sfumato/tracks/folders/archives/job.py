"""One run over an archive: every source once, staged privately, then put in place; killed anywhere, it is run again.

Why it may be killed is said in :mod:`~sfumato.tracks.folders.archives.staging`. A file is named by its content, so
every ride is there once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import released_of
from sfumato.tracks.folders.archives.manifest import SourceRecord
from sfumato.tracks.folders.archives.naming import kept_name, keyed_name, written_as
from sfumato.tracks.folders.archives.staging import Staging
from sfumato.tracks.io import read_trace, writer_of
from sfumato.tracks.io.archive import Member
from sfumato.tracks.io.formats import FORMATS, format_named, format_of, output_format

CHANGED = "changed since it was shared: left as shared; rename it to share it as another ride"
OTHER_WISH = "shared before with other zones or options: left as shared, which cannot be taken back"
TAKEN = "another ride has this output name already"


@dataclass(frozen=True, slots=True, eq=False)
class RideOutcome:
    """What a ride becomes: the trace to publish (None: nothing is left), and what was left out of it."""

    published: Trace | None
    left_out: tuple[str, ...] = ()
    times: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the private summary. ``refused`` says why a source is not in the output."""

    source: str
    points_in: int
    points_out: int
    left_out: tuple[str, ...] = ()
    skipped: dict[str, int] = field(default_factory=dict)
    refused: str | None = None
    output: str | None = None
    new: bool = False
    no_track: bool = False


@dataclass(frozen=True, slots=True)
class SourceReading:
    """How sources are read."""

    format: str | None = None
    zone: str | None = None
    columns: dict[str, str] | None = None
    keep: tuple[str, ...] = ()
    one_person: bool = False

    def read(self, path: Path) -> tuple[str, Trace]:
        """The format's name and the trace; what is asked to be kept stays where there is some."""
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
        # GeoParquet is told by its ending alone: its content is a Parquet file's.
        geo = chosen.name == "parquet" and path.suffix.lower() in FORMATS["geoparquet"].endings
        return "geoparquet" if geo else chosen.name, trace


class Job(Staging):
    """An archive's output folder being filled, ride by ride."""

    def __init__(
        self,
        out: Path,
        *,
        owner: str,
        key: bytes,
        wish: str,
        keep_names: bool = False,
        remember: bool = False,
        to: str | None = None,
    ) -> None:
        super().__init__(out, owner=owner)
        self.key, self.wish, self.keep_names = key, wish, keep_names
        self.to = None if to is None else output_format("", to).name
        self.rows: list[Row] = []
        self.remembered: dict[str, Trace] | None = {} if remember else None

    def run(
        self,
        members: Iterable[Member],
        transform: Callable[[Trace], RideOutcome],
        reading: SourceReading,
        *,
        look: Callable[[Trace, RideOutcome], None] | None = None,
        strict: bool = False,
        step: Callable[[], None] | None = None,
    ) -> None:
        """Stage every member. ``look`` sees every ride, also those shared before (a leak test needs them all)."""
        for member in members:
            row = self._row(member, transform, reading, look)
            self.rows.append(row)
            if strict and row.refused and not row.no_track:
                raise InputError(f"{row.source}: {row.refused}", "Nothing was written, because of --strict.")
            if step is not None:
                step()

    def _row(
        self,
        member: Member,
        transform: Callable[[Trace], RideOutcome],
        reading: SourceReading,
        look: Callable[[Trace, RideOutcome], None] | None,
    ) -> Row:
        if member.skipped is not None:
            return Row(member.name, 0, 0, refused=member.skipped, no_track=True)
        try:
            with member.path() as path:
                try:
                    return self._one(member.name, path, transform, reading, look)
                except SfumatoError as error:
                    why = f"{error.what} {error.advice}".strip()
                    # The path of an unpacked file says nothing to its owner.
                    return Row(member.name, 0, 0, refused=why.replace(str(path), "The file"))
        except OSError as error:
            return Row(member.name, 0, 0, refused=f"it cannot be read: {error.strerror}")
        except SfumatoError as error:
            return Row(member.name, 0, 0, refused=f"{error.what} {error.advice}".strip())

    def _one(
        self,
        source: str,
        path: Path,
        transform: Callable[[Trace], RideOutcome],
        reading: SourceReading,
        look: Callable[[Trace, RideOutcome], None] | None,
    ) -> Row:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        known = self.manifest.records.get(source)
        if known is not None and known.placed:
            if known.source_sha256 != digest:
                return _row_of(known, refused=CHANGED)
            if known.wish != self.wish:
                return _row_of(known, refused=OTHER_WISH)
            if look is None:
                return _row_of(known)
        format, trace = reading.read(path)
        outcome = transform(trace)
        if look is not None:
            look(trace, outcome)
        if known is not None and known.placed:
            return _row_of(known)
        left_out = tuple(dict.fromkeys((*trace.dropped, *outcome.left_out)))
        record = SourceRecord(
            source, digest, self.wish, None, None, len(trace), 0, left_out, skipped=dict(trace.skipped)
        )
        if outcome.published is not None:
            record = self._stage(record, outcome.published, self.to or written_as(format), outcome.times)
        self.manifest.add(record)
        return _row_of(record, new=True)

    def _stage(self, record: SourceRecord, trace: Trace, format: str, times: bool) -> SourceRecord:
        ending = FORMATS[format].endings[0]
        filled = self.staging / f"being-written{ending}"
        filled.unlink(missing_ok=True)
        writer_of(FORMATS[format], times=times)(trace, filled)  # private until it is whole and named
        content = hashlib.sha256(filled.read_bytes())
        if self.keep_names:
            name = kept_name(record.source, ending)
        else:
            name = keyed_name(self.key, content.digest(), ending)
        released = released_of([(None, trace)])
        record = replace(
            record,
            output=name,
            output_sha256=content.hexdigest(),
            points_out=released.points,
            content_sha256=released.digest(),
        )
        if not self.named(record):
            filled.unlink()
            raise InputError(f"{TAKEN}.", "Rename it, or leave --keep-names out.")
        if self.remembered is not None:
            self.remembered[name] = trace
        target = self.staging / name
        target.parent.mkdir(parents=True, exist_ok=True)
        filled.replace(target)
        return record

    def place(self) -> None:
        """Put everything that was staged in this run into the output folder, in the order of its names."""
        self.place_all(self.manifest.records[row.source] for row in self.rows if row.new)


def _row_of(record: SourceRecord, *, refused: str | None = None, new: bool = False) -> Row:
    return Row(
        record.source,
        record.points_in,
        record.points_out,
        record.left_out,
        dict(record.skipped),
        refused,
        record.output,
        new,
    )
