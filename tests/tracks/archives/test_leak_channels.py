"""No channel from inside the zones: other data there, the same bytes, names, order, times and pages out."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from rides import PARIS, joined, ride
from track_files import FORMATS, write_as

from sfumato.base.things.traces import Trace
from sfumato.pages.report.archive_page import public_page
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import Places, place_at
from sfumato.tracks.plan import Plan, Times

SUMMER = 1.7e9


@pytest.fixture
def places() -> Places:
    return Places.none(rng=3).add(place_at("home", *PARIS, radius_m=400.0, rng=1))


def everything(folder: Path) -> list[tuple[str, bytes, float]]:
    """Names, bytes and dates of files and folders, in the order in which the folder gives them."""
    return [
        (str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b"", path.stat().st_mtime)
        for path in (folder, *folder.rglob("*"))
    ]


def inside(places: Places, world: int) -> tuple[tuple[float, float], int, float]:
    """Another home in the inner disc, other laps there, another start."""
    zone = places.active[0].zone
    assert zone is not None
    lat, lon = zone.around.to_degrees([[120.0, -40.0]] if world == 0 else [[-200.0, 90.0]])
    return (float(lat[0]), float(lon[0])), (1, 4)[world], (SUMMER - 900, SUMMER - 2345)[world]


def a_ride(places: Places, world: int) -> tuple[Trace, int]:
    home, laps, start = inside(places, world)
    outside = ride([1500, 300], [5000, 2000], every_s=5.0, at_s=SUMMER)
    back = ride([5000, 2000], [1500, -300], every_s=5.0, at_s=SUMMER + 7200)
    zone = places.zones[0]
    assert not zone.holds(surface(outside.lat_deg, outside.lon_deg)).any()
    before = ride([0, 0], [60, 40 + 9 * world], home=home, every_s=5.0, at_s=start)
    after = [ride([0, 0], [50, 30], home=home, every_s=5.0, at_s=SUMMER + 9500 + 99 * k) for k in range(laps)]
    return joined(before, outside, back, *after), laps


def vanishing(places: Places, world: int, folder: Path, kind: str) -> None:
    """Rides that never leave the zone: one in one world, three in the other, between the others by name."""
    home, _, start = inside(places, world)
    for number in range((1, 3)[world]):
        walk = ride([0, 0], [40 + number, 30], home=home, every_s=5.0, at_s=start + 1e5 * number)
        write_as(kind, walk, folder / f"{number}-{world} a walk.{kind}", words="private")


@pytest.mark.slow
@pytest.mark.parametrize("times", ["keep", "relative", "shift", "coarse:5min", "drop"])
@pytest.mark.parametrize("kind", FORMATS)
def test_other_data_inside_the_zone_gives_the_same_bytes_names_order_and_dates(
    kind: str, times: str, places: Places, tmp_path: Path
) -> None:
    """Another home, another start, other words and names, more laps, other rides that vanish: nothing of it shows."""
    found = []
    for world in (0, 1):
        trace, laps = a_ride(places, world)
        source = tmp_path / f"in{world}" / "rides"
        source.mkdir(parents=True)
        write_as(kind, trace, source / f"{world} from my door.{kind}", words=f"from my door {world}", laps=laps)
        vanishing(places, world, source, kind)
        second = ride([-2000, 100 * 3], [-4000, 900], every_s=5.0, at_s=SUMMER + 2e5)
        write_as(kind, second, source / f"{5 - 4 * world} second.{kind}", words="x" * (1 + world))
        out = tmp_path / f"out{world}"
        done = hide_archive([source], out, places, times=Times.parse(times))
        assert [row.refused for row in done.rows] == [None] * (3 + 2 * world)
        found.append([everything(out), done.document, public_page(done, out).replace(str(out), "")])
        assert len(done.document["files"]) == 2
        assert b"door" not in b"".join(content for _, content, _ in found[-1][0])
        assert not any("door" in name or "second" in name for name, _, _ in found[-1][0])
        if times == "drop" and kind in ("geoparquet", "gpkg", "plt", "tcx"):  # whose files must have times
            assert {file.suffix for file in out.iterdir()} == {".gpx"}
    assert found[0] == found[1]


@pytest.mark.parametrize("blur", [None, Plan(noise_m=20.0, prior_class="year")])
def test_packed_or_plain_and_in_whatever_order_the_output_is_the_same(
    blur: Plan | None, places: Places, tmp_path: Path
) -> None:
    """A zip's entries, their order, dates and comments, and gz headers tell nothing."""
    found = []
    for world in (0, 1):
        trace, laps = a_ride(places, world)
        plain = tmp_path / f"plain{world}"
        plain.mkdir()
        write_as("gpx", trace, plain / "a.gpx", words=f"door {world}", laps=laps)
        write_as("gpx", ride([-2000, 300], [-4000, 900], every_s=5.0, at_s=SUMMER + 2e5), plain / "b.gpx")
        vanishing(places, world, plain, "gpx")
        packed = tmp_path / f"{world}.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = b"private" * world
            for file in sorted(plain.iterdir(), reverse=bool(world)):
                entry = zipfile.ZipInfo(f"{world}/{file.name}.gz", (2001 + world, 1, 1, 0, 0, 0))
                archive.writestr(entry, gzip.compress(file.read_bytes(), mtime=world))
        out = tmp_path / f"out{world}"
        state = tmp_path / "noise.state"
        done = hide_archive([packed], out, places, Sharing(state=state if blur else None, rng=5), blur=blur)
        found.append((everything(out), json.dumps(done.document), public_page(done, out)))
    assert found[0] == found[1]


def test_kept_readings_near_a_cut_and_totals_do_not_tell(places: Places, tmp_path: Path) -> None:
    found = []
    for world in (0, 1):
        trace, laps = a_ride(places, world)
        source = tmp_path / f"in{world}"
        source.mkdir()
        write_as("gpx", trace, source / "a.gpx", words=f"door {world}", laps=laps)
        from sfumato.tracks.io import SourceReading

        reading = SourceReading(keep=("elevation",))
        done = hide_archive([source], tmp_path / f"out{world}", places, Sharing(reading))
        found.append((everything(tmp_path / f"out{world}"), done.document))
    assert found[0] == found[1]
    assert b"<ele>" in found[0][0][1][1]
