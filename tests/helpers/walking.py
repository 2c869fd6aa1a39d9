"""A person with a bare virtual environment: the wheel made from the sdist, and nothing of this checkout."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

WEB = ROOT / "web"
PICTURES = ROOT / "test-output" / "walks"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Walker:
    """Somebody in a folder of their own, with the commands that pip gave them."""

    folder: Path
    bin: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What the person's shell says: nothing of the test's own environment but the machine's."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.folder),
            "PATH": f"{self.bin}:{kept.get('PATH', '')}",
            "COLUMNS": "200",
            **more,
        }

    def tries(self, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command, whatever it answers."""
        command = [str(word) for word in words]
        where = shutil.which(command[0], path=str(self.bin)) or command[0]
        return subprocess.run(
            [where, *command[1:]], cwd=self.folder, env=self.environment(**more),
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def does(self, *words: object, **more: str) -> str:
        """Run a command that must work; what it printed, on one line per line."""
        done = self.tries(*words, **more)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def is_refused(self, *words: object) -> str:
        """Run a command that must refuse, in words."""
        done = self.tries(*words)
        assert done.returncode != 0, f"{words} was not refused:\n{done.stdout}"
        assert "Traceback" not in done.stderr, done.stderr
        return re.sub(r"\s+", " ", done.stdout + done.stderr)

    def says(self, code: str) -> str:
        """Run Python as in a notebook's cells."""
        return self.does("python", "-W", "error::SyntaxWarning", "-c", code)


def wheel_from_sdist(shared: Path) -> Path:
    """The wheel that the sdist builds, once for all walks of this run."""
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(shared.glob("*.whl")):
            hatchling = [sys.executable, "-m", "hatchling", "build"]
            subprocess.run([*hatchling, "-t", "sdist", "-d", shared], cwd=ROOT, check=True, capture_output=True)
            (sdist,) = shared.glob("*.tar.gz")
            with tarfile.open(sdist) as packed:
                packed.extractall(shared / "source", filter="data")
            (source,) = (shared / "source").iterdir()
            subprocess.run([*hatchling, "-t", "wheel", "-d", shared], cwd=source, check=True, capture_output=True)
        (wheel,) = shared.glob("*.whl")
        return wheel


def installed(wheel: Path, home: Path, *extras: str, beside: tuple[str, ...] = ()) -> Walker:
    """A virtual environment with the wheel, its extras and what the person uses beside it, and nothing else.

    People who install the same share it, because the first run of each compiles for a while.
    """
    environment = wheel.parent / "-".join(("environment", *extras, *beside))
    with (wheel.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not environment.exists():
            uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
            venv.create(environment, with_pip=uv is None)
            python = str(environment / "bin" / "python")
            pip = (
                [uv, "pip", "install", "--quiet", "--python", python] if uv else [python, "-m", "pip", "install", "-q"]
            )
            asked = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
            done = subprocess.run([*pip, asked, *beside], capture_output=True, text=True, timeout=900, check=False)
            if done.returncode != 0:
                shutil.rmtree(environment)
                pytest.skip(f"pip cannot install here: {done.stderr.strip().splitlines()[-1:]}")
    return Walker(home, environment / "bin")


@contextmanager
def serving(me: Walker, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """``sfumato serve`` with these options on a free port, from its first answer on; its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    words = [str(me.bin / "sfumato"), "serve", "--port", str(port), *options]
    server = subprocess.Popen(words, cwd=me.folder, env=me.environment(), stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{url}/api/v1/campaigns", timeout=5).read()
                break
            except OSError:
                assert server.poll() is None, "the server stopped"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.2)
        yield url, server
        server.terminate()
        assert server.wait(30) in (0, -signal.SIGTERM, -signal.SIGKILL), "it stops when it is asked to"
    finally:
        server.kill()
        server.wait(30)


def needs_a_browser() -> None:
    """Skip, and say so, where no browser can be driven."""
    if CHROMIUM is None or shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("chromium, node or playwright-core is not installed: run `make web`")


def looked_at(pages: Mapping[str, str], pictures: str) -> dict[str, Any]:
    """Open pages (name -> address) at 1280 and 390 px; per name: text, axe, overflow, requests and console errors."""
    (PICTURES / pictures).mkdir(parents=True, exist_ok=True)
    argument = {"pages": dict(pages), "pictures": str(PICTURES / pictures), "executable": CHROMIUM}
    done = subprocess.run(
        ["node", str(WEB / "test" / "look.mjs"), json.dumps(argument)],
        cwd=WEB, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def is_kind(found: Mapping[str, Any]) -> None:
    """No request to another host, no error, no barrier, nothing wider than a phone."""
    for name, page in found.items():
        assert page["outside"] == [], name
        assert page["problems"] == [], name
        assert page["axe"] == [], name
        assert page["overflow_px"] <= 0, name
