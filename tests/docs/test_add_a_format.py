"""The page that says how to add a format is followed to the letter: its file and its row, in a copy of the house."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from followed_pages import blocks, copied_house, page_text, place_of

PAGE = page_text("add_a_format")
LINES = "".join(f"{48.85 + 1e-3 * k:.5f} {2.35 + 1e-3 * k:.5f} 2024-05-01T12:{k:02d}:00Z\n" for k in range(40))


def followed(copy: Path) -> None:
    """The page's two blocks, where it says they go."""
    file, row = blocks(PAGE)
    (copy / place_of(file)).write_text(file, encoding="utf-8")
    table = copy / "src" / "sfumato" / "tracks" / "io" / "formats.py"
    head, opened, tail = table.read_text(encoding="utf-8").partition("_ALL = (\n")
    assert opened
    table.write_text(head + opened + row + tail, encoding="utf-8")


@pytest.mark.slow
def test_one_file_and_one_row_and_every_command_takes_the_new_format(tmp_path: Path) -> None:
    env = copied_house(tmp_path)
    followed(tmp_path)
    (tmp_path / "rides").mkdir()
    (tmp_path / "rides" / "a.trk").write_text(f"# to work\n{LINES}")
    with zipfile.ZipFile(tmp_path / "rides" / "b.zip", "w") as packed:
        packed.writestr("in/b.trk", LINES.replace("2024-05-01", "2024-05-02"))

    def run(*words: str) -> str:
        asked = subprocess.run(
            [sys.executable, "-c", "from sfumato.cli import main; main()", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=env,
        )
        # Its one straight ride leads to the place, which `hide` says by 1.
        assert asked.returncode in (0, words[0] == "hide"), (words, asked.stdout, asked.stderr)
        return asked.stdout

    run("places", "add", "home", "48.85,2.35", "--zone", "400m", "--places", "me.places")
    run("hide", "rides", "-o", "hidden", "--places", "me.places", "--certificate", "hidden.json")
    run("protect", "rides", "-o", "noisy", "--noise", "30m", "--certificate", "noisy.json")
    for folder in ("hidden", "noisy"):
        assert [path.suffix for path in (tmp_path / folder).iterdir()] == [".trk", ".trk"]
    run("verify", "hidden.json", "--release", "hidden")
    run("protect", "rides/a.trk", "-o", "one.trk")
    first = (tmp_path / "one.trk").read_text().splitlines()
    assert len(first) == 40
    assert re.fullmatch(r"-?\d+\.\d+ -?\d+\.\d+ 2024-05-01T12:00:00Z", first[0])
