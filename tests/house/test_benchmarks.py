"""The benchmarks as a whole: what they need is named, and their run ends with a table."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

FOLDER = ROOT / "benchmarks"
ENDS = {
    "good": 'print("ratio 2.0, met")',
    "slow": 'print("as fast as the other: MISSED"); raise SystemExit(1)',
    "absent": "from needs import need; need('wrk')",
    "broken": 'raise ValueError("array must not contain infs or NaNs")',
}


def test_a_run_ends_with_a_table_of_what_was_met_missed_left_out_and_broken(tmp_path: Path) -> None:
    for name in ("run.py", "needs.py"):
        shutil.copy(FOLDER / name, tmp_path)
    for name, code in ENDS.items():
        (tmp_path / f"bench_{name}.py").write_text(code)

    bare = {"PATH": str(tmp_path)}  # a machine without any of the programs

    def run(*names: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, str(tmp_path / "run.py"), *names], capture_output=True, text=True, check=False, env=bare
        )
        return done.returncode, done.stdout.split("=== summary")[1]

    status, table = run()
    assert status == 1
    assert re.search(r"bench_good +met", table)
    assert re.search(r"bench_slow +MISSED +\d+ s\n    as fast as the other: MISSED", table)
    assert re.search(
        r"bench_absent +left out +\d+ s\n    left out: wrk is not installed \(apt-get install wrk\)", table
    )
    assert re.search(r"bench_broken +FAILED +\d+ s\n    ValueError: array must not", table)
    assert "not met: bench_broken, bench_slow" in table
    assert run("good", "absent")[0] == 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("bench_*.py")), ids=lambda path: path.stem)
def test_every_benchmark_has_a_quick_way_and_names_the_programs_it_runs(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "--quick" in text
    for program in re.findall(r'\[\s*"(wrk|java|psql|node)"', text):
        assert f'"{program}"' in (FOLDER / "needs.py").read_text("utf-8")
        assert "need(" in text
