"""Named areas as a city's GIS keeps them: shapefiles in archives, GeoPackages, other systems of coordinates."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.areas import Areas
from sfumato.base.things.map_layers import main

gpd = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

NAMES = ("Bellevue", "Dervallières", "Île de Nantes")


def quarters(crs: int | None = 4326) -> Any:
    """Three districts of Nantes: one with a hole, one of two parts."""
    hole = shapely.Polygon(
        shapely.box(-1.60, 47.18, -1.56, 47.22).exterior, [shapely.box(-1.59, 47.19, -1.58, 47.2).exterior]
    )
    parts = shapely.MultiPolygon([shapely.box(-1.54, 47.18, -1.52, 47.2), shapely.box(-1.52, 47.21, -1.5, 47.23)])
    shapes = [hole, shapely.box(-1.60, 47.23, -1.55, 47.26), parts]
    frame = gpd.GeoDataFrame({"nom": NAMES, "code": [1, 2, 3], "hab": [1.5, np.nan, 2.0]}, geometry=shapes, crs=4326)
    return frame if crs == 4326 else frame.to_crs(crs)


def zipped(folder: Path, frame: Any, *, leave_out: str = "", inside: str = "quartiers/") -> Path:
    frame.to_file(folder / "q.shp")
    archive = folder / "quartiers.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for part in folder.glob("q.*"):
            if part.suffix != leave_out:
                packed.write(part, f"{inside}{part.name}")
    return archive


@pytest.mark.parametrize("crs", [4326, 2154, 3857])
@pytest.mark.parametrize("kind", ["zip", "shp", "gpkg", "geojson"])
def test_the_same_districts_come_from_every_kind_of_file_in_every_projection(
    tmp_path: Path, kind: str, crs: int
) -> None:
    frame = quarters(4326 if kind == "geojson" else crs)
    file = tmp_path / f"q.{kind}"
    if kind == "zip":
        file = zipped(tmp_path, frame)
    elif kind == "geojson":
        file.write_text(frame.to_json(), "utf-8")
    else:
        frame.to_file(file)
    read = Areas.read(file, name_field="nom")
    assert read.names == NAMES
    assert read.bounds() == pytest.approx((47.18, -1.60, 47.26, -1.50), abs=2e-6)
    lat, lon = np.random.default_rng(1).uniform((47.17, -1.62), (47.27, -1.49), (3000, 2)).T
    points = gpd.points_from_xy(lon, lat)
    shapes = quarters().geometry
    wanted = np.full(3000, -1)
    clear = np.ones(3000, dtype=bool)
    for number, shape in enumerate(shapes):
        wanted[points.within(shape)] = number
        clear &= points.distance(shape.boundary) > 1e-5
    assert (read.locate(lat, lon) == wanted)[clear].all()
    assert set(wanted) == {-1, 0, 1, 2}


def test_a_name_is_asked_for_by_the_fields_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no 'name_fr'") as refused:
        Areas.read(zipped(tmp_path, quarters()), name_field="name_fr")
    assert "code, hab, nom" in str(refused.value)


def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path: Path) -> None:
    def refusal(file: Path) -> str:
        with pytest.raises(InputError) as refused:
            Areas.read(file)
        return str(refused.value)

    archive = zipped(tmp_path, quarters(), leave_out=".prj")
    assert "does not say which system of coordinates" in refusal(archive)
    assert "cannot be read as polygons" in refusal(zipped(tmp_path, quarters(), leave_out=".shx"))
    with zipfile.ZipFile(archive, "a") as packed:
        packed.writestr("other.shp", b"")
    assert "holds no shapefile, or several" in refusal(archive)
    archive.write_bytes(archive.read_bytes()[:200])
    assert "cannot be unpacked" in refusal(archive)
    archive.write_bytes(b"%PDF-1.4")
    assert "no zipped shapefile and no GeoPackage" in refusal(archive)
    layers = tmp_path / "two.gpkg"
    quarters().to_file(layers, layer="quartiers")
    quarters().to_file(layers, layer="communes")
    assert "2 layers of polygons (quartiers, communes)" in refusal(layers)
    points = tmp_path / "points.gpkg"
    gpd.GeoDataFrame(geometry=gpd.points_from_xy([0], [0]), crs=4326).to_file(points)
    assert "0 layers of polygons" in refusal(points)
    assert "Cannot read none.gpkg" in refusal(tmp_path / "none.gpkg")


def test_an_archive_brings_no_other_file_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = zipped(tmp_path, quarters(), inside="../../")
    with zipfile.ZipFile(archive, "a") as packed:
        packed.writestr("q.vrt", "<OGRVRTDataSource/>")
        packed.writestr("elsewhere.dbf", b"x")
    before = set(tmp_path.parent.rglob("*"))
    monkeypatch.chdir(tmp_path)
    assert Areas.read(archive, name_field="nom").names == NAMES
    assert set(tmp_path.parent.rglob("*")) == before


def test_a_process_of_its_own_says_the_areas_or_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = zipped(tmp_path, quarters(2154))
    command = [sys.executable, "-P", "-m", "sfumato.base.things.map_layers", str(archive)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert [one["properties"] for one in said["features"]] == [
        {"nom": "Bellevue", "code": 1, "hab": 1.5},
        {"nom": "Dervallières", "code": 2},
        {"nom": "Île de Nantes", "code": 3, "hab": 2.0},
    ]
    archive.write_bytes(b"GIF89a")
    assert main(str(archive)) == 1
    assert "no zipped shapefile" in json.loads(capsys.readouterr().out)["error"]
