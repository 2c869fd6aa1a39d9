"""How an archive is read and filled, whom its run asks on the way, and what it says of every source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.manifest import SourceRecord
from sfumato.tracks.folders.staging import Sign
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.formats import Format, format_named, format_of, written_as
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.leak_test import PlaceLeak

CHANGED = "changed since it was shared, not only grown: left as shared; rename it to share it as another ride"
OTHER_WISH = "shared before with other zones or options: left as shared, which cannot be taken back"


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
        return self.refused is not None and not self.no_track and self.refused != OTHER_WISH

    @classmethod
    def of(cls, record: SourceRecord, *, refused: str | None = None, new: bool = False) -> Row:
        """What the manifest says of a source."""
        counts = (record.points_in, record.points_out, record.left_out, dict(record.skipped))
        return cls(record.source, *counts, refused, record.output, new)


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


@dataclass(frozen=True, slots=True)
class Faces:
    """What the caller does on the way, before anything is in place: each may raise, and then nothing is written.

    ``step`` after every source, ``tested`` with the leak test, ``priced`` with the certificate of the noise and the
    name of its process (for a ledger), ``unnamed`` with places that no zone covers though rides begin and end there
    again and again, or somebody spent a night, ``sign`` puts a signature under the certificate, and ``certified``
    writes it down: killed at any moment, no release is without its certificate.
    """

    step: Callable[[], None] | None = None
    tested: Callable[[tuple[PlaceLeak, ...], tuple[str, ...]], None] | None = None
    priced: Callable[[Document, str], None] | None = None
    sign: Sign | None = None
    certified: Callable[[FolderDocument], object] | None = None
    unnamed: Callable[[Sequence[FoundPlace]], None] | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """How an archive is read and filled, whatever is done to its rides; ``to`` is the format of every output."""

    reading: SourceReading = field(default_factory=SourceReading)
    state: Path | None = None
    passphrase: str | None = None
    keep_names: bool = False
    to: str | None = None
    strict: bool = False
    faces: Faces = field(default_factory=Faces)
    rng: Random = None
