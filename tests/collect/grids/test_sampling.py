"""Samplers draw exactly the channel's distribution and lose no outcome."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.grids.sampling import (
    alias_draw,
    draw_reports,
    draw_tally,
)


def peaky(rows, columns, seed=0, floor=0.01):
    grid = Grid.plain(rows, columns)
    c = np.random.default_rng(seed).dirichlet(np.full(grid.cells, 0.2))
    return GridChannel(grid, 1.0, (1 - floor) * c + floor / grid.cells)


def p_value(draws, expected):
    expected = expected * draws.size
    enough = expected >= 5
    seen = np.bincount(draws, minlength=expected.size)
    a = np.append(seen[enough], seen[~enough].sum())
    b = np.append(expected[enough], max(expected[~enough].sum(), 1e-9))
    return float(chi2.sf(np.sum((a - b) ** 2 / b), a.size - 1))


@pytest.mark.parametrize("shape", [(16, 24), (42, 40)], ids=["alias", "window and tail"])
def test_millions_follow_the_rows_they_are_drawn_from(shape):
    channel = peaky(*shape)
    values = []
    for cell in np.random.default_rng(5).integers(channel.cells, size=12):
        draws = draw_reports(channel, np.full(60_000, cell), rng=int(cell))
        values.append(p_value(draws, channel.row(int(cell))))
    assert min(values) > 1e-4
    assert np.mean(values) > 0.2


def test_alias_tables_resolve_thresholds_below_one_in_2_to_the_53():
    """A column kept with probability 2^-60: 32 equal bits, then 28 more decide; plain comparison would lose it."""
    stay, other = np.array([[2.0**-60, 1.0]]), np.array([[1, 0]], dtype=np.int32)
    place, out = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    column_zero = np.zeros(1, dtype=np.uint64)
    alias_draw(place, stay, other, column_zero, np.array([15, 0], dtype=np.uint64), out)
    assert out[0] == 0
    alias_draw(place, stay, other, column_zero, np.array([16, 0], dtype=np.uint64), out)
    assert out[0] == 1


def test_without_a_seed_the_operating_system_is_asked(monkeypatch):
    asked = []
    import sfumato.base.randomness as source

    real = source.os.urandom
    monkeypatch.setattr(source.os, "urandom", lambda count: asked.append(count) or real(count))
    channel = peaky(4, 4)
    draw_reports(channel, np.zeros(1000, dtype=np.int64))
    assert sum(asked) >= 8000


def test_a_tally_has_one_report_per_person():
    channel = peaky(5, 5)
    people = np.arange(25)
    assert draw_tally(channel, people, rng=0).sum() == people.sum()


@pytest.mark.parametrize("cells", [[-1], [25], [0.5], [float("nan")]])
def test_places_outside_the_grid_are_refused(cells):
    with pytest.raises(InputError) as refused:
        draw_reports(peaky(5, 5), np.array(cells))
    assert refused.value.advice


@pytest.mark.parametrize(
    "people", [-np.ones(25), np.full(25, np.nan), np.ones(24), np.full(25, 1.5)], ids=["negative", "NaN", "few", "half"]
)
def test_people_who_cannot_be_counted_are_refused_with_advice(people):
    with pytest.raises(InputError) as refused:
        draw_tally(peaky(5, 5), people, rng=0)
    assert refused.value.advice
