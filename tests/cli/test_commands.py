"""The table of commands says what the commands say, and listing them loads none."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.cli.commands import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_row_has_the_first_sentence_of_its_command(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    assert command.name == name
    assert " ".join(command.get_short_help_str(200).split()) == COMMANDS[name].words


def test_the_help_lists_every_command_and_loads_none() -> None:
    code = "import sys\nfrom sfumato.cli import app\n"
    code += "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
    code += "print([name for name in sys.modules if name == 'numpy' or name.startswith('sfumato.cli.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "['sfumato.cli.commands']"
    assert all(f" {name} " in done.stdout for name in COMMANDS)


def test_a_command_that_is_not_there_is_answered_with_the_one_that_was_meant() -> None:
    done = CliRunner().invoke(app, ["protct"])
    assert done.exit_code == 2
    assert "protect" in done.output
