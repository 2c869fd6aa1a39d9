"""What a run over an archive gives back, and what its caller shows on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.base.errors import InputError
from sfumato.base.units import count_of
from sfumato.tracks.folders.archives.job import Row
from sfumato.tracks.places import PlaceLeak


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ArchiveResult:
    """What happened. ``rows`` and ``leaks`` are private; ``document`` is the certificate, public."""

    rows: tuple[Row, ...]
    leaks: tuple[PlaceLeak, ...]
    unvisited: tuple[str, ...]
    document: dict[str, Any]
    private: Path

    @property
    def shared(self) -> int:
        """Files in the output folder."""
        return len(self.document["files"])


@dataclass(frozen=True, slots=True)
class Faces:
    """What the caller does on the way, before anything is in place: each may raise, and then nothing is written.

    ``step`` after every source, ``tested`` with the leak test, ``priced`` with the certificate of the noise and the
    name of its process (for a ledger), ``sign`` puts a signature under the certificate, and ``certified`` writes it
    down: killed at any moment, no release is without its certificate.
    """

    step: Callable[[], None] | None = None
    tested: Callable[[tuple[PlaceLeak, ...], tuple[str, ...]], None] | None = None
    priced: Callable[[Mapping[str, Any], str], None] | None = None
    sign: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    certified: Callable[[Mapping[str, Any]], object] | None = None


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
