"""Flows from releases alone: trips between known centres come out where they are."""

from __future__ import annotations

import numpy as np
import pytest
from city import BOUNDS, fleet, received

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.cli.tracks.answers.estimate_options import pause_words
from sfumato.tracks.answers.flows.origin_destination import Flows, estimate_flows
from sfumato.tracks.answers.flows.trips import count_pauses
from sfumato.tracks.answers.received import NoiseLaw, Received
from sfumato.tracks.priors.kernels import White


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


def test_a_week_that_is_one_trip_is_said() -> None:
    """A table without segments has one trip a person: from its first to its last point, whatever lies between."""
    times = np.r_[np.arange(5.0), 90_000 + np.arange(5.0)]
    whole, cut = (Trace(np.full(10, 47.0), np.full(10, 8.0), times, of) for of in (None, np.repeat([0, 1], 5)))
    assert [count_pauses(one) for one in (whole, cut)] == [(1, 1), (0, 2)]
    law = NoiseLaw(White(100.0), 0.0)
    assert "1 of 1 trips have a pause" in pause_words([Received((("a", whole),), law, "independent", False)])[0]
    assert pause_words([Received((("a", cut),), law, "independent", False)]) == []
