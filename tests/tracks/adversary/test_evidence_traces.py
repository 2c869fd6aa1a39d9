"""Evidence on real traces: GeoLife and the San Francisco cabs (../shared/data; skipped where absent)."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not here: no real traces to attack"),
    pytest.mark.xdist_group("evidence_traces"),  # one worker attacks them, once
]
EXPECTED = math.erf(1 / math.sqrt(2))


def evidence() -> Any:
    spec = importlib.util.spec_from_file_location("evidence_geolife", ROOT / "benchmarks" / "evidence_geolife.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def geolife() -> dict[str, Any]:
    module = evidence()
    return module.summary(module.attack(module.geolife(400), 150.0))


@pytest.fixture(scope="module")
def cabs() -> dict[str, Any]:
    module = evidence()
    return module.summary(module.attack(module.cabs(), 150.0))


@pytest.mark.parametrize("where", ["geolife", "cabs"])
def test_every_trace_in_the_class_keeps_the_promised_uncertainty(where: str, request: pytest.FixtureRequest) -> None:
    table = request.getfixturevalue(where)
    assert table["in_class"] >= 200
    assert table["floor_kept"] == table["in_class"]
    assert table["smallest_sd_over_floor"] >= 1 - 1e-9


@pytest.mark.parametrize("where", ["geolife", "cabs"])
def test_the_68_percent_interval_covers_within_two_standard_errors_between_traces(
    where: str, request: pytest.FixtureRequest
) -> None:
    row = request.getfixturevalue(where)["multiscale"]
    assert abs(row["coverage_68"] - EXPECTED) <= 2 * row["coverage_standard_error"]


@pytest.mark.parametrize("where", ["geolife", "cabs"])
def test_traces_outside_the_class_are_few_and_say_why(where: str, request: pytest.FixtureRequest) -> None:
    table = request.getfixturevalue(where)
    assert len(table["outside_class"]) + table["in_class"] == table["traces"]
    assert len(table["outside_class"]) <= 0.1 * table["traces"]
    assert all(item["because"] for item in table["outside_class"])


def test_a_smoothing_adversary_removes_independent_noise_and_little_of_the_multiscale_noise(
    geolife: dict[str, Any],
) -> None:
    multiscale, independent = geolife["multiscale"], geolife["independent"]
    assert multiscale["rms_error_raw_m"] == pytest.approx(150, rel=0.05)
    assert independent["rms_error_raw_m"] == pytest.approx(150, rel=0.05)
    assert multiscale["rms_error_smoothed_m"] >= 2.5 * independent["rms_error_smoothed_m"]
    assert multiscale["rms_error_smoothed_m"] == pytest.approx(multiscale["predicted_m"], rel=0.1)
    assert independent["rms_error_smoothed_m"] == pytest.approx(independent["predicted_m"], rel=0.1)
