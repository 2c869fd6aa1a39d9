"""How long, how fast, and with which stays: numbers that are no squares, from paths drawn given the release.

Lengths, speeds and stays of a released track are the noise's, not the person's, and no subtraction takes that out. So
paths are drawn given the release (:mod:`sfumato.tracks.answers.ways.movement`), the number is read off each, and
averaged over draws and people. Where the release tells little of the way, the answer is the model's, and that is said:

* where the release tells less than half of the squared steps (:attr:`Ways.told`);
* where the likeliest path is less than four fifths as long as the drawn ones (:attr:`Ways.length_told`). The model
  knows no stays and draws length into them, which squared steps do not show: they come from a few long rides;
* for stays also where their number or their time differ by more than a fifth between the likeliest path and the drawn
  ones (:attr:`Ways.stays_told`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import numpy as np
import pyarrow as pa

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
    release_notes,
)
from sfumato.tracks.answers.ways.displacement import LAGS_S, Displacements, estimate_displacements
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

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the release tells the answer or the model does."""
        return (self.told_words(stays=True),)

    def told_words(self, *, stays: bool) -> str:
        """Whether the release tells the answer or the model does, and how much of what was told."""
        told = [("the squared steps", self.told, MOSTLY_MODEL), ("the length", self.length_told, LEAST_ALIKE)]
        if stays:
            told.append(("the stays", self.stays_told, LEAST_ALIKE))
        words = MODEL if (self.stays_mostly_model if stays else self.mostly_model) else DRAWN
        shares = ", ".join(f"{100 * share:.0f} % of {what}" for what, share, _ in told)
        return words.format(told=shares, least=", ".join(f"{100 * least:.0f} %" for *_, least in told))

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
                name: [{"quantile": q, **one.to_dict()} for q, one in zip(QUANTILES, values, strict=True)]
                for name, values in self.distributions().items()
            },
            "stays_per_day": self.stays_per_day.to_dict(),
            "stay_share": self.stay_share.to_dict(),
            "told_by_release": self.told,
            "length_told_by_release": self.length_told,
            "stays_told_by_release": self.stays_told,
            "mostly_model": self.mostly_model,
            "stays_mostly_model": self.stays_mostly_model,
        }


def estimate_ways(
    received: Sequence[Received | Pair],
    *,
    draws: int = DRAWS,
    confidence: float = 0.9,
    each_release_a_person: bool = False,
    rng: Random = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ways:
    """Lengths, speeds and stays over all people, with intervals over people."""
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
    return ways_over(found, confidence)


def ways_over(found: Sequence[DrawnWays], confidence: float = 0.9) -> Ways:
    """What is read off everybody's drawn paths together."""
    sums = np.array([one.sums for one in found]).T
    length, trips, seconds, stays, stayed, recorded_m, recorded_s, *likeliest, told = sums
    alike_in = [
        alike(float(own.sum()), float(drawn.sum())) for own, drawn in zip(likeliest, sums[[0, 3, 4]], strict=True)
    ]
    return Ways(
        total_length_m=float(length.sum()),
        trip_length_m=ratio_over_people(length, trips, confidence),
        speed_m_s=ratio_over_people(recorded_m, recorded_s, confidence),
        trip_length_quantiles_m=quantiles_over_people([one.lengths for one in found], QUANTILES, confidence),
        speed_quantiles=quantiles_over_people([one.speeds for one in found], QUANTILES, confidence),
        stay_quantiles_s=quantiles_over_people([one.stays for one in found], QUANTILES, confidence),
        stays_per_day=ratio_over_people(stays, seconds / 86400.0, confidence),
        stay_share=ratio_over_people(stayed, seconds, confidence),
        told=float(np.sum(told * length) / max(float(length.sum()), 1e-9)),
        length_told=alike_in[0],
        stays_told=min(alike_in[1:]),
        people=len(found),
    )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnWays:
    """One person's paths: sums in the order of :data:`NAMES` (told last), every trip, step and stay of the draws."""

    sums: FloatArray
    lengths: Sample
    speeds: Sample
    stays: Sample

    @property
    def length_m(self) -> float:
        """Of a path, on average over the draws."""
        return float(self.sums[0])


def drawn_ways(person: Person, draws: int, source: Randomness, *, stays: bool = True) -> DrawnWays:
    """Everything about one person, read off so many paths; without ``stays`` these are not looked for."""
    found = [_track(law, trace, draws, source, stays) for law, trace in person.releases]
    sums = np.sum([one.sums for one in found], axis=0)
    sums[-1] /= max(float(sums[0]), 1e-9)  # the share told, weighted by length
    lengths, speeds, stayed = (
        (np.concatenate([one[0] for one in kind]), np.concatenate([one[1] for one in kind]))
        for kind in ([one.lengths for one in found], [one.speeds for one in found], [one.stays for one in found])
    )
    return DrawnWays(sums, lengths, speeds, stayed)


def _track(law: NoiseLaw, trace: Trace, draws: int, source: Randomness, look_for_stays: bool) -> DrawnWays:
    order, every, walk = path_by_time(trace)
    times, first = np.unique(every, return_index=True)
    path, segment = walk[first], trace.segment[order][first]
    if len(times) < 2:
        nothing = np.zeros(0), np.zeros(0)
        return DrawnWays(np.zeros(len(NAMES)), nothing, nothing, nothing)
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
    likeliest = [float(np.linalg.norm(np.diff(mean, axis=0), axis=1)[same].sum()), len(own), float(own.sum())]
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
    return DrawnWays(
        np.array(sums),
        (lengths, np.ones(len(lengths))),
        (speeds, np.tile(seconds, draws)),
        (stays, np.ones(len(stays))),
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


Row = dict[str, object]
_NUMBERS = dict.fromkeys(("lag_s", "quantile", "value", "low", "high"), pa.float64())
_COLUMNS = {"quantity": pa.string(), "unit": pa.string(), **_NUMBERS}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MovingAnswer(ShownAnswer):
    """One of the three questions with what was found; ``squares`` belong to distances."""

    question: str
    squares: Displacements | None
    ways: Ways
    of_release: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for the releases, for squares, and for what is read off paths."""
        squares = () if self.squares is None else self.squares.notes
        return (*self.of_release, *squares, self.ways.told_words(stays=self.question == "stays"))

    def to_dict(self) -> dict[str, object]:
        """Everything that was found."""
        squares = {} if self.squares is None else self.squares.to_dict()
        return {**squares, **self.ways.to_dict(), "notes": list(self.notes)}

    def to_table(self) -> pa.Table:
        """``quantity, unit, lag_s, quantile, value, low, high``: only what the question asks."""
        rows: list[Row] = []
        if self.squares is not None:
            pairs = zip(self.squares.lags_s, self.squares.squared_m2, strict=True)
            rows += [_row("squared displacement", "m2", one, lag_s=lag) for lag, one in pairs]
            rows.append(_row("squared radius of gyration", "m2", self.squares.gyration_m2))
        ways = self.ways
        found: dict[str, tuple[str, str, tuple[OverPeople, ...], dict[tuple[str, str], OverPeople]]] = {
            "distances": ("trip length", "m", ways.trip_length_quantiles_m, {("trip length", "m"): ways.trip_length_m}),
            "speeds": ("speed", "m/s", ways.speed_quantiles, {("speed", "m/s"): ways.speed_m_s}),
            "stays": (
                "stay",
                "s",
                ways.stay_quantiles_s,
                {("stays a day", "1/d"): ways.stays_per_day, ("share of the time in stays", ""): ways.stay_share},
            ),
        }
        name, unit, quantiles, means = found[self.question]
        rows += [_row(what, of, one) for (what, of), one in means.items()]
        rows += [_row(name, unit, one, quantile=q) for q, one in zip(QUANTILES, quantiles, strict=True)]
        return pa.table(
            {name: pa.array([row[name] for row in rows], kind, from_pandas=True) for name, kind in _COLUMNS.items()}
        )


class PathsAsked(TypedDict, total=False):
    """What all three questions take: confidence, whose releases they are, randomness, and a call after each person."""

    confidence: float
    each_release_a_person: bool
    rng: Random
    progress: Callable[[int, int], None] | None


def estimate_distances(
    received: Sequence[Received | Pair], *, lags_s: Sequence[float] = LAGS_S, **asked: Unpack[PathsAsked]
) -> MovingAnswer:
    """Squared displacements without bias, and lengths of trips read off paths drawn given the release."""
    every = received_all(received)
    confidence, each = asked.get("confidence", 0.9), asked.get("each_release_a_person", False)
    squares = estimate_displacements(every, lags_s=lags_s, confidence=confidence, each_release_a_person=each)
    notes = tuple(release_notes(every, trips=True))
    return MovingAnswer("distances", squares, estimate_ways(every, **asked), notes)


def estimate_speeds(received: Sequence[Received | Pair], **asked: Unpack[PathsAsked]) -> MovingAnswer:
    """How fast, from paths drawn given the release."""
    every = received_all(received)
    return MovingAnswer("speeds", None, estimate_ways(every, **asked), tuple(release_notes(every)))


def estimate_stays(received: Sequence[Received | Pair], **asked: Unpack[PathsAsked]) -> MovingAnswer:
    """How many stays and how long, from paths drawn given the release."""
    every = received_all(received)
    return MovingAnswer("stays", None, estimate_ways(every, **asked), tuple(release_notes(every)))


def _row(
    quantity: str, unit: str, found: OverPeople, *, lag_s: float | None = None, quantile: float | None = None
) -> Row:
    return {"quantity": quantity, "unit": unit, "lag_s": lag_s, "quantile": quantile, **found.to_dict()}
