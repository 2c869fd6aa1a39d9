"""The page of what of the papers is here: up to date, no cell empty, and everything it names exists."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import click
import papers_coverage as coverage
import pytest
import typer.main
from repository import ROOT

from sfumato.cli import app
from sfumato.papers import REPRODUCTIONS

ROWS = [row for rows in coverage.papers().values() for row in rows]
IDS = [f"{number}: {row.item}" for number, row in enumerate(ROWS)]


def test_the_page_is_up_to_date() -> None:
    assert coverage.PAGE.read_text(encoding="utf-8") == coverage.page(), "run python scripts/papers_coverage.py"


def test_the_notation_page_exists() -> None:
    assert (ROOT / "docs" / "notation.md").exists()


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_no_cell_is_empty_and_a_missing_thing_says_why(row) -> None:
    cells = (row.item, row.says, row.function, row.command, row.test, row.verdict)
    assert all(cells)
    missing = "none" in (row.function, row.command, row.test)
    assert missing == row.verdict.startswith("not implemented, because ")
    assert row.verdict == "works" or re.match(r"fails as printed, see erratum (P|E)?\d+$|not implemented", row.verdict)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_function_named_can_be_imported(row) -> None:
    if row.function != "none":
        module, _, name = row.function.partition(":")
        found = import_module(f"sfumato.{module}")
        assert hasattr(found, name)


def commands(group: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found = {path: group}
    for name, command in getattr(group, "commands", {}).items():
        found |= commands(command, (*path, name))
    return found


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_command_named_exists_with_its_options(row) -> None:
    if row.command == "none":
        return
    words = row.command.split()
    path = tuple(words[:2]) if tuple(words[:2]) in COMMANDS else tuple(words[:1])
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options
    if path == ("reproduce",):
        assert words[1] in REPRODUCTIONS


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_test_named_exists_and_asserts(row) -> None:
    if row.test == "none":
        return
    file, _, name = row.test.partition("::")
    name, _, case = name.partition("[")
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    calls = [node.func for node in ast.walk(found) if isinstance(node, ast.Call)]
    checks = [call.attr for call in calls if isinstance(call, ast.Attribute)]
    checks += [call.id for call in calls if isinstance(call, ast.Name)]
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(found))
    assert asserts or any(name.startswith(("assert_", "refused", "raises")) for name in checks)
    if case:
        assert case.rstrip("]") in REPRODUCTIONS


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_the_erratum_named_is_on_the_page_of_errata(row) -> None:
    number = re.search(r"erratum (\S+)$", row.verdict)
    if number is not None:
        errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
        assert re.search(rf"^\| {number[1]} \|", errata, re.MULTILINE)


def test_every_erratum_is_in_some_row_or_says_that_nothing_follows() -> None:
    errata = re.findall(
        r"^\| ((?:P|E)?\d+) \|", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = {match[1] for row in ROWS if (match := re.search(r"erratum (\S+)$", row.verdict))}
    assert named <= set(errata)
    assert len(named) >= 35
