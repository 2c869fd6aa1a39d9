"""How an archive is read and filled, and whom its run asks on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.base.randomness import Random
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.staging import Sign
from sfumato.tracks.io import SourceReading
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.leak_test import PlaceLeak


@dataclass(frozen=True, slots=True)
class Faces:
    """What the caller does on the way, before anything is in place: each may raise, and then nothing is written.

    ``step`` is called after every source, ``tested`` with the leak test, ``unnamed`` with the places outside all zones
    where rides keep beginning or ending or where somebody spent a night, ``priced`` with the certificate of the noise
    and the name of its process (for a ledger). ``sign`` signs the certificate, ``certified`` writes it down before the
    files are in place, so that a release whose job was killed is never without its certificate.
    """

    step: Callable[[], None] | None = None
    tested: Callable[[tuple[PlaceLeak, ...], tuple[str, ...]], None] | None = None
    priced: Callable[[Document, str], None] | None = None
    sign: Sign | None = None
    certified: Callable[[FolderDocument], object] | None = None
    unnamed: Callable[[Sequence[FoundPlace]], None] | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """How an archive is read and filled, whatever is done to its rides; ``to`` is the format of every output.

    ``name`` is the file's where there is one ride in and one file out.
    ``ready`` says which files of a folder are finished; the others are not looked at.
    """

    reading: SourceReading = field(default_factory=SourceReading)
    state: Path | None = None
    passphrase: str | None = None
    keep_names: bool = False
    to: str | None = None
    strict: bool = False
    faces: Faces = field(default_factory=Faces)
    rng: Random = None
    name: str | None = None
    ready: Callable[[Path], bool] | None = None
