"""The law of the linear estimate, against reports drawn again and again: skew, in whole steps, next to a hot cell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.estimation import Tally, intervals
from sfumato.collect.estimation.tails import chance_below, waves
from sfumato.collect.estimation.uncertainty import interval_ends, linearise
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.grids.tight import tight_channel

GRID = Grid.plain(5, 5)


def few_people():
    people = np.ones(25, dtype=np.int64)
    people[12] = 176
    people[[0, 7]] = 3
    return people


def below(moments, share):
    """P(D <= estimate - share) if the shares were these."""
    out = np.empty(share.size)
    chance_below(moments.law.shape(), moments.expected, moments.centre + moments.law.shift, share, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_law_is_that_of_repeated_reports_of_the_same_people(epsilon):
    people = few_people()
    truth = people / people.sum()
    channel = tight_channel(GRID, epsilon=epsilon).value
    found = []
    for seed in range(400):
        tally = Tally(channel, draw_tally(channel, people, rng=seed))
        moments = linearise([tally], truth, "once").cells("reporters")
        found.append(below(moments, truth))
    p = np.array(found)
    # P(D <= d) at the truth is uniform: no atom left, no quantile off by more than chance (sd 0.025 each).
    for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95):
        share = (p <= level).mean(axis=0)
        assert np.abs(share - level).max() < 0.1
        assert share.mean() == pytest.approx(level, abs=0.02)


@pytest.mark.slow
def test_cells_of_one_person_through_a_nearly_exact_channel_are_covered_at_every_level():
    people = few_people()
    truth = people / people.sum()
    channel = tight_channel(GRID, epsilon=4.0).value
    inside = []
    for seed in range(150):
        tally = Tally(channel, draw_tally(channel, people, rng=seed))
        moments = intervals([tally]).linear.cells("reporters")
        for level in (0.8, 0.9, 0.95):
            low, high = interval_ends(moments, level)
            inside.append(((low <= truth) & (truth <= high)).mean())
    found = np.array(inside).reshape(-1, 3).mean(axis=0)
    assert found == pytest.approx([0.8, 0.9, 0.95], abs=0.03)


def test_the_same_reports_give_the_same_interval_and_levels_are_nested():
    channel = tight_channel(GRID, epsilon=2.0).value
    tally = Tally(channel, draw_tally(channel, few_people(), rng=1))
    narrow, wide, again = (intervals([tally], level=level) for level in (0.8, 0.95, 0.8))
    assert np.array_equal(narrow.unclipped, again.unclipped)
    assert np.all(wide.unclipped[0] <= narrow.unclipped[0])
    assert np.all(narrow.unclipped[1] <= wide.unclipped[1])


def test_an_end_is_where_the_estimate_has_the_levels_probability():
    channel = tight_channel(GRID, epsilon=2.0).value
    tally = Tally(channel, draw_tally(channel, few_people(), rng=3))
    moments = intervals([tally]).linear.cells("reporters")
    for level in (0.8, 0.95):
        low, high = interval_ends(moments, level)
        at_low, at_high = below(moments, low), below(moments, high)
        assert at_low == pytest.approx(0.5 + level / 2, abs=1e-3)
        assert at_high == pytest.approx(0.5 - level / 2, abs=1e-3)


def test_an_interval_moves_by_less_than_one_report():
    channel = tight_channel(GRID, epsilon=4.0).value
    tally = Tally(channel, draw_tally(channel, few_people(), rng=1))
    law = intervals([tally]).linear.cells("reporters").law
    assert np.all(np.abs(law.shift) <= 0.5 * law.step)
    assert law.step == pytest.approx(np.full(25, 1 / 204), rel=0.25)


def test_a_row_of_the_law_is_the_sum_of_its_exponentials():
    rng = np.random.default_rng(5)
    u = 2 * np.arange(128) + 1
    for cells, first in ((10, 30.0), (24, 400.0), (24, 0.01)):
        loadings, reported = rng.standard_normal(cells) * 1e-2, rng.dirichlet(np.ones(cells))
        inside = reported * rng.uniform(0, 1.2, cells)
        outer, inner, moments = np.empty(128, complex), np.empty(128, complex), np.empty(5)
        waves(first, loadings, reported, inside, 0.3, 24, outer, inner, moments)
        turns, outside = np.exp(1j * first * u[:, None] * loadings), np.maximum(reported - inside, 0)
        np.testing.assert_allclose(outer, turns @ outside, rtol=0, atol=1e-11)
        np.testing.assert_allclose(inner, turns @ inside / 0.3, rtol=0, atol=1e-11)
        here = inside / 0.3
        plain = [outside.sum(), outside @ loadings, here @ loadings, here @ here, here**2 @ loadings**2]
        np.testing.assert_allclose(moments, plain, rtol=1e-12)


def test_the_far_loadings_are_taken_by_mean_and_variance():
    rng = np.random.default_rng(6)
    loadings = np.concatenate([rng.standard_normal(24), 1e-3 * rng.standard_normal(300)])[rng.permutation(324)]
    reported = rng.dirichlet(np.ones(324))
    outer, inner, moments = np.empty(128, complex), np.empty(128, complex), np.empty(5)
    waves(0.5, loadings, reported, 0 * reported, 1.0, 24, outer, inner, moments)
    plain = np.exp(0.5j * (2 * np.arange(128)[:, None] + 1) * loadings) @ reported
    np.testing.assert_allclose(outer, plain, rtol=0, atol=1e-4)
