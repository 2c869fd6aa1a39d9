"""What this program says in English, said again in the operator's language: refusals, plans, alarms, e-mails.

English sentences are written where they are meant, with what they are about; ``sentences.json`` has them with their
holes and what they are in the other languages. A sentence that is not there stays English: nothing is lost.

* ``{hole}`` stands for anything; a number in it is written as the language writes numbers.
* ``{HOLE}`` stands for words of ours, one or a list of them, which are translated in their turn.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files

LANGUAGES = ("en", "fr", "de", "es")
_MARKS = {"en": ",.", "fr": "\u202f,", "de": ".,", "es": "\u202f,"}
"""Between thousands, and before the decimals."""
_BETWEEN = re.compile(r"(?<=[.!?]) (?=[A-Z'0-9(])")
_NUMBERS = re.compile(r"[0-9.,:% kmse×-]+")
_HOLE = re.compile(r"\{(\w+)\}")


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


def number_in(english: str, language: str) -> str:
    """A number as it is written in a language, from how it is in English."""
    return english.translate(str.maketrans(",.", _MARKS[language]))


def in_language(english: str, language: str) -> str:
    """What was said in English, in another language, sentence by sentence; what is not known stays as it is."""
    if language == "en" or not english:
        return english
    parts = _BETWEEN.split(english)
    said = [_sentence(part, language) for part in parts]
    whole = _sentence(english, language) if None in said else None
    return whole or " ".join(part if one is None else one for part, one in zip(parts, said, strict=True))


def _sentence(english: str, language: str) -> str | None:
    for pattern, names, said in _table():
        found = pattern.fullmatch(english)
        if found is not None:
            values = zip(names, found.groups(), strict=True)
            return said[language].format(**{name: _hole(name, value, language) for name, value in values})
    return None


def _hole(name: str, value: str, language: str) -> str:
    if _NUMBERS.fullmatch(value):
        return number_in(value, language)
    return ", ".join(in_language(part, language) for part in value.split(", ")) if name.isupper() else value


@lru_cache(maxsize=1)
def _table() -> tuple[tuple[re.Pattern[str], tuple[str, ...], dict[str, str]], ...]:
    """Each sentence as a pattern, the names of its holes, and what it is in the other languages; longest first."""
    rows: dict[str, dict[str, str]] = json.loads(
        (files("sfumato.collect.service") / "sentences.json").read_text(encoding="utf-8")
    )
    return tuple(
        (
            re.compile("(.+?)".join(re.escape(part) for part in _HOLE.split(english)[::2]), re.DOTALL),
            tuple(_HOLE.findall(english)),
            said,
        )
        for english, said in sorted(rows.items(), key=lambda row: -len(row[0]))
    )
