"""One run over an archive: every source once, staged privately, then put in place; killed anywhere, it is run again.

*Why it may be killed.* What is written is a function of source, wish and keys; keys are on the disk before their first
use. A file is filled in a private folder, named by its content, and recorded; at the end every staged file is renamed
into the output folder and recorded as placed. Whatever a kill leaves undone is done again to the same bytes under the
same name, so every ride is there once. Nothing of a run that is refused at the end gets into the output folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from sfumato.archives.manifest import Manifest, SourceRecord
from sfumato.archives.naming import inside, kept_name, keyed_name, written_as
from sfumato.certificates.build import ReleasedFiles, released_of
from sfumato.errors import InputError, SfumatoError
from sfumato.files import locked, remove_leftovers
from sfumato.io import read_trace, writer_of
from sfumato.io.archive import Member
from sfumato.io.formats import FORMATS, format_named, format_of, output_format
from sfumato.traces import Trace

STATE_NAME, SUMMARY_NAME = "noise.state", "summary.csv"
_FILE_TIME_S = 946_684_800  # 2000-01-01: when a file was written would tell the order, and the gaps
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


class _Output(NamedTuple):
    """One file of the output folder, as certificates speak of it."""

    file_sha256: str
    points: int
    content_sha256: str

    @classmethod
    def of(cls, record: SourceRecord) -> _Output:
        return cls(record.output_sha256 or "", record.points_out, record.content_sha256 or "")


class Job:
    """An output folder being filled. ``private`` is the folder beside it, 0700, that is nobody else's business."""

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
        self.out, self.private = out, private_folder(out)
        self.key, self.wish, self.keep_names = key, wish, keep_names
        self.to = None if to is None else output_format("", to).name
        self.staging = self.private / "staging"
        self.rows: list[Row] = []
        self.remembered: dict[str, Trace] | None = {} if remember else None
        self._outputs: dict[str, _Output] = {}
        self.manifest = Manifest(self.private / "manifest.jsonl", owner)
        self.staging.mkdir(mode=0o700, exist_ok=True)
        for record in list(self.manifest.records.values()):
            if record.output is None:
                continue
            if not record.placed and _is_there(out / record.output, record.output_sha256):
                # killed between the rename and its record: it may have been shared since, so it stays certified
                self.manifest.add(replace(record, placed=True))
            if self.manifest.records[record.source].placed:
                self._outputs[record.output] = _Output.of(record)

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
        if self._outputs.setdefault(name, _Output.of(record)).file_sha256 != content.hexdigest():
            filled.unlink()
            raise InputError(f"{TAKEN}.", "Rename it, or leave --keep-names out.")
        if self.remembered is not None:
            self.remembered[name] = trace
        target = self.staging / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.utime(filled, (_FILE_TIME_S, _FILE_TIME_S))
        filled.replace(target)
        return record

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """Every output file and its hash, placed or staged in this run, in the order of names."""
        return sorted((name, output.file_sha256) for name, output in self._outputs.items())

    @property
    def released(self) -> ReleasedFiles:
        """What a certificate of noise is made from: every output's points and digest, in the order of names."""
        return ReleasedFiles(tuple((o.points, o.content_sha256) for _, o in sorted(self._outputs.items())))

    def where(self, name: str) -> Path:
        """An output file, staged or placed."""
        staged = self.staging / name
        return staged if staged.exists() else self.out / name

    def place(self) -> None:
        """Put everything that was staged in this run into the output folder, in the order of its names."""
        self.out.mkdir(parents=True, exist_ok=True)
        fresh = [self.manifest.records[row.source] for row in self.rows if row.new]
        for record in sorted(fresh, key=lambda record: record.output or ""):
            if record.placed:
                continue
            if record.output is not None and (self.staging / record.output).exists():
                target = self.out / record.output
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.staging / record.output).replace(target)
            self.manifest.add(replace(record, placed=True))
        for folder in (*(path for path in self.out.rglob("*") if path.is_dir()), self.out):
            os.utime(folder, (_FILE_TIME_S, _FILE_TIME_S))

    def close(self) -> None:
        """Leave no staged file behind."""
        shutil.rmtree(self.staging, ignore_errors=True)
        self.manifest.close()


def private_folder(out: Path) -> Path:
    """The folder beside the output that holds what is nobody else's business."""
    resolved = out.resolve()
    return resolved.with_name(f"{resolved.name}.private")


@contextmanager
def opened_private(out: Path, sources: Iterable[str | Path]) -> Iterator[Path]:
    """The private folder, made if absent, locked; refused where output and input lie in one another."""
    for source in sources:
        folder = Path(source)
        if folder.is_dir() and (inside(folder, out) or inside(out, folder)):
            raise InputError(
                "The output folder lies in the input folder, or the input in it.",
                "Choose an output folder beside it: what is shared must not be read again as a ride.",
            )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file.", "Name a folder for the output of an archive.")
    folder = private_folder(out)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make {folder}: {error.strerror}.", "Choose a folder you can write to.") from error
    try:
        with locked(folder / "job", wait=False):
            remove_leftovers(folder / STATE_NAME, folder / SUMMARY_NAME)
            yield folder
    except BlockingIOError as error:
        raise InputError("Another run is filling this output folder.", "Wait until it has ended.") from error


def _is_there(path: Path, sha256: str | None) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False


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
