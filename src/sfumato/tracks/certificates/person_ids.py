"""One person, one id, however it is written: noise that continues belongs to a person, and must find the same one.

An id that is written in two ways would get two noises, and two noises for one person double what is given away. So the
id that noise is derived from is canonical: Unicode NFKC (full width is no other letter), lower case, without invisible
characters, without spaces around it and with single ones between words. A number is its value: ``1``, ``1.0``, ``01``
and ``1e+0`` are one id; ``1e+05``, ``1.0e5`` and ``100000`` another.
``1e5`` may be hexadecimal and is an id of its own, but not beside ``100000`` in one table. Two people of one table
whose ids become the same are refused (:func:`distinct_ids`): nobody guesses whether they are one.

A name, an e-mail address or a number plate in a release says whose it is, whatever the noise. So released ids are new
ones (:func:`new_ids`), a keyed hash of the canonical id: the same person gets the same one from the same state or job,
and a private list beside the release (:func:`list_beside`) leads back. Where ids are kept, the certificate names them.
"""

from __future__ import annotations

import base64
import csv
import hmac
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

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


@dataclass(frozen=True, slots=True)
class StatedIds:
    """What the ids of a release are: their column, whether they are those given, and whether they name trips only."""

    column: str
    kept: bool
    trips: bool = False

    @classmethod
    def of(cls, said: object) -> StatedIds | None:
        """As a certificate says; None where it says nothing."""
        if not isinstance(said, dict):
            return None
        return cls(str(said["column"]), said["released"] == "kept", said["of"] == "trips")

    def to_dict(self) -> dict[str, str]:
        """As a certificate says it."""
        words = {"released": "kept" if self.kept else "random", "of": "trips" if self.trips else "people"}
        return {"column": self.column, **words, "meaning": self.sentence()}

    def sentence(self) -> str:
        """For whoever reads the certificate."""
        said = (
            f"The ids in '{self.column}' are those that were given: whoever knows whose they are knows whose tracks "
            "these are."
            if self.kept
            else f"The ids in '{self.column}' are new, a keyed hash of those given; only who made the release can lead "
            "them back."
        )
        trips = (
            " They name trips, because nobody said whose each trip is: the promise holds for each trip by itself, and "
            "several trips of one person are several looks at what they have in common."
        )
        return said + (trips if self.trips else "")


_CONTACT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+|(\+|00)[0-9][0-9 ()./-]{6,}[0-9]|0[0-9]{2,5}[ /-][0-9 -]{5,}[0-9]")
_NEW = re.compile(r"[a-z2-7]{16}|[0-9]{1,19}")


def refuse_contacts(people: Sequence[str | None]) -> None:
    """Refuse ids that are e-mail addresses or telephone numbers, unless their owner said to keep them."""
    if any(person is not None and _CONTACT.fullmatch(person.strip()) for person in people):
        raise InputError(
            "The ids are e-mail addresses or telephone numbers.",
            "Say ids='random' for new ones, or ids='keep' if everybody who gets the release may know them.",
        )


def new_ids(key: bytes, names: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """New ids for canonical ones: sixteen letters and digits, or a number where the column holds 64-bit numbers."""
    digests = [hmac.digest(key, (name or "").encode(), "sha256") for name in names]
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_int64(kind) or pa.types.is_uint64(kind):
        return pa.array([int.from_bytes(digest[:8], "big") >> 1 for digest in digests], kind)
    texts = [base64.b32encode(digest[:10]).decode().lower() for digest in digests]
    return pa.array(texts, kind if pa.types.is_string(kind) or pa.types.is_large_string(kind) else pa.string())


def given_among(ids: Sequence[str | None]) -> str | None:
    """Why ids cannot be new ones, in words without an id; None where they can."""
    given = sum(person is not None and not _NEW.fullmatch(person) for person in ids)
    return f"{given} of {len(ids)} ids are not new ones, as the certificate says they are." if given else None


def list_beside(release: Path) -> Path:
    """The private list that leads new ids back, beside a release."""
    return release.with_name(f"{release.name}.ids.csv")


def list_text(pairs: Sequence[tuple[str, str]]) -> str:
    """The private list: ids as given and as released."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("given", "released"), *sorted(pairs)])
    return out.getvalue()


T = TypeVar("T")


def renamed_people(people: Sequence[tuple[str | None, T]], release: Path, *, given: bool) -> list[tuple[str | None, T]]:
    """People under the ids they were ``given``, or as released, where the private list lies beside the release."""
    path = list_beside(release)
    if not path.is_file():
        return list(people)
    with path.open(encoding="utf-8", newline="") as lines:
        names = {row[given]: row[not given] for row in csv.reader(lines) if len(row) == 2}
    return [(None if person is None else names.get(person, person), track) for person, track in people]
