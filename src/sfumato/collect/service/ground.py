"""What lies under the maps: the operator's own streets and outline, served by this very server; never another host.

A page asks for all tiles of its campaign's rectangle at once and for nothing else, whatever somebody looks at: which
tiles a browser asks for would otherwise tell the operator where its reader lives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.collect.service.settings import Settings

TILES, OUTLINE = "/tiles/map.pmtiles", "/tiles/outline.json"
_MAGIC = b"PMTiles\x03"
_LARGEST_OUTLINE = 4_000_000


@dataclass(frozen=True, slots=True)
class Ground:
    """The files, checked; ``tiles`` and ``outline`` are the addresses pages are told, empty where there is nothing."""

    tiles: str = ""
    outline: str = ""
    tiles_file: Path | None = None
    outline_file: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Ground:
        """Looked at once, when the server starts: a file that is no map is refused then, not in somebody's browser."""
        url, tiles, outline = (settings.text(name) for name in ("tile_url", "tiles", "outline"))
        if url and (not url.startswith("/") or url.startswith("//") or not all(f"{{{one}}}" in url for one in "zxy")):
            raise InputError(
                "tile_url is no path of this site.",
                "Pages ask no other host: give --tiles FILE.pmtiles, or a path such as /streets/{z}/{x}/{y}.pbf that "
                "your proxy answers.",
            )
        if url and tiles:
            raise InputError("Both tiles and tile_url are given.", "Choose one of them.")
        return cls(
            TILES if tiles else url,
            OUTLINE if outline else "",
            _pmtiles(Path(tiles)) if tiles else None,
            _geojson(Path(outline)) if outline else None,
        )


def _pmtiles(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path.name} with tiles.", "Give --tiles the path of a PMTiles file.")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InputError(f"{path.name} is no PMTiles file of version 3.", "Make one with planetiler or pmtiles.")
    return path


def _geojson(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"There is no file {path.name} with an outline.", "Give --outline the path of a GeoJSON file.")
    if path.stat().st_size > _LARGEST_OUTLINE:
        raise InputError(f"{path.name} is larger than 4 MB.", "Simplify the outline: it is drawn at a city's scale.")
    try:
        kind = json.loads(path.read_text(encoding="utf-8")).get("type")
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path.name} is no GeoJSON.", "Give a GeoJSON file with the city's outline.") from error
    if not isinstance(kind, str):
        raise InputError(f"{path.name} is no GeoJSON.", "Give a GeoJSON file with the city's outline.")
    return path
