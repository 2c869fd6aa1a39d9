"""What a job notes of each bucket beside its part, until it ends: one private file each, the same when done again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from sfumato.base.files import write_text


class Notes:
    """A folder of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder = folder

    def keep(self, labels: Sequence[str], note: object) -> None:
        """That of the bucket of these people; each person is in one bucket."""
        name = hashlib.sha256(min(labels).encode()).hexdigest()
        write_text(self._folder / f"{name}.json", json.dumps(note), private=True)

    def all(self) -> list:
        """Of every bucket that is done, in this run or before; not what a killed one was filling."""
        return [json.loads(path.read_text()) for path in sorted(self._folder.glob("[!.]*.json"))]
