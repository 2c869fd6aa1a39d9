"""In a real browser: what an operator might try on a device, blind tickets on the page, and a page over plain http."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import driven, need_entry
from collector_harness import CollectorProcess, close, create, history
from repository import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.service]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    need_entry("participant")
    if not (ROOT / "clients" / "js" / "dist" / "golden.js").is_file():
        pytest.skip("clients/js is not built: run `make web`")
    with CollectorProcess(f"sqlite:///{tmp_path_factory.mktemp('town')}/x.db") as collector:
        create(collector.visitor, tickets="blind")
        place = {"latitude": 48.853, "longitude": 2.321}
        told = driven("attacks.mjs", pictures=ROOT, url=collector.url, campaign="town", place=place)
        closed = close(collector.visitor)
        told["counted"] = history(collector.visitor)[0]["tickets"] if closed["closed"] else 0
        yield told


def test_no_attack_works_in_chromium(found: dict[str, Any]) -> None:
    assert {name: told for name, told in found["attacks"].items() if told} == {}
    names = " ".join(found["attacks"])
    for attack in ("moved by half a cell", "another log", "second version", "one person alone", "can be linked", "RFC"):
        assert attack in names
    assert len(found["attacks"]) > 30


def test_a_page_asks_with_a_blinded_ticket_and_reports_with_one_that_was_never_shown(found: dict[str, Any]) -> None:
    assert "counted in round 1" in found["told"]
    assert found["counted"] == 1
    [ticket, report] = found["asked"]
    assert sorted(ticket) == ["blinded", "cycle", "device"]
    _, _, message, _ = report["ticket"].split("-")
    assert message not in ticket["blinded"]
    [campaign] = json.loads(found["kept"])["campaigns"].values()
    assert [one["ticket"]["message"] for one in campaign["reports"].values()] == [message]


def test_over_plain_http_the_page_says_that_no_signature_can_be_checked(found: dict[str, Any]) -> None:
    assert "Signatures can be checked over https only. Open the page with https." in found["plain"]
