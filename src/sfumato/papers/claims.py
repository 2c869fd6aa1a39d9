"""A claim, whose it is, and what became of it when it was run: the paper's sentences and ours, never mixed.

A paper's claim names its row of :mod:`sfumato.papers.statements` and prints that row's word, the same as on the pages:
*typo*, *true and empty*, *experiment differs*. What was seen (``seen``: held, failed, not to be checked) is *recorded*
beside it, and a test holds it there. What makes a reproduction exit with 1 is something seen that differs from the
record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

from sfumato.base.errors import InputError
from sfumato.papers.statements import statement

Seen = Literal["holds", "fails", "cannot be checked"]
Number = float | int | str | None | tuple[float, ...]
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence that can be true or false.

    ``whose`` is ``"ours"`` or a row of the papers' statements, for example ``"Meehan2021, Fig. 2a"``.
    """

    words: str
    whose: str
    seen: Seen
    recorded: Seen = "holds"
    expected: Number = None
    measured: Number = None
    tolerance: float | None = None
    because: str = ""

    @property
    def as_expected(self) -> bool:
        """Whether this run saw what the repository recorded."""
        return self.seen == self.recorded

    @property
    def verdict(self) -> str:
        """The word of the row for a paper's claim seen as recorded; otherwise what was seen."""
        if not self.of_paper or not self.as_expected:
            return self.seen
        row = statement(self.whose)
        return (
            self.seen if self.seen == "cannot be checked" and row.verdict not in ("undecided", "absent") else row.word
        )

    @property
    def of_paper(self) -> bool:
        """Whether a paper made it."""
        return self.whose != OURS

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; numbers that are not finite are null."""
        return {
            "whose": "paper" if self.of_paper else OURS,
            "place": self.whose if self.of_paper else None,
            "words": self.words,
            "verdict": self.verdict,
            "seen": self.seen,
            "recorded": self.recorded,
            "as_expected": self.as_expected,
            "expected": _plain(self.expected),
            "measured": _plain(self.measured),
            "tolerance": self.tolerance,
            "because": self.because,
        }

    def line(self) -> str:
        """As one line of text: the row's word first, a surprise as a surprise."""
        whose = f"[{self.whose}]" if self.of_paper else "[ours]"
        numbers = ""
        if self.measured is not None:
            numbers = f": {_shown(self.measured)}"
            if self.expected is not None:
                numbers += f", expected {_shown(self.expected)}"
            if self.tolerance is not None:
                numbers += f" (within {self.tolerance:g})"
        why = f" ({self.because})" if self.because else ""
        surprise = "" if self.as_expected else f"  !! recorded as '{self.recorded}'"
        return f"{self.verdict:<17s} {whose} {self.words}{numbers}{why}{surprise}"


class Remarks(TypedDict, total=False):
    """What is said of a claim beside its numbers: whose it is, what is recorded of it, and why."""

    whose: str
    recorded: Seen
    because: str


def check(
    words: str,
    held: bool,
    *,
    expected: Number = None,
    measured: Number = None,
    tolerance: float | None = None,
    **said: Unpack[Remarks],
) -> Claim:
    """A claim whose truth was just computed; what is recorded follows from the row's verdict unless said."""
    whose, because = said.get("whose", OURS), said.get("because", "")
    likely: Seen = "fails" if whose != OURS and statement(whose).verdict in ("false", "differs") else "holds"
    recorded = said.get("recorded", likely)
    return Claim(words, whose, "holds" if held else "fails", recorded, expected, measured, tolerance, because)


def near(
    words: str,
    measured: float,
    expected: float,
    *,
    tolerance: float,
    relative: bool = True,
    **said: Unpack[Remarks],
) -> Claim:
    """A number against the number claimed, within a tolerance (relative unless said otherwise)."""
    if not tolerance > 0:
        raise InputError(f"The tolerance is {tolerance:g}.", "It must be greater than 0.")
    off = abs(measured - expected) / (abs(expected) if relative and expected else 1.0)
    held = math.isfinite(measured) and off <= tolerance
    return check(words, held, expected=expected, measured=measured, tolerance=tolerance, **said)


def cannot_check(words: str, *, whose: str, because: str, recorded: Seen = "cannot be checked") -> Claim:
    """A claim that nothing here can decide: what is missing is said."""
    return Claim(words, whose, "cannot be checked", recorded, because=because)


def as_expected(claims: Iterable[Claim]) -> bool:
    """Whether every verdict is the recorded one."""
    return all(claim.as_expected for claim in claims)


def surprises(claims: Sequence[Claim]) -> list[Claim]:
    """The claims whose verdict differs from the recorded one."""
    return [claim for claim in claims if not claim.as_expected]


def count_verdicts(claims: Sequence[Claim]) -> str:
    """How many of each verdict, papers' and ours apart, in one line."""
    parts = []
    for name, of_paper in (("papers", True), ("ours", False)):
        counted = Counter(claim.verdict for claim in claims if claim.of_paper == of_paper)
        parts.append(f"{name}: {', '.join(f'{count} {word}' for word, count in counted.most_common()) or 'none'}")
    return "; ".join(parts)


def _plain(value: Number) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _shown(value: Number) -> str:
    if isinstance(value, tuple):
        return " / ".join(_shown(part) for part in value)
    return f"{value:.5g}" if isinstance(value, float) else str(value)
