"""An archive attacked again by its owner: originals beside what was shared, file by file and all of them together.

Which file came from which only the private manifest knows; originals are matched by the hash of their bytes, so they
may lie anywhere by now. Noise is attacked over all files at once, as somebody would who has the whole folder; times
that were changed afterwards are given back to the attacker, who may know them. Hidden places are attacked by the leak
test, and every published point is held against the zones. All of it is private.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError, SfumatoError, VerificationFailed
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace, join_traces
from sfumato.base.units import count_of
from sfumato.tracks.adversary.audit import WITHIN_M, Audit, audit
from sfumato.tracks.certificates.build import rounded_times
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.manifest import SourceRecord, family_of, files_of, read_records
from sfumato.tracks.folders.rides.growing import told_apart
from sfumato.tracks.folders.staging import ARCHIVE
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.io import SourceReading, read_trace
from sfumato.tracks.io.archive import Member, members
from sfumato.tracks.io.formats import NoTrack
from sfumato.tracks.places.leak_test import LeakTest, PlaceLeak
from sfumato.tracks.places.places_file import Places
from sfumato.tracks.places.withhold import withhold

MOST_POINTS = 50_000  # attacked together; beyond that, evenly chosen files
NOT_SHARED = "not shared: it is not in the private manifest"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One original: what became of it, and how far off its published points are (root mean square per coordinate).

    ``within_a_metre`` is the share of its published points that lie where they were.
    """

    source: str
    points_in: int = 0
    points_out: int = 0
    output: str | None = None
    error_m: float | None = None
    inside: int = 0
    refused: str | None = None
    no_track: bool = False
    within_a_metre: float | None = None
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ArchiveAudit:
    """``noise`` is the attack on the noise (None: there is none, or no times), ``attacked`` how many files it saw."""

    rows: tuple[AuditRow, ...]
    noise: Audit | None
    attacked: int
    leaks: tuple[PlaceLeak, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def inside(self) -> int:
        """Published points inside a zone: none, or files were shared before a place was named."""
        return sum(leak.open_points for leak in self.leaks)

    @property
    def still_found(self) -> bool:
        """Whether a place lies open, or attackers find one by the roads that lead there."""
        return any(leak.found for leak in self.leaks)

    @property
    def unprotected(self) -> bool:
        """Whether what was shared is the original: nothing moved by a metre, and nothing withheld or noise promised."""
        shared = [row for row in self.rows if row.within_a_metre is not None]
        whole = self.noise is not None or all(row.points_in == row.points_out for row in shared)
        return bool(shared) and whole and all(row.within_a_metre == 1.0 for row in shared)


@dataclass(slots=True, eq=False)
class _Compared:
    """Originals held against what was shared of them; ``pairs`` are those of the same points."""

    folder: Path
    reading: SourceReading
    known: Mapping[str, SourceRecord]
    places: Places | None = None
    test: LeakTest | None = None
    pairs: list[tuple[Trace, Trace]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path, document: Document, reading: SourceReading | None) -> _Compared:
        reading = replace(reading or SourceReading(), keep=tuple(document["kept"]))
        return cls(folder, reading, read_records(folder))

    def rows(self, sources: Sequence[str | Path], step: Callable[[], None] | None = None) -> Iterator[AuditRow]:
        for member in members(sources):
            yield self._row(member)
            if step is not None:
                step()

    def _row(self, member: Member) -> AuditRow:
        if member.skipped is not None:
            return AuditRow(member.name, refused=member.skipped, no_track=True)
        try:
            with member.path() as path:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                if digest not in self.known:
                    return AuditRow(member.name, refused=NOT_SHARED)
                original = rounded_times(self.reading.read(path)[1])
        except NoTrack as error:
            return AuditRow(member.name, refused=error.what, no_track=True)
        except (SfumatoError, OSError) as error:
            return AuditRow(member.name, refused=getattr(error, "what", "it cannot be read"))
        row = AuditRow(member.name, len(original), skipped=dict(original.skipped))
        parts = [self._part(row, piece, files_of(self.known, one)) for one, piece in self._pieces(digest, original)]
        if len(parts) == 1:
            return parts[0]
        there = [part for part in parts if part.error_m is not None]
        weights = [part.points_out for part in there]
        return replace(
            row,
            points_out=sum(part.points_out for part in parts),
            output=next((part.output for part in parts if part.output), None),
            inside=sum(part.inside for part in parts),
            refused=next((part.refused for part in parts if part.refused), None),
            error_m=math.sqrt(_mean([(part.error_m or 0.0) ** 2 for part in there], weights)) if there else None,
            within_a_metre=_mean([part.within_a_metre or 0.0 for part in there], weights) if there else None,
        )

    def _pieces(self, digest: str, original: Trace) -> list[tuple[str, Trace]]:
        """What of an original was shared when: each part of a file that grew, with the hash that the file had then."""
        latest, by_source = self.known[digest], {one.source: one for one in self.known.values()}
        whole = latest.source.removesuffix(f" (part {latest.part})")
        family = [one for one in family_of(by_source, whole) if one.part <= latest.part]
        spans = [(one.first_s, one.last_s) for one in family]
        if len(family) < 2 or any(first_s is None or last_s is None for first_s, last_s in spans):
            return [(digest, original)]
        family_spans = [
            (one, (first_s or 0.0, last_s or 0.0)) for one, (first_s, last_s) in zip(family, spans, strict=True)
        ]
        found = told_apart(original, family_spans, lambda _, piece: (piece, "same"))
        return [(one.source_sha256, piece) for one, piece, _ in found.kept]

    def _part(self, row: AuditRow, original: Trace, files: list[str]) -> AuditRow:
        row = replace(row, points_in=len(original))
        if not files:
            if self.test is not None:
                self.test.add(original, None)
            return row
        if not all((self.folder / name).exists() for name in files):
            return replace(row, refused="taken out of the folder since it was shared")
        self.seen.update(files)
        return self._held_against(row, original, files)

    def _held_against(self, row: AuditRow, original: Trace, files: list[str]) -> AuditRow:
        keep, left = self.reading.keep, original
        traces = [read_trace(self.folder / name, keep=keep, keep_if_there=True) for name in files]
        shared = traces[0] if len(traces) == 1 else join_traces(traces)
        row = replace(row, points_out=len(shared), output=files[0])
        if self.places is not None and self.test is not None:
            before = self.test.open_points
            self.test.add(original, shared)
            row = replace(row, inside=self.test.open_points - before)
            kept = [name for name in keep if name in original.columns or name in original.texts]
            left = withhold(original, self.places.zones, keep=kept).trace or original
        if len(left) != len(shared):
            return replace(row, refused="it was made in another way, or grew")
        shared = replace(shared, times_s=left.times_s, segment=left.segment)  # the attacker may know them
        moved = differences_m(left.lat_deg, left.lon_deg, shared.lat_deg, shared.lon_deg)
        self.pairs.append((left, shared))
        near = float(np.mean(np.hypot(*moved.T) <= WITHIN_M))
        return replace(row, error_m=float(np.sqrt(np.mean(moved**2))), within_a_metre=near)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    return float(np.average(values, weights=weights))


def audit_archive(
    sources: Sequence[str | Path],
    folder: Path,
    certificate: str | Path | Document,
    *,
    places: Places | None = None,
    reading: SourceReading | None = None,
    prior: str = "fit",
    step: Callable[[], None] | None = None,
) -> ArchiveAudit:
    """What an adversary still learns from a shared folder, with the originals at hand."""
    document = _certified(certificate, folder)
    if document["withheld"] is not None and places is None:
        raise InputError("This archive hides places.", "Give the places file it was made with: --places me.places.")
    if document["withheld"] is None and places is not None:
        raise InputError("This archive hides no places.", "Leave --places out.")
    if document["times"]["released"] == "drop":
        raise InputError(
            "The shared files show no times, so they cannot be read as tracks again.",
            "What `hide` printed before it wrote them is their leak test.",
        )
    found = _Compared.of(folder, document, reading)
    if places is not None:
        noise_m = (document["noise"] or {}).get("rms_noise_m") or 0.0
        found.places, found.test = places, LeakTest(places, noise_m=float(noise_m))
    rows, notes = tuple(found.rows(sources, step)), list[str]()
    if not any(row.output for row in rows):
        raise InputError(
            "None of the files given was shared in this folder.", "Give the originals it was made from, unchanged."
        )
    shared = {record.output for record in found.known.values() if record.output}
    shared &= {str(file["name"]) for file in document["files"]}
    if missing := sorted(shared - found.seen):
        notes.append(f"Made from originals that were not given: {count_of(len(missing), 'shared file')}.")
        for name in missing:
            if found.test is not None:
                earlier = read_trace(folder / name)
                found.test.add(earlier, earlier)
    noise, attacked = None, 0
    if document["noise"] is not None:
        chosen = _chosen(found.pairs)
        attacked = len(chosen)
        originals, releases = join_traces([one for one, _ in chosen]), join_traces([other for _, other in chosen])
        noise = audit(originals, releases, document["noise"], prior=prior)
        if attacked < len(found.pairs):
            notes.append(f"The noise was attacked over {attacked} of {len(found.pairs)} files, evenly chosen.")
    return ArchiveAudit(rows, noise, attacked, () if found.test is None else found.test.results(), tuple(notes))


def shared_pairs(
    sources: Sequence[str | Path], folder: Path, certificate: str | Path | Document, reading: SourceReading
) -> tuple[Trace, Trace, Document]:
    """Originals and what was shared of them, each as one track, and the certificate of the noise between them."""
    document = _certified(certificate, folder)
    if document["withheld"] is not None or document["noise"] is None or document["times"]["released"] == "drop":
        raise InputError(
            "Files that were cut, or show no times, cannot be held against their originals point by point.",
            "Give a folder that sfumato protect wrote, with times.",
        )
    found = _Compared.of(folder, document, reading)
    list(found.rows(sources))
    if not found.pairs:
        raise InputError("None of the files given was shared in this folder.", "Give the originals, unchanged.")
    originals, releases = zip(*found.pairs, strict=True)
    return join_traces(originals), join_traces(releases), document["noise"]


def _certified(certificate: str | Path | Document, folder: Path) -> Document:
    """The certificate that holds of an archive."""
    document = verify_folder(certificate, folder).certificate
    if document["kind"] != ARCHIVE:
        raise VerificationFailed("This is not the certificate of an archive.", "Give the one that speaks of its files.")
    return document


def _chosen(pairs: Sequence[tuple[Trace, Trace]]) -> list[tuple[Trace, Trace]]:
    """All pairs, or evenly chosen ones with about MOST_POINTS points together."""
    points = sum(len(one) for one, _ in pairs)
    if points <= MOST_POINTS:
        return list(pairs)
    return [pairs[k] for k in evenly(len(pairs), max(1, len(pairs) * MOST_POINTS // points))]
