"""How long, how fast, and with which stays: numbers that are no squares, from paths drawn given the release.

Lengths, speeds and stays of a released track are the noise's, not the person's, and no subtraction takes that out. So
paths are drawn given the release (:mod:`sfumato.tracks.answers.ways.movement`), the number is read off each, and
averaged over draws and people. Where the release tells little of the way, the answer is the model's, and that is said:

* where the release tells less than half of the squared steps (:attr:`Ways.told`);
* where the plainest path (:func:`~sfumato.tracks.answers.ways.movement.plainest_path`) is less than four fifths as long
  as the drawn ones (:attr:`Ways.length_told`). The model knows no stays and draws length into them, which squared steps
  do not show: they come from a few long rides;
* for stays also where their number or their time differ by more than a fifth between the likeliest path and the drawn
  ones (:attr:`Ways.stays_told`);
* for each quantile where that of the plainest paths differs by more than a fifth from that of the drawn ones, or where
  the noise alone moves two points by more than a fifth of what is measured (:attr:`Ways.noise_in`): their speed, the
  length of their trip, the radius of a stay. Both paths are smooth and may agree on what neither can see.

What is the model's has no interval: one over people would say how alike the model is for all of them. Other intervals
hold the chance of people, and what lies between the plainest paths and the drawn ones: √(people² + between²).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.intervals import OverPeople, Sample, quantiles_over_people, ratio_over_people
from sfumato.tracks.answers.received import (
    NoiseLaw,
    Pair,
    Person,
    Received,
    is_recorded,
    people_of,
    received_all,
)
from sfumato.tracks.answers.ways.movement import (
    LEAST_ALIKE,
    MOSTLY_MODEL,
    alike,
    first_outside,
    fit_movement,
    likeliest_path,
    plainest_path,
    possible_paths,
    told_by_release,
)
from sfumato.tracks.answers.ways.smooth_tracks import path_by_time, with_intervals

DRAWS = 20
QUANTILES = (0.1, 0.5, 0.9)
MOST_NOISE = 1 / 5
Counted = Literal["pooled", "per-person"]
COUNTED: Mapping[Counted, str] = {
    "pooled": "Pooled over people: whoever recorded more counts more (--weight per-person: everybody the same).",
    "per-person": "Per person: everybody counts the same, whatever they recorded.",
}
STAY_RADIUS_M, STAY_S = 200.0, 300.0
MODEL = (
    "MOSTLY THE MODEL: the release tells {told}, where at least {least} are needed. These numbers say how the fitted "
    "kernel moves, not how these people did: it knows no stays, and people who mostly stay look restless in it."
)
DRAWN = (
    "Read off paths drawn given the release, under a kernel fitted to it; the release tells {told} (under {least} this "
    "would be called mostly the model)."
)
_PATH = ("length_m", "trips", "time_s", "stays", "stay_s", "recorded_m", "recorded_s")
KINDS = ("trip_length_m", "speed_m_s", "stay_s")
NAMES = (*_PATH, "likeliest_m", "likeliest_stays", "likeliest_stay_s", "told")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ways(ShownAnswer):
    """Trip length, speed (length over time, without pauses), stays a day and their share of the time; and their
    distributions.

    The distributions are quantiles (:data:`QUANTILES`) over trips, over time and over stays.
    """

    total_length_m: float
    trip_length_m: OverPeople
    speed_m_s: OverPeople
    trip_length_quantiles_m: tuple[OverPeople, ...]
    speed_quantiles: tuple[OverPeople, ...]
    stay_quantiles_s: tuple[OverPeople, ...]
    stays_per_day: OverPeople
    stay_share: OverPeople
    told: float
    length_told: float
    stays_told: float
    people: int
    weight: Counted
    alike_in: Mapping[str, tuple[float, ...]]
    noise_in: Mapping[str, tuple[float, ...]]

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the release tells the answer or the model does."""
        return (self.told_words(stays=True),)

    def models(self, name: str) -> tuple[bool, ...]:
        """Which quantiles are mostly the model's."""
        model = self.stays_mostly_model if name == "stay_s" else self.mostly_model
        pairs = zip(self.alike_in[name], self.noise_in[name], strict=True)
        return tuple(model or not (one >= LEAST_ALIKE and noise <= MOST_NOISE) for one, noise in pairs)

    def told_words(self, *, stays: bool) -> str:
        """Whether the release tells the answer or the model does, and how much of what was told."""
        told = [("the squared steps", self.told, MOSTLY_MODEL), ("the length", self.length_told, LEAST_ALIKE)]
        if stays:
            told.append(("the stays", self.stays_told, LEAST_ALIKE))
        words = MODEL if (self.stays_mostly_model if stays else self.mostly_model) else DRAWN
        shares = ", ".join(f"{100 * share:.0f} % of {what}" for what, share, _ in told)
        said = words.format(told=shares, least=", ".join(f"{100 * least:.0f} %" for *_, least in told))
        names = {"stay_s": "stays"} if stays else {"trip_length_m": "trips", "speed_m_s": "speeds"}
        hidden = [
            f"{100 * q:g} % of {what}"
            for name, what in names.items()
            for q, model in zip(QUANTILES, self.models(name), strict=True)
            if model
        ]
        if words == DRAWN and hidden:
            said += f" MOSTLY THE MODEL, without intervals: the quantiles {', '.join(hidden)}."
        return f"{said} {COUNTED[self.weight]}"

    @property
    def speed_quantiles_m_s(self) -> tuple[float, ...]:
        """The speeds alone, without their intervals."""
        return tuple(one.value for one in self.speed_quantiles)

    @property
    def mostly_model(self) -> bool:
        """Whether too little of the way is told by the release: under half of its squares, or four fifths of it."""
        return self.told < MOSTLY_MODEL or self.length_told < LEAST_ALIKE

    @property
    def stays_mostly_model(self) -> bool:
        """Whether too little of the way or of its stays is told by the release."""
        return self.mostly_model or self.stays_told < LEAST_ALIKE or not max(self.noise_in["stay_s"]) <= MOST_NOISE

    def distributions(self) -> dict[str, tuple[OverPeople, ...]]:
        """Quantiles by name and unit."""
        return {
            "trip_length_m": self.trip_length_quantiles_m,
            "speed_m_s": self.speed_quantiles,
            "stay_s": self.stay_quantiles_s,
        }

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {
            "people": self.people,
            "total_length_m": self.total_length_m,
            "trip_length_m": self.trip_length_m.to_dict(),
            "speed_m_s": self.speed_m_s.to_dict(),
            "speed_quantiles_m_s": dict(zip(map(str, QUANTILES), self.speed_quantiles_m_s, strict=True)),
            "distributions": {
                name: [
                    {"quantile": q, **one.to_dict(), "mostly_model": model}
                    for q, one, model in zip(QUANTILES, values, self.models(name), strict=True)
                ]
                for name, values in self.distributions().items()
            },
            "stays_per_day": self.stays_per_day.to_dict(),
            "stay_share": self.stay_share.to_dict(),
            "told_by_release": self.told,
            "length_told_by_release": self.length_told,
            "stays_told_by_release": self.stays_told,
            "weight": self.weight,
            "mostly_model": self.mostly_model,
            "stays_mostly_model": self.stays_mostly_model,
        }


def estimate_ways(
    received: Sequence[Received | Pair],
    *,
    draws: int = DRAWS,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    weight: Counted = "pooled",
    rng: Random = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ways:
    """Lengths, speeds and stays over all people, with intervals over people.

    Trips, time and stays are ``pooled``; ``per-person`` everybody counts the same, whatever they recorded.
    """
    if weight not in COUNTED:
        raise InputError(f"There is no weight '{weight}'.", f"Use {' or '.join(COUNTED)}.")
    received = received_all(received)
    for one in received:
        with_intervals(one)
    people = people_of(received, each_release_a_person=each_release_a_person)
    source = randomness(rng)
    found = []
    for done, person in enumerate(people):
        found.append(drawn_ways(person, draws, source))
        if progress is not None:
            progress(done + 1, len(people))
    return ways_over(found, confidence, weight)


def ways_over(found: Sequence[DrawnWays], confidence: float = 0.9, weight: Counted = "pooled") -> Ways:
    """What is read off everybody's drawn paths together, or of everybody's alike."""
    sums = np.array([one.sums for one in found]).T
    length, trips, seconds, stays, stayed, recorded_m, recorded_s, own_m, own_stays, own_stayed, told = sums
    own_recorded_m = np.array([float(np.sum(one.likeliest[1][0] * one.likeliest[1][1])) for one in found])

    def ratio(part: FloatArray, own: FloatArray, whole: FloatArray) -> tuple[OverPeople, OverPeople]:
        there = whole > 0
        parts, wholes = [part[there], own[there]], whole[there]
        if weight == "per-person":
            parts, wholes = [one / wholes for one in parts], np.ones(len(wholes))
        drawn, likeliest = (ratio_over_people(one, wholes, confidence) for one in parts)
        return drawn, likeliest

    def quantiles(samples: Sequence[Sample]) -> tuple[OverPeople, ...]:
        if weight == "per-person":
            samples = [(values, counts / max(float(counts.sum()), 1e-300)) for values, counts in samples]
        return quantiles_over_people(samples, QUANTILES, confidence)

    def noise(part: int) -> float:
        return quantiles_over_people([one.noise[part] for one in found], (0.5,), confidence)[0].value

    trip, speed = ratio(length, own_m, trips), ratio(recorded_m, own_recorded_m, recorded_s)
    per_day, share = ratio(stays, own_stays, seconds / 86400.0), ratio(stayed, own_stayed, seconds)
    drawn = {name: quantiles([one.drawn[part] for one in found]) for part, name in enumerate(KINDS)}
    own = {name: quantiles([one.likeliest[part] for one in found]) for part, name in enumerate(KINDS)}
    measured = {name: [one.value for one in values] for name, values in drawn.items()}
    measured["stay_s"] = [STAY_RADIUS_M] * len(QUANTILES)
    ways = Ways(
        total_length_m=float(length.sum()),
        trip_length_m=_between(*trip),
        speed_m_s=_between(*speed),
        trip_length_quantiles_m=tuple(map(_between, drawn["trip_length_m"], own["trip_length_m"])),
        speed_quantiles=tuple(map(_between, drawn["speed_m_s"], own["speed_m_s"])),
        stay_quantiles_s=tuple(map(_between, drawn["stay_s"], own["stay_s"])),
        stays_per_day=_between(*per_day),
        stay_share=_between(*share),
        told=float(np.sum(told * length) / max(float(length.sum()), 1e-9)),
        length_told=alike(trip[0].value, trip[1].value),
        stays_told=min(alike(one.value, other.value) for one, other in (per_day, share)),
        people=len(found),
        weight=weight,
        alike_in={n: tuple(alike(a.value, b.value) for a, b in zip(drawn[n], own[n], strict=True)) for n in KINDS},
        noise_in={n: tuple(noise(k) / max(one, 1e-9) for one in measured[n]) for k, n in enumerate(KINDS)},
    )
    return _without_intervals(ways)


def _between(drawn: OverPeople, likeliest: OverPeople) -> OverPeople:
    """The interval over people of the drawn paths, wide enough for the likeliest ones, too."""
    apart = drawn.value - likeliest.value
    low, high = (math.hypot(end - drawn.value, apart) for end in (drawn.low, drawn.high))
    return OverPeople(drawn.value, max(drawn.value - low, 0.0) if low == low else low, drawn.value + high)


def _without_intervals(ways: Ways) -> Ways:
    """What is mostly the model's has none."""

    def bare(one: OverPeople, model: bool) -> OverPeople:
        return replace(one, low=math.nan, high=math.nan) if model else one

    def each(name: str) -> tuple[OverPeople, ...]:
        return tuple(map(bare, ways.distributions()[name], ways.models(name)))

    return replace(
        ways,
        trip_length_m=bare(ways.trip_length_m, ways.mostly_model),
        speed_m_s=bare(ways.speed_m_s, ways.mostly_model),
        stays_per_day=bare(ways.stays_per_day, ways.stays_mostly_model),
        stay_share=bare(ways.stay_share, ways.stays_mostly_model),
        trip_length_quantiles_m=each("trip_length_m"),
        speed_quantiles=each("speed_m_s"),
        stay_quantiles_s=each("stay_s"),
    )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnWays:
    """One person's paths: sums in the order of :data:`NAMES` (told last); trips, steps and stays (:data:`KINDS`) of the
    draws, of the plainest path, and how far noise moves two points of each: across a trip, in a step, in a stay."""

    sums: FloatArray
    drawn: tuple[Sample, ...]
    likeliest: tuple[Sample, ...]
    noise: tuple[Sample, ...]

    @property
    def length_m(self) -> float:
        """Of a path, on average over the draws."""
        return float(self.sums[0])


def drawn_ways(person: Person, draws: int, source: Randomness, *, stays: bool = True) -> DrawnWays:
    """Everything about one person, read off so many paths; without ``stays`` these are not looked for."""
    found = [_track(law, trace, draws, source, stays) for law, trace in person.releases]
    sums = np.sum([one.sums for one in found], axis=0)
    sums[-1] /= max(float(sums[0]), 1e-9)  # the share told, weighted by length
    parts = [one.drawn for one in found], [one.likeliest for one in found], [one.noise for one in found]
    return DrawnWays(sums, *(tuple(_joined(one) for one in zip(*every, strict=True)) for every in parts))


def _joined(samples: Sequence[Sample]) -> Sample:
    return np.concatenate([one[0] for one in samples]), np.concatenate([one[1] for one in samples])


def _track(law: NoiseLaw, trace: Trace, draws: int, source: Randomness, look_for_stays: bool) -> DrawnWays:
    order, every, walk = path_by_time(trace)
    times, first = np.unique(every, return_index=True)
    path, segment = walk[first], trace.segment[order][first]
    if len(times) < 2:
        nothing = np.zeros(0), np.zeros(0)
        return DrawnWays(np.zeros(len(NAMES)), (nothing,) * 3, (nothing,) * 3, (nothing,) * 3)
    movement = fit_movement(times, path, law.kernel)
    mean = likeliest_path(times, path, movement, law.kernel)
    drawn = possible_paths(times, path, movement, law.kernel, draws, source)
    same = np.diff(segment) == 0
    gaps = np.diff(times)[same]
    steps = np.linalg.norm(np.diff(drawn, axis=1), axis=2)[:, same]
    length = float(steps.sum()) / draws
    _, trip = np.unique(segment[1:][same], return_inverse=True)
    lengths = np.concatenate([np.bincount(trip, weights=one) for one in steps]) if gaps.size else np.zeros(0)
    stays, own = (
        np.concatenate([_stays(times, one, segment) for one in paths]) if look_for_stays else np.zeros(0)
        for paths in (drawn, mean[None])
    )
    plain = plainest_path(times, mean, drawn, segment)
    own_steps = np.linalg.norm(np.diff(plain, axis=0), axis=1)[same]
    likeliest = [float(own_steps.sum()), len(own), float(own.sum())]
    told = told_by_release(mean, drawn) * length
    seen = is_recorded(gaps)
    steps, seconds = steps[:, seen], gaps[seen]
    speed = [float(steps.sum()) / draws, seconds.sum()]
    sums = [
        length,
        trace.segments,
        gaps.sum(),
        len(stays) / draws,
        float(stays.sum()) / draws,
        *speed,
        *likeliest,
        told,
    ]
    speeds = (steps / seconds).ravel()
    own_lengths = np.asarray(np.bincount(trip, weights=own_steps) if gaps.size else np.zeros(0), float)
    took = np.asarray(np.bincount(trip, weights=gaps) if gaps.size else np.zeros(0), float)
    return DrawnWays(
        np.array(sums),
        (_alike(lengths), (speeds, np.tile(seconds, draws)), _alike(stays)),
        (_alike(own_lengths), (own_steps[seen] / seconds, seconds), _alike(own)),
        (_alike(law.between_m(took)), (law.between_m(seconds) / seconds, seconds), _alike(law.between_m([STAY_S]))),
    )


def _alike(values: FloatArray) -> Sample:
    return values, np.ones(len(values))


def _stays(times: FloatArray, path: FloatArray, segment: IntArray) -> FloatArray:
    """Seconds of each stay (at least 5 minutes within 200 m of where it began) in one path."""
    found: list[float] = []
    start = 0
    while start < len(times):
        stop = first_outside(path, segment, start, STAY_RADIUS_M)
        stayed = times[stop - 1] - times[start]
        if stayed >= STAY_S:
            found.append(float(stayed))
            start = stop
        else:
            start += 1
    return np.array(found)
