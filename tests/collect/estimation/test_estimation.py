"""Estimates from obfuscated reports: the update, all cycles jointly, certified gaps, earth mover's distances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import randomness
from sfumato.base.things.channel import Channel, with_floor
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation import (
    Tally,
    blended_map,
    earth_movers,
    earth_movers_distance,
    ibu,
    joint,
    log_smooth,
    tally_reports,
)
from sfumato.collect.estimation.earth_mover import _linear_program
from sfumato.collect.estimation.joint import steps_by_thinning, thin
from sfumato.collect.estimation.tally import Likelihood, stacked_weights
from sfumato.collect.grids.blahut_arimoto import blahut_arimoto
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.sampling import draw_tally

PARIS = city("paris")


def some_tallies(cycles=3, betas=(1.0,), seed=0, people=None):
    grid = Grid.plain(6, 8)
    rng = np.random.default_rng(seed)
    people = rng.multinomial(3000, rng.dirichlet(np.full(48, 0.3))) if people is None else people
    tallies = []
    for cycle in range(cycles):
        c = rng.dirichlet(np.ones(48))
        channel = GridChannel(grid, betas[cycle % len(betas)], c)
        tallies.append(Tally(channel, draw_tally(channel, people, rng=seed + cycle)))
    return tallies, people


def log_likelihood(tallies, theta):
    return sum(float(tally.counts @ np.log(theta @ tally.channel.to_dense().matrix)) for tally in tallies)


@pytest.mark.parametrize("betas", [(1.0,), (0.5, 1.0)])
def test_one_joint_step_is_expectation_maximisation_written_out(betas):
    tallies, _ = some_tallies(betas=betas)
    theta = np.full(48, 1 / 48)
    expected = np.zeros(48)
    for tally in tallies:
        matrix = tally.channel.to_dense().matrix
        expected += theta * (matrix @ (tally.counts / (theta @ matrix)))
    expected /= expected.sum()
    np.testing.assert_allclose(joint(tallies, stop=1).probabilities, expected, rtol=1e-12)


def test_one_update_is_the_formula_of_the_paper():
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    counts, first = np.array([5, 1, 4]), np.array([0.5, 0.3, 0.2])
    q, theta = counts / counts.sum(), first
    for steps in (1, 2):
        seen = theta @ matrix
        theta = np.array([sum(q[y] * theta[x] * matrix[x, y] / seen[y] for y in range(3)) for x in range(3)])
        found = ibu(Channel(matrix), counts, steps=steps, start=first)
        np.testing.assert_allclose(found.probabilities, theta, rtol=1e-12)
        assert found.log_likelihood == pytest.approx(float(counts @ np.log(theta @ matrix)))


def test_the_update_is_the_same_for_a_grid_channel_and_its_dense_matrix():
    tallies, _ = some_tallies(cycles=1)
    channel, counts = tallies[0].channel, tallies[0].counts
    fast, slow = ibu(channel, counts, steps=25), ibu(channel.to_dense(), counts, steps=25)
    np.testing.assert_allclose(fast.probabilities, slow.probabilities, rtol=1e-10)
    assert fast.log_likelihood == pytest.approx(slow.log_likelihood, rel=1e-12)
    assert fast.gap == pytest.approx(slow.gap, rel=1e-9)


def test_the_gap_is_recomputed_at_the_returned_map_and_bounds_what_is_missing():
    tallies, _ = some_tallies()
    best = joint(tallies, stop="converge", gap=1e-7, most_steps=20_000)
    assert best.gap <= 1e-7
    reports = sum(tally.total for tally in tallies)
    for steps in (1, 5, 40, 300):
        found = joint(tallies, stop=steps)
        model = Likelihood.of(tallies)
        g, _ = model.step(found.probabilities[:, None], stacked_weights(tallies))
        assert found.gap == pytest.approx(float(g.max()) - 1, rel=1e-9)
        missing = (log_likelihood(tallies, best.probabilities) - log_likelihood(tallies, found.probabilities)) / reports
        assert -1e-7 <= missing <= found.gap
        assert found.log_likelihood == pytest.approx(log_likelihood(tallies, found.probabilities), rel=1e-10)


def test_acceleration_reaches_a_gap_in_fewer_steps_than_plain_iteration():
    tallies, _ = some_tallies()
    fast = joint(tallies, stop="converge", gap=1e-4, most_steps=20_000)
    assert fast.gap <= 1e-4
    assert joint(tallies, stop=2 * fast.iterations).gap > 1e-4


def test_pooling_cycles_is_better_than_the_last_one_alone():
    place = city("paris")
    channel = blahut_arimoto(place.probabilities, place.plain_grid, beta=1.0).value
    tallies = [Tally(channel, draw_tally(channel, place.people, rng=seed)) for seed in range(4)]
    truth, grid = place.probabilities, place.plain_grid
    together = earth_movers_distance(joint(tallies).probabilities, truth, grid)
    alone = earth_movers_distance(joint(tallies[-1:]).probabilities, truth, grid)
    overfitted = earth_movers_distance(joint(tallies, stop=1500).probabilities, truth, grid)
    assert together < 0.75 * alone
    assert together < 0.95 * overfitted, "running to convergence overfits"


def test_the_same_tallies_always_give_the_same_estimate_and_order_hardly_matters():
    tallies, _ = some_tallies()
    first, second = joint(tallies), joint(tallies)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    np.testing.assert_allclose(
        joint(tallies, stop=30).probabilities, joint(tallies[::-1], stop=30).probabilities, rtol=1e-10
    )


def test_every_report_goes_to_exactly_one_part():
    tallies, _ = some_tallies()
    parts = thin(tallies, 5, randomness(0))
    np.testing.assert_array_equal(parts.sum(axis=2), np.stack([tally.counts for tally in tallies], axis=1))
    shares = parts.sum(axis=(0, 1)) / parts.sum()
    assert np.abs(shares - 0.2).max() < 0.02


def test_few_reports_stop_early_and_many_late():
    people = np.random.default_rng(0).multinomial(1000, np.random.default_rng(1).dirichlet(np.full(48, 0.3)))
    few, _ = some_tallies(people=people)
    many, _ = some_tallies(people=300 * people)
    assert steps_by_thinning(few) < steps_by_thinning(many)


def test_the_smooth_estimate_is_the_top_of_its_penalised_likelihood():
    tallies, _ = some_tallies()
    found = log_smooth(tallies).probabilities

    def value(theta):
        field = np.log(theta).reshape(6, 8)
        rough = np.sum(np.diff(field, axis=0) ** 2) + np.sum(np.diff(field, axis=1) ** 2)
        return log_likelihood(tallies, theta) - 0.15 * rough

    top = value(found)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            other = found * np.exp(size * rng.normal(size=48))
            assert value(other / other.sum()) < top
    assert found.min() > 0


def test_a_stronger_pull_gives_a_flatter_map_and_the_blend_lies_between():
    tallies, _ = some_tallies()
    soft, hard = log_smooth(tallies, strength=0.3), log_smooth(tallies, strength=100.0)
    assert np.ptp(np.log(hard.probabilities)) < np.ptp(np.log(soft.probabilities))
    mixed = blended_map(tallies)
    np.testing.assert_allclose(
        mixed.probabilities, 0.5 * (joint(tallies).probabilities + soft.probabilities), rtol=1e-9
    )
    assert 0 < mixed.gap < 1


def test_an_empty_cycle_among_others_is_left_out_and_nothing_is_lost():
    tallies, _ = some_tallies()
    empty = Tally(tallies[0].channel, np.zeros(48, dtype=int))
    assert joint([*tallies, empty], stop=5).reports == sum(tally.total for tally in tallies)


def bad_input():
    channel = uniform_channel(Grid.plain(2, 3), 1.0)
    blind = GridChannel(Grid.plain(2, 3), 1.0, np.array([1.0, 1, 1, 0, 1, 1]))
    return {
        "no tally": lambda: joint([]),
        "only empty cycles": lambda: joint([(channel, np.zeros(6))]),
        "negative counts": lambda: joint([(channel, [-1, 1, 1, 1, 1, 1])]),
        "fractional counts": lambda: joint([(channel, [0.5, 1, 1, 1, 1, 1])]),
        "counts that are NaN": lambda: joint([(channel, [np.nan, 1, 1, 1, 1, 1])]),
        "counts of another grid": lambda: joint([(channel, np.ones(7))]),
        "channels of different grids": lambda: joint(
            [(channel, np.ones(6)), (uniform_channel(Grid.plain(3, 2), 1.0), np.ones(6))]
        ),
        "a report the channel cannot make": lambda: joint([(blind, np.ones(6))]),
        "the same for a dense channel": lambda: ibu(Channel([[1.0, 0.0], [1.0, 0.0]]), [1, 1]),
        "unknown cells": lambda: tally_reports(channel, [0, 6]),
        "negative cells": lambda: tally_reports(channel, [-1]),
        "cells that are no whole numbers": lambda: tally_reports(channel, [0.5]),
        "an unknown rule to stop": lambda: joint([(channel, np.ones(6))], stop="soon"),
        "a start that is no distribution": lambda: joint([(channel, np.ones(6))], start=np.ones(6)),
        "a pull of 0": lambda: log_smooth([(channel, np.ones(6))], strength=0.0),
        "a map of another grid": lambda: earth_movers_distance(np.ones(5), np.ones(6), Grid.plain(2, 3)),
        "a map with NaN": lambda: earth_movers_distance(np.full(6, np.nan), np.ones(6), Grid.plain(2, 3)),
        "an empty map": lambda: earth_movers_distance(np.zeros(6), np.ones(6), Grid.plain(2, 3)),
    }


@pytest.mark.parametrize("what", list(bad_input()))
def test_input_that_cannot_be_used_is_refused_with_advice(what):
    with pytest.raises(InputError) as refused:
        bad_input()[what]()
    assert refused.value.what
    assert refused.value.advice


def test_the_first_rows_of_the_published_tables():
    for name, expected in (("paris", 2.022618), ("sf", 7.376104)):
        place = city(name)
        uniform = np.full(place.plain_grid.cells, 1 / place.plain_grid.cells)
        assert earth_movers_distance(uniform, place.probabilities, place.plain_grid) == pytest.approx(
            expected, abs=1e-6
        )


def test_cancelling_common_mass_changes_nothing_and_linear_programming_agrees():
    grid = Grid.plain(4, 5, cell_width=1.7)
    rng = np.random.default_rng(0)
    a, b = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20))
    costs = grid.distance_matrix()
    rows = np.kron(np.eye(20), np.ones(20))
    columns = np.kron(np.ones(20), np.eye(20))
    whole = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([a, b])).fun
    assert earth_movers_distance(a, b, grid) == pytest.approx(whole, abs=1e-9)
    assert _linear_program(a, b, costs) == pytest.approx(whole, abs=1e-9)
    assert earth_movers_distance(a, a, grid) == 0.0


def test_the_bracket_of_merged_blocks_contains_the_exact_distance():
    grid = Grid.plain(30, 26)
    rng = np.random.default_rng(1)
    a = rng.dirichlet(np.full(grid.cells, 0.1))
    b = np.roll(a.reshape(grid.shape), (3, 5), axis=(0, 1)).ravel()
    exact = earth_movers_distance(a, b, grid)
    for block in (2, 3, 5):
        merged = earth_movers(a, b, grid, block=block)
        assert merged.lower <= exact <= merged.upper
        assert merged.block == block


def test_a_large_grid_is_merged_and_says_so():
    grid = Grid.plain(120, 110)
    a = np.random.default_rng(0).dirichlet(np.full(grid.cells, 0.01))
    found = earth_movers(a, np.roll(a, 1), grid)
    assert found.block > 1
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_a_handful_of_reports_gives_a_finite_estimate_without_a_warning(reports: int) -> None:
    grid = Grid.plain(4, 4)
    counts = np.zeros(16, dtype=np.int64)
    counts[5] = reports
    channel = GridChannel(grid, 1.0, np.full(16, 1 / 16))
    with np.errstate(all="raise"):
        estimate = joint([Tally(channel, counts)])
    assert np.isfinite(estimate.probabilities).all()
    assert estimate.probabilities.sum() == pytest.approx(1.0)


def far_apart():
    """All weight on two corners, hundreds of nats from most cells."""
    grid = Grid.plain(20, 40)
    c = np.zeros(grid.cells)
    c[[0, -1]] = 0.5
    counts = np.zeros(grid.cells, dtype=np.int64)
    counts[[0, -1]] = (500, 400)
    return GridChannel(grid, 40.0, c), counts


@pytest.mark.parametrize(
    "estimate",
    [
        lambda channel, counts: joint([(channel, counts)]),
        lambda channel, counts: joint([(channel, counts)], stop="converge"),
        lambda channel, counts: ibu(channel, counts),
    ],
    ids=["joint", "converge", "ibu"],
)
def test_an_estimate_that_cannot_be_computed_is_refused_and_is_never_the_uniform_start(estimate):
    with pytest.raises(NotCertified) as refused:
        estimate(*far_apart())
    assert "floor" in refused.value.advice


def test_with_the_floor_that_the_refusal_advises_the_same_reports_are_estimated():
    channel, counts = far_apart()
    floored = GridChannel(channel.grid, channel.beta, with_floor(channel.output_weights, 0.01))
    for found in (joint([(floored, counts)]), ibu(floored, counts)):
        assert found.probabilities[[0, -1]] == pytest.approx([5 / 9, 4 / 9], abs=0.02)


def test_an_estimate_that_ran_out_of_steps_says_so():
    channel = blahut_arimoto(PARIS.probabilities, PARIS.plain_grid, beta=1.0).value
    tallies = [Tally(channel, draw_tally(channel, PARIS.people, rng=0))]
    short = joint(tallies, stop="converge", gap=1e-9, most_steps=5)
    assert short.gap > 1e-9
    assert short.stopped_by == "most_steps"
    assert joint(tallies, most_steps=2).stopped_by == "most_steps"
    assert joint(tallies, stop="converge", gap=1e-3).stopped_by == "converge"


@pytest.mark.parametrize("seed", [44, 45, 58])
def test_one_part_that_improves_for_ever_does_not_decide_the_number_of_steps(seed):
    """On these reports the first edition took 5,859 steps, the most there are."""
    grid, rng = Grid.plain(7, 7), np.random.default_rng(seed)
    share = np.full(49, 0.2 / 49)
    share[rng.choice(49, 3, replace=False)] += 0.8 / 3
    people = rng.multinomial(400, share / share.sum())
    channel = uniform_channel(grid, 0.7)
    tallies = [Tally(channel, draw_tally(channel, people, rng=seed))]
    found = joint(tallies)
    assert found.iterations < 500
    near, late = (
        earth_movers_distance(one.probabilities, people / people.sum(), grid)
        for one in (found, joint(tallies, stop=5859))
    )
    assert near <= 1.03 * late
