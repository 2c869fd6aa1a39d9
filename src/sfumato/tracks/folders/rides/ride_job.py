"""One run over an archive: every source once, staged privately, then put in place; killed anywhere, it is run again.

Why it may be killed is said in :mod:`~sfumato.tracks.folders.staging`. A file is named by a keyed function of what is
published, so that its name tells nothing of what is not: a number would count what vanished, a date would tell when,
and a source's name whatever its owner wrote. Same content, same name, no order; so every ride is there once.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from sfumato.base.errors import InputError, NotCertified, SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import released_of
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import CertifiedFile, FolderDocument
from sfumato.tracks.folders.manifest import (
    SourceRecord,
    family_of,
    kept_name,
    keyed_name,
    part_name,
    sources_by_content,
)
from sfumato.tracks.folders.rides.growing import SHORTER, Still, alone_by_segment, is_part, told_apart
from sfumato.tracks.folders.rides.one_person import Whereabouts
from sfumato.tracks.folders.rides.sharing import Sharing, Witness
from sfumato.tracks.folders.staging import NO_ROOM, WITHHELD_BEFORE, FolderStatement, Staging, opened_private
from sfumato.tracks.io import read_trace, writer_of
from sfumato.tracks.io.archive import Member, members
from sfumato.tracks.io.formats import Format, NoTrack, output_format, released_as
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.leak_test import PlaceLeak
from sfumato.tracks.plan import Times

CHANGED = "changed since it was shared, not only grown: left as shared; rename it to share it as another ride"
OTHER_WISH = "shared before with other zones or options: left as shared, which cannot be taken back"
TAKEN = "another ride has this output name already"


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What is said of all rides together: the noise's certificate before it is sealed, and (private) the leak test."""

    noise: Document | None
    simulation: bool
    leaks: tuple[PlaceLeak, ...] = ()
    unvisited: tuple[str, ...] = ()
    withheld: Sequence[str] = ()
    found: Sequence[FoundPlace] = ()


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
    gone: bool = False

    @property
    def unreleased(self) -> bool:
        """Whether something of a track is not in the output, and was not there before either."""
        return self.refused is not None and not self.no_track and self.refused not in (OTHER_WISH, SHORTER)

    @classmethod
    def of(cls, record: SourceRecord, *, refused: str | None = None, new: bool = False) -> Row:
        """What the manifest says of a source."""
        counts = (record.points_in, record.points_out, record.left_out, dict(record.skipped))
        return cls(record.source, *counts, refused, record.output, new)


@dataclass(frozen=True, slots=True, eq=False)
class Treatment:
    """What is done to every ride: ``publish`` gives what may be shared of it, None where nothing is left.

    ``key`` names files; ``wish`` is a hash of all that the output depends on beside the ride. ``conclude`` is asked
    when all are staged, and may raise.
    ``noisy``: one noise over all rides, which must be one person's. ``remember``: keep what is published in memory.
    ``grows``: what came to a source since it was shared is released as a part of its own.
    """

    key: bytes
    owner: str
    wish: str
    times: Times
    publish: Callable[[Trace], Trace | None]
    conclude: Callable[[Job], Said]
    looks: Witness | None = None
    noisy: bool = True
    remember: bool = False
    grows: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArchiveResult:
    """What happened. ``rows``, ``leaks`` and ``found`` are private; ``document`` is the certificate, public."""

    rows: tuple[Row, ...]
    leaks: tuple[PlaceLeak, ...]
    unvisited: tuple[str, ...]
    document: FolderDocument
    private: Path
    strangers: tuple[str, ...] = ()
    found: Sequence[FoundPlace] = ()

    @property
    def lies_open(self) -> bool:
        """Whether a place, or whatever cannot be looked into, lies open in the folder."""
        return WITHHELD_BEFORE[0] in (self.document["withheld"] or ())

    @property
    def still_found(self) -> bool:
        """Whether a place lies open, or attackers find one by the roads that lead there."""
        return self.lies_open or any(leak.found for leak in self.leaks)

    @property
    def shared(self) -> int:
        """Files in the output folder."""
        return len(self.document["files"])


def fill_archive(
    sources: Sequence[str | Path], out: Path, how: Sharing, begin: Callable[[Path], Treatment]
) -> ArchiveResult:
    """Every ride of the sources, treated as ``begin`` says of the private folder; certified, then in place.

    A run that ends early leaves no private folder that it began, unless a file is in place: what was shared needs its
    manifest and its noise's key. A state that its owner named stays, since another run may go on from it by now.
    """
    if next(iter(members(sources, how.ready)), None) is None:
        require_something(())
    with opened_private(out, sources) as private:
        begun = not any(private.iterdir())
        try:
            return _filled(sources, out, how, begin(private))
        except BaseException:
            if begun and not (out.is_dir() and any(path.is_file() for path in out.rglob("*"))):
                shutil.rmtree(private, ignore_errors=True)
            raise


def _filled(sources: Sequence[str | Path], out: Path, how: Sharing, do: Treatment) -> ArchiveResult:
    job, faces = Job(out, do, how), how.faces
    try:
        job.run(sources)
        require_something(job.rows)
        if job.whereabouts is not None and not how.reading.one_person:
            job.whereabouts.refuse_two_people()
        said = do.conclude(job)
        files: list[CertifiedFile] = [{"name": name, "sha256": digest} for name, digest in job.outputs]
        statement = FolderStatement(files, do.times, how.reading.keep, said.noise, said.withheld, said.simulation)
        document = statement.document(faces.sign)
        if faces.certified is not None:
            faces.certified(document)
        job.place_all(job.manifest.records[row.source] for row in job.rows if row.new)
    finally:
        job.close()
    strangers = tuple(job.strangers())
    return ArchiveResult(tuple(job.rows), said.leaks, said.unvisited, document, job.private, strangers, said.found)


class Job(Staging):
    """An archive's output folder being filled, ride by ride; ``published`` are the traces that this run staged."""

    def __init__(self, out: Path, do: Treatment, how: Sharing) -> None:
        super().__init__(out, owner=do.owner)
        self.do, self.how = do, how
        self.to = None if how.to is None else output_format("", how.to)
        # A wish also names the format to write.
        self.wish = do.wish if how.to is None else hashlib.sha256(f"{do.wish} as {how.to}".encode()).hexdigest()
        self.known = sources_by_content(self.manifest.records.values())
        self.rows: list[Row] = []
        self.further: list[Row] = []  # of a ride that became several files
        self.whereabouts = Whereabouts() if do.noisy else None
        self.published: dict[str, Trace] = {}
        self.looked_at: set[str] = set()

    def run(self, sources: Sequence[str | Path]) -> None:
        """Stage every member of the sources."""
        for member in members(sources, self.how.ready):
            row = self._row(member)
            self.rows += [row, *self.further]
            self.further.clear()
            if self.how.strict and row.refused and not row.no_track:
                raise InputError(f"{row.source}: {row.refused}", "Nothing was written, because of --strict.")
            if self.how.faces.step is not None:
                self.how.faces.step()

    def _row(self, member: Member) -> Row:
        if member.skipped is not None:
            return Row(member.name, 0, 0, refused=member.skipped, no_track=True)
        where = ""
        try:
            with member.path() as path:
                where = str(path)
                return self._one(member.name, path)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            return Row(member.name, 0, 0, refused=f"it cannot be read: {error.strerror}")
        except NotCertified:  # the noise that was drawn is not what is stated: nothing of the archive is released
            raise
        except SfumatoError as error:
            why = f"{error.what} {error.advice}".strip()
            why = why.replace(where, "The file") if where else why  # of one unpacked it says nothing to its owner
            return Row(member.name, 0, 0, refused=why, no_track=isinstance(error, NoTrack))

    def _one(self, source: str, path: Path) -> Row:
        digest, looks = hashlib.sha256(path.read_bytes()).hexdigest(), self.do.looks
        if source not in self.manifest.records:
            source = self.known.get((digest, PurePosixPath(source).name), source)
        family = family_of(self.manifest.records, source)
        if looks is None:
            return self._treated(source, digest, family, path)
        if family and family[-1].source_sha256 == digest and all(map(self.is_as_shared, family)):
            row = self._row_of(family)
            if looks.recall(self.seen_as(family)):
                self.looked_at.update(one.output or "" for one in family)
                return row
        try:
            row = self._treated(source, digest, family, path)
        finally:
            now = family_of(self.manifest.records, source, staged=True)
            whole = bool(now) and now[-1].source_sha256 == digest
            looks.settle(self.seen_as(now) if whole else None)
        return row

    def seen_as(self, family: Sequence[SourceRecord]) -> str:
        """What a source shows depends on this alone: itself, what was shared of it with which zones, what is there."""
        every = [(one.source_sha256, one.output_sha256, one.wish, one.output in self.gone) for one in family]
        return hashlib.sha256(repr(every).encode()).hexdigest()

    def _row_of(self, family: Sequence[SourceRecord], changed: str | None = None) -> Row:
        """What is said of a source that was shared before; what its owner took out stays out."""
        first, gone = family[0], family[0].output in self.gone
        other = OTHER_WISH if any(one.wish != self.wish for one in family) else None
        refused = None if gone else changed or other
        return replace(Row.of(first, refused=refused), gone=gone)

    def _treated(self, source: str, digest: str, family: Sequence[SourceRecord], path: Path) -> Row:
        if family:
            if self.do.grows and (len(family) > 1 or family[0].source_sha256 != digest):
                return self._grown(family, digest, path)
            return self._again(family[0], digest, path)
        format, trace = self.how.reading.read(path)
        return self._release(SourceRecord(source, digest, self.wish, None, None, 0, 0), trace, format)

    def _release(self, record: SourceRecord, trace: Trace, format: Format) -> Row:
        """A ride, or what came to one: published, looked at and staged."""
        if self.whereabouts is not None:
            self.whereabouts.add(trace)
        published = self.do.publish(trace)
        if self.do.looks is not None:
            self.do.looks.look(trace, published)
        record = replace(
            record,
            points_in=len(trace),
            left_out=tuple(dict.fromkeys(trace.dropped)),
            skipped=dict(trace.skipped),
            first_s=float(trace.times_s.min()),
            last_s=float(trace.times_s.max()),
        )
        if published is not None:
            record, *others = self._staged(record, published, released_as(self.to or format, timed=self.do.times.shown))
            self.further += [self._added(one) for one in others]
        return self._added(record)

    def _added(self, record: SourceRecord) -> Row:
        self.looked_at.add(record.output or "")
        self.manifest.add(record)
        return Row.of(record, new=True)

    def _grown(self, family: Sequence[SourceRecord], digest: str, path: Path) -> Row:
        """A source that has more in it than was shared: the rest as a file of its own, the earlier ones as they are."""
        first, do = family[0], self.do
        spans = [span for one in family if (span := self._span(one)) is not None]
        if len(spans) < len(family):
            return self._again(first, digest, path)
        format, trace = self.how.reading.read(path)
        found = told_apart(trace, list(zip(family, spans, strict=True)), self._as_shared)
        for one, piece, published in found.kept:
            if do.looks is not None:
                do.looks.look(piece, published)
                self.looked_at.add(one.output or "")
        changed = CHANGED if found.changed else SHORTER if found.shorter else None
        row = self._row_of(family, changed)
        if found.fresh is None:
            return row
        part = len(family) + 1
        record = SourceRecord(part_name(first.source, part), digest, self.wish, None, None, 0, 0, part=part)
        return replace(self._release(record, found.fresh, format), refused=row.refused if changed else None)

    def _span(self, record: SourceRecord) -> tuple[float, float] | None:
        """From when to when a source went that was shared; from its file, where 0.2.0 shared it with its times."""
        if record.first_s is not None and record.last_s is not None:
            return record.first_s, record.last_s
        if record.output is None or self.do.times.kind != "keep" or not (self.out / record.output).exists():
            return None
        times = read_trace(self.out / record.output).times_s
        return float(times.min()), float(times.max())

    def _again(self, placed: SourceRecord, digest: str, path: Path) -> Row:
        """A source that was shared before: it is looked at again as it lies in the folder."""
        do, row = self.do, self._row_of([placed], CHANGED if placed.source_sha256 != digest else None)
        if do.looks is not None:
            trace = self.how.reading.read(path)[1]
            if self.whereabouts is not None:
                self.whereabouts.add(trace)
            do.looks.look(trace, do.publish(trace) if row.refused is None else self._shared_before(placed, trace))
            self.looked_at.add(placed.output or "")
        return row

    def _as_shared(self, record: SourceRecord, piece: Trace) -> tuple[Trace | None, Still]:
        """What was shared of a piece, and whether it would be shared like that again (with the zones of then)."""
        if record.wish != self.wish:
            return self._shared_before(record, piece), "same"
        published = self.do.publish(piece)
        digest = None if published is None else released_of([(None, published)]).digest()
        if digest == record.content_sha256:
            return published, "same"
        shared = self._shared_before(record, piece)
        return (shared, "shorter") if is_part(published, shared) else (published, "changed")

    def _shared_before(self, record: SourceRecord, original: Trace) -> Trace | None:
        """What lies in the folder of a ride; all of the ride where that cannot be read (files without times)."""
        if record.output is None:
            return None
        try:
            return read_trace(self.out / record.output)
        except SfumatoError:
            return original

    def _staged(self, record: SourceRecord, trace: Trace, format: Format) -> list[SourceRecord]:
        """The ride as one file; as one for each of its segments where a file of the format holds no more than one."""
        pieces = alone_by_segment(record, trace) if format.one_segment else [(record, trace, "")]
        if self.how.name is not None and len(pieces) > 1:
            what = f"{len(pieces)} segments are left of the ride, and a file of {format.title} holds one."
            raise InputError(what, "Name a folder, for a file each, or another format.")
        staged = list[SourceRecord]()
        try:
            for one, piece, segment in pieces:
                staged.append(self._stage(one, piece, format, segment))
        except SfumatoError:  # all of a ride, or nothing
            for one in staged:
                self.withdraw(one)
            raise
        return staged

    def _stage(self, record: SourceRecord, trace: Trace, format: Format, segment: str) -> SourceRecord:
        ending = format.endings[0]
        filled = self.staging / f"being-written{ending}"
        filled.unlink(missing_ok=True)
        writer_of(format, times=self.do.times.shown)(trace, filled)  # private until it is whole and named
        content = hashlib.sha256(filled.read_bytes())
        name = keyed_name(self.do.key, content.digest(), ending)
        if self.how.keep_names:
            part = f" part {record.part}" if record.part > 1 else ""
            source = record.source.removesuffix(segment).removesuffix(f" ({part.strip()})")
            name = kept_name(source, f"{part}{segment}{ending}")
        name = self.how.name or name
        said, sha, points = released_of([(None, trace)]).digest(), content.hexdigest(), len(trace)
        record = replace(record, output=name, output_sha256=sha, points_out=points, content_sha256=said)
        if not self.enter_name(record):
            filled.unlink()
            raise InputError(f"{TAKEN}.", "Rename it, or leave --keep-names out.")
        if self.do.remember:
            self.published[name] = trace
        target = self.staging / name
        target.parent.mkdir(parents=True, exist_ok=True)
        filled.replace(target)
        return record


def require_something(rows: Sequence[Row]) -> None:
    """Refuse an archive of which no file could be used."""
    if any(row.refused is None for row in rows) or any(row.output for row in rows):
        return
    if not rows:
        raise InputError("There is no file in what was given.", "Give a folder, files or an archive with tracks.")
    first = next((row for row in rows if not row.no_track), rows[0])
    raise InputError(
        f"None of {count_of(len(rows), 'file')} could be used; {first.source}: {first.refused}", "Nothing was written."
    )
