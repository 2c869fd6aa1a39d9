"""Named districts of a campaign, from the GeoJSON to the printed report: plan, map, table, files and changes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from collector_harness import client, close, create, fill, operator
from starlette.testclient import TestClient

from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop.districts import Districts
from sfumato.collect.service.models.kept import District, Specification, border_parts
from sfumato.collect.service.pages.district_files import _polygons
from sfumato.collect.service.pages.district_page import _short
from sfumato.collect.service.rounds.signed_offers import channel_from_payload

NANTES = {"south": 47.18, "west": -1.64, "north": 47.29, "east": -1.48, "cell_size_m": 1000.0}
NAMES = ("Bellevue", "Dervallières", "Île & <Nord>", "Zola")


def quarters() -> dict[str, Any]:
    """Four districts of Nantes: quarters of the rectangle, but for a strip in the west that belongs to none."""
    lat, lon = (47.18, 47.235, 47.29), (-1.60, -1.54, -1.48)
    boxes = [(lat[i], lon[j], lat[i + 1], lon[j + 1]) for i in (0, 1) for j in (0, 1)]
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"nom": name, "code": number},
                "geometry": {"type": "Polygon", "coordinates": [[[w, s], [e, s], [e, n], [w, n], [w, s]]]},
            }
            for number, (name, (s, w, n, e)) in enumerate(zip(NAMES, boxes, strict=True))
        ],
    }


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/x.db"


@pytest.fixture
def visitor(place: str) -> Iterator[TestClient]:
    with client(place, tick_s=60) as found:
        yield found


def opened(visitor: TestClient, **more: Any) -> dict[str, Any]:
    asked = {"grid": NANTES, "areas": quarters(), "name_field": "nom", "promise": "epsilon", "reporting": "once"}
    return create(visitor, "nantes", **{**asked, "question": "Où roulez-vous ?", "language": "fr", **more})


def round_of(visitor: TestClient, place: str, number: int, weights: dict[str, float], people: int = 4000) -> None:
    """A closed round of so many people, spread over districts by these weights."""
    about = visitor.get("/api/v1/campaigns/nantes").json()["campaign"]
    fields = {name: about[name] for name in Specification.model_fields if name in about}
    asked = Specification.model_validate_json(json.dumps(fields))
    offer = channel_from_payload(visitor.get("/api/v1/campaigns/nantes/channel").json()["payload"])
    per_cell = np.array([0.05, *(weights[name] for name in NAMES)])[asked.district_of_cell + 1]
    rng = np.random.default_rng(number)
    places = rng.multinomial(people, per_cell / per_cell.sum())
    counts = draw_tally(offer, places, rng=number)
    fill(place, np.repeat(np.arange(counts.size), counts), "nantes", cycle=number)
    assert close(visitor, "nantes")


def test_a_districts_name_is_no_wider_than_it_and_says_how_many_stand_with_it() -> None:
    assert _short(["Louvre"], 40) == "Louvre"
    assert _short(["Louvre", "Bourse", "Temple"], 40) == "Louvre + 2"
    assert _short(["Buttes-Chaumont"], 15) == "Buttes-Ch…"
    assert len(_short(["Buttes-Chaumont", "Passy"], 15)) <= 10


EVEN = dict.fromkeys(NAMES, 1.0)
MOVED = {**EVEN, "Bellevue": 6.0, "Zola": 0.2}


def test_squares_of_districts_are_kept_as_runs_and_their_outlines_are_valid_polygons() -> None:
    rng = np.random.default_rng(4)
    grid = Grid.from_bounds(47.18, -1.64, 47.29, -1.48, shape=(12, 15))
    for _ in range(20):
        of_cell = rng.integers(-1, 3, 180)
        kept = District.each(["a", "b", "c"], of_cell)
        asked = Specification.model_construct(grid=_Fields(grid), districts=kept)
        assert np.array_equal(asked.district_of_cell, of_cell)
        lat, lon = grid.centres_deg()
        for number in range(3):
            shape = {"type": "MultiPolygon", "coordinates": _polygons(asked, of_cell == number)}
            back = Areas.read({"type": "Feature", "properties": {"name": "x"}, "geometry": shape})
            assert np.array_equal(back.locate(lat, lon) == 0, of_cell == number), "holes and corners that touch"


class _Fields:
    """A grid as a campaign keeps it."""

    def __init__(self, grid: Grid) -> None:
        self.__dict__.update(grid.to_dict())


def test_a_plan_says_which_districts_will_be_told_apart(visitor: TestClient) -> None:
    body = {"grid": NANTES, "areas": quarters(), "name_field": "nom", "people": 800}
    headers = {**operator(), "accept-language": "fr"}
    few, many = (
        visitor.post("/api/v1/plans", json={**body, "people": people}, headers=headers).json()["plan"]
        for people in (30, 20_000)
    )
    assert sorted(name for group in few["districts"] for name in group) == sorted(NAMES)
    assert len(few["districts"]) < 4
    assert sorted(many["districts"]) == [[name] for name in sorted(NAMES)]
    assert all(one["told"] for one in many["pairs"])
    assert not all(one["told"] for one in few["pairs"])
    hardest = many["pairs"][0]
    assert hardest["words"].startswith(f"{hardest['one']} de {hardest['other']}\u00a0: oui\u202f; il y faut environ ")
    needed = hardest["people"]
    for people, told in ((needed, True), (int(0.9 * needed), False)):
        asked = visitor.post("/api/v1/plans", json={**body, "people": people}, headers=headers).json()["plan"]
        assert asked["pairs"][0]["told"] is told


def test_areas_that_cannot_be_are_refused_with_what_to_do(visitor: TestClient) -> None:
    def refused(**more: Any) -> str:
        body = {"name": "x", "grid": NANTES, "epsilon_per_km": 2.0, "areas": quarters(), "name_field": "nom", **more}
        answer = visitor.post("/api/v1/campaigns", json=body, headers=operator())
        assert answer.status_code == 409, answer.text
        return str(answer.json()["error"])

    assert "Its fields are: code, nom" in refused(name_field="name")
    lambert = quarters()
    lambert["features"][0]["geometry"]["coordinates"] = [
        [[355000, 6689000], [356000, 6689000], [356000, 6690000], [355000, 6689000]]
    ]
    assert "not degrees" in refused(areas=lambert)
    assert "No square has its centre in" in refused(grid={**NANTES, "north": 47.23})
    assert "larger cells" in refused(grid={**NANTES, "cell_size_m": 100.0})
    point = quarters()
    point["features"][0]["geometry"] = {"type": "Point", "coordinates": [-1.5, 47.2]}
    assert "polygon" in refused(areas=point)


def test_shares_of_districts_stand_on_map_table_and_in_every_file(visitor: TestClient, place: str) -> None:
    about = opened(visitor)
    assert [one["name"] for one in about["districts"]] == list(NAMES)
    round_of(visitor, place, 1, EVEN)
    page = visitor.get("/campaigns/nantes/dashboard").text
    assert "Dervallières" in page
    assert "Île &amp; &lt;Nord&gt;" in page
    assert "<Nord>" not in page
    whole = visitor.get("/api/v1/campaigns/nantes/estimate.json").json()["cycle"]["districts"]
    assert [one["names"] for one in whole["average"]] == [*([name] for name in NAMES), []]
    assert sum(one["share"] for one in whole["average"]) == pytest.approx(1.0, abs=0.002)
    table = visitor.get("/api/v1/campaigns/nantes/districts.csv").text.splitlines()
    assert table[0].split(",")[:4] == ["district", "share", "low", "high"]
    assert {"reports", "from", "until", "level"} < set(table[0].split(","))
    assert len(table) == 6
    shapes = visitor.get("/api/v1/campaigns/nantes/districts.geojson").json()
    grid = Grid.from_bounds(**{**NANTES, "cell_size_m": 1000.0})
    lat, lon = grid.centres_deg()
    known = Districts.within(Areas.read(quarters(), name_field="nom"), grid).of_cell
    back = Areas.read(shapes, name_field="district").locate(lat, lon)
    assert np.array_equal(back, np.where(known < 0, 4, known)), "the file's shapes are the squares that were counted"
    table = pq.read_table(io.BytesIO(visitor.get("/api/v1/campaigns/nantes/districts.parquet").content))
    rows = table.to_pylist()
    assert [row["district"] for row in rows] == [one["properties"]["district"] for one in shapes["features"]]
    assert [row["low"] for row in rows] == [one["properties"]["low"] for one in shapes["features"]]
    shapely = pytest.importorskip("shapely")
    drawn = [shapely.geometry.shape(one["geometry"]) for one in shapes["features"]]
    assert all(shapely.from_wkb(row["geometry"]).equals(one) for row, one in zip(rows, drawn, strict=True))
    about = json.loads(table.schema.metadata[b"geo"])["columns"]["geometry"]
    assert about["bbox"] == pytest.approx(shapely.MultiPolygon([p for s in drawn for p in s.geoms]).bounds)
    cells = visitor.get("/api/v1/campaigns/nantes/estimate.csv").text.splitlines()
    assert {"district", "from", "until", "level", "round_reports"} < set(cells[0].split(","))


@pytest.mark.slow
def test_a_change_is_told_where_there_is_one_and_the_average_is_no_answer_then(visitor: TestClient, place: str) -> None:
    opened(visitor)
    round_of(visitor, place, 1, EVEN)
    round_of(visitor, place, 2, EVEN)
    calm = visitor.get("/campaigns/nantes/dashboard").text
    assert 'class="calm"' in calm
    answer = visitor.get("/api/v1/campaigns/nantes/compare", params={"before": "1", "after": "2"}).json()["comparison"]
    assert [one["told"] for one in answer["rows"]].count("none") >= 3
    round_of(visitor, place, 3, MOVED)
    answer = visitor.get("/api/v1/campaigns/nantes/compare", params={"before": "1,2", "after": "3"}).json()[
        "comparison"
    ]
    told = {one["name"]: one["told"] for one in answer["rows"]}
    assert (told["Bellevue"], told["Zola"]) == ("more", "fewer")
    assert (answer["reports_before"], answer["reports_after"]) == (8000, 4000)
    page = visitor.get("/campaigns/nantes/dashboard").text
    first = page.index("La carte a changé\u00a0: le tour 3")
    assert first < page.index('id="headline"'), "said in the first line"
    assert 'class="calm"' not in page
    assert "moyenne des tours" not in page, "the average is not offered as the answer, nor in the table"
    cells = list(csv.DictReader(visitor.get("/api/v1/campaigns/nantes/estimate.csv").text.splitlines()))
    assert {(one["averaged_rounds"], one["low"]) for one in cells} == {("1", "")}, "files are of the round, too"
    assert all(one["estimate"] == one["this_cycle"] for one in cells)
    named = list(csv.DictReader(visitor.get("/api/v1/campaigns/nantes/districts.csv").text.splitlines()))
    assert next(float(one["share"]) for one in named if one["district"] == "Bellevue") > 0.5
    before = list(csv.DictReader(visitor.get("/api/v1/campaigns/nantes/estimate.csv?cycle=2").text.splitlines()))
    assert before[0]["averaged_rounds"] == "2", "where nothing had changed yet, the average stays"
    typed = visitor.get("/campaigns/nantes/report?before=1&after=1", headers={"accept": "text/html"})
    assert (typed.status_code, "Ces tours ne peuvent pas être comparés" in typed.text) == (200, True)
    assert visitor.get("/campaigns/nantes/report?before=1&after=1").status_code == 409, "programs are refused"
    compared = visitor.get("/campaigns/nantes/report?before=1,2&after=3").text
    assert "Avant\u00a0: tours 1, 2. Après\u00a0: tour 3. Quartier par quartier" in compared
    same = visitor.get("/api/v1/campaigns/nantes/compare", params={"before": "1", "after": "1"})
    assert same.status_code == 409
    assert visitor.get("/api/v1/campaigns/nantes/compare?before=1&after=9").status_code == 404


@pytest.mark.slow
def test_the_report_has_everything_in_every_language(visitor: TestClient, place: str) -> None:
    opened(visitor, organiser="Ville de Nantes")
    assert visitor.get("/campaigns/nantes/report").status_code == 404
    round_of(visitor, place, 1, EVEN, people=600)
    round_of(visitor, place, 2, MOVED, people=600)
    assert '<html lang="fr">' in visitor.get("/campaigns/nantes/report").text, "the campaign's own"
    for language in ("en", "fr", "de", "es"):
        asked = {"language": language}
        page = visitor.get("/campaigns/nantes/report", params=asked).text
        assert f'<html lang="{language}">' in page
        assert "Où roulez-vous ?" in page
        assert "Ville de Nantes" in page
        assert page.count('class="cell q') >= 1
        assert not re.search(r"https?://(?!testserver|www\.w3\.org)", page), "no request to another host"
        assert not re.search(r"\{[a-z_]+\}", page.split("<body>")[1])
        picture = visitor.get("/campaigns/nantes/map.svg", params=asked).text
        assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert "Où roulez-vous ?</text>" in picture
        assert re.search(r"600 .*95 %", picture), "of whom, when and how sure stand in the picture"
        assert picture.count('y="') > 9, "with what its colours say"
        table = visitor.get("/campaigns/nantes/report.csv", params=asked).content.decode("utf-8")
        first, second = table.splitlines()[:2]
        comma, point = (";", ",") if language != "en" else (",", ".")
        assert first.startswith("\ufeff")
        assert comma in first
        assert re.search(rf"\d{re.escape(point)}\d", second)


def test_the_parts_of_squares_inside_are_kept_to_a_thousandth_and_no_page_carries_them(visitor: TestClient) -> None:
    grid = Grid.from_bounds(**NANTES)
    known = Districts.within(Areas.read(quarters(), name_field="nom"), grid)
    kept = {"districts": District.each(known.names, known.of_cell)}
    asked = Specification.model_construct(
        grid=_Fields(grid), district_parts=border_parts(known.of_cell, known.chosen), **kept
    )
    assert np.abs(asked.parts_of_cells - known.chosen).max() <= 5e-4
    assert 0 < (known.chosen % 1 > 0).sum() < known.chosen.size / 2
    before = Specification.model_construct(grid=_Fields(grid), district_parts=(), **kept)
    assert np.array_equal(before.parts_of_cells.sum(axis=0) > 0, known.of_cell >= 0), (
        "campaigns kept before had squares"
    )
    opened(visitor)
    assert "district_parts" not in visitor.get("/api/v1/campaigns/nantes").json()["campaign"]
    assert "district_parts" not in visitor.get("/campaigns/nantes").text
