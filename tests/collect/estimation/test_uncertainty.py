"""Intervals cover what they name: the reporters or the population, per cell and for any region."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city
from sfumato.collect.estimation import Tally, intervals, joint
from sfumato.collect.estimation.uncertainty import interval_ends
from sfumato.collect.grids.grid_channel import uniform_channel
from sfumato.collect.grids.sampling import draw_tally
from sfumato.collect.loop.simulation import simulate_round
from sfumato.papers.privic.privic_tables import published_protocol


def discs(grid, count, seed):
    """Random round regions of radius 1 to 5 cells."""
    rng = np.random.default_rng(seed)
    rows, columns = np.divmod(np.arange(grid.cells), grid.columns)
    for _ in range(count):
        row, column, radius = rng.integers(grid.rows), rng.integers(grid.columns), rng.uniform(1, 5)
        yield np.flatnonzero(np.hypot(rows - row, columns - column) <= radius)


def multinomial_width(share, people):
    """The width of a 95 % interval of a share if the true cell of a sample of ``people`` were known."""
    return 2 * 1.96 * np.sqrt(share * (1 - share) / people)


def of_region(found, cells):
    """The interval of several cells together, made as that of an area."""
    chosen = np.zeros((1, found.centre.size))
    chosen[0, cells] = 1.0
    low, high = interval_ends(found.linear.sums(chosen, found.target), found.level)
    return float(low[0]), float(high[0])


def coverage(name, *, beta=1.0, reporting="every-cycle", seeds=range(2)):
    place = city(name)
    grid, truth = place.plain_grid, place.probabilities
    inside, wide, region_inside, region_wide = [], [], [], []
    seen = truth > 0
    for seed in seeds:
        protocol = published_protocol(name, beta, reporting=reporting)
        tallies = [
            cycle.tally for cycle in simulate_round(place.people, grid, protocol, seed=500 + seed) if cycle.tally
        ]
        found = intervals(tallies, reporting=reporting)
        assert found.target == "reporters"
        inside.append(((found.lower <= truth) & (truth <= found.upper))[seen].mean())
        widths = (found.upper - found.lower)[seen] / multinomial_width(truth[seen], int(place.people.sum()))
        wide.append(np.median(widths))
        for cells in discs(grid, 100, seed):
            share = truth[cells].sum()
            if share > 0:
                low, high = of_region(found, cells)
                region_inside.append(low <= share <= high)
                region_wide.append((high - low) / multinomial_width(share, int(place.people.sum())))
    return {
        "cells": float(np.mean(inside)), "regions": float(np.mean(region_inside)),
        "cells_width": float(np.median(wide)), "regions_width": float(np.median(region_wide)),
    }  # fmt: skip


def test_intervals_of_paris_cover_cells_and_regions_of_the_reporters():
    found = coverage("paris", seeds=range(1))
    print(found)
    assert found["cells"] >= 0.88
    assert found["regions"] >= 0.90
    assert found["cells_width"] < 4
    assert found["regions_width"] < 2


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seeds"), [("paris", 6), ("sf", 2)])
def test_intervals_of_both_cities_cover_over_many_rounds(name, seeds):
    found = coverage(name, seeds=range(seeds))
    print(name, found)
    assert found["cells"] >= 0.88
    assert found["regions"] >= 0.90
    assert found["cells_width"] < 5


@pytest.mark.slow
def test_intervals_of_cohorts_cover_and_are_wider():
    found = coverage("paris", reporting="once", seeds=range(3))
    print(found)
    assert found["cells"] >= 0.88
    assert found["regions"] >= 0.90
    assert found["cells_width"] > 4, "one report each tells less, and the width must show it"


def small_case():
    grid = Grid.plain(5, 6)
    people = np.random.default_rng(0).multinomial(4000, np.random.default_rng(1).dirichlet(np.full(30, 0.5)))
    channel = uniform_channel(grid, 1.5)
    return people, [Tally(channel, draw_tally(channel, people, rng=seed)) for seed in range(3)]


@pytest.mark.slow
def test_the_variance_is_that_of_repeated_reports_of_the_same_people():
    people, tallies = small_case()
    channel = tallies[0].channel
    centres = []
    for seed in range(100):
        fresh = [Tally(channel, draw_tally(channel, people, rng=1000 + 3 * seed + k)) for k in range(3)]
        centres.append(intervals(fresh, reporting="every-cycle").centre)
    claimed = np.sqrt(intervals(tallies, reporting="every-cycle").linear.cells("reporters").variance)
    measured = np.std(centres, axis=0)
    busy = people > 50
    assert np.median(claimed[busy] / measured[busy]) == pytest.approx(1.0, abs=0.1)
    bias = np.abs(np.mean(centres, axis=0) - people / people.sum())[busy]
    assert np.median(bias / measured[busy]) < 0.2


def test_the_population_is_less_certain_than_the_reporters():
    _, tallies = small_case()
    reporters = intervals(tallies, target="reporters", reporting="every-cycle")
    population = intervals(tallies, target="population", reporting="every-cycle")
    assert np.all(population.linear.cells("population").variance > reporters.linear.cells("reporters").variance)
    assert (reporters.target, population.target) == ("reporters", "population")


def test_the_whole_grid_is_certain():
    _, tallies = small_case()
    low, high = of_region(intervals(tallies), np.arange(30))
    assert (low, high) == pytest.approx((1.0, 1.0), abs=2e-3)


@pytest.mark.parametrize("options", [{"target": "everyone"}, {"level": 1.0}, {"reporting": "often"}], ids=str)
def test_intervals_without_a_named_target_or_a_level_are_refused(options):
    with pytest.raises(InputError):
        intervals(small_case()[1], **options)


def test_intervals_around_the_estimate_of_another_grid_and_of_too_many_cells_are_refused_with_advice():
    grid, other = Grid.plain(2, 3), Grid.plain(2, 2)
    tallies = [(uniform_channel(grid, 1.0), np.full(6, 10))]
    elsewhere = joint([(uniform_channel(other, 1.0), np.full(4, 10))])
    large = [(uniform_channel(Grid.plain(60, 60), 1.0), np.full(3600, 1))]
    for ask in (lambda: intervals(tallies, smooth=elsewhere), lambda: intervals(large)):
        with pytest.raises(InputError) as refused:
            ask()
        assert refused.value.advice
