"""Intervals of named districts and of their changes hold, on a world that nothing was tuned on; what is told apart."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation import Tally, log_smooth
from sfumato.collect.estimation.uncertainty import UNEVEN, linearise
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, first_channel
from sfumato.collect.loop.districts import (
    Districts,
    Telling,
    change,
    mean_of,
    pairs_of,
    plain_shares,
    raw_shares,
    telling,
)

GRID = Grid(rows=8, columns=8, cell_height=500.0, cell_width=500.0, unit="m")
CHANNEL = first_channel(GRID, Rules(beta=0.001, promise="epsilon", max_log_change=None))
OF_CELL = np.array([[0] * 5 + [1] * 3] * 3 + [[2] * 2 + [3] * 6] * 5).ravel()
DISTRICTS = Districts(GRID, ("a", "b", "c", "d"), OF_CELL)
ONE = Tally(CHANNEL, np.ones(64, dtype=np.int64))


def known() -> Telling:
    return telling(DISTRICTS, [ONE], "once")


def test_more_reports_tell_more_apart_and_every_district_is_in_one_group() -> None:
    told, groups = known(), []
    for reports in (10, 100, 300, 1_000, 10_000, 1_000_000):
        groups.append(told.groups(reports))
        assert sorted(one for group in groups[-1] for one in group) == [0, 1, 2, 3]
    assert [len(one) for one in groups] == sorted(len(one) for one in groups)
    assert (len(groups[0]), len(groups[-1])) == (1, 4)
    assert set(told.neighbours) == {(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)}


def cut_squares(rng: np.random.Generator) -> tuple[Districts, np.ndarray]:
    """Three districts whose borders cut squares, and which of the fine places (10 x 10 in a square) lie in each."""
    x, y = np.meshgrid(*[(np.arange(80) + 0.5) / 80] * 2)
    centres = rng.uniform(0.1, 0.9, (2, 3))
    nearest = np.hypot(x[..., None] - centres[0], y[..., None] - centres[1]).argmin(axis=2).ravel()
    inside = (nearest == np.arange(3)[:, None]).astype(float)
    parts = in_squares(inside) / 100
    return Districts(GRID, ("a", "b", "c"), parts.argmax(axis=0), parts), inside


def in_squares(fine: np.ndarray) -> np.ndarray:
    return fine.reshape(*fine.shape[:-1], 8, 10, 8, 10).sum(axis=(-3, -1)).reshape(*fine.shape[:-1], 64)


@pytest.mark.parametrize(
    ("each", "seed"),
    [(1, 4), pytest.param(1, 5, marks=pytest.mark.slow), pytest.param(4, 3, marks=pytest.mark.slow)],
)
def test_what_a_plan_says_is_told_apart_comes_out_fuller_in_95_of_100_campaigns(each: int, seed: int) -> None:
    rng, reporting = np.random.default_rng(seed), "once" if each == 1 else "every-cycle"
    districts, inside = cut_squares(rng)
    pair = pairs_of(districts, telling(districts, [ONE] * each, reporting), people=0, each=each)[0]
    s = districts.chosen.sum(axis=1) / 64
    fuller, emptier = sorted((districts.names.index(pair.one), districts.names.index(pair.other)), key=lambda k: -s[k])
    density, right = (s[fuller] + s[emptier]) / (2 * s[fuller] + s[emptier]), []
    wanted = {fuller: 2 * density * s[fuller], emptier: density * s[emptier]}
    for campaign in range(400):
        # People stand in a few places of each square: what w of its ground holds varies by UNEVEN w (1 - w).
        places = rng.gamma((1 / UNEVEN - 1) / 100, size=(8, 10, 8, 10))
        fine = (places / places.sum(axis=(1, 3), keepdims=True)).ravel()
        for one in range(3):
            fine[inside[one] > 0] *= wanted.get(one, s[one]) / fine[inside[one] > 0].sum()
        people = in_squares(rng.multinomial(pair.people, fine / fine.sum())).astype(np.int64)
        tallies = [Tally(CHANNEL, draw_tally(CHANNEL, people, rng=each * campaign + k)) for k in range(each)]
        linear = linearise(tallies, log_smooth(tallies).probabilities, reporting)
        found = plain_shares(districts.chosen, linear, "reporters", 0.95).centre / s
        right.append(found[fuller] > found[emptier])
    assert 0.93 <= np.mean(right) <= 0.995


@pytest.mark.slow
def test_intervals_of_shares_and_of_changes_hold() -> None:
    rng, held, moved, chosen = np.random.default_rng(6), [], [], DISTRICTS.chosen
    before = rng.dirichlet(np.full(64, 0.3))
    after = 0.7 * before + 0.3 * rng.dirichlet(np.full(4, 1.0))[OF_CELL] / DISTRICTS.chosen.sum(axis=1)[OF_CELL]
    for seed in range(120):
        rounds, everybody = [], np.zeros(64)
        for number, shares in enumerate((before, before, after)):
            people = rng.multinomial(400, shares)
            tally = Tally(CHANNEL, draw_tally(CHANNEL, people, rng=3 * seed + number))
            linear = linearise([tally], log_smooth([tally]).probabilities, "once")
            one = raw_shares(chosen, linear, "reporters", 0.95)
            held.extend((one.low <= chosen @ people / 400) & (chosen @ people / 400 <= one.high))
            rounds.append(plain_shares(chosen, linear, "population", 0.95))
            everybody += people
        gone = change(mean_of(rounds[:2], [400, 400]), rounds[2])
        true = chosen @ (after - before)
        moved.extend((gone.low <= true) & (true <= gone.high))
    assert np.mean(held) >= 0.93
    assert np.mean(moved) >= 0.93


def test_a_change_between_few_people_is_told_in_less_width_than_by_the_intervals_of_each() -> None:
    chosen, ends = DISTRICTS.chosen, []
    for seed in (1, 2):
        people = np.random.default_rng(seed).multinomial(150, np.full(64, 1 / 64))
        tally = Tally(CHANNEL, draw_tally(CHANNEL, people, rng=seed))
        linear = linearise([tally], log_smooth([tally]).probabilities, "once")
        ends.append([make(chosen, linear, "population", 0.95) for make in (plain_shares, raw_shares)])
    plain, score = (change(*pair) for pair in zip(*ends, strict=True))
    assert plain.centre == pytest.approx(score.centre)
    assert np.median((plain.high - plain.low) / (score.high - score.low)) < 0.98
    assert plain.high - plain.centre == pytest.approx(plain.centre - plain.low)


def test_districts_without_a_square_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="centre in e"):
        Districts(GRID, ("a", "b", "c", "d", "e"), OF_CELL)
