"""Names of output files: keyed functions of what is published, so that they tell nothing of what is not.

A number would count what vanished, a date would tell when, and a source's name whatever its owner wrote. The default is
the keyed hash of the published bytes: same content, same name, and no order.
"""

from __future__ import annotations

import base64
import hmac
from pathlib import Path, PurePosixPath

from sfumato.base.errors import InputError

# What a format that is only read is written as; Google's and OwnTracks' logs become GeoJSON.
WRITTEN_AS = {"fit": "gpx", "tcx": "gpx", "google": "geojson", "owntracks": "geojson", "json": "geojson"}


def written_as(format: str) -> str:
    """The format of the output for an input's."""
    return WRITTEN_AS.get(format, format)


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


def inside(folder: Path, path: Path) -> bool:
    """Whether ``path`` is the folder or lies in it."""
    one, other = folder.resolve(), path.resolve()
    return one == other or one in other.parents
