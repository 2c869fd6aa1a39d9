"""The documentation links to the browser page where it was built, and says how to build it where it was not."""

from __future__ import annotations

from pathlib import Path

import hosted_page
from hosted_page import MARK, linked

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_linked_with_its_size_where_it_was_built(tmp_path: Path) -> None:
    page = tmp_path / "sfumato-protect.html"
    page.write_bytes(b"x" * 423_600)
    assert linked(f"Before {MARK} after", page).startswith("Before [Open the page](sfumato-protect.html)")
    assert "424 kB" in linked(MARK, page)


def test_without_it_the_text_says_how_to_build_it(tmp_path: Path) -> None:
    words = linked((DOCS / "places.md").read_text("utf-8"), tmp_path / "none.html")
    assert hosted_page.NOT_BUILT in words
    assert "Open the page" not in words
    assert MARK not in words
