"""Maps that change: a cycle shows itself, shrunk to the average as far as its reports do not object."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation import Tally, changed_map, earth_movers_distance, log_smooth
from sfumato.collect.estimation.smooth_map import measured_stiffness
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.grids.tight import tight_channel
from sfumato.collect.loop.loop import own_map

GRID = Grid.plain(9, 10)
CHANNEL = tight_channel(GRID, epsilon=2.0).value


def towns(share):
    """Two towns, the first holding ``share`` of the people."""
    centres = GRID.centres()
    first, second = (np.exp(-((centres - centres[cell]) ** 2).sum(1) / 3) for cell in (22, 77))
    return share * first / first.sum() + (1 - share) * second / second.sum()


def week(per_cycle, seed=0, weekend=0.35):
    rng = np.random.default_rng(seed)
    labels = ["weekend" if day % 7 >= 5 else "weekday" for day in range(14)]
    truths = [towns(weekend if label == "weekend" else 0.7) for label in labels]
    return labels, truths, [
        Tally(CHANNEL, draw_tally(CHANNEL, rng.multinomial(per_cycle, truth), rng=100 * seed + day))
        for day, truth in enumerate(truths)
    ]  # fmt: skip


def test_a_weekend_cycle_is_nearer_to_the_weekend_than_the_average_and_than_its_own_reports():
    labels, truths, tallies = week(600)
    average = log_smooth(tallies)
    away = earth_movers_distance(changed_map(tallies[-1:], average).probabilities, truths[-1], GRID)
    assert away < 0.7 * earth_movers_distance(average.probabilities, truths[-1], GRID)
    assert away < earth_movers_distance(log_smooth([tallies[-1]]).probabilities, truths[-1], GRID)
    assert labels[-1] == "weekend"


def test_declared_classes_share_their_reports():
    labels, truths, tallies = week(600)
    average = log_smooth(tallies)
    weekends = [tally for tally, label in zip(tallies, labels, strict=True) if label == "weekend"]
    away = earth_movers_distance(changed_map(weekends, average).probabilities, truths[-1], GRID)
    assert away < earth_movers_distance(changed_map(tallies[-1:], average).probabilities, truths[-1], GRID)


def test_without_change_a_cycle_shows_the_average():
    _, _, tallies = week(600, weekend=0.7)
    average = log_smooth(tallies)
    assert np.median([measured_stiffness([tally], average.probabilities) for tally in tallies]) > 30
    maps = [changed_map([tally], average) for tally in tallies]
    moved = [earth_movers_distance(one.probabilities, average.probabilities, GRID) for one in maps]
    assert np.mean(moved) < 0.12


def test_a_cycle_without_reports_shows_the_average():
    _, _, tallies = week(300)
    average = log_smooth(tallies[:3])
    assert changed_map([Tally(CHANNEL, np.zeros(GRID.cells))], average) is average


def test_every_cycle_needs_its_class():
    _, _, tallies = week(300)
    with pytest.raises(InputError, match="classes"):
        own_map(tallies, log_smooth(tallies), ["weekday"])
