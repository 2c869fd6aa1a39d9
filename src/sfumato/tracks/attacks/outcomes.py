"""What each attacker reached: before, after, by luck, and as much as a certificate allows; in numbers and in words.

*By luck*: the same guesses held against somebody else (against other moments of the same track, or, where there is one
person, spread evenly over the rectangle of the release). *Allowed*: for people of the certificate's class whose loss is
at most J, 1/V ≤ J + 1/σ² per coordinate, so the best guess lies within w with probability at most
1 − exp(−w²(J + 1/σ²)/2); what luck reaches, 1 − exp(−w²/2σ²), stands for the prior: 1 − (1 − luck) exp(−J w²/2).

Intervals (95 %) are over people: Wilson's for yes and no, normal for shares of a track.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc, ndtri

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.shown import Shown, plain_fields
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length, length_m
from sfumato.tracks.adversary.attackers import ATTACKERS, SUITE

MOMENT_GOAL, HOME, WORK, STAYS_GOAL, IDENTITY = "moments", "home", "work", "stays", "identity"
GOALS = {
    MOMENT_GOAL: "where somebody was at a moment",
    HOME: "home",
    WORK: "work",
    STAYS_GOAL: "a place stayed at",
    IDENTITY: "whose release it is",
}
_Z95 = 1.96
_FAIL = re.compile(r"([a-z]+)(?:<([^:]+))?(?::([0-9.]+)%)?")


@dataclass(frozen=True, slots=True)
class Finding:
    """The share of successes over people, its interval, and the median error where a place is guessed.

    ``spread`` is the standard error of shares of tracks; None where each person is a yes or a no.
    """

    share: float
    low: float
    high: float
    people: int
    median_error_m: float | None = None
    spread: float | None = None

    @classmethod
    def of(cls, shares: Sequence[float], errors_m: Sequence[float] = ()) -> Finding:
        """Each person's share (0 or 1 where it is yes or no)."""
        values = np.asarray(shares, dtype=np.float64)
        error = float(np.median(errors_m)) if len(errors_m) else None
        low, high = interval(values, _Z95)
        spread = None if yes_or_no(values) or len(values) < 2 else float(values.std(ddof=1)) / math.sqrt(len(values))
        return cls(float(values.mean()), low, high, len(values), error, spread)

    def more_than(self, share: float, risk: float) -> bool:
        """Whether more than ``share`` was reached, which chance says with probability ``risk`` at most.

        One person is no sample: found more often than not is found.
        """
        if self.people == 1:
            return self.share > max(share, 0.5)
        if self.spread is not None:
            return self.share + float(ndtri(risk)) * self.spread > share
        hits = round(self.share * self.people)
        by_chance = float(bdtrc(hits - 1, self.people, share)) if hits > 0 and 0 < share < 1 else float(share >= 1)
        return self.share > share and by_chance < risk


def yes_or_no(values: FloatArray) -> bool:
    """Whether each person's number is 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def interval(values: FloatArray, z: float) -> tuple[float, float]:
    """Around the mean of one number per person, each between 0 and 1; everything, where there is one person."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return 0.0, 1.0
    if yes_or_no(values):
        middle, half = mean + z * z / (2 * n), z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
        return max((middle - half) / (1 + z * z / n), 0.0), min((middle + half) / (1 + z * z / n), 1.0)
    half = z * float(values.std(ddof=1)) / math.sqrt(n)
    return max(mean - half, 0.0), min(mean + half, 1.0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attacker on one goal. ``finds``: better than a blind guess, and ``beats``: more than the certificate allows.

    Both hold for all attackers tried together: chance says either of any of them in fewer than one suite in twenty.
    ``at_deg`` is where the person of the map (:class:`Sketch`) was thought to live or work.
    """

    attacker: str
    goal: str
    within_m: float | None
    before: Finding | None
    after: Finding | None
    by_luck: float | None
    allowed: float | None = None
    finds: bool = False
    beats: bool = False
    note: str = ""
    at_deg: tuple[float, float] | None = None

    def sentence(self) -> str:
        """One line in plain words."""
        what = self.goal if self.within_m is None else f"{self.goal} within {format_length(self.within_m)}"
        if self.after is None:
            return f"{self.attacker}: {what}: {self.note}."
        parts = [] if self.before is None else [f"before {_words(self.before)}"]
        parts.append(f"after {_words(self.after)}")
        if self.by_luck is not None:
            parts.append(f"a blind guess {in_100(self.by_luck)}")
        if self.allowed is not None:
            parts.append(f"the certificate allows up to {in_100(self.allowed)}")
        worse = " MORE THAN THE CERTIFICATE ALLOWS to people of its class: they move otherwise, or this is a fault of "
        worse += "sfumato; please report it." if self.beats else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.attacker}: {what}: {', '.join(parts)}{note}.{worse if self.beats else ''}"


def in_100(share: float) -> str:
    """``3 in 100``; tenths below ten."""
    hundred = 100.0 * share
    return f"{hundred:.0f} in 100" if hundred >= 9.95 or hundred == 0 else f"{hundred:.1f} in 100"


def _words(reached: Finding) -> str:
    away = "" if reached.median_error_m is None else f", typically {format_length(reached.median_error_m)} away"
    if reached.people == 1:
        share = {0.0: "no", 1.0: "yes"}.get(reached.share, in_100(reached.share))
        return f"{share}{away}"
    return f"{in_100(reached.share)} ({100 * reached.low:.0f} to {100 * reached.high:.0f}{away})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sketch:
    """One person for the map of the private page: means over ten minutes before and after, and their true places."""

    original: Trace
    release: Trace
    places: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class Suite(Shown):
    """All outcomes, and what a reader must know. Private, but for what the public page keeps."""

    people: int
    outcomes: tuple[Attempt, ...]
    certified: str
    notes: tuple[str, ...] = ()
    sketch: Sketch | None = None

    @property
    def beaten(self) -> tuple[Attempt, ...]:
        """Where more was reached than the certificate allows."""
        return tuple(one for one in self.outcomes if one.beats)

    def best(self, goal: str) -> Attempt | None:
        """The attacker who reaches most of a goal on the release."""
        there = [one for one in self.outcomes if one.goal == goal and one.after is not None]
        return max(there, key=lambda one: one.after.share if one.after else 0.0, default=None)

    def headline(self) -> str:
        """What is still found, by whom; said first."""
        found = [one for one in map(self.best, GOALS) if one is not None and one.finds]
        if not found:
            return "No attacker does better than a blind guess."
        named = "; ".join(f"{one.goal} ({one.attacker}: {_words(one.after)})" for one in found if one.after)
        return f"STILL FOUND, better than by a blind guess: {named}."

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        rows = [plain_fields(one) | {"sentence": one.sentence()} for one in self.outcomes]
        return {
            "private": True,
            "people": self.people,
            "certified": self.certified,
            "headline": self.headline(),
            "outcomes": rows,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Limit:
    """What makes a pipeline fail: ``home<200m`` (found more often than by luck), ``home<200m:5%``, ``identity:10%``."""

    goal: str
    within_m: float | None
    share: float | None

    @classmethod
    def parse(cls, text: str) -> Limit:
        """From the option."""
        match = _FAIL.fullmatch(text.replace(" ", ""))
        if match is None or match[1] not in GOALS or (match[2] is None) != (match[1] == IDENTITY):
            raise InputError(
                f"'{text}' is no limit.",
                f"Write {', '.join(f'{goal}<200m' for goal in GOALS if goal != IDENTITY)} (with :5% for a share of "
                "people), or identity:10%.",
            )
        within = None if match[2] is None else length_m(match[2])
        return cls(match[1], within, None if match[3] is None else float(match[3]) / 100.0)

    def past(self, suite: Suite) -> list[Attempt]:
        """The outcomes that are past it; an attacker with nothing to go by passes."""
        past = []
        for one in suite.outcomes:
            if one.goal != self.goal or one.after is None or one.within_m != self.within_m:
                continue
            if one.finds if self.share is None else one.after.share > self.share:
                past.append(one)
        return past


def allowed_share(luck: float, loss: float | None, within_m: float) -> float | None:
    """1 − (1 − luck) exp(−J w²/2)."""
    return None if loss is None else 1.0 - (1.0 - luck) * math.exp(-0.5 * loss * within_m**2)


def attackers_named(names: str) -> list[str]:
    """``all``, or names separated by commas."""
    suite = [name for name, row in ATTACKERS.items() if row.against in SUITE]
    if names == "all":
        return suite
    asked = [part.strip() for part in names.split(",") if part.strip()]
    for name in asked:
        if name not in suite and ":" not in name:
            raise InputError(f"There is no attacker '{name}'.", f"Choose all, module:object, {', '.join(suite)}.")
    return asked
