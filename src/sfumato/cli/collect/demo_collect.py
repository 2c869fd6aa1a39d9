"""``make demo-collect``: a collector, a simulated crowd in it, and the page to look at."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from sfumato.collect.cities import city
from sfumato.collect.client.crowd import drive

_READY_WITHIN_S = 90


def main() -> int:
    """Start the server, send the crowd, print and open the page, and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=3000, help="People in the crowd.")
    parser.add_argument("--cycles", type=int, default=3, help="Cycles they report in.")
    parser.add_argument("--city", choices=("paris", "sf"), default="paris")
    parser.add_argument("--port", type=int, default=0, help="Port; 0 takes a free one.")
    parser.add_argument("--exit", action="store_true", help="Stop after the crowd instead of serving on.")
    chosen = parser.parse_args()
    port = chosen.port or _free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="sfumato-demo-") as folder:
        token_file = Path(folder) / "token"
        with _server(port, folder, chosen.city, token_file):
            token = token_file.read_text().strip()
            home = city(chosen.city)
            assert home.grid is not None
            print(f"{chosen.people} simulated people of {chosen.city} report to {url} ...", flush=True)
            crowd = {"people": chosen.people, "cycles": chosen.cycles, "token": token}
            for one in drive(url, chosen.city, shares=home.probabilities, grid=home.grid, **crowd):
                print(f"  cycle {one.cycle}: {one.counted} reports in {one.seconds:.1f} s", flush=True)
            dashboard = f"{url}/campaigns/{chosen.city}/dashboard"
            print(f"Take part:  {url}/\nThe map:    {dashboard}", flush=True)
            if chosen.exit:
                return 0
            if os.environ.get("DISPLAY") or sys.platform in ("darwin", "win32"):
                webbrowser.open(dashboard)
            print("Serving until Ctrl-C.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    time.sleep(3600)
    return 0


@contextlib.contextmanager
def _server(port: int, folder: str, name: str, token_file: Path) -> Iterator[None]:
    options = {"port": port, "database": f"sqlite:///{folder}/demo.db", "city": name, "token-file": token_file}
    said = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "serve", *said]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SFUMATO_")}
    process = subprocess.Popen(command, env=environment)
    try:
        deadline = time.monotonic() + _READY_WITHIN_S
        while not _ready(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("The server did not start.")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    raise SystemExit(main())
