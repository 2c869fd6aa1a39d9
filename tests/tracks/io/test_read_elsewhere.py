"""What is written is read by other programs: gpxpy, gpsbabel (Debian) and, through it, fitdecode."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import gpxpy
import numpy as np
import pytest
import sample_files as samples
from command import refused, run
from rides import PARIS, ride

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.io.xml import gpx

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

gpsbabel = pytest.mark.skipif(shutil.which("gpsbabel") is None, reason="needs gpsbabel (Debian)")
WATCH = {
    "heart_rate": ("hr", 120.0),
    "cadence": ("cad", 80.0),
    "temperature": ("atemp", 20.0),
    "speed": ("speed", 5.5),
    "course": ("course", 90.0),
    "power": ("power", 200.0),
}
KEPT = [word for name in (*WATCH, "elevation") for word in ("--keep", name)]
OF_TCX = [word for name in ("heart_rate", "cadence", "speed", "power", "elevation") for word in ("--keep", name)]


def watched(start_m: list[float], end_m: list[float], names: tuple[str, ...] = tuple(WATCH)) -> sf.Trace:
    """A ride with all that a watch and its sensors measure."""
    trace = ride(start_m, end_m, every_s=5.0)
    steps = np.arange(len(trace)) % 7
    columns = {name: WATCH[name][1] + steps for name in names}
    return replace(trace, columns={"elevation": 35.0 + steps / 10, **columns})


def hidden(folder: Path, ending: str, trace: sf.Trace, *options: str) -> Path:
    """What one command makes of one ride, after the verdict on it."""
    sf.write_trace(trace, folder / f"ride{ending}")
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", "--zone", "400m", folder=folder)
    out = f"one{ending}"
    code, said, err = run("hide", f"ride{ending}", "-o", out, "--places", "me.places", *options, folder=folder)
    assert code == 0, said + err
    code, said, _ = run("verify", out, folder=folder)
    assert (code, said.startswith("Good")) == (0, True), said
    return folder / out


def babel(path: Path, kind: str, out: Path | None = None) -> list[dict[str, str]]:
    """The track as gpsbabel reads it; or written as FIT."""
    to = ["-o", "garmin_fit", "-F", str(out)] if out else ["-o", "unicsv,utc=0", "-F", "-"]
    done = subprocess.run(
        ["gpsbabel", "-t", "-i", kind, "-f", str(path), *to], capture_output=True, text=True, check=True
    )
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_gpxpy_finds_what_a_watch_measured_where_garmin_puts_it(tmp_path: Path) -> None:
    trace = watched([0, 0], [4000, 2500])
    text = hidden(tmp_path, ".gpx", trace, *KEPT).read_text()
    assert "urn:sfumato" not in text
    (track,) = gpxpy.parse(text).tracks
    before = dict(zip(trace.times_s.round().tolist(), range(len(trace)), strict=True))
    seen, points = 0, [point for segment in track.segments for point in segment.points]
    assert len(points) > 100
    for point in points:
        at = before[round(point.time.timestamp())]
        assert (point.latitude, point.longitude) == pytest.approx((trace.lat_deg[at], trace.lon_deg[at]), abs=1e-7)
        found = {
            leaf.tag.rpartition("}")[2]: (leaf.tag, float(leaf.text))
            for extension in point.extensions
            for leaf in extension.iter()
            if not len(leaf)
        }
        if not found:  # near a cut
            assert point.elevation is None
            continue
        seen += 1
        assert point.elevation == pytest.approx(trace.columns["elevation"][at])
        for name, (tag, _) in WATCH.items():
            full, value = found.pop(tag)
            assert value == pytest.approx(trace.columns[name][at])
            assert tag == "power" or "www.garmin.com/xmlschemas/TrackPointExtension/v2" in full
        assert not found
    assert 100 < seen < len(points)


@gpsbabel
@pytest.mark.parametrize(("ending", "kind"), [(".gpx", "gpx"), (".tcx", "gtrnctr")])
def test_gpsbabel_reads_times_segments_hearts_and_cadence(tmp_path: Path, ending: str, kind: str) -> None:
    names = tuple(WATCH) if ending == ".gpx" else ("heart_rate", "cadence", "speed", "power")
    out = hidden(tmp_path, ending, watched([-3000, 0], [3000, 0], names), *(KEPT if ending == ".gpx" else OF_TCX))
    mine = sf.read_trace(out, keep=["heart_rate", "cadence"])
    rows = babel(out, kind)
    assert len(rows) == len(mine)
    assert np.abs([float(row["Latitude"]) for row in rows] - mine.lat_deg).max() < 1e-6
    assert [row["Date"].replace("/", "-") + "T" + row["Time"] for row in rows] == [
        str(moment) for moment in mine.times_s.astype(np.int64).astype("datetime64[s]")
    ]
    for name, column in (("heart_rate", "Heartrate"), ("cadence", "Cadence")):
        there = ~np.isnan(mine.columns[name])
        assert [row[column] for row, yes in zip(rows, there, strict=True) if yes] == [
            f"{value:g}" for value in mine.columns[name][there]
        ]
        assert there.sum() > 100
    if ending == ".tcx":
        assert {row["Power"] for row in rows} >= {"200.0", "206.0"}
        assert {row["Speed"] for row in rows} >= {"5.50", "11.50"}


@gpsbabel
def test_a_release_becomes_a_fit_file_that_fitdecode_reads(tmp_path: Path) -> None:
    fitdecode = pytest.importorskip("fitdecode")
    out = hidden(tmp_path, ".gpx", watched([0, 0], [4000, 2500]), *KEPT)
    mine = sf.read_trace(out)
    babel(out, "gpx", tmp_path / "one.fit")  # it writes courses: positions and times, no hearts
    with fitdecode.FitReader(str(tmp_path / "one.fit")) as frames:
        records = [one for one in frames if one.frame_type == fitdecode.FIT_FRAME_DATA and one.name == "record"]
    assert [record.get_value("timestamp").timestamp() for record in records] == mine.times_s.round().tolist()
    for field, degrees in (("position_lat", mine.lat_deg), ("position_long", mine.lon_deg)):
        found = np.array([record.get_value(field) for record in records]) * 180 / 2**31
        assert np.abs(found - degrees).max() < 1e-6


def test_a_fit_file_comes_out_with_its_heart_rate_in_garmins_extension(tmp_path: Path) -> None:
    (tmp_path / "ride.fit").write_bytes(samples.fit_file())
    run("places", "add", "far", "10,10", "--places", "me.places", "--zone", "400m", folder=tmp_path)
    options = ("--places", "me.places", "--keep", "heart_rate", "--unnamed", "warn")
    code, _, err = run("hide", "ride.fit", "-o", "one.gpx", *options, folder=tmp_path)
    assert code == 0, err
    (track,) = gpxpy.parse((tmp_path / "one.gpx").read_text()).tracks
    points = [point for segment in track.segments for point in segment.points]
    mine = sf.read_trace(tmp_path / "ride.fit", keep=["heart_rate"])
    assert [float(point.extensions[0][0].text) for point in points] == mine.columns["heart_rate"].tolist()


def test_what_garmin_has_no_name_for_stays_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    trace = replace(ride([0, 0], [400, 0], every_s=5.0), columns={})
    steps = np.arange(len(trace), dtype=float)
    nothing = np.full(len(trace), np.nan)
    sf.write_trace(replace(trace, columns={"accuracy": steps, "heart_rate": nothing}), tmp_path / "a.gpx")
    text = (tmp_path / "a.gpx").read_text()
    assert "gpxtpx" not in text  # every value was withheld: no trace of it is left
    assert sf.read_trace(tmp_path / "a.gpx", keep=["accuracy"]).columns["accuracy"].tolist() == steps.tolist()


def test_what_0_2_released_with_its_own_names_is_still_clean(tmp_path: Path) -> None:
    trace = watched([0, 0], [4000, 2500])
    trace = replace(trace, lat_deg=trace.lat_deg.round(7), lon_deg=trace.lon_deg.round(7))
    gpx.write_as_0_2(trace, tmp_path / "a.gpx")
    text = (tmp_path / "a.gpx").read_text()
    assert text.count("<kept:heart_rate>") == len(trace)
    assert more_than_certified(tmp_path / "a.gpx", people=1, kept=tuple(trace.columns)) is None
    (tmp_path / "a.gpx").write_text(text.replace("</gpx>", "<!-- --></gpx>"))
    assert "something beside" in (more_than_certified(tmp_path / "a.gpx", people=1, kept=tuple(trace.columns)) or "")


def test_the_mean_of_a_lap_is_no_points_heart_rate(tmp_path: Path) -> None:
    trace = watched([0, 0], [400, 0], ("heart_rate",))
    sf.write_trace(trace, tmp_path / "a.tcx")
    mean = "<AverageHeartRateBpm><Value>99</Value></AverageHeartRateBpm><Cadence>77</Cadence>"
    text = (tmp_path / "a.tcx").read_text().replace("</Track>", f"</Track></Lap><Lap>{mean}<Track></Track>")
    (tmp_path / "b.tcx").write_text(text)
    read = sf.read_trace(tmp_path / "b.tcx", keep=["heart_rate"])
    assert read.columns["heart_rate"].tolist() == trace.columns["heart_rate"].tolist()
    with pytest.raises(InputError, match="no cadence to keep"):
        sf.read_trace(tmp_path / "b.tcx", keep=["cadence"])
    assert "Cadence of laps" in read.dropped


def test_a_plt_of_several_segments_becomes_several_files(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    whole = ride([-3000, 0], [3000, 0], every_s=5.0, bend=0.0)
    sf.write_trace(whole, tmp_path / "rides" / "a.plt")
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", "--zone", "400m", folder=tmp_path)
    for _ in range(2):  # and again
        code, said, err = run("hide", "rides", "-o", "shared", "--places", "me.places", folder=tmp_path)
        assert code == 0, said + err
    files = sorted((tmp_path / "shared").iterdir())
    parts = [sf.read_trace(file) for file in files]
    assert ([file.suffix for file in files], [part.segments for part in parts]) == ([".plt", ".plt"], [1, 1])
    words = ("audit", "rides", "shared", "--certificate", "shared.certificate.json", "--places", "me.places")
    code, said, err = run(*words, folder=tmp_path)
    assert (code, "0.0 m" in said, "not given" in said) == (0, True, False), said + err
    one = run("hide", "rides/a.plt", "-o", "one.gpx", "--places", "me.places", folder=tmp_path)
    assert one[0] == 0
    assert sum(map(len, parts)) == len(sf.read_trace(tmp_path / "one.gpx"))
    assert run("verify", "shared", folder=tmp_path)[0] == 0
    again = run("hide", "rides", "-o", "shared", "--places", "me.places", "--again", folder=tmp_path)
    assert again[0] == 0
    assert "Delete" not in again[1]
    assert run("verify", "shared", folder=tmp_path)[0] == 0
    refused("hide", "rides/a.plt", "-o", "one.plt", "--places", "me.places", folder=tmp_path, says="2 segments")
    assert not (tmp_path / "one.plt").exists()


def test_one_ride_in_is_one_file_out(tmp_path: Path) -> None:
    out = hidden(tmp_path, ".gpx", watched([0, 0], [4000, 2500]))
    first = out.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "me.places",
        "one.gpx",
        "one.gpx.certificate.json",
        "ride.gpx",
    ]
    base = ("--places", "me.places")
    out.write_text("of somebody else")
    refused("hide", "ride.gpx", "-o", "one.gpx", *base, folder=tmp_path, says="There is a file one.gpx already.")
    assert out.read_text() == "of somebody else"
    code, said, _ = run("hide", "ride.gpx", "-o", "one.gpx", *base, "--force", folder=tmp_path)
    assert (code, "this ride alone" in said) == (0, True)
    assert out.read_bytes() == first  # a second time gives nothing else away
    assert run("hide", "ride.gpx", "-o", "two.csv", *base, "--report", "r.html", folder=tmp_path)[0] == 0
    assert run("verify", "two.csv", folder=tmp_path)[0] == 0
    out.write_bytes(first + b" ")
    assert run("verify", "one.gpx", folder=tmp_path)[0] == 1
    refused("hide", "ride.gpx", "-o", "ride.gpx", *base, folder=tmp_path, says="the ride itself")
    refused("hide", "ride.gpx", "-o", "b.gpx", *base, "--blur", "50m", folder=tmp_path, says="Name a folder")
    sf.write_trace(ride([0, 0], [30, 0]), tmp_path / "home.gpx")
    refused("hide", "home.gpx", "-o", "c.gpx", *base, folder=tmp_path, says="Nothing is left")
    assert not [*tmp_path.glob("c.gpx*"), *tmp_path.glob(".sfumato*")]
