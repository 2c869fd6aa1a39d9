"""Exports as Garmin and Google lay them out, people in archives, files that cannot be read, and ids of people."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sample_files as samples
from command import run

from sfumato.base.errors import InputError
from sfumato.tracks.certificates.person_ids import canonical_id, distinct_ids
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import members
from sfumato.tracks.io.telltale import names_position
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")


def _usable(path: Path) -> list[str]:
    return [member.name.partition("/")[2] for member in members([path]) if member.skipped is None]


def test_a_garmin_export_is_its_activities(tmp_path: Path) -> None:
    inner = tmp_path / "UploadedFiles_0-_Part1.zip"
    with zipfile.ZipFile(inner, "w") as packed:
        packed.writestr("ama@example.org_123.fit", samples.fit_file())
        packed.writestr("ama@example.org_124.tcx", samples.TCX)
    with zipfile.ZipFile(tmp_path / "garmin.zip", "w") as packed:
        packed.write(inner, "DI_CONNECT/DI-Connect-Uploaded-Files/UploadedFiles_0-_Part1.zip")
        packed.writestr("DI_CONNECT/DI-Connect-Fitness/ama_summarizedActivities.json", '[{"startLatitude": 1}]')
        packed.writestr("DI_CONNECT/DI-Connect-User/user_profile.json", "{}")
        packed.writestr("customer_data/customer.json", "{}")
    found = _usable(tmp_path / "garmin.zip")
    assert [name.rpartition("/")[2] for name in found] == ["ama@example.org_123.fit", "ama@example.org_124.tcx"]
    why = {member.name.rpartition("/")[2]: member.skipped for member in members([tmp_path / "garmin.zip"])}
    assert why["user_profile.json"] == "not an activity of the export"
    code, out, error = run("protect", "garmin.zip", "-o", "shared", "--noise", "50m", folder=tmp_path)
    assert code == 0, error
    assert "2 files in shared" in out
    assert "points without a position (2)" in out


def test_a_google_takeout_is_its_timeline(tmp_path: Path) -> None:
    home = tmp_path / "Takeout" / "Location History (Timeline)"
    (home / "Semantic Location History" / "2024").mkdir(parents=True)
    (home / "Records.json").write_text(samples.TEXT_SAMPLES["Records.json"])
    (home / "Semantic Location History" / "2024" / "2024_MAY.json").write_text(samples.TEXT_SAMPLES["2024_MAY.json"])
    (home / "Settings.json").write_text("{}")
    (home / "Tombstones.csv").write_text("time,lat,lon\n")
    mail = tmp_path / "Takeout" / "Mail"
    mail.mkdir()
    (mail / "inbox.json").write_text("{}")
    found = _usable(tmp_path / "Takeout")
    assert sorted(name.rpartition("/")[2] for name in found) == ["2024_MAY.json", "Records.json"]
    why = {Path(member.name).name: member.skipped for member in members([tmp_path / "Takeout"])}
    assert why["Settings.json"] == "no positions of yours"
    assert why["inbox.json"] == "not a timeline"


def test_a_table_in_an_archive_needs_to_be_one_persons(tmp_path: Path) -> None:
    folder = tmp_path / "rides"
    folder.mkdir()
    rows = "".join(f"2024-05-01T12:{n:02}:00Z,{48 + n / 1000},2.5,{'ab'[n % 2]}\n" for n in range(20))
    (folder / "log.csv").write_text("time,lat,lon,device\n" + rows)
    words = ("protect", "rides", "-o", "shared", "--noise", "50m")
    code, _, error = run(*words, folder=tmp_path)
    assert code == 2
    assert "--one-person" in error
    assert run(*words, "--one-person", folder=tmp_path)[0] == 0
    assert run("places", "find", "rides", folder=tmp_path)[0] == 2
    assert run("places", "find", "rides", "--one-person", folder=tmp_path)[0] == 0
    track, out = "rides/log.csv", ("-o", "o.gpx", "--certificate", "c.json", "--noise", "50m")
    assert run("protect", track, *out, "--one-person", folder=tmp_path)[0] == 0
    assert run("audit", track, "o.gpx", "--certificate", "c.json", folder=tmp_path)[0] == 2
    assert run("audit", track, "o.gpx", "--certificate", "c.json", "--one-person", folder=tmp_path)[0] == 0
    listed = [
        {"time": f"2024-05-01T12:{n:02}:00Z", "lat": 48 + n / 1000, "lon": 2.5, "device": n % 2} for n in range(9)
    ]
    (tmp_path / "log.json").write_text(json.dumps(listed))
    assert run("protect", "log.json", "-o", "j.gpx", folder=tmp_path)[0] == 2
    assert run("protect", "log.json", "-o", "j.gpx", "--one-person", folder=tmp_path)[0] == 0
    table = pa.table({name: [row[name] for row in listed] for name in listed[0]})
    with pytest.raises(InputError, match="one_person"):
        protect_table(table, Plan(noise_m=50.0))
    assert protect_table(table, Plan(noise_m=50.0), one_person=True)[0].num_rows == 9


def test_a_file_that_may_not_be_read_is_said_and_the_others_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "rides"
    (folder / "folder.gpx").mkdir(parents=True)
    (folder / "a.gpx").write_text(samples.GPX)
    (folder / "locked.gpx").write_text(samples.GPX.replace("5.101", "5.105"))
    real = Path.open

    def guarded(self: Path, *words: object, **more: object) -> object:
        if self.name == "locked.gpx":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *words, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", guarded)
    code, out, error = run("protect", "rides", "-o", "shared", "--noise", "50m", folder=tmp_path)
    assert code == 1, error
    assert "NOT USED: 1 file" in out
    assert run("protect", "rides", "-o", "shared", "--noise", "50m", "--lenient", folder=tmp_path)[0] == 0
    assert "1 file in shared" in out
    assert "Permission denied" in out
    assert "rides/locked.gpx" in out
    code, _, error = run("protect", "rides/locked.gpx", "-o", "o.gpx", folder=tmp_path)
    assert (code, "Permission denied" in error) == (2, True)
    code, _, error = run("protect", "rides", "-o", "strict", "--strict", folder=tmp_path)
    assert (code, "Permission denied" in error) == (2, True)
    code, out, error = run("places", "find", "rides", folder=tmp_path)
    assert "Permission denied" in out


def test_numbers_are_one_id_however_written_but_1e5_may_be_hexadecimal() -> None:
    assert {canonical_id(text) for text in ("100000", "1e+05", "1.0e5", "1.0E+5", "0100000.0")} == {"100000"}
    assert canonical_id("1e5") == "1e5"
    assert canonical_id("12e4") != canonical_id("120000")
    distinct_ids(["1e5", "1e6", "100001"])
    with pytest.raises(InputError, match="same id"):
        distinct_ids(["1e5", "100000"])


_NAMES_TEXT = (
    "Latitude lat_e7 start_lon Breitengrad Längengrad latitud LONGITUD latitudine szerokość długość широта долгота "
    "纬度 経度 위도 경도 GPS纬度 enlem boylam leveysaste pituusaste breedtegraad lengtegraad Bredde zeměpisná_šířka "
    "πλάτος μήκος utm_easting Northing geohash h3_9 x Y wkt the_geom latMicrodegrees Hochwert"
)
NAMES = _NAMES_TEXT.split()


@pytest.mark.parametrize("name", NAMES)
def test_a_position_is_known_by_its_name_in_many_languages(name: str) -> None:
    assert names_position(name)


@pytest.mark.parametrize("name", ["elevation", "heart_rate", "speed", "cadence", "power", "distance", "temp", "hdop"])
def test_other_quantities_are_not_taken_for_positions(name: str) -> None:
    assert not names_position(name)


def _ways() -> dict[str, object]:
    n = np.arange(60)
    lat, lon = 48.85 + 0.004 * np.sin(n / 9) + n * 1e-5, 2.35 + 0.006 * np.cos(n / 7)
    east = 448_000 + 73_000 * (lon - 2.35) + 900 * (lat - 48.85)
    return {
        "latitude": lat, "longitude": lon, "microdegrees": lon * 1e6, "negated": -lat, "radians": np.radians(lon),
        "semicircles": lat * 2**31 / 180, "NMEA": 4800 + 60 * (lat - 48), "offset": (lat - 48.8) * 1e6 + 17,
        "UTM east": east, "turned": 0.6 * 111_000 * lat + 0.8 * 73_000 * lon,
        "heart": 120 + 9 * np.sin(n), "elapsed": 5.0 * n, "temperature": 20 + n * 0.01,
    }  # fmt: skip


@pytest.mark.parametrize("name", _ways())
def test_a_position_is_known_by_its_values(tmp_path: Path, name: str) -> None:
    ways = _ways()
    rows = "".join(
        f"{1.7e9 + 5 * i},{y},{x},{v}\n"
        for i, (y, x, v) in enumerate(zip(ways["latitude"], ways["longitude"], ways[name], strict=True))  # type: ignore[call-overload]
    )
    (tmp_path / "a.csv").write_text("time,lat,lon,channel\n" + rows)
    if name in ("heart", "elapsed", "temperature"):
        assert "channel" in read_trace(tmp_path / "a.csv", keep=["channel"]).columns
    else:
        with pytest.raises(InputError, match="true position"):
            read_trace(tmp_path / "a.csv", keep=["channel"])
