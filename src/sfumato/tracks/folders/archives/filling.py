"""How a run over an archive begins and ends: refused, it leaves nothing it began; done, certified, then in place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.archives.job import Job, SourceReading
from sfumato.tracks.folders.archives.result import Faces, require_something
from sfumato.tracks.folders.archives.staging import opened_private
from sfumato.tracks.folders.archives.statement import archive_document
from sfumato.tracks.io.archive import members
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.times_released import Times


@contextmanager
def filling(out: Path, sources: Sequence[str | Path]) -> Iterator[Path]:
    """The private folder of a run that has something to read.

    A run that ends early leaves no private folder that it began, unless a file is in place: what was shared needs its
    manifest and its noise's key. A state that its owner named stays, since another run may go on from it by now.
    """
    if next(iter(members(sources)), None) is None:
        require_something(())
    with opened_private(out, sources) as private:
        begun = not any(path.suffix != ".lock" for path in private.iterdir())
        try:
            yield private
        except BaseException:
            if begun and not (out.is_dir() and any(path.is_file() for path in out.rglob("*"))):
                shutil.rmtree(private, ignore_errors=True)
            raise


def put_in_place(
    job: Job,
    faces: Faces,
    noise: Document | None,
    reading: SourceReading,
    *,
    times: Times,
    withheld: bool,
    simulation: bool,
) -> Json:
    """The certificate of everything staged, handed to its writer before the first file gets into the output folder."""
    document = archive_document(
        job.outputs,
        times=times,
        kept=reading.keep,
        withheld=withheld,
        simulation=simulation,
        noise=noise,
        sign=faces.sign,
    )
    if faces.certified is not None:
        faces.certified(document)
    job.place()
    return document
