"""What an error of the channel commands and of `design` advises exists: every option for its command, every design."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import typer
from repository import ROOT

from sfumato.channels.designs.design_registry import DESIGNS
from sfumato.cli import app

SOURCE = ROOT / "src" / "sfumato"
COMMANDS = {
    "channel_design": ("design",),
    "channel_measure": ("measure",),
    "channel_compare": ("compare",),
    "channel_refine": ("refine",),
    "channel_inputs": ("design", "measure", "compare"),
    "comparison": ("compare",),
}
"""Who prints the words of a file; any other file of the channel commands: some command of them."""


@cache
def options(command: str) -> set[str]:
    """The options of one channel command."""
    channel = typer.main.get_command(app).commands["channel"]  # type: ignore[attr-defined]
    return {word for option in channel.commands[command].params for word in option.opts} | {"--help"}


@cache
def every_option() -> set[str]:
    group = typer.main.get_command(app)
    channel = group.commands["channel"].commands  # type: ignore[attr-defined]
    return {word for name in channel for word in options(name)}


def words(path: Path) -> list[str]:
    """Every string of a file that is not a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]


FILES = sorted(
    [
        *(path for path in (SOURCE / "cli" / "channels").glob("*.py") if not path.stem.startswith("reading")),
        *(SOURCE / "channels").rglob("*.py"),
        SOURCE / "base" / "things" / "cell_prior.py",
    ]
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_option_that_is_advised_exists(path: Path) -> None:
    printed_by = COMMANDS.get(path.stem)
    known = every_option() if printed_by is None else set[str]().union(*(options(name) for name in printed_by))
    advised = {option for text in words(path) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert advised <= known, sorted(advised - known)


@cache
def options_of_design() -> set[str]:
    """The options of ``sfumato design`` and of the commands beneath it."""
    design = typer.main.get_command(app).commands["design"]  # type: ignore[attr-defined]
    everything = [design, *design.commands.values()]
    return {word for command in everything for option in command.params for word in option.opts} | {"--help"}


DESIGN_FILES = sorted([*(SOURCE / "cli" / "tracks").glob("design*.py"), *(SOURCE / "tracks" / "designs").glob("*.py")])


@pytest.mark.parametrize("path", DESIGN_FILES, ids=lambda path: path.stem)
def test_every_option_that_design_advises_exists(path: Path) -> None:
    advised = {option for text in words(path) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    known = options_of_design()
    assert {"--secret", "--mse"} <= known
    assert advised <= known, sorted(advised - known)


def test_every_design_that_is_advised_exists() -> None:
    names = {design.name for design in DESIGNS}
    shaped = re.compile(r"(?<![\w-])(?:lip|ldp|geo|planar|prior|top|randomized|blahut)-[a-z]+(?![\w-])")
    plain = {"geo-ind", "geo-indistinguishability", "geo-indistinguishable", "prior-set"}
    plain |= {"prior-independent", "prior-free", "lip-up"}
    found = {name for path in FILES for text in words(path) for name in shaped.findall(text)}
    assert len(found & names) >= 8
    assert found - names <= plain, sorted(found - names - plain)


def test_the_test_finds_an_option_that_is_not_there(tmp_path: Path) -> None:
    odd = tmp_path / "odd.py"
    odd.write_text('raise ValueError("Use --stat instead.")\n', encoding="utf-8")
    assert words(odd) == ["Use --stat instead."]
    assert "--stat" not in every_option()
