"""An output folder being filled, and the one certificate of it; for any job.

*Why a job may be killed.* What is written is a function of sources, wish and keys; keys are on the disk before their
first use. A file is filled in a private folder and recorded; at the end every staged file is renamed into the output
folder and recorded as placed. Whatever a kill leaves undone is done again to the same bytes under the same name.
Nothing of a run that is refused at the end gets into the output folder.

*The certificate* says in words what was withheld, what noise was added, and every file; nothing of where zones are, how
many there are, how many rides touched them or disappeared. Anybody can check the files and the noise. That nothing
inside the zones is left, only the holder of the places file can. A dataset's certificate also names its columns, and
says how many people have how many points.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeGuard

from sfumato.base.errors import InputError
from sfumato.base.files import lock_file, remove_leftovers, write_text
from sfumato.base.version import __version__
from sfumato.tracks.certificates.build import ReleasedFiles
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.person_ids import StatedIds
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.folder_fields import CertifiedFile, Crowd, FolderDocument
from sfumato.tracks.folders.manifest import RECORDS_NAME, Manifest, SourceRecord, private_folder
from sfumato.tracks.io.formats import is_track_name
from sfumato.tracks.places.zones import RADII_M
from sfumato.tracks.plan import Times

STATE_NAME, SUMMARY_NAME, SEEN_NAME, ZONES_NAME = "noise.state", "summary.csv", "seen.sealed", "zones.json"
FILE_TIME_S = 946_684_800  # 2000-01-01: when a file was written would tell the order, and the gaps
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_BLOCK = 1 << 20


class Staging:
    """An output folder being filled. ``private`` is the folder beside it, 0700, that is nobody else's business."""

    def __init__(self, out: Path, *, owner: str) -> None:
        self.out, self.private = out, private_folder(out)
        self.staging = self.private / "staging"
        self._outputs: dict[str, SourceRecord] = {}
        self.gone: set[str] = set()  # outputs that their owner took out of the folder
        self.manifest = Manifest(self.private / RECORDS_NAME, owner)
        self.staging.mkdir(mode=0o700, exist_ok=True)
        for record in list(self.manifest.records.values()):
            if record.output is None:
                continue
            if not record.placed and _is_there(out / record.output, record.output_sha256):
                # killed between the rename and its record: it may have been shared since, so it stays certified
                self.manifest.add(replace(record, placed=True))
            if self.manifest.records[record.source].placed:
                if (out / record.output).exists():
                    self._outputs[record.output] = record
                else:
                    self.gone.add(record.output)

    def enter_name(self, record: SourceRecord) -> bool:
        """Enter an output's name; False where another content has it already."""
        assert record.output is not None
        return self._outputs.setdefault(record.output, record).output_sha256 == record.output_sha256

    def withdraw(self, record: SourceRecord) -> None:
        """Take back an output that this run staged."""
        if self._outputs.get(record.output or "") is record:
            del self._outputs[record.output or ""]

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """Every output file and its hash, placed or staged in this run, in the order of names."""
        return sorted((name, record.output_sha256 or "") for name, record in self._outputs.items())

    @property
    def released(self) -> ReleasedFiles:
        """What a certificate of noise is made from: every output's points and digest, in the order of names."""
        records = (self._outputs[name] for name in sorted(self._outputs))
        return ReleasedFiles(tuple((record.points_out, record.content_sha256 or "") for record in records))

    def is_as_shared(self, record: SourceRecord) -> bool:
        """Whether what was shared of a source lies in the folder as it was, or was taken out by its owner."""
        name = record.output
        return name is None or name in self.gone or _is_there(self.out / name, record.output_sha256)

    def strangers(self) -> list[str]:
        """Files of the output folder that this job did not write, or that were changed since."""
        here = sorted(path for path in self.out.rglob("*") if path.is_file()) if self.out.is_dir() else []
        known = {self.out / name: record.output_sha256 for name, record in self._outputs.items()}
        return [path.relative_to(self.out).as_posix() for path in here if not _is_there(path, known.get(path))]

    def where(self, name: str) -> Path:
        """An output file, staged or placed."""
        staged = self.staging / name
        return staged if staged.exists() else self.out / name

    def place_all(self, fresh: Iterable[SourceRecord]) -> None:
        """Put what was staged into the output folder, in the order of its names."""
        self.out.mkdir(parents=True, exist_ok=True)
        for record in sorted(fresh, key=lambda record: record.output or ""):
            if record.placed:
                continue
            if record.output is not None and (self.staging / record.output).exists():
                target = self.out / record.output
                target.parent.mkdir(parents=True, exist_ok=True)
                os.utime(self.staging / record.output, (FILE_TIME_S, FILE_TIME_S))
                (self.staging / record.output).replace(target)
            self.manifest.add(replace(record, placed=True))
        for folder in (*(path for path in self.out.rglob("*") if path.is_dir()), self.out):
            os.utime(folder, (FILE_TIME_S, FILE_TIME_S))

    def close(self) -> None:
        """Leave no staged file behind."""
        shutil.rmtree(self.staging, ignore_errors=True)
        self.manifest.close()


def swap_folders(out: Path, new: Path) -> Path:
    """Put a folder into the place of another, private folders along; the old one is kept, and where is said.

    Four renames, written down before the first of them: killed in between, the next run ends it.
    """
    number = 1
    while (old := out.with_name(f"{out.name}.before-{number}")).exists():
        number += 1
    pairs = [(out, old), (new, out)]
    moves = [(str(move(a)), str(move(b))) for a, b in pairs for move in (private_folder, Path.absolute)]
    write_text(_journal(out), json.dumps(moves), private=True, durable=True)
    finish_swap(out)
    return old


def finish_swap(out: Path) -> None:
    """End a swap that was begun: each rename that was not done yet, in their order."""
    if (journal := _journal(out)).exists():
        for source, target in json.loads(journal.read_text("utf-8")):
            if Path(source).exists() and not Path(target).exists():
                Path(source).replace(target)
        journal.unlink()


def _journal(out: Path) -> Path:
    return out.with_name(f"{out.name}.swap")


@contextmanager
def opened_private(out: Path, sources: Iterable[str | Path]) -> Iterator[Path]:
    """The private folder, made if absent, locked; refused where output and input lie in one another."""
    for source in sources:
        folder = Path(source)
        one, other = folder.resolve(), out.resolve()
        if folder.is_dir() and (one == other or one in other.parents or other in one.parents):
            raise InputError(
                "The output folder lies in the input folder, or the input in it.",
                "Choose an output folder beside it: what is shared must not be read again as a ride.",
            )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file.", "Name a folder for the output of an archive.")
    if not out.exists() and is_track_name(out.name):
        raise InputError(f"The output is a folder, and {out} is named like a file.", "Name a folder, like -o shared/.")
    with only_run(out):
        folder = private_folder(out)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make {folder}: {error.strerror}.", "Choose a folder you can write to.") from error
        remove_leftovers(*(folder / name for name in (STATE_NAME, SUMMARY_NAME, SEEN_NAME, ZONES_NAME)))
        yield folder


@contextmanager
def only_run(out: Path) -> Iterator[None]:
    """One run at a time of an output folder, under a lock beside it (folders may be swapped); ends a swap first."""
    folder = private_folder(out)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock_file(folder, wait=False):
            finish_swap(out)
            yield
    except BlockingIOError as error:
        raise InputError("Another run is filling this output folder.", "Wait until it has ended.") from error
    except FileExistsError as error:
        raise InputError(f"Cannot make {folder}: {error.strerror}.", "Choose a folder you can write to.") from error
    except OSError as error:
        what = f"Cannot write {error.filename or out}: {error.strerror}."
        raise InputError(what, "Make room, and run it again: it goes on where it was.") from error


def file_sha256(path: Path) -> str:
    """Of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _is_there(path: Path, sha256: str | None) -> bool:
    try:
        return file_sha256(path) == sha256
    except OSError:
        return False


ARCHIVE, DATASET = "sfumato archive certificate", "sfumato dataset certificate"
FORMAT = 1
MANIFEST_NAME, REJECTS_NAME = "_manifest.json", "_rejects"  # in a dataset, beside its certificate
WITHHELD = (
    "Everything recorded inside the zones of its owner's places was taken out of every file. Each file is a function "
    "of what was recorded outside them.",
    "A zone is a disc whose centre was drawn once, uniformly around its place, with a radius from the public list "
    f"({', '.join(f'{radius:g} m' for radius in RADII_M)}): by centre and radius alone, the odds between any two "
    "places of its inner disc (.8 of the radius) stay what they were before.",
)
WITHHELD_BEFORE = (
    "Everything recorded inside the zones that a file's owner had drawn when it was first shared was taken out of it. "
    "Zones that were drawn later may lie open in files shared before.",
    *WITHHELD[1:],
)
ENDS = "What lies in a zone of the same kind around its first and its last point was taken out of each ride as well."
NOT_COVERED = (
    "The directions in which rides come out of a zone: no guarantee. The owner measured what known attackers find.",
    "How long a gap lasted, where times are released.",
    "Places that their owner did not name, and whatever was published before.",
    "Housemates and colleagues who drew zones of their own for the same place: zones intersect.",
)
MEANING = (
    "Every person's points have one noise of their own, whatever part they are in. The losses stated hold for each "
    "person, with any number of points: nobody's is larger than worst_loss."
)
Sign = Callable[[Mapping[str, object]], Mapping[str, str]]


def is_folder_document(document: Mapping[str, object]) -> TypeGuard[FolderDocument]:
    """Whether a certificate says to be a folder's, in the format known here."""
    return document.get("kind") in (ARCHIVE, DATASET) and document.get("format") == FORMAT


@dataclass(frozen=True, slots=True, eq=False)
class FolderStatement:
    """What a folder's certificate is made from; ``noise`` is that of a trace certificate over all files.

    An archive has neither ``columns`` nor ``people``. Made and checked by the same code (:meth:`of`).
    """

    files: Sequence[CertifiedFile]
    times: Times
    kept: Sequence[str]
    noise: Document | None
    withheld: Sequence[str] = ()
    simulation: bool = False
    columns: Mapping[str, str] | None = None
    people: Crowd | None = None
    ids: StatedIds | None = None

    @classmethod
    def of(cls, document: FolderDocument) -> Self:
        """What a certificate says that it was made from."""
        return cls(
            document["files"],
            Times.parse(str(document["times"]["released"])),
            document["kept"],
            document["noise"],
            () if document["withheld"] is None else _known_words(document["withheld"]),
            bool(document["simulation"]),
            document.get("columns"),
            document.get("people"),
            StatedIds.of(document.get("ids")),
        )

    def document(self, sign: Sign | None = None) -> FolderDocument:
        """The sealed certificate."""
        noise, said, columns = None if self.noise is None else with_seal(self.noise), dict[str, object](), {}
        if self.people is not None:
            worst = None if noise is None else noise["worst_loss"]
            said = {"people": {**self.people, "worst_loss": worst}, "meaning": MEANING if noise is not None else None}
            columns = {"columns": dict(self.columns or {})}
        body = {
            "kind": ARCHIVE if self.people is None else DATASET,
            "format": FORMAT,
            "sfumato": __version__,
            "withheld": list(self.withheld) or None,
            "not_covered": list(NOT_COVERED) if self.withheld else [],
            "times": {"released": str(self.times), "meaning": self.times.sentence()},
            **columns,
            **({} if self.ids is None else {"ids": self.ids.to_dict()}),
            "kept": sorted(self.kept),
            **said,
            "simulation": self.simulation,
            "noise": noise,
            "files": [dict(file) for file in self.files],
        }
        document = with_seal(body, sign)
        assert is_folder_document(document)
        return document


def withheld_words(*, before: bool, ends: bool) -> tuple[str, ...]:
    """What was withheld: by the zones of today or of when files were first shared; around rides' ends, too."""
    return (*(WITHHELD_BEFORE if before else WITHHELD), *([ENDS] if ends else []))


def _known_words(words: Sequence[str]) -> Sequence[str]:
    """Those of the sentences that a certificate has; what was changed becomes the usual ones, which differ."""
    return withheld_words(before=WITHHELD_BEFORE[0] in words, ends=ENDS in words)
