"""One ride in, one file out: a folder that nobody sees is filled with it, and the file takes its place."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.tracks.folders.folder_fields import FolderDocument
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.io.formats import is_archive, is_track_name, output_format

ALONE = "Attackers were given this ride alone: share several from one folder, and all of them are attacked together."


def names_a_file(sources: Sequence[str | Path], out: Path, *, remembers: bool) -> bool:
    """Whether one plain ride was given, and the output is named like a track's file; no run that ``remembers`` may be.

    What was shared before, and the noise of a blur, are remembered beside a folder.
    """
    found = not is_archive(sources) and out.suffix.lower() != ".zip" and is_track_name(out.name) and not out.is_dir()
    if found and remembers:
        raise InputError("--blur and --again remember what was shared beside a folder.", "Name a folder with -o.")
    return found


@contextmanager
def filled_beside(sources: Sequence[str | Path], out: Path, how: Sharing) -> Iterator[tuple[Path, Sharing]]:
    """A folder to fill with one file of the output's name and format; the file is moved to its place afterwards."""
    if out.exists() and out.resolve() == Path(sources[0]).resolve():
        raise InputError(f"{out} is the ride itself.", "Name another file for what may be shared.")
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
