"""How an archive is read and filled, and whom its run asks on the way."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.staging import Sign
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.formats import output_format
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


class Witness(Protocol):
    """Sees every ride, also those shared before: a leak test needs them all."""

    def recall(self, name: str) -> bool:
        """Whether all that a source showed was seen before under this name, and counts again; the next one begins."""

    def look(self, trace: Trace, published: Trace | None) -> None:
        """A ride as it was recorded, and as it is shared."""

    def settle(self, name: str | None) -> None:
        """The source has ended; what it showed may be recalled by this name."""


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


ALONE = "Attackers were given this ride alone: share several from one folder, and all of them are attacked together."


@contextmanager
def filled_beside(
    sources: Sequence[str | Path], out: Path, how: Sharing, *, force: bool = False
) -> Iterator[tuple[Path, Sharing]]:
    """A folder to fill with one file of the output's name and format; the file is moved to its place afterwards."""
    if out.exists() and out.resolve() == Path(sources[0]).resolve():
        raise InputError(f"{out} is the ride itself.", "Name another file for what may be shared.")
    if out.exists() and not force:
        raise InputError(f"There is a file {out} already.", "Name another, or say --force to write over it.")
    certified = how.faces.certified

    def with_something(document: FolderDocument) -> None:
        if not document["files"]:
            raise InputError("Nothing is left of the ride outside the zones.", "Nothing was written.")
        if certified is not None:
            certified(document)

    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sfumato-", dir=out.parent) as beside:
        faces = replace(how.faces, certified=with_something)
        folder, to = Path(beside) / "shared", how.to or output_format(out).name
        yield folder, replace(how, name=out.name, to=to, faces=faces)
        (folder / out.name).replace(out)
