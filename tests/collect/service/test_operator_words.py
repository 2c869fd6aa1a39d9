"""The operator's screens, refusals, plans and e-mails in the four languages: all of them, with the same holes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from collector_harness import client, create, operator
from repository import ROOT
from starlette.testclient import TestClient

from sfumato.collect.service import pages, sentences
from sfumato.collect.service.pages.words import words
from sfumato.collect.service.sentences import LANGUAGES, in_language
from sfumato.collect.service.store.faults import _FAULTS

SERVICE = ROOT / "src" / "sfumato" / "collect" / "service"
LYON = {"south": 45.70, "west": 4.78, "north": 45.80, "east": 4.92, "cell_size_m": 500.0}
VALLEY = {"south": 45.70, "west": 4.78, "north": 45.716, "east": 9.0, "cell_size_m": 300.0}  # many cells, few pairs
# What is said to operators who use the screens; what only devices, start-up and the terminal say stays English.
SPOKEN = (
    *("operating/lifecycle.py", "routes/operate.py", "routes/common.py", "rounds/signed_offers.py", "rounds/staff.py"),
    "rounds/closing.py",
    *("../loop/districts.py", "../../base/things/areas.py"),
)
NOT_THERE = (
    *("demonstration", "webhook", "smtp", "E-mail", "SFUMATO_", "shorter than", "Choose a longer", "paris, sf"),
    *("receiver checks", "https://host", "Cannot read", "Give a GeoJSON file", "is not JSON", "is not GeoJSON"),
    "Its top must be",  # of a file on the command line: the screens send what is JSON already
)


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as found:
        yield found


def raised() -> Iterator[str]:
    """What the code of those files says when it refuses, sentence by sentence, with 7 where a value stands."""
    for name in SPOKEN:
        for node in ast.walk(ast.parse((SERVICE / name).read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Refused", "InputError"):
                for said in filter(None, map(_text, node.args)):
                    yield from sentences._BETWEEN.split(said)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return ""


def test_every_refusal_an_operator_may_read_is_there_in_every_language() -> None:
    found = {one for one in raised() if one != "7" and not any(word in one for word in NOT_THERE)}
    assert len(found) > 30
    said = {one.replace("is 7 left out", "is not left out") for one in found}
    unknown = {one for one in said if sentences._sentence(one, "fr") is None}
    assert unknown == set()
    assert {what for what, _ in _FAULTS.values() if in_language(what, "de") == what} == set()


def test_the_table_has_all_languages_with_the_same_holes_and_no_double_meaning() -> None:
    rows = json.loads((SERVICE / "sentences.json").read_text("utf-8"))
    for english, said in rows.items():
        assert list(said) == ["fr", "de", "es"]
        holes = sorted(re.findall(r"\{(\w+)\}", english))
        for language, other in said.items():
            assert sorted(re.findall(r"\{(\w+)\}", other)) == holes, (language, english)
            assert other.strip() == other != english or not holes, (language, english)
    # A template is found by itself: no longer one swallows it.
    for english, said in rows.items():
        filled = english.format(**dict.fromkeys(re.findall(r"\{(\w+)\}", english), "7"))
        wanted = said["fr"].format(**dict.fromkeys(re.findall(r"\{(\w+)\}", english), "7"))
        assert in_language(filled, "fr") == wanted


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_screens_have_the_same_words_and_holes_in_every_language(language: str) -> None:
    english, other = words("en", operate=True).texts, words(language, operate=True).texts
    assert list(other) == list(english)
    for key, said in other.items():
        assert set(re.findall(r"\{(\w+)\}", said)) == set(re.findall(r"\{(\w+)\}", english[key])), key
        assert said.strip() == said != ""
    if language != "en":
        same = {key for key, said in other.items() if said == english[key]}
        assert len(same) < 16, same
    if language == "fr":
        french = " ".join(other.values())
        assert not re.findall(r"[^\u202f ][;?!](?!\w)| [;?!%]|(?<!\u00a0):(?!//)|'", french)
    used = "".join(path.read_text() for path in (ROOT / "web" / "src").rglob("operate*/**/*.ts"))
    used += (ROOT / "web" / "src" / "operate.ts").read_text() + (SERVICE / "pages" / "home.py").read_text()
    plain = ("did_", "detail_", "about_")
    unused = {
        key
        for key in english
        if f'"{key}"' not in used and not key.startswith(plain) and not key.endswith(("_hint", "_one", "_many"))
    }
    assert unused == set()


def test_numbers_in_a_sentence_are_written_as_the_language_writes_them() -> None:
    said = "The grid has 12,345 cells; this server allows 2,500. Use larger cells."
    assert (
        in_language(said, "de")
        == "Das Raster hat 12.345 Quadrate; dieser Server erlaubt 2.500. Nehmen Sie größere Quadrate."
    )
    assert in_language("Use cells of 1.5 km or more.", "fr") == "Prenez des carrés de 1,5 km ou plus."
    assert in_language("Somebody says something else. Use larger cells.", "es") == (
        "Somebody says something else. Use cuadrados más grandes."
    )
    assert in_language(said, "en") == said


def test_refusals_and_reasons_speak_the_language_of_the_screens_and_english_to_programs(visitor: TestClient) -> None:
    create(visitor, name="town")
    asked = {"accept-language": "fr", **operator()}
    assert visitor.post("/api/v1/campaigns/town/resume", json={}, headers=asked).json()["error"] == (
        "La campagne est en cours\u202f; seule une campagne en pause se reprend."
    )
    closed = visitor.post("/api/v1/campaigns/town/close", json={}, headers=asked).json()
    assert "participants dans ce tour" in closed["reason"]
    assert (
        "tickets were spent"
        in visitor.post("/api/v1/campaigns/town/close", json={}, headers=operator()).json()["reason"]
    )
    without = visitor.post("/api/v1/campaigns/town/resume", json={}, headers={"accept-language": "fr"})
    assert without.json()["error"].startswith("This needs the operator's token")
    wrong = visitor.post("/api/v1/plans", json={"grid": LYON, "people": 0}, headers=asked).json()
    assert wrong["errors"] == ["people\u00a0: au moins 1"]


@pytest.mark.parametrize("language", ["fr", "de", "es"])
def test_a_plan_has_no_english_left(visitor: TestClient, language: str) -> None:
    headers = {"accept-language": language, **operator()}
    for asked in (
        {},
        {"people": 5},
        {"grid": {**LYON, "cell_size_m": 1000.0}, "epsilon_per_km": 9.0},
        {"grid": VALLEY},
        {"people": 90_000},
    ):
        plan = visitor.post("/api/v1/plans", json={"grid": LYON, "people": 500, **asked}, headers=headers).json()[
            "plan"
        ]
        said = " ".join([plan["words"], plan["map_words"], *plan["advice"]])
        english = {"the", "of", "with", "people", "cells", "map", "day", "week", "weeks", "report", "apart", "per"}
        assert not english & set(re.findall(r"[A-Za-z]+", said)), said


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_frame_of_the_screens_is_in_the_language_asked_for(visitor: TestClient, language: str) -> None:
    page = visitor.get("/operate", headers={"accept-language": f"{language},en;q=0.1"}).text
    assert f'<html lang="{language}">' in page
    assert pages.operate_page(language=language).count('href="/operate?language=') == 4
    assert visitor.get("/operate", params={"language": language}).text == page
