"""Docs and help are part of the product: every command, option and page is documented, or a test fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import made_tables
import pytest
import references
import typer.main
from repository import ROOT

from sfumato.cli import app
from sfumato.moved import GONE, MOVED

PAGES = sorted((ROOT / "docs").rglob("*.md"))
# At build time: scripts/reference.py and scripts/papers_coverage.py.
MADE = {"reference/index.md", "reference/cli.md", references.PAGE, "coverage.md"}


def commands(group: click.Command, path: str = "sfumato") -> Iterator[tuple[str, click.Command]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path} {name}")


COMMANDS = list(commands(typer.main.get_command(app)))
LEAVES = [(path, command) for path, command in COMMANDS if not getattr(command, "commands", {})]


def test_the_commands_of_the_issues_exist() -> None:
    paths = {path for path, _ in COMMANDS}
    for path in (
        "protect", "audit", "verify", "design", "design multiscale", "channel design", "channel measure",
        "channel compare", "collect simulate", "collect crowd", "reproduce", "serve",
    ):  # fmt: skip
        assert f"sfumato {path}" in paths


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_command_and_option_has_help(path: str, command: click.Command) -> None:
    assert command.help, f"{path} has no help"
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{path}: {parameter.name} has no help"


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_command_can_answer_in_json(path: str, command: click.Command) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--json" in options, f"{path} has no --json"


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_command_is_shown_in_the_documentation(path: str, command: click.Command) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert path in text, f"no page shows {path}"


def test_every_page_is_in_the_navigation_and_every_entry_exists() -> None:
    navigation = set(re.findall(r"([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES}
    made = MADE | {f"gallery/{notebook.stem}.md" for notebook in (ROOT / "docs" / "gallery").glob("*.py")}
    assert pages | made == navigation


def links() -> Iterator[tuple[Path, str]]:
    for page in [*PAGES, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:"):
                yield page, target


def test_no_link_between_pages_is_broken() -> None:
    there = {(ROOT / "docs" / made).resolve() for made in MADE}
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page, target in links()
        if not (page.parent / target).exists() and (page.parent / target).resolve() not in there
    ]
    assert not broken


def test_every_test_that_a_page_names_is_there() -> None:
    """A page that points to a test says "this is closed": the test must exist."""
    there = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in (path.stem, *re.findall(r"def (test_\w+)", path.read_text()))
    }
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"]
    named = {(path.name, name) for path in pages for name in re.findall(r"`(test_\w+)`", path.read_text())}
    assert len(named) > 30  # 39; the pages named 28 while they were rewritten, and this asked for 20 then
    assert {(page, name) for page, name in named if name not in there} == set()


def test_in_a_narrow_terminal_the_names_of_options_are_whole() -> None:
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "hide", "--help"]
    shown = subprocess.run(command, env={**os.environ, "COLUMNS": "40"}, capture_output=True, text=True, check=True)
    assert "--refuse-if-found <str>" in shown.stdout
    assert "…" not in shown.stdout


def test_the_upgrade_page_says_where_every_moved_module_is() -> None:
    page = made_tables.made((ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8"))
    for old, homes in MOVED.items():
        assert f"| `{old}` | {', '.join(f'`{home}`' for home in homes)} |" in page
    for old, advice in GONE.items():
        assert f"| `{old}` | taken out. {advice} |" in page
