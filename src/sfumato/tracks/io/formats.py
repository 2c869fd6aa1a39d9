"""Which formats there are, one row each; and which one a file is: by its ending, then by what it starts with."""

from __future__ import annotations

import codecs
import glob
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.base.errors import InputError
from sfumato.tracks.io.telltale import names_position

Tells = Callable[[bytes, str], bool]


@dataclass(frozen=True, slots=True)
class Format:
    """All there is to know about a file format.

    ``module`` (below ``sfumato.tracks.io``) has ``read(path, reading)`` and the function called ``write``; a format
    that is only read ``becomes`` another in folders and archives. ``timeless`` formats can be written without times,
    ``people`` are tables that may hold several people. ``mark`` knows the format by a file's first bytes (or their
    text) whatever its ending says; ``looks`` is asked where the ending says nothing.
    """

    name: str
    title: str
    module: str
    endings: tuple[str, ...]
    write: str | None = None
    becomes: str = "gpx"
    timeless: bool = False
    one_segment: bool = False
    people: bool = False
    mark: Tells | None = None
    looks: Tells | None = None

    @property
    def written_as(self) -> str:
        """The name of the format in which a folder or an archive gets what came in this one."""
        return self.name if self.write else self.becomes


def _begins(magic: bytes, at: int = 0, *, has: bytes = b"") -> Tells:
    return lambda head, _: head[at:].startswith(magic) and has in head.lower()


def _starts(*words: str) -> Tells:
    return lambda _, text: text.startswith(words)


def _root(name: str) -> Tells:
    return lambda _, text: text.startswith("<") and name in text


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line and not line.startswith("#")), "")


def _messages(_: bytes, text: str) -> bool:
    first = _first_line(text)
    return "\t" in first and first.rstrip().endswith("}") and '"_type"' in first


def _fields(_: bytes, text: str) -> bool:
    return any(delimiter in _first_line(text) for delimiter in ",;\t|")


# Marks and looks are asked in this order.
_ALL = (
    Format(
        "parquet",
        "Parquet",
        "tables.parquet",
        (".parquet", ".pq"),
        "write",
        mark=_begins(b"PAR1"),
        timeless=True,
        people=True,
    ),
    Format("geoparquet", "GeoParquet", "tables.parquet", (".geoparquet",), "write_geo", people=True),
    Format("fit", "FIT", "others.fit", (".fit",), mark=_begins(b".FIT", 8)),
    Format("gpkg", "GeoPackage", "tables.geopackage", (".gpkg",), "write", mark=_begins(b"SQLite format 3\x00")),
    Format("kmz", "KMZ", "xml.kml", (".kmz",), mark=_begins(b"PK\x03\x04", has=b".kml")),
    Format("gpx", "GPX 1.0 and 1.1", "xml.gpx", (".gpx",), "write", mark=_root("<gpx"), timeless=True),
    Format("kml", "KML with gx:Track", "xml.kml", (".kml",), "write", mark=_root("<kml"), timeless=True),
    Format("tcx", "TCX", "xml.tcx", (".tcx",), "write", mark=_root("<TrainingCenterDatabase")),
    Format(
        "geojson", "GeoJSON and Moving Features JSON", "json.geojson", (".geojson", ".mfjson"), "write", timeless=True
    ),
    Format("google", "Google Takeout and Timeline", "json.google", (), becomes="geojson"),
    Format(
        "json",
        "JSON, told apart by content",
        "json.any_json",
        (".json", ".jsonl", ".ndjson"),
        becomes="geojson",
        looks=_starts("{", "["),
    ),
    Format(
        "plt", "GeoLife PLT", "others.plt", (".plt",), "write", one_segment=True, looks=_starts("Geolife trajectory")
    ),
    Format("owntracks", "OwnTracks recorder", "json.owntracks", (".rec",), becomes="geojson", looks=_messages),
    Format(
        "csv", "CSV", "tables.csv_table", (".csv", ".tsv", ".txt"), "write", looks=_fields, timeless=True, people=True
    ),
)
FORMATS: dict[str, Format] = {format.name: format for format in _ALL}


def module_of(format: Format) -> Any:
    """The module of a format."""
    return import_module(f"sfumato.tracks.io.{format.module}")


def ending_of(name: str | Path) -> str:
    """The ending that names the format, below ``.gz``: ``ride.gpx.gz`` is ``.gpx``."""
    path = PurePosixPath(name)
    return (PurePosixPath(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def by_ending(ending: str) -> Format | None:
    """The format whose files end so."""
    return next((format for format in FORMATS.values() if ending in format.endings), None)


def is_track_name(name: str) -> bool:
    """Whether a name ends like a track's or an archive's."""
    ending = ending_of(name)
    return ending == ".zip" or by_ending(ending) is not None


def is_archive(sources: Iterable[str | Path]) -> bool:
    """Whether these are more than one plain track: a folder, a pattern, several files, or something packed."""
    paths = [Path(source) for source in sources]
    return len(paths) > 1 or any(
        path.is_dir() or path.suffix.lower() in (".gz", ".zip") or (not path.exists() and glob.has_magic(str(path)))
        for path in paths
    )


def is_dataset(sources: Sequence[str | Path]) -> bool:
    """Whether this is one folder that holds Parquet files and nothing else; names with ``.`` or ``_`` do not count."""
    if len(sources) != 1 or not Path(sources[0]).is_dir():
        return False
    endings = FORMATS["parquet"].endings + FORMATS["geoparquet"].endings
    files = visible_files(Path(sources[0]))
    return bool(files) and all(file.suffix.lower() in endings for file in files)


def visible_files(folder: Path) -> list[Path]:
    """Files of which no part of the name below the folder begins with ``.`` or ``_``, in the order of their names."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts))


def format_named(name: str) -> Format:
    """A format by its name, or by an ending with or without the dot."""
    word = name.lower().lstrip(".")
    found = FORMATS.get(word) or by_ending(f".{word}")
    if found is None:
        raise InputError(f"'{name}' is not a format.", f"Formats: {', '.join(FORMATS)}.")
    return found


def format_of(path: Path) -> Format:
    """The format of an existing file."""
    ending, head = path.suffix.lower(), _head(path)
    wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = head.decode("utf-16" if wide else "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    marked = next((format for format in FORMATS.values() if format.mark and format.mark(head, text)), None)
    named = by_ending(ending)
    # A wrong ending is told by an unmistakable beginning, and .txt says little.
    if marked is None and (named is None or ending == ".txt"):
        looks = (format for format in FORMATS.values() if format.looks and format.looks(head, text))
        named = next(looks, named)
    if (chosen := marked or named) is None:
        raise InputError(
            "The file's format is not known by its ending or content.",
            f"Name it with format= or --format; formats: {', '.join(FORMATS)}.",
        )
    return chosen


class NoTrack(InputError):
    """No format claims the file: in a folder it is passed over with a word."""


_ROW = re.compile(r"(?:[-+]?\d{1,9}[.,]\d{3,}\b.*?){2}")


def refuse_notes(path: Path) -> None:
    """:class:`NoTrack` for a ``.txt`` without a known beginning, a header that names a position, or rows of numbers."""
    if path.suffix.lower() != ".txt":
        return
    with path.open("rb") as stream:
        head = stream.read(4096)
    text = head.decode("utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8", "replace")
    text = text.lstrip("\ufeff \t\r\n")
    tells = [tell for format in FORMATS.values() for tell in (format.mark, format.looks) if tell]
    fields, lines = re.split("[,;\t|]", _first_line(text)), [line for line in text.splitlines() if line.strip()]
    named = len(fields) > 1 and any(names_position(field) for field in fields if len(field.split()) <= 2)
    known = any(tell(head, text) for tell in tells if tell is not _fields)
    if known or named or 2 * sum(_ROW.search(line) is not None for line in lines) > len(lines):
        return
    raise NoTrack("It is a text without positions, which no format claims.", "If it is a track, name its --format.")


def written_as(format: Format, path: Path) -> Format:
    """What a file of this format is written as; of formats with one content (Parquet, GeoParquet) its ending tells."""
    named = by_ending(path.suffix.lower())
    told = named if named is not None and named.module == format.module else format
    return FORMATS[told.written_as]


def released_as(format: Format, *, timed: bool) -> Format:
    """The format itself, or what it becomes where a release has no times and its files must have them."""
    return format if timed or format.timeless else FORMATS[format.becomes]


def output_format(path: str | Path, name: str | None = None) -> Format:
    """The format to write, by name or by the file's ending; formats that are only read are refused."""
    if name is not None:
        chosen: Format | None = format_named(name)
    else:
        ending = Path(path).suffix.lower()
        chosen = FORMATS["geojson"] if ending == ".json" else by_ending(ending)
    endings = ", ".join(format.endings[0] for format in FORMATS.values() if format.write)
    if chosen is None:
        raise InputError("The output's format is not known by its ending.", f"Use one of: {endings}.")
    if chosen.write is None:
        raise InputError(f"{chosen.title} files are read but not written.", "Write GPX (.gpx) instead.")
    return chosen


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Check the name and its permissions.") from None
    if not head.strip():
        raise InputError(f"{path} is empty.", "Give a file with at least one point.")
    return head


def names_a_file(sources: Sequence[str | Path], out: Path, *, remembers: bool) -> bool:
    """Whether one plain ride was given, and the output is named like a track's file; no run that ``remembers`` may be.

    What was shared before, and the noise of a blur, are remembered beside a folder.
    """
    found = not is_archive(sources) and out.suffix.lower() != ".zip" and is_track_name(out.name) and not out.is_dir()
    if found and remembers:
        raise InputError("--blur and --again remember what was shared beside a folder.", "Name a folder with -o.")
    return found
