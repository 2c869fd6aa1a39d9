"""The page that says how to add an attacker is followed to the letter: its file and its row, in a copy of the house."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from followed_pages import blocks, copied_house, page_text, place_of

PAGE = page_text("add_an_attacker")
ASK = """
import json, sys
import numpy as np
from sfumato.tracks.adversary.places import Stretch, guesses_m, look
from sfumato.tracks.adversary.attackers import ATTACKERS
ride = Stretch(np.column_stack([np.linspace(-2000.0, -800.0, 60), np.zeros(60)]), np.arange(60.0), 0)
view = look([ride], radius_m=800.0, inner_radius_m=640.0)
print(json.dumps({"guess": guesses_m(view)["last exit"].tolist(), "words": ATTACKERS["last exit"].words}))
"""


def followed(copy: Path) -> None:
    """The page's two blocks, where it says they go."""
    file, row = blocks(PAGE)
    (copy / place_of(file)).write_text(file, encoding="utf-8")
    registry = copy / "src" / "sfumato" / "tracks" / "adversary" / "attackers.py"
    head, opened, tail = registry.read_text(encoding="utf-8").partition("    for row in (\n")
    assert opened
    registry.write_text(head + opened + row + tail, encoding="utf-8")


def test_one_file_and_one_row_and_the_leak_test_asks_the_new_attacker(tmp_path: Path) -> None:
    env = copied_house(tmp_path)
    followed(tmp_path)
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert answer["words"] == "the exit of the last ride, half a radius inward"
    east, north = answer["guess"]
    assert abs(east + 400.0) < 50.0  # half a radius inward from the western border
    assert abs(north) < 1.0
