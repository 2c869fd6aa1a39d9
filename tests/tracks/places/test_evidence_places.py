"""Evidence: a centred zone is broken, a drawn one holds where it is said to, on people nothing was fitted on."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from repository import ROOT, SHARED

from sfumato.tracks.places.zones import DEFAULT_RADIUS_M, RADII_M

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def evidence() -> Any:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import evidence_places

        return evidence_places
    finally:
        sys.path.pop(0)


def test_a_made_up_town_without_any_data_is_attacked_with_the_shipped_weights(evidence):
    found = evidence.cases(evidence.town(people=20), (DEFAULT_RADIUS_M,), 3, seed=5)
    evidence.attack(found, cross_fit=False)
    rows = evidence.table(found, (DEFAULT_RADIUS_M,))
    assert rows["circle", DEFAULT_RADIUS_M, True][1] >= 0.7
    assert rows["circle", DEFAULT_RADIUS_M, False][1] <= 0.08
    assert rows["centre", DEFAULT_RADIUS_M, True][0] < 1


@pytest.mark.shared
@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="../shared/data is not on this machine")
def test_the_default_meets_its_target_on_geolife_and_the_page_shows_what_was_measured(evidence):
    people = evidence.geolife()
    found = evidence.cases(people, RADII_M, 10, seed=0)
    evidence.attack(found, cross_fit=True)
    rows = evidence.show("geolife", people, found, RADII_M)
    assert evidence.verdict(rows, DEFAULT_RADIUS_M)
    page = (ROOT / "docs" / "evidence" / "attacks.md").read_text("utf-8").splitlines()
    measured = evidence.page_rows(rows, RADII_M)
    assert [row for row in measured if row not in page] == [], "\n".join(measured)
