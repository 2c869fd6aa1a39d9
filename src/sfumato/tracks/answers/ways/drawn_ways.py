"""How long, how fast, and with which stays: numbers that are no squares, from paths drawn given the release.

Lengths, speeds and stays of a released track are the noise's, not the person's, and no subtraction takes that out. So
paths are drawn given the release (:mod:`sfumato.tracks.answers.ways.movement`), the number is read off each, and
averaged over draws and people. Where the release tells little of the way, the answer is the model's, and that is said:

* where the release tells less than half of the squared steps (:attr:`Ways.told`);
* where the likeliest path is less than four fifths as long as the drawn ones (:attr:`Ways.length_told`). The model
  knows no stays and draws length into them, which squared steps do not show: they come from a few long rides;
* for stays also where their number or their time differ by more than a fifth between the likeliest path and the drawn
  ones (:attr:`Ways.stays_told`);
* for each quantile where the one of the likeliest paths differs by more than a fifth from that of the drawn ones
  (:attr:`Ways.alike_in`): the slow part of a distribution of speeds is the first that noise hides.

What is the model's has no interval: one over people would say how alike the model is for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
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
    fit_movement,
    likeliest_path,
    possible_paths,
    told_by_release,
)
from sfumato.tracks.answers.ways.smooth_tracks import path_by_time, with_intervals

DRAWS = 20
QUANTILES = (0.1, 0.5, 0.9)
POOLED = "Pooled over people: whoever recorded more counts more (per person: --per-person, per_person=True)."
PER_PERSON = "Per person: everybody counts the same, whatever they recorded."
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
    per_person: bool
    alike_in: Mapping[str, tuple[float, ...]]

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the release tells the answer or the model does."""
        return (self.told_words(stays=True),)

    @property
    def whose(self) -> str:
        """How people count: whoever recorded more counts more, or all the same."""
        return PER_PERSON if self.per_person else POOLED

    def models(self, name: str) -> tuple[bool, ...]:
        """Which quantiles are mostly the model's."""
        model = self.stays_mostly_model if name == "stay_s" else self.mostly_model
        return tuple(model or not one >= LEAST_ALIKE for one in self.alike_in[name])

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
        return f"{said} {self.whose}"

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
        return self.mostly_model or self.stays_told < LEAST_ALIKE

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
            "per_person": self.per_person,
            "mostly_model": self.mostly_model,
            "stays_mostly_model": self.stays_mostly_model,
        }


def estimate_ways(
    received: Sequence[Received | Pair],
    *,
    draws: int = DRAWS,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    per_person: bool = False,
    rng: Random = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ways:
    """Lengths, speeds and stays over all people, with intervals over people.

    Trips, time and stays are pooled; ``per_person`` everybody counts the same, whatever they recorded.
    """
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
    return ways_over(found, confidence, per_person=per_person)


def ways_over(found: Sequence[DrawnWays], confidence: float = 0.9, *, per_person: bool = False) -> Ways:
    """What is read off everybody's drawn paths together, or of everybody's alike."""
    sums = np.array([one.sums for one in found]).T
    length, trips, seconds, stays, stayed, recorded_m, recorded_s, *likeliest, told = sums
    alike_in = [
        alike(float(own.sum()), float(drawn.sum())) for own, drawn in zip(likeliest, sums[[0, 3, 4]], strict=True)
    ]

    def ratio(part: FloatArray, whole: FloatArray) -> OverPeople:
        if per_person:
            part, whole = np.where(whole > 0, part / np.maximum(whole, 1e-300), 0.0), np.asarray(whole > 0, float)
        return ratio_over_people(part, whole, confidence)

    def quantiles(samples: Sequence[Sample]) -> tuple[OverPeople, ...]:
        if per_person:
            samples = [(values, counts / max(float(counts.sum()), 1e-300)) for values, counts in samples]
        return quantiles_over_people(samples, QUANTILES, confidence)

    drawn = {
        "trip_length_m": quantiles([one.lengths for one in found]),
        "speed_m_s": quantiles([one.speeds for one in found]),
        "stay_s": quantiles([one.stays for one in found]),
    }
    own_m, own_speed, own_stay = (quantiles([one.likeliest[part] for one in found]) for part in range(3))
    agree = {
        name: tuple(alike(a.value, b.value) for a, b in zip(own, drawn[name], strict=True))
        for name, own in zip(drawn, (own_m, own_speed, own_stay), strict=True)
    }
    ways = Ways(
        total_length_m=float(length.sum()),
        trip_length_m=ratio(length, trips),
        speed_m_s=ratio(recorded_m, recorded_s),
        trip_length_quantiles_m=drawn["trip_length_m"],
        speed_quantiles=drawn["speed_m_s"],
        stay_quantiles_s=drawn["stay_s"],
        stays_per_day=ratio(stays, seconds / 86400.0),
        stay_share=ratio(stayed, seconds),
        told=float(np.sum(told * length) / max(float(length.sum()), 1e-9)),
        length_told=alike_in[0],
        stays_told=min(alike_in[1:]),
        people=len(found),
        per_person=per_person,
        alike_in=agree,
    )
    return _without_intervals(ways)


def _without_intervals(ways: Ways) -> Ways:
    """What is mostly the model's has none."""

    def bare(one: OverPeople, model: bool) -> OverPeople:
        return replace(one, low=math.nan, high=math.nan) if model else one

    def each(values: tuple[OverPeople, ...], name: str) -> tuple[OverPeople, ...]:
        return tuple(map(bare, values, ways.models(name)))

    return replace(
        ways,
        trip_length_m=bare(ways.trip_length_m, ways.mostly_model),
        speed_m_s=bare(ways.speed_m_s, ways.mostly_model),
        stays_per_day=bare(ways.stays_per_day, ways.stays_mostly_model),
        stay_share=bare(ways.stay_share, ways.stays_mostly_model),
        trip_length_quantiles_m=each(ways.trip_length_quantiles_m, "trip_length_m"),
        speed_quantiles=each(ways.speed_quantiles, "speed_m_s"),
        stay_quantiles_s=each(ways.stay_quantiles_s, "stay_s"),
    )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnWays:
    """One person's paths: sums in the order of :data:`NAMES` (told last), every trip, step and stay of the draws, and
    those of the likeliest path."""

    sums: FloatArray
    lengths: Sample
    speeds: Sample
    stays: Sample
    likeliest: tuple[Sample, Sample, Sample]

    @property
    def length_m(self) -> float:
        """Of a path, on average over the draws."""
        return float(self.sums[0])


def drawn_ways(person: Person, draws: int, source: Randomness, *, stays: bool = True) -> DrawnWays:
    """Everything about one person, read off so many paths; without ``stays`` these are not looked for."""
    found = [_track(law, trace, draws, source, stays) for law, trace in person.releases]
    sums = np.sum([one.sums for one in found], axis=0)
    sums[-1] /= max(float(sums[0]), 1e-9)  # the share told, weighted by length
    lengths, speeds, stayed = ([getattr(one, kind) for one in found] for kind in ("lengths", "speeds", "stays"))
    own_m, own_speed, own_stay = (_joined([one.likeliest[part] for one in found]) for part in range(3))
    return DrawnWays(sums, _joined(lengths), _joined(speeds), _joined(stayed), (own_m, own_speed, own_stay))


def _joined(samples: Sequence[Sample]) -> Sample:
    return np.concatenate([one[0] for one in samples]), np.concatenate([one[1] for one in samples])


def _track(law: NoiseLaw, trace: Trace, draws: int, source: Randomness, look_for_stays: bool) -> DrawnWays:
    order, every, walk = path_by_time(trace)
    times, first = np.unique(every, return_index=True)
    path, segment = walk[first], trace.segment[order][first]
    if len(times) < 2:
        nothing = np.zeros(0), np.zeros(0)
        return DrawnWays(np.zeros(len(NAMES)), nothing, nothing, nothing, (nothing, nothing, nothing))
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
    own_steps = np.linalg.norm(np.diff(mean, axis=0), axis=1)[same]
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
    return DrawnWays(
        np.array(sums),
        (lengths, np.ones(len(lengths))),
        (speeds, np.tile(seconds, draws)),
        (stays, np.ones(len(stays))),
        ((own_lengths, np.ones(len(own_lengths))), (own_steps[seen] / seconds, seconds), (own, np.ones(len(own)))),
    )


def _stays(times: FloatArray, path: FloatArray, segment: IntArray) -> FloatArray:
    """Seconds of each stay (at least 5 minutes within 200 m of where it began) in one path."""
    found: list[float] = []
    start = 0
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
            found.append(float(stayed))
            start = stop
        else:
            start += 1
    return np.array(found)
