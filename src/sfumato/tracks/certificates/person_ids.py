"""One person, one id, however it is written: noise that continues belongs to a person, and must find the same one.

An id that is written in two ways would get two noises, and two noises for one person double what is given away. So the
id that noise is derived from is canonical: Unicode NFKC (full width is no other letter), without characters that cannot
be seen, spaces around it or more than one of them between words, without regard to upper and lower case, and a number
by its value (``1``, ``1.0``, ``01`` and ``1e+0`` are one id, and ``1e+05``, ``1.0e5`` and ``100000`` another).
``1e5`` may be hexadecimal and is an id of its own, but not beside ``100000`` in one table. Two people of one table
whose ids become the same are refused (:func:`distinct_ids`): nobody guesses whether they are one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from sfumato.base.errors import InputError

_NUMBER = re.compile(r"[+-]?[0-9]+((\.[0-9]*)?([eE]\+[0-9]{1,2})?|\.[0-9]*[eE][0-9]{1,2})")
_MAYBE_HEXADECIMAL = re.compile(r"([0-9]+)e([0-9]{1,2})")


def canonical_id(person: object) -> str:
    """The one spelling of an id that keys are derived from; an empty one is refused."""
    written = str(person)
    if written.isascii() and written.isalnum() and len(written) <= 28:  # most ids, at a tenth of the cost
        return written.lower() if not written.isdigit() else written.lstrip("0") or "0"
    plain = written.isascii() and written.isprintable()  # NFKC changes none of these, and all can be seen
    text = " ".join((written if plain else _visible(written)).split())
    if not text:
        raise InputError("A person's id is empty.", "Give every person an id, or leave the ids out.")
    if _NUMBER.fullmatch(text) and len(text) <= 60:
        value = Decimal(text)
        return "0" if value == 0 else format(value.normalize(), "f")
    return text.lower() if plain else unicodedata.normalize("NFKC", text.casefold())


def _visible(written: str) -> str:
    letters = unicodedata.normalize("NFKC", written)
    return "".join(letter for letter in letters if letter.isspace() or unicodedata.category(letter) not in ("Cf", "Cc"))


def merging_id(person: object) -> str:
    """The same for all ids that :func:`distinct_ids` refuses beside each other."""
    return _as_number(canonical_id(person))


def _as_number(name: str) -> str:
    written = _MAYBE_HEXADECIMAL.fullmatch(name)
    return canonical_id(f"{written[1]}.e{written[2]}") if written else name


def distinct_ids(people: Sequence[str]) -> list[str]:
    """The canonical ids of a fleet; refused where two are one person's as far as noise can tell, and not printed."""
    seen: dict[str, int] = {}
    names = [canonical_id(person) for person in people]
    for row, name in enumerate(names, 1):
        first = seen.setdefault(_as_number(name), row)
        if first != row:
            raise InputError(
                f"People number {first} and {row} have the same id, up to upper and lower case, spaces or the way "
                "letters and numbers are written.",
                "If they are one person, write the id in one way; if not, give them ids that differ in more.",
            )
    return names
