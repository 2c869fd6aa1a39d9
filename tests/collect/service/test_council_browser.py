"""A city officer in a real browser, in French and in German, by keyboard alone: from the areas to the paper."""

from __future__ import annotations

import csv
import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import asked_hosts, driven, need_entry
from collector_harness import TOKEN, CollectorProcess
from repository import ROOT
from tile_maker import town_tiles

PICTURES = ROOT / "test-output" / "council"
pytestmark = [pytest.mark.browser, pytest.mark.service, pytest.mark.shared, pytest.mark.slow]
TEXTS = {
    "fr": {
        "title": "Où roule Paris",
        "question": "Où roulez-vous le plus souvent ?",
        "organiser": "Ville de Paris",
        "legal_basis": "Art. 6, par. 1, point e) RGPD",
        "officer": "Déléguée à la protection des données",
        "processor": "Ville de Paris",
        "retention": "31/12/2040",
    },
    "de": {
        "title": "Wo Paris radelt",
        "question": "Wo fahren Sie am meisten?",
        "organiser": "Stadt Paris",
        "legal_basis": "Art. 6 Abs. 1 Buchst. e DSGVO",
        "officer": "Datenschutzbeauftragte der Stadt",
        "processor": "Stadt Paris",
        "retention": "31.12.2040",
    },
}
NAMES = {"fr": "ou-roule-paris", "de": "wo-paris-radelt"}
CHANGED = {"fr": "La carte a changé\u00a0: le tour 2", "de": "Die Karte hat sich geändert: Runde 2"}
SAYS = {
    "fr": (
        "Avec environ 1\u202f500 personnes",
        "n’envoie que ce carré",
        "aucune différence établie",
        r"\d\d/11/20\d\d",
    ),
    "de": ("Mit etwa 1.500", "nur dieses", "kein Unterschied feststellbar", r"\d\d\.\d\d\.20\d\d"),
}
Story = tuple[str, CollectorProcess, dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=["fr", pytest.param("de", marks=pytest.mark.postgres)],
    ids=["French on SQLite", "German on PostgreSQL"],
)
def story(
    request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """1,500 simulated people a round; in the second they are elsewhere."""
    need_entry("operate")
    language, folder = str(request.param), tmp_path_factory.mktemp("council")
    database = f"sqlite:///{folder / 'x.db'}"
    if language == "de":
        database = request.getfixturevalue("postgres").create_database("council")
    tiles = town_tiles(folder / "paris.pmtiles", south=48.80, west=2.20, north=48.92, east=2.48)
    with CollectorProcess(database, tiles=tiles, complete_notices=1) as collector:
        crowd = [sys.executable, "-c", "from sfumato.cli import main; main()", "collect", "crowd", "--people", "1500"]
        yield (
            language,
            collector,
            driven(
                "council.mjs",
                pictures=PICTURES / language,
                url=collector.url,
                token=TOKEN,
                language=language,
                areas=str(shared_data / "basemap" / "paris_arrondissements.geojson"),
                field="name",
                texts=TEXTS[language],
                crowd=[*crowd, "--campaign", NAMES[language], "--url", collector.url],
            ),
        )


def test_every_screen_is_in_the_language_accessible_and_fits_a_phone(story: Story) -> None:
    language, collector, found = story
    assert found["language"] == language
    assert {name: look for name, look in found["looks"].items() if any(look.values())} == {}
    assert len(found["looks"]) == 24
    assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
    assert found["problems"] == []
    for name, told in found["texts"].items():
        assert not re.search(r"\{[a-z_]+\}", told), name
        assert not re.search(r"\b(the|QR code of|Settings|reports)\b", told), name
    assert SAYS[language][0] in found["plan"]
    assert found["zone"] == "Europe/Paris"


def test_a_change_is_said_first_and_the_average_is_no_answer(story: Story) -> None:
    language, collector, found = story
    for page in ("dashboard", "report"):
        assert CHANGED[language] in found["texts"][page]
        assert SAYS[language][2] in found["texts"][page]
    name = NAMES[language]
    cells = list(csv.DictReader(collector.visitor.get(f"/api/v1/campaigns/{name}/estimate.csv").text.splitlines()))
    assert {(one["averaged_rounds"], one["low"]) for one in cells} == {("1", "")}
    assert all(one["estimate"] == one["this_cycle"] for one in cells)
    shapes = collector.visitor.get(f"/api/v1/campaigns/{name}/districts.geojson").json()["features"]
    answer = collector.visitor.get(f"/api/v1/campaigns/{name}/estimate.json").json()["cycle"]["districts"]
    told = [round(one["share"], 6) for one in answer["this_round"]]
    assert [one["properties"]["share"] for one in shapes] == told != [one["share"] for one in answer["average"]]


def test_the_report_is_whole_on_paper_and_its_files_say_of_whom_when_and_how_sure(story: Story) -> None:
    language, _, found = story
    folder, name = PICTURES / language, NAMES[language]
    assert found["cut"] == found["onPaper"] == []
    assert found["legendOnPaper"] == [["exact", True, True]] * 2
    for paper, most in (("report.pdf", 4), ("poster.pdf", 1)):
        content = (folder / paper).read_bytes()
        assert {re.sub(rb"\.\d+", b"", one) for one in re.findall(rb"/MediaBox \[([^]]*)\]", content)} <= {
            b"0 0 594 841",
            b"0 0 595 842",
            b"0 0 595 841",
        }
        assert 1 <= len(re.findall(rb"/Type /Page\b", content)) <= most, paper
    table = (folder / f"{name}.csv").read_text("utf-8-sig").splitlines()
    rows = list(csv.DictReader(table, delimiter=";"))
    heads = list(rows[0])
    assert not set(heads) & {"district", "share", "low", "high", "from", "until", "level", "reports"}
    assert {row[heads[-4]] for row in rows} == {"1500"}
    assert re.fullmatch(SAYS[language][3] + r" \d\d:\d\d", rows[0][heads[-3]])
    assert rows[0][heads[-1]] == "0,95"
    assert all(row[heads[0]] for row in rows)
    picture = (folder / f"{name}.svg").read_text("utf-8")
    for words in (TEXTS[language]["question"], "95\u00a0%" if "95\u00a0%" in picture else "95 %"):
        assert words in picture, words
    assert re.search(r"1[.\u202f]500 \w+ · .*" + SAYS[language][3], re.sub(r"</text><text[^>]*>", " ", picture))
    assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert found["reportMs"] < 5000


def test_any_two_groups_of_rounds_are_compared_on_the_page(story: Story) -> None:
    language, _, found = story
    rounds = {"fr": "Avant\u00a0: tour 2. Après\u00a0: tour 1.", "de": "Vorher: Runde 2. Nachher: Runde 1."}
    assert rounds[language] in found["turned"]
    assert found["refused"]
    assert "Compare one round" not in found["refused"], "in the reader's language"


def test_the_poster_says_what_is_sent_and_who_asks(story: Story) -> None:
    language, _, found = story
    for words in (TEXTS[language]["question"], TEXTS[language]["organiser"], SAYS[language][1], found["address"]):
        assert words in found["poster"], words


def _sent(address: str) -> int:
    """How many bytes come over the wire for a browser, without a proxy."""
    asked = urllib.request.Request(address, headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(asked, timeout=30) as reply:
        return len(reply.read())


def test_the_participants_page_weighs_at_most_120_kb(story: Story) -> None:
    language, collector, found = story
    addresses = {one for one in found["loaded"] if one.startswith(collector.url) and "/tiles/" not in one}
    for other in ({"en", "fr", "de", "es"} - {language}) if language == "fr" else ():
        own = {one.replace(f"/{language}.js", f"/{other}.js") for one in addresses}
        own = {f"{one}?language={other}" if one == found["address"] else one for one in own}
        assert sum(map(_sent, own)) <= 120_000, other
    weight = {urlsplit(one).path: _sent(one) for one in addresses}
    print(json.dumps(weight), sum(weight.values()))
    assert any("participant.js" in path for path in weight)
    assert sum(weight.values()) <= 120_000
