"""Alarms tell forgery from change as far as that is possible, and say when it is not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, earth_movers_distance, joint
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, close_cycle, first_channel, judge_cycle
from sfumato.collect.loop.defences import fake_report_influence, with_forged

PARIS = city("paris")
GRID = PARIS.plain_grid
RULES = Rules(beta=0.5)
CHANNEL = first_channel(GRID, RULES)


def cycle(share, people, seed, forged=0, cell=150):
    rng = np.random.default_rng(seed)
    counts = np.array(draw_tally(CHANNEL, rng.multinomial(people, share), rng=seed))
    counts[cell] += forged
    return Tally(CHANNEL, counts)


def moved_south():
    field = PARIS.probabilities.reshape(GRID.shape)
    return np.vstack([field[-2:], field[:-2]]).ravel()


def test_a_map_that_changes_is_called_a_change_and_raises_no_alarm():
    tallies = [cycle(PARIS.probabilities, 3000, seed) for seed in range(4)] + [cycle(moved_south(), 3000, 9)]
    closed = close_cycle(tallies, RULES, with_influence=False, with_intervals=False)
    assert closed.verdict.kind == "changed"
    assert "cannot tell" in closed.notices[0]
    assert closed.alarms == ()
    truth = moved_south()
    shown = earth_movers_distance(closed.this_cycle.probabilities, truth, GRID)
    assert shown < 0.6 * earth_movers_distance(closed.estimate.probabilities, truth, GRID), "cycle 5 shows cycle 5"


def test_a_pile_is_called_forged_and_the_map_is_also_given_without_it():
    tallies = [cycle(PARIS.probabilities, 3000, seed, forged=500 if seed == 3 else 0) for seed in range(4)]
    closed = close_cycle(tallies, RULES, with_influence=False, with_intervals=False)
    assert closed.verdict.kind == "forged"
    assert closed.verdict.cell == 150
    assert closed.alarms
    truth = PARIS.probabilities
    shown, without = (
        earth_movers_distance(one.probabilities, truth, GRID) for one in (closed.estimate, closed.without_suspicious)
    )
    assert without < shown


def test_an_old_forgery_does_not_accuse_a_new_cycle():
    tallies = [cycle(PARIS.probabilities, 3000, seed, forged=500 if seed == 0 else 0) for seed in range(3)]
    verdict = judge_cycle(tallies, joint(tallies).probabilities, alarm_p=1e-4)
    assert verdict.kind != "forged"
    closed = close_cycle(tallies, RULES, suspicious=(0,), with_influence=False, with_intervals=False)
    truth = PARIS.probabilities
    assert earth_movers_distance(closed.without_suspicious.probabilities, truth, GRID) < earth_movers_distance(
        closed.estimate.probabilities, truth, GRID
    )


def test_honest_cycles_of_a_changing_city_raise_no_alarm():
    rng = np.random.default_rng(1)
    tallies, kinds = [], []
    for seed in range(12):
        share = PARIS.probabilities if seed % 3 else moved_south()
        tallies.append(cycle(share, int(rng.integers(500, 5000)), seed))
        kinds.append(judge_cycle(tallies, joint(tallies, stop=60).probabilities, alarm_p=1e-4).kind)
    assert "forged" not in kinds
    assert "changed" in kinds


@pytest.mark.slow
@pytest.mark.parametrize("way", ["piled", "spread", "as people"])
def test_the_damage_of_forged_reports_in_every_cycle_lies_within_the_forecast(way):
    honest = [cycle(PARIS.probabilities, 3000, seed) for seed in range(4)]
    estimate = joint(honest)
    forecast = {one.way: one for one in fake_report_influence(honest, estimate, shares=(0.05,))}[way]
    rng = np.random.default_rng(0)
    for cell in rng.choice(GRID.cells, 6, replace=False):
        forged = [with_forged(tally, 0.05, way, int(cell)) for tally in honest]
        damage = earth_movers_distance(joint(forged).probabilities, estimate.probabilities, GRID)
        assert damage <= 1.25 * forecast.moved


def test_the_default_promise_needs_no_map_and_never_changes_its_channel():
    tallies = [cycle(PARIS.probabilities, 500, 0)]
    closed = close_cycle(tallies, RULES, with_influence=False)
    assert closed.next_channel is tallies[0].channel
    assert closed.epsilon.upper <= 2 * RULES.beta
    assert CHANNEL.beta == pytest.approx(2 * RULES.beta, rel=1e-6), "twice the beta for the same epsilon"
    assert not closed.capped
    assert closed.intervals.words == "95 % intervals for the share of the people who reported in this cycle."


def test_a_grid_of_one_row_is_judged_too():
    line = first_channel(Grid.plain(1, 5), RULES)
    closed = close_cycle([Tally(line, np.array([5, 9, 30, 8, 2]))], RULES)
    assert closed.verdict.kind == "fits"
