"""At least 84 of 104 originals of people nothing was chosen on are refused; true releases are not."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from repository import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def evidence() -> Any:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("evidence_plausible")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_true_releases_of_all_sizes_and_patterns_pass(evidence: Any) -> None:
    refused, tried, values = evidence.refused_releases(4000, seed=6)
    assert tried >= 4000
    assert refused == 0
    assert (values < 0.01).mean() <= 0.01


@pytest.mark.shared
def test_unprotected_originals_of_held_out_people_are_refused(evidence: Any) -> None:
    """The first edition had no such question: it accepted all of them."""
    if not evidence.HERE:
        pytest.skip("../shared/data is not here")
    traces = evidence.people_in_halves()[1][: evidence.AMONG]
    assert len(traces) == 104
    assert evidence.refused_originals(traces, None) >= 100
    assert evidence.refused_originals(traces[::4], 150.0) >= 22
