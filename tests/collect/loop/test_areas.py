"""Areas that reports can tell apart: they cover the map, are chosen blindly, and their intervals hold what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.base.things.estimated_map import MOST_AREAS
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.estimation.uncertainty import interval_ends, intervals
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop import Rules, Sharpness, areas, cut, first_channel, sharpness, told_apart
from sfumato.collect.loop.loop import Promise
from sfumato.collect.loop.told_areas import chosen_cells

MARSEILLE = Grid.from_bounds(43.25, 5.33, 43.33, 5.43, cell_size_m=600)


def told(beta: float, reports: int, promise: Promise = "epsilon") -> Sharpness:
    """What so many reports tell, wherever they were."""
    channel = first_channel(MARSEILLE, Rules(beta=beta, promise=promise))
    counts = np.full(MARSEILLE.cells, reports // MARSEILLE.cells)
    counts[: reports % MARSEILLE.cells] += 1
    return sharpness(told_apart([Tally(channel, counts)], "once"), 600.0, reports)


@pytest.mark.parametrize("width", [None, 100.0, 700.0, 1234.5, 2500.0, 1e6])
def test_the_areas_cover_every_cell_once(width: float | None) -> None:
    chosen = chosen_cells(MARSEILLE, cut(MARSEILLE, width))
    assert np.array_equal(chosen.sum(axis=0), np.ones(MARSEILLE.cells))


def test_there_are_never_more_areas_than_a_person_can_look_at_and_they_are_as_wide_as_was_asked() -> None:
    large = Grid.from_bounds(43.0, 5.0, 44.0, 6.0, cell_size_m=500)
    assert len(cut(large, 500.0)) <= MOST_AREAS
    tall = cut(MARSEILLE, 2_000.0)[:, 2] * MARSEILLE.cell_height
    assert tall.min() > 1_400
    assert tall.max() < 2_800


def test_more_reports_see_finer_and_the_headline_keeps_its_word() -> None:
    few, some, many = (told(0.002, reports) for reports in (20, 400, 4_000))
    assert few.width is None
    assert few.finer_width is not None
    assert some.width is not None
    assert many.width is not None
    assert some.width > many.width >= 590
    assert some.finer_width is not None
    assert some.more_reports is not None
    # What was said to be needed is enough, and a tenth less is not.
    after = told(0.002, some.reports + some.more_reports).width
    assert after == pytest.approx(some.finer_width, rel=0.01)
    almost = told(0.002, int(0.9 * (some.reports + some.more_reports))).width
    assert almost is not None
    assert almost > some.finer_width
    plenty = told(0.002, 10**9)
    assert (plenty.finer_width, plenty.more_reports) == (None, None)


def test_where_people_were_does_not_move_the_areas() -> None:
    channel = first_channel(MARSEILLE, Rules(beta=0.001))
    here, there = np.zeros((2, MARSEILLE.cells), dtype=np.int64)
    here[0], there[100] = 700, 700
    one, other = (sharpness(told_apart([Tally(channel, counts)], "once"), 600.0, 700) for counts in (here, there))
    assert one == other


def _worlds() -> dict[str, np.ndarray]:
    rows, columns = np.mgrid[: MARSEILLE.rows, : MARSEILLE.columns]
    town = np.exp(-((rows - 3) ** 2 + (columns - 4) ** 2) / 8) + 0.4 * np.exp(
        -((rows - 10) ** 2 + (columns - 10) ** 2) / 3
    )
    spikes = np.random.default_rng(5).dirichlet(np.full(MARSEILLE.cells, 0.08))
    return {"town": (town / town.sum()).ravel(), "spikes": spikes}


@pytest.mark.slow
def test_the_areas_intervals_cover_as_often_as_they_say_and_say_something() -> None:
    rng = np.random.default_rng(16)
    covered, total = 0, 0
    campaigns: list[tuple[float, int, Promise]] = [(0.001, 400, "epsilon"), (0.002, 2_000, "mutual-information")]
    for (beta, reports, promise), world in itertools.product(campaigns, _worlds().values()):
        channel = first_channel(MARSEILLE, Rules(beta=beta, promise=promise))
        boxes = cut(MARSEILLE, told(beta, reports, promise).width)
        chosen = chosen_cells(MARSEILLE, boxes)
        widths = []
        for _ in range(25):
            people = rng.multinomial(reports, world)
            known = intervals([(channel, draw_tally(channel, people, rng=int(rng.integers(2**31))))])
            assert known.linear is not None
            low, high = interval_ends(known.linear.sums(chosen, known.target), known.level)
            truth = chosen @ (people / reports)
            covered += int(np.sum((low <= truth) & (truth <= high)))
            total += len(boxes)
            widths.append(np.median(np.clip(high, 0, 1) - np.clip(low, 0, 1)))
        assert len(boxes) >= 9
        assert np.mean(widths) < 2.5 / len(boxes), "an interval is about two average shares wide, not all of the map"
    assert total > 1_500
    assert 0.925 < covered / total < 0.985  # 95 %, and four standard errors either way


def test_an_area_shows_a_share_that_its_interval_holds() -> None:
    channel = first_channel(MARSEILLE, Rules(beta=0.002))
    counts = draw_tally(channel, np.random.default_rng(1).multinomial(500, _worlds()["town"]), rng=3)
    known = intervals([(channel, counts)])
    estimate = np.random.default_rng(2).dirichlet(np.ones(MARSEILLE.cells))  # any map at all
    shown = areas(MARSEILLE, cut(MARSEILLE, 2_000.0), estimate, known)
    assert shown.share.sum() == pytest.approx(1.0)
    assert np.all((shown.low >= 0) & (shown.low <= shown.share) & (shown.share <= shown.high) & (shown.high <= 1))


@pytest.mark.parametrize("people", [50, pytest.param(300, marks=pytest.mark.slow)])
def test_areas_of_few_people_hold_where_blocks_of_ones_own_choice_do_not(people: int) -> None:
    channel = first_channel(MARSEILLE, Rules(beta=0.002))
    held: list[float] = []
    for seed in range(40):
        present = np.random.default_rng(seed).multinomial(people, _worlds()["town"])
        tally = Tally(channel, draw_tally(channel, present, rng=seed))
        boxes = cut(MARSEILLE, sharpness(told_apart([tally], "once"), 600.0, people).width)
        chosen, known = chosen_cells(MARSEILLE, boxes), intervals([tally])
        low, high = interval_ends(known.linear.sums(chosen, known.target), known.level)
        truth = chosen @ (present / people)
        held += ((low <= truth) & (truth <= high)).tolist()
    assert np.mean(held) > 0.925
