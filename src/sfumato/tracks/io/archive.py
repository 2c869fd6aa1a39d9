"""Whole archives: folders, several files, ``.gz`` and ``.zip``, and how Strava, Garmin and Google lay out exports.

An archive is walked in one order, file by file, and nothing is kept in memory. Packed members are unpacked one at a
time into a private folder that goes with them; how much they may unpack to is limited (2 GiB, two hundredfold), and
their names are never used as paths. What is no track is named with its reason and never dropped in silence.
"""

from __future__ import annotations

import glob
import gzip
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from sfumato.base.errors import InputError
from sfumato.base.units import LENGTHS_M
from sfumato.tracks.io.formats import by_ending, ending_of

LARGEST_MEMBER_BYTES = 2 << 30
DEEPEST_ZIP = 2  # Garmin packs zips of FIT files into a zip
MOST_GROWTH = 200  # tracks as text shrink to a tenth or twentieth
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive: its ``name`` (folder first, with ``/``), and why it is no track (None where it may be).

    Either a ``file`` on the disk, or what ``unpack`` writes to a path of our choice; what is ``unreadable`` is refused.
    """

    name: str
    file: Path | None = None
    unpack: Callable[[Path], None] | None = None
    skipped: str | None = None
    unreadable: str | None = None

    @contextmanager
    def path(self) -> Iterator[Path]:
        """The file itself, or where it was unpacked to; gone afterwards."""
        if self.unreadable is not None:
            raise InputError(self.unreadable, "Check its permissions.")
        if self.unpack is None:
            assert self.file is not None
            yield self.file
            return
        with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
            target = Path(folder) / f"track{ending_of(self.name)}"
            self.unpack(target)
            yield target


def members(sources: Iterable[str | Path], ready: Callable[[Path], bool] | None = None) -> Iterator[Member]:
    """Every file of the sources, in the order of their names; those that are no track say why.

    ``ready`` says which files of a folder there are already.
    """
    for path in _expanded(sources):
        if path.is_dir():
            yield from _of_folder(path, ready)
        else:
            yield from _of_file(path, f"{path.resolve().parent.name}/{path.name}", _anything)


@contextmanager
def only_track(path: Path) -> Iterator[Path]:
    """A file as it is, or the one track packed in it (``ride.gpx.gz``, a zip of one file)."""
    if path.suffix.lower() not in (".gz", ".zip") or not path.is_file():
        yield path
        return
    tracks = [member for member in members([path]) if member.skipped is None]
    if len(tracks) != 1:
        raise InputError(f"{path} holds {len(tracks)} tracks.", "Name one track, or give the shared folder for all.")
    with tracks[0].path() as file:
        yield file


def count_members(sources: Iterable[str | Path]) -> int:
    """About how many files there are, for a progress bar: what is packed twice counts once."""
    count = 0
    for path in _expanded(sources):
        files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
        for file in files:
            count += 1
            if file.suffix.lower() == ".zip" and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as packed:
                    count += sum(not info.is_dir() for info in packed.infolist()) - 1
    return count


def _expanded(sources: Iterable[str | Path]) -> list[Path]:
    """Patterns as the files they match, each path once."""
    found: dict[Path, None] = {}
    for source in sources:
        path = Path(source)
        if path.exists():
            found[path] = None
            continue
        matches = sorted(glob.glob(str(source), recursive=True)) if glob.has_magic(str(source)) else []
        if not matches:
            raise not_there(path)
        found.update(dict.fromkeys(Path(match) for match in matches))
    return list(found)


def not_there(path: Path) -> InputError:
    """There is no such file; where it is the unit of a length written in two words, that is said."""
    if str(path) in LENGTHS_M:
        return InputError(f"There is no file or folder {path}.", f"Write a length in one word, like 200{path}.")
    return InputError(f"There is no file or folder {path}.", "Check its name.")


def _of_folder(folder: Path, ready: Callable[[Path], bool] | None = None) -> Iterator[Member]:
    try:
        inside = sorted(folder.rglob("*"))
        files = [file for file in inside if file.is_file() and (ready is None or ready(file))]
    except OSError as error:
        raise InputError(f"Cannot read {folder}: {error.strerror}.", "Check its permissions.") from error
    for closed in (path for path in (folder, *inside) if path.is_dir() and not os.access(path, os.R_OK | os.X_OK)):
        name = "/".join((folder.resolve().name, *closed.relative_to(folder).parts))
        yield Member(name, closed, unreadable="The folder cannot be read: permission denied.")
    names = [file.relative_to(folder).as_posix() for file in files]
    layout = _layout(names)
    for file, name in zip(files, names, strict=True):
        yield from _of_file(file, f"{folder.resolve().name}/{name}", layout)


def _of_file(path: Path, name: str, layout: Callable[[str], str | None]) -> Iterator[Member]:
    if path.suffix.lower() == ".zip":
        yield from _of_zip(path, name)
        return
    inside = name.partition("/")[2]
    why = _no_track(inside) or layout(inside)
    if path.suffix.lower() == ".gz":
        yield Member(name, unpack=lambda target: _unpack(gzip.GzipFile(path), target, path.stat().st_size), skipped=why)
        return
    yield Member(name, path, skipped=why)


def _of_zip(path: Path, name: str, depth: int = 1) -> Iterator[Member]:
    try:
        with zipfile.ZipFile(path) as packed:
            inside = sorted((info for info in packed.infolist() if not info.is_dir()), key=lambda info: info.filename)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield Member(name, path, skipped=f"it is no readable zip file ({type(error).__name__})")
        return
    layout = _layout([info.filename for info in inside])
    for info in inside:
        inner = f"{name}/{info.filename}"
        if not info.filename.lower().endswith(".zip"):
            why = _no_track(info.filename) or layout(info.filename)
            yield Member(inner, unpack=_opener(path, info), skipped=why or _locked(info))
        elif depth >= DEEPEST_ZIP:
            yield Member(inner, path, skipped="a zip inside a zip inside a zip is not opened")
        else:
            yield from _of_inner_zip(path, info, inner, depth)


def _of_inner_zip(path: Path, info: zipfile.ZipInfo, name: str, depth: int) -> Iterator[Member]:
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        below = Path(folder) / "inner.zip"
        try:
            _unpack(_entry(path, info), below, info.compress_size)
        except InputError as error:
            yield Member(name, path, skipped=error.what)
            return
        yield from _of_zip(below, name, depth + 1)


def _locked(info: zipfile.ZipInfo) -> str | None:
    return "it is encrypted" if info.flag_bits & 1 else None


def _opener(path: Path, info: zipfile.ZipInfo) -> Callable[[Path], None]:
    def unpack_to(target: Path) -> None:
        if not info.filename.lower().endswith(".gz"):
            _unpack(_entry(path, info), target, info.compress_size)
            return
        packed = target.with_name("packed.gz")
        _unpack(_entry(path, info), packed, info.compress_size)
        _unpack(gzip.GzipFile(packed), target, packed.stat().st_size)

    return unpack_to


def unpack_entry(path: Path, info: zipfile.ZipInfo, target: Path) -> None:
    """One file of a zip to ``target``, within the limits on how much it may grow."""
    _unpack(_entry(path, info), target, info.compress_size)


def _entry(path: Path, info: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return zipfile.ZipFile(path).open(info)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        raise InputError("It cannot be unpacked.", "It is damaged, encrypted or packed in an unknown way.") from error


def _unpack(stream: IO[bytes] | gzip.GzipFile, target: Path, packed_bytes: int) -> None:
    """Copy in blocks, and stop a member that grows beyond all tracks, or more than any text is packed."""
    size, most = 0, min(LARGEST_MEMBER_BYTES, MOST_GROWTH * packed_bytes + _BLOCK)
    try:
        with stream, target.open("wb") as out:
            while block := stream.read(_BLOCK):
                size += len(block)
                if size > most:
                    raise InputError(
                        "It unpacks to more than 2 GiB, or to two hundred times its size.",
                        "Unpack it yourself and look at it.",
                    )
                out.write(block)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InputError("It cannot be unpacked.", "It is damaged, encrypted or packed in an unknown way.") from error


def _no_track(name: str) -> str | None:
    parts = PurePosixPath(name).parts
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        return "hidden or helper file"
    ending = ending_of(name)
    return None if by_ending(ending) else f"no track format ends in {ending or 'nothing'}"


def _anything(name: str) -> str | None:
    return None


def _layout(names: list[str]) -> Callable[[str], str | None]:
    """What else is no track, where the names show whose export this is."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(path[-1] == "activities.csv" for path in parts) and any("activities" in path[:-1] for path in parts):
        return lambda name: None if "activities" in PurePosixPath(name).parts[:-1] else "not an activity of the export"
    if any("DI_CONNECT" in path for path in parts):
        return lambda name: None if ending_of(name) in (".fit", ".tcx", ".gpx") else "not an activity of the export"
    if any("Takeout" in path or path[0].startswith("Location History") for path in parts):
        return _google
    return _anything


def _google(name: str) -> str | None:
    last = PurePosixPath(name).name
    if last in ("Settings.json", "Tombstones.csv", "Encrypted Backups.txt"):
        return "no positions of yours"
    return None if "Location History" in name or "Timeline" in name or last == "Records.json" else "not a timeline"
