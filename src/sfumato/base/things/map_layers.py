"""Layers of polygons as GIS programs keep them, a zipped shapefile or a GeoPackage, as GeoJSON in WGS 84.

GDAL reads them (geopandas, the extra ``geo``) and turns any system of coordinates into longitude and latitude. Of an
archive only the parts of its one shapefile are unpacked: GDAL would follow other files to wherever they point.

``python -m sfumato.base.things.map_layers FILE`` prints the GeoJSON, or what is wrong, as one JSON object: a server
reads files in a process of its own.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from sfumato.base.errors import InputError, MissingExtra, SfumatoError

ENDINGS = (".zip", ".shp", ".gpkg")
_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_MOST_BYTES = 100_000_000
_SQLITE = b"SQLite format 3\x00"


def read_layer(path: str | Path) -> dict[str, object]:
    """The polygons of a zipped shapefile, of a shapefile beside its parts, or of a GeoPackage's one layer of them."""
    file = Path(path)
    try:
        begin = file.read_bytes()[: len(_SQLITE)]
    except OSError as error:
        raise InputError(f"Cannot read {file.name}: {error.strerror}.", "Give a file with areas.") from error
    if begin == _SQLITE:
        return _features(file, file.name)
    if not begin.startswith(b"PK"):
        if file.suffix.lower() == ".shp":
            return _features(file, file.name)
        raise InputError(f"{file.name} is no zipped shapefile and no GeoPackage.", "Give one of them, or GeoJSON.")
    with tempfile.TemporaryDirectory() as folder:
        return _features(_unpacked(file, Path(folder)), file.name)


def _unpacked(archive: Path, folder: Path) -> Path:
    """The archive's one shapefile, unpacked under a name of ours."""
    try:
        with zipfile.ZipFile(archive) as packed:
            parts = {Path(one.filename): one for one in packed.infolist() if not one.filename.startswith("__MACOSX")}
            [shape] = [name for name in parts if name.suffix.lower() == ".shp"]
            wanted = [name for name in parts if name.with_suffix("") == shape.with_suffix("")]
            wanted = [name for name in wanted if name.suffix.lower() in _PARTS]
            if sum(parts[name].file_size for name in wanted) > _MOST_BYTES:
                raise InputError(f"{archive.name} holds more than 100 MB.", "Simplify the areas, or leave fields out.")
            for name in wanted:
                (folder / f"areas{name.suffix.lower()}").write_bytes(packed.read(parts[name]))
    except ValueError as error:
        raise InputError(
            f"{archive.name} holds no shapefile, or several.", "Zip the .shp with its .shx, .dbf and .prj, no other."
        ) from error
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise InputError(f"{archive.name} cannot be unpacked.", "Zip it again, without a password.") from error
    return folder / "areas.shp"


def _features(file: Path, name: str) -> dict[str, object]:
    try:
        geopandas, pyogrio, shapely = (import_module(one) for one in ("geopandas", "pyogrio", "shapely"))
    except ImportError as error:
        raise MissingExtra("geopandas", "geo") from error
    try:
        layers = [layer for layer, kind in pyogrio.list_layers(file) if "Polygon" in str(kind)]
        if len(layers) != 1:
            found = f"{len(layers)} layers of polygons" + (f" ({', '.join(layers[:5])})" if layers else "")
            raise InputError(f"{name} has {found}.", "Save the one with the areas in a file of its own.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = geopandas.read_file(file, layer=layers[0], engine="pyogrio")
            if frame.crs is None:
                raise InputError(
                    f"{name} does not say which system of coordinates it is in.",
                    "Put its .prj into the archive, or save it in WGS 84 (EPSG:4326).",
                )
            frame = frame[frame.geometry.notna()].to_crs(4326)
    except SfumatoError:
        raise
    except Exception as error:  # GDAL's and PROJ's own kinds, whose words may quote the file
        raise InputError(f"{name} cannot be read as polygons.", "Open it in a GIS and save it again.") from error
    frame.geometry = shapely.transform(frame.geometry.values, lambda places: places.round(6))
    features = [
        {"type": "Feature", "properties": _plain(one["properties"]), "geometry": one["geometry"]}
        for one in frame.iterfeatures(na="drop")
    ]
    return {"type": "FeatureCollection", "features": features}


def _plain(properties: Mapping[str, object]) -> dict[str, str | int | float]:
    """Texts and finite numbers: what may name an area."""
    return {
        key: value
        for key, value in properties.items()
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    }


def main(path: str) -> int:
    """Print the layer, or what is wrong with it."""
    try:
        print(json.dumps(read_layer(path)))
    except SfumatoError as error:
        print(json.dumps({"error": error.what, "advice": error.advice}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
