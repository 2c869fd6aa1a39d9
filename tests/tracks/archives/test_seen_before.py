"""Rides that were looked at before are not read again, and the leak test is the same as if they were."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rides import PARIS, ride
from track_files import write_as

from sfumato.base.errors import InputError
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.ride_job import OTHER_WISH, ArchiveResult
from sfumato.tracks.folders.rides.sharing import Faces, Sharing
from sfumato.tracks.folders.staging import SEEN_NAME, only_run
from sfumato.tracks.io import SourceReading
from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.places_file import Places, place_at

SCHOOL = [4000.0, 5000.0]


def at(metres: list[float]) -> tuple[float, float]:
    lat, lon = Around(*PARIS).to_degrees(metres)
    return float(lat[0]), float(lon[0])


@pytest.fixture
def places() -> Places:
    return Places.none(rng=1).add(place_at("home", *PARIS, radius_m=800.0, rng=2))


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    folder = tmp_path / "rides"
    folder.mkdir()
    for number in range(6):
        add(folder, number)
    return folder


def add(folder: Path, number: int) -> None:
    trace = ride([0.0, 0.0], [4000.0 - 300 * (number % 3), 5000.0], every_s=5.0, at_s=1.7e9 + 86400 * number)
    write_as("gpx", trace, folder / f"{number}.gpx")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read, real = list[str](), SourceReading.read

    def counting(self: SourceReading, path: Path) -> object:
        read.append(path.name)
        return real(self, path)

    monkeypatch.setattr(SourceReading, "read", counting)
    return read


def same(one: ArchiveResult, other: ArchiveResult) -> bool:
    rows = [[(row.source, row.output, row.refused, row.gone) for row in done.rows] for done in (one, other)]
    leaks = [[(leak.sentence(), leak.errors_m, leak.odds) for leak in done.leaks] for done in (one, other)]
    return rows[0] == rows[1] and leaks[0] == leaks[1] and one.unvisited == other.unvisited


def test_only_new_rides_are_read_and_the_leak_test_is_that_of_all(
    rides: Path, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_archive([rides], tmp_path / "out", places)
    add(rides, 7)
    read = counted(monkeypatch)
    done = hide_archive([rides], tmp_path / "out", places)
    assert read == ["7.gpx"]
    assert len(done.leaks[0].errors_m) > 5
    (tmp_path / "out.private" / SEEN_NAME).unlink()
    read.clear()
    assert same(done, hide_archive([rides], tmp_path / "out", places))
    assert len(read) == 7
    assert same(done, hide_archive([rides], tmp_path / "out", places))
    assert len(read) == 7


def test_what_was_seen_is_sealed_and_of_these_zones_only(
    rides: Path, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_archive([rides], tmp_path / "out", places)
    kept = tmp_path / "out.private" / SEEN_NAME
    assert kept.stat().st_mode & 0o777 == 0o600
    assert b"stops" not in kept.read_bytes()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # damaged: gathered anew
    read = counted(monkeypatch)
    hide_archive([rides], tmp_path / "out", places)
    assert len(read) == 6
    read.clear()
    more = places.add(place_at("school", *at(SCHOOL), radius_m=400.0, rng=3))
    done = hide_archive([rides], tmp_path / "out", more)
    assert len(read) == 6
    assert done.lies_open
    again = hide_archive([rides], tmp_path / "out", more)
    assert len(read) == 6
    assert same(done, again)
    assert again.lies_open


@pytest.mark.parametrize("change", ["shared file changed", "shared file deleted", "source changed", "stranger"])
def test_whatever_changed_is_looked_at_again(
    rides: Path, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    out = tmp_path / "out"
    before = hide_archive([rides], out, places)
    first = out / str(before.rows[0].output)
    if change == "shared file changed":
        shutil.copy(rides / "0.gpx", first)
    elif change == "shared file deleted":
        first.unlink()
    elif change == "source changed":
        write_as("gpx", ride([0.0, 0.0], [900.0, -5000.0], every_s=5.0, at_s=1.7e9), rides / "0.gpx")
    else:
        shutil.copy(rides / "0.gpx", out / "phone.gpx")
    read = counted(monkeypatch)
    done = hide_archive([rides], out, places)
    assert (read == ["0.gpx"]) == (change != "stranger")
    assert done.lies_open == (change in ("shared file changed", "stranger"))
    for _ in range(2):
        (out.with_name("out.private") / SEEN_NAME).unlink()
        assert same(done, hide_archive([rides], out, places))


def test_what_came_to_a_log_is_released_after_a_place_was_named(rides: Path, places: Places, tmp_path: Path) -> None:
    log, out = rides / "log.csv", tmp_path / "out"

    def grown(days: int) -> None:
        rows = ["time,lat,lon"]
        for day in range(days):
            trace = ride([0, 0], [300.0 * day, -5000.0], every_s=30.0, at_s=1.6e9 + 86400 * day)
            rows += [f"{t},{y},{x}" for y, x, t in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)]
        log.write_text("\n".join(rows))

    grown(2)
    hide_archive([rides], out, places)
    more = places.add(place_at("school", *at([-9000.0, 0.0]), radius_m=400.0, rng=3))
    grown(4)
    done = hide_archive([rides], out, more)
    assert [(row.source, row.refused) for row in done.rows if row.new] == [("rides/log.csv (part 2)", None)]
    assert len(list(out.iterdir())) == 8
    again = hide_archive([rides], out, more)
    assert {row.refused for row in again.rows} == {OTHER_WISH}
    assert same(again, hide_archive([rides], out, more))


def test_no_run_fills_the_folder_while_it_is_built_anew(rides: Path, places: Places, tmp_path: Path) -> None:
    hide_archive([rides], tmp_path / "out", places)
    with only_run(tmp_path / "out"), pytest.raises(InputError, match="Another run"):
        hide_archive([rides], tmp_path / "out", places)
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("zones_change", [False, True])
def test_who_gives_each_weeks_rides_alone_is_asked_about_a_place_of_all_weeks(
    places: Places, tmp_path: Path, zones_change: bool
) -> None:
    """Two rides a week end at a friend's: never three in one run, and eight in the folder."""
    listed: list[list[int]] = []
    faces = Faces(unnamed=lambda found: listed.append([one.track_ends for one in found]))
    before: list[str] = []
    for week in range(4):
        folder = tmp_path / f"week {week}"
        folder.mkdir()
        for number in range(2):
            trace = ride([0.0, 0.0], SCHOOL, every_s=5.0, at_s=1.7e9 + 86400 * (7 * week + number))
            write_as("gpx", trace, folder / f"{number}.gpx")
        if zones_change and week == 3:  # what was seen of the rides is not known to the new zones: files speak
            places = places.add(place_at("elsewhere", *at([-9000.0, 0.0]), radius_m=400.0, rng=3))
        done = hide_archive([folder], tmp_path / "out", places, Sharing(faces=faces))
        before.append(done.leaks[0].sentence().split(" before")[0])
    assert listed == [[], [4], [6], [8]]
    assert before[:3] == ["home: found to 0 m"] * 3, "the border of a zone is no end of a ride"
    assert done.leaks[0].gates == 8
