"""The documentation on a phone: what ``scripts/docs_phone.py`` would complain about, and formulas in their own box."""

from __future__ import annotations

import importlib
from pathlib import Path

import docs_phone
import pytest
from repository import ROOT

GOOD = """<!doctype html><title>Good</title><meta name="viewport" content="width=device-width"><article>
<p>Fine, and <code>$a$ \\(b\\)</code> is code. <math><mi>x</mi></math></p>
<div style="overflow-x: auto"><div style="width: 900px">A box may scroll.</div></div></article>"""
BAD = """<!doctype html><title>Bad</title><meta name="viewport" content="width=device-width"><article>
<div style="width: 900px">Too wide.</div><p>\\(x^2\\)</p><math><mi>\\arg</mi></math>
<img alt="" src="http://127.0.0.2:9/elsewhere.png"></article>"""


def test_nothing_is_said_of_pages_that_fit() -> None:
    page = {"path": "", "width": 390, "room": 390, "wide": [], "raw": [], "formulas": 1, "flat": 0}
    assert docs_phone.complaints({"found": [page], "elsewhere": []}) == []


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_that_scrolls_sideways_shows_tex_or_asks_elsewhere_is_told_from_one_that_does_not(
    tmp_path: Path,
) -> None:
    if reason := docs_phone.missing():
        pytest.skip(reason)
    for name, text in (("good", GOOD), ("bad", BAD)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(text, encoding="utf-8")
    found = docs_phone.looked(tmp_path)
    said = docs_phone.complaints(found)
    assert [page["path"] for page in found["found"]] == ["bad/", "good/"]
    assert not [line for line in said if line.startswith("good/")]
    assert any("px wide on 390 px" in line and "Too wide." in line for line in said)
    assert sum("a formula is still text" in line for line in said) == 2
    assert "asks http://127.0.0.2:9" in said


def test_a_formula_on_lines_of_its_own_stands_in_a_box_that_scrolls(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml", reason="latex2mathml is installed with the docs extra")
    monkeypatch.syspath_prepend(str(ROOT))
    mkdocs_math = importlib.import_module("mkdocs_math")
    block = mkdocs_math.on_page_content('<div class="arithmatex">\\[\nA \\succeq B\n\\]</div>')
    inline = mkdocs_math.on_page_content('<span class="arithmatex">\\(a &lt; b\\)</span>')
    assert block.startswith('<div class="formula"><math')
    assert "<mo>&#x02AB0;</mo>" in block
    assert inline.startswith("<math")
    assert "<mo>&#x0003C;</mo>" in inline
    assert ".formula" in (ROOT / "docs" / "style.css").read_text("utf-8")
