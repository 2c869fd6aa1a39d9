"""Killed at any moment and started again: every ride once, the same bytes as without the kill."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rides import PARIS, ride
from track_files import write_as

from sfumato.archives import hide_archive, protect_archive
from sfumato.archives.job import private_folder
from sfumato.archives.manifest import Manifest, SourceRecord
from sfumato.errors import InputError
from sfumato.places import Places, place_at
from sfumato.plan import Plan

KILLS = 20


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def killed_after(seconds: float, work: Callable[[], object]) -> bool:
    """Run ``work`` in a child and kill it then; whether it was still running."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


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
            return protect_archive([rides], out, Plan(noise_m=30.0), state=state)
        return hide_archive([rides], out, places)

    whole = tmp_path / "whole"
    work(whole)
    begun = time.perf_counter()
    work(tmp_path / "timed")
    lasts = time.perf_counter() - begun
    chance, hits, out = random.Random(7), 0, tmp_path / "killed"
    for _ in range(KILLS):
        hits += killed_after(chance.uniform(0.0, lasts), lambda: work(out))
        shared = everything(out) if out.exists() else {}
        assert shared.items() <= everything(whole).items()  # nothing half-written, at any moment
    assert hits >= KILLS // 4
    done = work(out)
    assert everything(out) == everything(whole)
    assert len(done.document["files"]) == 40  # type: ignore[attr-defined]
    assert not (private_folder(out) / "staging").exists()


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
