"""What `sfumato hide` remembers of a folder, and what its exit code says: ends, roads, logs cut off, texts, audits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from command import run
from hidden_folder import add, everything, hide, log, owntracks, where
from rides import ride
from track_files import write_as

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.tracks.places import leak_test

FAR = [9000.0, 2000.0]


def rides_from(folder: Path, metres: list[float], *, first: int = 0, count: int = 4) -> None:
    (folder / "rides").mkdir(exist_ok=True)
    for number in range(first, first + count):
        trace = ride(metres, [4000.0 - 300 * number, 5000.0], every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, folder / "rides" / f"{number}.gpx")


@pytest.mark.usefixtures("roads_lead_nowhere")
def test_ends_once_asked_for_are_cut_from_later_rides_until_none_is_said(tmp_path: Path) -> None:
    rides_from(tmp_path, FAR)
    add(tmp_path, "home", where([0.0, 0.0]))
    assert hide(tmp_path, "--ends", "400m")[0] == 0
    before = everything(tmp_path / "shared")
    rides_from(tmp_path, FAR, first=4, count=1)
    code, out, _ = hide(tmp_path)
    assert (code, "As in this folder before; --ends none ends it." in out) == (0, True)
    new = set(everything(tmp_path / "shared")) - set(before)
    lat, lon = add_at(FAR)
    trace = sf.read_trace(tmp_path / "shared" / new.pop())
    assert np.hypot((trace.lat_deg - lat) * 111e3, (trace.lon_deg - lon) * 73e3).min() > 80
    assert "around its first and its last point" in (tmp_path / "c.json").read_text()
    inbox = run("watch", "rides", "-o", "shared", "--places", "me.places", "--once", "--settle", "0s", folder=tmp_path)
    assert inbox[0] == 0, inbox
    assert everything(tmp_path / "shared").keys() == {*before, *everything(tmp_path / "shared")}
    rides_from(tmp_path, FAR, first=5, count=1)
    code, out, _ = hide(tmp_path, "--ends", "none", "--unnamed", "warn")
    assert "Ends of rides" not in out
    rides_from(tmp_path, FAR, first=6, count=1)
    assert "Ends of rides" not in hide(tmp_path)[1], "and that is remembered, too"


def add_at(metres: list[float]) -> tuple[float, float]:
    lat, lon = where(metres).split(",")
    return float(lat), float(lon)


def test_a_place_to_which_roads_lead_is_still_found_in_the_first_line_and_by_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leak_test, "UNLUCKY", 0.999)  # straight rides from home: whatever the zone that is drawn
    rides_from(tmp_path, [0.0, 0.0])
    add(tmp_path, "home", where([0.0, 0.0]))
    code, out, _ = hide(tmp_path)
    assert (code, out.splitlines()[0]) == (1, "Can I still be found? STILL FOUND: home (private)")
    assert json.loads(hide(tmp_path, "--json")[1])["ok"] is False
    assert "taken out of every file" in (tmp_path / "c.json").read_text(), "which stays true"
    words = ("audit", "rides", "shared", "--certificate", "c.json", "--places", "me.places")
    code, out, _ = run(*words, folder=tmp_path)
    assert (code, out.startswith("STILL FOUND: home.")) == (1, True)
    words = ("watch", "rides", "-o", "shared", "--places", "me.places", "--once", "--settle", "0s")
    code, out, _ = run(*words, folder=tmp_path)
    assert (code, "STILL FOUND: roads lead to 1 place" in out) == (1, True)


def test_ends_found_by_roads_are_refused_and_told_by_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.tracks.places.ends.UNLUCKY", 0.999)
    monkeypatch.setattr(leak_test, "UNLUCKY", 0.999)
    rides_from(tmp_path, FAR)
    add(tmp_path, "nowhere near", where([-40_000.0, 0.0]))
    code, _, err = hide(tmp_path, "--ends", "400m", "--refuse-if-found", "350m")
    assert (code, "An attacker comes nearer than 350 m to end" in err) == (2, True)
    assert not (tmp_path / "shared").exists()
    code, out, _ = hide(tmp_path, "--ends", "400m")
    assert (code, out.splitlines()[0]) == (1, "Can I still be found? STILL FOUND: ends of rides (private)")


@pytest.mark.usefixtures("roads_lead_nowhere")
@pytest.mark.parametrize(("name", "written"), [("log.csv", log), ("2023-11.rec", owntracks)])
def test_an_audit_of_a_log_that_grew_holds_each_part_against_its_file(tmp_path: Path, name: str, written) -> None:
    (tmp_path / "rides").mkdir()
    add(tmp_path, "home", where([0.0, 0.0]))
    for days in (3, 5, 6):
        (tmp_path / "rides" / name).write_text(written(days))
        assert hide(tmp_path)[0] == 0
    words = ("audit", "rides", "shared", "--certificate", "c.json", "--places", "me.places", "--json")
    code, out, _ = run(*words, folder=tmp_path)
    found = json.loads(out)
    assert code == 0
    assert found["notes"] == [], "no shared file is made from an original that was not given"
    (row,) = found["rows"]
    assert (row["refused"], row["error_m"]) == (None, pytest.approx(0.0, abs=0.02))
    assert row["points_out"] == sum(len(sf.read_trace(path)) for path in (tmp_path / "shared").iterdir())
    assert row["points_in"] == len(log(6).splitlines()) - 1


@pytest.mark.usefixtures("roads_lead_nowhere")
def test_a_log_that_was_cut_off_is_told_as_that_and_not_to_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    add(tmp_path, "home", where([0.0, 0.0]))
    (tmp_path / "rides" / "log.csv").write_text(log(4))
    assert hide(tmp_path)[0] == 0
    before, rows = everything(tmp_path / "shared"), log(6).splitlines()
    for kept in (rows[: len(rows) // 2], [rows[0], *rows[len(rows) // 3 :]]):  # a copy that broke off; a log rotated
        (tmp_path / "rides" / "log.csv").write_text("\n".join(kept) + "\n")
        code, out, _ = hide(tmp_path)
        assert (code, "shorter than when it was shared" in out, "rename" in out) == (0, True, False)
        assert "NOT USED" not in out
        assert "As shared before: 1 file" in out
        assert before.items() <= everything(tmp_path / "shared").items()
    times = sorted(t for path in (tmp_path / "shared").iterdir() for t in sf.read_trace(path).times_s.tolist())
    assert len(times) == len(set(times)), "nothing was shared twice"


@pytest.mark.usefixtures("roads_lead_nowhere")
def test_not_used_is_said_of_what_was_not_shared_and_of_nothing_else(tmp_path: Path) -> None:
    rides_from(tmp_path, [0.0, 0.0], count=2)
    add(tmp_path, "home", where([0.0, 0.0]))
    assert hide(tmp_path)[0] == 0
    code, out, _ = hide(tmp_path, "--keep", "elevation")
    assert (code, "NOT USED" in out, "As shared before: 2 files" in out) == (0, False, True)


@pytest.mark.usefixtures("roads_lead_nowhere")
@pytest.mark.parametrize("text", ["", "Rain, all day. Met Anna at 5.\n", "to do: buy a lamp\n- oil\n"])
def test_notes_among_rides_are_passed_over_with_a_word(tmp_path: Path, text: str) -> None:
    rides_from(tmp_path, [0.0, 0.0], count=2)
    (tmp_path / "rides" / "notes.txt").write_text(text)
    add(tmp_path, "home", where([0.0, 0.0]))
    words = ("watch", "rides", "-o", "shared", "--places", "me.places", "--once", "--settle", "0s")
    code, out, _ = run(*words, folder=tmp_path)
    assert (code, "NOT RELEASED" in out) == (0, False)
    code, out, _ = hide(tmp_path)
    assert (code, "1 other file: no track." in out) == (0, True)
    assert "no format claims" in (tmp_path / "shared.private" / "summary.csv").read_text()


@pytest.mark.usefixtures("roads_lead_nowhere")
@pytest.mark.parametrize(
    "text", ["time,latitude,longitude\n", "48.8566 2.3522 0 1213084687\n48.8567 2.3523 0 1213084688\n"]
)
def test_a_text_that_may_be_a_track_is_not_passed_over(tmp_path: Path, text: str) -> None:
    rides_from(tmp_path, [0.0, 0.0], count=2)
    (tmp_path / "rides" / "log.txt").write_text(text)
    add(tmp_path, "home", where([0.0, 0.0]))
    code, out, _ = hide(tmp_path)
    assert (code, "NOT USED: 1 file" in out) == (1, True)
    (tmp_path / "rides" / "log.txt").write_text(log(1))
    assert hide(tmp_path)[0] == 0
    assert len(everything(tmp_path / "shared")) == 3


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_folder_that_is_watched_is_looked_at_again_when_a_place_is_named(tmp_path: Path) -> None:
    rides_from(tmp_path, FAR, count=2)
    add(tmp_path, "home", where([0.0, 0.0]))
    words = [sys.executable, "-c", "from sfumato.cli import main; main()", "watch", "rides", "-o", "shared"]
    words += ["--places", "me.places", "--settle", "0s", "--every", "0.5s"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        late = threading.Timer(60, process.terminate)
        late.start()
        try:
            assert "2 new files" in process.stdout.readline()
            add(tmp_path, "second", where(FAR))
            assert "STILL FOUND: a place lies open" in process.stdout.readline()
        finally:
            late.cancel()
            process.terminate()


def test_who_lost_the_newest_places_file_for_good_is_told_what_is_left_to_do(tmp_path: Path) -> None:
    rides_from(tmp_path, FAR, count=2)
    add(tmp_path, "home", where([0.0, 0.0]))
    older = (tmp_path / "me.places").read_bytes()
    add(tmp_path, "second", where(FAR))
    hide(tmp_path)
    (tmp_path / "me.places").write_bytes(older)
    code, _, err = hide(tmp_path)
    assert code == 2
    assert "lost for good" in err
    assert "take the shared files down" in err


def test_heart_beats_in_greenwich_are_no_longitude_and_a_longitude_is_no_heart_beat(tmp_path: Path) -> None:
    n = np.arange(120)
    lon, lat = -0.12 + 0.002 * np.sin(n / 20), 51.5 + n * 1e-5
    beats = 120 + np.round(4 * np.sin(n / 3))

    def kept(name: str, values: np.ndarray) -> sf.Trace:
        rows = "".join(
            f"{1.7e9 + 5 * i:.0f},{y},{x},{v}\n" for i, (y, x, v) in enumerate(zip(lat, lon, values, strict=True))
        )
        (tmp_path / "a.csv").write_text(f"time,lat,lon,{name}\n{rows}")
        return sf.read_trace(tmp_path / "a.csv", keep=[name])

    assert "heart_rate" in kept("hr", beats).columns
    assert "elevation" in kept("ele", np.full(120, 51.5)).columns
    for hidden in (lon * 1e3, np.round(-lon * 1e7), lat, lon + 2e-4 * np.cos(n)):
        with pytest.raises(InputError, match="true position"):
            kept("hr", hidden)
    with pytest.raises(InputError, match="true position"):
        kept("channel", beats)  # nobody knows what it is
