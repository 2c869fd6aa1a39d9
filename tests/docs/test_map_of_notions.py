"""The map of notions in the documentation is the one the conversion code draws today."""

from __future__ import annotations

import doctest
import re
from xml.etree import ElementTree as ET

import made_tables
import pytest
from map_of_notions import draw
from repository import ROOT

from sfumato.channels.conversions.implications import IMPLICATIONS
from sfumato.channels.conversions.routes import NOTIONS, Facts, convert

PAGE = ROOT / "docs" / "notions.md"
AGAIN = "run: python scripts/map_of_notions.py docs"


def test_the_picture_is_the_one_drawn_from_the_code() -> None:
    assert (ROOT / "docs" / "images" / "map_of_notions.svg").read_text(encoding="utf-8") == draw(), AGAIN


def test_the_page_is_built_with_a_row_for_every_implication() -> None:
    page = PAGE.read_text(encoding="utf-8")
    built = made_tables.made(page)
    assert len(built.splitlines()) >= len(page.splitlines()) + len(IMPLICATIONS)
    for edge in IMPLICATIONS:
        names = f"| {NOTIONS[edge.source].name} | {NOTIONS[edge.target].name} |"
        assert any(line.startswith(names) and f"[{edge.reference}]" in line for line in built.splitlines()), names


def test_the_picture_shows_every_notion_and_every_implication() -> None:
    drawn = ET.fromstring(draw())
    titles = [node.text or "" for node in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert sum(any(t.startswith(f"{key}: ") for t in titles) for key in NOTIONS) == len(NOTIONS)
    for edge in IMPLICATIONS:
        assert any(t.startswith(f"{edge.source} → {edge.target}: ") for t in titles)


def test_every_reference_of_an_implication_is_in_the_bibliography() -> None:
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.M))
    assert {edge.reference for edge in IMPLICATIONS} - {"ours"} <= entries


def test_the_example_of_the_page_gives_its_numbers() -> None:
    route = convert(1.0, "ldp", "mutual_information_nats", Facts(prior=[0.5, 0.3, 0.2]))
    assert route.value == pytest.approx(0.1233, abs=5e-5)
    assert [step.target for step, _ in route.steps] == ["capacity", "mutual_information_nats"]
    through = convert(convert(1.0, "ldp", "lip", Facts(prior=[0.5, 0.3, 0.2])).value, "lip", "mutual_information_nats")
    assert through.value == pytest.approx(0.3523, abs=5e-5)


def test_the_examples_in_python_print_what_the_page_says() -> None:
    block = re.search(r"^```python\n(>>> .*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert block is not None
    example = doctest.DocTestParser().get_doctest(block[1], {}, "notions.md", str(PAGE), 0)
    assert len(example.examples) > 10
    wrong: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=wrong.append)
    assert not wrong, "".join(wrong)
