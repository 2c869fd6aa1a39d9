"""How far people get: mean squared displacement and radius of gyration with the noise taken out, without bias.

With o the noise's variance per coordinate, ρ its correlation and s the snapping grid, for pairs chosen by times alone

    E|z(t+τ) - z(t)|² = E|x(t+τ) - x(t)|² + 4 o (1 - ρ(τ)) + s²/3,

whatever the movement is: only squares have this property. Each pair is corrected at its own lag. The squared radius of
gyration of n points is that of the release less 2 o (1 - mean ρᵢⱼ) + (s²/6)(1 - 1/n), diagonal included.
A negative estimate says that the noise hides the answer; it is reported as it is. Distances are straight lines between
points of the ellipsoid: the plane's within a city, 0.1 % shorter than the way over ground at 1,000 km. (Steps laid out
one after another in a plane do not close: somebody who travels the world would come back elsewhere.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.intervals import OverPeople, ratio_over_people
from sfumato.tracks.answers.received import NoiseLaw, Pair, Person, Received, people_of, received_all
from sfumato.tracks.answers.ways.smooth_tracks import with_intervals
from sfumato.tracks.places.globe import surface

LAGS_S = (60.0, 600.0, 3600.0)
LAG_WIDTH = 0.1  # a pair counts for lags within a tenth of its own
_MOST = 1500  # points of one track in a mean over all pairs
UNBIASED = (
    "Squares are exact on average: the noise's share is subtracted. A negative one says that noise hides the answer."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Displacements(ShownAnswer):
    """Mean squared displacement (m²) at each lag, and the mean squared radius of gyration of a track (m²)."""

    lags_s: tuple[float, ...]
    squared_m2: tuple[OverPeople, ...]
    gyration_m2: OverPeople
    people: int

    @property
    def notes(self) -> tuple[str, ...]:
        """How squares are to be read."""
        return (UNBIASED,)

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        lags = [{"lag_s": lag, **one.to_dict()} for lag, one in zip(self.lags_s, self.squared_m2, strict=True)]
        return {"people": self.people, "mean_squared_displacement_m2": lags, "gyration_m2": self.gyration_m2.to_dict()}


def estimate_displacements(
    received: Sequence[Received | Pair],
    *,
    lags_s: Sequence[float] = LAGS_S,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
) -> Displacements:
    """Unbiased squares over all people, each with its interval over people."""
    received = received_all(received)
    if not lags_s or min(lags_s) <= 0:
        raise InputError("A lag is not more than 0.", "Give times such as 1min,10min,1h.")
    for one in received:
        with_intervals(one)
    people = people_of(received, each_release_a_person=each_release_a_person)
    sums = np.array([[_person_at(person, lag) for lag in lags_s] for person in people])
    turned = np.array([np.sum([_gyration(law, trace) for law, trace in one.releases], axis=0) for one in people])
    squared = tuple(ratio_over_people(sums[:, i, 0], sums[:, i, 1], confidence) for i in range(len(lags_s)))
    gyration = ratio_over_people(turned[:, 0], turned[:, 1], confidence)
    return Displacements(tuple(lags_s), squared, gyration, len(people))


def _person_at(person: Person, lag_s: float) -> FloatArray:
    return np.asarray(np.sum([_pairs(law, trace, lag_s) for law, trace in person.releases], axis=0))


def _pairs(law: NoiseLaw, trace: Trace, lag_s: float) -> tuple[float, float]:
    """The corrected squares of one track's pairs, summed, and their number."""
    times, path = _placed(trace)
    last = len(times) - 1
    after = np.minimum(np.searchsorted(times, times + lag_s), last)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(times[after] - times - lag_s) <= np.abs(times[before] - times - lag_s), after, before)
    lags = times[nearest] - times
    good = (np.abs(lags - lag_s) <= LAG_WIDTH * lag_s) & (lags > 0)
    apart = np.sum((path[nearest[good]] - path[good]) ** 2, axis=1)
    noise = 4 * law.kernel.variance_m2 * (1 - law.correlation(lags[good])) + law.snap_m**2 / 3
    return float(np.sum(apart - noise)), float(np.count_nonzero(good))


def _gyration(law: NoiseLaw, trace: Trace) -> tuple[float, float]:
    """The corrected squared radius of gyration of one track, and 1."""
    times, path = _placed(trace)
    some = evenly(len(times), _MOST)
    times, path, count = times[some], path[some], len(some)
    released = float(np.mean(np.sum((path - path.mean(axis=0)) ** 2, axis=1)))
    shared = float(np.mean(law.correlation(times[:, None] - times[None, :])))
    noise = 2 * law.kernel.variance_m2 * (1 - shared) + law.snap_m**2 / 6 * (1 - 1 / count)
    return released - noise, 1.0


def _placed(trace: Trace) -> tuple[FloatArray, FloatArray]:
    """Sorted times, and the points (n, 3) in metres from the earth's centre."""
    order = np.argsort(trace.times_s, kind="stable")
    return trace.times_s[order], surface(trace.lat_deg[order], trace.lon_deg[order])
