"""A device in rounds with blind tickets: what it sends, when, and what an operator tries to recognise it by."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collector_harness import CollectorProcess, close, create, history
from cryptography.hazmat.primitives.asymmetric import rsa
from scripted_collector import GOLDEN, OFFERS, Collector

from sfumato.base.errors import VerificationFailed
from sfumato.collect.client import Caps, Device, NotSent, NotYet, Participant
from sfumato.collect.client.__main__ import main as terminal
from sfumato.collect.client.offer import TermsChanged, check_offer
from sfumato.collect.client.public_log import SplitView
from sfumato.collect.service.rounds.round_key import RoundKey

BLIND = OFFERS["blind"]
VECTOR = json.loads((GOLDEN / "rfc9474.json").read_text())["vectors"][0]
P, Q, D, N = (int(VECTOR[name], 16) for name in "pqdn")
KEY = RoundKey(
    rsa.RSAPrivateNumbers(
        P, Q, D, rsa.rsa_crt_dmp1(D, P), rsa.rsa_crt_dmq1(D, Q), rsa.rsa_crt_iqmp(P, Q), rsa.RSAPublicNumbers(65537, N)
    ).private_key()
)


def sign(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return 200, {"ticket": KEY.sign(bytes.fromhex(asked["blinded"])).hex()}


@pytest.fixture
def collector() -> Iterator[Collector]:
    scripted = Collector()
    scripted.document, scripted.log, scripted.ticket = BLIND["good"], BLIND["log"], sign
    with scripted.running() as found:
        yield found


def person(collector: Collector, folder: Path, name: str = "device", **options: Any) -> Participant:
    chosen = {"longest_delay_s": 0, "caps": Caps(minimum_epoch_s=0), **options}
    return Participant(collector.url, "golden", device=Device(folder / f"{name}.json"), **chosen)


def test_the_report_shows_a_ticket_that_was_never_seen_where_it_was_signed(
    collector: Collector, tmp_path: Path
) -> None:
    me = person(collector, tmp_path)
    me.prepare(48.85, 2.34)
    assert me.send() == "counted"
    [asked], [sent] = collector.bodies("tickets"), collector.bodies("reports")
    assert sorted(asked) == ["blinded", "cycle", "device"]
    kind, cycle, message, signature = sent["ticket"].split("-")
    assert (kind, cycle) == ("2", "3")
    assert KEY.verifies(bytes.fromhex(message), bytes.fromhex(signature))
    assert message not in asked["blinded"]
    assert asked["device"] not in sent["ticket"]


def test_a_lost_answer_costs_no_ticket_and_a_report_sent_again_is_the_same(
    collector: Collector, tmp_path: Path
) -> None:
    me = person(collector, tmp_path)
    me.prepare(48.85, 2.34)
    collector.ticket = lambda _asked: (503, {"error": "busy"})
    with pytest.raises(NotSent):
        me.send()
    collector.ticket, collector.report = sign, [(503, {"error": "busy"}), (200, {"duplicate": True})]
    with pytest.raises(NotSent):
        me.send()
    assert person(collector, tmp_path).send() == "counted before", "after a restart, from what is on disk"
    asked, sent = collector.bodies("tickets"), collector.bodies("reports")
    assert len(asked) == 2, "once signed, a ticket is not asked for again"
    assert asked[0] == asked[1]
    assert sent[0] == sent[1]


def test_a_key_for_one_person_is_another_version_and_is_found_out(collector: Collector, tmp_path: Path) -> None:
    joined = person(collector, tmp_path, "joined")
    joined.look()
    collector.document = BLIND["alone"]  # the same round with another key: whoever shows its tickets would be known
    with pytest.raises(VerificationFailed, match="does not list exactly this channel version"):
        person(collector, tmp_path, "new").look()
    with pytest.raises(VerificationFailed, match="does not list exactly"):
        joined.look()
    collector.log = BLIND["alone_log"]  # and a log of its own to go with it
    with pytest.raises(VerificationFailed, match="rewritten"):
        joined.look()
    person(collector, tmp_path, "alone").look()  # whoever has seen nothing else and asks nobody cannot tell
    heads = tmp_path / "heads.json"
    heads.write_text(json.dumps({"heads": [{**BLIND["log"][-1], "public_key": OFFERS["public_key"]}]}))
    with pytest.raises(SplitView) as split:
        person(collector, tmp_path, "asking", witness=str(heads)).look()
    assert [head["version"] for head in split.value.heads] == [BLIND["good"]["version"], BLIND["alone"]["version"]]
    assert not collector.bodies("tickets")


def test_a_ticket_signed_with_another_key_than_the_one_shown_is_refused_and_nothing_is_sent(
    collector: Collector, tmp_path: Path
) -> None:
    me = person(collector, tmp_path)
    me.prepare(48.85, 2.34)
    collector.ticket = lambda asked: (
        200,
        {"ticket": RoundKey.new().sign(bytes.fromhex(asked["blinded"])[1:256]).hex()},
    )
    with pytest.raises(VerificationFailed, match="single you out"):
        me.send()
    assert not collector.bodies("reports")


@pytest.mark.parametrize("attack", BLIND["changed"])
def test_another_kind_of_ticket_or_another_rhythm_of_rounds_is_refused_by_name(
    collector: Collector, tmp_path: Path, attack: str
) -> None:
    me, tried = person(collector, tmp_path), BLIND["changed"][attack]
    me.look()
    collector.document, collector.log = tried["document"], tried["log"]
    with pytest.raises(TermsChanged, match=f"The campaign's {tried['field']} was"):
        me.look()
    assert not collector.bodies("tickets")


def test_who_joined_with_linkable_tickets_before_there_was_a_choice_goes_on_and_is_asked_before_they_change(
    collector: Collector, tmp_path: Path
) -> None:
    me = person(collector, tmp_path)
    collector.document, collector.log = OFFERS["good"], OFFERS["log"]
    me.look()
    with me.device.change() as everything:  # as the version before wrote it
        [ours] = everything["campaigns"].values()
        for name in ("tickets", "round_s"):
            del ours["agreed"][name]
    me.look()
    tried = BLIND["joined_linkable"]
    collector.document, collector.log = tried["document"], tried["log"]
    assert person(collector, tmp_path, "fresh").look().tickets is not None
    with pytest.raises(TermsChanged, match="tickets was linkable when this device joined, and is now blind"):
        me.look()


def test_the_next_round_has_another_key_and_that_is_as_agreed(collector: Collector, tmp_path: Path) -> None:
    me = person(collector, tmp_path)
    first = me.look().tickets
    collector.document, collector.log = BLIND["next"]["document"], BLIND["next"]["log"]
    second = me.look().tickets
    assert first is not None
    assert second is not None
    assert first.modulus != second.modulus


@pytest.mark.parametrize("case", BLIND["refused"])
def test_a_round_whose_tickets_are_not_what_this_device_knows_is_refused(case: str) -> None:
    tried = BLIND["refused"][case]
    with pytest.raises(VerificationFailed, match=tried["word"]):
        check_offer(tried["document"], caps=Caps())


def test_a_device_that_keeps_running_asks_in_the_first_half_and_reports_at_a_moment_of_the_second(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [1_000_000 + 20_500 * 86_400 + 100.0]  # some round, 100 s after it began
    monkeypatch.setattr(time, "time", lambda: clock[0])
    waited: list[float] = []
    me = person(collector, tmp_path, longest_delay_s=None)
    prepared = me.prepare(48.85, 2.34)
    assert prepared.send_at_s is not None
    assert 43_100 <= prepared.send_at_s - clock[0] < 86_300
    clock[0] += 10
    me.send(wait=waited.append)
    assert waited == [pytest.approx(prepared.send_at_s - clock[0])]
    clock[0] += 43_190  # the second half
    late = person(collector, tmp_path, "late", longest_delay_s=None)
    with pytest.raises(NotYet, match="second half of the round"):
        late.prepare(48.85, 2.34)
    assert not late.device.budget().entries, "nothing was drawn"
    late.prepare(48.85, 2.34, early=True)
    late.send(wait=waited.append)
    assert 0 <= waited[-1] <= 10
    monkeypatch.setattr("sys.stdin.readline", lambda: "48.85 2.34", raising=False)
    assert terminal([collector.url, "golden", "--device", str(tmp_path / "third.json"), "--yes"]) == 2
    assert "second half of the round" in capsys.readouterr().err


def test_a_report_whose_moment_passed_without_a_ticket_does_not_follow_its_ticket_at_once(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers one device late would otherwise see ticket and report within 10 s."""
    clock = [1_000_000 + 20_500 * 86_400 + 100.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    me = person(collector, tmp_path, longest_delay_s=None)
    prepared = me.prepare(48.85, 2.34)
    collector.ticket = lambda _asked: (503, {"error": "busy"})
    with pytest.raises(NotSent, match="503"):
        me.send(wait=lambda _s: None)
    collector.ticket, before = sign, len(collector.seen)
    assert prepared.send_at_s is not None
    clock[0] = prepared.send_at_s + 1
    with pytest.raises(NotSent, match="the times would tell"):
        me.send(wait=lambda _s: None)
    assert {one["route"] for one in collector.seen[before:]} <= {"channel"}
    assert person(collector, tmp_path).send(wait=lambda _s: None) == "counted", "by the owner's own decision"


@pytest.mark.service
def test_both_clients_take_part_in_a_real_campaign_with_blind_tickets(tmp_path: Path) -> None:
    with CollectorProcess(f"sqlite:///{tmp_path}/x.db") as running:
        create(running.visitor, "town", tickets="blind")
        for number in range(3):
            device, caps = Device(tmp_path / f"{number}.json"), Caps(minimum_epoch_s=0)
            me = Participant(running.url, "town", device=device, caps=caps, longest_delay_s=0)
            me.prepare(48.853, 2.349)
            assert [me.send(), me.send()] == ["counted", "counted before"]
        assert close(running.visitor)["closed"]
        assert history(running.visitor)[0]["tickets"] == 3
