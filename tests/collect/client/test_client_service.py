"""Both clients against a real server: counted once, resent unchanged, closed cycles respected."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from collector_harness import CollectorProcess, about, close, create, crowd, history

from sfumato.collect.client import Caps, Device, Participant

pytestmark = pytest.mark.service
JS = Path(__file__).resolve().parents[3] / "clients" / "js"
NODE_PERSON = """
import { Device, Participant, forgetfulStore } from "./dist/sfumato.js";
const [url, campaign] = process.argv.slice(-2);
const person = new Participant(url, campaign, { device: new Device(forgetfulStore()), longestDelayS: 0 });
const offer = await person.look();
const report = await person.prepare(48.853, 2.349, offer);
const outcomes = [await person.send(report.epoch), await person.send(report.epoch)];
console.log(JSON.stringify({ outcomes, epsilon: report.reveals.epsilonPerKm, version: report.version }));
"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectorProcess]:
    with CollectorProcess(f"sqlite:///{tmp_path_factory.mktemp('collector')}/x.db") as running:
        yield running


def person(collector: CollectorProcess, campaign: str, path: Path) -> Participant:
    caps = Caps(minimum_epoch_s=0)
    return Participant(collector.url, campaign, device=Device(path, cap_per_km=100), caps=caps, longest_delay_s=0)


def test_a_report_is_counted_once_however_often_it_is_sent(collector: CollectorProcess, tmp_path: Path) -> None:
    create(collector.visitor, "once-counted")
    me = person(collector, "once-counted", tmp_path / "device.json")
    me.prepare(48.853, 2.349)
    assert [me.send(), me.send(), me.send()] == ["counted", "counted before", "counted before"]
    assert close(collector.visitor, "once-counted")["closed"]
    assert history(collector.visitor, "once-counted")[0]["reports"] == 1
    assert me.send() == "counted before"  # closed by now, but it was acknowledged


def test_an_unsent_report_is_not_redrawn_after_its_cycle_and_the_next_cycle_gets_a_new_one(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    create(collector.visitor, "late")
    me = person(collector, "late", tmp_path / "device.json")
    slow = person(collector, "late", tmp_path / "slow.json")
    first, mine = me.prepare(48.853, 2.349), slow.prepare(48.853, 2.349)
    crowd(collector.visitor, 3, "late")
    assert close(collector.visitor, "late")["closed"]
    assert slow.send(mine.epoch) == "counted", "late, through the channel it was drawn from"
    crowd(collector.visitor, 3, "late")
    assert close(collector.visitor, "late")["closed"]
    assert me.send(first.epoch) == "closed", "two cycles later"
    second = me.prepare(48.853, 2.349)
    assert (second.epoch, second.drawn_now) == ("3", True)
    assert me.send() == "counted"
    assert len(me.device.budget().entries) == 2


def test_a_campaign_that_reports_once_draws_once_over_all_cycles(collector: CollectorProcess, tmp_path: Path) -> None:
    create(collector.visitor, "single", reporting="once")
    me = person(collector, "single", tmp_path / "device.json")
    first = me.prepare(48.853, 2.349)
    assert (first.epoch, me.send()) == ("once", "counted")
    assert close(collector.visitor, "single")["closed"]
    again = me.prepare(48.86, 2.33)
    assert (again.drawn_now, again.cell, again.version) == (False, first.cell, first.version)
    assert len(me.device.budget().entries) == 1


def test_the_client_and_the_server_agree_on_epsilon_and_the_log_grows(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    create(collector.visitor, "agreeing")
    for cycle in range(3):
        offer = person(collector, "agreeing", tmp_path / "device.json").look()  # checks signature, log and change
        level = about(collector.visitor, "agreeing")["cycle"]["epsilon_per_km"]
        assert offer.reveals.epsilon_per_km == pytest.approx(level["upper"], rel=1e-9)
        assert offer.cycle == cycle + 1
        crowd(collector.visitor, 40, "agreeing", seed=cycle)
        assert close(collector.visitor, "agreeing")["closed"]


def test_the_javascript_client_takes_part_too(collector: CollectorProcess, tmp_path: Path) -> None:
    if shutil.which("node") is None or not (JS / "dist" / "sfumato.js").exists():
        pytest.skip("node or the built JavaScript client is missing: run `make web`")
    create(collector.visitor, "node")
    command = ["node", "--input-type=module", "-e", NODE_PERSON, collector.url, "node"]
    run = subprocess.run(command, cwd=JS, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["outcomes"] == ["counted", "counted before"]
    offer = person(collector, "node", tmp_path / "device.json").look()
    assert offer.version == found["version"]
    assert offer.reveals.epsilon_per_km == pytest.approx(found["epsilon"], rel=1e-11)
    assert close(collector.visitor, "node")["closed"]
    assert history(collector.visitor, "node")[0]["reports"] == 1


def test_once_per_epoch_one_report_in_so_many_cycles_and_another_in_the_next_epoch(
    collector: CollectorProcess, tmp_path: Path
) -> None:
    create(collector.visitor, "epochs", reporting="once-per-epoch", epoch_cycles=2, promise="epsilon")
    me = person(collector, "epochs", tmp_path / "device.json")
    first = me.prepare(48.853, 2.349, early=True)
    assert (first.epoch, me.send()) == ("epoch 1", "counted")
    assert close(collector.visitor, "epochs")["closed"]
    again = me.prepare(48.86, 2.33)  # the second cycle of the same epoch
    assert (again.drawn_now, again.cell, again.version) == (False, first.cell, first.version)
    crowd(collector.visitor, 3, "epochs")
    assert close(collector.visitor, "epochs")["closed"]
    second = me.prepare(48.853, 2.349, early=True)
    assert (second.epoch, second.drawn_now, me.send()) == ("epoch 2", True, "counted")
    assert close(collector.visitor, "epochs")["closed"]
    spent = [cycle["spent_epsilon_per_km"] for cycle in history(collector.visitor, "epochs")]
    assert spent == pytest.approx([2.0, 2.0, 4.0], rel=1e-6)
    budget = me.device.budget()
    assert budget.by_epoch(collector.url, "epochs") == pytest.approx({"epoch 1": 2.0, "epoch 2": 2.0}, rel=1e-6)
    assert budget.spent_per_km == pytest.approx(4.0, rel=1e-6)
