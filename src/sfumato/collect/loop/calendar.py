"""Classes of cycles that a campaign declares: weekday and weekend, parts of the day, or both, in its own time zone.

People are elsewhere at night and on Sundays, again and again. Cycles of one class share their reports
(:mod:`sfumato.collect.estimation.smooth_map`), and a weekend is judged beside weekends. A class belongs to the clock of
the place, not to the reports: it is declared before anybody reports and cannot be chosen to suit the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sfumato.base.errors import InputError

CycleClasses = Literal["none", "weekday-weekend", "parts-of-day", "weekday-weekend-parts-of-day"]
CYCLE_CLASSES: tuple[CycleClasses, ...] = ("none", "weekday-weekend", "parts-of-day", "weekday-weekend-parts-of-day")
_PARTS = ("night", "morning", "afternoon", "evening")
_LOOKS = 48
_MOST = 2 / 3
"""The part of a cycle that must lie in one class; what lies in several is shown by itself."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which class a cycle belongs to, from when it was open."""

    classes: CycleClasses = "none"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        if self.classes not in CYCLE_CLASSES:
            raise InputError(f"There are no classes '{self.classes}'.", f"They are {', '.join(CYCLE_CLASSES)}.")
        _zone(self.time_zone)

    @property
    def longest_cycle_s(self) -> float | None:
        """Cycles longer than this never lie in one class; None without classes."""
        if self.classes == "none":
            return None
        return DAY_S if self.classes == "weekday-weekend" else DAY_S / len(_PARTS)

    def check_cycle(self, duration_s: float | None) -> None:
        """Refuse cycles that cannot lie in one class: too long, or as long as reports take to come."""
        longest = self.longest_cycle_s
        if longest is not None and (duration_s is None or duration_s > longest):
            lasts = "until enough reports came" if duration_s is None else f"{duration_s / 3600:g} h"
            raise InputError(
                f"Cycles that last {lasts} have no class of '{self.classes}'.",
                f"Let cycles last {longest / 3600:g} h or less, or declare no classes.",
            )

    def class_at(self, time_s: float) -> str:
        """The class of one moment."""
        local = datetime.fromtimestamp(time_s, _zone(self.time_zone))
        day = "weekend" if local.weekday() >= 5 else "weekday"
        part = _PARTS[local.hour * len(_PARTS) // 24]
        return {"none": "", "weekday-weekend": day, "parts-of-day": part}.get(self.classes, f"{day} {part}")

    def class_of(self, begin_s: float, end_s: float) -> str:
        """The class that two thirds of the cycle lie in, or "mixed"."""
        length = max(0.0, end_s - begin_s)
        looks = Counter(self.class_at(begin_s + length * (look + 0.5) / _LOOKS) for look in range(_LOOKS))
        name, most = looks.most_common(1)[0]
        return name if most >= _MOST * _LOOKS else "mixed"

    def classes_of(self, spans: Sequence[tuple[float, float]]) -> tuple[str, ...] | None:
        """The class of every cycle (begin, end), a mixed one its own; None where no classes are declared."""
        if self.classes == "none":
            return None
        named = [self.class_of(begin, end) for begin, end in spans]
        return tuple(f"mixed {place + 1}" if name == "mixed" else name for place, name in enumerate(named))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"There is no time zone '{name[:64]}'.", "Use a name of the IANA database, for example Europe/Paris."
        ) from error
