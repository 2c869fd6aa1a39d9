"""A frame that was released is received as it is, whatever library it is of, with its trips."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from city import BOUNDS, fleet
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.cli import app
from sfumato.tracks.io.tables.point_table import fleet_table

PEOPLE = fleet(3, stays=5, points=8)
TRIPS = 3 * 4


def frame(*, trip: str) -> object:
    """As pandas has it, trips under this name."""
    pytest.importorskip("pandas")
    found = fleet_table(PEOPLE).to_pandas().rename(columns={"segment": trip, "id": "user_id"})
    found[trip] = found["user_id"].astype(str) + "-" + found[trip].astype(str)
    return found


def trips_in(released: object, certificate: object, **how: str) -> int:
    received = sf.receive(released, certificate, **how)  # type: ignore[arg-type]
    return sf.estimate_flows([received], cell_m=6000, bounds=BOUNDS).trips


def test_a_released_frame_of_geopandas_is_received_with_its_trips() -> None:
    geopandas = pytest.importorskip("geopandas")
    plain = frame(trip="trip_id")
    places = geopandas.points_from_xy(plain["lon"], plain["lat"], crs="EPSG:4326")  # type: ignore[index]
    table = geopandas.GeoDataFrame(plain.drop(columns=["lat", "lon"]), geometry=places)  # type: ignore[attr-defined]
    done = sf.protect(table, noise_m=1500.0, rng=1)
    assert isinstance(done.frame, geopandas.GeoDataFrame)
    assert trips_in(done.frame, done.certificate) == TRIPS


def test_the_triplegs_of_trackintel_are_trips_and_stay() -> None:
    table = frame(trip="tripleg_id")
    done = sf.protect(table, noise_m=1500.0, rng=1)
    assert list(done.frame["tripleg_id"]) == list(table["tripleg_id"])  # type: ignore[index]
    assert trips_in(done.frame, done.certificate) == TRIPS


def test_a_frame_whose_times_name_no_zone_is_received_in_the_one_it_was_released_in() -> None:
    """As scikit-mobility has them."""
    table = frame(trip="trip_id")
    table["time"] = table["time"].dt.tz_localize(None)  # type: ignore[index]
    done = sf.protect(table, noise_m=1500.0, zone="UTC", rng=1)
    with pytest.raises(InputError, match="no time zone"):
        sf.receive(done.frame, done.certificate)
    assert trips_in(done.frame, done.certificate, zone="UTC") == TRIPS


def test_a_column_of_trips_that_nobody_knows_is_named_to_whoever_receives_it_or_its_absence_is_said() -> None:
    table = frame(trip="fahrt")
    for named in ({"trip": "fahrt"}, {"columns": {"segment": "fahrt"}}):
        done = sf.protect(table, noise_m=1500.0, rng=1, **named)  # type: ignore[call-overload]
        assert trips_in(done.frame, done.certificate, trip="fahrt") == TRIPS
        unknown = sf.estimate_flows([(done.frame, done.certificate)], cell_m=6000, bounds=BOUNDS)
        assert unknown.trips == 3
        assert "Everybody is one trip" in unknown.notes[0]


def test_a_dataset_is_received_with_the_columns_that_its_certificate_names(tmp_path: Path) -> None:
    """Its people and trips, every part the file that was certified; a changed part is refused."""
    folder, out = tmp_path / "people", tmp_path / "out"
    folder.mkdir()
    frame(trip="fahrt").to_parquet(folder / "all.parquet")  # type: ignore[attr-defined]
    asked = ["protect", str(folder), "-o", str(out), "--noise", "1500m", "--trip-column", "fahrt", "--seed", "1"]
    made = CliRunner().invoke(app, asked)
    assert made.exit_code == 0, made.output
    found = sf.receive(out, out / "_certificate.json")
    assert len(found.people) == 3
    assert sf.estimate_flows([found], cell_m=6000, bounds=BOUNDS).trips == TRIPS
    told = CliRunner().invoke(app, ["estimate", "flows", str(out), "--cell", "6km", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["trips"] == TRIPS
    (part,) = out.glob("*.parquet")
    part.write_bytes(part.read_bytes() + b" ")
    with pytest.raises(VerificationFailed, match="not the file that was certified"):
        sf.receive(out, out / "_certificate.json")
