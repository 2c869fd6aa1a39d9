"""`sfumato places`: several at once, by the number they were found under, as people write them; and the map of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import run
from rides import PARIS, ride
from track_files import write_as

from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.places_file import load_places

WORK = [3000.0, 4000.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six days from home to work and back at night, and a holiday of two rides 500 km away."""
    (tmp_path / "rides").mkdir()
    for day in range(6):
        for way, hour in (((0, 0), 8), (WORK, 18)):
            trace = ride(
                way, WORK if hour == 8 else (0, 0), every_s=20.0, at_s=1.7e9 + 86400 * day + 3600 * (hour - 22)
            )
            write_as("gpx", trace, tmp_path / "rides" / f"{day} {hour}.gpx")
    for day in (10, 11):
        away = ride((0, 0), (5000, 1000), home=(44.8, -0.58), every_s=20.0, at_s=1.7e9 + 86400 * day)
        write_as("gpx", away, tmp_path / "rides" / f"holiday {day}.gpx")
    return tmp_path


def places(folder: Path, *words: str) -> tuple[int, str, str]:
    return run("places", *words, "--places", "me.places", folder=folder)


def test_places_are_added_by_the_numbers_they_were_found_under(folder: Path) -> None:
    out = places(folder, "find", "rides")[1]
    assert "places add home 1" in out
    rows = [line.split() for line in out.splitlines() if re.match(r" +\d ", line)]
    assert [row[1] for row in rows[:2]] == ["home", "work"]
    assert int(rows[0][3]) == 5  # nights, between six days
    assert (folder / "me.places.found").stat().st_mode & 0o777 == 0o600
    code, out, err = places(folder, "add", "home", "1", "work", "2", "gran", "48.8 2.4", "--zone", "400m")
    assert (code, out.count("Added ")) == (0, 3), err
    named = {place.name: place for place in load_places(folder / "me.places").active}
    assert named["home"].distance_m(*PARIS) < 30
    lat, lon = Around(*PARIS).to_degrees(WORK)
    assert named["work"].distance_m(float(lat[0]), float(lon[0])) < 30
    assert named["gran"].distance_m(48.8, 2.4) < 1


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (("48.85", "2.35"), (48.85, 2.35)),
        (("-33.9", "151.2"), (-33.9, 151.2)),
        (("-33.9 151.2",), (-33.9, 151.2)),
        (("48°51'N", "2°21'E"), (48.85, 2.35)),
        (("48°51'N 2°21'E",), (48.85, 2.35)),
        (("51.5N", "0.12W"), (51.5, -0.12)),
    ],
)
def test_two_places_are_written_with_and_without_commas(
    tmp_path: Path, words: tuple[str, ...], at: tuple[float, float]
) -> None:
    code, _, err = places(tmp_path, "add", "there", *words, "here", "10,20")
    assert code == 0, err
    there, here = load_places(tmp_path / "me.places").active
    assert there.distance_m(*at) < 1
    assert here.distance_m(10, 20) < 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("home", "1"), "No list of places was remembered"),
        (("home", "10,20", "work"), "Where is work?"),
        (("home", "10,20", "work", "there"), "no latitude,longitude"),
    ],
)
def test_nothing_is_added_where_one_place_is_not_understood(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    code, _, err = places(tmp_path, "add", *words)
    assert (code, said in err, (tmp_path / "me.places").exists()) == (2, True, False)


def test_a_number_that_was_not_listed_and_a_sealed_file_are_refused(folder: Path) -> None:
    places(folder, "find", "rides")
    code, _, err = places(folder, "add", "home", "99")
    assert (code, "There is no place number 99" in err) == (2, True)
    (folder / "secret").write_text("words\n")
    run("places", "add", "home", "10,20", "--places", "sealed", "--passphrase-file", "secret", folder=folder)
    code, _, err = run("places", "find", "rides", "--places", "sealed", folder=folder)
    assert (code, "sealed" in err, (folder / "sealed.found").exists()) == (2, True, False)


def test_the_map_begins_where_most_rides_are_and_shows_what_speaks_for_each_place(folder: Path) -> None:
    run("places", "find", "rides", "--map", "places.html", folder=folder)
    page = (folder / "places.html").read_text()
    metres_per_px = float(re.search(r'data-mpp="([\d.]+)"', page)[1])  # type: ignore[index]
    assert 5 < metres_per_px < 30  # a town across the picture, although a holiday was 500 km away
    low = float(re.search(r'data-all="(\S+) ', page)[1])  # type: ignore[index]
    assert low * metres_per_px < -200_000  # which is drawn all the same, beyond the picture
    assert "nights" in page
    assert 'data-name="home"' in page
    assert 'id="picked"' in page
    assert not re.search(r'(src|href)="?https?:', page)
    assert "default-src 'none'" in page
