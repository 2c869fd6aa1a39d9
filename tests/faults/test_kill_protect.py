"""B12: killed with SIGKILL at any moment, ``protect`` never leaves a release without its certificate; rerun, it ends.

On the first edition the release was put in place before its certificate, and an old release stood beside a new
certificate while both were replaced; the targeted kills below hit both.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import run

from sfumato.certificates.verdict import judge
from sfumato.io import write_trace
from sfumato.traces import Trace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and a umask")
WORDS = ("protect", "ride.gpx", "-o", "out.gpx", "--certificate", "c.json", "--state", "me.state")
KILLS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    n = 3000
    path = Trace(48.5 + np.cumsum(np.full(n, 1e-5)), np.full(n, 2.5), 1.7e9 + np.arange(n) * 5.0)
    write_trace(path, tmp_path / "ride.gpx")
    return tmp_path


def _started(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", *WORDS, *more]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _killed(child: subprocess.Popen[bytes]) -> bool:
    child.send_signal(signal.SIGKILL)
    return child.wait(timeout=60) < 0


def _holds(folder: Path) -> bool:
    """Whether what stands there under its name is a release with its own certificate; False where there is none."""
    release, certificate = folder / "out.gpx", folder / "c.json"
    if not release.exists():
        return False
    assert certificate.exists(), "a release without a certificate"
    assert (folder / "me.state").exists(), "a release whose noise cannot be continued"
    assert judge(certificate, release=release).unchanged, "a release with another one's certificate"
    return True


def _moment(kind: str, lasts: float, chance: random.Random) -> Callable[[Path], None]:
    """When to kill: after a random time, or as soon as the folder has changed a number of times."""
    if kind == "random":
        pause = chance.uniform(0.0, lasts)
        return lambda folder: time.sleep(pause)
    events = chance.randrange(1, 8)

    def watched(folder: Path) -> None:
        seen, left, until = _names(folder), events, time.monotonic() + 2 * lasts
        while left and time.monotonic() < until:
            now = _names(folder)
            left -= now != seen
            seen = now
            time.sleep(0.0005)

    return watched


def _names(folder: Path) -> set[tuple[str, int]]:
    return {(entry.name, entry.inode()) for entry in os.scandir(folder)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "at a change of the folder"])
def test_no_kill_leaves_a_release_without_its_own_certificate(kind: str, folder: Path) -> None:
    begun = time.monotonic()
    assert _started(folder).wait(timeout=120) == 0
    lasts = time.monotonic() - begun
    assert _holds(folder)
    chance, hits = random.Random(kind), 0
    for number in range(KILLS):
        if number % 2:  # every other time the release is replaced, else it is new
            for name in ("out.gpx", "c.json"):
                (folder / name).unlink(missing_ok=True)
        when = _moment(kind, lasts, chance)
        child = _started(folder)
        when(folder)
        hits += _killed(child)
        _holds(folder)
    assert hits >= KILLS // 4
    assert _started(folder).wait(timeout=120) == 0
    assert _holds(folder)


def test_an_old_release_never_stands_beside_a_new_certificate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.files import Staged

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
        more = ("--report", "private.html", "--public-report", "public.html", "--ledger", "l.json", "--person", "a")
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
    assert "10^" in out
    assert not any(
        len(word) > 30 for line in out.splitlines() for word in line.replace(" ", "").split(":") if word.isdigit()
    )
