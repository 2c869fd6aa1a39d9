"""The house stays readable: its measures stay under their numbers, and importing it stays light."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import house_imports
import house_numbers
import pytest
from repository import ROOT
from rides import ride
from track_files import write_as

import house
from house import Module

# SciPy's own __init__ is a shell that loads its parts on first use.
SCIPY = ("scipy.linalg", "scipy.special", "scipy.optimize", "scipy.sparse", "scipy.stats", "scipy.fft")
HEAVY = (*SCIPY, "numba", "pyarrow", "pyproj", "pandas", "cryptography")


@pytest.fixture(scope="module")
def rooms() -> tuple[Module, ...]:
    return house.modules()


@pytest.mark.slow
def test_no_measure_passes_its_limit(rooms: tuple[Module, ...]) -> None:
    held = house_numbers.numbers()
    counted = house.measures(rooms)
    assert set(held.limits) == set(counted), "a measure without a limit, or a limit of nothing"
    assert house_numbers.too_many(counted, held.limits) == [], "see: python scripts/house.py --where NAME"


def test_no_wing_has_more_lines_than_its_budget(rooms: tuple[Module, ...]) -> None:
    held, lines = house_numbers.numbers(), house.lines_of_wings(rooms)
    assert held.budgets.keys() <= lines.keys(), "a budget of a wing that is not there"
    assert house_numbers.too_many(lines, held.budgets) == [], "delete first; then a row [[raised]] with its reason"
    assert lines["total"] == sum(lines.values()) - lines["total"]


def test_exceptions_of_imports_in_functions_are_few_and_needed(rooms: tuple[Module, ...]) -> None:
    used = [house_imports.spared(room, node) for room in rooms for node in house_imports.lazy_imports(room.tree)]
    assert set().union(*used) == house_imports.SPARED, "an exception that nothing needs"
    assert len(house_imports.SPARED) <= 3


def loaded_by(code: str) -> set[str]:
    text = f"import sys\n{code}\nprint('loaded', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stdout.split("loaded ")[-1].split())


def test_importing_sfumato_loads_nothing_heavy_not_even_numpy() -> None:
    assert loaded_by("import sfumato").isdisjoint((*HEAVY, "scipy", "numpy", "typer", "rich"))


def test_help_loads_no_mathematics() -> None:
    code = "from sfumato.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert loaded_by(code).isdisjoint(HEAVY)


def seconds(code: str) -> float:
    """The least of several starts, so that a loaded machine does not decide."""
    text = "import time; start = time.process_time()\n" + code + "\nprint('took', time.process_time() - start)"
    runs = (subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True) for _ in range(3))
    return min(float(run.stdout.split("took ")[-1]) for run in runs)


@pytest.mark.slow
def test_importing_sfumato_costs_less_than_numpy_and_help_little_more_than_typer() -> None:
    numpy, typer = seconds("import numpy"), seconds("import numpy, typer.main, typer.rich_utils, rich.table")
    assert seconds("import sfumato") < numpy
    code = "from sfumato.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    shown = seconds(code)
    assert shown < 3.0 * typer
    assert shown < 0.5


def test_make_lets_python_keep_its_bytecode_where_an_image_of_a_container_forbids_it() -> None:
    """Without it every process of a test compiles all of NumPy, SciPy and Arrow anew, and every worker all tests."""
    rule = 'seen: ; @echo "[$$PYTHONDONTWRITEBYTECODE]"'
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not on this machine")
    words = [make, "-s", "-C", str(ROOT), "--no-print-directory", "--eval", rule, "seen"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.slow
def test_the_table_prints_every_measure_and_the_places_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in house_numbers.numbers().limits)
    assert house.main(["--where", "Any"]) == 0
    assert re.search(r"^\S+\.py:\d+$", capsys.readouterr().out, re.MULTILINE)
    with pytest.raises(SystemExit, match="Choose one of: duplicates"):
        house.main(["--where", "beauty"])


def test_nothing_refers_to_a_specification_that_a_reader_cannot_open() -> None:
    words = (r"\bSpec \d", "[Tt]he specification (has|states|says)", "of the specification", "project's specification")
    pattern = re.compile("|".join(words))
    files = (path for folder in ("src", "tests", "docs", "benchmarks") for path in (ROOT / folder).rglob("*.*"))
    texts = {path: path.read_text("utf-8") for path in files if path.suffix in (".py", ".md")}
    assert len(texts) > 300
    assert [path.name for path, text in texts.items() if pattern.search(text) and path != Path(__file__)] == []


def test_protecting_a_folder_loads_no_statistics_no_optimiser_and_no_pages(tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    write_as("gpx", ride([0, 0], [300, 0], every_s=10.0), tmp_path / "rides" / "a.gpx")
    words = ["sfumato", "protect", str(tmp_path / "rides"), "-o", str(tmp_path / "out")]
    found = loaded_by(
        f"from sfumato.cli import main\nsys.argv = {words}\ntry:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert "sfumato.tracks.folders.rides.ride_job" in found
    assert found.isdisjoint({"scipy.stats", "scipy.optimize", "sfumato.pages.report.fleet_page"}), "half a second"
