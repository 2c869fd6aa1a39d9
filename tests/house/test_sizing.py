"""What is said about sizes was measured: the simulator meets every recorded run, and would not if it were off."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import sizing

KEPT = json.loads(sizing.FIGURES.read_text())
WITHIN = 1.5


def said(part: str, row: dict[str, Any], known: sizing.Figures) -> float:
    """The simulator's word for a measured number."""
    what, size = row["what"], row["size"]
    if part == "dataset":
        return sizing.dataset(size, 1, known)[what]
    if part == "spark":
        return sizing.spark(size, 2, known)["core_s"]
    if part == "closing":
        return sizing.closing(size, known)
    one = known[f"collector on {what.split()[0]}"]
    return one["start_s"] + size * one["s_per_report_alone"]


def furthest_off(known: sizing.Figures, part: str) -> float:
    ratios = [said(part, row, known) / row["measured"] for row in KEPT["measured"][part]]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


@pytest.mark.parametrize("part", ["dataset", "spark", "collector", "closing"])
def test_the_simulator_meets_what_was_measured_at_three_sizes_or_more(part: str) -> None:
    assert len({row["size"] for row in KEPT["measured"][part]}) >= 3
    assert furthest_off(KEPT["figures"], part) <= WITHIN


@pytest.mark.parametrize("part", ["dataset", "spark", "collector", "closing"])
def test_figures_that_are_twice_what_they_are_would_not(part: str) -> None:
    doctored = {
        name: {key: 2.2 * value if "s_per" in key or "held" in key else value for key, value in figures.items()}
        for name, figures in KEPT["figures"].items()
    }
    assert furthest_off(doctored, part) > WITHIN


def test_more_points_and_devices_need_more_and_more_cores_take_less_time() -> None:
    known = KEPT["figures"]
    for job in (sizing.dataset, sizing.spark):
        few, many = job(1e8, 8, known), job(1e9, 8, known)
        assert all(many[name] >= few[name] for name in few if "memory" not in name)
        assert job(1e9, 16, known)["wall_s"] < many["wall_s"]
    few, many = (sizing.collector(devices, 1e6, known, store="PostgreSQL") for devices in (1e7, 1e8))
    assert many["cores_at_peak"] == pytest.approx(10 * few["cores_at_peak"])
    assert many["campaigns"] == 16
    assert sizing.collector(1e8, 1e6, known, store="PostgreSQL", cores=1000)["waiting_at_worst"] == 0
    assert many["waiting_at_worst"] > 1e6


def test_tasks_go_to_the_core_that_is_free_first() -> None:
    assert sizing.end_of([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert sizing.end_of([1.0] * 5, 2) == 3.0
    assert sizing.end_of([2.0], 64) == 2.0


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--points", "1e9", "--cores", "16"], "core s"),
        (["--points", "1e10", "--engine", "spark", "--largest-person", "1e8"], "does not fit into a worker"),
        (["--devices", "1e8", "--cells", "1e6", "--cycles", "30"], "16 campaigns"),
    ],
)
def test_the_command_says_it_with_units_and_with_advice(words: list[str], shown: str) -> None:
    done = subprocess.run([sys.executable, sizing.__file__, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert "nan" not in done.stdout
    refused = subprocess.run([sys.executable, sizing.__file__], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--points or --devices" in refused.stderr
