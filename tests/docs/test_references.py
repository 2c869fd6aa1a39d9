"""Every citation in code and docs has an entry in docs/references.bib."""

from __future__ import annotations

import re

from repository import ROOT

CITATION = re.compile(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d)[a-z]?(?:[,;\]])")


def cited() -> dict[str, str]:
    found: dict[str, str] = {}
    for pattern in ("src/**/*.py", "docs/**/*.md", "README.md"):
        for path in ROOT.glob(pattern):
            for key in CITATION.findall(path.read_text(encoding="utf-8")):
                found.setdefault(key, str(path.relative_to(ROOT)))
    return found


def test_every_cited_key_is_in_the_bibliography() -> None:
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.M))
    missing = {key: place for key, place in cited().items() if key not in entries}
    assert not missing


def test_the_citations_are_found_at_all() -> None:
    assert "Meehan2021" in cited()
