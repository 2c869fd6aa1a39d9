"""Loops are compiled where numba is, work without it after one warning, and say so when compiling takes long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from sfumato.base.compiled import compile_loop

SOURCE = Path(__file__).resolve().parents[2] / "src" / "sfumato"
WITHOUT = "import sys; sys.modules['numba'] = None; sys.modules['llvmlite'] = None\n"


def run(code: str, *, timeout: int = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = {"PYTHONPATH": str(SOURCE.parent), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**paths, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_nothing_but_one_file_imports_numba_so_that_nothing_else_fails_without_it() -> None:
    importing = [
        path.name
        for path in SOURCE.rglob("*.py")
        if any(line.lstrip().startswith(("import numba", "from numba")) for line in path.read_text().splitlines())
    ]
    assert importing == ["compiled.py"]


@pytest.mark.slow
def test_without_numba_the_sample_is_protected_after_exactly_one_warning() -> None:
    done = run(
        f"""{WITHOUT}
import numpy as np
import sfumato
times = np.arange(60) * 30.0
trace = sfumato.Trace(times_s=times, lat_deg=48.85 + 1e-4 * np.arange(60), lon_deg=np.full(60, 2.35))
done = sfumato.protect(trace, rng=7)
print(repr(done.release.lat_deg.tolist()))
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("numba is not installed") == 1
    with_numba = run(done.args[2].removeprefix(WITHOUT))
    assert with_numba.returncode == 0, with_numba.stderr
    assert "numba is not installed" not in with_numba.stderr
    assert with_numba.stdout == done.stdout, "the slow path draws the same release"


def test_a_loop_without_a_writable_cache_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = numba.njit

    def refuse(*functions: object, **options: object) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return genuine(*functions, **options)

    monkeypatch.setattr(numba, "njit", refuse)

    @compile_loop()
    def twice(x: float) -> float:
        return 2 * x

    assert twice(2.5) == 5.0
    assert type(twice).__module__.startswith("numba.")


@pytest.mark.slow
def test_the_first_run_says_that_it_compiles_and_the_second_loads_what_the_first_made(tmp_path: Path) -> None:
    code = (
        "from sfumato.tracks.priors.fitting_loops import *; import sfumato.base.compiled as c\nc._SAY_AFTER_S = 0.05\n"
        + ("from sfumato.tracks.priors.markov_steps import matern32; print(matern32(0.3)[0])")
    )
    first = run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    second = run(code, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stderr.count("compiling its loops, in the first run only") == 1
    assert second.stderr == ""
    assert first.stdout == second.stdout
