"""The reference names everything that is public: the names of ``sf.``, of every module, and every command."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import reference
import references

import sfumato

HOUSE = Path(sfumato.__file__).parent


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(reference.api_pages().values())


def test_every_public_name_is_in_the_reference_with_what_it_does(text: str) -> None:
    missing, silent = [], []
    for source in HOUSE.rglob("*.py"):
        if "cli" in source.relative_to(HOUSE).parts or source.name == "__main__.py":
            continue
        for node in reference.public_names(ast.parse(source.read_text("utf-8"))):
            if f"### `{node.name}`" not in text:
                missing.append(f"{source.name}: {node.name}")
            if not ast.get_docstring(node):
                silent.append(f"{source.name}: {node.name}")
    assert not missing
    assert not silent


def test_the_short_names_are_listed(text: str) -> None:
    for name in sfumato.__all__:
        assert name == "__version__" or f"| `sf.{name}` |" in text


def test_every_command_and_every_option_is_listed() -> None:
    page = reference.cli_page()
    for command in ("sfumato hide", "sfumato protect", "sfumato channel measure", "sfumato campaign create"):
        assert f"## `{command}`" in page
    assert "`--places`" in page
    empty = [line for line in page.splitlines() if line.startswith("| `-") and line.split("|")[2].strip() == ""]
    assert not empty  # an option without help


def test_every_citation_of_code_and_docs_has_an_entry() -> None:
    known = references.entries()
    root = HOUSE.parents[1]
    unknown = {
        f"{source.relative_to(root)}: {key}"
        for folder, ending in (("src", "*.py"), ("docs", "*.md"))
        for source in (root / folder).rglob(ending)
        for cited in re.findall(r"\[([A-Z][a-z]+[A-Za-z]*(?:19|20)\d\d)\]", source.read_text("utf-8"))
        for key in [cited]
        if key not in known
    }
    assert not unknown
    assert all(fields.get("title") and fields.get("author") and fields.get("year") for fields in known.values())
    assert "\\" not in references.references_page().replace("\\[", "")


def test_a_citation_becomes_a_link_and_code_does_not() -> None:
    made = references.linked("By [Meehan2021, Jiang2021]; `[Meehan2021]`; [Nobody1999].", "reference/references.md")
    assert "[\\[Meehan2021\\]](reference/references.md#meehan2021)" in made
    assert "(reference/references.md#jiang2021)" in made
    assert "`[Meehan2021]`" in made
    assert "[Nobody1999]." in made
