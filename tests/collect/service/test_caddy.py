"""deploy/Caddyfile before a real collector: TLS from Caddy's own authority, headers, limits, no log of visitors."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from collector_harness import CollectorProcess, create, free_port, operator
from repository import ROOT
from tile_maker import lyon

CADDY = shutil.which("caddy")
VISITOR = {"x-forwarded-for": "198.51.100.7", "forwarded": "for=198.51.100.8", "user-agent": "a-browser"}

pytestmark = [pytest.mark.service, pytest.mark.slow]


def caddy(*arguments: str, site: str, collector: str = "") -> str:
    if CADDY is None:
        pytest.skip("caddy is not installed")
    environment = {**os.environ, "SITE": site, **({"COLLECTOR": collector} if collector else {})}
    command = [CADDY, *arguments, "--adapter", "caddyfile", "--config", str(ROOT / "deploy" / "Caddyfile")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@dataclass
class Front:
    """Caddy with the repository's file; only ports, storage and the administration's door are the test's."""

    url: str
    plain_url: str
    log: Path
    visitor: httpx.Client


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CollectorProcess, Front]]:
    folder = tmp_path_factory.mktemp("caddy")
    port, plain = free_port(), free_port()
    with CollectorProcess(f"sqlite:///{folder}/x.db", trusted_proxies="127.0.0.1", tiles=lyon(folder)) as collector:
        create(collector.visitor)
        site = f"https://localhost:{port}"
        config: dict[str, Any] = json.loads(caddy("adapt", site=site, collector=f"127.0.0.1:{collector.port}"))
        config |= {"admin": {"disabled": True}, "storage": {"module": "file_system", "root": str(folder / "kept")}}
        config["apps"]["http"]["http_port"] = plain
        config["apps"]["pki"] = {"certificate_authorities": {"local": {"install_trust": False}}}
        (folder / "caddy.json").write_text(json.dumps(config))
        with (folder / "caddy.log").open("wb") as log:
            started = [str(CADDY), "run", "--config", str(folder / "caddy.json")]
            process = subprocess.Popen(started, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
        try:
            authority = folder / "kept" / "pki" / "authorities" / "local" / "root.crt"
            visitor = _visitor(site, authority, process, folder / "caddy.log")
            yield collector, Front(site, f"http://localhost:{plain}", folder / "caddy.log", visitor)
            visitor.close()
        finally:
            process.terminate()
            process.wait(timeout=20)


def _visitor(site: str, authority: Path, process: subprocess.Popen[bytes], log: Path) -> httpx.Client:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            found = httpx.Client(base_url=site, verify=ssl.create_default_context(cafile=str(authority)), timeout=30)
            if found.get("/ready").status_code == 200:
                return found
        except (OSError, httpx.HTTPError):
            time.sleep(0.1)
    raise AssertionError(log.read_text())


Both = tuple[CollectorProcess, Front]


def test_the_file_is_valid_for_a_real_site_and_written_as_caddy_writes_it() -> None:
    assert "collector:8000" in caddy("adapt", site="map.example.org")
    caddy("validate", site="map.example.org")
    run = subprocess.run([str(CADDY), "fmt", str(ROOT / "deploy" / "Caddyfile")], capture_output=True, text=True)
    assert run.stdout == (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")


def test_pages_come_through_with_the_collectors_headers(front: Both) -> None:
    collector, caddy = front
    for path in ("/campaigns/town", "/campaigns/town/dashboard", "/operate", "/static/favicon.svg"):
        through, plain = caddy.visitor.get(path), collector.visitor.get(path)
        assert (through.status_code, through.text) == (plain.status_code, plain.text)
        for name in ("content-security-policy", "referrer-policy", "x-content-type-options", "permissions-policy"):
            assert through.headers[name] == plain.headers[name]
    part = caddy.visitor.get("/tiles/map.pmtiles", headers={"range": "bytes=0-6"})
    assert (part.status_code, part.content) == (206, b"PMTiles")
    moved = httpx.get(f"{caddy.plain_url}/campaigns/town")
    assert (moved.status_code, moved.headers["location"]) == (308, f"{caddy.url}/campaigns/town")


def test_numbers_and_large_bodies_stay_outside(front: Both) -> None:
    collector, caddy = front
    assert collector.visitor.get("/metrics").status_code == 200
    assert caddy.visitor.get("/metrics").status_code == 404
    assert caddy.visitor.get("/metrics", headers=operator()).status_code == 404
    for body in (b" " * 300_000, iter([b" " * 100_000] * 3)):
        assert caddy.visitor.post("/api/v1/campaigns", content=body, headers=operator()).status_code == 413
    # Larger than a report may be, and not too large for Caddy: the collector's own answer comes through.
    for _ in range(20):
        large = caddy.visitor.post("/api/v1/campaigns/town/reports", content=b" " * 200_000)
        assert (large.status_code, "larger than 16384 bytes" in large.text) == (413, True)


def test_caddys_log_names_no_visitor_even_when_the_collector_is_away(front: Both) -> None:
    collector, caddy = front
    assert caddy.visitor.get("/campaigns/town", headers=VISITOR).status_code == 200
    collector.terminate()
    assert caddy.visitor.get("/campaigns/town?language=fr", headers=VISITOR).status_code == 502
    said = caddy.log.read_text()
    assert "serving initial configuration" in said
    for word in ("remote_ip", "client_ip", "a-browser", "198.51.100", "/campaigns/town", "user-agent"):
        assert word not in said.lower(), word
