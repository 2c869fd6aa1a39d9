"""Killed with SIGKILL at any moment, ``protect`` leaves no release without its certificate; run again, it ends."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from command import run
from kills import killed_after, killed_before_change

from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.io import write_trace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and a umask")
WORDS = ("protect", "ride.gpx", "-o", "out.gpx", "--certificate", "c.json", "--state", "me.state")
KILLS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    n = 300
    path = Trace(48.5 + np.cumsum(np.full(n, 1e-5)), np.full(n, 2.5), 1.7e9 + np.arange(n) * 5.0)
    write_trace(path, tmp_path / "ride.gpx")
    return tmp_path


def _holds(folder: Path) -> bool:
    """Whether what stands there under its name is a release with its own certificate; False where there is none."""
    release, certificate = folder / "out.gpx", folder / "c.json"
    if not release.exists():
        return False
    assert certificate.exists(), "a release without a certificate"
    assert (folder / "me.state").exists(), "a release whose noise cannot be continued"
    assert judge(certificate, release=release).unchanged, "a release with another one's certificate"
    return True


def _protect(folder: Path) -> None:
    code, _, error = run(*WORDS, folder=folder)
    assert code == 0, error


def _leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def _fresh(folder: Path) -> None:
    for name in ("out.gpx", "c.json", "me.state"):
        (folder / name).unlink(missing_ok=True)


@pytest.mark.slow
def test_no_kill_at_a_random_moment_leaves_a_release_without_its_own_certificate(folder: Path) -> None:
    _protect(folder)
    begun = time.monotonic()
    _protect(folder)
    lasts = time.monotonic() - begun
    chance, hits = random.Random(4), 0
    for number in range(10 * KILLS):  # how many of them come too late depends on what else the machine does
        if number % 2:  # every other time the release is replaced, else it is new
            _fresh(folder)
        hits += killed_after(chance.uniform(0.0, lasts), lambda: _protect(folder))
        _holds(folder)
        if number + 1 >= KILLS and hits >= KILLS // 4:
            break
    assert hits >= KILLS // 4
    _protect(folder)
    assert _holds(folder)
    assert not _leftovers(folder)


@pytest.mark.slow
@pytest.mark.parametrize("replaced", [False, True])
def test_no_kill_at_a_change_of_the_folder_leaves_a_release_without_its_own_certificate(
    folder: Path, replaced: bool
) -> None:
    left_something = kills = 0
    _protect(folder)
    while True:
        if not replaced:
            _fresh(folder)
        if not killed_before_change(kills + 1, folder, lambda: _protect(folder)):
            break
        kills += 1
        _holds(folder)
        left_something += bool(_leftovers(folder))
        _protect(folder)
        assert _holds(folder)
        assert not _leftovers(folder), f"after kill {kills}"
    assert kills >= 10
    assert left_something >= 5


def test_an_old_release_never_stands_beside_a_new_certificate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.base.files import Staged

    assert run(*WORDS, folder=folder)[0] == 0
    real, stood = Staged._place, []

    def watched(self: Staged, temporary: Path, target: Path) -> None:
        real(self, temporary, target)
        stood.append((target.name, (folder / "out.gpx").exists()))

    monkeypatch.setattr(Staged, "_place", watched)
    assert run(*WORDS, folder=folder)[0] == 0
    assert stood == [("c.json", False), ("out.gpx", True)]


@pytest.mark.parametrize(("umask", "public"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_what_is_shared_follows_the_umask_and_what_is_private_never_does(folder: Path, umask: int, public: int) -> None:
    before = os.umask(umask)
    try:
        more = (
            "--report",
            "private.html",
            "--public-report",
            "public.html",
            "--ledger",
            "l.json",
            "--ledger-person",
            "a",
        )
        code, _, error = run(*WORDS, *more, "--cap", "1", folder=folder)
        assert code == 0, error
        (folder / "rides").mkdir()
        (folder / "ride.gpx").rename(folder / "rides" / "1.gpx")
        assert run("protect", "rides", "-o", "shared", "--certificate", "all.json", folder=folder)[0] == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    shared = [path.name for path in (folder / "shared").iterdir()]
    assert {modes[name] for name in ("out.gpx", "c.json", "public.html", "all.json", *shared)} == {public}
    assert {modes[name] for name in ("private.html", "me.state", "l.json", "manifest.jsonl", "summary.csv")} == {0o600}
    assert (folder / "shared.private").stat().st_mode & 0o077 == 0


def test_odds_beyond_all_sense_are_said_in_words(folder: Path) -> None:
    code, out, _ = run("protect", "ride.gpx", "-o", "o.gpx", "--epsilon", "1000", folder=folder)
    assert code == 0
    assert "this protects nothing" in out
    assert "more than a million : 1" in out
    assert not any(
        len(word) > 30 for line in out.splitlines() for word in line.replace(" ", "").split(":") if word.isdigit()
    )
