"""The page that says how to add an answer is followed to the letter: file, command and row, in a copy of the house."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from followed_pages import blocks, copied_house, page_text, place_of
from repository import ROOT

PAGE = page_text("add_an_answer")


def followed(copy: Path) -> None:
    """The page's blocks, where it says they go."""
    file, command, row = blocks(PAGE)
    imported = re.findall(r"`(from \S+ import \w+)`", PAGE)
    assert len(imported) == 2
    (copy / place_of(file)).write_text(file, encoding="utf-8")
    face = copy / "src" / "sfumato" / "cli" / "tracks" / "answers" / "estimate.py"
    head, table, tail = face.read_text(encoding="utf-8").partition("QUESTIONS: dict")
    opened, brace, rows = tail.partition("{\n")
    assert table
    assert brace
    head = head.replace("import typer\n", "\n".join(["import typer", *imported, ""]), 1)
    face.write_text(head + command + "\n\n" + table + opened + brace + row + rows, encoding="utf-8")


@pytest.mark.slow
def test_one_file_a_command_and_a_row_and_estimate_answers_the_new_question(tmp_path: Path) -> None:
    env = copied_house(tmp_path)
    followed(tmp_path)

    def sfumato(*words: str) -> str:
        run = [sys.executable, "-c", "from sfumato.cli import main; main()", *words]
        done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    ride = str(ROOT / "src" / "sfumato" / "data" / "sample_ride.gpx")
    sfumato("protect", ride, "-o", "out.gpx", "--certificate", "out.json", "--noise", "50m")
    said = json.loads(sfumato("estimate", "middle", "out.gpx", "-c", "out.json", "-o", "middle.csv", "--json"))
    assert said["people"] == 1
    lat, lon = said["lat"]["value"], said["lon"]["value"]
    assert "middle" in sfumato("estimate", "--help")
    assert f"{lat:.5f},{lon:.5f}" in sfumato("estimate", "middle", "out.gpx", "-c", "out.json")
    assert (tmp_path / "middle.csv").read_text().splitlines()[0] == '"axis","value","low","high"'
