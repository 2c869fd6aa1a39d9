"""What people read, in four languages: one file each in ``words/``, with the same keys and placeholders.

The bundle reads the same files, so that the server's page and the live one say the same; ``operate.*`` are the words of
the operator's screens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from sfumato.accountant.device import DEFAULT_CAP_PER_KM
from sfumato.base.numbers.odds import MOST_SAID, odds_words
from sfumato.base.units import format_length
from sfumato.collect.loop.forecast import factor_words
from sfumato.collect.service.models.kept import MapOddsFacts, SharpnessFacts
from sfumato.collect.service.models.replies import CampaignView, ClosedCycleView
from sfumato.collect.service.sentences import LANGUAGES, in_language, number_in

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_DAYS = {"en": "%Y-%m-%d", "fr": "%d/%m/%Y", "de": "%d.%m.%Y", "es": "%d/%m/%Y"}


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """One language."""

    language: str
    texts: dict[str, str]

    def say(self, key: str, **values: str | int) -> str:
        """A text with its placeholders filled in."""
        return self.texts[key].format(**values)

    def in_language(self, english: str) -> str:
        """What the collector says in English, in this language, where it is known."""
        return in_language(english, self.language)

    def _written(self, english: str) -> str:
        return number_in(english, self.language)

    def number(self, value: float | None, digits: int = 3) -> str:
        """A number as it is written in this language, or a dash for nothing; powers of ten only far below 1."""
        if value is None:
            return "–"
        large = abs(float(f"{value:.{digits}g}")) >= 10**digits
        written, _, tiny = (f"{value:,.0f}" if large else f"{value:,.{digits}g}").partition("e-")
        power = f"\u00a0·\u00a010⁻{tiny.lstrip('0').translate(_RAISED)}" if tiny else ""
        return self._written(written) + power

    def count(self, value: int) -> str:
        """A whole number, all of its digits."""
        return self._written(f"{value:,}")

    def reports(self, count: int) -> str:
        """So many reports."""
        return self.say("reports_one") if count == 1 else self.say("reports_many", count=self.count(count))

    def length(self, metres: float) -> str:
        """A length as it is written in this language."""
        return self._written(format_length(metres))

    def percent(self, share: float | None) -> str:
        """A share as it is written in this language, or a dash for nothing."""
        if share is None:
            return "–"
        return self._written(f"{100 * share:.1f}\u00a0%" if share >= 0.001 else f"{100 * share:.2g}\u00a0%")

    def factor(self, exponent: float) -> str:
        """e to that power, rounded up."""
        return self._written(factor_words(exponent))

    def odds(self, value: float) -> str:
        """Odds, rounded against us."""
        return self.say("odds_million") if value > MOST_SAID else self._written(odds_words(value) or "")

    def day(self, seconds: float, zone: str) -> str:
        """A day by the clock of that zone, as it is written in this language."""
        return datetime.fromtimestamp(seconds, ZoneInfo(zone)).strftime(_DAYS[self.language])

    def moment(self, seconds: float, zone: str) -> str:
        """The same with hours and minutes."""
        return f"{self.day(seconds, zone)} {datetime.fromtimestamp(seconds, ZoneInfo(zone)):%H:%M}"

    def duration(self, seconds: float) -> str:
        """A time in words, never one of a unit: 24 hours, not 1 days."""
        for name, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
            if seconds >= 2 * size:
                return self.say(name, count=self.number(seconds / size))
        return self.say("seconds", count=self.number(seconds))


@lru_cache(maxsize=2 * len(LANGUAGES))
def words(language: str, *, operate: bool = False) -> Words:
    """The texts of one of :data:`LANGUAGES`, for whoever takes part, or for operators."""
    name = f"operate.{language}.json" if operate else f"{language}.json"
    place = files("sfumato.collect.service.pages") / "words" / name
    return Words(language, json.loads(place.read_text(encoding="utf-8")))


def headline(told: SharpnessFacts, said: Words | None = None) -> str:
    """What so many reports can tell apart, and what finer would take."""
    tongue = said or words("en")
    known = {"reports": tongue.reports(told.reports)}
    if told.width_m is not None:
        known["width"] = _about(told.width_m, tongue)
    if told.more_reports is not None and told.finer_width_m is not None:
        known["more"] = tongue.count(_two_digits(told.more_reports))
        known["finer"] = _about(told.finer_width_m, tongue)
    if told.width_m is None:
        return tongue.say("head_not_yet_more" if "more" in known else "head_not_yet", **known)
    return tongue.say("head_apart" if "more" in known else "head_finest", **known)


def odds_in_words(told: MapOddsFacts, said: Words | None = None) -> str:
    """What the map gives away about one person, against the two readers it is stated for; odds are rounded up."""
    tongue = said or words("en")
    names = ("average", "worst", "local", "together")
    known = {name: tongue.odds(getattr(told, name)) for name in names} | {"distance": tongue.length(told.distance_m)}
    keys = ["map_odds", "map_odds_local", *(["map_odds_together"] if told.together > 1.001 * told.local else [])]
    return " ".join(tongue.say(key, **known) for key in keys)


def together_in_words(campaign: CampaignView, said: Words) -> str:
    """What all reports of one device may cost together by the planned end; nothing where there is only one."""
    if campaign.once:
        return ""
    cap, cycle, lasts_s = DEFAULT_CAP_PER_KM, campaign.cycle, campaign.cycle_duration_s
    level, rounds = cap, 0
    if campaign.ends_at_s is not None and lasts_s is not None and cycle.due_at_s is not None:
        rounds = cycle.number + max(0, math.ceil((campaign.ends_at_s - cycle.due_at_s) / lasts_s))
        level = min(cap, campaign.two_beta_per_km * math.ceil(rounds / (campaign.epoch_cycles or 1)))
    known = {"level": said.number(level, 4), "factor": said.factor(level), "cap": said.number(cap)}
    return said.say("together", rounds=rounds, **known) if level < cap else said.say("together_open", **known)


def average_in_words(cycle: ClosedCycleView, said: Words) -> str:
    """The pooled map, called what it is: an average over rounds, where it is one."""
    if cycle.averaged_cycles <= 1:
        return said.say("when_round", round=cycle.cycle)
    out, first, missing = set(cycle.excluded_cycles), cycle.cycle, cycle.averaged_cycles - 1
    while missing and first > 1:
        first -= 1
        missing -= first not in out
    between = sorted(one for one in out if first < one < cycle.cycle)
    if not between:
        return said.say("when_average", first=first, last=cycle.cycle)
    return said.say("when_without", first=first, last=cycle.cycle, out=list_in_words(between, said))


def list_in_words(rounds: Sequence[int], said: Words) -> str:
    """2, 5 and 7."""
    numbers = [str(one) for one in rounds]
    if len(numbers) < 2:
        return "".join(numbers)
    return said.say("and", most=", ".join(numbers[:-1]), last=numbers[-1])


def _two_digits(count: int) -> int:
    """Rounded up: what is said to be enough is enough."""
    size = int("1".ljust(len(str(count)) - 1, "0"))
    return -(-count // size) * size


def _about(metres: float, said: Words) -> str:
    return said.length(float(f"{metres:.2g}"))
