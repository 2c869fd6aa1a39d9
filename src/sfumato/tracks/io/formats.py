"""Which formats there are, and which one a file is: by its ending, then by what it starts with."""

from __future__ import annotations

import codecs
import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: the module that reads it, the function that writes it (None: read only), and its endings."""

    name: str
    title: str
    module: str
    endings: tuple[str, ...]
    write: str | None = None
    extra: str | None = None


_ALL = (
    Format("gpx", "GPX 1.0 and 1.1", "xml.gpx", (".gpx",), "write"),
    Format("geojson", "GeoJSON and Moving Features JSON", "json.geojson", (".geojson", ".mfjson"), "write"),
    Format("csv", "CSV", "tables.csv_table", (".csv", ".tsv", ".txt"), "write"),
    Format("parquet", "Parquet", "tables.parquet", (".parquet", ".pq"), "write"),
    Format("geoparquet", "GeoParquet", "tables.parquet", (".geoparquet",), "write_geo"),
    Format("kml", "KML with gx:Track", "xml.kml", (".kml",), "write"),
    Format("kmz", "KMZ", "xml.kmz", (".kmz",)),
    Format("gpkg", "GeoPackage", "tables.geopackage", (".gpkg",), "write"),
    Format("plt", "GeoLife PLT", "others.plt", (".plt",), "write"),
    Format("tcx", "TCX", "xml.tcx", (".tcx",)),
    Format("fit", "FIT", "others.fit", (".fit",), extra="geo"),
    Format("owntracks", "OwnTracks recorder", "json.owntracks", (".rec",)),
    Format("google", "Google Takeout and Timeline", "json.google", ()),
    Format("json", "JSON, told apart by content", "json.any_json", (".json",)),
)
FORMATS: dict[str, Format] = {format.name: format for format in _ALL}


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
    found = FORMATS.get(word) or next((item for item in _ALL if f".{word}" in item.endings), None)
    if found is None:
        raise InputError(f"'{name}' is not a format.", f"Formats: {', '.join(FORMATS)}.")
    return found


def format_of(path: Path) -> Format:
    """The format of an existing file."""
    ending = path.suffix.lower()
    head = _head(path)
    found = next((item for item in _ALL if ending in item.endings), None)
    by_content = _by_content(head)
    # .txt and .json say little, and a wrong ending is told by an unmistakable beginning.
    chosen = by_content if found is None or ending == ".txt" or (by_content and by_content.name in _MARKED) else found
    if chosen is None and found is not None:
        chosen = found
    if chosen is None:
        raise InputError(
            "The file's format is not known by its ending or content.",
            f"Name it with format= or --format; formats: {', '.join(FORMATS)}.",
        )
    return chosen


def output_format(path: str | Path, name: str | None = None) -> Format:
    """The format to write, by name or by the file's ending; formats that are only read are refused."""
    if name is not None:
        chosen: Format | None = format_named(name)
    else:
        ending = Path(path).suffix.lower()
        chosen = next((item for item in _ALL if ending in item.endings), None)
        if ending == ".json":
            chosen = FORMATS["geojson"]
    writable = [item for item in _ALL if item.write]
    endings = ", ".join(item.endings[0] for item in writable)
    if chosen is None:
        raise InputError("The output's format is not known by its ending.", f"Use one of: {endings}.")
    if chosen.write is None:
        raise InputError(f"{chosen.title} files are read but not written.", "Write GPX (.gpx) instead.")
    return chosen


_MARKED = frozenset({"parquet", "fit", "gpkg", "gpx", "kml", "tcx", "kmz"})


def _by_content(head: bytes) -> Format | None:
    if head.startswith(b"PAR1"):
        return FORMATS["parquet"]
    if head[8:12] == b".FIT":
        return FORMATS["fit"]
    if head.startswith(b"SQLite format 3\x00"):
        return FORMATS["gpkg"]
    if head.startswith(b"PK\x03\x04") and b".kml" in head.lower():
        return FORMATS["kmz"]
    wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = head.decode("utf-16" if wide else "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if text.startswith("<"):
        for mark, name in (("<gpx", "gpx"), ("<kml", "kml"), ("<TrainingCenterDatabase", "tcx")):
            if mark in text:
                return FORMATS[name]
    if text.startswith(("{", "[")):
        return FORMATS["json"]
    if text.startswith("Geolife trajectory"):
        return FORMATS["plt"]
    first = next((line for line in text.splitlines() if line and not line.startswith("#")), "")
    if "\t" in first and first.rstrip().endswith("}") and '"_type"' in first:
        return FORMATS["owntracks"]
    if any(delimiter in first for delimiter in ",;\t|"):
        return FORMATS["csv"]
    return None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", "Check the name and its permissions.") from None
    if not head.strip():
        raise InputError(f"{path} is empty.", "Give a file with at least one point.")
    return head


def loaded(format: Format) -> Any:
    """The module of a format."""
    return import_module(f"sfumato.tracks.io.{format.module}")
