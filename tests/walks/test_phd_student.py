"""The PhD student: a prior, a mechanism of their own, the optimum beside it, and a figure of a paper reproduced."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT
from walking import Walker, installed

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("phd_student")]

MINE = '''
"""Generalised randomised response: my mechanism."""
import numpy as np

def mine(epsilon, size=4):
    stay = np.exp(epsilon) / (np.exp(epsilon) + size - 1)
    return np.full((size, size), (1 - stay) / (size - 1)) + (stay - (1 - stay) / (size - 1)) * np.eye(size)
'''


@pytest.fixture(scope="module")
def student(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Walker:
    """Somebody with the designs installed, a prior of four symbols and a file of their own."""
    me = installed(wheel, tmp_path_factory.mktemp("student"), "design")
    (me.folder / "prior.csv").write_text("symbol,probability\na,0.4\nb,0.3\nc,0.2\nd,0.1\n")
    (me.folder / "my_mechanism.py").write_text(MINE)
    return me


def test_the_optimum_is_at_least_as_good_as_mine_at_equal_leakage(student: Walker) -> None:
    words = ["sfumato", "channel", "compare", "--prior", "prior.csv", "--epsilon", "1", "--mechanism", "lip-optimal"]
    answer = json.loads(student.does(*words, "--mechanism", "my_mechanism:mine", "--json"))
    rows = {row["mechanism"]: row for row in answer["rows"]}
    best, mine = rows["lip-optimal"], rows["mine"]
    assert mine["lip"] == pytest.approx(1, abs=1e-6), "tuned to the leakage that is held equal"
    assert best["average_distortion"] < mine["average_distortion"]


def test_the_same_in_python_and_the_numbers_agree_with_a_hand_calculation(student: Walker) -> None:
    said = student.says("""
import json, numpy as np, my_mechanism
prior = np.array([.4, .3, .2, .1])
channel = my_mechanism.mine(1.0)
joint = prior[:, None] * channel
out = joint.sum(0)
by_hand = np.abs(np.log(channel / out)).max()
print(json.dumps([float(by_hand), float(np.log(channel.max() / channel.min()))]))
np.savetxt("mine.csv", channel, delimiter=",")
""")
    lip, ldp = json.loads(said.strip().splitlines()[-1])
    answer = json.loads(student.does("sfumato", "channel", "measure", "mine.csv", "--prior", "prior.csv", "--json"))
    assert answer["lip"] == pytest.approx(lip, rel=1e-9)
    assert answer["ldp"] == pytest.approx(ldp, rel=1e-9)
    assert ldp == pytest.approx(1, rel=1e-9)


def test_the_commands_of_the_readme_run_as_printed(student: Walker) -> None:
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Measure leakage")[2]
    lines = [line for line in readme.partition("```\n")[2].partition("```")[0].splitlines() if line]
    assert len(lines) >= 5
    rows = "".join(f"{48.85 + k // 3 * 0.01:.2f},{2.35 + k % 3 * 0.01:.2f},{p}\n" for k, p in enumerate(
        np.array([5, 3, 1, 4, 8, 2, 1, 2, 4]) / 30))  # fmt: skip
    (student.folder / "prior.csv").write_text("lat,lon,probability\n" + rows)
    for line in lines:
        student.does(*line.partition("#")[0].split())
