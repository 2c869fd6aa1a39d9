"""The loop of incremental collection: channels follow the map within caps, forgeries are seen, costs add up."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, joint
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import (
    Rules,
    capped_weights,
    close_cycle,
    fake_report_influence,
    first_channel,
    next_channel,
    residual_test,
)
from sfumato.collect.loop.rhythm import spending
from sfumato.collect.loop.simulation import Protocol, average_rounds, simulate, simulate_round

PARIS = city("paris")
LOOP = Rules(beta=1.0, promise="mutual-information")


def campaign(cycles, rules, *, forged=0, cell=150, begin=0, cohorted=False):
    """Run the pure functions as a service would; ``forged`` reports of ``cell`` per cycle from cycle ``begin`` on."""
    everyone = np.repeat(np.arange(165), PARIS.people)
    shuffled = np.random.default_rng(0).permutation(everyone)
    channel = first_channel(PARIS.plain_grid, rules)
    tallies, closed, previous = [], [], None
    for cycle in range(cycles):
        people = np.bincount(shuffled[cycle::cycles], minlength=165) if cohorted else PARIS.people
        counts = draw_tally(channel, people, rng=cycle)
        counts[cell] += forged if cycle >= begin else 0
        tallies.append(Tally(channel, counts))
        closed.append(close_cycle(tallies, rules, previous=previous, with_influence=False, with_intervals=False))
        previous = closed[-1].estimate.probabilities
        channel = closed[-1].next_channel
    return tallies, closed


def test_the_shipped_cities_hold_the_published_check_ins():
    assert (city("paris").counts.sum(), city("sf").counts.sum()) == (10_079, 123_026)
    assert (city("paris").people.sum(), city("sf").people.sum()) == (10_078, 123_025)
    assert city("paris").plain_grid.shape == (11, 15)
    assert city("sf").plain_grid.shape == (16, 24)
    assert city("paris").grid.cell_height == pytest.approx(475, abs=1)
    assert city("paris").prior().probabilities.sum() == pytest.approx(1.0)
    with pytest.raises(InputError):
        city("london")


@pytest.mark.shared
def test_the_shipped_counts_are_those_of_the_published_cells(shared_data):
    import pyarrow.parquet as pq

    for name in ("paris", "sf"):
        place = city(name)
        table = pq.read_table(shared_data / "gowalla" / f"gowalla_{name}.parquet")
        inside = table["cell"].to_numpy() >= 0
        row = table["cell_i"].to_numpy()[inside].astype(int)
        column = place.plain_grid.columns - 1 - table["cell_j"].to_numpy()[inside].astype(int)
        cells = row * place.plain_grid.columns + column
        np.testing.assert_array_equal(np.bincount(cells, minlength=place.plain_grid.cells), place.counts)
        assert cells[0] == place.first_record_cell
        located = place.grid.locate(table["lat"].to_numpy()[inside], table["lon"].to_numpy()[inside])
        assert np.mean(located == cells) > 0.999


def test_every_channel_of_a_campaign_stays_within_two_beta_from_the_first_cycle_on():
    rules = Rules(beta=1.0)
    assert first_channel(PARIS.plain_grid, rules).epsilon().upper <= 2.0
    _, closed = campaign(3, rules)
    for one in closed:
        assert one.epsilon.upper <= 2.0
        assert one.next_channel.output_weights.min() >= (1 - 1e-9) * rules.floor / 165
        assert not one.alarms
    assert closed[-1].moved < closed[-2].moved


def test_no_weight_changes_by_more_than_the_cap():
    rules = Rules(beta=1.0, promise="mutual-information", max_log_change=0.3)
    channel = first_channel(PARIS.plain_grid, rules)
    following = next_channel(channel, PARIS.probabilities, rules)
    change = np.log(following.output_weights / channel.output_weights)
    assert np.abs(change).max() <= 0.3 + 1e-9
    assert np.abs(change).max() > 0.29
    free = next_channel(
        channel, PARIS.probabilities, Rules(beta=1.0, promise="mutual-information", max_log_change=None)
    )
    assert np.abs(np.log(free.output_weights / channel.output_weights)).max() > 1


def test_capped_weights_sum_to_one_and_are_the_fresh_ones_where_nothing_binds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        floor, cap = 0.01, rng.uniform(0.05, 3)
        a, b = ((1 - floor) * rng.dirichlet(np.full(40, 0.3)) + floor / 40 for _ in range(2))
        c = capped_weights(a, b, cap, floor)
        assert c.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.abs(np.log(c / a)).max() <= cap + 1e-9
        assert c.min() >= floor / 40 * (1 - 1e-9)
    np.testing.assert_allclose(capped_weights(a, b, 50.0, floor), b, rtol=1e-9)


def test_honest_reports_raise_no_alarm_and_a_forged_spike_does():
    rules = LOOP
    _, honest = campaign(2, rules)
    _, forged = campaign(2, rules, forged=530)
    assert all(one.residual.p_value > 1e-3 for one in honest)
    assert forged[0].verdict.kind == "forged"
    assert forged[0].verdict.cell == 150
    assert forged[0].alarms


def test_the_residual_test_of_a_true_map_is_calibrated():
    channel = first_channel(PARIS.plain_grid, LOOP)
    values = [
        residual_test(Tally(channel, draw_tally(channel, PARIS.people, rng=seed)), PARIS.probabilities).p_value
        for seed in range(60)
    ]
    # Given the people, reports vary less than a multinomial: p-values are large, never small.
    assert np.mean(np.array(values) < 0.05) <= 0.08


def test_more_forged_reports_move_the_estimate_further():
    channel = first_channel(PARIS.plain_grid, LOOP)
    tallies = [Tally(channel, draw_tally(channel, PARIS.people, rng=0))]
    found = fake_report_influence(tallies, joint(tallies), shares=(0.01, 0.05))
    for one, five in zip(found[:3], found[3:], strict=True):
        assert one.way == five.way
        assert 0 < one.least <= one.moved < five.moved
        assert five.into_cell > one.into_cell > 0


def test_poisoning_destroys_camouflage_but_never_epsilon_and_the_defences_hold_it_back():
    options = {"beta": 1.0, "cycles": 6, "reporting": "every-cycle", "fake_share": 0.05, "fake_cell": 150}
    bare = list(simulate_round(PARIS.people, PARIS.plain_grid, Protocol(**options), seed=0))
    held = list(
        simulate_round(PARIS.people, PARIS.plain_grid, Protocol(**options, floor=0.01, max_log_change=0.3), seed=0)
    )
    assert bare[-1].channel.row(150)[150] > 0.9, "5 % of forged reports make the cell report itself"
    assert held[-1].channel.row(150)[150] < bare[-1].channel.row(150)[150] - 0.2
    assert max(cycle.epsilon for cycle in bare) <= 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "begin", "cohorted"), [(0.05, 0, False), (0.05, 0, True), (0.05, 3, True), (0.02, 0, True)]
)
def test_with_the_default_rules_the_channel_never_follows_a_forged_spike(share, begin, cohorted):
    people = int(PARIS.people.sum()) / (6 if cohorted else 1)
    forged = round(share / (1 - share) * people)
    tallies, closed = campaign(6, LOOP, forged=forged, begin=begin, cohorted=cohorted)
    assert tallies[0].channel.row(150)[150] == pytest.approx(0.168, abs=0.001)
    assert closed[-1].next_channel.row(150)[150] < 0.2, "it is not sent to itself more than under the first channel"
    for tally, one in zip(tallies[begin:], closed[begin:], strict=True):
        assert one.verdict.alarm, "the alarm does not fall silent while forging goes on"
        assert one.verdict.cell == 150
        assert one.next_channel is tally.channel, "the next channel does not follow a suspicious estimate"
        assert not one.capped
    assert all(not one.verdict.alarm for one in closed[:begin])


@pytest.mark.slow
def test_an_honest_campaign_makes_most_of_its_gain_under_the_default_cap():
    def lost(channel):
        return channel.mutual_information(PARIS.probabilities) + channel.distortion(PARIS.probabilities)

    tallies, closed = campaign(8, LOOP, cohorted=True)
    _, free = campaign(8, Rules(beta=1.0, promise="mutual-information", max_log_change=None), cohorted=True)
    start = lost(tallies[0].channel)
    assert start - lost(closed[-1].next_channel) > 0.8 * (start - lost(free[-1].next_channel)) > 0
    assert not any(one.alarms for one in (*closed, *free))


def test_a_simulation_can_hold_its_channel_on_alarm_too():
    options = {
        "beta": 1.0, "cycles": 3, "reporting": "every-cycle", "fake_share": 0.05, "fake_cell": 150, "floor": 0.01,
    }  # fmt: skip
    held = list(simulate_round(PARIS.people, PARIS.plain_grid, Protocol(**options, hold_on_alarm=True), seed=0))
    free = list(simulate_round(PARIS.people, PARIS.plain_grid, Protocol(**options), seed=0))
    assert held[3].channel is held[1].channel
    assert held[3].channel.row(150)[150] < 0.2 < 0.9 < free[3].channel.row(150)[150]


def test_repeating_a_place_costs_the_exact_composition_and_cohorts_cost_one_report():
    rng = np.random.default_rng(0)
    channels = [blahut_arimoto(rng.dirichlet(np.ones(165)), PARIS.plain_grid, beta=1.0).value for _ in range(3)]
    once, always = (spending(channels, reporting=kind).level for kind in ("once", "every-cycle"))
    assert once.upper == max(channel.epsilon().upper for channel in channels)
    assert once.upper < always.upper <= 6.0


def test_the_published_loop_starts_uniform_and_improves_and_costs_what_it_costs():
    rounds = simulate(
        PARIS.people, PARIS.plain_grid, Protocol(beta=1.0, cycles=5, reporting="every-cycle"), rounds=2, seed=0
    )
    rows = average_rounds(rounds)
    assert rows[0].emd_mean == pytest.approx(2.022618, abs=1e-6)
    assert rows[1].emd_mean == pytest.approx(0.2701, rel=0.06)
    assert rows[5].emd_mean < rows[1].emd_mean
    assert 5 < rows[5].spent_epsilon <= 10
    assert rows[0].spent_epsilon == 0


def test_the_joint_estimator_reads_the_very_same_reports():
    first = list(simulate_round(PARIS.people, PARIS.plain_grid, Protocol(beta=1.0, cycles=2), seed=5))
    second = list(
        simulate_round(PARIS.people, PARIS.plain_grid, Protocol(beta=1.0, cycles=2, estimator="joint"), seed=5)
    )
    for a, b in zip(first[1:], second[1:], strict=True):
        np.testing.assert_array_equal(a.tally.counts, b.tally.counts)


def test_a_memoised_report_tallied_again_under_later_channels_would_ruin_the_map():
    """Why a resent report keeps its version: the same y counted under other channels is another experiment."""
    people = PARIS.people
    cycles = list(
        simulate_round(people, PARIS.plain_grid, Protocol(beta=1.0, cycles=6, reporting="every-cycle"), seed=1)
    )
    stale = cycles[1].tally.counts
    honest = joint([cycles[1].tally]).probabilities
    again = joint([Tally(cycle.channel, stale) for cycle in cycles[1:]], most_steps=1000).probabilities
    from sfumato.collect.estimation import earth_movers_distance

    truth, grid = PARIS.probabilities, PARIS.plain_grid
    assert earth_movers_distance(again, truth, grid) > 1.5 * earth_movers_distance(honest, truth, grid)


RULES = Rules(beta=1.0)


def forging(cell):
    return Protocol(beta=1.0, cycles=1, fake_share=0.1, fake_cell=cell)


def test_an_enormous_cap_is_no_cap():
    rng = np.random.default_rng(0)
    before, fresh = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20))
    np.testing.assert_allclose(capped_weights(before, fresh, 1000.0, 0.0), fresh, rtol=1e-9)


def test_the_forecast_of_forged_reports_only_forges_what_the_channel_can_report():
    channel = GridChannel(Grid.plain(3, 4), 1.0, np.where(np.arange(12) < 2, 0.5, 0.0))
    counts = np.where(np.arange(12) < 2, 50, 0)
    found = fake_report_influence([(channel, counts)], joint([(channel, counts)]))
    assert {one.cell for one in found} <= {0, 1}
    closed = close_cycle([(channel, counts)], Rules(beta=1.0))
    assert closed.influence


def senseless():
    grid = Grid.plain(2, 3)
    channel = uniform_channel(grid, 1.0)
    elsewhere = joint([(uniform_channel(Grid.plain(2, 2), 1.0), np.ones(4))])
    return {
        "an empty cycle": lambda: close_cycle([(channel, np.zeros(6))], Rules(beta=1.0)),
        "testing an empty cycle": lambda: residual_test(Tally(channel, np.zeros(6)), np.full(6, 1 / 6)),
        "beta of 0": lambda: Rules(beta=0.0),
        "a floor of 1": lambda: Rules(beta=1.0, floor=1.0),
        "an unknown reporting": lambda: Rules(beta=1.0, reporting="often"),
        "a cap of 0": lambda: Rules(beta=1.0, max_log_change=0.0),
        "no people": lambda: simulate(np.zeros(6), grid, Protocol(beta=1.0, cycles=1)),
        "negative people": lambda: simulate(-np.ones(6), grid, Protocol(beta=1.0, cycles=1)),
        "people of another grid": lambda: simulate(np.ones(7), grid, Protocol(beta=1.0, cycles=1)),
        "no rounds": lambda: simulate(np.ones(6), grid, Protocol(beta=1.0, cycles=1), rounds=0),
        "no cycles": lambda: Protocol(beta=1.0, cycles=0),
        "forged reports of an unknown cell": lambda: simulate(np.ones(6), grid, forging(6)),
        "forged reports of a negative cell": lambda: simulate(np.ones(6), grid, forging(-1)),
        "a simulated cap of 0": lambda: Protocol(beta=1.0, cycles=1, max_log_change=0.0),
        "fewer people than cycles": lambda: simulate(np.ones(6), grid, Protocol(beta=1.0, cycles=7, reporting="once")),
        "a last cycle without reports": lambda: close_cycle([(channel, np.ones(6)), (channel, np.zeros(6))], RULES),
        "no Blahut-Arimoto steps": lambda: Rules(beta=1.0, ba_steps=0),
        "an alarm above 1": lambda: Rules(beta=1.0, alarm_p=2.0),
        "spending by an unknown reporting": lambda: spending([channel], reporting="x"),
        "spending on two grids": lambda: spending([channel, uniform_channel(Grid.plain(2, 2), 1.0)], reporting="once"),
        "influence on the estimate of another grid": lambda: fake_report_influence([(channel, np.ones(6))], elsewhere),
        "feedback without the joint estimator": lambda: Protocol(beta=1.0, cycles=1, feedback=True),
        "forged reports of no cell": lambda: Protocol(beta=1.0, cycles=1, fake_share=0.1),
    }


@pytest.mark.parametrize("what", list(senseless()))
def test_a_campaign_that_makes_no_sense_is_refused_with_advice(what):
    with pytest.raises(InputError) as refused:
        senseless()[what]()
    assert refused.value.advice


def test_distances_between_very_many_places_are_refused_before_they_fill_the_memory():
    from sfumato.base.things.cell_prior import CellPrior

    many = CellPrior(np.full(30_000, 1 / 30_000), positions_m=np.zeros((30_000, 2)))
    with pytest.raises(InputError) as refused:
        many.distances_m()
    assert refused.value.advice


def test_a_prior_knows_its_grid_and_refuses_one_of_another_size() -> None:
    prior = city("paris").prior()
    assert prior.grid is not None
    assert prior.grid.shape == (11, 15)
    assert prior.labels[-1] == "r10c14"
    assert prior.with_floor(0.1).grid is prior.grid
    np.testing.assert_allclose(prior.distances_m()[0, 1], prior.grid.cell_width)
    with pytest.raises(InputError, match="one probability per cell"):
        CellPrior(prior.probabilities, grid=Grid.plain(3, 3))
