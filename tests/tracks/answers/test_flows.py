"""Flows from releases alone: trips between known centres come out where they are."""

from __future__ import annotations

import numpy as np
import pytest
from city import BOUNDS, fleet, received

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.flows.pair_shares import Flows
from sfumato.tracks.answers.intervals import poisson_interval
from sfumato.tracks.answers.received import NoiseLaw, Received, count_pauses, pause_notes
from sfumato.tracks.priors.kernels import Matern12, White


def truth_of(found: Flows, people: list[tuple[str, Trace]]) -> np.ndarray:
    out = np.zeros((found.grid.cells, found.grid.cells))
    for _, trace in people:
        for segment in np.unique(trace.segment):
            of = np.flatnonzero(trace.segment == segment)[[0, -1]]
            start, end = found.grid.locate(trace.lat_deg[of], trace.lon_deg[of])
            out[start, end] += 1
    return out / out.sum()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["multiscale", "planar-laplace"])
def test_flows_come_nearer_to_the_truth_than_counting_released_ends(mechanism: str) -> None:
    people = fleet(60, stays=20, points=8)
    found = estimate_flows([received(people, noise_m=500.0, mechanism=mechanism)], cell_m=1500, bounds=BOUNDS)
    truth = truth_of(found, people)
    ours, naive = (0.5 * float(abs(share - truth).sum()) for share in (found.share, found.naive))
    assert ours < 0.75 * naive
    assert found.trips + found.outside == 60 * 19
    assert found.share.sum() == pytest.approx(1)
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    rows = found.to_table(least=1e-3)
    assert rows.column_names == ["from_lat", "from_lon", "to_lat", "to_lon", "share", "low", "high"]
    assert 5 < rows.num_rows < 400


def test_the_correlation_of_the_two_ends_is_used() -> None:
    """Round trips of half an hour: both ends share most of their noise, so they stay in one cell."""
    people = []
    for number in range(40):
        lat = 48.85 + 0.001 * (number % 7) + np.r_[np.zeros(10), np.linspace(0, 0.01, 10), np.linspace(0.01, 0, 10)]
        people.append((f"p{number}", Trace(lat, np.full(30, 2.33), 1.7e9 + 1e5 * number + np.arange(30) * 10.0)))
    found = estimate_flows([received(people, noise_m=600.0)], cell_m=1500, bounds=BOUNDS)
    assert np.trace(found.share) > np.trace(found.naive)


def test_what_flows_cannot_be_told_from_is_refused_in_words() -> None:
    people = fleet(3)
    with pytest.raises(InputError, match="larger cells"):
        estimate_flows([received(people)], cell_m=200, bounds=BOUNDS)
    with pytest.raises(InputError, match="no trip"):
        estimate_flows([received(people)], cell_m=1500, bounds=(10.0, 10.0, 10.1, 10.1))


def city_of_trips(people: int, trips: int, noise_m: float, seed: int) -> tuple[list[tuple[str, Trace]], Received]:
    """Trips of a city of 60 km between four towns, short and long, and their release: both ends share their noise."""
    rng = np.random.default_rng(seed)
    towns, wide = rng.uniform(5e3, 55e3, (4, 2)), rng.uniform(400.0, 1000.0, 4)
    law = NoiseLaw(Matern12(3600.0, noise_m), 0.0)
    whole, released = [], []
    for person in range(people):
        town, other = rng.integers(4, size=(2, trips))
        start = towns[town] + wide[town, None] * rng.standard_normal((trips, 2))
        angle, far = rng.uniform(0, 2 * np.pi, trips), rng.exponential(1500.0, trips)
        near = start + far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        away = towns[other] + wide[other, None] * rng.standard_normal((trips, 2))
        end = np.where(rng.random((trips, 1)) < 0.5, near, away)
        took = rng.uniform(300, 3600, trips)
        share = law.correlation(took)[:, None]
        first, fresh = noise_m * rng.standard_normal((2, trips, 2))
        times = np.repeat(1.7e9 + 1e4 * np.arange(trips), 2)
        times[1::2] += took
        for out, ends in (
            (whole, (start, end)),
            (released, (start + first, end + share * first + np.sqrt(1 - share**2) * fresh)),
        ):
            at = np.stack(ends, axis=1).reshape(-1, 2)
            lat, lon = 45.0 + at[:, 0] / 111_200.0, 5.0 + at[:, 1] / 78_200.0
            out.append((f"p{person}", Trace(lat, lon, times, np.repeat(np.arange(trips), 2))))
    return whole, Received(tuple(released), law, "multiscale", False)


CITY = (45.0, 5.0, 45.0 + 60 / 111.2, 5.0 + 59.9 / 78.2)


@pytest.mark.slow
def test_flows_of_a_whole_city_are_no_farther_off_than_counting_and_nearer_where_there_are_trips() -> None:
    people, release = city_of_trips(100, 200, 400.0, seed=5)
    found = estimate_flows([release], cell_m=2000, bounds=CITY)
    assert found.latent_m == found.grid.cell_height  # too many pairs for finer cells: only borders mix
    assert found.cells.cells > 850
    truth = truth_of(found, people)
    ours, naive = (0.5 * np.abs(share - truth) for share in (found.share, found.naive))
    assert ours.sum() <= naive.sum()
    often = truth * found.trips >= 100
    assert often.sum() > 10
    assert ours[often].sum() < 0.95 * naive[often].sum()
    some = truth > 0
    assert np.mean(((found.low <= truth) & (truth <= found.high))[some]) > 0.9
    assert np.mean(((found.low <= truth) & (truth <= found.high))[often]) > 0.75
    assert found.shares.sum() == pytest.approx(1)
    assert found.to_table().num_rows == np.count_nonzero(found.shares)


@pytest.mark.slow
def test_planar_laplace_noise_is_taken_out_of_a_whole_city_as_well() -> None:
    people, release = city_of_trips(100, 200, 1.0, seed=6)  # a metre: the same trips, without noise to speak of
    rng = np.random.default_rng(7)
    law = NoiseLaw(White(400.0), 0.0, epsilon_per_m=3**0.5 / 400.0)
    noisy = []
    for name, trace in release.people:
        radius, angle = rng.gamma(2.0, 400.0 / 3**0.5, len(trace)), rng.uniform(0, 2 * np.pi, len(trace))
        lat = trace.lat_deg + radius * np.cos(angle) / 111_200.0
        lon = trace.lon_deg + radius * np.sin(angle) / 78_200.0
        noisy.append((name, Trace(lat, lon, trace.times_s, trace.segment)))
    found = estimate_flows([Received(tuple(noisy), law, "planar-laplace", False)], cell_m=2000, bounds=CITY)
    truth = truth_of(found, people)
    often = truth * found.trips >= 100
    ours, naive = (float(np.abs(share - truth)[often].sum()) for share in (found.share, found.naive))
    assert ours < 0.9 * naive


@pytest.mark.filterwarnings("error:overflow")
def test_where_every_pair_has_few_trips_they_are_counted_and_nothing_is_left_to_share_out() -> None:
    _, release = city_of_trips(12, 4, 400.0, seed=8)
    found = estimate_flows([release], cell_m=2000, bounds=CITY)
    assert np.array_equal(found.share, found.naive)
    assert found.shares.sum() == pytest.approx(1)


def test_poissons_interval_is_the_tables() -> None:
    """[Garwood1936]: 0, 1 and 10 events at 95 %."""
    low, high = poisson_interval(np.array([0.0, 1.0, 10.0]), 0.95)
    assert low == pytest.approx([0.0, 0.0253, 4.795], abs=1e-3)
    assert high == pytest.approx([3.689, 5.572, 18.390], abs=1e-3)


def test_a_week_that_is_one_trip_is_said() -> None:
    """A table without segments has one trip a person: from its first to its last point, whatever lies between."""
    times = np.r_[np.arange(5.0), 90_000 + np.arange(5.0)]
    whole, cut = (Trace(np.full(10, 47.0), np.full(10, 8.0), times, of) for of in (None, np.repeat([0, 1], 5)))
    assert [count_pauses(one) for one in (whole, cut)] == [(1, 1), (0, 2)]
    law = NoiseLaw(White(100.0), 0.0)
    assert "1 of 1 trips have a pause" in pause_notes([Received((("a", whole),), law, "independent", False)])[0]
    assert pause_notes([Received((("a", cut),), law, "independent", False)]) == []
