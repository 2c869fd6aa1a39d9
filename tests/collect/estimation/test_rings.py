"""The exact test that no map explains a count: never wrong about honest people, however they move."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, impossible_excess
from sfumato.collect.estimation.rings import RINGS
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.grids.tight import tight_channel

PARIS = city("paris")
TIGHT = tight_channel(PARIS.plain_grid, epsilon=1.0).value


@pytest.mark.parametrize("seed", range(5))
def test_no_row_of_any_channel_passes_the_bound(seed):
    """q(v) <= lambda q(U) for everybody in one cell, hence for every map."""
    grid = Grid.plain(5, 6)
    rng = np.random.default_rng(seed)
    channel = GridChannel(grid, rng.uniform(0.2, 3), 0.9 * rng.dirichlet(np.full(30, 0.4)) + 0.1 / 30)
    counts = np.round(1e6 * channel.to_dense().matrix)
    for x in range(30):
        found = impossible_excess([Tally(channel, counts[x])])
        assert found.p_value > 0.4, "even a million people in one cell are possible"


def test_honest_cycles_of_maps_that_change_raise_nothing():
    rng = np.random.default_rng(0)
    values = []
    for seed in range(40):
        share = rng.dirichlet(np.full(165, 0.1))
        values.append(
            impossible_excess([Tally(TIGHT, draw_tally(TIGHT, rng.multinomial(5000, share), rng=seed))]).p_value
        )
    assert min(values) > 0.01


def test_a_pile_is_seen():
    counts = np.array(draw_tally(TIGHT, PARIS.people, rng=0))
    assert impossible_excess([Tally(TIGHT, counts)]).p_value > 1e-3
    counts[150] += 530
    found = impossible_excess([Tally(TIGHT, counts)])
    assert found.p_value < 1e-20
    assert found.cell == 150


def test_reports_forged_as_if_from_a_place_are_not_told_from_people():
    people = np.array(PARIS.people)
    people[150] += 530
    assert impossible_excess([Tally(TIGHT, draw_tally(TIGHT, people, rng=0))]).p_value > 0.5


def test_several_cycles_keep_the_larger_ratio():
    sharp, flat = uniform_channel(PARIS.plain_grid, 2.0), uniform_channel(PARIS.plain_grid, 0.5)
    counts = draw_tally(sharp, PARIS.people, rng=0)
    nobody = np.zeros(165, dtype=np.int64)
    assert impossible_excess([Tally(flat, nobody), Tally(sharp, counts)]).p_value > 0.5
    assert len(RINGS) == 3
