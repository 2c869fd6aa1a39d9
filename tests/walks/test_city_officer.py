"""The city officer: from a plan to a published map and a printed report, by the commands of docs/run_a_campaign.md."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT
from walking import CHROMIUM, Walker, installed, is_kind, looked_at, needs_a_browser, serving

pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.xdist_group("city_officer")]
TUTORIAL = ROOT / "docs" / "run_a_campaign.md"


def commands(heading: str) -> list[list[str]]:
    """The commands printed under a heading, as words."""
    (section,) = re.findall(
        rf"^## \d\. {heading}\n(.*?)(?=^## |\Z)", TUTORIAL.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    blocks = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith("sfumato")]


def console(heading: str) -> list[list[str]]:
    """The commands of a console under a heading."""
    section = TUTORIAL.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [shlex.split(line.removeprefix("$ ")) for line in section.splitlines() if line.startswith("$ sfumato")]


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


def until_shown(officer: tuple[Walker, str], campaign: str, words: str) -> None:
    """Wait for a round that is closed to be estimated."""
    me, url = officer
    deadline = time.monotonic() + 120
    while words not in me.does("sfumato", "campaign", "show", campaign, "--url", url):
        assert time.monotonic() < deadline, "the map was not estimated"
        time.sleep(0.5)


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
    until_shown(officer, "cycling", "cycle 1: 400 reports")
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


DISTRICTS = ("Bellevue", "Dervallières", "Île de Nantes", "Malakoff")


def quarters() -> str:
    """Four districts of the rectangle that the guide plans, as GeoJSON."""
    lat, lon = (47.19, 47.235, 47.28), (-1.63, -1.56, -1.49)
    corners = [(lat[i], lon[j], lat[i + 1], lon[j + 1]) for i in (0, 1) for j in (0, 1)]
    features = [
        {
            "type": "Feature",
            "properties": {"nom": name},
            "geometry": {"type": "Polygon", "coordinates": [[[w, s], [e, s], [e, n], [w, n], [w, s]]]},
        }
        for name, (s, w, n, e) in zip(DISTRICTS, corners, strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features})


def printed(me: Walker, url: str, output: str) -> bytes:
    """A page as Chromium prints it."""
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={output}"]
    command = [CHROMIUM, *flags, f"--user-data-dir={me.folder / 'profile'}", url]
    subprocess.run(command, cwd=me.folder, capture_output=True, timeout=180, check=True)
    return (me.folder / output).read_bytes()


@pytest.mark.browser
def test_districts_two_groups_of_rounds_and_the_report_on_paper(officer: tuple[Walker, str]) -> None:
    me, url = officer
    (me.folder / "quartiers.geojson").write_text(quarters(), "utf-8")
    plan, create, export, compare = console("Districts, and what changed")
    told = me.does(*plan)
    assert "Bellevue" in told
    assert "it takes about" in told
    here, key = ["--url", url], ["--token-file", "operator.token"]
    me.does(*create, "--rehearsal", "--minimum-cycle", "0", "--language", "fr", *here, *key)
    token = (me.folder / "operator.token").read_text().strip()
    crowd = ["sfumato", "collect", "crowd", "--campaign", "nantes", "--people", "300", *here]
    me.does(*crowd, "--city", "paris", "--cycles", "2", SFUMATO_OPERATOR_TOKEN=token)
    me.does(*crowd, "--city", "sf", SFUMATO_OPERATOR_TOKEN=token)  # elsewhere: the third round is another one
    until_shown(officer, "nantes", "cycle 3: 300 reports")
    me.does(*export, *here)
    rows = list(csv.DictReader((me.folder / "quartiers.csv").open(encoding="utf-8")))
    assert {name for row in rows for name in row["district"].split(" + ")} == {*DISTRICTS, ""}
    assert {row["level"] for row in rows} == {"0.95"}
    said = me.does(*compare, *here)
    assert all(name in said for name in DISTRICTS)
    assert "95 % intervals of each difference" in said
    for kind in ("html", "svg", "csv"):
        me.does("sfumato", "campaign", "report", "nantes", "-o", f"report.{kind}", *here)
    assert '<html lang="fr">' in (me.folder / "report.html").read_text("utf-8")
    assert (me.folder / "report.csv").read_text("utf-8-sig").count(";") > 20
    needs_a_browser()
    paper = printed(me, f"{url}/campaigns/nantes/report", "report.pdf")
    assert re.search(rb"/MediaBox \[0 0 59[45][0-9.]* 84[12]", paper), "A4"
    assert 1 <= len(re.findall(rb"/Type /Page\b", paper)) <= 4
    is_kind(looked_at({"report": f"{url}/campaigns/nantes/report"}, "city"))


def test_it_ends_and_the_backup_opens(officer: tuple[Walker, str]) -> None:
    me, _ = officer
    assert "has ended" in done(officer, "End it")
    assert (me.folder / "before-we-close.db").stat().st_mode & 0o077 == 0
    answer = me.tries("sfumato", "campaign", "show", "cycling", "--url", officer[1])
    assert "ended" in answer.stdout or "archived" in answer.stdout
