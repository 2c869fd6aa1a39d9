"""Many channels put into few groups: no report lost, and nearly the same intervals, for a fraction of the work."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.estimation import Tally, intervals, log_smooth, uncertainty
from sfumato.collect.estimation.tally import alike
from sfumato.collect.loop.loop import Rules, first_channel, next_channel


@pytest.fixture(scope="module")
def following():
    """Ten cycles of a channel that follows the map under its cap, 16 x 18 cells, 2,000 reports each."""
    grid = Grid(16, 18, 1.0, 1.0)
    rng = np.random.default_rng(7)
    centres = grid.centres()
    truth = np.exp(-((centres - centres.mean(axis=0)) ** 2).sum(axis=1) / 18) + 0.02
    truth /= truth.sum()
    rules = Rules(beta=0.7, promise="mutual-information", reporting="every-cycle")
    channel, tallies = first_channel(grid, rules), []
    for _ in range(10):
        tallies.append(Tally(channel, rng.multinomial(2_000, channel.report_distribution(truth))))
        seen = truth * np.exp(0.2 * rng.standard_normal(grid.cells))
        channel = next_channel(channel, seen / seen.sum(), rules)
    return tallies


def test_groups_keep_every_report_and_are_no_more_than_asked_for(following):
    for most in (1, 4, 10, 30):
        groups = alike(following, most=most)
        assert len(groups) == min(most, 10)
        assert sum(group.total for group in groups) == 20_000
    assert [group.channel for group in alike(following, most=10)] == [tally.channel for tally in following]


def test_the_channels_that_differ_least_are_put_together(following):
    first, *_, last = following
    groups = alike([first, last, Tally(last.channel, first.counts * (last.channel.output_weights > 0))], most=2)
    assert [group.total for group in groups] == [2_000, 4_000]
    assert np.array_equal(groups[1].channel.output_weights, last.channel.output_weights)


@pytest.mark.parametrize("reporting", ["once", "every-cycle"])
def test_intervals_from_groups_are_those_of_every_channel(following, monkeypatch, reporting):
    smooth = log_smooth(following)
    each = intervals(following, smooth=smooth, reporting=reporting)
    monkeypatch.setattr(uncertainty, "_EACH_UP_TO", 0)
    groups = intervals(following, smooth=smooth, reporting=reporting)
    assert groups.linear is not None
    assert len(groups.linear.channels) == 5 < len(each.linear.channels)
    width, other = (one.unclipped[1] - one.unclipped[0] for one in (each, groups))
    print(np.abs(other / width - 1).max(), (np.abs(groups.centre - each.centre) / width).max())
    assert np.abs(other / width - 1).max() < 0.03
    assert (np.abs(groups.centre - each.centre) / width).max() < 0.02
