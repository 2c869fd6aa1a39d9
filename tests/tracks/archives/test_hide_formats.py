"""Files in, the same files out; frames in, frames out."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from command import refused, run
from rides import PARIS, ride
from track_files import FORMATS, write_as

import sfumato as sf
from sfumato.tracks.io import formats
from sfumato.tracks.io.tables import csv_table
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import Places, place_at

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

WRITTEN = {
    "fit": "gpx",
    "kmz": "gpx",
    "rec": "geojson",
    "records.json": "geojson",
    "timeline.json": "geojson",
}


@pytest.fixture
def places() -> Places:
    return Places.none(rng=3).add(place_at("home", *PARIS, radius_m=400.0, rng=1))


def rides_in(folder: Path, kind: str) -> sf.Trace:
    (folder / "rides").mkdir()
    trace = ride([0, 0], [4000, 2500], every_s=5.0)
    write_as(kind, trace, folder / "rides" / f"a.{kind}")
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", "--zone", "400m", folder=folder)
    return trace


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_comes_back_as_itself_or_as_what_it_becomes(kind: str, tmp_path: Path) -> None:
    trace = rides_in(tmp_path, kind)
    code, _, err = run("hide", "rides", "-o", "shared", "--places", "me.places", folder=tmp_path)
    assert code == 0, err
    (file,) = (tmp_path / "shared").iterdir()
    assert file.suffix == f".{WRITTEN.get(kind, kind)}"
    left = sf.read_trace(file)
    assert 0 < len(left) < len(trace)
    where = {round(t): (y, x) for y, x, t in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)}
    recorded = np.array([where[round(moment)] for moment in left.times_s.tolist()])
    assert np.abs(recorded - np.column_stack([left.lat_deg, left.lon_deg])).max() < 2e-6


def test_every_format_goes_through_hide_and_protect_in_a_folder_and_in_a_zip(tmp_path: Path) -> None:
    """One row says what each is written as: none ends in a traceback, and what is written is read again."""
    known = {ending for format in formats.FORMATS.values() for ending in format.endings[:1]}
    assert {f".{kind.rpartition('.')[2]}" for kind in FORMATS} >= known - {".mfjson"}
    (tmp_path / "rides").mkdir()
    with zipfile.ZipFile(tmp_path / "rides" / "all.zip", "w") as packed:
        for number, kind in enumerate(FORMATS):
            trace = ride([0, 0], [4000, 2500], every_s=20.0, at_s=1.7e9 + 86400.0 * number)
            write_as(kind, trace, tmp_path / "rides" / f"{number}.{kind}")
            packed.write(tmp_path / "rides" / f"{number}.{kind}", f"in/z{number}.{kind}")
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", "--zone", "400m", folder=tmp_path)
    endings = sorted(f".{WRITTEN.get(kind, kind)}" for kind in FORMATS)  # a ride and its packed copy are one file
    for words in (("hide", "--places", "me.places"), ("protect", "--noise", "30m", "--one-person")):
        command, *options = words
        out = (command, "rides", "-o", command, *options, "--strict", "--certificate", f"{command}.json")
        code, said, err = run(*out, folder=tmp_path)
        assert code == 0, said + err
        files = list((tmp_path / command).iterdir())
        assert sorted(file.suffix for file in files) == endings
        assert all(len(sf.read_trace(file)) > 5 for file in files)
        checked = run("verify", f"{command}.json", "--release", command, folder=tmp_path)[1]
        assert "no file beside them" in checked


def test_a_format_of_one_file_and_one_row_is_taken_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = formats.Format("lines", "Lines", "others.lines", (".lines",), "write", timeless=True)
    monkeypatch.setitem(formats.FORMATS, "lines", row)
    monkeypatch.setitem(sys.modules, "sfumato.tracks.io.others.lines", csv_table)
    trace = rides_in(tmp_path, "gpx")
    sf.write_trace(trace, tmp_path / "rides" / "b.lines")
    for options in ((), ("--times", "drop"), ("--to", "lines")):
        out = f"shared{len(options)}{''.join(options)[-4:]}"
        code, _, err = run("hide", "rides", "-o", out, "--places", "me.places", *options, folder=tmp_path)
        assert code == 0, err
        assert ".lines" in {file.suffix for file in (tmp_path / out).iterdir()}
    refused("hide", "rides", "-o", "x", "--places", "me.places", "--to", "word", folder=tmp_path, says="lines")


@pytest.mark.parametrize("to", ["csv", "geojson", "gpx", "parquet", "kml"])
@pytest.mark.parametrize("kind", ["records.json", "rec", "fit"])
def test_to_writes_another_format(kind: str, to: str, tmp_path: Path) -> None:
    rides_in(tmp_path, kind)
    words = ("hide", "rides", "-o", "shared", "--places", "me.places", "--to", to, "--certificate", "c.json")
    code, _, err = run(*words, folder=tmp_path)
    assert code == 0, err
    assert [file.suffix for file in (tmp_path / "shared").iterdir()] == [f".{to}"]
    assert run("verify", "c.json", "--release", "shared", folder=tmp_path)[0] == 0


def test_to_refuses_what_is_only_read(tmp_path: Path) -> None:
    rides_in(tmp_path, "gpx")
    base = ("hide", "rides", "-o", "shared", "--places", "me.places", "--to")
    refused(*base, "fit", folder=tmp_path, says="read but not written")
    refused(*base, "word", folder=tmp_path, says="not a format")
    assert not (tmp_path / "shared").exists()


def test_protect_writes_an_archive_in_another_format(tmp_path: Path) -> None:
    rides_in(tmp_path, "rec")
    words = ("protect", "rides", "-o", "shared", "--noise", "30m", "--output-format", "csv")
    assert run(*words, folder=tmp_path)[0] == 0
    assert [file.suffix for file in (tmp_path / "shared").iterdir()] == [".csv"]


def frames():
    import geopandas as gpd
    import pandas as pd
    import polars as pl

    trace = ride([0, 0], [4000, 2500], every_s=5.0)
    when = pd.to_datetime(trace.times_s, unit="s", utc=True)
    frame = pd.DataFrame({"latitude": trace.lat_deg, "longitude": trace.lon_deg, "when": when, "heart_rate": 100.0})
    frame = frame.rename(columns={"when": "timestamp"})
    points = gpd.GeoDataFrame(
        frame[["timestamp"]], geometry=gpd.points_from_xy(frame.longitude, frame.latitude), crs=4326
    )
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "geopandas": points,
        "arrow": pl.from_pandas(frame).to_arrow(),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "geopandas", "arrow"])
def test_a_frame_comes_back_as_the_kind_it_was_with_its_names(kind: str, places: Places) -> None:
    frame = frames()[kind]
    done = sf.hide(frame, places)
    assert type(done.shared) is type(frame)
    assert 0 < len(done.shared) < len(frame)
    names = list(getattr(done.shared, "column_names", None) or done.shared.columns)
    assert names == (
        ["timestamp", "segment", "geometry"]
        if kind == "geopandas"
        else ["latitude", "longitude", "timestamp", "segment"]
    )
    if kind == "geopandas":
        lat, lon = done.shared.geometry.y, done.shared.geometry.x
        assert done.shared.crs.to_epsg() == 4326
    else:
        lat, lon = (np.asarray(done.shared[name]) for name in names[:2])
    assert not places.zones[0].holds(surface(lat, lon)).any()
    assert done.leaks[0].name == "home"
    assert sf.find_places(frame) == []  # one ride, no stay: nothing to find, and no error


def test_trips_of_a_frame_stay_apart_and_one_that_never_leaves_is_gone(places: Places) -> None:
    import pandas as pd

    frame = frames()["pandas"].drop(columns="heart_rate")
    zone = places.active[0].zone
    assert zone is not None
    lat, lon = zone.around.to_degrees([[0.0, 0.0], [9.0, 9.0]])
    walk = pd.DataFrame({"latitude": lat, "longitude": lon, "timestamp": frame.timestamp[:2]})
    table = pd.concat([frame.assign(trip_id="a"), walk.assign(trip_id="b"), frame.assign(trip_id="c")])
    shared = sf.hide(table, places).shared
    assert set(shared.trip_id) == {"a", "c"}
    assert list(shared.columns) == ["latitude", "longitude", "timestamp", "segment", "trip_id"]
    assert len(sf.hide(walk, places).shared) == 0
    visits = pd.concat(
        [frame.assign(trip_id=str(k), timestamp=frame.timestamp + pd.Timedelta(days=k)) for k in range(3)]
    )
    assert len(sf.find_places(visits)) == 2


def test_lists_and_mappings(places: Places) -> None:
    trace = ride([0, 0], [4000, 2500], every_s=5.0)
    several = sf.hide({"a": trace, "b": trace}, places.active[0])
    assert set(several.shared) == {"a", "b"}
    assert np.array_equal(several.shared["a"].times_s, sf.hide([trace], places).shared[0].times_s)
    assert sf.hide(trace, places).shared is not None
