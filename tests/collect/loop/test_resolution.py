"""How fine a map so many reports can draw: the formula against simulated campaigns made with other code."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids.grid_channel import GridChannel
from sfumato.collect.loop.forecast import CampaignPlan, forecast, plan
from sfumato.collect.loop.loop import Promise, Rules, first_channel
from sfumato.collect.loop.told_areas import resolution, told_apart


def channel(rows: int = 16, columns: int = 16, *, epsilon_per_km: float = 2.0, cell_m: float = 500.0) -> GridChannel:
    grid = Grid(rows=rows, columns=columns, cell_height=cell_m, cell_width=cell_m, unit="m")
    return first_channel(grid, Rules(beta=epsilon_per_km / 2000, promise="epsilon", max_log_change=None))


def planned(**options: float) -> CampaignPlan:
    made = {"epsilon_per_km": 2.0, **options}
    return plan(
        channel().grid,
        epsilon=made["epsilon_per_km"] / 1000,
        promise="epsilon",
        budget=0.03,
        cycle_s=86_400,
        lasting_s=3e7,
    )


@pytest.mark.parametrize(("here", "beside"), [(10, 9), (10, 6)])
def test_the_fuller_of_two_areas_comes_out_fuller_in_95_of_100_campaigns(here: int, beside: int) -> None:
    one = channel()
    found = resolution(one)
    reports = round(float(np.interp(2000.0, found.widths, found.reports)))
    # Sixteen areas of 4 x 4 cells; the estimate is the efficient linear one, written out here.
    rows = np.stack([one.row(x) for x in range(256)])
    band = np.arange(16) // 4
    area = (band[:, None] * 4 + band[None, :]).ravel()
    rates = np.stack([rows[area == each].mean(axis=0) for each in range(16)])
    even = np.full(16, 1 / 16) @ rates
    estimate = np.linalg.solve((rates / even) @ rates.T, rates / even)
    shares = np.full(16, 1 / 16)
    shares[here], shares[beside] = 4 / 48, 2 / 48
    drawn = np.random.default_rng(3).multinomial(reports, shares @ rates, size=4000) / reports
    told = drawn @ estimate.T
    right = float(np.mean(told[:, here] > told[:, beside]))
    assert 0.935 <= right <= 0.97


def test_more_reports_tell_narrower_areas_and_a_weaker_promise_fewer() -> None:
    found = resolution(channel())
    widths = [found.width_told_apart(reports) for reports in (300, 1000, 10_000, 1e9)]
    assert all(wide is not None for wide in widths)
    assert widths == sorted(widths, reverse=True)  # type: ignore[type-var]
    assert widths[-1] == pytest.approx(500.0)  # a cell is the narrowest area there is
    weaker = resolution(channel(epsilon_per_km=8.0))
    assert float(weaker.width_told_apart(1000) or 0) < float(found.width_told_apart(1000) or 0)


def test_widths_and_reports_are_each_others_inverse() -> None:
    found = resolution(channel())
    for width in (700.0, 1000.0, 2300.0):
        reports = found.reports_for(width)
        assert reports is not None
        assert found.width_told_apart(reports) == pytest.approx(width, rel=1e-6)
    assert found.reports_for(100.0) is None  # narrower than a cell
    assert found.reports_for(9000.0) is None  # wider than half of the map
    assert found.width_told_apart(3) is None


def test_a_map_of_one_cell_tells_nothing() -> None:
    found = resolution(channel(1, 1))
    assert found.width_told_apart(1e12) is None
    assert found.reports_for(500.0) is None


def test_the_sentence_says_people_width_time_and_cost() -> None:
    told = forecast(planned(), people=500, after_s=3 * 86_400, cycle_s=86_400)
    assert (told.reports, told.people) == (500, 500)
    assert "With about 500 people you will be able to tell areas about " in told.words
    assert " km wide apart after 3 days. Each report costs 2 per km." in told.words
    few = forecast(planned(), people=5, after_s=86_400, cycle_s=86_400)
    assert few.width_m is None
    assert "cannot even tell its halves apart" in few.words


@pytest.mark.slow
def test_who_reports_every_day_stops_when_the_budget_is_spent() -> None:
    daily = forecast(planned(), people=100, after_s=60 * 86_400, cycle_s=86_400, reporting="every-cycle")
    assert daily.reports == 100 * 15
    epochs = forecast(
        planned(), people=100, after_s=60 * 86_400, cycle_s=86_400, reporting="once-per-epoch", epoch_cycles=20
    )
    assert epochs.reports == 100 * 3
    needed = dict(daily.finer)
    once = dict(forecast(planned(), people=100, after_s=60 * 86_400, cycle_s=86_400).finer)
    assert needed[1000.0] == pytest.approx(once[1000.0] / 15, rel=0.15)


def test_a_grid_without_metres_has_no_forecast() -> None:
    made = plan(
        Grid(rows=4, columns=4, cell_height=1.0, cell_width=1.0),
        epsilon=2.0,
        promise="epsilon",
        budget=30.0,
        cycle_s=1.0,
        lasting_s=1.0,
    )
    with pytest.raises(InputError, match="grid in metres"):
        forecast(made, people=10, after_s=1.0, cycle_s=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["epsilon", "mutual-information"])
def test_a_plan_is_the_headline_of_the_map_that_comes_of_it(promise: Promise) -> None:
    """A plan said 4.2 km where the map then could not tell its halves apart: they were two functions."""
    grid = Grid.from_bounds(45.70, 4.78, 45.80, 4.92, cell_size_m=500)
    made = plan(grid, epsilon=0.002, promise=promise, budget=0.03, cycle_s=86_400, lasting_s=3e7)
    rng = np.random.default_rng(7)
    for people in (400, 4_000):
        drawn = rng.multinomial(people, made.channel.report_distribution(rng.dirichlet(np.ones(grid.cells))))
        known = told_apart([Tally(made.channel, drawn)], "once")
        told = forecast(made, people=people, after_s=86_400, cycle_s=86_400)
        assert told.width_m == pytest.approx(known.width_told_apart(people))
    daily = forecast(made, people=100, after_s=4 * 86_400, cycle_s=86_400, reporting="every-cycle")
    known = told_apart([Tally(made.channel, np.ones(grid.cells))] * 4, "every-cycle")
    assert daily.width_m == pytest.approx(known.width_told_apart(400))


@pytest.mark.slow
def test_a_plan_of_too_many_cells_says_that_no_areas_will_be_drawn() -> None:
    grid = Grid(rows=40, columns=40, cell_height=250.0, cell_width=250.0, unit="m")
    made = plan(grid, epsilon=0.002, promise="epsilon", budget=0.03, cycle_s=86_400, lasting_s=3e7)
    told = forecast(made, people=2_000, after_s=86_400, cycle_s=86_400)
    assert not told.drawn
    assert "it will show single squares" in told.words
