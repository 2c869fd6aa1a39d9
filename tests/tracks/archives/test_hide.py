"""Hiding places in archives: no channel from inside the zones, every ride once, bad input in clear words."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from rides import PARIS, ride
from track_files import write_as

import sfumato as sf
from sfumato.base.errors import InputError, NotCertified, VerificationFailed
from sfumato.tracks.folders.manifest import private_folder
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.ride_job import CHANGED
from sfumato.tracks.folders.rides.sharing import Faces, Sharing
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.leak_test import refuse_if_found
from sfumato.tracks.places.places_file import Places, place_at
from sfumato.tracks.plan import Plan, Times

SUMMER = 1.7e9


@pytest.fixture
def places() -> Places:
    return Places.none(rng=3).add(place_at("home", *PARIS, radius_m=400.0, rng=1))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rides_of(folder: Path, kind: str = "gpx", count: int = 4) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        trace = ride([0, 0], [4000 - 700 * number, 2500 + 300 * number], every_s=5.0, at_s=SUMMER + 86400 * number)
        write_as(kind, trace, folder / f"day {number}.{kind}")
    return folder


def test_what_stays_is_exact_and_nothing_inside_is_left(places: Places, tmp_path: Path) -> None:
    rides = rides_of(tmp_path / "rides")
    hide_archive([rides], tmp_path / "out", places)
    originals = {
        t: (y, x)
        for path in rides.iterdir()
        for trace in [sf.read_trace(path)]
        for y, x, t in zip(trace.lat_deg.tolist(), trace.lon_deg.tolist(), trace.times_s.tolist(), strict=True)
    }
    zone = places.zones[0]
    files = list((tmp_path / "out").iterdir())
    assert len(files) == 4
    for path in files:
        left = sf.read_trace(path)
        assert not zone.holds(surface(left.lat_deg, left.lon_deg)).any()
        recorded = np.array([originals[moment] for moment in left.times_s.tolist()])
        assert np.abs(recorded - np.column_stack([left.lat_deg, left.lon_deg])).max() < 1e-7  # seven decimals
    assert len({path.stat().st_mtime for path in files}) == 1


def test_next_weeks_rides_are_added_and_a_changed_one_is_reported_not_rewritten(places: Places, tmp_path: Path) -> None:
    rides, out = rides_of(tmp_path / "rides", count=3), tmp_path / "out"
    hide_archive([rides], out, places)
    before = everything(out)
    write_as("gpx", ride([0, 0], [-4000, 900], every_s=5.0, at_s=SUMMER + 1e6), rides / "next week.gpx")
    write_as("gpx", ride([0, 0], [-4000, -900], every_s=5.0, at_s=SUMMER), rides / "day 1.gpx")
    done = hide_archive([rides], out, places)
    after = everything(out)
    assert before.items() <= after.items()
    assert len(after) == 4
    assert [row.refused for row in done.rows] == [None, CHANGED, None, None]
    assert len(done.document["files"]) == 4


def test_a_ride_that_never_leaves_vanishes_and_no_number_tells(places: Places, tmp_path: Path) -> None:
    rides, out = rides_of(tmp_path / "rides", count=2), tmp_path / "out"
    zone = places.zones[0].around
    lat, lon = zone.to_degrees([[0.0, 0.0], [30.0, 30.0], [20.0, 50.0]])
    write_as("gpx", sf.Trace(lat, lon, [SUMMER, SUMMER + 60, SUMMER + 120]), rides / "a walk.gpx")
    done = hide_archive([rides], out, places)
    assert len(everything(out)) == 2
    assert "walk" not in json.dumps(done.document)
    assert next(row for row in done.rows if "walk" in row.source).output is None
    manifest = private_folder(out) / "manifest.jsonl"
    assert manifest.stat().st_mode & 0o777 == 0o600
    assert not any(path.name.startswith("manifest") for path in out.iterdir())


def test_archives_of_archives_are_walked(places: Places, tmp_path: Path) -> None:
    rides = rides_of(tmp_path / "plain", count=3)
    packed = tmp_path / "packed"
    packed.mkdir()
    files = sorted(rides.iterdir())
    (packed / "one.gpx.gz").write_bytes(gzip.compress(files[0].read_bytes()))
    with zipfile.ZipFile(packed / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(files[1], "activities/two.gpx")
        archive.writestr("activities/three.gpx.gz", gzip.compress(files[2].read_bytes()))
        archive.writestr("activities.csv", "Activity ID\n1\n")
        archive.writestr("../../escape.gpx", files[2].read_bytes())
    hide_archive([rides], tmp_path / "a", places)
    done = hide_archive([packed], tmp_path / "b", places)
    assert everything(tmp_path / "a") == everything(tmp_path / "b")
    assert not (tmp_path.parent / "escape.gpx").exists()
    assert sum(row.no_track for row in done.rows) == 2
    with pytest.raises(InputError, match="lies in the input"):
        hide_archive([tmp_path / "plain"], tmp_path / "plain" / "out", places)


def test_a_bomb_and_a_broken_file_are_reported_and_skipped_or_stop_everything(places: Places, tmp_path: Path) -> None:
    rides = rides_of(tmp_path / "rides", count=1)
    (rides / "bomb.gpx.gz").write_bytes(gzip.compress(b" " * (8 << 20)))
    (rides / "broken.gpx").write_text("<gpx><trk>")
    (rides / "torn.gpx.gz").write_bytes(gzip.compress(b"<gpx/>" * 1000)[:40])
    done = hide_archive([rides], tmp_path / "out", places)
    refused = {row.source: row.refused for row in done.rows if row.refused}
    assert len(refused) == 3
    assert "two hundred times" in str(refused["rides/bomb.gpx.gz"])
    assert len(everything(tmp_path / "out")) == 1
    with pytest.raises(InputError, match="Nothing was written"):
        hide_archive([rides], tmp_path / "strict", places, Sharing(strict=True))
    assert not (tmp_path / "strict").exists()


def test_a_leak_test_that_refuses_leaves_nothing(places: Places, tmp_path: Path) -> None:
    rides = rides_of(tmp_path / "rides")
    seen = []

    def stop(leaks, unvisited):
        seen.extend(leaks)
        assert not (tmp_path / "out").exists()
        refuse_if_found(leaks, 5000.0)

    with pytest.raises(NotCertified, match="home"):
        hide_archive([rides], tmp_path / "out", places, Sharing(faces=Faces(tested=stop)))
    assert seen[0].best_m is not None
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("times", ["keep", "shift", "relative", "coarse:5min", "drop"])
@pytest.mark.parametrize("blur", [None, Plan(noise_m=30.0, prior_class="year")])
def test_blur_and_times_with_one_certificate_that_anybody_can_check(
    times: str, blur: Plan | None, places: Places, tmp_path: Path
) -> None:
    rides, out = rides_of(tmp_path / "rides", count=3), tmp_path / "out"
    done = hide_archive([rides], out, places, Sharing(rng=5), times=Times.parse(times), blur=blur)
    checks = verify_folder(done.document, out).checks
    assert "every byte of 3 files" in checks
    assert (done.document["noise"] is not None) == (blur is not None)
    text = b"".join(everything(out).values())
    assert (b"<time>" in text) == (times != "drop")
    assert (b"2023-11-14" in text) == (times in ("keep", "coarse:5min"))
    (out / "extra.gpx").write_text("x")
    with pytest.raises(VerificationFailed, match="does not list"):
        verify_folder(done.document, out)


def test_kept_names_stay_inside_the_folder(places: Places, tmp_path: Path) -> None:
    rides = rides_of(tmp_path / "rides", count=2)
    hide_archive([rides], tmp_path / "out", places, Sharing(keep_names=True))
    assert sorted(everything(tmp_path / "out")) == ["day 0.gpx", "day 1.gpx"]
