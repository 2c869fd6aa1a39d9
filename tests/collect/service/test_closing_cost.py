"""Closing costs little time and memory, in a process of its own; and who reads does not hold up who reports."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from collector_harness import CollectorProcess, client, close, create, crowd, fill, report_body, send, ticket

from sfumato.collect.loop.loop import Rules, first_channel, next_channel
from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.rounds.cycle_estimate import EstimateTask, estimate_apart, estimate_cycle, in_child
from sfumato.collect.service.rounds.signed_offers import Signer, new_cycle, specification
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import CellCounts

_SCRIPT = """
import asyncio, json, resource, sys
sys.path[:0] = sys.argv[1].split(":")
from test_closing_cost import in_child, task
made = task(*map(int, sys.argv[2:]))
found = asyncio.run(in_child(made))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024,
                  "level": found.facts.interval_level, "sum": float(found.probabilities.sum())}))
"""


def task(rows: int, columns: int, cycles: int, districts: int = 0) -> EstimateTask:
    """A campaign whose channel follows the map, so that every cycle has its own: the dearest kind to close."""
    side_deg = 500 / 111_194
    request = CampaignRequest.model_validate(
        {
            "name": "wide",
            "grid": {
                "south": 48.0,
                "west": 2.0,
                "north": 48.0 + (rows - 0.5) * side_deg,
                "east": 2.0 + (columns - 0.5) * 500 / 74_500,
                "cell_size_m": 500.0,
            },
            "beta_per_m": 0.001,
            "promise": "mutual-information",
            "reporting": "every-cycle",
            **(strips(48.0, 2.0, rows * side_deg, columns * 500 / 74_500, districts) if districts else {}),
        }
    )
    settings = Settings.of()
    asked = specification(request, settings)
    grid = asked.grid.to_grid()
    assert grid.shape == (rows, columns)
    rng = np.random.default_rng(1)
    centres = grid.centres()
    truth = np.exp(-((centres - centres.mean(axis=0)) ** 2).sum(axis=1) / (2 * 4_000.0**2)) + 1e-4
    truth /= truth.sum()
    rules = Rules(beta=asked.beta_per_m, promise="mutual-information", reporting="every-cycle")
    channel, counts, signer = first_channel(grid, rules), [], Signer.from_seed(bytes(32))
    facts = _facts()
    for number in range(1, cycles + 1):
        opened = new_cycle(
            signer, name="wide", specification=asked, number=number, channel=channel, facts=facts,
            previous="0" * 64, now_s=1_790_000_000,
        )  # fmt: skip
        drawn = rng.multinomial(10_000, channel.report_distribution(truth))
        counts.append(CellCounts(number, opened.payload, drawn, np.zeros_like(drawn), 0, 1))
        seen = truth * np.exp(0.1 * rng.standard_normal(grid.cells))
        channel = next_channel(channel, seen / seen.sum(), rules)
    return EstimateTask(asked, tuple(counts), truth, settings, 2.0)


def strips(south: float, west: float, tall: float, wide: float, count: int) -> dict[str, object]:
    """So many named districts, five in every row, as a request has them."""
    down, across = tall / (count // 5), wide / 5
    features = []
    for number in range(count):
        s, w = south + down * (number // 5), west + across * (number % 5)
        ring = [[w, s], [w + across, s], [w + across, s + down], [w, s + down], [w, s]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": {"name": f"district {number}"}, "geometry": shape})
    return {"areas": {"type": "FeatureCollection", "features": features}, "name_field": "name"}


def _facts():
    from sfumato.collect.service.models.kept import ChannelFacts, LevelPerKm

    level = LevelPerKm(lower=2.0, upper=2.0, exact=True)
    return ChannelFacts(epsilon_per_km=level, mutual_information_nats=1.0, distortion_m=500.0)


def closing_cost(*size: int) -> dict[str, float]:
    """CPU seconds and peak memory of the process that estimates, as the system counts them.

    Others on the same processor make every second of it longer: beyond 10 s it is tried again, twice at most.
    """
    found = [_closed_once(*size)]
    while found[-1]["seconds"] > 10 and len(found) < 3:
        found.append(_closed_once(*size))
    return min(found, key=lambda one: one["seconds"])


def _closed_once(*size: int) -> dict[str, float]:
    from pathlib import Path

    here = Path(__file__).parent
    paths = f"{here}:{here.parents[1] / 'helpers'}"
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, paths, *map(str, size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_the_estimate_of_another_process_is_that_of_this_one() -> None:
    import asyncio

    small = task(6, 7, 3)
    here, there = estimate_cycle(small), asyncio.run(in_child(small))
    assert there.facts == here.facts
    np.testing.assert_array_equal(there.probabilities, here.probabilities)
    np.testing.assert_array_equal(there.this_cycle, here.this_cycle)
    assert asyncio.run(estimate_apart(small)).facts == here.facts


def test_an_estimate_that_fails_elsewhere_says_what_kind_of_error_and_nothing_more() -> None:
    import asyncio

    broken = task(6, 7, 1)
    nothing = CellCounts(1, broken.counts[0].payload, np.zeros(42, dtype=np.int64), np.zeros(42, dtype=np.int64))
    with pytest.raises(RuntimeError, match=r"ended with InputError\.$"):
        asyncio.run(in_child(EstimateTask(broken.specification, (nothing,), None, broken.settings, None)))


@pytest.mark.slow
def test_closing_a_small_grid_is_cheap() -> None:
    cost = closing_cost(8, 10, 3)
    print(cost)
    assert cost["megabytes"] < 500


@pytest.mark.slow
def test_closing_2450_cells_and_30_cycles_takes_10_seconds_and_500_megabytes() -> None:
    cost = closing_cost(49, 50, 30)
    print(cost)
    assert cost["level"] == 0.95, "with intervals"
    assert cost["sum"] == pytest.approx(1)
    assert cost["megabytes"] <= 500
    assert cost["seconds"] <= 10


@pytest.mark.slow
def test_closing_2500_cells_with_40_districts_takes_10_seconds() -> None:
    cost = closing_cost(50, 50, 4, 40)
    print(cost)
    assert cost["level"] == 0.95
    assert cost["megabytes"] <= 550
    assert cost["seconds"] <= 10


@pytest.mark.slow
def test_the_report_of_2500_cells_and_40_districts_is_made_in_5_seconds(tmp_path) -> None:
    place = f"sqlite:///{tmp_path}/x.db"
    grid = {"south": 48.0, "west": 2.0, "north": 48.2246, "east": 2.3350, "cell_size_m": 500.0}
    with client(place, tick_s=60) as town:
        about = create(town, "wide", grid=grid, promise="epsilon", reporting="once", **strips(48, 2, 0.2246, 0.335, 40))
        assert about["cells"] == 2500
        for cycle in (1, 2):
            fill(place, np.random.default_rng(cycle).integers(0, 2500, 3000), "wide", cycle=cycle)
            assert close(town, "wide")
        began = time.process_time()
        page = town.get("/campaigns/wide/report").text
        took = time.process_time() - began
    print(f"{took:.2f} s")
    assert page.count("<td>district ") >= 40, "the comparison names all of them"
    assert took <= 5


@pytest.mark.service
@pytest.mark.slow
def test_readers_of_the_dashboard_do_not_hold_up_who_reports(tmp_path) -> None:
    database = f"sqlite:///{tmp_path}/town.db"
    with CollectorProcess(database, requests_per_minute_per_address=0) as collector:
        town = collector.visitor
        create(town)
        crowd(town, 30)
        close(town)
        stop = threading.Event()

        def read() -> None:
            with type(town)(base_url=collector.url, timeout=30) as reader:
                while not stop.is_set():
                    assert reader.get("/campaigns/town/dashboard.json").status_code == 200

        def times() -> float:
            taken = []
            for _ in range(40):
                body = report_body(town, ticket=ticket(town, cycle=2))
                began = time.perf_counter()
                assert send(town, body).status_code == 200
                taken.append(time.perf_counter() - began)
            return float(np.median(taken))

        alone = times()
        readers = [threading.Thread(target=read, daemon=True) for _ in range(10)]
        for reader in readers:
            reader.start()
        watched = times()
        stop.set()
        for reader in readers:
            reader.join(timeout=30)
    print(alone, watched)
    # The readers' own threads share this test's processor: a generous bound; the benchmark has the exact one.
    assert watched < 20 * alone + 0.25
