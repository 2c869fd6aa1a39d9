"""The page that says how to add a channel design is followed to the letter, in a scratch copy of the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from followed_pages import blocks, copied_house, page_text, place_of
from repository import ROOT

PAGE = page_text("add_a_channel")
PRIOR = "label,value,x_m,y_m\na,0.5,0,0\nb,0.3,100,0\nc,0.2,0,200\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One new file and one row, both as the page prints them."""
    here = tmp_path_factory.mktemp("copy")
    copied_house(here)
    text, row = blocks(PAGE)
    (here / place_of(text)).write_text(text, encoding="utf-8")
    registry = here / "src" / "sfumato" / "channels" / "designs" / "design_registry.py"
    rows = registry.read_text(encoding="utf-8")
    assert rows.count("]  # fmt: skip") == 1
    registry.write_text(rows.replace("]  # fmt: skip", f"{row}]  # fmt: skip"), encoding="utf-8")
    (here / "prior.csv").write_text(PRIOR)
    return here


def run(copy: Path, *words: object, code: int = 0) -> str:
    script = "import sys; from sfumato.cli import main; sys.argv[0] = 'sfumato'; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "channel", *map(str, words)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_new_design_is_designed_compared_and_helped(copy: Path) -> None:
    words = ("design", "--mechanism", "one-favourite", "--prior", "prior.csv", "--epsilon", 1)
    made = json.loads(run(copy, *words, "-o", "made.json", "--json"))
    assert made["ok"] is True
    assert made["guarantee"]["notion"] == "local information privacy"
    assert made["guarantee"]["parameters"]["measured_up_nats"] <= 1
    assert "every prior of 3 symbols" in made["guarantee"]["assumes"][0]
    assert made["measures"]["ldp"] <= 1
    assert (copy / "made.json").exists()
    shown = json.loads(run(copy, "compare", "--prior", "prior.csv", "--epsilon", 0.5, "--mechanism", "one-favourite",
                           "--mechanism", "exponential", "--json"))["rows"]  # fmt: skip
    assert [row["mechanism"] for row in shown] == ["one-favourite", "exponential"]
    assert all(row["within_target"] for row in shown)


def test_the_same_design_without_its_noise_does_not_leave(copy: Path) -> None:
    file = copy / "src" / "sfumato" / "channels" / "designs" / "one_favourite.py"
    honest = file.read_text(encoding="utf-8")
    lying = honest.replace(
        "DesignedChannel(promise.keep(matrix), promise)", "DesignedChannel(Channel(np.eye(3)), promise)"
    )
    assert lying != honest
    file.write_text(lying, encoding="utf-8")
    try:
        words = ("design", "--mechanism", "one-favourite", "--prior", "prior.csv", "--epsilon", 1, "-o", "lie.json")
        assert "one-favourite does not keep its promise" in run(copy, *words, code=2)
        assert not (copy / "lie.json").exists()
    finally:
        file.write_text(honest, encoding="utf-8")


def test_the_row_of_the_docs_has_the_form_of_the_table() -> None:
    (row,) = re.findall(r"^\| `one-favourite` .*$", PAGE, flags=re.MULTILINE)
    table = (ROOT / "docs" / "channel.md").read_text(encoding="utf-8")
    assert "| `--mechanism` | promise | what it is |" in table
    assert row.count("|") == 4
