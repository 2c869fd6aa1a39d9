"""Who is left out in turn: days where the next day's noise is another one, people otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from city import BOUNDS

from sfumato.base.errors import InputError
from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.flows.trip_ends import rake
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.maps.simulated import COUNTED
from sfumato.tracks.answers.received import NoiseLaw, Received, day_groups, days_of, largest_share, other_by_day
from sfumato.tracks.priors.kernels import Constant, White

DAY_S = 86_400.0


def hermits(people: int, days: int, noise_m: float) -> tuple[list[Trace], Received]:
    """Everybody goes to two places of their own, every day; independent noise."""
    rng = np.random.default_rng(5)
    south, west, north, east = BOUNDS
    true, released = [], []
    for number in range(people):
        homes = rng.uniform([south, west], [north, east], (2, 2))
        at = homes[rng.integers(2, size=20 * days)]
        times = 1.7e9 + np.repeat(np.arange(days), 20) * DAY_S + np.tile(np.arange(20) * 600.0, days)
        trace = Trace(at[:, 0], at[:, 1], times)
        moved = displace(trace.lat_deg, trace.lon_deg, noise_m * rng.standard_normal((len(trace), 2)))
        true.append(trace)
        released.append((f"p{number}", trace.moved_to(*moved)))
    return true, Received(tuple(released), NoiseLaw(White(noise_m), 0.0), "independent", False)


def test_points_of_one_person_on_one_day_stay_together() -> None:
    person = np.array([0, 0, 0, 1, 1])
    days = days_of(person, np.array([10.0, 20.0, DAY_S + 5, 15.0, 16.0]))
    assert days.tolist() == [0, 0, 1, 2, 2]
    many = days_of(np.repeat(np.arange(30), 4), np.tile(np.arange(4) * DAY_S, 30))
    group = day_groups(many, 30)
    assert len(np.unique(many)) == 120
    assert np.bincount(group).tolist() == [15] * 8
    week = days_of(np.zeros(6, dtype=np.int64), np.arange(6) * DAY_S)
    assert day_groups(week, 1).tolist() == [0] * 6, "less than a week of one person judges nothing"
    assert days_of(np.zeros(0, dtype=np.int64), np.zeros(0)).size == 0


def test_days_judge_only_where_the_next_day_has_noise_of_its_own() -> None:
    assert other_by_day([NoiseLaw(White(100.0), 0.1)])
    assert not other_by_day([NoiseLaw(White(100.0), 0.1), NoiseLaw(White(100.0) + Constant(50.0), 0.1)])


def test_where_people_left_out_know_nothing_of_the_others_the_answer_counts_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Days judge the map well; people with places of their own would have it flat, which is worse than counting."""
    true, received = hermits(25, 8, 400.0)

    def off() -> tuple[float, float, bool]:
        found = estimate_heatmap([received], cell_m=800, bounds=BOUNDS)
        cells = np.concatenate([found.grid.locate(trace.lat_deg, trace.lon_deg) for trace in true])
        truth = np.bincount(cells[cells >= 0], minlength=found.grid.cells) / (cells >= 0).sum()
        apart = [0.5 * float(abs(one - truth).sum()) for one in (found.picture, found.counted)]
        return apart[0], apart[1], COUNTED in found.notes

    by_days, naive, told = off()
    assert not told
    monkeypatch.setattr("sfumato.tracks.answers.maps.deconvolution.other_by_day", lambda laws: False)
    by_people, _, told = off()
    assert by_days < 0.7 * naive
    assert told
    assert by_people == pytest.approx(naive)


def test_raked_flows_begin_and_end_where_trips_do() -> None:
    rng = np.random.default_rng(2)
    flows = rng.random((3, 3, 4, 4)) + 0.1
    both = tuple(one / one.sum() for one in rng.random((2, 3, 4)))
    found = rake(flows / flows.sum(), (both[0], both[1]))
    assert np.abs(found.sum(axis=(1, 3)) - both[0]).max() < 1e-4
    assert np.abs(found.sum(axis=(0, 2)) - both[1]).max() < 1e-4
    # How a pair compares with its neighbours is kept: raking scales rows and columns only.
    odds = flows[0, 1, 2, 3] * flows[1, 2, 3, 2] / flows[0, 2, 2, 2] / flows[1, 1, 3, 3]
    kept = found[0, 1, 2, 3] * found[1, 2, 3, 2] / found[0, 2, 2, 2] / found[1, 1, 3, 3]
    assert kept == pytest.approx(odds)


def test_the_person_with_most_points_is_told() -> None:
    assert largest_share([0, 0, 1]) == pytest.approx(2 / 3)
    assert largest_share([0, 1], [1.0, 3.0]) == pytest.approx(0.75)
    _, received = hermits(6, 2, 400.0)
    assert estimate_heatmap([received], cell_m=800, bounds=BOUNDS).largest_person == pytest.approx(1 / 6)


def test_a_rectangle_that_is_no_number_is_refused() -> None:
    _, received = hermits(6, 2, 400.0)
    with pytest.raises(InputError):
        estimate_heatmap([received], cell_m=800, bounds=(BOUNDS[0], float("nan"), BOUNDS[2], BOUNDS[3]))
    with pytest.raises(InputError):
        estimate_heatmap([received], cell_m=float("nan"), bounds=BOUNDS)
    with pytest.raises(InputError):
        estimate_heatmap([received], cell_m=800, bounds=BOUNDS, confidence=float("nan"))
