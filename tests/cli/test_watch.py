"""`sfumato watch`: each finished file released once, killed or not, by the job of `hide`; logs that tell nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import run
from kills import killed_before_change
from rides import PARIS, ride
from track_files import write_as

import sfumato as sf

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL"),
    pytest.mark.usefixtures("roads_lead_nowhere"),
]
WATCH = ("watch", "inbox", "-o", "shared", "--places", "me.places")
OLD_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", "--zone", "400m", folder=tmp_path)
    return tmp_path


def comes(folder: Path, number: int) -> Path:
    trace = ride([0, 0], [4000.0 - 300 * number, 5000.0], every_s=20.0, at_s=1.7e9 + 86400 * number)
    path = folder / "inbox" / f"from home {number}.gpx"
    write_as("gpx", trace, path)
    return path


def watched(folder: Path, *more: str) -> tuple[int, str, str]:
    return run(*WATCH, "--once", *more, folder=folder)


def shared(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "shared").iterdir())}


def test_finished_files_are_released_once_and_unfinished_ones_wait(folder: Path) -> None:
    comes(folder, 0)
    assert watched(folder) == (0, "", "")  # it came just now
    assert not (folder / "shared").exists()
    code, out, err = watched(folder, "--settle", "0s")
    assert (code, err) == (0, "")
    assert out.endswith("Z 1 new file, 1 in shared.\n")
    before = shared(folder)
    comes(folder, 1)
    code, out, _ = watched(folder, "--settle", "0s")
    assert out.endswith("Z 1 new file, 2 in shared.\n")
    assert before.items() < shared(folder).items()
    assert watched(folder, "--settle", "0s")[1].endswith("Z 0 new files, 2 in shared.\n")
    said = json.loads(watched(folder, "--settle", "0s", "--json")[1])
    assert (said["ok"], said["new"], said["shared"], said["unreleased"]) == (True, 0, 2, 0)
    assert run("verify", "shared", folder=folder)[0] == 0


def test_what_is_printed_tells_no_place_no_name_and_no_time_of_a_ride(folder: Path) -> None:
    for number in range(4):
        comes(folder, number)
    (folder / "inbox" / "from home 5.gpx").write_text("<gpx><trk>")
    run("places", "add", "elsewhere", "10.5,20.5", "--places", "me.places", folder=folder)
    run("places", "remove", "home", "--places", "me.places", folder=folder)
    assert watched(folder, "--settle", "0s")[0] == 1
    run("places", "add", "home", f"{PARIS[0]},{PARIS[1]}", "--places", "me.places", folder=folder)
    code, out, err = watched(folder, "--settle", "0s")
    assert code == 1
    assert "STILL FOUND" in out
    assert "NOT RELEASED: 1 file" in out
    said = re.sub(r"^\S+Z ", "", out.replace(str(folder), ""))
    assert "home" not in said
    assert "2023" not in said
    assert not re.search(r"\d\.\d", said + err)


def test_places_outside_every_zone_are_counted_or_refused(folder: Path) -> None:
    for number in range(4):
        comes(folder, number)
    run("places", "add", "elsewhere", "10.5,20.5", "--places", "me.places", folder=folder)
    run("places", "remove", "home", "--places", "me.places", folder=folder)
    code, _, err = watched(folder, "--settle", "0s", "--unnamed", "refuse")
    assert (code, (folder / "shared").exists()) == (2, False)
    assert "Nothing was written" in err
    assert "No zone covers 1 place" in watched(folder, "--settle", "0s")[1]


def test_a_file_that_grows_is_released_in_parts_also_with_noise(folder: Path) -> None:
    log = folder / "inbox" / "log.csv"
    words = ("watch", "inbox", "-o", "noisy", "--state", "me.state", "--noise", "30m", "--once", "--settle", "0s")
    rows, before = ["time,lat,lon"], dict[str, bytes]()
    for day in range(3):
        trace = ride([0, 0], [4000.0, 5000.0], every_s=30.0, at_s=1.7e9 + 86400 * day)
        rows += [f"{t},{y},{x}" for y, x, t in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)]
        log.write_text("\n".join(rows))
        assert run(*words, folder=folder)[:1] == (0,)
        now = {path.name: path.read_bytes() for path in (folder / "noisy").iterdir()}
        assert before.items() < now.items()
        before = now
    assert len(before) == 3
    assert sum(len(sf.read_trace(path)) for path in (folder / "noisy").iterdir()) == len(rows) - 1
    out = run("verify", "noisy", folder=folder)[1]  # 30 m over so few points is not much, and that is said
    assert "checked: every byte of 3 files" in out
    assert "checked: universal bound" in out


def test_killed_before_any_change_every_file_is_released_once_all_the_same(folder: Path) -> None:
    for number in range(2):
        comes(folder, number)
    assert watched(folder, "--settle", "0s")[0] == 0
    expected = shared(folder)
    comes(folder, 2)
    kills = 0
    while killed_before_change(3 * kills + 1, folder, lambda: watched(folder, "--settle", "0s")):
        kills += 1
        there = shared(folder)
        assert expected.items() <= there.items()
        listed = {file["name"] for file in json.loads((folder / "shared.certificate.json").read_text())["files"]}
        assert set(there) <= listed
        assert watched(folder, "--settle", "0s")[0] == 0
        assert len(shared(folder)) == kills + 2
        assert run("verify", "shared", folder=folder)[0] == 0
        expected = shared(folder)
        comes(folder, 2 + kills)
        if kills == 8:
            break
    assert kills >= 4


def test_a_folder_that_is_watched_releases_what_comes_and_ends_when_it_is_told(folder: Path) -> None:
    words = [sys.executable, "-c", "from sfumato.cli import main; main()", *WATCH, "--settle", "0.2s", "--every", "1h"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            for number in range(3):
                comes(folder, number)
                deadline = time.monotonic() + 60
                while len(list((folder / "shared").glob("*"))) <= number:
                    assert time.monotonic() < deadline, "it was not woken"
                    time.sleep(0.1)
        finally:
            process.terminate()
        assert "3 in shared" in process.communicate()[0]
    assert run("verify", "shared", folder=folder)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("watch", "nowhere", "-o", "shared", "--places", "me.places"), "There is no folder nowhere"),
        (("watch", "inbox", "-o", "shared"), "What shall be done"),
        (("watch", "inbox", "-o", "shared", "--state", "me.state"), "belong together"),
    ],
)
def test_what_cannot_be_watched_is_refused(folder: Path, words: tuple[str, ...], said: str) -> None:
    code, _, err = run(*words, "--once", folder=folder)
    assert (code, said in err) == (2, True)
