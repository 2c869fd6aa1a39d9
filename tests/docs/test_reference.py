"""The reference names everything that is public: the names of ``sf.``, of every module, and every command."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import pytest
import reference
import references
import typer

import sfumato
from sfumato.cli import app

HOUSE = Path(sfumato.__file__).parent


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(reference.api_pages().values())


def documented(text: str) -> set[str]:
    """``module.name`` for everything that mkdocstrings draws: the members of each module that a page names."""
    options = (HOUSE.parents[1] / "mkdocs.yml").read_text("utf-8")
    assert 'filters: ["!^_"]' in options
    assert "show_if_no_docstring: true" in options
    ours = griffe.Extensions(reference.Docstrings())
    package = griffe.load("sfumato", search_paths=[HOUSE.parent], allow_inspection=False, extensions=ours)
    found = set()
    for name in re.findall(r"^::: (\S+)$", text, flags=re.M):
        module = package[name.partition(".")[2]] if "." in name else package
        found |= {f"{name}.{member}" for member, drawn in module.members.items() if not drawn.is_alias}
    return found


@pytest.mark.slow
def test_every_public_name_is_in_the_reference_under_its_own_module(text: str) -> None:
    public, silent = set(), []
    for source in HOUSE.rglob("*.py"):
        module = ".".join(source.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__")
        if module.startswith("sfumato.cli") or source.name == "__main__.py":
            continue
        for node in ast.parse(source.read_text("utf-8")).body:
            defined = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            names = [node.name] if defined else _assigned(node)
            public |= {f"{module}.{name}" for name in names if not name.startswith("_")}
            if (
                defined
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
                and "overload" not in str([ast.unparse(one) for one in node.decorator_list])
            ):
                silent.append(f"{module}.{node.name}")
    assert len(public) > 2000  # 2,300 when this was written: a walk that finds nothing proves nothing
    assert {
        "sfumato.base.things.traces.Trace",
        "sfumato.tracks.places.zones.RADII_M",
        "sfumato.tracks.people.door.protect",
    } <= public
    assert not public - documented(text)
    assert not silent


def _assigned(statement: ast.stmt) -> list[str]:
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def test_the_short_names_are_listed(text: str) -> None:
    for name in sfumato.__all__:
        assert name == "__version__" or f"| `sf.{name}` |" in text


def test_every_command_and_every_option_is_listed_under_its_own_heading() -> None:
    page = reference.cli_page()
    sections = {part.split("`", 1)[0]: part for part in re.split(r"^## `", page, flags=re.M)[1:]}
    called = [(path, one) for path, one in walked(typer.main.get_command(app)) if one.callback and path != "sfumato"]
    assert len(called) > 50
    assert {"sfumato design", "sfumato channel measure"} <= {path for path, _ in called}
    for path, command in called:
        if getattr(command, "commands", {}) and not command.invoke_without_command:
            continue  # a group that does nothing by itself
        for option in [name for parameter in command.params for name in parameter.opts if name.startswith("--")]:
            assert option == "--help" or f"`{option}`" in sections[path], f"{path} {option}"
    empty = [line for line in page.splitlines() if line.startswith("| `-") and line.split("|")[2].strip() == ""]
    assert not empty  # an option without help


def walked(command: Any, path: str = "sfumato") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from walked(child, f"{path} {name}")


def test_every_citation_of_code_and_docs_has_an_entry() -> None:
    known = references.entries()
    root = HOUSE.parents[1]
    unknown = {
        f"{source.relative_to(root)}: {key}"
        for folder, ending in (("src", "*.py"), ("docs", "*.md"))
        for source in (root / folder).rglob(ending)
        for cited in re.findall(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d\b[^\[\]]*)\]", source.read_text("utf-8"))
        for key in re.findall(r"[A-Z][A-Za-z]+(?:19|20)\d\d", cited)
        if key not in known
    }
    assert not unknown
    assert all(fields.get("title") and fields.get("author") and fields.get("year") for fields in known.values())
    assert "\\" not in references.references_page().replace("\\[", "")


def test_a_citation_becomes_a_link_and_code_does_not() -> None:
    text = "By [Meehan2021, Jiang2021]; [Biswas2023, Sec. 3]; `[Meehan2021]`; [Nobody1999]; [Meehan2021](here.md)."
    made = references.linked(text, "reference/references.md")
    both = "[Meehan2021](reference/references.md#meehan2021), [Jiang2021](reference/references.md#jiang2021)"
    assert f"By &#91;{both}&#93;;" in made
    assert " &#91;[Biswas2023](reference/references.md#biswas2023), Sec. 3&#93;;" in made
    assert made.endswith("`[Meehan2021]`; [Nobody1999]; [Meehan2021](here.md).")


def test_a_docstring_is_drawn_as_markdown_with_its_citations_linked() -> None:
    made = reference.prose("See :func:`~sfumato.protect`::\n\n    code\n")
    assert made == "See `sfumato.protect`:\n\n    code\n"
    with griffe.temporary_visited_package(
        "tiny",
        {"__init__.py": '"""By [Meehan2021, Thm 3.4]."""\n'},
        extensions=griffe.Extensions(reference.Docstrings()),
    ) as package:
        assert package.docstring is not None
        assert "[Meehan2021](references.md#meehan2021), Thm 3.4" in package.docstring.value
