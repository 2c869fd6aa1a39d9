"""A mechanism of one's own in the comparison: a function, a channel, a file or module:object, at equal leakage."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from channel_command import answer, refused, run
from repository import ROOT
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.channels.files.channel_files import write_channel
from sfumato.cli import app
from sfumato.papers.lip.lip_comparison import synthetic_city

SIZE = 9
PRIOR = synthetic_city(3)[0]
DISTANCES = Grid.plain(3, 3).distance_matrix()
SOURCE = """
import numpy as np

def mine(epsilon):
    matrix = np.ones((9, 9)) + (np.exp(epsilon) - 1) * np.eye(9)
    return matrix / matrix.sum(axis=1, keepdims=True)

MATRIX = mine(0.5)

def broken(epsilon):
    raise RuntimeError("not today")
"""


def mine(epsilon: float) -> np.ndarray:
    """Randomized response, written again."""
    matrix = np.ones((SIZE, SIZE)) + (np.exp(epsilon) - 1) * np.eye(SIZE)
    return matrix / matrix.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("at", "target"), [("lip", 0.8), ("ldp", 1.0), ("geo", 0.5), ("mi", 0.1)])
def test_ones_own_function_is_tuned_like_ours_in_every_notion(at: str, target: float) -> None:
    found = sf.compare(
        PRIOR, DISTANCES, [target], distances=DISTANCES, at=at, mechanisms=["randomized-response", "exponential", mine]
    )
    ours, other, own = found
    assert [row.mechanism for row in found] == ["randomized-response", "exponential", "mine"]
    for name in ("average_distortion", "lip", "ldp", "mutual_information_nats", "geo_epsilon_per_unit", "knob"):
        assert getattr(own, name) == pytest.approx(getattr(ours, name), rel=1e-6)
    measure = {"lip": "lip", "ldp": "ldp", "geo": "geo_epsilon_per_unit", "mi": "mutual_information_nats"}[at]
    for row in (ours, other, own):
        assert target * (1 - 1e-6) <= getattr(row, measure) <= target
        assert row.within_target


@pytest.mark.parametrize("at", ["ldp", "geo", "mi"])
def test_optimal_designs_are_turned_within_another_notion(at: str) -> None:
    chosen = ["lip-optimal", "ldp-optimal", "prior-resampling+remap"]
    for row in sf.compare(PRIOR, DISTANCES, [0.4], distances=DISTANCES, at=at, mechanisms=chosen):
        assert row.within_target
        assert (row.at, row.target) == (at, 0.4)


def test_a_comparison_is_a_frame() -> None:
    pytest.importorskip("pandas")
    found = sf.compare(PRIOR, DISTANCES, [0.5, 1.0], mechanisms=["exponential", mine])
    frame = found.frame
    assert list(frame["mechanism"]) == ["exponential", "mine", "exponential", "mine"]
    assert found.table.num_rows == 4
    assert frame.loc[0, "average_distortion"] == found[0].average_distortion


def test_a_channel_is_compared_as_it_is_and_said_to_be_beyond_the_target() -> None:
    channel = sf.Channel(mine(2.0))
    (row,) = sf.compare(PRIOR, DISTANCES, [0.5], mechanisms=[channel])
    assert (row.knob, row.within_target) == (None, False)
    assert row.ldp == pytest.approx(2.0)
    (row,) = sf.compare(PRIOR, DISTANCES, [5.0], mechanisms=[mine(2.0)])
    assert row.within_target


def test_the_command_takes_files_and_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_mechanisms_of_a_test.py").write_text(SOURCE)
    write_channel(sf.Channel(mine(0.5)), "fixed.csv")
    words = ("compare", "--synthetic", "3x3", "--epsilon", 1, "--at", "ldp", "--mechanism")
    found = answer(
        *words, "my_mechanisms_of_a_test:mine", "--mechanism", "fixed.csv", "--mechanism", "exponential",
        "--mechanism", "my_mechanisms_of_a_test.py:MATRIX",
    )  # fmt: skip
    rows = {row["mechanism"]: row for row in found["rows"]}
    assert set(rows) == {"exponential", "mine", "fixed", "MATRIX"}
    assert rows["mine"]["ldp"] == pytest.approx(1.0)
    assert rows["fixed"]["ldp"] == pytest.approx(0.5) == rows["MATRIX"]["ldp"]
    refused(*words, "my_mechanisms_of_a_test:broken", says="broken failed at 0.5: RuntimeError: not today")
    refused(*words, "my_mechanisms_of_a_test:absent", says="was not found")
    Path("notion_of_a_test.py").write_text(
        "def helped(q, p):\n    return (p[:, None] * q).max(axis=0).sum() - p.max()\n"
    )
    asked = ("--at", "notion_of_a_test.py:helped", "--epsilon", 0.1)
    own = run("compare", "--synthetic", "3x3", *asked).splitlines()
    head = next(line.split() for line in own if "mechanism" in line and "distortion  " in line)
    exponential = next(line.split() for line in own if " exponential " in line)
    assert head[-1] == "measured"
    assert float(exponential[-1]) == pytest.approx(0.1, rel=1e-3)
    refused("compare", "--synthetic", "3x3", "--at", "kl", says="Choose from lip, ldp, geo, mi")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="4 rows for 9 symbols"):
        sf.compare(PRIOR, DISTANCES, [1.0], mechanisms=[lambda epsilon: np.eye(4)])
    with pytest.raises(InputError, match="leaks more than 1 whatever"):
        sf.compare(PRIOR, DISTANCES, [1.0], mechanisms=[lambda epsilon: np.eye(SIZE)])
    with pytest.raises(InputError, match="geo needs places"):
        sf.compare(PRIOR, 1 - np.eye(SIZE), [1.0], at="geo", mechanisms=[mine])


@pytest.mark.slow
def test_the_readmes_commands_work_on_the_documentations_prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "channel.md").read_text(encoding="utf-8")
    example = re.search(r"the three lines `([\d.]+)`, `([\d.]+)`, `([\d.]+)`", page)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    Path("prior.csv").write_text("\n".join(example.groups()) + "\n")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [shlex.split(line)[1:] for line in readme.splitlines() if line.startswith("sfumato channel ")]
    assert [words[1] for words in commands] == ["design", "measure", "compare"]
    for words in commands:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
