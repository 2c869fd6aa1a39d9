"""The page that says how to add a format is followed to the letter: its file and its row, in a copy of the house."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from repository import ROOT

PAGE = (ROOT / "docs" / "contributing" / "add_a_format.md").read_text(encoding="utf-8")
LINES = "".join(f"{48.85 + 1e-3 * k:.5f} {2.35 + 1e-3 * k:.5f} 2024-05-01T12:{k:02d}:00Z\n" for k in range(40))


def followed(copy: Path) -> None:
    """The page's two blocks, where it says they go."""
    file, row = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    where = re.match(r"# (src/\S+\.py)\n", file)
    assert where is not None
    (copy / where.group(1)).write_text(file, encoding="utf-8")
    table = copy / "src" / "sfumato" / "tracks" / "io" / "formats.py"
    head, opened, tail = table.read_text(encoding="utf-8").partition("_ALL = (\n")
    assert opened
    table.write_text(head + opened + row + tail, encoding="utf-8")


@pytest.mark.slow
def test_one_file_and_one_row_and_every_command_takes_the_new_format(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__", "static", "*.nbi", "*.nbc")
    shutil.copytree(ROOT / "src" / "sfumato", tmp_path / "src" / "sfumato", ignore=left_out)
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
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        )
        assert asked.returncode == 0, (words, asked.stdout, asked.stderr)
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
