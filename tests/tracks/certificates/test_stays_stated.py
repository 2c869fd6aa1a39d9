"""What ``--secrets`` states about a stay is not exceeded by conditioning the whole Gaussian in one piece.

The first edition stated 1ᵀΓ_UU⁻¹1, the protected points alone: on the reviewer's 20 held-out traces it was exceeded 20
times (41.6 : 1 stated, 3,420 : 1 true). ``python benchmarks/evidence_stays.py`` prints both columns.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
from repository import ROOT

from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.priors.kernels import Matern32
from sfumato.tracks.priors.statespace import sample

SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def evidence() -> Any:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("evidence_stays")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def made_up(seed: int) -> Trace:
    """A way, a stop in the middle, a way on, at irregular times."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(30, 22))
    clock = times - np.clip(times - times[8], 0, times[14] - times[8])
    path = sample(clock, Matern32(float(rng.uniform(60, 900)), float(rng.uniform(100, 3000))), coordinates=2, rng=seed)
    lat, lon = displace(np.full(22, 48.2), np.full(22, 16.37), path + rng.normal(0, 3, (22, 2)))
    return Trace(lat, lon, 1.7e9 + times)


def check(rows: list[Any]) -> None:
    for row in rows:
        assert row.exact <= row.stated * (1 + 1e-6)
        assert row.exact_wider <= row.stated * (1 + 1e-6)  # a larger sd only lowers it
        assert row.offset_exact <= row.offset_stated * (1 + 1e-6)
        assert row.stated >= row.first_edition * (1 - 1e-9)


@pytest.mark.slow
def test_no_exact_computation_exceeds_what_is_stated_on_made_up_ways(evidence: Any) -> None:
    rows = [evidence.row(str(seed), made_up(seed), list(range(9, 14))) for seed in range(5)]
    check(rows)
    assert sum(row.exact > row.first_edition * 1.001 for row in rows) >= 3  # today's main failed here
    # Equality, not only a bound, where the stay is all that is protected.
    np.testing.assert_allclose([row.exact for row in rows], [row.stated for row in rows], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not here")
def test_no_exact_computation_exceeds_what_is_stated_on_twenty_held_out_people(evidence: Any) -> None:
    rows = evidence.table(20, most_points=22)
    assert len(rows) == 20
    check(rows)
    assert sum(row.exact > row.first_edition * (1 + 1e-6) for row in rows) >= 10
