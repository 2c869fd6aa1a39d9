"""What a user's type checker sees: right use passes mypy --strict, wrong use is an error."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

import sfumato as sf

pytest.importorskip("mypy", reason="mypy is installed with the dev extra")

RIGHT = """
from pathlib import Path

import sfumato as sf

ride: sf.Trace = sf.read_trace("ride.gpx", keep=["elevation"])
protected = sf.protect(ride, radius_m=200.0, odds=5.0)
shared: sf.Trace = protected.release
sf.write_trace(shared, Path("out.gpx"))
people: list[tuple[str, sf.Trace]] = sf.read_traces("people.parquet")
version: str = sf.__version__
"""
WRONG = (
    'sf.protect("nonsense", radius_m="two hundred")',
    'sf.read_trace("ride.gpx", zone=3)',
    'sf.write_trace("ride.gpx", "out.gpx")',
    'x: int = sf.read_trace("ride.gpx")',
    "sf.protected",
    "sf.Trace(lat=1)",
)


FRAMES = """
import pandas as pd
import polars as pl

import sfumato as sf

cabs = sf.protect(pd.DataFrame({"cab_id": [1]}), person="cab_id", noise_m=150, keep=["fare"])
one: pd.DataFrame = cabs.frame
two: pl.DataFrame = sf.protect(pl.DataFrame({"cab_id": [1]}), one_person=True).frame
lazy: pl.LazyFrame = sf.protect(pl.LazyFrame({"cab_id": [1]}), person="cab_id", zone="UTC").frame
odds: float = cabs.certificate["odds_99"]
ride: sf.Trace = sf.protect(sf.read_trace("ride.gpx"), odds=5.0).release
worst: str | None = cabs.audit().worst.person
"""
WRONG_FRAMES = (
    "three: pl.DataFrame = cabs.frame",
    "sf.protect(pd.DataFrame(), person=3)",
    'sf.protect(sf.read_trace("ride.gpx"), zone="UTC")',
    "sf.protect([1, 2, 3])",
    "cabs.frames",
)


def complaints(folder: Path, text: str) -> dict[int, str]:
    (folder / "user.py").write_text(text)
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = True\n[mypy-numpy.*,pyarrow.*,scipy.*,pyproj.*,cryptography.*,numba.*]\n"
        "follow_imports = skip\nignore_missing_imports = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "user.py"]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(line): words for line, words in re.findall(r"^user\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)}


@pytest.mark.slow
def test_right_use_passes_and_every_wrong_line_is_an_error(tmp_path: Path) -> None:
    lines = RIGHT.count("\n")
    found = complaints(tmp_path, RIGHT + "\n".join(WRONG) + "\n")
    assert sorted(found) == [lines + 1 + place for place in range(len(WRONG))], found
    assert "has no attribute" in found[lines + 1 + WRONG.index("sf.protected")]


@pytest.mark.slow
def test_a_frame_that_goes_in_is_the_frame_that_comes_out(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    found = complaints(tmp_path, FRAMES + "\n".join(WRONG_FRAMES) + "\n")
    assert sorted(found) == [FRAMES.count("\n") + 1 + place for place in range(len(WRONG_FRAMES))], found


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong"), [(RIGHT, WRONG), (FRAMES, WRONG_FRAMES)], ids=["names", "frames"])
def test_pyright_sees_the_same(right: str, wrong: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("pandas", "polars"):
        pytest.importorskip(name)
    pyright = ROOT / "clients" / "js" / "node_modules" / ".bin" / "pyright"
    if not pyright.exists():
        pytest.skip("pyright is not installed: run `make web`")
    (tmp_path / "user.py").write_text(right + "\n".join(wrong) + "\n")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    command = [str(pyright), "--outputjson", "--pythonpath", sys.executable, "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr  # it ran, and found errors
    rows = [row for row in json.loads(done.stdout)["generalDiagnostics"] if row["severity"] == "error"]
    lines = {row["range"]["start"]["line"] + 1 for row in rows}
    assert sorted(lines) == [right.count("\n") + 1 + place for place in range(len(wrong))], rows


def test_the_static_names_are_the_lazy_ones() -> None:
    tree = ast.parse((ROOT / "src" / "sfumato" / "__init__.py").read_text())
    checking = next(node for node in tree.body if isinstance(node, ast.If))
    static = {
        name.name: found.module
        for found in ast.walk(checking)
        if isinstance(found, ast.ImportFrom)
        for name in found.names
    }
    assert static == sf._HOMES
    assert sorted([*sf._HOMES, "__version__"]) == sorted(sf.__all__) == sorted(dir(sf))
    for name, home in sf._HOMES.items():
        assert getattr(sf, name) is getattr(sys.modules[home], name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = sf.nonsense  # type: ignore[attr-defined]
