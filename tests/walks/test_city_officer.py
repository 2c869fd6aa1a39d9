"""The city officer: from a plan to a published map, by the commands of docs/run_a_campaign.md exactly as printed."""

from __future__ import annotations

import csv
import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT
from walking import Walker, installed, is_kind, looked_at, needs_a_browser, serving

pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.xdist_group("city_officer")]
TUTORIAL = ROOT / "docs" / "run_a_campaign.md"


def commands(heading: str) -> list[list[str]]:
    """The commands printed under a heading, as words."""
    (section,) = re.findall(
        rf"^## \d\. {heading}\n(.*?)(?=^## |\Z)", TUTORIAL.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    blocks = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith("sfumato")]


@pytest.fixture(scope="module")
def officer(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Walker, str]]:
    """Somebody with the collector installed and running, as printed but for the port."""
    me = installed(wheel, tmp_path_factory.mktemp("city"), "service")
    (serve,) = commands("Start the collector")
    with serving(me, *serve[2:]) as (url, _):
        yield me, url


def done(officer: tuple[Walker, str], heading: str) -> str:
    """Run what the tutorial prints under a heading; everything it answered."""
    me, url = officer
    answers = []
    for words in commands(heading):
        asks = words[1] == "campaign" or words[1:3] == ["collect", "crowd"]
        answers.append(me.does(*words, *(["--url", url] if asks else [])))
    return re.sub(r"\s+", " ", " ".join(answers))


def test_the_plan_says_in_words_what_will_be_learnt(officer: tuple[Walker, str]) -> None:
    said = done(officer, "Ask first what you will learn")
    found = re.search(r"With about 500 people you will be able to tell areas about ([\d.]+) km wide apart", said)
    assert found is not None, said
    assert 0.5 < float(found[1]) < 10


def test_a_campaign_from_link_to_map(officer: tuple[Walker, str]) -> None:
    me, url = officer
    assert "cycling" in done(officer, "Create the campaign")
    assert f"{url}/campaigns/cycling" in done(officer, "Tell people")
    assert 'lang="fr"' in (me.folder / "notice.html").read_text("utf-8")
    assert (me.folder / "poster.svg").read_text("utf-8").startswith("<svg")
    watched = done(officer, "Watch")
    assert "400 reports counted, 0 refused" in watched
    assert "cycle 1: closed" in watched
    deadline = time.monotonic() + 120
    while "cycle 1: 400 reports" not in me.does("sfumato", "campaign", "show", "cycling", "--url", url):
        assert time.monotonic() < deadline, "the map was not estimated"
        time.sleep(0.5)
    done(officer, "Use it")
    rows = list(csv.DictReader((me.folder / "map.csv").open()))
    assert sum(float(row["estimate"]) for row in rows) == pytest.approx(1, abs=1e-6)
    assert {(row["low"], row["high"]) for row in rows} == {("", "")}, "of 400 people only areas have intervals"
    assert len(json.loads((me.folder / "map.geojson").read_text())["features"]) == len(rows)


@pytest.mark.browser
def test_the_pages_are_kind_to_phones_and_screen_readers(officer: tuple[Walker, str]) -> None:
    needs_a_browser()
    _, url = officer
    pages = {"participant": f"{url}/campaigns/cycling", "dashboard": f"{url}/campaigns/cycling/dashboard"}
    found = looked_at({**pages, "operate": f"{url}/operate", "home": url}, "city")
    is_kind(found)
    assert "Where do you cycle most?" in found["participant"]["text"]


def test_it_ends_and_the_backup_opens(officer: tuple[Walker, str]) -> None:
    me, _ = officer
    assert "has ended" in done(officer, "End it")
    assert (me.folder / "before-we-close.db").stat().st_mode & 0o077 == 0
    answer = me.tries("sfumato", "campaign", "show", "cycling", "--url", officer[1])
    assert "ended" in answer.stdout or "archived" in answer.stdout
