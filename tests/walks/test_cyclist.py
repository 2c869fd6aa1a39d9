"""The cyclist: a year's folder of rides, one wish (hide my home, keep the ride), and a week later three more rides."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from page_rides import HOME, rides
from walking import Walker, installed, is_kind, looked_at, needs_a_browser

import sfumato as sf

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cyclist")]


@pytest.fixture(scope="module")
def cyclist(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """Somebody in Zurich who has installed the core and nothing else."""
    me = installed(wheel, tmp_path_factory.mktemp("cyclist"))
    (me.folder / "rides").mkdir()
    rides(me.folder / "rides", 12, seed=77)
    return me


def nearest_m(folder: Path) -> float:
    """How near to home anything in a shared folder comes."""
    metres = np.array([111_195.0, 111_195.0 * np.cos(np.radians(HOME[0]))])
    traces = [sf.read_trace(path) for path in sorted(folder.glob("*.gpx"))]
    away = [np.hypot(*((np.column_stack([t.lat_deg, t.lon_deg]) - HOME) * metres).T).min() for t in traces]
    return float(min(away))


def test_hide_my_home_and_keep_the_ride(cyclist: Walker) -> None:
    table = cyclist.does("sfumato", "places", "find", "rides/")
    where = re.search(r"1 +\w+ .* (-?\d+\.\d+,-?\d+\.\d+)", table)
    assert where is not None, table
    assert np.allclose([float(x) for x in where[1].split(",")], HOME, atol=5e-4)

    cyclist.does("sfumato", "places", "add", "home", where[1], "--places", "me.places")
    assert (cyclist.folder / "me.places").stat().st_mode & 0o077 == 0
    done = cyclist.tries(
        "sfumato", "hide", "rides/", "-o", "shared/", "--places", "me.places",
        "--certificate", "shared.json", "--report", "mine.html", "--public-report", "shared.html",
    )  # fmt: skip
    shown = done.stdout
    assert re.search(r"home: .* misses it by \d", re.sub(r"\s+", " ", shown)), shown
    assert done.returncode == ("STILL FOUND" in shown.splitlines()[0])
    shared = cyclist.folder / "shared"
    assert len(list(shared.glob("*.gpx"))) == 12
    assert nearest_m(shared) > 150, "the ride came near home again"
    original = {(round(a, 7), round(b, 7)) for p in (cyclist.folder / "rides").glob("*.gpx")
                for t in [sf.read_trace(p)] for a, b in zip(t.lat_deg, t.lon_deg, strict=True)}  # fmt: skip
    kept = [(round(a, 7), round(b, 7)) for p in shared.glob("*.gpx")
            for t in [sf.read_trace(p)] for a, b in zip(t.lat_deg, t.lon_deg, strict=True)]  # fmt: skip
    assert len(kept) > 0.3 * len(original)
    assert set(kept) <= original, "what is left of the ride is exact"


def test_friends_can_check_what_they_got(cyclist: Walker) -> None:
    assert "holds" in cyclist.does("sfumato", "verify", "shared.json", "--release", "shared/")
    first = sorted((cyclist.folder / "shared").glob("*.gpx"))[0]
    was = first.read_text()
    first.write_text(was.replace("47.", "46.", 1))
    try:
        assert "not" in cyclist.is_refused("sfumato", "verify", "shared.json", "--release", "shared/")
    finally:
        first.write_text(was)


def test_next_week_adds_three_rides_and_leaves_what_was_shared(cyclist: Walker) -> None:
    before = {path.name: path.read_bytes() for path in (cyclist.folder / "shared").glob("*.gpx")}
    new = cyclist.folder / "week"
    new.mkdir()
    for path in rides(new, 3, seed=5):
        path.rename(cyclist.folder / "rides" / f"next week {path.name}")
    done = cyclist.tries("sfumato", "hide", "rides/", "-o", "shared/", "--places", "me.places", "--json")
    answer = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    after = {path.name: path.read_bytes() for path in (cyclist.folder / "shared").glob("*.gpx")}
    assert len(after) == 15, answer
    assert before.items() <= after.items()


def test_one_ride_blurred_instead_of_cut(cyclist: Walker) -> None:
    ride = sorted((cyclist.folder / "rides").glob("*.gpx"))[0]
    words = ["sfumato", "protect", ride, "-o", "blurred.gpx", "--radius", "200m", "--odds", "5"]
    shown = cyclist.does(*words, "--certificate", "blurred.json", "--report", "blurred.html")
    assert "99" in shown, "how sure the promise is"
    assert "5 : 1" in shown
    assert "holds" in cyclist.does("sfumato", "verify", "blurred.json", "--release", "blurred.gpx")


@pytest.mark.browser
def test_the_pages_open_from_the_disk_on_a_phone_too(cyclist: Walker) -> None:
    needs_a_browser()
    pages = {name: (cyclist.folder / f"{name}.html").as_uri() for name in ("mine", "shared", "blurred")}
    found = looked_at(pages, "cyclist")
    is_kind(found)
    assert "home" in found["mine"]["text"]
    assert "home" not in found["shared"]["text"].replace("home page", ""), "the public report names nobody's home"
