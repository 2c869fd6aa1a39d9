"""The Python client: exact draws, a budget that cannot be spent twice, and a server that is not trusted."""

from __future__ import annotations

import inspect
import io
import json
import math
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_collector import OFFERS, Collector
from typer.testing import CliRunner

import sfumato.collect.client
from sfumato.base.errors import BudgetExceeded, InputError, SfumatoError, VerificationFailed
from sfumato.base.things.grid import Grid
from sfumato.cli import app
from sfumato.collect.cities import city
from sfumato.collect.client import Caps, Device, NotSent, NotYet, Participant, exact_draw
from sfumato.collect.client.__main__ import main as terminal
from sfumato.collect.client.crowd import lies_elsewhere, people_in_cells
from sfumato.collect.client.offer import check_offer, check_range
from sfumato.collect.client.public_log import SplitView, check_head
from sfumato.collect.client.reveals import reveals
from sfumato.collect.client.wire import channel_version, to_base64url
from sfumato.collect.grids.tight import tight_channel
from sfumato.tracks.live.live_trace import LiveTrace

PARIS = Grid.from_bounds(48.8286, 2.2855, 48.8798, 2.3909, shape=(5, 6))


def weights_with_floor(rng: np.random.Generator, cells: int, sharpness: float) -> np.ndarray:
    c = 0.99 * rng.dirichlet(np.full(cells, sharpness)) + 0.01 / cells
    return c / c.sum()


def exact_log_rows(grid: Grid, c: np.ndarray, beta: float) -> list[list[float]]:
    """log P(y | x) of the integers that are really drawn from, by big-integer arithmetic."""
    rows = []
    for x in range(grid.cells):
        whole = exact_draw.integer_weights(*exact_draw.weights(grid, c, x, beta_per_m=beta))
        total = math.log(sum(whole))
        rows.append([math.log(w) - total for w in whole])
    return rows


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.floats(1e-5, 0.05), st.floats(0.05, 5.0))
def test_the_integers_drawn_from_leak_no_more_than_the_epsilon_shown(seed: int, beta: float, sharpness: float) -> None:
    c = weights_with_floor(np.random.default_rng(seed), PARIS.cells, sharpness)
    told = reveals(PARIS, c, beta_per_m=beta)
    rows, distances = exact_log_rows(PARIS, c, beta), PARIS.distance_matrix()
    worst = max(
        max(abs(a - b) for a, b in zip(rows[x], rows[y], strict=True)) / distances[x, y]
        for x in range(PARIS.cells)
        for y in range(x)
    )
    assert 1000 * worst <= told.epsilon_per_km + 1e-8
    assert 1000 * worst == pytest.approx(told.epsilon_per_km, rel=1e-9)  # exact, not merely a bound
    assert told.epsilon_per_km <= told.two_beta_per_km


def test_no_outcome_is_lost_at_the_steepest_channel_where_plain_doubles_would_lose_most() -> None:
    strip = Grid.from_bounds(0.0, 10.0, 0.09, 15.0, shape=(1, 60))
    beta = 699.0 / (59 * strip.cell_width)
    c = np.full(60, 1 / 60)
    rows = exact_log_rows(strip, c, beta)
    assert min(min(row) for row in rows) < -690  # far below the 2**-53 of an inverse distribution function
    worst = max(
        abs(rows[x][y] - rows[z][y]) / (abs(x - z) * strip.cell_width)
        for x in range(60)
        for z in range(x)
        for y in range(60)
    )
    assert worst <= 2 * beta * (1 + 1e-12)
    v, k = exact_draw.weights(strip, c, 0, beta_per_m=beta)
    cumulative = list(accumulate(exact_draw.integer_weights(v, k)))
    border = -(-(cumulative[58] << 1280) // cumulative[-1])
    words = np.frombuffer(border.to_bytes(160, "big"), dtype=">u8").astype(np.uint64)
    assert exact_draw.cell_from_words(v, k, words) == 59  # the rarest report can be drawn
    with pytest.raises(VerificationFailed, match="700"):
        check_range(strip, beta_per_m=1.01 * 700 / (59 * strip.cell_width))


def test_draws_follow_the_channel_by_a_chi_square_test() -> None:
    c = weights_with_floor(np.random.default_rng(1), PARIS.cells, 1.0)
    v, k = exact_draw.weights(PARIS, c, 8, beta_per_m=0.001)
    rng, draws = np.random.default_rng(12), 20_000
    words = rng.integers(0, 2**64, (draws, 20), dtype=np.uint64)
    counts = np.bincount([exact_draw.cell_from_words(v, k, row) for row in words], minlength=PARIS.cells)
    expected = draws * exact_draw.probabilities(v, k)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic < 29 + 5 * math.sqrt(2 * 29)


def test_the_two_cell_success_is_that_of_the_best_guess_over_near_pairs() -> None:
    c = weights_with_floor(np.random.default_rng(4), PARIS.cells, 0.5)
    told = reveals(PARIS, c, beta_per_m=0.0015, within_m=2500)
    rows = np.exp(np.array(exact_log_rows(PARIS, c, 0.0015)))
    distances = PARIS.distance_matrix()
    best = max(
        0.5 * np.maximum(rows[x], rows[y]).sum()
        for x in range(PARIS.cells)
        for y in range(x)
        if distances[x, y] <= told.two_cell_within_m
    )
    assert told.two_cell_success == pytest.approx(best, rel=1e-10)


def test_the_library_and_the_client_agree_on_epsilon() -> None:
    from sfumato.collect.grids.grid_channel import GridChannel

    c = weights_with_floor(np.random.default_rng(9), PARIS.cells, 0.3)
    upper = GridChannel(PARIS, 0.0012, c).epsilon()
    bound = upper if isinstance(upper, float) else upper.upper
    assert reveals(PARIS, c, beta_per_m=0.0012).epsilon_per_km == pytest.approx(1000 * bound, rel=1e-9)


# The device's memory


def test_the_memory_is_for_its_owner_only_and_holds_one_ledger_for_everything(tmp_path: Path) -> None:
    device = Device(tmp_path / "state" / "device.json", cap_per_km=10)
    device.debit("report", epsilon_per_km=4)
    device.debit("another mechanism", epsilon_per_km=5.5, delta=1e-6)
    assert stat.S_IMODE(device.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(device.path.parent.stat().st_mode) == 0o700
    budget = Device(device.path, cap_per_km=999).budget()  # a later cap in the program changes nothing
    assert (budget.cap_per_km, budget.spent_per_km, budget.delta) == (10, 9.5, 1e-6)
    with pytest.raises(BudgetExceeded, match=r"0\.5 of 10.*raise the cap: device\.set_cap\(11\)"):
        device.debit("report", epsilon_per_km=0.6)
    assert len(device.budget().entries) == 2
    device.set_cap(11)
    device.debit("report", epsilon_per_km=0.6)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_a_cost_that_is_not_a_number_from_zero_is_refused(tmp_path: Path, bad: float) -> None:
    with pytest.raises(InputError, match="must be a number from 0"):
        Device(tmp_path / "d.json").debit("report", epsilon_per_km=bad)


def test_a_damaged_or_readable_memory_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text("{")
    path.chmod(0o600)
    with pytest.raises(InputError, match="damaged"):
        Device(path).debit("report", epsilon_per_km=1)
    assert path.read_text() == "{"
    path.write_text('{"format": "sfumato-device/1"}')
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Device(path).budget()


def test_a_killed_process_loses_no_debit_and_leaves_no_copy_of_the_memory_behind(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    spend = (
        "import sys; from sfumato.accountant.device import Device; d = Device(sys.argv[1], cap_per_km=1e9)\n"
        "while True: d.debit('x', epsilon_per_km=1.0); print('debited', flush=True)"
    )
    spent = 0
    for pause_s in (0.01, 0.03):
        with subprocess.Popen([sys.executable, "-c", spend, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(pause_s)
            process.kill()
            debited = (first + process.stdout.read()).count(b"\n")
        entries = len(Device(path).budget().entries)
        assert debited <= entries - spent <= debited + 1
        spent = entries
    (tmp_path / ".device.json.abandoned").write_text("a copy")
    Device(path).debit("x", epsilon_per_km=1.0)
    assert {item.name for item in tmp_path.iterdir()} == {"device.json"}


def test_many_threads_spend_no_more_than_the_cap(tmp_path: Path) -> None:
    path, refused = tmp_path / "device.json", []

    def spend() -> None:
        for _ in range(10):
            try:
                Device(path, cap_per_km=20).debit("report", epsilon_per_km=1)
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Device(path).budget().spent_per_km == 20
    assert len(refused) == 30


# Taking part, against a scripted server on a real socket


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector().running() as found:
        yield found


@pytest.fixture
def person(collector: Collector, tmp_path: Path) -> Participant:
    return Participant(collector.url, "golden", device=Device(tmp_path / "device.json"), longest_delay_s=0)


def signed(payload: str) -> dict[str, str]:
    """Any text as a hostile server would publish it: hashed and signed as it should be."""
    key = Ed25519PrivateKey.generate()
    return {
        "payload": payload,
        "version": channel_version(payload.encode()),
        "signature": to_base64url(key.sign(payload.encode())),
        "public_key": to_base64url(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)),
    }


def again(person: Participant, **options: Any) -> Participant:
    """The same device after a restart."""
    return Participant(person.url, "golden", device=Device(person.device.path), longest_delay_s=0, **options)


def test_one_report_is_drawn_kept_and_debited_whatever_the_place(collector: Collector, person: Participant) -> None:
    first = person.prepare(48.85, 2.34)
    assert first.drawn_now
    for i in range(10):
        later = again(person).prepare(48.83 + i / 200, 2.29 + i / 100)
        assert (later.cell, later.version, later.drawn_now) == (first.cell, first.version, False)
    budget = person.device.budget()
    assert budget.spent_per_km == first.reveals.epsilon_per_km == pytest.approx(budget.entries[0]["epsilon_per_km"])
    assert len(budget.entries) == 1
    assert not collector.bodies("tickets")


def test_the_report_is_on_disk_before_it_is_returned_and_nothing_is_drawn_when_it_cannot_be(
    person: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = person.look()

    def full(*arguments: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Device, "_write", full)
        with pytest.raises(OSError, match="disk full"):
            person.prepare(48.85, 2.34, offer=offer)
    assert person.device.budget().entries == ()


def test_a_resent_report_keeps_its_cell_version_and_key(collector: Collector, person: Participant) -> None:
    prepared = person.prepare(48.85, 2.34)
    collector.report = [(503, {"error": "busy"}), (200, {"duplicate": False}), (200, {"duplicate": True})]
    with pytest.raises(NotSent, match=r"answered 503: busy.*The report is kept"):
        person.send()
    assert again(person).send() == "counted"
    assert again(person).send() == "counted before"
    sent = collector.bodies("reports")
    assert {(body["cell"], body["version"], body["key"]) for body in sent} == {
        (prepared.cell, OFFERS["good"]["version"], sent[0]["key"])
    }
    assert all(set(body) == {"cell", "version", "key", "ticket"} for body in sent)
    assert len(bytes.fromhex(sent[0]["key"])) == 16


def test_tickets_and_reports_use_separate_connections_and_nothing_that_tells_people_apart(
    collector: Collector, person: Participant
) -> None:
    person.prepare(48.85, 2.34)
    waited: list[float] = []
    Participant(person.url, "golden", device=person.device, longest_delay_s=100).send(wait=waited.append)
    assert 0 < waited[0] < 100
    ports = {item["route"]: item["port"] for item in collector.seen}
    assert len(set(ports.values())) == len(ports) == 4
    for item in collector.seen:
        assert "Cookie" not in item["headers"]
        assert item["headers"]["User-Agent"] == "sfumato"
        assert item["path"] == f"/api/v1/campaigns/golden/{item['route']}"
    asked = collector.bodies("tickets")[0]
    assert set(asked) == {"cycle", "device"}
    assert asked["device"] not in json.dumps(collector.bodies("reports"))


def test_the_true_place_is_in_no_request_and_not_in_the_memory(collector: Collector, person: Participant) -> None:
    person.prepare(48.8543217, 2.3398765)
    person.send()
    everything = json.dumps(collector.seen) + person.device.path.read_text()
    assert "48.85" not in everything
    assert "2.339" not in everything


def test_a_report_whose_cycle_closed_is_not_drawn_again(collector: Collector, person: Participant) -> None:
    first = person.prepare(48.85, 2.34)
    collector.report = [(410, {"error": "closed"})]
    assert person.send() == "closed"
    assert person.prepare(48.86, 2.30).cell == first.cell
    assert person.prepare(48.86, 2.30).state == "closed"
    assert len(person.device.budget().entries) == 1


@pytest.mark.slow
def test_devices_spread_their_reports_over_an_epoch_and_each_draws_once(
    collector: Collector, person: Participant, tmp_path: Path
) -> None:
    first = replace(person.look(), reporting="once-per-epoch", epoch_cycles=3, cycle=4)
    drawn = dict.fromkeys((4, 5, 6), 0)
    for number in range(90):
        one = Participant(collector.url, "golden", device=Device(tmp_path / f"{number}.json"))
        turn = one.turn(first)
        for cycle in drawn:
            offer = replace(first, cycle=cycle)
            if cycle < turn:
                with pytest.raises(NotYet, match=f"is cycle {turn}, and this is cycle {cycle}"):
                    one.prepare(48.85, 2.34, offer=offer)
                assert one.device.budget().spent_per_km == 0
                continue
            drawn[cycle] += one.prepare(48.85, 2.34, offer=offer).drawn_now
    assert sum(drawn.values()) == 90
    assert min(drawn.values()) >= 12  # 30 each; 4 standard deviations are 18
    early = Participant(collector.url, "golden", device=Device(tmp_path / "early.json"))
    assert early.prepare(48.85, 2.34, offer=first, early=True).drawn_now
    assert early.turn(person.look()) == person.look().cycle, "where a report serves one cycle, it is its turn"


def test_one_report_per_epoch_and_no_faster_than_the_device_allows(collector: Collector, person: Participant) -> None:
    person.prepare(48.85, 2.34)
    collector.document = OFFERS["next_cycle"]
    offer = again(person).look(read_log=False)
    with pytest.raises(InputError, match="at most one every 60 min"):
        again(person).prepare(48.85, 2.34, offer=offer)
    second = again(person, caps=Caps(minimum_epoch_s=0)).prepare(48.85, 2.34, offer=offer)
    assert (second.drawn_now, second.epoch) == (True, "4")
    assert len(person.device.budget().entries) == 2


def test_past_the_cap_nothing_is_drawn(person: Participant) -> None:
    offer = person.look()
    person.device.debit("somewhere else", epsilon_per_km=29.5)
    with pytest.raises(BudgetExceeded, match="Nothing was drawn"):
        person.prepare(48.85, 2.34, offer=offer)
    assert all(not memory["reports"] for memory in person.device.read()["campaigns"].values())


def test_a_server_that_shows_two_versions_in_a_cycle_is_refused(collector: Collector, person: Participant) -> None:
    person.look()
    collector.document = OFFERS["second_version"]
    with pytest.raises(VerificationFailed, match="two channel versions"):
        again(person).look(read_log=False)
    with pytest.raises(VerificationFailed, match="does not list exactly"):
        again(person).look()


@pytest.mark.parametrize(
    "spelling", ["HTTP://127.0.0.1:{port}", "http://127.0.0.1:{port}//", " http://127.0.0.1:{port}/ "]
)
def test_another_spelling_of_the_address_is_the_same_campaign(
    collector: Collector, person: Participant, spelling: str
) -> None:
    drawn = person.prepare(48.85, 2.34)
    url = spelling.format(port=collector.server.server_port)
    again_drawn = Participant(url, "golden", device=Device(person.device.path)).prepare(48.83, 2.39)
    assert (again_drawn.cell, again_drawn.drawn_now) == (drawn.cell, False)


def test_another_address_of_the_same_server_draws_no_second_report(collector: Collector, person: Participant) -> None:
    person.prepare(48.85, 2.34)
    elsewhere = Participant(f"http://localhost:{collector.server.server_port}", "golden", device=person.device)
    with pytest.raises(InputError, match="another address"):
        elsewhere.prepare(48.83, 2.39)
    assert len(person.device.budget().entries) == 1


@pytest.mark.parametrize(
    "url", ["collector.example", "ftp://x.example", "https://me:pw@x.example", "https://x:99999", ""]
)
def test_an_address_that_is_no_plain_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="address"):
        Participant(url, "golden", device=Device(tmp_path / "device.json"))


def test_a_log_that_changes_what_this_device_saw_was_rewritten(collector: Collector, person: Participant) -> None:
    person.look()
    with person.device.change() as memory:
        next(iter(memory["campaigns"].values()))["versions"]["1"] = "0" * 64
    with pytest.raises(VerificationFailed, match="rewritten"):
        again(person).look()


@pytest.mark.parametrize("log", [None, "log", {"0": 1}, [None], [[]], 7])
def test_a_log_of_another_shape_is_refused_in_words(collector: Collector, person: Participant, log: Any) -> None:
    collector.log = log
    with pytest.raises(VerificationFailed, match="The public log"):
        person.look()


def test_a_report_kept_from_an_earlier_cycle_shows_what_its_own_channel_gave_away(person: Participant) -> None:
    offer = person.look()
    drawn = person.prepare(48.85, 2.34, offer=offer)
    later = replace(offer, reveals=replace(offer.reveals, epsilon_per_km=0.1))
    assert person.prepare(48.85, 2.34, offer=later).reveals == drawn.reveals


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("{", "not an object"),
        ("[]", "not an object"),
        ("[" * 100_000, "not an object"),
        ('{"cycle": ' + "9" * 5000 + "}", "not an object"),
        ('{"beta_per_m": NaN}', "missing or unknown fields"),
    ],
    ids=["cut", "list", "deep", "huge", "nan"],
)
def test_a_signed_text_that_is_no_channel_is_refused_in_words(payload: str, words: str) -> None:
    with pytest.raises(VerificationFailed, match=words):
        check_offer(signed(payload), caps=Caps())


@pytest.mark.parametrize("field", ["beta_per_m", "floor", "cycle", "rows", "north_deg"])
def test_a_number_too_large_for_a_double_is_refused_in_words(field: str) -> None:
    channel = json.loads(OFFERS["good"]["payload"])
    (channel if field in channel else channel["grid"])[field] = 10**400
    payload = json.dumps(channel)
    with pytest.raises(VerificationFailed, match=f"The channel's {field} is (not finite|too large)"):
        check_offer(signed(payload), caps=Caps())


def test_a_key_is_pinned_on_first_use_or_from_elsewhere(collector: Collector, person: Participant) -> None:
    with pytest.raises(VerificationFailed, match="another key"):
        again(person, public_key="A" * 43).look()
    person.look()
    with person.device.change() as memory:
        next(iter(memory["campaigns"].values()))["public_key"] = "B" * 43
    with pytest.raises(VerificationFailed, match="another key"):
        again(person).look()


def test_a_place_outside_the_grid_is_reported_from_the_nearest_cell(person: Participant) -> None:
    prepared = person.prepare(10.0, -170.0)
    assert 0 <= prepared.cell < 20


@pytest.mark.parametrize("place", [(math.nan, 2.0), (math.inf, 2.0), (1.0, math.nan)])
def test_a_place_that_is_not_one_is_refused_without_naming_it(person: Participant, place: tuple[float, float]) -> None:
    with pytest.raises(SfumatoError, match="finite") as caught:
        person.prepare(*place)
    assert "2.0" not in str(caught.value)


def test_nothing_public_takes_a_seed() -> None:
    for name in sfumato.collect.client.__all__:
        thing = getattr(sfumato.collect.client, name)
        members = [thing, *(value for _, value in inspect.getmembers(thing, inspect.isfunction))]
        for member in members:
            assert not {"seed", "rng", "words", "random_state", "entropy"} & set(inspect.signature(member).parameters)


# Live traces


def test_a_live_trace_survives_restarts_and_is_debited_once(tmp_path: Path) -> None:
    device = Device(tmp_path / "device.json")
    released = []
    for second in range(5):
        trace = LiveTrace(noise_m=1000, device=Device(device.path))
        released.append(trace.release(48.85, 2.34, 1.79e9 + second))
    assert LiveTrace(noise_m=1000, device=device).release(48.9, 2.4, 1.79e9 + 4) == released[-1]
    assert [entry["what"] for entry in device.budget().entries] == ["live trace"]
    steps = np.diff(np.array(released), axis=0) * [111_000, 73_000]
    offset = (np.array(released[0]) - [48.85, 2.34]) * [111_000, 73_000]
    assert np.abs(offset).max() < 6000
    assert np.abs(steps).max() < 3000  # one continuing process: a second apart, mostly the white share differs
    state = json.dumps(device.read()["live"]["live"]["state"])
    assert re.search(r"(?<![\d.])48\.85", state) is None


def test_live_noise_is_never_used_at_two_sizes_nor_backwards_nor_past_the_cap(tmp_path: Path) -> None:
    device = Device(tmp_path / "device.json")
    LiveTrace(noise_m=1000, device=device).release(48.85, 2.34, 1.79e9)
    with pytest.raises(InputError, match="adds 1000 m"):
        LiveTrace(noise_m=900, device=device).release(48.85, 2.34, 1.79e9 + 1)
    with pytest.raises(InputError, match="runs forward"):
        LiveTrace(noise_m=1000, device=device).release(48.85, 2.34, 1.79e9 - 1)
    with pytest.raises(BudgetExceeded, match="is left"):
        LiveTrace(noise_m=700, device=device, name="second").release(48.85, 2.34, 1.79e9)


def test_the_live_budget_bounds_the_exact_gaussian_trade_off() -> None:
    from scipy.special import ndtr

    budget = LiveTrace(noise_m=700, device=Device("/nonexistent/device.json")).budget
    for km in (0.05, 0.2, 1.0):
        mu, epsilon = budget.mu_per_km * km, budget.epsilon_per_km * km
        exact_delta = ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
        assert exact_delta <= budget.delta


def test_a_device_judges_a_channel_by_its_exact_epsilon_whichever_promise_made_it():
    grid = Grid.from_bounds(south=48.84, west=2.30, north=48.8669, east=2.3408, cell_size_m=500.0)
    tight = tight_channel(grid, epsilon=0.008).value

    def offered(weights, beta_per_m):
        payload = {
            "campaign": "town",
            "cycle": 1,
            "grid": grid.to_dict(),
            "beta_per_m": beta_per_m,
            "output_weights": [float(one) for one in weights],
            "floor": 0.01,
            "reporting": "once",
        }
        return check_offer(signed(json.dumps(payload)), caps=Caps())

    offer = offered(tight.output_weights, tight.beta)
    assert offer.tight
    assert offer.reveals.epsilon_per_km == pytest.approx(8.0, rel=1e-9), "2 beta would be 16, above this device's 10"
    uneven = np.where(np.arange(grid.cells) == 0, 0.4, 0.6 / (grid.cells - 1))
    with pytest.raises(VerificationFailed, match="One report would cost"):
        offered(uneven, tight.beta)
    assert not offered(uneven, 0.001).tight


def test_the_people_of_a_city_that_lies_elsewhere_are_laid_over_the_campaigns_area():
    paris = city("paris")
    lyon = Grid.from_bounds(south=45.72, west=4.78, north=45.80, east=4.90, cell_size_m=500)
    assert lies_elsewhere(paris.probabilities, paris.grid, lyon)
    assert not lies_elsewhere(paris.probabilities, paris.grid, paris.grid)
    cells = people_in_cells(paris.probabilities, paris.grid, lyon, 2000)
    assert cells.min() >= 0
    assert cells.max() < lyon.cells
    assert np.unique(cells).size > 50, "they were all put into one corner"


def test_in_a_terminal_a_place_off_the_map_is_said_and_no_answer_sends_nothing(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("0 0\n"))
    code = terminal([collector.url, "golden", "--device", str(tmp_path / "device.json")])
    said = capsys.readouterr().out
    assert code == 0
    assert "outside the map" in said
    assert "Not sent. It is kept" in said


# What a device agrees to: the attacks of a server that changes its campaign afterwards


@pytest.mark.parametrize("attack", OFFERS["changed"])
def test_a_campaign_that_is_no_longer_what_the_device_joined_is_refused_by_name(
    collector: Collector, person: Participant, attack: str
) -> None:
    person.look()
    tried = OFFERS["changed"][attack]
    collector.document, collector.log = tried["document"], tried["log"]
    assert (
        check_offer(tried["document"], caps=Caps()).cycle == 4
    )  # signed, logged, within every cap: a new device takes it
    with pytest.raises(VerificationFailed, match=f"{tried['field']} was|every-cycle before"):
        again(person).prepare(48.85, 2.34)
    memory = next(iter(person.device.read()["campaigns"].values()))
    assert memory["reports"] == {}
    assert not person.device.budget().entries


def test_joining_again_is_a_new_campaign_with_a_line_of_its_own_in_the_ledger(
    collector: Collector, person: Participant
) -> None:
    with pytest.raises(InputError, match="as this device joined it"):
        person.look() and person.join_again()
    person.prepare(48.85, 2.34)
    tried = OFFERS["changed"]["in another city"]
    collector.document, collector.log = tried["document"], tried["log"]
    offer = again(person).join_again()
    assert offer.grid.north_deg == pytest.approx(37.7946)
    with pytest.raises(InputError, match="minutes ago"):
        again(person).prepare(37.75, -122.45)  # a campaign that changes draws no faster than one that does not
    drawn = again(person, caps=Caps(minimum_epoch_s=0)).prepare(37.75, -122.45)
    assert drawn.drawn_now
    entries = person.device.budget().entries
    assert [entry["what"] for entry in entries] == ["report", "joined again", "report"]
    assert "north_deg" in entries[1]["name"]
    names = list(person.device.read()["campaigns"])
    assert sorted(name.endswith("golden") for name in names) == [False, True]  # what was drawn before is kept


def test_joining_again_what_is_refused_agrees_to_nothing_and_leaves_everything_as_it_was(
    collector: Collector, person: Participant
) -> None:
    person.look()
    first, second = (OFFERS["changed"][name] for name in list(OFFERS["changed"])[:2])
    collector.document, collector.log = first["document"], first["log"]
    again(person).join_again()
    before = person.device.read()
    collector.document, collector.log = second["document"], second["log"]
    with pytest.raises(VerificationFailed):  # another version of the round that it joined in
        again(person).join_again()
    assert person.device.read() == before, "what it had agreed to was forgotten: the next look would take anything"


def test_a_device_without_its_memory_is_told_as_a_new_one(
    collector: Collector, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for new in (True, False):
        monkeypatch.setattr(sys, "stdin", io.StringIO("48.85 2.34\n"))
        assert (
            terminal([collector.url, "golden", "--device", str(tmp_path / "device.json"), "--longest-delay", "0"]) == 0
        )
        assert ("This is a new device" in capsys.readouterr().out) == new


@pytest.mark.parametrize("route", ["document", "log"])
def test_half_a_character_in_an_answer_is_refused_in_words(
    collector: Collector, person: Participant, route: str
) -> None:
    if route == "document":
        collector.document = {**collector.document, "payload": "\ud800"}
    else:
        collector.log = [{**collector.log[0], "version": "\ud800"}, *collector.log[1:]]
    with pytest.raises(SfumatoError):
        person.look()


def test_a_memory_whose_parts_are_not_whole_is_refused_and_not_repaired(person: Participant) -> None:
    person.look()
    memory = person.device.read()
    [ours] = memory["campaigns"].values()
    ours["head"].pop("entry")
    person.device.path.write_text(json.dumps(memory))
    with pytest.raises(InputError, match="is not a device file"):
        person.look()


# Split views: one key, two logs


def test_a_log_that_does_not_go_through_the_head_this_device_saw_is_refused(
    collector: Collector, person: Participant
) -> None:
    person.look()
    collector.document, collector.log = OFFERS["next_cycle"], OFFERS["other_next_log"]
    with pytest.raises(SplitView, match=OFFERS["head_words"]) as caught:
        again(person).look()
    first, second = caught.value.heads
    assert first["index"] == second["index"] == 2
    assert first["entry"] != second["entry"]
    for one in (first, second):
        check_head(one)  # anybody can: the proof stands by itself
    collector.log = OFFERS["next_log"]
    assert again(person).look().cycle == 4


def test_two_people_who_are_shown_two_logs_find_out_by_words_by_comparing_and_through_a_witness(
    collector: Collector, person: Participant, tmp_path: Path
) -> None:
    page, heads, proof = f"{collector.url}/campaigns/golden", tmp_path / "heads.json", tmp_path / "proof.json"
    runner = CliRunner()
    said = runner.invoke(app, ["client", "log", "head", page, "-o", str(heads)])
    assert said.output.strip() == f"entry 2: {OFFERS['head_words']}"
    collector.log = OFFERS["other_log"]  # what the other person is shown, signed by the same key
    assert person.look().cycle == 3  # by itself no device can tell
    other = runner.invoke(app, ["client", "log", "head", page, OFFERS["head_words"]])
    assert other.exit_code == 1
    found = runner.invoke(app, ["client", "log", "compare", page, str(heads), "-o", str(proof)])
    assert (found.exit_code, "entry 2" in found.output) == (1, True)
    kept = json.loads(proof.read_text())["heads"]
    assert len({one["entry"] for one in kept}) == 2
    for one in kept:
        check_head(one)
    with pytest.raises(SplitView, match="The witness saw"):
        again(person, witness=str(heads)).look()
    collector.log = OFFERS["log"]
    same = runner.invoke(app, ["client", "log", "compare", page, str(heads)])
    assert (same.exit_code, "One log" in same.output) == (0, True)
    assert runner.invoke(app, ["client", "log", "head", page, OFFERS["head_words"]]).exit_code == 0
    fresh = Participant(collector.url, "golden", device=Device(tmp_path / "new.json"), witness=str(heads))
    assert fresh.look().cycle == 3


def test_a_head_that_a_witness_has_changed_is_refused(collector: Collector, tmp_path: Path) -> None:
    heads = tmp_path / "heads.json"
    page = f"{collector.url}/campaigns/golden"
    CliRunner().invoke(app, ["client", "log", "head", page, "-o", str(heads)])
    good = json.loads(heads.read_text())["heads"][0]
    for change in ({"index": 1}, {"version": "44" * 32}, {"entry": "5" * 64}, {"signature": "A" * 86}):
        heads.write_text(json.dumps({"heads": [{**good, **change}]}))
        person = Participant(collector.url, "golden", device=Device(tmp_path / "new.json"), witness=str(heads))
        with pytest.raises(VerificationFailed, match=r"does not match its hash|signature"):
            person.look()
    heads.write_text(json.dumps({"heads": []}))
    with pytest.raises(VerificationFailed, match="republishes no head"):
        Participant(collector.url, "golden", device=Device(tmp_path / "new.json"), witness=str(heads)).look()
