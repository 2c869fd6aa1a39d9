"""The private manifest of an output folder: which source became which file, appended line by line, 0600.

A line is written after what it speaks of is in place. A line torn by a kill is the last one and is ignored: what it
would have said is done again, to the same bytes. The manifest lies beside the output folder, never in it: it names the
sources, and counts what vanished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

from sfumato.base.errors import InputError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What became of one source. ``output`` is None when nothing was left of it.

    ``content_sha256`` is the digest of the released positions and times, which certificates of noise are made from.
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


_FIELDS = tuple(field.name for field in fields(SourceRecord))


def _records(lines: Iterable[str]) -> Iterator[SourceRecord]:
    known = set(_FIELDS)
    for line in lines:
        try:
            values = json.loads(line)
        except ValueError:
            continue  # torn by a kill
        if isinstance(values, dict) and set(values) | {"skipped"} == known:
            yield SourceRecord(**{**values, "left_out": tuple(values["left_out"])})


def read_records(path: Path) -> dict[str, SourceRecord]:
    """The records of what was put in place, by the hash of their source; for whoever owns the folder."""
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
            self._line({"sfumato_manifest": FORMAT, "owner": owner})
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
        if version != FORMAT:
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
        self._line({name: getattr(record, name) for name in _FIELDS})

    def _line(self, value: object) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        """On the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
