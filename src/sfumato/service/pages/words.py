"""What participants read, in four languages: one file each in ``words/``, with the same keys and placeholders.

The bundle reads the same files, so that the server's page and the live one say the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from sfumato.units import format_length

LANGUAGES = ("en", "fr", "de", "es")
_MARKS = {"en": ",.", "fr": "\u202f,", "de": ".,", "es": "\u202f,"}
"""Between thousands, and before the decimals."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """One language."""

    language: str
    texts: dict[str, str]

    def say(self, key: str, **values: str | int) -> str:
        """A text with its placeholders filled in."""
        return self.texts[key].format(**values)

    def number(self, value: float, digits: int = 3) -> str:
        """A number as it is written in this language."""
        written = f"{value:,.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"
        return written.translate(str.maketrans(",.", _MARKS[self.language]))

    def length(self, metres: float) -> str:
        """A length as it is written in this language."""
        return format_length(metres).translate(str.maketrans(",.", _MARKS[self.language]))

    def duration(self, seconds: float) -> str:
        """A time in words, never one of a unit: 24 hours, not 1 days."""
        for name, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
            if seconds >= 2 * size:
                return self.say(name, count=self.number(seconds / size))
        return self.say("seconds", count=self.number(seconds))


@lru_cache(maxsize=len(LANGUAGES))
def words(language: str) -> Words:
    """The texts of one of :data:`LANGUAGES`."""
    place = files("sfumato.service.pages") / "words" / f"{language}.json"
    return Words(language, json.loads(place.read_text(encoding="utf-8")))


def chosen_language(asked: str | None, campaign: str, accepted: str) -> str:
    """The reader's switch before the campaign's language, that before the browser's (Accept-Language), else English."""
    for one in (asked, campaign):
        if one in LANGUAGES:
            return one
    weighed = []
    for position, part in enumerate(accepted[:1000].split(",")):
        tag, _, rest = part.strip().partition(";")
        try:
            weight = float(rest.strip().removeprefix("q=") or 1.0)
        except ValueError:
            weight = 0.0
        weighed.append((-weight, position, tag.split("-")[0].lower()))
    return next((tag for weight, _, tag in sorted(weighed) if tag in LANGUAGES and weight < 0), "en")
