"""What the papers state: one row per definition, theorem, algorithm, table, figure, remark and experiment.

The table, ``statements.toml``, is the one source: the pages of coverage and errata are written from it
(``scripts/papers_coverage.py``), every claim of ``sfumato reproduce`` names its row and prints its word, and a test
compares the pages, the claims and the tests. A row has one verdict, from these words.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from sfumato.base.errors import InputError

WORDS = {
    "holds": "holds",
    "typo": "typo",
    "gap": "gap in a proof, statement holds",
    "empty": "true and empty",
    "false": "false as printed, corrected here",
    "undecided": "cannot be decided from the text",
    "differs": "experiment differs",
    "absent": "not implemented",
}
"""Verdict -> the words that every page, every run and every test uses for it."""
ERRATA = ("typo", "gap", "empty", "false", "undecided", "differs")
"""The verdicts that say something about a paper beside "holds": each has a number, a quotation and a correction."""
OUTCOMES = {
    "holds": {"holds"},
    "typo": {"holds", "fails"},
    "gap": {"holds"},
    "empty": {"holds"},
    "false": {"fails"},
    "undecided": {"cannot be checked"},
    "differs": {"fails"},
    "absent": {"cannot be checked"},
}
"""What a claim may have been seen to do under each verdict: a statement with a gap in its proof is seen to hold."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One row: where it stands, what it says, what became of it, and what here runs and tests it.

    An erratum also has its number, the exact quotation with its place, the correction, and how much it matters.
    """

    paper: str
    item: str
    says: str
    verdict: str
    code: str = "none"
    command: str = "none"
    test: str = "none"
    erratum: str = ""
    place: str = ""
    quote: str = ""
    correction: str = ""
    number: str = ""
    because: str = ""
    part: str = ""

    @property
    def key(self) -> str:
        """What a claim names: the paper and the item."""
        return f"{self.paper}, {self.item}"

    @property
    def word(self) -> str:
        """The verdict in words, the same everywhere."""
        return WORDS[self.verdict]


@lru_cache(maxsize=1)
def statements() -> dict[str, Statement]:
    """Every row by its key, in the order of the papers."""
    text = (files("sfumato") / "papers" / "statements.toml").read_text("utf-8")
    rows = [Statement(paper=paper, **row) for paper, found in tomllib.loads(text).items() for row in found]
    return {row.key: row for row in rows}


def statement(key: str) -> Statement:
    """The row of that key, or an error that says where rows are added."""
    if key not in statements():
        raise InputError(f"No row is called '{key}'.", "Add it to sfumato/papers/statements.toml.")
    return statements()[key]
