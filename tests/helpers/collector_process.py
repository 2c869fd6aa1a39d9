"""A real collector for tests: a process on a free port, a campaign, and people who send reports to it."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

TOKEN = "a-token-only-for-tests-0123456789abcdef"
WITHOUT_BUNDLE = (
    "from pathlib import Path; import sfumato.service.pages.layout as layout; layout._BUNDLE = Path('/nonexistent'); "
    "from sfumato.cli import main; main()"
)


class RunningCollector:
    """The address of a running server and what an operator and a crowd do to it."""

    def __init__(self, url: str) -> None:
        import httpx

        self.url = url
        self._calls = httpx.Client(base_url=url, timeout=30, headers={"Authorization": f"Bearer {TOKEN}"})

    def create(self, name: str = "town", **changes: Any) -> None:
        """A small campaign that closes as soon as the operator says so."""
        body = {
            "name": name, "title": "A map of the town", "beta_per_m": 0.001, "cycle_duration_s": 86400,
            "minimum_cycle_s": 0, "minimum_tickets": 1,
            "grid": {"south": 48.8286, "west": 2.2855, "north": 48.8756, "east": 2.3845, "cell_size_m": 500.0},
        }  # fmt: skip
        reply = self._calls.post("/api/v1/campaigns", json=body | changes)
        assert reply.status_code == 201, reply.text

    def close(self, name: str = "town") -> dict[str, Any]:
        """Close the open cycle."""
        reply = self._calls.post(f"/api/v1/campaigns/{name}/close", json={})
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    def history(self, name: str = "town") -> list[dict[str, Any]]:
        """The closed cycles."""
        found: list[dict[str, Any]] = self._calls.get(f"/api/v1/campaigns/{name}/cycles").json()["history"]
        return found

    def about(self, name: str = "town") -> dict[str, Any]:
        """The campaign as everybody sees it."""
        found: dict[str, Any] = self._calls.get(f"/api/v1/campaigns/{name}").json()["campaign"]
        return found

    def crowd(self, people: int, *, name: str = "town", middle: tuple[float, float], seed: int) -> None:
        """Reports of simulated people around a place, each with a ticket."""
        from sfumato.client.draw import cell_from_words, weights
        from sfumato.client.offer import Caps, check_offer

        offer = check_offer(self._calls.get(f"/api/v1/campaigns/{name}/channel").json(), caps=Caps())
        rng = np.random.default_rng(seed)
        lat, lon = middle[0] + 0.008 * rng.standard_normal(people), middle[1] + 0.012 * rng.standard_normal(people)
        for cell in offer.grid.locate(lat, lon, snap=True).tolist():
            v, k = weights(offer.grid, offer.output_weights, cell, beta_per_m=offer.beta_per_m)
            drawn = cell_from_words(v, k, rng.integers(0, 2**64, 20, dtype=np.uint64))
            tag = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
            asked = self._calls.post(f"/api/v1/campaigns/{name}/tickets", json={"cycle": offer.cycle, "device": tag})
            body = {
                "cell": drawn,
                "version": offer.version,
                "key": secrets.token_hex(16),
                "ticket": asked.json()["ticket"],
            }
            sent = self._calls.post(f"/api/v1/campaigns/{name}/reports", json=body)
            assert sent.status_code == 200, sent.text


@contextmanager
def running_collector(
    folder: Path, *, bundle: bool = True, settings: Mapping[str, str] | None = None
) -> Iterator[RunningCollector]:
    """Start ``sfumato serve`` on a fresh SQLite file, wait until it answers, and stop it by SIGTERM."""
    import httpx

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = ["-c", "from sfumato.cli import main; main()" if bundle else WITHOUT_BUNDLE]
    command = [sys.executable, *start, "serve", "--port", str(port), "--city", "none"]
    command += ["--database", f"sqlite:///{folder / 'collector.db'}"]
    with (folder / "server.log").open("wb") as log:
        environment = {**os.environ, "SFUMATO_OPERATOR_TOKEN": TOKEN, **(settings or {})}
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{url}/ready", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                pass
            if server.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((folder / "server.log").read_text())
            time.sleep(0.1)
        yield RunningCollector(url)
    finally:
        server.terminate()
        server.wait(timeout=15)
