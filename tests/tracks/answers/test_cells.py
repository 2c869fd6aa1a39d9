"""Cells of other kinds, releases of other kinds, files and pictures: the same map, told otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from city import BOUNDS, fleet, received
from typer.testing import CliRunner

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid
from sfumato.base.things.hexagons import HexCells
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.answers.answer_files import picture, write_answer
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.intervals import people_interval
from sfumato.tracks.answers.maps.cells import AskedCells, Window, outlines, wide_enough
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import NoiseLaw, Received, receive
from sfumato.tracks.answers.ways.how_people_move import estimate_speeds
from sfumato.tracks.io.tables.point_table import fleet_table
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import White

SOUTH, WEST, NORTH, EAST = BOUNDS


def halves() -> dict[str, object]:
    """The rectangle in two areas."""
    middle = (WEST + EAST) / 2
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": name},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [[[a, SOUTH], [b, SOUTH], [b, NORTH], [a, NORTH], [a, SOUTH]]],
                },
            }
            for name, a, b in (("west", WEST, middle), ("east", middle, EAST))
        ],
    }


@pytest.mark.slow
def test_areas_and_hexagons_hold_what_the_cells_within_them_hold() -> None:
    pytest.importorskip("h3")
    people = fleet(40)
    release = received(people)
    areas = Areas.read(halves())
    by_area = estimate_heatmap([release], areas=areas)
    inside = np.concatenate([areas.locate(trace.lat_deg, trace.lon_deg) for _, trace in people])
    truth = np.bincount(inside[inside >= 0], minlength=2) / (inside >= 0).sum()
    assert by_area.share == pytest.approx(truth, abs=0.03)
    ends = ["low", "high", "low_alike", "high_alike"]
    assert by_area.to_table().column_names == ["cell", "lat", "lon", "share", *ends]
    hexagons = estimate_heatmap([release], h3=8, bounds=BOUNDS)
    where = np.concatenate([hexagons.cells.locate(trace.lat_deg, trace.lon_deg) for _, trace in people])
    truth = np.bincount(where[where >= 0], minlength=hexagons.cells.cells) / (where >= 0).sum()
    ours, naive = (0.5 * float(np.abs(one - truth).sum()) for one in (hexagons.share, hexagons.naive))
    assert hexagons.share.sum() == pytest.approx(1)
    assert ours < naive
    flows = estimate_flows([release], areas=areas)
    assert flows.share.shape == (2, 2)
    assert flows.share.sum() == pytest.approx(1)


def test_cells_are_of_one_kind_and_areas_are_named_polygons() -> None:
    release = received(fleet(3))
    with pytest.raises(InputError, match="one of three"):
        estimate_heatmap([release], cell_m=500, h3=8)
    point = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [2.3, 48.8]}}
    with pytest.raises(InputError, match="not a polygon"):
        Areas.read({"type": "FeatureCollection", "features": [point]})
    twice = halves()
    twice["features"] = [twice["features"][0]] * 2  # type: ignore[index]
    with pytest.raises(InputError, match="same name"):
        Areas.read(twice)
    elsewhere = halves()
    for feature in elsewhere["features"]:  # type: ignore[attr-defined]
        feature["geometry"]["coordinates"] = (np.array(feature["geometry"]["coordinates"]) - 30).tolist()
    with pytest.raises(InputError, match="No released point"):
        estimate_heatmap([release], areas=Areas.read(elsewhere))


def test_tables_and_folders_of_their_parts_are_releases_too(tmp_path: Path) -> None:
    done = protect_fleet(Plan(noise_m=300), fleet(6), rng=1)
    people = [(str(name), trace) for name, trace in done.releases]
    table = fleet_table(people)
    first = estimate_heatmap([(table, done.certificate)], cell_m=1500, bounds=BOUNDS)
    ids = np.asarray(table["id"].to_pylist())
    for part in (0, 1):
        rows = pa.array(np.flatnonzero(np.isin(ids, [name for name, _ in people[3 * part : 3 * part + 3]])))
        pq.write_table(table.take(rows), tmp_path / f"part-{part}.parquet")
    second = estimate_heatmap([(tmp_path, done.certificate)], cell_m=1500, bounds=BOUNDS)
    assert np.array_equal(first.share, second.share)
    pandas = pytest.importorskip("pandas")
    frame = receive(table.to_pandas(), done.certificate)
    assert isinstance(frame, Received)
    assert pandas.__version__
    with pytest.raises(VerificationFailed, match="not this release's"):
        receive(table.slice(1), done.certificate)


@pytest.mark.slow
def test_people_across_the_date_line_in_one_cell_and_alone_are_answered() -> None:
    rng = np.random.default_rng(0)
    law = NoiseLaw(White(200.0), 0.0)
    across = tuple(
        (str(k), Trace(rng.normal(0, 0.002, 30), (180 + rng.normal(0, 0.01, 30) + 180) % 360 - 180, np.arange(30.0)))
        for k in range(12)
    )
    found = estimate_heatmap([Received(across, law, "independent", False)], cell_m=1000)
    assert found.share.sum() == pytest.approx(1)
    assert found.outside == 0
    assert found.grid.cells < 60
    still = tuple((str(k), Trace(np.full(20, 1.0), np.full(20, 2.0), np.arange(20.0))) for k in range(12))
    one = estimate_heatmap([Received(still, law, "independent", False)], cell_m=9000, bounds=(0.96, 1.96, 1.04, 2.04))
    assert one.share == pytest.approx([1.0])
    assert one.low_alike[0] < 1.0  # twelve people cannot show that nobody like them is elsewhere
    empty = one.grid.cells - np.count_nonzero(one.share)
    assert empty == 0


def test_no_cell_and_no_flow_is_drawn_around_the_world(tmp_path: Path) -> None:
    """Across the date line a shape goes on beyond 180 degrees: from 179.99 to -179.99 it would cross every map."""
    rng = np.random.default_rng(0)
    people = tuple(
        (str(k), Trace(rng.normal(0, 0.01, 2), (np.sort(rng.normal(0, 0.02, 2)) + 360) % 360 - 180, np.array([0, 900])))
        for k in range(8)
    )
    release = Received(people, NoiseLaw(White(200.0), 0.0), "independent", False)
    write_answer(estimate_flows([release], cell_m=2000), tmp_path / "flows.geojson")
    drawn = [one["geometry"] for one in json.loads((tmp_path / "flows.geojson").read_text())["features"]]
    lines = [np.array(one["coordinates"]) for one in drawn if one["type"] == "LineString"]
    pytest.importorskip("h3")
    rings = [
        ring
        for shape in outlines(HexCells.from_bounds(-0.01, 179.99, 0.01, -179.99, resolution=8))
        for (ring,) in shape
    ]
    for shapes in (lines, rings):
        assert any(one[:, 0].max() > 180 or one[:, 0].min() < -180 for one in shapes)
        assert max(np.ptp(one[:, 0]) for one in shapes) < 0.5


def test_an_interval_for_few_people_is_never_of_no_width() -> None:
    share = np.array([0.0, 0.02, 0.98])
    low, high = people_interval(share, np.tile(share, (10, 1)), 10, 0.9)
    assert (low <= share).all()
    assert (share <= high).all()
    assert high[0] > 0.05
    wide = people_interval(share, np.tile(share, (10, 1)), 10, 0.9, bias=np.array([0.1, 0.1, 0.0]))
    assert wide[1][1] > high[1]


def test_every_ending_and_the_picture(tmp_path: Path) -> None:
    release = received(fleet(12, stays=8), noise_m=400.0)
    maps = (
        estimate_heatmap([release], cell_m=3000, bounds=BOUNDS),
        estimate_flows([release], cell_m=4000, bounds=BOUNDS),
    )
    for number, answer in enumerate(maps):
        rows = answer.to_table().num_rows
        for ending in (".csv", ".parquet", ".geoparquet", ".json", ".geojson"):
            write_answer(answer, tmp_path / f"{number}{ending}")
        geo = pq.read_table(tmp_path / f"{number}.geoparquet")
        assert json.loads(geo.schema.metadata[b"geo"])["primary_column"] == "geometry"
        shapely = pytest.importorskip("shapely")
        shapes = shapely.from_wkb(geo["geometry"].to_pylist())
        assert len(shapes) == rows
        assert all(shape.is_valid for shape in shapes)
        assert len(json.loads((tmp_path / f"{number}.geojson").read_text())["features"]) == rows
        drawn = picture(answer)
        assert drawn.startswith("<svg")
        assert drawn.count("http") == 1  # the namespace, and no request
    speeds = estimate_speeds([release], rng=1)
    with pytest.raises(InputError, match="answer has no place"):
        write_answer(speeds, tmp_path / "speeds.geojson")


def test_the_commands_write_movement_pictures_and_say_what_is_missing(tmp_path: Path) -> None:
    done = protect_fleet(Plan(noise_m=300), fleet(6, stays=6), rng=1)
    release, certificate = tmp_path / "r.parquet", tmp_path / "c.json"
    pq.write_table(fleet_table([(str(name), trace) for name, trace in done.releases]), release)
    certificate.write_text(json.dumps(done.certificate))
    run = CliRunner().invoke
    for question, unit in (("distances", "m"), ("speeds", "m/s"), ("stays", "s")):
        out = tmp_path / f"{question}.csv"
        told = run(app, ["estimate", question, str(release), "-c", str(certificate), "-o", str(out)])
        assert told.exit_code == 0, told.output
        lines = out.read_text().splitlines()
        assert lines[0].replace('"', "") == "quantity,unit,lag_s,quantile,value,low,high,mostly_model,notes"
        assert any(f'"{unit}"' in line for line in lines)
    heat = tmp_path / "heat.svg"
    files = ["estimate", "heatmap", str(release), "-c", str(certificate)]
    told = run(app, [*files, "--cell", "2km", "--picture", str(heat)])
    assert told.exit_code == 0, told.output
    assert heat.read_text().startswith("<svg")
    assert "A simulation: a release was drawn from a seed" in told.output  # by anybody who has the file
    missing = run(app, ["estimate", "heatmap", str(release)])
    assert missing.exit_code != 0
    assert "no known law" in str(getattr(missing.exception, "advice", missing.output))


def test_areas_too_small_to_be_told_apart_are_shown_with_their_smallest_neighbour() -> None:
    named = halves()
    sliver = {"type": "Polygon", "coordinates": [[[EAST, SOUTH], [EAST + 0.002, SOUTH], [EAST, NORTH], [EAST, SOUTH]]]}
    far = {"type": "Polygon", "coordinates": [[[9, 9], [9.001, 9], [9, 9.001], [9, 9]]]}
    for name, shape in (("sliver", sliver), ("far", far)):
        named["features"].append({"type": "Feature", "properties": {"name": name}, "geometry": shape})  # type: ignore[attr-defined]
    areas = Areas.read(named)
    grid = Grid.from_bounds(SOUTH, WEST, NORTH, EAST + 0.01, cell_size_m=400.0)
    reporting = AskedCells(areas, grid).summed_on(Window.around(grid, 300.0))
    shown = wide_enough(reporting, 2000.0)
    assert shown.cells.labels() == ("west", "east + sliver", "far")
    assert shown.told is not None
    assert shown.told.tolist() == [True, True, False]
    ground = np.ones(shown.window.shape)
    assert shown.masses(ground)[1] == pytest.approx(reporting.masses(ground)[1:3].sum())
    assert wide_enough(reporting, None).told.tolist() == [False, False]  # type: ignore[union-attr]
