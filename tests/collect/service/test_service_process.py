"""``sfumato serve`` as people run it: it needs no setting, stops in time, keeps quiet, and does not grow."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from bad_bodies import BAD_BODIES
from collector_harness import TOKEN, CollectorProcess, create, operator
from postgres_server import postgres_server, programs

from sfumato.collect.client.wire import device_tag
from sfumato.collect.service.pages.layout import has_bundle

pytestmark = [pytest.mark.service]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db") as running:
        create(running.visitor, "town")
        yield running


def send_one(url: str, version: str, cell: int) -> int:
    home = f"{url}/api/v1/campaigns/town"
    tag = device_tag("town", "1", os.urandom(32))
    try:
        ticket = httpx.post(f"{home}/tickets", json={"cycle": 1, "device": tag}, timeout=20).json()["ticket"]
        body = {"cell": cell, "version": version, "key": os.urandom(16).hex(), "ticket": ticket}
        return httpx.post(f"{home}/reports", json=body, timeout=20).status_code
    except httpx.HTTPError:
        return 0


def test_serve_alone_makes_a_page_a_contract_and_prints_the_token_once(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SFUMATO_")}
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/ready", timeout=1).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.1)
        page = httpx.get(f"http://127.0.0.1:{port}/")
        assert page.status_code == 200
        assert "text/html" in page.headers["content-type"]
        contract = httpx.get(f"http://127.0.0.1:{port}/openapi.json").json()
        assert any("report" in path for path in contract["paths"])
        assert (tmp_path / "sfumato.db").exists()
    finally:
        process.terminate()
        words = process.communicate(timeout=15)[1]
    assert words.count("Operator token") == 1
    assert ("bundle is not installed" in words) != has_bundle()  # loud where the pages are the plain ones


def test_a_server_that_cannot_start_says_why_in_words(tmp_path: Path) -> None:
    serve = [sys.executable, "-c", "from sfumato.cli import main; main()", "serve", "--port", "0"]
    for options, words in (
        (["--database", "mysql://x/y"], "sqlite:///file.db"),
        (["--database", "postgresql://nobody@127.0.0.1:1/x"], "Is it running"),
        (["--database", f"sqlite:///{tmp_path}/x.db", "--city", "rome"], "paris, sf or none"),
    ):
        done = subprocess.run(
            [*serve, *options], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode != 0
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_sigterm_under_load_stops_within_ten_seconds_with_nothing_lost(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    version = httpx.get(f"{collector.url}/api/v1/campaigns/town/channel").json()["version"]
    statuses: list[int] = []
    stop = threading.Event()

    def load() -> None:
        while not stop.is_set():
            statuses.append(send_one(collector.url, version, 5))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    while statuses.count(200) < 50 and time.monotonic() < begun + 60:
        time.sleep(0.01)
    took_s = collector.terminate()
    stop.set()
    for thread in threads:
        thread.join()
    assert took_s < 10
    with sqlite3.connect(tmp_path / "x.db") as connection:
        [(counted,)] = connection.execute("SELECT sum(reports) FROM tallies").fetchall()
    acknowledged = statuses.count(200)
    assert acknowledged > 0
    assert acknowledged <= counted <= acknowledged + statuses.count(0)


def test_sigterm_stops_within_ten_seconds_even_when_the_database_is_held_by_somebody(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    version = httpx.get(f"{collector.url}/api/v1/campaigns/town/channel").json()["version"]
    statuses: list[int] = []
    holder = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        waiting = threading.Thread(target=lambda: statuses.append(send_one(collector.url, version, 5)))
        waiting.start()
        time.sleep(1)
        took_s = collector.terminate()
        waiting.join()
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert took_s < 9
    assert statuses in ([503], [0])
    assert "Traceback" not in collector.log.read_text()


@pytest.mark.postgres
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_sigterm_stops_within_ten_seconds_even_when_postgresql_is_frozen() -> None:
    with postgres_server() as server, CollectorProcess(server.url) as collector:
        create(collector.visitor, "town")
        version = httpx.get(f"{collector.url}/api/v1/campaigns/town/channel").json()["version"]
        frozen = server.processes()
        statuses: list[int] = []
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        try:
            waiting = threading.Thread(target=lambda: statuses.append(send_one(collector.url, version, 5)))
            waiting.start()
            time.sleep(1)
            took_s = collector.terminate()
            waiting.join()
        finally:
            for process in frozen:
                os.kill(process, signal.SIGCONT)
        assert took_s < 9.5
        assert statuses in ([503], [0])


def test_nothing_about_who_came_is_written_to_the_log_or_the_database(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    version = httpx.get(f"{collector.url}/api/v1/campaigns/town/channel").json()["version"]
    marks = {"user-agent": "Mark-of-a-browser/1.0", "x-forwarded-for": "203.0.113.77", "cookie": "mark=cookie"}
    tag = device_tag("town", "1", os.urandom(32))
    home = f"{collector.url}/api/v1/campaigns/town"
    ticket = httpx.post(f"{home}/tickets", json={"cycle": 1, "device": tag}, headers=marks).json()["ticket"]
    body = {"cell": 3, "version": version, "key": os.urandom(16).hex(), "ticket": ticket}
    assert httpx.post(f"{home}/reports", json=body, headers=marks).status_code == 200
    assert httpx.post(f"{home}/reports", content=b"\xff", headers=marks).status_code == 415
    json_marks = {**marks, "content-type": "application/json"}
    assert httpx.post(f"{home}/reports", content=b"\xff", headers=json_marks).status_code == 422
    time.sleep(0.2)
    log = collector.log.read_text()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
    for mark in ("Mark-of-a-browser", "203.0.113.77", "mark=cookie", tag, ticket):
        assert mark not in log
        assert mark.encode() not in stored
    assert "POST" not in log


def test_bad_bodies_do_not_make_the_server_grow(collector: CollectorProcess) -> None:
    def resident_kb() -> int:
        assert collector.process is not None
        status = Path(f"/proc/{collector.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

    def attack(rounds: int) -> set[int]:
        seen = set()
        with httpx.Client(base_url=collector.url, timeout=30) as client:
            for _ in range(rounds):
                for body in BAD_BODIES.values():
                    seen.add(client.post("/api/v1/campaigns/town/reports", content=body).status_code)
        return seen

    asked = {"name": "Paris", "within": None}  # names are read in the background, once, whatever anybody sends
    assert collector.visitor.post("/api/v1/places", json=asked, headers=operator()).status_code == 200
    attack(5)
    before = resident_kb()
    seen = attack(40)
    assert all(400 <= status < 500 for status in seen)
    assert resident_kb() - before < 20_000
    assert httpx.get(f"{collector.url}/ready").status_code == 200


@pytest.mark.slow
def test_two_workers_share_one_database_and_close_a_full_cycle_once(tmp_path: Path) -> None:
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db", workers=2, tick_s=0.05) as running:
        create(running.visitor, "town", cycle_reports=60)
        version = httpx.get(f"{running.url}/api/v1/campaigns/town/channel").json()["version"]
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(lambda k: send_one(running.url, version, k % 36), range(60)))
        assert statuses.count(200) == 60
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            # The next cycle opens at once; its estimate follows.
            if httpx.get(f"{running.url}/api/v1/campaigns/town/cycles").json()["history"]:
                break
            time.sleep(0.2)
        time.sleep(1)
        log = httpx.get(f"{running.url}/api/v1/campaigns/town/log").json()["log"]
        history = httpx.get(f"{running.url}/api/v1/campaigns/town/cycles").json()["history"]
        assert [entry["cycle"] for entry in log] == [1, 2]
        assert [(cycle["cycle"], cycle["tickets"]) for cycle in history] == [(1, 60)]


@pytest.mark.slow
def test_a_crowd_of_ten_thousand_estimates_what_the_librarys_simulation_estimates(tmp_path: Path) -> None:
    """Two samples: a crowd through a real server, and the library's own draws of the same city and channel.

    Reports: Pearson's test that both tallies have one distribution. Estimates: the crowd's is as far from the simulated
    ones as they are from one another.
    """
    from scipy.stats import chi2_contingency

    from sfumato.collect.cities import city
    from sfumato.collect.client.crowd import drive
    from sfumato.collect.estimation import earth_movers_distance
    from sfumato.collect.grids.sampling import draw_tally
    from sfumato.collect.loop import Rules, close_cycle, first_channel

    home, people = city("paris"), 10_000
    assert home.grid is not None
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db", city="paris") as running:
        [cycle] = drive(running.url, "paris", shares=home.probabilities, grid=home.grid, people=people, wait_s=240)
        assert (cycle.counted, cycle.refused, cycle.closed) == (people, 0, True)
        campaign = httpx.get(f"{running.url}/api/v1/campaigns/paris", timeout=60).json()["campaign"]
        served = httpx.get(f"{running.url}/api/v1/campaigns/paris/estimate", timeout=60).json()["cycle"]
    assert sum(served["counts"]) == people
    rules = Rules(beta=campaign["beta_per_m"], floor=campaign["floor"], reporting="every-cycle")
    channel = first_channel(home.grid, rules)
    rng = np.random.default_rng(11)
    tallies = [draw_tally(channel, rng.multinomial(people, home.probabilities), rng=rng) for _ in range(13)]
    together = np.stack([served["counts"], np.sum(tallies, axis=0)])
    assert chi2_contingency(together[:, together.sum(axis=0) >= 100]).pvalue > 1e-4
    estimates = [np.array(served["estimate"])] + [
        close_cycle([(channel, tally)], rules, with_intervals=False, with_influence=False).estimate.probabilities
        for tally in tallies
    ]
    distance = np.array([[earth_movers_distance(a, b, home.grid) for b in estimates] for a in estimates])
    from_others = distance.sum(axis=1) / (len(estimates) - 1)
    assert from_others[0] < 1.5 * from_others[1:].max()
    to_truth = [earth_movers_distance(one, home.probabilities, home.grid) for one in estimates]
    assert 0.5 * min(to_truth[1:]) < to_truth[0] < 1.5 * max(to_truth[1:])


def test_a_crowd_from_the_command_line_reports_and_closes_a_cycle(collector: CollectorProcess) -> None:
    command = [
        sys.executable, "-c", "from sfumato.cli import main; main()", "collect", "crowd", "--url", collector.url,
        "--city", "paris", "--people", "40", "--campaign", "town", "--token", TOKEN, "--concurrency", "4", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["ok"] is True
    [cycle] = result["cycles"]
    assert (cycle["cycle"], cycle["counted"], cycle["refused"], cycle["closed"]) == (1, 40, 0, True)
    served = httpx.get(f"{collector.url}/api/v1/campaigns/town/estimate", timeout=30).json()["cycle"]
    assert (served["tickets"], sum(served["counts"])) == (40, 40)


def test_a_crowd_without_a_server_says_what_to_do() -> None:
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "collect", "crowd", "--url", "ftp://x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "http://" in done.stderr


@pytest.mark.slow
def test_the_demonstration_runs_a_server_and_a_crowd_and_prints_the_page() -> None:
    command = [sys.executable, "-m", "sfumato.cli.collect.demo_collect", "--exit", "--people", "60", "--cycles", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "60 reports" in done.stdout
    assert "/campaigns/paris/dashboard" in done.stdout


@pytest.mark.parametrize(
    "known", [pytest.param(False, marks=pytest.mark.slow), True], ids=["any campaign", "a campaign that exists"]
)
def test_schemathesis_finds_no_5xx_and_no_schema_violation(
    collector: CollectorProcess, tmp_path: Path, known: bool
) -> None:
    """Every check of schemathesis, as the operator: once with its own campaign names, once with one that exists.

    It may not end the campaign: every report after that is refused (410), as it should be. It may not guess what leads
    to what from names of fields either: it put the whole campaign of one answer where the next asks for its name.
    Which bytes are a shapefile no schema says, so /areas may say 422 to bytes that are none.
    """
    config = tmp_path / "schemathesis.toml"
    guesses = '[phases.stateful.inference]\nalgorithms = ["location-headers"]\n'
    files = '[[operations]]\ninclude-path = "/api/v1/areas"\n'
    files += 'checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "409", "422", "429"]\n'
    config.write_text(guesses + files + ('[parameters]\ncampaign = "town"\n' if known else ""))
    asked = {"name": "Paris", "within": None}  # the first answer loads every name: seconds, and more on a busy machine
    assert collector.visitor.post("/api/v1/places", json=asked, headers=operator()).status_code == 200
    program = Path(sys.executable).parent / "schemathesis"
    command = [
        str(program), "--config-file", str(config), "run", f"{collector.url}/openapi.json", "--checks", "all",
        "--max-examples", "8", "--seed", "1",
        "--exclude-path-regex", "/(end|archive|delete)$",
        "-H", f"Authorization: Bearer {TOKEN}", "--continue-on-failure",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "26 total" in done.stdout or "Operations:" in done.stdout


def test_the_contract_is_json_and_names_every_report_route(collector: CollectorProcess) -> None:
    contract = json.loads(httpx.get(f"{collector.url}/openapi.json").content)
    shapes = contract["paths"]["/api/v1/campaigns/{campaign}/estimate.geojson"]["get"]["responses"]["200"]["content"]
    assert shapes == {"application/geo+json": {"schema": {"type": "object"}}}, "schemathesis reads it as JSON"
    posts = [path for path, methods in contract["paths"].items() if "post" in methods]
    assert sorted(path.rsplit("/", 1)[1] for path in posts) == [
        *(
            "archive",
            "areas",
            "backups",
            "campaigns",
            "close",
            "codes",
            "copy",
            "delete",
            "delete",
            "end",
            "exclude",
            "include",
        ),
        *(
            "operators",
            "pause",
            "places",
            "plans",
            "remove",
            "report-batches",
            "reports",
            "reschedule",
            "resume",
            "rotate",
            "test",
            "texts",
            "tickets",
        ),
    ]
