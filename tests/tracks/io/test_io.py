"""Tracks of every format come in as the same trace, and what goes out is positions and times only."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sample_files as samples

from sfumato.base.errors import InputError, MissingExtra, SfumatoError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.io.formats import FORMATS, format_of, output_format
from sfumato.tracks.io.times import format_times, parse_epochs, parse_times

WRITABLE = [name for name, format in FORMATS.items() if format.write]
THE_SAME = [
    name for name in samples.TEXT_SAMPLES if name not in ("2024_MAY.json", "Timeline.json", "location-history.json")
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return samples.write_samples(tmp_path)


def _trace(*, fractions: bool = True, segments: bool = True) -> Trace:
    generator = np.random.default_rng(5)
    lat, lon = np.round(5 + generator.normal(0, 0.01, 40), 7), np.round(-1 + generator.normal(0, 0.01, 40), 7)
    times = 1.7e9 + np.arange(40) * (2.5 if fractions else 3.0)
    return Trace(lat, lon, times, np.arange(40) // 15 if segments else None)  # type: ignore[arg-type]


# Reading


@pytest.mark.parametrize("name", THE_SAME)
def test_every_format_gives_the_same_positions_and_times(files: dict[str, Path], name: str) -> None:
    trace = read_trace(files[name])
    expected = np.array(samples.POINTS)
    assert np.abs(trace.lat_deg - expected[:, 0]).max() < 1e-9
    assert np.abs(trace.lon_deg - expected[:, 1]).max() < 1e-9
    assert np.abs(trace.times_s - expected[:, 2]).max() < 1e-6
    assert trace.columns == {}


def test_a_fit_file_gives_the_same_positions_and_whole_seconds(files: dict[str, Path]) -> None:
    pytest.importorskip("fitdecode")
    trace = read_trace(files["a.fit"])
    expected = np.array(samples.POINTS)
    assert np.abs(trace.lat_deg - expected[:, 0]).max() < 1e-7
    assert trace.times_s.tolist() == np.floor(expected[:, 2]).tolist()
    assert {"device", "heart_rate", "elevation", "points without a position (1)"} <= set(trace.dropped)
    assert read_trace(files["a.fit"], keep=["elevation"]).columns["elevation"] == pytest.approx([12.4] * 3)


@pytest.mark.parametrize(
    ("name", "segments"), [("a.gpx", 2), ("a.kml", 2), ("a.tcx", 2), ("b.geojson", 2), ("b.gpx", 1)]
)
def test_segments_are_kept(files: dict[str, Path], name: str, segments: int) -> None:
    assert read_trace(files[name]).segments == segments


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.gpx", {"elevation", "heart_rate", "cadence", "name", "description", "device", "waypoints (1)"}),
        ("b.gpx", {"speed", "course"}),
        ("a.kml", {"elevation", "name"}),
        ("b.kml", {"waypoints (1)"}),
        ("a.tcx", {"elevation", "heart_rate", "Creator Name", "Creator UnitId", "points without a position (1)"}),
        ("a.csv", {"speed"}),
        ("a.plt", {"elevation"}),
        ("a.rec", {"batt", "SSID", "elevation", "messages other than locations and transitions"}),
        ("a.geojson", {"name", "heart", "device", "elevation", "waypoints (1)"}),
        ("Records.json", {"accuracy", "device", "wifiScan"}),
        ("2024_MAY.json", {"activityType", "address", "name"}),
        ("Timeline.json", {"raw positions beside the timeline (1)", "userLocationProfile", "placeId", "distance"}),
    ],
)
def test_what_is_left_out_is_named(files: dict[str, Path], name: str, words: set[str]) -> None:
    assert words <= set(read_trace(files[name]).dropped)


def test_googles_visits_and_journeys_become_points_in_the_order_of_time(files: dict[str, Path]) -> None:
    for name in ("2024_MAY.json", "Timeline.json"):
        trace = read_trace(files[name])
        assert trace.lat_deg == pytest.approx([5.101, 5.102, 5.1035, 5.104, 5.104])
        assert trace.times_s - samples.POINTS[0][2] == pytest.approx([0, 10, 25.5, 300, 3900])
    trace = read_trace(files["location-history.json"])
    assert trace.lat_deg == pytest.approx([5.101, 5.102, 5.1035, 5.1035, 5.1035, 5.101])
    assert trace.times_s - samples.POINTS[0][2] == pytest.approx([0, 420, 1800, 5400, 5400, 6000])


def test_things_are_kept_one_by_one_when_asked(files: dict[str, Path]) -> None:
    trace = read_trace(files["a.gpx"], keep=["elevation", "hr", "name"])
    assert trace.columns["elevation"][:2].tolist() == [12.5, 13.0]
    assert np.isnan(trace.columns["elevation"][2])
    assert trace.columns["heart_rate"][0] == 121
    assert trace.texts == {"name": "Run from home"} or trace.texts == {"name": "Morning & evening"}
    assert "elevation" not in trace.dropped
    assert "cadence" in trace.dropped
    assert read_trace(files["a.csv"], keep=["speed"]).columns["speed"][:2].tolist() == [1.0, 2.0]
    assert read_trace(files["a.geojson"], keep=["heart"]).columns["heart"].tolist() == [1.0, 2.0, 3.0]
    assert read_trace(files["a.tcx"], keep="heart_rate").columns["heart_rate"][0] == 121


@pytest.mark.parametrize("word", ["power", "waypoints", "lat"])
def test_what_is_not_there_or_must_not_be_kept_is_refused(files: dict[str, Path], word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_trace(files["a.gpx"], keep=[word])


def test_formats_are_told_by_content_where_the_ending_says_nothing(files: dict[str, Path], tmp_path: Path) -> None:
    for name, path in files.items():
        other = tmp_path / f"{name.replace('.', '_')}.dat"
        other.write_bytes(path.read_bytes())
        if not name.endswith(".rec"):
            assert len(read_trace(other)) == len(read_trace(path))
    wrong = tmp_path / "really_gpx.json"
    wrong.write_text(samples.GPX)
    assert format_of(wrong).name == "gpx"
    with pytest.raises(InputError, match="format"):
        read_trace(files["a.gpx"], format="docx")
    assert len(read_trace(wrong, format="gpx")) == 3


def test_columns_can_be_named_and_a_date_may_stand_apart(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("wann\tnord\tost\n2024-05-01T12:00:00Z\t5.101\t-1.202\n")
    with pytest.raises(InputError, match="columns="):
        read_trace(path)
    trace = read_trace(path, columns={"time": "wann", "lat": "nord", "lon": "ost"})
    assert trace.lat_deg.tolist() == [5.101]
    with pytest.raises(InputError, match="no column"):
        read_trace(path, columns={"time": "when"})
    with pytest.raises(InputError, match="role"):
        read_trace(path, columns={"height": "nord"})
    path.write_text("date,time,lat,lon\n2024-05-01,12:00:00,5.1,-1.2\n2024/05/01,12:00:10,5.1,-1.2\n")
    assert read_trace(path, zone="UTC").times_s.tolist() == [1714564800.0, 1714564810.0]


def test_quoted_lines_row_numbers_and_full_times_beside_a_date_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text('id,date,time,lat,lon,note\n1,x,2024-05-01T12:00:00Z,5.1,-1.2,"two\nlines, one field"\n'
                    "2,x,2024-05-01T12:00:10Z,5.1,-1.2,\n")  # fmt: skip
    assert read_trace(path).times_s.tolist() == [1714564800.0, 1714564810.0]
    assert len(read_traces(path, columns={"id": "id"})) == 2


def test_kept_speeds_are_metres_per_second_whatever_the_log_counts_in(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    path.write_text('2024-05-01T12:00:00Z\t*\t{"_type":"location","lat":5.1,"lon":-1.2,"tst":1714564800,"vel":36}\n')
    assert read_trace(path, keep=["speed"]).columns["speed"].tolist() == [10.0]


def test_a_fleet_is_read_by_its_ids_and_never_as_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    rows = [f"{who},{1714564800 + 10 * k},{5 + k / 100},{-1 - k / 100}" for k in range(4) for who in ("b", "a")]
    path.write_text("user_id,timestamp,lat,lon\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match="read_traces"):
        read_trace(path)
    traces = read_traces(path)
    assert [name for name, _ in traces] == ["b", "a"]
    assert all(len(trace) == 4 and trace.lat_deg[3] == 5.03 for _, trace in traces)


def test_a_persons_trips_are_segments_of_one_trace_because_the_noise_is_one_process_per_person() -> None:
    table = pa.table(
        {
            "user_id": ["a", "a", "b", "a", "a"],
            "trajectory_id": ["1", "1", "1", "2", "2"],
            "lat": [5.1, 5.2, 5.3, 5.4, 5.5],
            "lon": [-1.1] * 5,
            "time": pa.array([100, 110, 120, 50, 60]).cast(pa.timestamp("s", tz="UTC")),
        }
    )
    (first, one), (second, other) = read_traces(table)
    assert (first, second) == ("a", "b")
    assert one.segment.tolist() == [0, 0, 1, 1]
    assert len(other) == 1
    assert len(read_traces(table.drop_columns(["user_id"]).slice(3))) == 1


def test_several_tracks_of_a_file_are_segments_of_one_trace_or_traces_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two.gpx"
    track = re.search(r"<trk>.*</trk>", samples.GPX, re.DOTALL)
    assert track is not None
    path.write_text(samples.GPX.replace(track.group(), track.group() * 2))
    assert read_trace(path, keep=["elevation"]).segment.tolist() == [0, 0, 1, 2, 2, 3]
    assert [len(trace) for _, trace in read_traces(path)] == [3, 3]


def test_tables_of_pandas_polars_and_duckdb_are_read_through_arrow() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {
        "Latitude": [point[0] for point in samples.POINTS],
        "lng": [point[1] for point in samples.POINTS],
        "time": samples.TIMES,
        "heart": [1, 2, 3],
    }
    stamps = pa.array([round(point[2] * 1e6) for point in samples.POINTS]).cast(pa.timestamp("us", tz="UTC"))
    arrow = pa.table({**columns, "time": stamps})
    frames = [pandas.DataFrame(columns), polars.DataFrame(columns), arrow, pandas.DataFrame(arrow.to_pandas())]
    if importlib.util.find_spec("duckdb") is not None:
        import duckdb

        frames.append(duckdb.sql("select 5.101 as lat, -1.202 as lon, timestamptz '2024-05-01 12:00:00+00' as time"))
    for frame in frames:
        trace = read_trace(frame)
        assert trace.lat_deg[0] == 5.101
        assert trace.times_s[0] == 1714564800.0
    assert read_trace(frames[0]).dropped == ("heart",)
    with pytest.raises(InputError, match="time zone"):
        read_trace(pandas.DataFrame({**columns, "time": pandas.to_datetime(["2024-05-01"] * 3)}))
    with pytest.raises(InputError, match="neither"):
        read_trace(42)


def test_e7_degrees_and_native_geoarrow_points_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    stamps = pa.array([1714564800]).cast(pa.timestamp("s", tz="UTC"))
    pq.write_table(pa.table({"lat_e6": [5101000], "lon_e6": [-1202000], "time": stamps}), path)
    assert read_trace(path).lat_deg[0] == pytest.approx(5.101)
    points = pa.array([{"x": -1.202, "y": 5.101}])
    pq.write_table(pa.table({"geometry": points, "time": stamps}), path)
    assert read_trace(path).lon_deg[0] == -1.202


# Times


def test_offsets_are_honoured_and_naive_times_are_refused_unless_a_zone_is_given(tmp_path: Path) -> None:
    path = tmp_path / "naive.gpx"
    path.write_text(samples.GPX_1_0.replace("Z</time>", "</time>").replace("+01:00</time>", "</time>"))
    with pytest.raises(InputError, match="zone"):
        read_trace(path)
    path.write_text(
        samples.GPX_1_0.replace("Z</time>", "</time>").replace("T13:00:10+01:00</time>", "T12:00:10</time>")
    )
    assert read_trace(path, zone="UTC").times_s[0] == 1714564800.0
    assert read_trace(path, zone="Europe/Vienna").times_s[0] == 1714564800.0 - 7200
    assert read_trace(path, zone="+05:30").times_s[0] == 1714564800.0 - 19800
    with pytest.raises(InputError, match="zone"):
        read_trace(path, zone="Middle/Earth")


def test_the_hour_that_occurs_twice_runs_forward() -> None:
    texts = ["2024-10-27T02:30:00", "2024-10-27T02:50:00", "2024-10-27T02:10:00", "2024-10-27T03:10:00"]
    times = parse_times(texts, "Europe/Vienna")
    assert np.diff(times).tolist() == [1200.0, 1200.0, 3600.0]


def test_times_survive_writing_to_the_microsecond() -> None:
    for times in ([0.0, 1.7e9], [1.7e9 + 0.5], [1.7e9 + 0.123456], [-62135596800.0, 253402300799.0]):
        assert parse_times(format_times(np.array(times))).tolist() == times
    assert format_times(np.array([1714564800.0])) == ["2024-05-01T12:00:00Z"]


def test_numbers_since_1970_are_told_by_their_size() -> None:
    for scale in (1.0, 1e3, 1e6, 1e9):
        assert parse_epochs([1.7e9 * scale])[0] == pytest.approx(1.7e9)


# Writing


@pytest.mark.parametrize("name", WRITABLE)
def test_a_written_trace_reads_back_the_same(tmp_path: Path, name: str) -> None:
    trace = _trace(fractions=name != "plt", segments=name != "plt")
    path = tmp_path / f"out{FORMATS[name].endings[0]}"
    write_trace(trace, path)
    back = read_trace(path)
    assert np.array_equal(back.lat_deg, trace.lat_deg)
    assert np.array_equal(back.lon_deg, trace.lon_deg)
    assert np.array_equal(back.times_s, trace.times_s)
    assert np.array_equal(back.segment, trace.segment)
    assert back.columns == {}
    assert back.dropped == ()


@pytest.mark.parametrize("name", ["gpx", "geojson", "csv", "parquet", "geoparquet", "kml", "gpkg"])
def test_a_kept_elevation_is_written_and_read_back(tmp_path: Path, name: str) -> None:
    trace = _trace()
    elevation = np.round(np.random.default_rng(0).normal(200, 10, len(trace)), 2)
    trace = Trace(trace.lat_deg, trace.lon_deg, trace.times_s, trace.segment, {"elevation": elevation})
    path = tmp_path / f"out{FORMATS[name].endings[0]}"
    write_trace(trace, path)
    assert read_trace(path).columns == {}
    assert np.array_equal(read_trace(path, keep=["elevation"]).columns["elevation"], elevation)


@pytest.mark.parametrize("name", ["gpx", "geojson", "csv", "parquet", "gpkg"])
def test_other_kept_columns_are_written_and_read_back(tmp_path: Path, name: str) -> None:
    trace = _trace()
    rate = np.where(np.arange(len(trace)) % 3 == 0, np.nan, 120.0)
    trace = Trace(trace.lat_deg, trace.lon_deg, trace.times_s, trace.segment, {"heart_rate": rate})
    path = tmp_path / f"out{FORMATS[name].endings[0]}"
    write_trace(trace, path)
    assert np.array_equal(read_trace(path, keep=["heart_rate"]).columns["heart_rate"], rate, equal_nan=True)


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize("source", ["a.gpx", "a.kml", "a.tcx", "a.geojson", "a.rec", "Timeline.json", "Records.json"])
def test_nothing_of_the_source_but_positions_and_times_is_written(
    files: dict[str, Path], tmp_path: Path, name: str, source: str
) -> None:
    trace = read_trace(files[source])
    trace = Trace(trace.lat_deg + 1, trace.lon_deg, np.floor(trace.times_s))
    path = tmp_path / f"out{FORMATS[name].endings[0]}"
    write_trace(trace, path)
    written = path.read_bytes()
    for secret in (b"Ama", b"Home", b"home", b"HOME", b"Watch", b"31337", b"121", b"12.5", b"hr>", b"batt", b"5.101"):
        assert secret not in written
    if name == "gpx":
        assert written.count(b"http") == 1
        assert b'creator="sfumato"' in written


def test_bounds_are_those_of_the_release(tmp_path: Path) -> None:
    trace = Trace([6.5, 6.25, 6.75], [2.5, 2.25, 2.0], [0.0, 1.0, 2.0])  # type: ignore[arg-type]
    write_trace(trace, tmp_path / "a.gpx")
    bounds = '<bounds minlat="6.2500000" minlon="2.0000000" maxlat="6.7500000" maxlon="2.5000000"/>'
    assert bounds in (tmp_path / "a.gpx").read_text()
    across = Trace([0.0, 0.0], [179.5, -179.5], [0.0, 1.0])  # type: ignore[arg-type]
    write_trace(across, tmp_path / "a.geojson")
    assert '"bbox":[179.5000000,0.0000000,-179.5000000,0.0000000]' in (tmp_path / "a.geojson").read_text()


def test_small_numbers_are_written_without_exponents(tmp_path: Path) -> None:
    trace = Trace([1e-7, -2e-7], [3e-7, 1.5e-6], [0.0, 1.0])  # type: ignore[arg-type]
    for ending in (".gpx", ".csv", ".geojson", ".kml"):
        write_trace(trace, tmp_path / f"a{ending}")
        assert "e-0" not in (tmp_path / f"a{ending}").read_text()
        assert np.array_equal(read_trace(tmp_path / f"a{ending}").lat_deg, trace.lat_deg)


def test_kept_text_is_escaped(tmp_path: Path) -> None:
    name = 'A <b> & "c" \x00 ü'
    trace = Trace([1.0, 2.0], [1.0, 2.0], [0.0, 1.0], texts={"name": name})  # type: ignore[arg-type]
    for ending in (".gpx", ".kml"):
        write_trace(trace, tmp_path / f"a{ending}")
        assert read_trace(tmp_path / f"a{ending}", keep=["name"]).texts["name"] == name.replace("\x00", "")
    with pytest.raises(InputError, match="name"):
        write_trace(trace, tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.fit", "a.kmz", "a.rec", "a.docx"])
def test_formats_that_are_only_read_are_refused_with_advice_to_write_gpx(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="gpx"):
        write_trace(_trace(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_output_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Cannot write"):
        write_trace(_trace(), tmp_path / "no" / "such" / "folder" / "a.gpx")
    target = tmp_path / "a.gpx"
    target.mkdir()
    with pytest.raises(InputError, match="Cannot write"):
        write_trace(_trace(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gpx"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.plt"
    path.write_text("old")
    with pytest.raises(InputError, match="segment"):
        write_trace(_trace(fractions=False), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.plt"]


def test_a_release_gets_the_permissions_of_any_other_file(tmp_path: Path) -> None:
    write_trace(_trace(), tmp_path / "a.gpx")
    (tmp_path / "plain").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.gpx", "plain")]
    assert modes[0] == modes[1]


def test_other_programs_read_our_geopackage_and_geoparquet(tmp_path: Path) -> None:
    pyogrio, geopandas = pytest.importorskip("pyogrio"), pytest.importorskip("geopandas")
    trace = _trace()
    write_trace(trace, tmp_path / "a.gpkg")
    frame = pyogrio.read_dataframe(tmp_path / "a.gpkg")
    assert frame.crs.to_epsg() == 4326
    assert np.array_equal(frame.geometry.y, trace.lat_deg)
    write_trace(trace, tmp_path / "a.geoparquet")
    frame = geopandas.read_parquet(tmp_path / "a.geoparquet")
    assert np.array_equal(frame.geometry.x, trace.lon_deg)
    # and we read theirs
    theirs = geopandas.GeoDataFrame({"time": frame["time"]}, geometry=frame.geometry.values, crs=frame.crs)
    theirs.to_file(tmp_path / "theirs.gpkg", layer="track", driver="GPKG")
    theirs.to_parquet(tmp_path / "theirs.parquet")
    for name in ("theirs.gpkg", "theirs.parquet"):
        assert np.array_equal(read_trace(tmp_path / name).lat_deg, trace.lat_deg)
        assert np.abs(read_trace(tmp_path / name).times_s - trace.times_s).max() < 1e-3
    theirs.to_crs(3857).to_file(tmp_path / "metres.gpkg", layer="track", driver="GPKG")
    with pytest.raises(InputError, match="WGS84"):
        read_trace(tmp_path / "metres.gpkg")


def test_the_output_format_follows_the_ending_or_the_name() -> None:
    assert output_format("x.geojson").name == "geojson"
    assert output_format("x.json").name == "geojson"
    assert output_format("x.anything", "csv").name == "csv"


# Bad input: a clear error, and no coordinate in it

BAD: dict[str, tuple[str, str | bytes]] = {
    "an empty file": ("e.gpx", ""),
    "blank space": ("e.csv", "  \n\n"),
    "no points": ("e.gpx", re.sub(r"<trk>.*</trk>", "", samples.GPX, flags=re.DOTALL)),
    "a table without rows": ("e.csv", "time,lat,lon\n"),
    "no times": ("e.gpx", re.sub(r"<time>.*?</time>", "", samples.GPX)),
    "no times in GeoJSON": ("e.geojson", '{"type":"LineString","coordinates":[[-1.202,5.101],[-1.203,5.102]]}'),
    "no time column": ("e.csv", "lat,lon\n5.101,-1.202\n"),
    "a missing time": ("e.csv", "time,lat,lon\n,5.101,-1.202\n2024-05-01T12:00:00Z,5.101,-1.202\n"),
    "NaN": ("e.csv", "time,lat,lon\n2024-05-01T12:00:00Z,NaN,-1.202\n"),
    "reversed times": ("e.gpx", samples.GPX.replace("12:00:00Z", "12:00:11Z")),
    "reversed times in CSV": ("e.csv", samples.CSV.replace("12:00:00Z", "12:30:00Z")),
    "naive times": ("e.csv", samples.CSV.replace("Z,", ",")),
    "a bare date": ("e.csv", "time,lat,lon\n2024-05-01,5.101,-1.202\n"),
    "words for times": ("e.csv", "time,lat,lon\nyesterday,5.101,-1.202\n"),
    "truncated GPX": ("e.gpx", samples.GPX[:700]),
    "truncated KML": ("e.kml", samples.KML[:500]),
    "truncated TCX": ("e.tcx", samples.TCX[:700]),
    "truncated GeoJSON": ("e.geojson", samples.GEOJSON_LINE[:200]),
    "truncated Google JSON": ("Records.json", samples.RECORDS[:150]),
    "truncated FIT": ("e.fit", samples.fit_file()[:-20]),
    "FIT with a wrong checksum": ("e.fit", samples.fit_file()[:-1] + b"\x00"),
    "truncated CSV": ("e.csv", samples.CSV[:-20]),
    "truncated OwnTracks": ("e.rec", samples.OWNTRACKS[:-180]),
    "truncated PLT": ("e.plt", samples.PLT[:-20]),
    "truncated Parquet": ("e.parquet", b"PAR1" + b"\x00" * 50),
    "truncated GeoPackage": ("e.gpkg", b"SQLite format 3\x00" + b"\x00" * 50),
    "not GPX": ("e.gpx", "<html><body>5.101</body></html>"),
    "not GeoJSON": ("e.geojson", '{"hello": [5.101, -1.202]}'),
    "no known JSON": ("e.json", "[1, 2, 3]"),
    "deep nesting": ("e.json", "[" * 200_000),
    "unknown encoding": ("e.gpx", '<?xml version="1.0" encoding="klingon"?><gpx/>'),
    "XML nested too deeply": ("e.kml", "<kml>" + "<a>" * 5000),
    "an entity bomb": (
        "e.gpx",
        '<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
        '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><gpx><trk><name>&c;</name></trk></gpx>',
    ),
    "an outside entity": ("e.kml", '<!DOCTYPE kml [<!ENTITY x SYSTEM "file:///etc/passwd">]><kml>&x;</kml>'),
    "a document type alone": ("e.tcx", '<!DOCTYPE t SYSTEM "http://example.com/x.dtd"><TrainingCenterDatabase/>'),
    "no format at all": ("e.xyz", "hello"),
    "numbers instead of a header": ("e.csv", "1714564800,5.101,-1.202\n1714564810,5.101,-1.202\n"),
    "times and positions that differ in number": (
        "e.geojson",
        samples.GEOJSON_LINE.replace('"2024-05-01T12:00:10Z", ', ""),
    ),
    "a Google export without points": ("e.json", '{"semanticSegments": []}'),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_advice_and_without_a_true_coordinate(tmp_path: Path, case: str) -> None:
    name, content = BAD[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_trace(path)
    assert len(caught.value.advice) > 10
    message = str(caught.value).replace(str(tmp_path), "")
    assert not re.search(r"5\.10|1\.20|400\.17", message)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_missing_file_a_folder_and_a_missing_extra_are_said_plainly(
    tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="Cannot read"):
        read_trace(tmp_path / "nowhere.gpx")
    with pytest.raises(InputError, match="Cannot read"):
        read_trace(tmp_path)
    with pytest.raises(InputError, match="Cannot read"):
        read_trace(tmp_path, format="gpx")
    monkeypatch.setitem(__import__("sys").modules, "fitdecode", None)
    with pytest.raises(MissingExtra, match="geo"):
        read_trace(files["a.fit"])


def test_a_hostile_geopackage_view_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.gpkg"
    write_trace(_trace(), path)
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE points RENAME TO real")
        database.execute(
            "CREATE VIEW points AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS geom, i AS time, i AS segment FROM n"
        )
        database.execute("UPDATE gpkg_geometry_columns SET table_name = 'points'")
    with pytest.raises(InputError):
        read_trace(path)


# Real files of other projects


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("gpx/gpxpy_around-visnjan-with-car.gpx", 104),
        ("gpx/gpxpy_cerknicko-jezero.gpx", 296),
        ("gpx/gpxpy_track-with-empty-segment.gpx", 9),
        ("gpx/gpxpy_track-with-less-sec-time.gpx", 2),
        ("geojson/movingpandas_mf-movingpoint.json", 19),
        ("geojson/movingpandas_mf-trajectory.json", 19),
        ("fit/fitparse_activity-small-fenix2-run.fit", 2809),
        ("fit/fitparse_garmin-edge-820-bike.fit", 15),
        ("fit/fitparse_garmin-fenix-5-walk.fit", 17),
        ("owntracks/owntracks-recorder_demo-iphone.rec", 23),
        ("tcx/tcxparser_sup_activity_1.tcx", 111),
        ("tcx/tcxparser_test.tcx", 383),
        ("../geolife/plt/000_20081023025304.plt", 908),
    ],
)
def test_real_files_are_read_to_the_last_point(shared_data: Path, name: str, points: int) -> None:
    assert len(read_trace(shared_data / "formats" / name)) == points


@pytest.mark.shared
def test_real_files_agree_with_gpxpy(shared_data: Path) -> None:
    gpxpy = pytest.importorskip("gpxpy")
    path = shared_data / "formats/gpx/gpxpy_cerknicko-jezero.gpx"
    trace = read_trace(path)
    theirs = [p for track in gpxpy.parse(path.read_text()).tracks for s in track.segments for p in s.points]
    assert trace.lat_deg.tolist() == [p.latitude for p in theirs]
    assert trace.times_s.tolist() == [p.time.timestamp() for p in theirs]


@pytest.mark.shared
def test_real_naive_untimed_and_damaged_files_are_refused(shared_data: Path) -> None:
    for name, word in (
        ("gpx/gpxpy_cerknicko-without-times.gpx", "without a time"),
        ("gpx/gpxpy_gpx1.1_with_all_fields.gpx", "zone"),
        ("gpx/gpxpy_Mojstrovka.gpx", "backwards"),
        ("gpx/gpxpy_unicode_with_bom.gpx", "waypoint"),
        ("csv/movingpandas_liverpool_bus_route14_outbound.csv", "zone"),
        ("fit/fitparse_strava-android-app-201.10-b1218918.fit", "damaged"),  # 31 bytes are missing in that copy
    ):
        with pytest.raises(SfumatoError, match=word):
            read_trace(shared_data / "formats" / name)


@pytest.mark.shared
def test_the_untimed_points_of_a_real_file_are_counted(shared_data: Path) -> None:
    counted = read_trace(shared_data / "formats" / "gpx/gpxpy_korita-zbevnica.gpx").points_read
    assert (counted.read, dict(counted.why)) == (513, {"waypoints": 2, "points without a time": 358})


@pytest.mark.shared
def test_a_real_fleet_table_splits_into_vehicles_and_their_trips(shared_data: Path) -> None:
    path = shared_data / "formats/csv/movingpandas_liverpool_bus_route14_outbound.csv"
    traces = read_traces(path, zone="Europe/London")
    assert sum(trace.segments for _, trace in traces) == 16
    assert {"bearing", "operator", "destination"} <= set(traces[0][1].dropped)


def test_reading_is_quick_enough_to_be_forgotten(tmp_path: Path) -> None:
    import time

    count = 1_000_000
    generator = np.random.default_rng(0)
    trace = Trace(np.cumsum(generator.normal(0, 1e-5, count)), np.zeros(count), np.arange(count) * 1.0)
    write_trace(trace, tmp_path / "big.parquet")
    read_trace(tmp_path / "big.parquet")

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    # Against the bare library, so that a slow machine is no failure; the difference is the trace's own checks.
    bare = min(seconds(lambda: pq.read_table(tmp_path / "big.parquet")) for _ in range(3))
    ours = min(seconds(lambda: read_trace(tmp_path / "big.parquet")) for _ in range(3))
    assert ours < 10 * bare + 0.3
