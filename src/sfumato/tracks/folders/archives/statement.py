"""One certificate for a whole archive: what was withheld in words, what noise was added, and every output file.

It says nothing of where the zones are, how many there are, how many rides touched them or disappeared. Anybody can
check the files and the noise. That nothing inside the zones is left, only the holder of the places file can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.traces import PointsRead, Trace
from sfumato.base.units import count_of
from sfumato.base.version import __version__
from sfumato.tracks.certificates.document import file_facts, sealed
from sfumato.tracks.certificates.folders import check_sentences, verified_folder
from sfumato.tracks.certificates.verify import Document, Verified, verify, verify_files
from sfumato.tracks.io import read_trace
from sfumato.tracks.places import RADII_M
from sfumato.tracks.times_released import Times

KIND = "sfumato archive certificate"
FORMAT = 1
WITHHELD = (
    "Everything recorded inside the zones of its owner's places was taken out of every file. Each file is a function "
    "of what was recorded outside them.",
    "A zone is a disc whose centre was drawn once, uniformly around its place, with a radius from the public list "
    f"({', '.join(f'{radius:g} m' for radius in RADII_M)}): by centre and radius alone, the odds between any two "
    "places of its inner disc (.8 of the radius) stay what they were before.",
)
NOT_COVERED = (
    "The directions in which rides come out of a zone: no guarantee. The owner measured what known attackers find.",
    "How long a gap lasted, where times are released.",
    "Places that their owner did not name, and whatever was published before.",
    "Housemates and colleagues who drew zones of their own for the same place: zones intersect.",
)


def archive_document(
    files: Sequence[tuple[str, str]],
    *,
    times: Times,
    kept: Sequence[str],
    withheld: bool,
    simulation: bool,
    noise: Mapping[str, Any] | None = None,
    sign: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None,
) -> dict[str, Any]:
    """The sealed certificate of an archive; ``noise`` is the body of a trace certificate over all files."""
    return sealed(
        {
            "kind": KIND,
            "format": FORMAT,
            "sfumato": __version__,
            "withheld": list(WITHHELD) if withheld else None,
            "not_covered": list(NOT_COVERED) if withheld else [],
            "times": {"released": str(times), "meaning": times.sentence()},
            "kept": sorted(kept),
            "simulation": simulation,
            "noise": None if noise is None else sealed(noise),
            "files": [{"name": name, "sha256": digest} for name, digest in files],
        },
        sign,
    )


def joined(traces: Sequence[Trace]) -> Trace:
    """Several files as one trace, in their order; positions and times only."""
    segment, base = [], 0
    for trace in traces:
        segment.append(trace.segment - trace.segment[0] + base)
        base = int(segment[-1][-1]) + 1
    lat, lon, times = (
        np.concatenate([getattr(trace, name) for trace in traces]) for name in ("lat_deg", "lon_deg", "times_s")
    )
    return Trace(lat, lon, times, np.concatenate(segment))


def verify_archive(
    source: str | Path | Mapping[str, Any],
    folder: Path,
    *,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
) -> Verified:
    """The seal, every file's bytes, no file beside them, the words, and the noise from scratch."""

    def check(document: Document, checks: list[str]) -> Verified:
        return _verified(document, folder, checks, ignore_wording)

    return verified_folder(source, (KIND, FORMAT), "an archive", check, signer)


def _verified(document: Document, folder: Path, checks: list[str], ignore_wording: bool) -> Verified:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder.", "Give the folder that holds the files of the archive.")
    names = [str(file["name"]) for file in document["files"]]
    for file in document["files"]:
        path = folder / str(file["name"])
        if not path.is_file() or file_facts(path)["file_sha256"] != file["sha256"]:
            raise VerificationFailed(f"{file['name']} is missing or not the file that was certified.", "Get it again.")
    checks.append(f"every byte of {count_of(len(names), 'file')}")
    listed = {folder / name for name in names}
    others = sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path not in listed
    )
    if others:
        raise VerificationFailed(f"The folder holds {others[0]}, which the certificate does not list.", "Remove it.")
    checks.append("no file beside them")
    notes: list[str] = []
    times = Times.parse(str(document["times"]["released"]))
    again = archive_document(
        [(str(file["name"]), str(file["sha256"])) for file in document["files"]],
        times=times,
        kept=document["kept"],
        withheld=document["withheld"] is not None,
        simulation=bool(document["simulation"]),
        noise=document["noise"],
    )
    if not ignore_wording:
        check_sentences(again, document)
    if document["noise"] is not None:
        if document["noise"]["simulation"] and not document["simulation"]:
            raise VerificationFailed("The noise is a simulation and the certificate hides it.", "It was changed.")
        found, read = _verified_noise(document["noise"], folder, names, document["kept"], times, ignore_wording)
        checks += found.checks[1:]
        notes += found.notes
        if read.total:
            notes.append(read.sentence() or f"Read {read.read} points; none was skipped.")
    if document["withheld"] is not None:
        notes.append("That nothing from inside the zones is left, only the holder of the places file can check.")
    return Verified(document, tuple(checks), tuple(notes), not ignore_wording)


def _verified_noise(
    noise: Mapping[str, Any],
    folder: Path,
    names: Sequence[str],
    kept: Sequence[str],
    times: Times,
    ignore_wording: bool,
) -> tuple[Verified, PointsRead]:
    if noise["times"]["released"] != str(times) or sorted(noise["kept"]) != sorted(kept):
        raise VerificationFailed("The certificate contradicts itself about times or what is kept.", "It was changed.")
    counted: list[PointsRead] = []

    def traces() -> Iterator[Trace]:
        for name in names:
            trace = read_trace(folder / name, keep=kept, keep_if_there=True)
            counted.append(trace.points_read)
            yield trace

    if noise["several_files"]:
        found = verify_files(noise, traces() if times.shown else None, ignore_wording=ignore_wording)
    else:
        found = verify(noise, release=joined(list(traces())), ignore_wording=ignore_wording)
    return found, PointsRead.total_of(counted)
