"""Usefulness is measured against the truth, promises are the certificate's own, and nothing of a preview is written."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.helpers.city import fleet
from tests.helpers.command import run

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import receive
from sfumato.tracks.answers.usefulness import measures
from sfumato.tracks.answers.usefulness.measures import MapsAsked, Quality, maps_measured, rectangle
from sfumato.tracks.answers.usefulness.utility import Utility, utility
from sfumato.tracks.io import write_trace
from sfumato.tracks.io.tables.point_table import write_fleet
from sfumato.tracks.people.door import protect, protect_fleet
from sfumato.tracks.people.preview import Choice, Wish, grant, parse_wish, preview
from sfumato.tracks.plan import Plan

NOON = 1.7e9


def walk(points: int = 60, *, lat: float = 48.85, lon: float = 2.35, step_deg: float = 0.001) -> Trace:
    return Trace(lat + step_deg * np.arange(points), np.full(points, lon), NOON + 60.0 * np.arange(points))


def by(rows: tuple[Quality, ...], kind: str, cell_m: float | None = None) -> Quality:
    return next(row for row in rows if row.kind == kind and row.cell_m == cell_m)


def test_a_release_that_is_the_original_has_no_error() -> None:
    people = fleet(6)
    found = utility(people, people)
    assert found.error_m == 0
    assert all(row.naive == 0 for row in found.measures)
    assert all(row.corrected is None and "no certificate" in row.note for row in found.measures if row.cell_m)
    assert len(found.persons) == 6


def test_where_counting_is_nearer_than_correcting_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    people, first_cell = fleet(6), lambda shares, *_: np.eye(1, shares.truth.size).ravel()
    monkeypatch.setattr(measures, "_corrected", lambda *seen: seen[0]._replace(corrected=first_cell(*seen), note=""))
    row = by(utility(people, people, heat_cells_m=(500.0,), flow_cells_m=()).measures, "heatmap", 500.0)
    assert (row.naive, row.note) == (0, measures.COUNTING)
    assert row.corrected is not None
    assert row.corrected > 0


def test_errors_are_those_of_an_independent_count() -> None:
    """Two cells of a kilometre: half of the points move from one into the other; every step is twice as long."""
    at = np.array([48.004, 48.004, 48.014, 48.014])
    one = Trace(at, np.full(4, 2.005), NOON + 60.0 * np.arange(4))
    other = Trace(np.array([48.004, 48.014, 48.014, 48.014]), one.lon_deg, one.times_s)
    bounds = (48.0, 2.0, 48.02, 2.0134)
    rows = utility(one, other, heat_cells_m=(1000.0,), flow_cells_m=(), bounds=bounds).measures
    assert by(rows, "heatmap", 1000.0).naive == pytest.approx(0.25)
    assert by(rows, "length").naive == pytest.approx(0.0, abs=1e-6)
    double = Trace(48.0 + 2 * (at - 48.0), one.lon_deg, one.times_s)
    assert by(utility(one, double, bounds=bounds).measures, "length").naive == pytest.approx(1.0, abs=1e-3)


def test_correction_helps_a_fleet_and_lengths_come_out_right() -> None:
    people = fleet(12, stays=8, seed=5)
    done = protect_fleet(Plan(noise_m=300.0), people, rng=1)
    found = utility(people, done.releases, done.certificate, heat_cells_m=(500.0,), flow_cells_m=(3000.0,))
    heat, length = by(found.measures, "heatmap", 500.0), by(found.measures, "length")
    assert heat.corrected is not None
    assert heat.naive is not None
    assert heat.corrected < heat.naive
    assert length.naive is not None
    assert length.corrected is not None
    assert length.corrected < 0.5 * length.naive
    assert by(found.measures, "flows", 3000.0).naive is not None
    assert json.dumps(found.to_dict())


def test_tables_files_and_releases_of_several_laws_are_measured(tmp_path: Path) -> None:
    people = fleet(6, stays=2, seed=8)
    noises = (Plan(noise_m=150.0), Plan(noise_m=400.0, mechanism="independent"))
    done = [protect_fleet(noises[0], people[3:], rng=0), protect_fleet(noises[1], people[:3], rng=1)]
    write_fleet(people, tmp_path / "o.parquet")
    for k, one in enumerate(done):
        write_fleet(one.releases, tmp_path / f"{k}.parquet")
        (tmp_path / f"{k}.json").write_text(json.dumps(one.certificate))
    tables = [pq.read_table(tmp_path / f"{k}.parquet") for k in range(2)]
    maps = {"heat_cells_m": (1000.0,), "flow_cells_m": ()}
    found = utility(tmp_path / "o.parquet", tables, [one.certificate for one in done], **maps)
    assert {row.person for row in found.persons} == {name for name, _ in people}
    assert found.measures[0].corrected is not None
    assert found.measures[0].corrected < found.measures[0].naive
    assert all(one.error_m < 300 for one in found.persons if one.person in {name for name, _ in people[3:]})
    with pytest.raises(InputError, match="as many releases"):
        utility(people, tables, [done[0].certificate])
    with pytest.raises(InputError, match="different people"):
        utility(tmp_path / "o.parquet", tables[0], done[0].certificate)
    pairs = ("0.parquet", "1.parquet", "-c", "0.json", "-c", "1.json")
    code, said, error = run("utility", "o.parquet", *pairs, "--cells", "1km", "--json", folder=tmp_path)
    assert code == 0, error
    assert json.loads(said)["people"] == 6


def test_skipped_rows_are_counted_and_coarse_maps_are_sums_of_fine_ones(tmp_path: Path) -> None:
    people = fleet(6, stays=4, seed=2)
    write_fleet(people, tmp_path / "o.csv")
    rows = (tmp_path / "o.csv").read_text().splitlines()
    at = rows[0].replace('"', "").split(",").index("lat")
    for k in (3, 40):
        cells = rows[k].split(",")
        rows[k] = ",".join([*cells[:at], "NaN", *cells[at + 1 :]])
    (tmp_path / "nan.csv").write_text("\n".join(rows) + "\n")
    code, said, error = run("preview", "nan.csv", "--noise", "300m", "--flow-cells", "", folder=tmp_path)
    assert code == 0, error
    assert "skipped 2" in said
    assert "With other people like these, corrected lengths would differ by up to" in said
    done = protect_fleet(Plan(noise_m=300.0), people, rng=1)
    others = [receive(done.releases, done.certificate)]
    asked, _ = rectangle([trace for _, trace in people], MapsAsked((500.0, 1000.0), (), quick=True), 300.0)
    quick = maps_measured(people, done.releases, others, asked)
    whole = maps_measured(people, done.releases, others, replace(asked, heat_cells_m=(1000.0,), quick=False))
    assert quick[1].naive == pytest.approx(whole[0].naive, abs=0.03)  # but for half a cell at the rim
    assert quick[1].corrected == pytest.approx(whole[0].corrected, abs=0.1)


def test_a_preview_states_the_certificates_own_promise_and_draws_anew() -> None:
    ride = walk()
    found = preview(ride, noise_m=(200.0, 800.0), heat_cells_m=(1000.0,), flow_cells_m=())
    stated = protect(ride, noise_m=800.0, radius_m=200.0).certificate
    choice = found.choices[-1]
    assert choice.noise_m == pytest.approx(800.0)
    assert choice.odds == pytest.approx(stated["odds_99"], rel=1e-3)
    assert protect(ride, radius_m=choice.radius_at_m[5.0], odds=5.0).certificate["rms_noise_m"] == pytest.approx(
        800.0, rel=1e-3
    )
    assert found.choices[0].radius_at_m[5.0] < choice.radius_at_m[5.0]
    assert [one.noise_m for one in found.choices][1] == pytest.approx(709.1, rel=1e-2)  # what the wished radius takes
    again = preview(ride, noise_m=(200.0, 800.0), heat_cells_m=(1000.0,), flow_cells_m=())
    assert again.choices[0].utility.error_m != found.choices[0].utility.error_m


def test_wishes_are_granted_or_the_nearest_two_are_named() -> None:
    def offer(noise_m: float, error: float) -> Choice:
        answers = Utility(1, 1, noise_m, (Quality("length", None, 9.0, error),))
        return Choice(noise_m, None, {5.0: 0.25 * noise_m}, answers)

    offers = [offer(100, 0.02), offer(400, 0.09), offer(800, 0.2), offer(2000, 0.33)]
    wish = parse_wish("length=10%,radius=500m", 200.0, 5.0)
    assert wish == Wish("length", None, 0.1, 500.0, 5.0)
    refused = grant(wish, offers)
    assert refused.together is False
    assert "trip length within 10 % and a radius of 500 m: not together" in refused.sentence
    assert "a radius of 100 m (noise 400 m) with 9.0 %, or a radius of 500 m with 33 %" in refused.sentence
    assert grant(parse_wish("length=20%,radius=200m", 1.0, 5.0), offers).together is True
    assert grant(parse_wish("speed=20%", 200.0, 5.0), offers).together is None
    for wrong in ("length", "heatmap=10%", "length=10%,radius=far", "radius=100m", "length=0%", "odds=0.5,length=1%"):
        with pytest.raises(InputError):
            parse_wish(wrong, 200.0, 5.0)


@pytest.mark.parametrize(
    "odd",
    [
        walk(1),
        Trace(np.full(30, 48.85), np.full(30, 2.35), NOON + 30.0 * np.arange(30)),
        Trace(np.full(40, -17.0), (179.9 + 0.005 * np.arange(40) + 180) % 360 - 180, NOON + 60.0 * np.arange(40)),
    ],
    ids=["one point", "stationary", "over the antimeridian"],
)
def test_odd_tracks_are_measured(odd: Trace) -> None:
    found = preview(odd, noise_m=(300.0,), heat_cells_m=(1000.0,), flow_cells_m=(3000.0,))
    heat = by(found.choices[0].utility.measures, "heatmap", 1000.0)
    assert heat.naive is not None
    assert 0 <= heat.naive <= 1
    assert all(one.sentence for one in found.wishes)


def test_a_rectangle_over_a_country_is_cut_and_said() -> None:
    far = Trace(np.linspace(47.0, 52.0, 51), np.linspace(0.0, 13.0, 51), NOON + 60.0 * np.arange(51))
    asked, notes = rectangle([far], MapsAsked(), 200.0)
    assert asked.bounds is not None
    south, west, north, east = asked.bounds
    assert south <= 49.5 <= north
    assert west <= 6.5 <= east
    assert (north - south) * 111.2 < 60
    assert "around the middle" in notes[0]


def test_the_commands_write_one_private_page_and_nothing_else(tmp_path: Path) -> None:
    table = tmp_path / "fleet.csv"
    write_fleet(fleet(5, stays=6), table)
    options = ("--cells", "1km", "--flow-cells", "3km")
    code, out, error = run(
        *("preview", "fleet.csv", "--noise", "200m,400m", *options, "--report", "p.html"), folder=tmp_path
    )
    assert code == 0, error
    assert "Private" in out
    assert "radius at odds of 5 : 1" in out
    assert "together" in out
    page = tmp_path / "p.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "<svg" in page.read_text()
    assert "http://" not in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fleet.csv", "p.html"]
    code, _, error = run("protect", "fleet.csv", "-o", "r.parquet", "--certificate", "c.json", folder=tmp_path)
    assert code == 0, error
    words = ("utility", "fleet.csv", "r.parquet", "--certificate", "c.json", *options, "--json")
    code, out, error = run(*words, "--report", "u.html", folder=tmp_path)
    assert code == 0, error
    said = json.loads(out)
    assert said["private"]
    assert len(said["persons"]) == 5
    assert {row["answer"] for row in said["measures"]} == {"length", "speed", "heatmap", "flows"}
    assert stat.S_IMODE((tmp_path / "u.html").stat().st_mode) == 0o600
    code, out, _ = run("utility", "fleet.csv", "r.parquet", *options, folder=tmp_path)
    assert code == 0
    assert "no certificate" in out


def test_an_archive_is_previewed_and_measured_as_one_person(tmp_path: Path) -> None:
    rides = tmp_path / "rides"
    rides.mkdir()
    for day in range(3):
        one = walk(40, step_deg=0.002)
        write_trace(Trace(one.lat_deg, one.lon_deg, one.times_s + 86400.0 * day), rides / f"{day}.gpx")
    options = ("--cells", "1km", "--flow-cells", "3km", "--json")
    code, out, error = run("preview", "rides", "--noise", "300m", *options, folder=tmp_path)
    assert code == 0, error
    assert json.loads(out)["choices"][0]["points"] == 120
    code, _, error = run("protect", "rides", "-o", "shared", "--certificate", "c.json", folder=tmp_path)
    assert code == 0, error
    code, out, error = run("utility", "rides", "shared", "--certificate", "c.json", *options, folder=tmp_path)
    assert code == 0, error
    assert json.loads(out)["points"] == 120
    assert json.loads(out)["error_m"] > 100


def test_a_table_of_one_named_person_is_one_track(tmp_path: Path) -> None:
    write_fleet([("only", walk(30, step_deg=0.0))], tmp_path / "one.csv")
    words = ("preview", "one.csv", "--noise", "300m", "--cells", "1km", "--flow-cells", "", "--json")
    code, out, error = run(*words, folder=tmp_path)
    assert code == 0, error
    choice = json.loads(out)["choices"][0]
    assert choice["people"] == 1
    assert choice["persons"] == []
    heat = next(row for row in choice["measures"] if row["answer"] == "heatmap")
    assert heat["note"] == "one cell holds everybody"
