# src/sfumato/tracks/answers/ways/middle.py
"""Where the middle of everybody is: the mean place of each person's points, and of people, with an interval.

The noise of every certified law has mean 0 and does not depend on the place, so the mean over released points has the
mean over true ones as its expectation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.tracks.answers.intervals import OverPeople, ratio_over_people
from sfumato.tracks.answers.received import Pair, Received, people_of, received_all


@dataclass(frozen=True, slots=True)
class Middle:
    """Latitude and longitude in degrees, each with its interval over people."""

    lat: OverPeople
    lon: OverPeople
    people: int

    def to_table(self) -> pa.Table:
        """A row for each axis: ``axis, value, low, high``."""
        return pa.Table.from_pylist([{"axis": name, **getattr(self, name).to_dict()} for name in ("lat", "lon")])

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {"people": self.people, "lat": self.lat.to_dict(), "lon": self.lon.to_dict()}


def estimate_middle(
    received: Sequence[Received | Pair], *, confidence: float = 0.9, each_release_a_person: bool = False
) -> Middle:
    """Everybody counts the same, however many points they have."""
    people = people_of(received_all(received), each_release_a_person=each_release_a_person)
    means = np.array(
        [np.mean(np.concatenate([[t.lat_deg, t.lon_deg] for _, t in one.releases], axis=1), axis=1) for one in people]
    )
    lat, lon = (ratio_over_people(means[:, axis], np.ones(len(people)), confidence) for axis in (0, 1))
    return Middle(lat, lon, len(people))
