"""One version: the package's, the JavaScript packages' and the citation's."""

from __future__ import annotations

import json

import pytest
from repository import ROOT

import sfumato as sf


@pytest.mark.parametrize("name", ["clients/js/package.json", "web/package.json"])
def test_the_javascript_packages_have_the_packages_version(name: str) -> None:
    assert json.loads((ROOT / name).read_text(encoding="utf-8"))["version"] == sf.__version__


def test_the_citation_and_the_changelog_name_the_version() -> None:
    assert f"version: {sf.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace('"', "")
    assert f"## {sf.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
