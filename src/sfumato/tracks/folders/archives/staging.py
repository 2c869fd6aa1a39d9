"""An output folder being filled: every output staged privately, recorded, then put in place; for any kind of job.

*Why a job may be killed.* What is written is a function of sources, wish and keys; keys are on the disk before their
first use. A file is filled in a private folder and recorded; at the end every staged file is renamed into the output
folder and recorded as placed. Whatever a kill leaves undone is done again to the same bytes under the same name.
Nothing of a run that is refused at the end gets into the output folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sfumato.base.errors import InputError
from sfumato.base.files import locked, remove_leftovers
from sfumato.tracks.certificates.build import ReleasedFiles
from sfumato.tracks.folders.archives.manifest import Manifest, SourceRecord
from sfumato.tracks.folders.archives.naming import inside
from sfumato.tracks.io.archive import is_track_name

STATE_NAME, SUMMARY_NAME = "noise.state", "summary.csv"
FILE_TIME_S = 946_684_800  # 2000-01-01: when a file was written would tell the order, and the gaps
_BLOCK = 1 << 20


class Output(NamedTuple):
    """One file of the output folder, as certificates speak of it."""

    file_sha256: str
    points: int
    content_sha256: str

    @classmethod
    def of(cls, record: SourceRecord) -> Output:
        """As it was recorded."""
        return cls(record.output_sha256 or "", record.points_out, record.content_sha256 or "")


class Staging:
    """An output folder being filled. ``private`` is the folder beside it, 0700, that is nobody else's business."""

    def __init__(self, out: Path, *, owner: str) -> None:
        self.out, self.private = out, private_folder(out)
        self.staging = self.private / "staging"
        self._outputs: dict[str, Output] = {}
        self.manifest = Manifest(self.private / "manifest.jsonl", owner)
        self.staging.mkdir(mode=0o700, exist_ok=True)
        for record in list(self.manifest.records.values()):
            if record.output is None:
                continue
            if not record.placed and _is_there(out / record.output, record.output_sha256):
                # killed between the rename and its record: it may have been shared since, so it stays certified
                self.manifest.add(replace(record, placed=True))
            if self.manifest.records[record.source].placed:
                self._outputs[record.output] = Output.of(record)

    def named(self, record: SourceRecord) -> bool:
        """Enter an output's name; False where another content has it already."""
        assert record.output is not None
        output = Output.of(record)
        return self._outputs.setdefault(record.output, output).file_sha256 == output.file_sha256

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
    if not out.exists() and is_track_name(out.name):
        raise InputError(f"The output is a folder, and {out} is named like a file.", "Name a folder, like -o shared/.")
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
