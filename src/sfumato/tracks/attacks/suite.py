"""The suite: every chosen attacker on everybody, before and after, with what luck and the certificate would give.

People are taken one after another into digests (:mod:`~sfumato.tracks.attacks.truths`), so memory grows with people,
not with points. Attackers see a release, what is public of others, and what ``knows`` says; a seed fixes the moments
that are said to be known. Roads are learnt from other people's originals where none are given, which flatters the
attacker: it stands for a map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, evenly
from sfumato.base.errors import InputError, MissingExtra
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.attackers import ATTACKERS, MOMENTS, OTHERS, OWN, PEOPLE, REGULAR, STAYS, Attacker
from sfumato.tracks.adversary.releases.moments.kept_altitude import ELEVATION
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.adversary.releases.seen import Knowledge, Lesson, Lessons, SeenTrack
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import (
    HOME,
    IDENTITY,
    MOMENT_GOAL,
    STAYS_GOAL,
    WORK,
    Attempt,
    Finding,
    Sketch,
    Suite,
    allowed_share,
)
from sfumato.tracks.attacks.truths import AttackedPerson, ReleasedDigest, person_of
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.places.globe import surface
from sfumato.tracks.priors.kernels import Kernel

WITHIN_M, RISK = 200.0, 0.05
_TOLD, _CROWD_SEEN, _SAME_S, _NEAR_M = "--knows", "the releases of others", 300.0, 60_000.0
_CROWD_EACH, _CROWD, _SHIFTS, _MOST_WAYS, _HEIGHTS, _FEWEST = 80, 6000, 12, 400, 20_000, 3
Pairs = Iterable[tuple[str | None, Trace, Trace | ReleasedDigest | None]]


@dataclass(frozen=True, eq=False)
class SuiteAsked:
    """Which attackers, what they know, when a guess is near enough, and the certificate if there is one."""

    attackers: Sequence[str]
    knows: Knows = field(default_factory=Knows)
    within_m: float = WITHIN_M
    certificate: Mapping[str, object] | None = None
    seed: int = 0
    before: bool = True

    @cached_property
    def stated(self) -> Certificate | None:
        """What the certificate says, read once."""
        return None if self.certificate is None else Certificate.of(self.certificate)

    @cached_property
    def law(self) -> Kernel | None:
        """The law of the noise, where the certificate states one."""
        return None if self.stated is None else self.stated.mechanism.kernel()

    def loss(self, name: str) -> float | None:
        """The certificate's loss of a moment, or of a stay."""
        if not name or self.stated is None:
            return None
        found = getattr(self.stated.stated.losses, name)
        return None if found is None else float(found)


def attacker_named(name: str) -> Attacker:
    """A row, or one made of ``module:object``: a function whose ``against`` says what it attacks (moments if not)."""
    if ":" not in name:
        return ATTACKERS[name]
    made = Attacker(name, MOMENTS, "an attacker of your own", "not stated", "a release", name, learned_from=OWN)
    try:
        return replace(made, against=str(getattr(made.attack, "against", MOMENTS)))
    except (ImportError, AttributeError) as error:
        raise InputError(f"There is no attacker '{name}'.", "Write module:object, importable from here.") from error


def attack_releases(pairs: Pairs, asked: SuiteAsked, step: Callable[[], None] = lambda: None) -> Suite:
    """Everybody's original beside what was released of it (None: nothing); ``step`` after each person and attack."""
    people = []
    for name, original, release in pairs:
        people.append(person_of(name, original, release))
        step()
    return attack_people(people, asked, step)


def attack_people(
    people: Sequence[AttackedPerson], asked: SuiteAsked, step: Callable[[], None] = lambda: None
) -> Suite:
    """The same of people who are held as digests; ``step`` after each attack."""
    if not people:
        raise InputError("There is nobody here.", "Give at least one track and its release.")
    attempts: list[Attempt] = []
    for name in asked.attackers:
        attempts += _attacked(people, attacker_named(name), asked)
        step()
    gone = sum(one.after is None for one in people)
    notes = [f"Of {gone} people nothing was released; they count as not found."] if gone else []
    notes += asked.knows.notes(people)
    named = "none" if asked.stated is None else asked.stated.mechanism.name
    return Suite(len(people), tuple(_judged(attempts, asked)), named, tuple(notes), _sketch(people[_drawn(people)]))


def _drawn(people: Sequence[AttackedPerson]) -> int:
    """Who is on the map: the first with a home of whom something was released."""
    there = (k for k, one in enumerate(people) if one.after is not None)
    return next((k for k in there if people[k].home is not None), 0)


def _sketch(one: AttackedPerson) -> Sketch | None:
    if one.after is None:
        return None
    original, release = (Trace(*one.around.to_degrees(seen.slots_m), seen.slot_s) for seen in (one.before, one.after))
    found = {goal: one.place(goal) for goal in (HOME, WORK)}
    where = {goal: one.around.to_degrees(place) for goal, place in found.items() if place is not None}
    return Sketch(original, release, tuple((goal, float(lat[0]), float(lon[0])) for goal, (lat, lon) in where.items()))


def _attacked(people: Sequence[AttackedPerson], attacker: Attacker, asked: SuiteAsked) -> list[Attempt]:
    try:
        _ = attacker.attack
    except MissingExtra as error:
        return [Attempt(attacker.name, MOMENT_GOAL, asked.within_m, None, None, None, note=str(error))]
    if attacker.against == PEOPLE:
        return [_identified(people, attacker, asked)]
    if attacker.against == MOMENTS:
        return [_moments(people, attacker, asked)]
    if attacker.against == STAYS:
        return [_places(people, attacker, asked, STAYS_GOAL)]
    if attacker.against == REGULAR:
        told = asked.knows.place if _TOLD in attacker.knows else None
        return [_places(people, attacker, asked, goal) for goal in (HOME, WORK) if goal != told]
    raise InputError(f"'{attacker.name}' attacks {attacker.against}.", "It is no attacker of releases.")


@dataclass(frozen=True, slots=True, eq=False)
class _Tellings:
    """What is told about everybody, prepared once: the crowd, the roads, and two halves to learn from."""

    people: Sequence[AttackedPerson]
    asked: SuiteAsked
    after: bool
    halves: dict[int, Lessons] = field(default_factory=dict)
    crowd: list[FloatArray] = field(default_factory=list)

    def view(self, number: int) -> SeenTrack | None:
        """What attackers see of somebody."""
        return self.people[number].after if self.after else self.people[number].before

    def tell(self, number: int, seen: SeenTrack, attacker: Attacker, *, work: bool = False) -> Knowledge:
        """To the attacker of one person; what is dear to tell only to those who use it."""
        me, own = self.people[number], attacker.learned_from == OWN
        lessons = own or attacker.learned_from == OTHERS
        heights = ELEVATION in seen.kept and (own or attacker.name == "kept altitude")
        known_s, known_m = self.asked.knows.moments(me, seen)
        return Knowledge(
            law=self.asked.law if self.after else None,
            crowd_m=self._crowd(number) if own or _CROWD_SEEN in attacker.knows else None,
            ways_m=self._ways(number, range(len(self.people))) if lessons or attacker.name == "roads" else (),
            heights_m=self._heights(number) if heights else None,
            known_s=known_s,
            known_m=known_m,
            work=work,
            lessons=self._lessons(1 - number % 2) if lessons else None,
        )

    def _crowd(self, number: int) -> FloatArray | None:
        if not self.crowd:
            for k in range(len(self.people)):
                seen = self.view(k)
                points = np.empty((0, 3)) if seen is None else seen.globe_m
                self.crowd.append(points[evenly(len(points), _CROWD_EACH)])
        others = np.concatenate([*self.crowd[:number], *self.crowd[number + 1 :], np.empty((0, 3))])
        if not len(others):
            return None
        return self.people[number].around.metres_of(others[evenly(len(others), _CROWD)])

    def _ways(self, number: int, whose: Iterable[int]) -> list[FloatArray]:
        me = self.people[number]
        if self.asked.knows.roads:
            return [me.around.metres_of(way) for way in self.asked.knows.roads]
        others = [way for k in whose if k != number for way in self.people[k].ways]
        middles = np.array([way[len(way) // 2] for way in others]).reshape(-1, 3)
        near = np.flatnonzero(((middles - me.around.axes[0]) ** 2).sum(axis=1) < _NEAR_M**2)
        if not near.size:
            return []
        chosen = [others[k] for k in near[evenly(near.size, _MOST_WAYS)]]
        edges = np.cumsum([len(way) for way in chosen])[:-1]
        return np.split(me.around.metres_of(np.concatenate(chosen)), edges)

    def _heights(self, number: int) -> FloatArray:
        """How high others were: east, north and up."""
        others = [one.heights for k, one in enumerate(self.people) if k != number] or [np.empty((0, 4))]
        found = np.concatenate(others)
        found = found[np.linalg.norm(found[:, :3] - self.people[number].around.axes[0], axis=1) < _NEAR_M]
        some = found[evenly(len(found), _HEIGHTS)]
        return np.column_stack([self.people[number].around.metres_of(some[:, :3]), some[:, 3]])

    def _lessons(self, half: int) -> Lessons:
        """Every second person, told of no one else."""
        if half not in self.halves:
            whose, taught = range(half, len(self.people), 2), []
            for k in whose:
                one, seen = self.people[k], self.view(k)
                truth = one.at_after if self.after else one.before.path_m
                if seen is not None and not np.isnan(truth).all():
                    told = Knowledge(law=self.asked.law if self.after else None, ways_m=self._ways(k, whose))
                    taught.append(Lesson(seen, told, truth))
            self.halves[half] = Lessons(tuple(taught))
        return self.halves[half]


def guesses(
    people: Sequence[AttackedPerson], attacker: Attacker, asked: SuiteAsked, *, after: bool, work: bool = False
) -> list[FloatArray | None]:
    """Everybody's guess; None where nothing was released, or the attacker has nothing to go by."""
    tellings = _Tellings(people, asked, after)
    out: list[FloatArray | None] = []
    for number, one in enumerate(people):
        seen = one.after if after else one.before
        if seen is None:
            out.append(None)
            continue
        told = tellings.tell(number, seen, attacker, work=work)
        out.append(cast("FloatArray | None", attacker.attack(seen, told)))
    return out


def _moments(people: Sequence[AttackedPerson], attacker: Attacker, asked: SuiteAsked) -> Attempt:
    within, luck = asked.within_m, list[float]()
    reached: list[Finding | None] = []
    for after in (False, True) if asked.before else (True,):
        shares, errors, lucky = [], [], []
        rows = _tried(people, guesses(people, attacker, asked, after=after), asked, after=after)
        rows = rows if ":" in attacker.name else better_of_two(rows, within)  # one's own is told as it is
        for _, _, guess, truth, known in rows:
            off = np.hypot(*(guess[known] - truth[known]).T)
            shares.append(float((off <= within).mean()))
            errors.append(float(np.sqrt(np.mean(off**2) / 2)))
            lucky.append(_by_other_moments(guess[known], truth[known], within))
        reached.append(Finding.of(shares, errors) if shares else None)
        luck = lucky
    blind = float(np.mean(luck)) if luck else None
    note = "" if reached[-1] is not None else "nothing to go by"
    return Attempt(
        attacker.name, MOMENT_GOAL, within, reached[0] if asked.before else None, reached[-1], blind, note=note
    )


Tried = tuple[int, FloatArray, FloatArray, FloatArray, BoolArray]  # whose; released, guessed, true; what counts


def _tried(
    people: Sequence[AttackedPerson], found: Sequence[FloatArray | None], asked: SuiteAsked, *, after: bool
) -> list[Tried]:
    """Of everybody of whom something was guessed and is known."""
    rows = []
    for number, (one, guess) in enumerate(zip(people, found, strict=True)):
        seen, truth = one.after if after else one.before, one.at_after if after else one.before.path_m
        if guess is not None and seen is not None:
            known = ~np.isnan(truth[:, 0]) & ~_told(one, seen, asked)
            rows += [(number, seen.path_m, guess, truth, known)] if known.any() else []
    return rows


def better_of_two(rows: Sequence[Tried], within_m: float) -> list[Tried]:
    """A release is taken at its word where that found more of others: of every second person, not the one attacked."""
    gains: tuple[list[float], list[float]] = [], []
    for number, word, guess, truth, known in rows:
        found = [_near(path[known], truth[known], within_m).mean() for path in (word, guess)]
        gains[number % 2].append(float(found[0] - found[1]))
    words = [len(half) >= _FEWEST and np.mean(half) > 0 for half in gains]
    return [(row[0], row[1], row[1] if words[1 - row[0] % 2] else row[2], *row[3:]) for row in rows]


def _near(guess: FloatArray, truth: FloatArray, within_m: float) -> BoolArray:
    return np.asarray(np.hypot(*(guess - truth).T) <= within_m)


def _told(one: AttackedPerson, seen: SeenTrack | None, asked: SuiteAsked) -> BoolArray:
    """Which moments are said to be known, whoever attacks: finding these is no find."""
    seen = seen or one.before
    told, _ = asked.knows.moments(one, seen)
    if told is None:
        return np.zeros(len(seen.times_s), dtype=bool)
    at = np.clip(np.searchsorted(told, seen.times_s), 1, len(told) - 1) if len(told) > 1 else np.zeros(1, dtype=int)
    return np.asarray(np.minimum(abs(seen.times_s - told[at - 1]), abs(seen.times_s - told[at])) <= _SAME_S)


def _by_other_moments(guess: FloatArray, truth: FloatArray, within_m: float) -> float:
    """How often the guess of another moment is as near: turned round by a twelfth to eleven twelfths of the track."""
    lags = [round(len(guess) * k / _SHIFTS) for k in range(1, _SHIFTS)]
    return float(np.mean([np.hypot(*(np.roll(guess, lag, axis=0) - truth).T) <= within_m for lag in lags]))


def _places(people: Sequence[AttackedPerson], attacker: Attacker, asked: SuiteAsked, goal: str) -> Attempt:
    within, blind = asked.within_m, None
    reached: list[Finding | None] = []
    for after in (False, True) if asked.before else (True,):
        found = guesses(people, attacker, asked, after=after, work=goal == WORK)
        truths = [one.place(goal) for one in people]
        chosen = [(a, b, c) for a, b, c in zip(people, found, truths, strict=True) if c is not None]
        if not any(guess is not None for _, guess, _ in chosen):
            reached.append(None)
            continue
        hits = [_hit(guess, truth, within) for _, guess, truth in chosen]
        errors = [float(_away(guess, truth).min()) for _, guess, truth in chosen if guess is not None]
        reached.append(Finding.of(hits, errors))
        blind = _by_others(chosen, within)
    note, shown = "" if reached[-1] is not None else "nothing to go by", _drawn(people)
    first = None if found[shown] is None else people[shown].around.to_degrees(np.asarray(found[shown])[:1])
    at = None if first is None else (float(first[0][0]), float(first[1][0]))
    before = reached[0] if asked.before else None
    return Attempt(attacker.name, goal, within, before, reached[-1], blind, note=note, at_deg=at)


def _away(guess: FloatArray, truth: FloatArray) -> FloatArray:
    """From every true place to the nearest guess."""
    return np.asarray(np.hypot(*(guess[:, None] - truth[None]).transpose(2, 0, 1)).min(axis=0))


def _hit(guess: FloatArray | None, truth: FloatArray, within_m: float) -> float:
    return 0.0 if guess is None else float((_away(guess, truth) <= within_m).mean())


def _by_others(chosen: Sequence[tuple[AttackedPerson, FloatArray | None, FloatArray]], within_m: float) -> float:
    """The same guesses about somebody else; of one person, places spread evenly over where the release is."""
    if len(chosen) == 1:
        one, guess, _ = chosen[0]
        seen = one.after or one.before
        spread = np.ptp(seen.slots_m, axis=0).clip(2 * within_m)
        count = 0 if guess is None else len(guess)
        return float(min(count * math.pi * within_m**2 / spread.prod(), 1.0))
    made = [(j, one.around, guess) for j, (one, guess, _) in enumerate(chosen) if guess is not None]
    guessed = [(j, surface(*around.to_degrees(guess))) for j, around, guess in made]
    points, whose = np.concatenate([part for _, part in guessed]), np.array([j for j, _ in guessed])
    starts = np.cumsum([0, *(len(part) for _, part in guessed[:-1])])
    hits = 0.0
    for i, (one, _, truth) in enumerate(chosen):
        away = np.hypot(*(one.around.metres_of(points)[:, None] - truth[None]).transpose(2, 0, 1))
        near = (np.minimum.reduceat(away, starts) <= within_m).mean(axis=1)
        hits += float(near[whose != i].sum())
    return (hits + 0.5) / (len(chosen) * (len(chosen) - 1) + 1)  # luck that was not seen in so many pairs is not 0


def _identified(people: Sequence[AttackedPerson], attacker: Attacker, asked: SuiteAsked) -> Attempt:
    if len(people) < 2:
        return Attempt(attacker.name, IDENTITY, None, None, None, None, note="one person cannot be mixed up")
    rng = np.random.default_rng(asked.seed)
    targets = [KnownPerson.of(one.before, rng) for one in people]
    reached = []
    for after in (False, True) if asked.before else (True,):
        shown = [(k, one.after if after else one.before) for k, one in enumerate(people)]
        released = [(k, seen) for k, seen in shown if seen is not None]
        noise_m = _noise_m(asked, [seen for _, seen in released]) if after else 10.0
        hits = []
        for number, known in enumerate(targets):
            scores = np.asarray(attacker.attack(known, [seen for _, seen in released], noise_m))
            best = np.flatnonzero(scores == scores.max()) if len(scores) else np.empty(0, int)
            hits.append(float(np.mean([released[k][0] == number for k in best])) if len(best) else 0.0)
        reached.append(Finding.of(hits))
    before = reached[0] if asked.before else None
    return Attempt(attacker.name, IDENTITY, None, before, reached[-1], 1.0 / len(people))


def _noise_m(asked: SuiteAsked, seen: Sequence[SeenTrack]) -> float:
    if asked.law is not None:
        return math.sqrt(asked.law.variance_m2)
    return float(np.median([one.apparent_noise_m for one in seen[:20]])) if seen else 10.0


def _judged(attempts: Sequence[Attempt], asked: SuiteAsked) -> list[Attempt]:
    """With what the certificate allows; better than luck, and more than allowed, for all attackers tried together."""
    risk, out = RISK / max(len(attempts), 1), []
    for one in attempts:
        loss, luck = _loss(one, asked), one.by_luck
        if one.after is None or luck is None:
            out.append(one)
            continue
        allowed = None if one.within_m is None else allowed_share(luck, loss, one.within_m)
        beats = allowed is not None and one.after.people > 1 and one.after.more_than(allowed, risk)
        out.append(replace(one, allowed=allowed, beats=beats, finds=one.after.more_than(luck, risk)))
    return out


def _loss(one: Attempt, asked: SuiteAsked) -> float | None:
    return asked.loss(attacker_named(one.attacker).bounded_by)
