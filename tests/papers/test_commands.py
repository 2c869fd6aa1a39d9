"""The command beside a row runs the code beside it: every distinct command is run, and the calls are counted."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli import app
from sfumato.papers.statements import Statement, statements

NAMED = [row for row in statements().values() if row.command != "none" and ":" in row.code]
COMMANDS = sorted({row.command for row in NAMED})
NEEDS = {"reproduce l-eff", "reproduce cip-axes"}


@pytest.fixture
def files(tmp_path):
    channel = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
    written = {
        "CHANNEL": "\n".join(",".join(map(str, row)) for row in channel),
        "PRIOR": "label,value,x_m,y_m\na,.5,0,0\nb,.3,500,0\nc,.2,0,900\n",
        "PRIOR2": "label,value,x_m,y_m\na,.4,0,0\nb,.4,500,0\nc,.2,0,900\n",
        "VALUES": "0,0.5\n1,0.3\n2,0.2\n",
        "TRANSITION": "0.8,0.1,0.1\n0.1,0.8,0.1\n0.1,0.1,0.8\n",
    }
    paths = {}
    for name, text in written.items():
        paths[name] = tmp_path / f"{name.lower()}.csv"
        paths[name].write_text(text)
    paths["TRACE"] = Path(sfumato.__file__).parent / "data" / "sample_ride.gpx"
    return {
        **{name: str(path) for name, path in paths.items()},
        "TABLE": str(tmp_path / "out.csv"),
        "OUT": str(tmp_path / "out.gpx"),
    }


def counted(row: Statement, calls: dict[str, int], undo: list[tuple[object, str, object]]) -> None:
    module, _, path = row.code.partition(":")
    holder = import_module(f"sfumato.{module}")
    *classes, name = path.split(".")
    for part in classes:
        holder = getattr(holder, part)
    original = getattr(holder, name)

    def counting(*arguments: object, **named: object) -> object:
        calls[row.code] += 1
        return original(*arguments, **named)

    if classes:
        undo.append((holder, name, holder.__dict__.get(name)))
        setattr(holder, name, counting)
    else:
        put_everywhere(original, counting)
        undo.append((counting, "", original))


def put_everywhere(old: object, new: object) -> None:
    for module in [module for module in list(sys.modules.values()) if getattr(module, "__dict__", None)]:
        for held, value in list(vars(module).items()):
            if value is old:
                setattr(module, held, new)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_of_a_row_calls_the_code_of_the_row(command, files, request) -> None:
    if command in NEEDS:
        request.getfixturevalue("shared_data")
    if "cip-" in command or "--method published" in command:
        pytest.importorskip("cvxpy")
    rows = {row.code: row for row in NAMED if row.command == command}
    calls: dict[str, int] = dict.fromkeys(rows, 0)
    undo: list[tuple[object, str, object]] = []
    if command.startswith("reproduce "):
        target = command.split()[1]
        from sfumato.papers import REPRODUCTIONS

        import_module(REPRODUCTIONS[target].target.partition(":")[0])
    try:
        for row in rows.values():
            counted(row, calls, undo)
        words = [files.get(word, word) for word in shlex.split(command)]
        words += ["--quick"] if words[0] == "reproduce" else []
        run = CliRunner().invoke(app, words)
    finally:
        for one, held, original in reversed(undo):
            if not held:
                put_everywhere(one, original)
            elif original is None:  # it was inherited
                delattr(one, held)
            else:
                setattr(one, held, original)
    assert run.exit_code == 0, run.output[-2000:] + repr(run.exception)
    if command != "reproduce cip-covariances":  # --quick leaves out Multiple Secrets, which takes minutes
        assert all(calls.values()), json.dumps(calls)
