"""Names of places without asking anybody outside: the gazetteer, its routes, and districts from a city's own GIS."""

from __future__ import annotations

import base64
import gzip
import importlib.resources
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import asked_hosts, driven, need_entry
from collector_harness import TOKEN, CollectorProcess, client, create, operator
from repository import ROOT
from starlette.testclient import TestClient

from sfumato.collect.service.operating import gazetteer as gazetteers
from sfumato.collect.service.operating.gazetteer import Gazetteer, gazetteer
from sfumato.collect.service.pages import layout

NAMES = ("Bellevue", "Dervallières", "Île de Nantes", "Doulon")
NANTES = {"south": 47.18, "west": -1.64, "north": 47.29, "east": -1.48, "cell_size_m": 1000.0}
_ROWS = (
    ("Springfield", "US", "IL", 114_394, []),
    ("Nantes", "FR", "52", 325_070, ["Naoned", "Нант"]),
    ('Nantes]}, "', "BR", "27", 2_660, ["]}"]),
    ("Saint-Étienne", "FR", "84", 176_280, ["S Etienne"]),
    ("Nanterre", "FR", "11", 86_719, ["Nanterre"]),
    ("Labasa", "FJ", "04", 24_187, []),
)
_FIELDS = ("name", "countrycode", "admin1code", "population", "alternatenames")
ROWS: list[dict[str, Any]] = [dict(zip(_FIELDS, row, strict=True)) for row in _ROWS]
MIDDLES = [(39.8, -89.6), (47.217, -1.553), (-22.6, -51.2), (45.43, 4.39), (48.89, 2.2), (-16.42, 179.38)]


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A gazetteer of six places, written as the package writes its own."""
    rows = {}
    for number, (row, (lat, lon)) in enumerate(zip(ROWS, MIDDLES, strict=True)):
        fields = {**row, "latitude": lat, "longitude": lon, "timezone": "UTC"}
        rows[str(number)] = {"geonameid": number, **{k: fields[k] for k in sorted(fields, key="alternatenames".__eq__)}}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cities500.json").write_text(json.dumps(rows), "utf-8")
    monkeypatch.setattr(gazetteers, "files", lambda package: tmp_path)
    gazetteers._read.cache_clear()
    yield
    gazetteers._read.cache_clear()


def known() -> Gazetteer:
    found = gazetteer()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("nantes", ["Nantes", 'Nantes]}, "']),
        ("NAONED", ["Nantes"]),
        ("нант", ["Nantes"]),
        ("Nan", ["Nantes", "Nanterre", 'Nantes]}, "']),
        ("saint etienne", ["Saint-Étienne"]),
        ("Springfield", ["Springfield"]),
        ("etienne", []),
        ("FR", []),
        ("  ", []),
        ("\t", []),
    ],
)
def test_a_name_is_found_in_any_spelling_the_same_before_what_begins_so(
    few: None, typed: str, names: list[str]
) -> None:
    found = known().find(typed, most=8)
    assert [one.name for one in found] == names
    assert [one.name for one in known().find(typed, most=1)] == names[:1]
    for one in found:
        place = MIDDLES[[row["name"] for row in ROWS].index(one.name)]
        assert (one.lat_deg, one.lon_deg) == place


def test_rectangles_hold_their_places_also_across_the_date_line(few: None) -> None:
    def within(*sides: float, most: int = 9) -> list[str]:
        return [one.name for one in known().within(*sides, most=most)]

    assert within(45, -2, 49, 5) == ["Nantes", "Saint-Étienne", "Nanterre"]
    assert within(45, -2, 49, 5, most=1) == ["Nantes"]
    assert within(-18, 179, -16, -179) == within(-18, 179, -16, 181) == ["Labasa"]
    assert within(-18, -179, -16, 179) == []
    assert len(within(-90, -180, 90, 180)) == len(ROWS)


def test_without_the_package_nothing_is_known_and_operators_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gazetteers, "files", lambda package: importlib.resources.files("no_such_package"))
    gazetteers._read.cache_clear()
    try:
        with client(f"sqlite:///{tmp_path}/x.db") as visitor:
            create(visitor)
            answer = visitor.post("/api/v1/places", json={"name": "Nantes"}, headers=operator())
            assert (answer.status_code, "no names of places" in answer.text) == (409, True)
            assert visitor.get("/api/v1/campaigns/town/places").json()["places"] == []
    finally:
        gazetteers._read.cache_clear()


def quarters(crs: int = 4326) -> Any:
    """Four districts of Nantes."""
    gpd, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    lat, lon = (47.18, 47.235, 47.29), (-1.60, -1.54, -1.48)
    boxes = [shapely.box(lon[j], lat[i], lon[j + 1], lat[i + 1]) for i in (0, 1) for j in (0, 1)]
    return gpd.GeoDataFrame({"nom": NAMES}, geometry=boxes, crs=4326).to_crs(crs)


def test_a_participants_page_gets_all_names_around_its_area_and_its_districts(few: None, tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db") as visitor:
        areas = json.loads(quarters().to_json())
        create(visitor, "nantes", grid=NANTES, areas=areas, name_field="nom")
        answer = visitor.get("/api/v1/campaigns/nantes/places")
        said = answer.json()
        assert [(one["name"], one["country"], one["people"]) for one in said["places"]] == [("Nantes", "FR", 325_070)]
        assert [one["name"] for one in said["districts"]] == list(NAMES)
        again = visitor.get("/api/v1/campaigns/nantes/places", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304
        assert visitor.get("/api/v1/campaigns/gone/places").status_code == 404
        # The route takes no place and no name: there is nothing to learn from who asks.
        about = visitor.get("/openapi.json").json()["paths"]["/api/v1/campaigns/{campaign}/places"]["get"]
        assert [one["name"] for one in about["parameters"]] == ["campaign"]


def test_only_operators_search_the_world(few: None, tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db") as visitor:
        assert visitor.post("/api/v1/places", json={"name": "Nantes"}).status_code == 401

        def asked(**body: object) -> Any:
            return visitor.post("/api/v1/places", json=body, headers=operator()).json()

        def inside(*sides: float) -> Any:
            return asked(within=dict(zip(("south", "west", "north", "east"), sides, strict=True)))

        assert [one["name"] for one in asked(name="spring")["places"]] == ["Springfield"]
        assert asked(name="springfield")["places"][0]["country"] == "US-IL"
        assert [one["name"] for one in inside(45, -2, 49, 5)["places"]][:1] == ["Nantes"]
        assert [one["name"] for one in inside(-18, 179, -16, -179)["places"]][:1] == ["Labasa"]
        assert asked(within={"south": 1, "west": 2, "north": 3})["status"] == inside(1, 2, 3, 181)["status"] == 422


@pytest.mark.slow
def test_the_gazetteer_that_is_installed_has_the_towns_of_all_who_are_spoken_to() -> None:
    found = known()
    first = {name: found.find(name, most=1)[0] for name in ("Nantes", "Lyon", "München", "Sevilla", "Leeds", "Köln")}
    assert {name: one.country for name, one in first.items()} == {
        "Nantes": "FR", "Lyon": "FR", "München": "DE", "Sevilla": "ES", "Leeds": "GB-ENG", "Köln": "DE"
    }  # fmt: skip
    assert first["Nantes"].lat_deg == pytest.approx(47.2172, abs=0.01)
    assert len(found.people) > 200_000
    assert (found.people[1:] <= found.people[:-1]).all()
    assert "Kreuzberg" in [one.name for one in found.within(52.4, 13.2, 52.6, 13.6, most=60)]


def posted(visitor: TestClient, whole: bytes, **headers: str) -> Any:
    body = {"file": base64.b64encode(whole).decode()}
    return visitor.post("/api/v1/areas", json=body, headers={**operator(), **headers})


def archive(folder: Path, crs: int = 2154) -> Path:
    """The districts as a GIS in France would hand them out."""
    return Path(quarters(crs).to_file(folder / "quartiers.shz", driver="ESRI Shapefile") or folder / "quartiers.shz")


@pytest.mark.slow
def test_districts_of_a_shapefile_and_a_geopackage_become_geojson_and_nothing_is_kept(tmp_path: Path) -> None:
    geopackage = tmp_path / "q.gpkg"
    quarters(25830).to_file(geopackage)
    with client(f"sqlite:///{tmp_path}/x.db") as visitor:
        for file in (archive(tmp_path), geopackage):
            said = posted(visitor, file.read_bytes()).json()
            assert [one["properties"]["nom"] for one in said["areas"]["features"]] == list(NAMES)
            made = create(visitor, file.suffix[1:], grid=NANTES, areas=said["areas"], name_field="nom")
            assert [one["name"] for one in made["districts"]] == list(NAMES)
        refused = posted(visitor, b"%PDF-1.4", **{"accept-language": "fr"})
        assert refused.status_code == 409
        assert "ni un shapefile zippé ni un GeoPackage" in refused.json()["error"]
        assert posted(visitor, b"").status_code == 422
        bad = visitor.post("/api/v1/areas", json={"file": "a==="}, headers=operator())
        assert bad.status_code == 422


def test_only_an_operators_file_may_be_large(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db") as visitor:
        large = json.dumps({"file": "A" * 400_000}).encode()
        kind = {"content-type": "application/json"}
        assert visitor.post("/api/v1/areas", content=large, headers=kind).status_code == 401
        assert visitor.post("/api/v1/plans", content=large, headers={**kind, **operator()}).status_code == 413
        too_large = json.dumps({"file": "A" * 12_100_000}).encode()
        assert visitor.post("/api/v1/areas", content=too_large, headers={**kind, **operator()}).status_code == 413


@pytest.mark.browser
@pytest.mark.service
def test_a_blank_map_has_names_to_find_oneself_by_and_nobody_learns_which(tmp_path: Path) -> None:
    need_entry("operate")
    (tmp_path / "notes.zip").write_bytes(b"%PDF-1.4")
    shapes = archive(tmp_path).rename(tmp_path / "quartiers.zip")
    with CollectorProcess(f"sqlite:///{tmp_path / 'x.db'}") as collector:
        found = driven(
            "names.mjs",
            pictures=ROOT / "test-output" / "browser",
            url=collector.url,
            token=TOKEN,
            file=str(shapes),
            wrong=str(tmp_path / "notes.zip"),
        )
        assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
        weighed = {f"{found['campaign']}", f"/api/v1{found['campaign']}/places"}
        bundle = [one["url"] for one in found["requests"] if "/static/" in one["url"] and "operate" not in one["url"]]
        scripts = {urlsplit(one).path for one in bundle if not one.endswith(("en.js", "dashboard.js"))}
        weight = sum(len(gzip.compress(collector.visitor.get(path).content, 9)) for path in weighed | scripts)
    assert re.match(r"Au milieu maintenant\s: Nantes, France \(325\s070 habitants\)", found["places"])
    assert "Nantes, Brésil" in found["places"]
    assert "Aucun lieu de ce nom" in found["unknown"]
    assert "ni un shapefile zippé" in found["wrong"]
    assert (found["read"][:1], found["nameField"]) == ("4", "nom")
    assert found["plan"]
    assert "sfumato" not in found["warned"]
    assert "ce serveur n’a pas de rues" in found["warned"].lower()
    assert "Soyez parmi les premiers" in found["stand"]
    assert found["standFills"][0] >= 0.99
    assert found["standFills"][1] >= 0.99
    assert found["standFills"][2] >= 0.75, "the code fills a phone's screen"
    assert "cherchez-y un nom" in found["denied"]
    assert "hors" in found["far"][0], "340 km away: the campaign is not about them"
    assert found["far"][1] == found["corrected"][1] == 0
    assert "maintenant" in found["now"], "a position answers where somebody is now, and is asked about"
    assert re.search(r"corrigé", found["now"])
    assert "corrigé" in found["beforeSending"], "what is sent cannot be corrected"
    assert [one for one in found["requests"] if one["method"] == "POST" and "/reports" in one["url"]][1:] == []
    assert "n’est pas sur cette carte" in found["notHere"]
    assert "sous la croix" in found["asked"]
    assert found["askedMeanwhile"] == [], "a search on the page asks nobody"
    assert found["searchAfter"] == 0
    assert (found["closed"], int(found["mapNames"]) > 3) == (True, True), "after 0 minutes; the map has names, too"
    assert found["inaccessible"] == found["operateInaccessible"] == []
    assert not found["wide"]
    assert [one for one in found["problems"] if "409" not in one] == []
    assert layout.has_bundle()
    assert {"/static/bundle/land.js", "/static/bundle/fr.js", "/static/bundle/participant.js"} <= scripts
    assert weight <= 120_000, "the participant's page without tiles, gzipped"


@pytest.mark.usefixtures("few")
def test_a_campaign_and_no_streets_has_the_names_read_before_anybody_visits(tmp_path: Path) -> None:
    def read() -> bool:
        for _ in range(100):
            if gazetteers._read.cache_info().currsize:
                return True
            time.sleep(0.05)
        return False

    place = f"sqlite:///{tmp_path}/x.db"
    with client(place, tick_s=60) as visitor:
        assert not gazetteers._read.cache_info().currsize, "an empty server read nothing"
        create(visitor, "nantes", grid=NANTES)
        assert read(), "a campaign made by command on an empty server"
    gazetteers._read.cache_clear()
    with client(place, tick_s=60):
        assert read(), "a server started again"
