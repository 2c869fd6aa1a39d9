"""Killed at any moment and started again: every ride once, the same bytes as without the kill."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest
from command import run
from kills import killed_after, killed_before_change
from rides import PARIS, ride
from track_files import write_as

from sfumato.base.errors import InputError
from sfumato.tracks.folders.manifest import Manifest, SourceRecord, private_folder
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.places.places_file import Places, place_at, save_places
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

KILLS = 20


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    folder = tmp_path / "rides"
    folder.mkdir()
    for number in range(40):
        trace = ride([0, 0], [3000, 100 * number - 2000], every_s=5.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, folder / f"{number:02}.gpx")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["hide", "protect"])
def test_twenty_random_kills_change_nothing(kind: str, rides: Path, tmp_path: Path) -> None:
    places = Places.none().add(place_at("home", *PARIS, radius_m=400.0))
    state = tmp_path / "noise.state"

    def work(out: Path) -> object:
        if kind == "protect":
            return protect_archive([rides], out, Plan(noise_m=30.0), Sharing(state=state))
        return hide_archive([rides], out, places)

    whole = tmp_path / "whole"
    work(whole)
    begun = time.perf_counter()
    work(tmp_path / "timed")
    lasts = time.perf_counter() - begun
    chance, hits, out = random.Random(7), 0, tmp_path / "killed0"
    for number in range(10 * KILLS):  # how many of them come too late depends on what else the machine does
        killed = killed_after(chance.uniform(0.0, lasts), lambda out=out: work(out))
        shared = everything(out) if out.exists() else {}
        assert shared.items() <= everything(whole).items()  # nothing half-written, at any moment
        hits += killed
        if hits == KILLS:
            break
        if not killed:
            assert shared == everything(whole)
            out = tmp_path / f"killed{number + 1}"
    assert hits == KILLS
    done = work(out)
    assert everything(out) == everything(whole)
    assert len(done.document["files"]) == 40  # type: ignore[attr-defined]
    assert not (private_folder(out) / "staging").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["hide", "protect"])
def test_killed_at_any_change_no_shared_file_is_without_a_certificate(kind: str, tmp_path: Path) -> None:
    places = tmp_path / "me.places"
    save_places(places, Places.none().add(place_at("home", *PARIS, radius_m=400.0)))
    rides, shared, certificate = tmp_path / "rides", tmp_path / "shared", tmp_path / "all.json"
    rides.mkdir()
    for number in range(2):
        write_as(
            "gpx",
            ride([0, 0], [3000, 100 * number], every_s=60.0, at_s=1.7e9 + 86400 * number),
            rides / f"{number}.gpx",
        )
    words = (
        kind,
        "rides",
        "-o",
        "shared",
        "--certificate",
        "all.json",
        *(("--places", places) if kind == "hide" else ()),
    )

    def work() -> None:
        code, _, error = run(*words, folder=tmp_path)
        assert code == 0, error

    kills = some = 0
    while True:
        for folder in (shared, private_folder(shared)):
            shutil.rmtree(folder, ignore_errors=True)
        certificate.unlink(missing_ok=True)
        if not killed_before_change(kills + 1, tmp_path, work):
            break
        kills += 1
        there = everything(shared) if shared.exists() else {}
        if there:
            listed = {file["name"]: file["sha256"] for file in json.loads(certificate.read_text())["files"]}
            assert {
                name: hashlib.sha256(content).hexdigest() for name, content in there.items()
            }.items() <= listed.items()
        some += len(there) == 1
        gone = rides / "0.gpx" if kills % 2 else rides / "1.gpx"  # its file may be in place without a record of it
        content = gone.read_bytes()
        gone.unlink()
        work()
        verify_folder(certificate, shared)
        gone.write_bytes(content)
        work()
        assert len(verify_folder(certificate, shared).certificate["files"]) == 2
        hidden = [path.name for path in tmp_path.rglob(".*")]
        assert not hidden, f"after kill {kills}"
    assert kills >= 15
    assert some


def test_a_file_put_in_place_but_not_recorded_stays_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rides, out, real = tmp_path / "rides", tmp_path / "shared", Manifest.add
    rides.mkdir()
    for number in range(3):
        trace = ride([0, 0], [3000, 100 * number], every_s=60.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, rides / f"{number}.gpx")
    cut_off: list[str] = []

    def add(self: Manifest, record: SourceRecord) -> None:
        if record.placed and not cut_off:
            cut_off.append(record.source)
            raise KeyboardInterrupt
        real(self, record)

    monkeypatch.setattr(Manifest, "add", add)
    with pytest.raises(KeyboardInterrupt):
        protect_archive([rides], out, Plan(noise_m=30.0))
    assert len(everything(out)) == 1
    (tmp_path / cut_off[0]).unlink()  # so that the next run does not make it again
    done = protect_archive([rides], out, Plan(noise_m=30.0))
    assert len(verify_folder(done.document, out).certificate["files"]) == 3


def test_a_torn_line_is_done_again_and_another_owner_refused(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    first = Manifest(path, "me")
    first.add(SourceRecord("a", "1", "w", "x.gpx", "2", 5, 4, placed=True))
    first.close()
    with path.open("a") as file:
        file.write('{"source": "b", "sour')
    again = Manifest(path, "me")
    assert set(again.records) == {"a"}
    again.add(SourceRecord("c", "1", "w", None, None, 5, 0, ("name",), placed=True))
    again.close()
    third = Manifest(path, "me")
    assert third.records["c"].left_out == ("name",)
    third.close()
    with pytest.raises(InputError, match="another places file"):
        Manifest(path, "somebody else")
