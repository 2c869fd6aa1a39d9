"""Samplers draw exactly the channel's distribution, lose no outcome, and need the same work for every place."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness
from sfumato.base.things.grid import Grid
from sfumato.collect.grids.grid_channel import GridChannel, uniform_channel
from sfumato.collect.grids.sampling import draw_report, draw_reports, draw_tally, pick, relative_log_weights
from sfumato.collect.grids.sampling_loops import alias_draw, whole_weights


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


def test_one_report_follows_the_row_too():
    channel = peaky(7, 9)
    draws = np.array([draw_report(channel, 30, rng=seed) for seed in range(6000)])
    assert p_value(draws, channel.row(30)) > 1e-4


def test_one_report_keeps_every_cell_however_unlikely():
    grid = Grid.plain(1, 60)
    channel = GridChannel(grid, 2.0, np.full(60, 1 / 60))
    log_weights = relative_log_weights(channel, 0)
    limbs = np.empty((60, 4), dtype=np.uint64)
    total = np.zeros(4, dtype=np.uint64)
    whole_weights(log_weights, limbs, total)
    weights = [int.from_bytes(limb.tobytes(), "little") for limb in limbs]
    assert sum(weights) == int.from_bytes(total.tobytes(), "little")
    assert min(weights) >= 1
    # exp(-2 * 40) is far below 2^-53, and still exact.
    assert math.log(weights[40] / weights[0]) == pytest.approx(-80.0, abs=1e-12)
    # The last position of the sum belongs to the farthest cell: the largest word reaches it.
    assert pick(log_weights, (1 << 256) - 1) == 59
    assert pick(log_weights, 0) == 0


def drawn_log_probabilities(channel, x):
    """What :func:`draw_report` draws from, from the whole numbers themselves."""
    limbs, total = np.empty((channel.cells, 4), dtype=np.uint64), np.zeros(4, dtype=np.uint64)
    whole_weights(relative_log_weights(channel, x), limbs, total)
    weights = [int.from_bytes(limb.tobytes(), "little") for limb in limbs]
    assert sum(weights) == int.from_bytes(total.tobytes(), "little")
    return np.array([math.log(weight) for weight in weights]) - math.log(sum(weights))


@pytest.mark.parametrize(
    "channel",
    [
        peaky(4, 6, seed=3),
        uniform_channel(Grid.plain(1, 200), 1.0),
        uniform_channel(Grid.plain(3, 90), 2.0),
        uniform_channel(Grid.plain(2, 1400), 0.1),
        GridChannel(Grid.plain(2, 150), 1.0, peaky(2, 150, seed=1, floor=1e-6).output_weights),
    ],
    ids=["small", "long", "steep", "far", "peaky"],
)
def test_what_a_device_draws_never_exceeds_the_certified_level(channel):
    width = channel.grid.columns
    step = max(1, channel.cells // 120)
    near = [(x, x + 1) for x in range(0, channel.cells - 1, step) if (x + 1) % width]
    near += [(x, x + width) for x in range(0, channel.cells - width, step)]
    apart = [(x, channel.cells - 1 - x) for x in range(0, channel.cells // 2, 5 * step)]
    logs = {x: drawn_log_probabilities(channel, x) for pair in near + apart for x in pair}
    level = channel.epsilon().upper
    for x, z in near + apart:
        worst = np.abs(logs[x] - logs[z]).max() / channel.grid.distances_from(x)[z]
        assert worst <= level + 1e-11


def test_only_weights_below_2_to_the_minus_139_of_the_heaviest_are_lifted():
    channel = uniform_channel(Grid.plain(1, 200), 1.0)
    drawn, exact = drawn_log_probabilities(channel, 0), channel.log_row(0)
    lifted = exact < exact.max() - 139 * math.log(2)
    assert 0 < lifted.sum() < 200
    assert np.abs(drawn - exact)[~lifted].max() < 1e-12
    np.testing.assert_allclose(drawn[lifted], exact.max() - 139 * math.log(2), atol=1e-12)


def test_alias_tables_resolve_thresholds_below_one_in_2_to_the_53():
    """A column kept with probability 2^-60: 32 equal bits, then 28 more decide; plain comparison would lose it."""
    stay, other = np.array([[2.0**-60, 1.0]]), np.array([[1, 0]], dtype=np.int32)
    place, out = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    column_zero = np.zeros(1, dtype=np.uint64)
    alias_draw(place, stay, other, column_zero, np.array([15, 0], dtype=np.uint64), out)
    assert out[0] == 0
    alias_draw(place, stay, other, column_zero, np.array([16, 0], dtype=np.uint64), out)
    assert out[0] == 1


def test_the_same_number_of_random_words_is_read_for_every_place_and_report():
    channel = peaky(6, 6)
    read = []

    def counted(count):
        read.append(count)
        return np.random.default_rng(len(read)).integers(0, 2**63, count).astype(np.uint64)

    for cell in range(36):
        draw_report(channel, cell, rng=Randomness(counted, simulation=True, source="counted"))
    assert read == [4] * 36


def test_without_a_seed_the_operating_system_is_asked(monkeypatch):
    asked = []
    import sfumato.base.randomness as source

    real = source.os.urandom
    monkeypatch.setattr(source.os, "urandom", lambda count: asked.append(count) or real(count))
    channel = peaky(4, 4)
    draw_report(channel, 3)
    draw_reports(channel, np.zeros(1000, dtype=np.int64))
    assert sum(asked) >= 32 + 8000


def test_a_tally_has_one_report_per_person():
    channel = peaky(5, 5)
    people = np.arange(25)
    assert draw_tally(channel, people, rng=0).sum() == people.sum()


@pytest.mark.parametrize("cells", [[-1], [25], [0.5], [float("nan")]])
def test_places_outside_the_grid_are_refused(cells):
    with pytest.raises(InputError) as refused:
        draw_reports(peaky(5, 5), np.array(cells))
    assert refused.value.advice


def test_a_device_refuses_weights_of_zero():
    grid = Grid.plain(2, 2)
    with pytest.raises(InputError):
        draw_report(GridChannel(grid, 1.0, np.array([1.0, 0.0, 1.0, 1.0])), 0)


@pytest.mark.parametrize(
    "people", [-np.ones(25), np.full(25, np.nan), np.ones(24), np.full(25, 1.5)], ids=["negative", "NaN", "few", "half"]
)
def test_people_who_cannot_be_counted_are_refused_with_advice(people):
    with pytest.raises(InputError) as refused:
        draw_tally(peaky(5, 5), people, rng=0)
    assert refused.value.advice


@pytest.mark.parametrize("cell", [1.7, float("nan"), 25, -1])
def test_a_device_refuses_a_cell_that_is_none(cell):
    with pytest.raises(InputError) as refused:
        draw_report(peaky(5, 5), cell)
    assert refused.value.advice
