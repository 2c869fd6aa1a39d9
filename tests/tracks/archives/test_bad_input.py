"""What a stranger gives by mistake: clear words, nothing half-written."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command import refused, run
from rides import PARIS, ride
from small_disk import fill_up, small_disk
from track_files import write_as

import sfumato as sf
from sfumato.cli import main
from sfumato.tracks.places.globe import Around

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

HOME = f"{PARIS[0]},{PARIS[1]}"
BASE = ("-o", "shared", "--places", "me.places")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rides").mkdir()
    for number in range(2):
        trace = ride([0, 0], [3000, 500 * number], every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / f"{number}.gpx")
    run("places", "add", "home", HOME, "--places", "me.places", "--zone", "400m", folder=tmp_path)
    return tmp_path


def test_nothing_to_hide_in(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "words").mkdir()
    (folder / "words" / "a.md").write_text("hello")
    (folder / "broken").mkdir()
    (folder / "broken" / "a.gpx").write_text("<gpx><trk>")
    for source, words in (
        ("empty", "There is no file in what was given"),
        ("nowhere", "There is no file or folder nowhere"),
        ("*.tcx", "There is no file or folder"),
        ("words", "None of 1 file could be used"),
        ("broken", "None of 1 file could be used"),
    ):
        before = {path.name for path in folder.iterdir()}
        refused("hide", source, *BASE, folder=folder, says=words)
        if "nowhere" not in source and "*" not in source:  # a file's name that may be a track's
            refused("protect", source, "-o", "blurred", folder=folder, says=words)
            refused("protect", source, "-o", "once", "--mechanism", "independent", folder=folder, says=words)
        assert {path.name for path in folder.iterdir()} == before


NOBODY = 65534
# Once as it is, so that every module is loaded; then by a user who is not root, whom a closed file stops.
BY_NOBODY = """
import json, os
from command import run
run("hide", "rides", "-o", "warm", "--places", "me.places")
os.chmod("rides/1.gpx", 0), os.mkdir("rides/closed", 0)
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
first = run("hide", "rides", "-o", "shared", "--places", "me.places")
print(json.dumps([first, run("hide", "rides", "-o", "other", "--places", "me.places", "--strict")]))
"""


@pytest.mark.skipif(os.name != "posix", reason="files are closed to others in other ways")
def test_an_unreadable_file_is_reported_and_the_rest_is_shared(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        there = Path(name) / "there"
        shutil.copytree(folder, there)
        if os.geteuid() == 0:
            for path in (Path(name), there, *there.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        known = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", BY_NOBODY],
            cwd=there,
            env={**os.environ, "PYTHONPATH": known},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (code, out, err), (strict, _, said) = json.loads(done.stdout.splitlines()[-1])
        assert code == 1, err  # something was not released
        assert "rides/1.gpx" in out
        assert "it cannot be read: Permission denied" in out
        assert "rides/closed" in out
        assert "The folder cannot be read: permission denied" in out
        assert "NOT USED: 2 files" in out
        assert len(list((there / "shared").iterdir())) == 1
        assert strict == 2
        assert "Nothing was written, because of --strict" in said
        assert not (there / "other").exists()


def test_an_unreadable_file_in_strict_mode_stops_everything(folder: Path) -> None:
    (folder / "rides" / "2.gpx").symlink_to(folder / "gone.gpx")
    (folder / "rides" / "3.gpx").write_bytes(b"\x00\xff" * 50)
    refused("hide", "rides", *BASE, "--strict", folder=folder, says="Nothing was written, because of --strict")
    assert not (folder / "shared").exists()
    assert not (folder / "shared.private").exists()
    code, out, err = run("hide", "rides", *BASE, "--lenient", folder=folder)
    assert code == 0, err
    assert "rides/3.gpx" in out
    assert run("hide", "rides", *BASE, folder=folder)[0] == 1
    kept = sorted((folder / "shared.private").iterdir())
    refused("hide", "rides", *BASE, "--strict", folder=folder, says="Nothing was written, because of --strict")
    assert sorted((folder / "shared.private").iterdir()) == kept  # of what is shared already


def test_no_ride_near_a_named_place_is_said(folder: Path) -> None:
    run("places", "add", "swapped", f"{PARIS[1]},{PARIS[0]}", "--places", "me.places", folder=folder)
    code, out, err = run("hide", "rides", *BASE, folder=folder)
    assert code == 0, err
    assert "swapped: no ride comes into its zone. Check its coordinates: latitude first" in out


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        (b"PK\x03\x04 and so on", "a ZIP archive (its name should end in .zip), not GPX"),
        (b"\xff\xd8\xff\xe0", "a photo (JPEG), not GPX"),
        (b"\n<!DOCTYPE html><p>Log in", "a web page (perhaps one that asks to log in), not GPX"),
    ],
)
def test_another_kind_of_file_that_is_named_like_a_track_is_told_as_what_it_is(
    begin: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.gpx").write_bytes(begin)
    refused("protect", "a.gpx", "-o", "b.gpx", folder=tmp_path, says=words)


def test_an_output_named_like_a_track_a_unit_apart_from_its_number_and_no_places_file(folder: Path) -> None:
    refused("hide", "rides", "-o", "b.gpx", "--places", "me.places", folder=folder, says="named like a file")
    refused("hide", "rides", "km", *BASE, folder=folder, says="Write a length in one word, like 200km.")
    refused("hide", "rides", "-o", "b", "--places", "me", folder=folder, says="`sfumato places add home 48.85,2.35")
    assert not list(folder.glob("b*"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_folder_whose_name_is_not_utf8_is_hidden_told_and_summed_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rename(folder / "rides", os.fsencode(folder) + b"/ri\xff")
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "argv", ["sfumato", "hide", os.fsdecode(b"ri\xff"), *BASE])
    with pytest.raises(SystemExit, match="0"):
        main()
    shown.flush()
    assert rb"ri\udcff/0.gpx" in shown.buffer.getvalue()  # type: ignore[attr-defined]
    assert r"ri\udcff/0.gpx" in (folder / "shared.private" / "summary.csv").read_text("utf-8")


@pytest.mark.parametrize(
    "home",
    [(0.0, 180.0), (-17.8, 179.999), (90.0, 0.0), (-90.0, 12.0), (89.999, -30.0), (-45.0, -150.0)],
    ids=["date line", "fiji", "north pole", "south pole", "near the pole", "sea"],
)
def test_a_home_on_a_pole_across_the_date_line_or_in_the_sea_is_hidden_like_others(
    home: tuple[float, float], tmp_path: Path
) -> None:
    (tmp_path / "rides").mkdir()
    for number in range(3):
        to = [(4000.0, 500.0), (-3500.0, 100.0), (100.0, -4000.0)][number]
        write_as(
            "gpx",
            ride([0, 0], to, home=home, every_s=5.0, at_s=1.7e9 + 86400 * number),
            tmp_path / f"rides/{number}.gpx",
        )
    where = f"{home[0]},{home[1]}"
    assert run("places", "add", "home", where, "--places", "me.places", "--zone", "400m", folder=tmp_path)[0] == 0
    code, out, err = run("hide", "rides", *BASE, "--certificate", "c.json", folder=tmp_path)
    assert code == 0, err
    assert "no ride comes into" not in out
    assert run("verify", "c.json", "--release", "shared", folder=tmp_path)[0] == 0
    files = list((tmp_path / "shared").iterdir())
    assert len(files) == 3
    for file in files:
        left = sf.read_trace(file)
        away = Around(*home).to_metres(left.lat_deg, left.lon_deg)
        assert (away**2).sum(axis=1).min() ** 0.5 > 79  # the least distance from a place to its zone's border


def test_somebody_elses_places_file_and_other_files(folder: Path) -> None:
    assert run("hide", "rides", *BASE, folder=folder)[0] == 0
    before = sorted(path.read_bytes() for path in (folder / "shared").iterdir())
    run("places", "add", "home", HOME, "--places", "other.places", folder=folder)
    refused(
        *("hide", "rides", "-o", "shared", "--places", "other.places"),
        folder=folder,
        says="lacks 1 zone that this folder was hidden with",
    )
    assert sorted(path.read_bytes() for path in (folder / "shared").iterdir()) == before
    (folder / "note.json").write_text("{}")
    (folder / "torn.places").write_text((folder / "me.places").read_text()[:200])
    (folder / "open.places").write_text((folder / "me.places").read_text())
    (folder / "open.places").chmod(0o644)
    edited = (folder / "me.places").read_text().replace('"home"', '"work"')
    (folder / "edited.places").write_text(edited)
    (folder / "edited.places").chmod(0o600)
    for name, words in (
        ("nothing.places", "Cannot read the places file"),
        ("note.json", "is not a places file"),
        ("torn.places", "is not a places file"),
        ("open.places", "chmod 600"),
        ("edited.places", "changed by hand"),
    ):
        code, _, err = run("hide", "rides", "-o", "new", "--places", name, folder=folder)
        assert code == 2, name
        assert words in err, err
        assert not (folder / "new").exists(), name


def test_the_output_lies_in_the_input_or_is_a_file(folder: Path) -> None:
    refused("hide", "rides", "-o", "rides/out", "--places", "me.places", folder=folder, says="lies in the input folder")
    refused("hide", "rides", "-o", "rides", "--places", "me.places", folder=folder, says="lies in the input folder")
    (folder / "file").write_text("x")
    refused("hide", "rides", "-o", "file", "--places", "me.places", folder=folder, says="is a file")
    assert (folder / "file").read_text() == "x"
    assert not (folder / "rides" / "out").exists()


def test_a_places_file_without_places(folder: Path) -> None:
    run("places", "remove", "home", "--places", "me.places", folder=folder)
    refused("hide", "rides", *BASE, folder=folder, says="names no place")
    assert not (folder / "shared").exists()


@pytest.mark.parametrize("free", [0, 12_000])
def test_a_full_disk_is_told_as_that_and_the_next_run_goes_on(folder: Path, free: int) -> None:
    """It was a traceback, or every ride was called unreadable."""
    with small_disk(2) as disk:
        if disk is None:
            pytest.skip("no small disk may be mounted here")
        sharing = ("-o", str(disk / "shared"), "--places", "me.places", "--unnamed", "warn")
        ballast = fill_up(disk)
        os.truncate(ballast, ballast.stat().st_size - free)
        for command in (("hide", "rides"), ("watch", "rides", "--once", "--settle", "0s")):
            if free and command[0] == "watch":
                continue
            code, out, err = run(*command, *sharing, folder=folder)
            assert (code, "No space left" in err, "NOT USED" in out, "could be used" in err) == (2, True, False, False)
        assert not list((disk / "shared").glob("*"))
        ballast.unlink()
        assert run("hide", "rides", *sharing, folder=folder)[0] == 0
        assert len(list((disk / "shared").iterdir())) == 2
