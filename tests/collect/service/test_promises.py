"""What a campaign promises without being told, and that spending never forgets a cycle."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
from alembic.script import ScriptDirectory

from sfumato.collect.estimation import Tally, blended_map, earth_movers_distance, joint
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import first_channel
from sfumato.collect.service.models.bodies import CampaignRequest
from sfumato.collect.service.models.kept import Specification
from sfumato.collect.service.rounds.cycle_estimate import EstimateTask, _rules, estimate_cycle
from sfumato.collect.service.rounds.signed_offers import Signer, demonstration, new_cycle, specification
from sfumato.collect.service.settings import Settings
from sfumato.collect.service.store.records import CellCounts

SETTINGS = Settings.of(city="none")
REQUEST = {
    "name": "town",
    "grid": {"south": 48.84, "west": 2.30, "north": 48.8669, "east": 2.3408, "cell_size_m": 500.0},
    "epsilon_per_km": 2.0,
}


def test_once_and_epsilon_are_the_defaults_of_requests_and_of_the_demonstration():
    asked = specification(CampaignRequest.model_validate(REQUEST), SETTINGS)
    assert (asked.reporting, asked.promise) == ("once", "epsilon")
    _, shown = demonstration("paris", SETTINGS)
    assert (shown.reporting, shown.promise) == ("once", "epsilon")


def test_a_campaign_kept_before_there_was_a_choice_goes_on_with_the_loop():
    kept = specification(CampaignRequest.model_validate(REQUEST), SETTINGS).model_dump()
    del kept["promise"]
    assert Specification.model_validate(kept).promise == "mutual-information"


def cycles(asked: Specification, numbers: list[int]) -> list[CellCounts]:
    channel = first_channel(asked.grid.to_grid(), _rules(asked, max_log_change=None))
    made = []
    for number in numbers:
        opened = new_cycle(
            Signer.from_seed(bytes(32)), name="town", specification=asked, number=number, channel=channel,
            facts=None, previous="0" * 64, now_s=0,
        )  # fmt: skip
        counts = draw_tally(channel, np.full(channel.cells, 20), rng=number)
        made.append(CellCounts(cycle=number, payload=opened.payload, direct=counts, relayed=np.zeros_like(counts)))
    return made


@pytest.mark.parametrize(("reporting", "expected"), [("every-cycle", 2.0 * 40), ("once", 2.0)])
def test_spending_counts_cycles_that_are_no_longer_pooled(reporting, expected):
    asked = specification(CampaignRequest.model_validate(REQUEST | {"reporting": reporting}), SETTINGS)
    pooled = cycles(asked, [38, 39, 40])
    before = 2.0 * 39 if reporting == "every-cycle" else 2.0
    found = estimate_cycle(EstimateTask(asked, pooled, None, SETTINGS, before))
    assert found.facts.spent_epsilon_per_km == pytest.approx(expected, rel=1e-6)
    assert found.facts.averaged_cycles == 3
    assert "3 cycles" in found.facts.interval_words
    assert found.facts.verdict == "fits"
    assert found.this_cycle.shape == found.probabilities.shape
    assert {one.way for one in found.facts.influence_ranges} == {"piled", "spread", "as people"}


def test_a_campaign_shows_the_blended_map_which_is_nearer_than_the_early_stopped_one():
    asked = specification(CampaignRequest.model_validate(REQUEST), SETTINGS)
    grid = asked.grid.to_grid()
    channel = first_channel(grid, _rules(asked, max_log_change=None))
    away = np.sum((grid.centres() - grid.centres().mean(axis=0)) ** 2, axis=1)
    people = np.round(60 * np.exp(-away / (2 * 700.0**2))).astype(np.int64) + 1
    truth = people / people.sum()
    nearer = []
    for seed in range(6):
        made = cycles(asked, [1])[0]
        counts = draw_tally(channel, people, rng=seed)
        one = CellCounts(cycle=1, payload=made.payload, direct=counts, relayed=np.zeros_like(counts))
        shown = estimate_cycle(EstimateTask(asked, (one,), None, SETTINGS)).probabilities
        tallies = [Tally(channel, counts)]
        np.testing.assert_allclose(shown, blended_map(tallies).probabilities, atol=1e-12)
        early = joint(tallies).probabilities
        nearer.append([earth_movers_distance(found, truth, grid) for found in (shown, early)])
    shown_m, early_m = np.mean(nearer, axis=0)
    assert shown_m < early_m


def test_migrations_form_one_line():
    script = ScriptDirectory(str(resources.files("sfumato.collect.service") / "migrations"))
    assert len(script.get_heads()) == 1
    assert len(list(script.walk_revisions())) >= 5
