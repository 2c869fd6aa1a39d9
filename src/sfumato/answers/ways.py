"""How long, how fast, and with which stays: numbers that are no squares, from paths drawn given the release.

Lengths, speeds and stays of a released track are the noise's, not the person's, and no subtraction takes that out. So
paths are drawn given the release (:mod:`sfumato.answers.movement`), the number is read off each, and averaged over
draws and people. Where the release tells little of the way, the answer is the model's: :attr:`Ways.told` is the share
of the squared steps that the release tells, and under one half :attr:`Ways.mostly_model` is set and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.answers.movement import MOSTLY_MODEL, fit_movement, likeliest_path, possible_paths, told_by_release
from sfumato.answers.over_people import OverPeople, ratio_over_people
from sfumato.answers.people import Person, people_of
from sfumato.answers.received import NoiseLaw, Received
from sfumato.answers.smooth import walked, with_intervals
from sfumato.arrays import FloatArray, IntArray
from sfumato.randomness import Random, Randomness, randomness
from sfumato.traces import Trace

DRAWS = 20
QUANTILES = (0.1, 0.5, 0.9)
STAY_RADIUS_M, STAY_S = 200.0, 300.0
NAMES = ("length_m", "trips", "moving_s", "stays", "stay_s", "told")


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Of one person: trip length, speed (length over time), stays a day and their share of the time."""

    total_length_m: float
    trip_length_m: OverPeople
    speed_m_s: OverPeople
    speed_quantiles_m_s: tuple[float, ...]
    stays_per_day: OverPeople
    stay_share: OverPeople
    told: float
    people: int

    @property
    def mostly_model(self) -> bool:
        """Whether less than half of the way is told by the release."""
        return self.told < MOSTLY_MODEL

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {
            "people": self.people,
            "total_length_m": self.total_length_m,
            "trip_length_m": self.trip_length_m.to_dict(),
            "speed_m_s": self.speed_m_s.to_dict(),
            "speed_quantiles_m_s": dict(zip(map(str, QUANTILES), self.speed_quantiles_m_s, strict=True)),
            "stays_per_day": self.stays_per_day.to_dict(),
            "stay_share": self.stay_share.to_dict(),
            "told_by_release": self.told,
            "mostly_model": self.mostly_model,
        }


def estimate_ways(
    received: Sequence[Received],
    *,
    draws: int = DRAWS,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    rng: Random = None,
) -> Ways:
    """Lengths, speeds and stays over all people, with intervals over people."""
    for one in received:
        with_intervals(one)
    people = people_of(received, each_release_a_person=each_release_a_person)
    source = randomness(rng)
    found = [_person(person, draws, source) for person in people]
    sums = np.array([one for one, _ in found])
    length, trips, seconds, stays, stayed, told = sums.T
    speeds = np.concatenate([one for _, one in found])
    ordered = speeds[np.argsort(speeds[:, 0])]
    passed = np.cumsum(ordered[:, 1])
    at = [ordered[min(int(np.searchsorted(passed, q * passed[-1])), len(ordered) - 1), 0] for q in QUANTILES]
    return Ways(
        total_length_m=float(length.sum()),
        trip_length_m=ratio_over_people(length, trips, confidence),
        speed_m_s=ratio_over_people(length, seconds, confidence),
        speed_quantiles_m_s=tuple(float(speed) for speed in at),
        stays_per_day=ratio_over_people(stays, seconds / 86400.0, confidence),
        stay_share=ratio_over_people(stayed, seconds, confidence),
        told=float(np.sum(told * length) / max(float(length.sum()), 1e-9)),
        people=len(people),
    )


def _person(person: Person, draws: int, source: Randomness) -> tuple[FloatArray, FloatArray]:
    found = [_track(law, trace, draws, source) for law, trace in person.releases]
    sums = np.sum([one for one, _ in found], axis=0)
    sums[-1] /= max(float(sums[0]), 1e-9)  # the share told, weighted by length
    return sums, np.concatenate([speeds for _, speeds in found])


def _track(law: NoiseLaw, trace: Trace, draws: int, source: Randomness) -> tuple[FloatArray, FloatArray]:
    """Sums over one track in the order of :data:`NAMES` (told times length last), and (speed, seconds) of its steps."""
    order, every, walk = walked(trace)
    times, first = np.unique(every, return_index=True)
    path, segment = walk[first], trace.segment[order][first]
    if len(times) < 2:
        return np.zeros(len(NAMES)), np.zeros((1, 2))
    movement = fit_movement(times, path, law.kernel)
    mean = likeliest_path(times, path, movement, law.kernel)
    drawn = possible_paths(times, path, movement, law.kernel, draws, source)
    same = np.diff(segment) == 0
    gaps = np.diff(times)[same]
    steps = np.linalg.norm(np.diff(drawn, axis=1), axis=2)[:, same]
    length = float(steps.sum()) / draws
    stays = np.mean([_stays(times, one, segment) for one in drawn], axis=0)
    told = told_by_release(mean, drawn) * length
    speeds = np.column_stack([(steps / gaps).ravel(), np.tile(gaps, draws)]) if gaps.size else np.zeros((1, 2))
    return np.array([length, trace.segments, gaps.sum(), *stays, told]), speeds


def _stays(times: FloatArray, path: FloatArray, segment: IntArray) -> tuple[float, float]:
    """How many stays (at least 5 minutes within 200 m of where they began) in one path, and their seconds."""
    count, seconds, start = 0, 0.0, 0
    while start < len(times):
        stop = start + 1
        while True:  # look at 64, 128 ... points ahead: most stays end soon, some are long
            ahead = slice(stop, stop + max(64, stop - start))
            out = np.linalg.norm(path[ahead] - path[start], axis=1) > STAY_RADIUS_M
            out |= segment[ahead] != segment[start]
            if out.any() or not out.size:
                stop += int(np.argmax(out)) if out.size else 0
                break
            stop += out.size
        stayed = times[stop - 1] - times[start]
        if stayed >= STAY_S:
            count, seconds, start = count + 1, seconds + float(stayed), stop
        else:
            start += 1
    return float(count), seconds
