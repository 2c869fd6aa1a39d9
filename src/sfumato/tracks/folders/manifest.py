"""The manifest of an output folder: which source became which file, line by line, 0600.

A line is written after what it speaks of is in place; one torn by a kill is the last and is ignored: what it would have
said is done again. It lies beside the output folder, never in it: it names the sources, and counts what vanished.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath

from sfumato.base.errors import InputError

RECORDS_NAME = "manifest.jsonl"
MANIFEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What became of one source. ``output`` is None when nothing was left of it.

    ``content_sha256`` is the digest of the released positions and times, which certificates of noise are made from.
    What came to a source later is a ``part`` of its own; ``first_s`` and ``last_s`` are the times that it took.
    """

    source: str
    source_sha256: str
    wish: str
    output: str | None
    output_sha256: str | None
    points_in: int
    points_out: int
    left_out: tuple[str, ...] = ()
    content_sha256: str | None = None
    placed: bool = False
    skipped: dict[str, int] = field(default_factory=dict)
    part: int = 1
    first_s: float | None = None
    last_s: float | None = None


_NAMES = [field.name for field in fields(SourceRecord)]


def _records(lines: Iterable[str]) -> Iterator[SourceRecord]:
    for line in lines:
        try:
            values = json.loads(line)
        except ValueError:
            continue  # torn by a kill
        if isinstance(values, dict) and set(values) | {"skipped", "part", "first_s", "last_s"} == set(_NAMES):
            yield SourceRecord(**{**values, "left_out": tuple(values["left_out"])})


def read_records(out: Path) -> dict[str, SourceRecord]:
    """The records of what was put into a folder, by the hash of their source; for whoever owns the folder."""
    path = private_folder(out) / RECORDS_NAME
    try:
        lines = path.read_text("utf-8", errors="replace").split("\n")
    except OSError as error:
        raise InputError(
            f"Cannot read {path}: {error.strerror}.",
            "The private folder beside the shared one says which file came from which: keep it there.",
        ) from error
    return {record.source_sha256: record for record in _records(lines[1:]) if record.placed}


class Manifest:
    """The latest record of every source, read once and appended to."""

    def __init__(self, path: Path, owner: str) -> None:
        self.path = path
        self.records: dict[str, SourceRecord] = {}
        existed = path.exists()
        if existed:
            self._read(owner)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(handle, "a", encoding="utf-8")
        if not existed:
            self._line({"sfumato_manifest": MANIFEST_FORMAT, "owner": owner})
        else:
            self._file.write("\n")  # ends a torn line, so that the next one is whole

    def _read(self, owner: str) -> None:
        lines = self.path.read_text("utf-8", errors="replace").split("\n")
        try:
            head = json.loads(lines[0])
            version, whose = head["sfumato_manifest"], head["owner"]
        except (ValueError, KeyError, TypeError):
            if len(lines) == 1:  # killed while writing its first line: nothing was done yet
                self.path.unlink()
                return
            raise InputError(
                f"{self.path} is not a manifest.", "Move it away, and use another output folder."
            ) from None
        if version != MANIFEST_FORMAT:
            raise InputError(f"{self.path} is a manifest of format {version}.", "Update sfumato.")
        if whose != owner:
            raise InputError(
                "This output folder was begun with another places file or noise state.",
                "Use the one it was begun with, or a new output folder: two zones or noises for one person add up.",
            )
        self.records = {record.source: record for record in _records(lines[1:])}

    def add(self, record: SourceRecord) -> None:
        """Append what is true by now."""
        self.records[record.source] = record
        self._line({name: getattr(record, name) for name in _NAMES})  # asdict would copy, for half as long as a write

    def _line(self, value: object) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """On the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def part_name(source: str, part: int) -> str:
    """The source of a part in the manifest."""
    return source if part == 1 else f"{source} (part {part})"


def family_of(records: Mapping[str, SourceRecord], source: str, *, staged: bool = False) -> list[SourceRecord]:
    """What was shared of a source: itself, and the parts that came to it later; ``staged``: or is about to be."""
    found = list[SourceRecord]()
    while (one := records.get(part_name(source, len(found) + 1))) is not None and (one.placed or staged):
        found.append(one)
    return found


def sources_by_content(records: Iterable[SourceRecord]) -> dict[tuple[str, str], str]:
    """Sources by the hash and the name of their file: in another folder, or in a newer archive, it is the same one."""
    whole = ((one, one.source.removesuffix(f" (part {one.part})")) for one in records if one.placed)
    return {(one.source_sha256, PurePosixPath(source).name): source for one, source in whole}


def segment_name(number: int) -> str:
    """What is added to a ride's name, and to its source's hash, where each segment is a file of its own."""
    return "" if number == 1 else f" segment {number}"


def files_of(records: Mapping[str, SourceRecord], source_sha256: str) -> list[str]:
    """The files of a source by its hash: one, or one for each segment; none where nothing was left of it."""
    found = list[str]()
    while one := records.get(f"{source_sha256}{segment_name(len(found) + 1)}"):
        if one.output is None:
            break
        found.append(one.output)
    return found


def private_folder(out: Path) -> Path:
    """The folder beside the output that holds what is nobody else's business."""
    resolved = out.resolve()
    return resolved.with_name(f"{resolved.name}.private")


def keyed_name(key: bytes, content_sha256: bytes, ending: str) -> str:
    """80 bits of HMAC-SHA-256 of the content's hash, in letters and digits."""
    word = base64.b32encode(hmac.digest(key, b"name " + content_sha256, "sha256")[:10]).decode().lower()
    return f"{word}{ending}"


def kept_name(source: str, ending: str) -> str:
    """The source's own name below its folder, with the output's ending; what would lead elsewhere is refused."""
    parts = PurePosixPath(source.replace("\\", "/")).parts[1:]
    if not parts or any(part in ("..", ".", "/") or ":" in part or "\0" in part for part in parts):
        raise InputError("Its name would lead out of the output folder.", "Rename it, or leave --keep-names out.")
    last = PurePosixPath(parts[-1])
    stem = last.stem if last.suffix.lower() != ".gz" else PurePosixPath(last.stem).stem
    return str(PurePosixPath(*parts[:-1], f"{stem.lstrip('.') or 'track'}{ending}"))
