"""What most people need of a command stands in the first panel of its help, and fits on a screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import typer

from sfumato.cli import app
from sfumato.cli.commands import COMMANDS

MOST = 12


def options_of(command: object, name: str) -> Iterator[tuple[str, list[str]]]:
    """Every command under one, with the options of its first panel."""
    first = [
        one.name
        for one in command.params  # type: ignore[attr-defined]
        if one.param_type_name == "option" and not one.hidden and getattr(one, "rich_help_panel", None) is None
    ]
    yield name, first
    for beneath, found in getattr(command, "commands", {}).items():
        yield from options_of(found, f"{name} {beneath}")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_panel_of_a_commands_help_has_at_most_twelve_options(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    crowded = {here: first for here, first in options_of(command, name) if len(first) > MOST}
    assert not crowded
