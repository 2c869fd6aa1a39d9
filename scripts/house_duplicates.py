"""Where the house says the same thing twice: pairs of files that share six or more lines in a row.

What is counted. Blank lines, comments, docstrings, imports, ``@dataclass(...)`` and lines of punctuation alone are
passed over, white space is folded. Two lines are alike when they have the same *shape*: the same keywords and signs,
whatever the names, strings and numbers are (``rate = f(x, 2)`` and ``mu = g(y, 10)``). Six lines in a row that are
alike in two places make these two a duplicate when

- the six hold 24 words and signs or more beside the fields of records (a list of names or the fields of two records
  are alike and are no duplicate), or are the same to the letter, and
- stand in 8 places at most (what stands in more is a form of the language or of a library).

A *pair* is two files that share one or more such runs, or one file that holds both sides: it counts once, and is shown
with its longest run. Two places of one file do not overlap. At caa3b26 this finds 126 pairs in 76,121 lines, 1.66
per 1,000 lines; with the fields of records it was 192 pairs, 2.5 per 1,000 lines, of which the house was to come to
1.4, so here to 0.92; counting what is the same to the letter alone it would be 28 pairs, 0.4.

    python scripts/house_duplicates.py SOURCE [--under FOLDER]      every pair, longest first
"""

from __future__ import annotations

import ast
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

RUN, TELLING, COMMON = 6, 24, 8
_WORDS = frozenset(keyword.kwlist) - {"True", "False", "None"}
_TOKEN = re.compile(
    r"""(?P<text>\w{0,2}"(?:[^"\\]|\\.)*"|\w{0,2}'(?:[^'\\]|\\.)*')|(?P<word>[^\W\d]\w*)|(?P<number>\d[\w.]*)"""
    r"|(?P<comment>\#.*)|(?P<sign>\S)"
)
_SHOWN_AS = {"text": "'", "number": "0", "word": "a", "comment": ""}


@dataclass(frozen=True)
class Line:
    """One line that counts: where it stands, its words, its shape, and whether it declares a field of a record."""

    number: int
    text: str
    shape: str
    field: bool = False


@dataclass(frozen=True)
class Shared:
    """Two places that share a run of lines: files, first and last line of each, lines shared, alike to the letter."""

    first: str
    first_lines: tuple[int, int]
    second: str
    second_lines: tuple[int, int]
    length: int
    identical: bool
    more: int = 0

    def __str__(self) -> str:
        places = " ~ ".join(
            f"{file}:{a}-{b}" for file, (a, b) in ((self.first, self.first_lines), (self.second, self.second_lines))
        )
        told = "to the letter" if self.identical else "same shape"
        return f"{self.length:3d} lines  {places}  {told}{f', and {self.more} more' if self.more else ''}"


@cache
def shape(text: str) -> str:
    """A line with every name as ``a``, every string as ``'`` and every number as ``0``.

    >>> shape("rate = f(x, 2)  # why")
    'a = a ( a , 0 )'
    """
    found = ((match.lastgroup or "", match.group()) for match in _TOKEN.finditer(text))
    shown = (word if kind == "sign" or word in _WORDS else _SHOWN_AS[kind] for kind, word in found)
    return " ".join(word for word in shown if word)


def counted_lines(text: str) -> list[Line]:
    """The lines of a file that count."""
    passed: set[int] = set()
    fields: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            declared = (each for each in node.body if isinstance(each, ast.AnnAssign))
            fields.update(line for each in declared for line in range(each.lineno, (each.end_lineno or 0) + 1))
        prose = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if prose or isinstance(node, ast.Import | ast.ImportFrom):
            passed.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    folded = ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), start=1))
    return [
        Line(number, line, shape(line), number in fields)
        for number, line in folded
        if number not in passed and not line.startswith(("#", "@dataclass")) and re.search(r"\w", line)
    ]


def duplicates(texts: Mapping[str, str]) -> list[Shared]:
    """Every pair of files (or file that repeats itself) with its longest shared run, longest first."""
    files = {file: counted_lines(text) for file, text in texts.items()}
    meetings: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for by_letter in (False, True):
        for (a, i), (b, j) in _meetings(files, by_letter=by_letter):
            meetings[a, b].add((i, j))
    found = (_longest(a, files[a], b, files[b], starts) for (a, b), starts in meetings.items())
    return sorted(found, key=lambda pair: (-pair.length, not pair.identical, pair.first, pair.second))


def _meetings(files: Mapping[str, Sequence[Line]], *, by_letter: bool) -> Iterator[tuple[tuple[str, int], ...]]:
    """Pairs of places at which six lines in a row are alike."""
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for file, lines in files.items():
        said = [line.text if by_letter else line.shape for line in lines]
        for start in range(len(said) - RUN + 1):
            places[tuple(said[start : start + RUN])].append((file, start))
    for here in places.values():
        if 1 < len(here) <= COMMON:
            told = [(file, start) for file, start in here if by_letter or _telling(files[file][start : start + RUN])]
            yield from (pair for pair in combinations(told, 2) if _apart(*pair))


def _telling(lines: Sequence[Line]) -> bool:
    return sum(line.shape.count(" ") + 1 for line in lines if not line.field) >= TELLING


def _apart(one: tuple[str, int], other: tuple[str, int]) -> bool:
    return one[0] != other[0] or abs(one[1] - other[1]) >= RUN


def _longest(a: str, lines: Sequence[Line], b: str, others: Sequence[Line], starts: set[tuple[int, int]]) -> Shared:
    runs = []
    for i, j in sorted(starts):
        if (i - 1, j - 1) in starts:
            continue
        length = RUN
        while (i + length - RUN + 1, j + length - RUN + 1) in starts:
            length += 1
        pairs = list(zip(lines[i : i + length], others[j : j + length], strict=True))
        identical = all(one.text == other.text for one, other in pairs)
        (first, second), (last, final) = pairs[0], pairs[-1]
        runs.append((length, identical, (first.number, last.number), (second.number, final.number)))
    length, identical, here, there = max(runs)
    return Shared(a, here, b, there, length, identical, len(runs) - 1)


def main(arguments: Sequence[str]) -> int:
    """Print the pairs of a folder of sources; with ``--under`` those with a side in a folder of it."""
    source = Path(arguments[0])
    under = arguments[arguments.index("--under") + 1].rstrip("/") + "/" if "--under" in arguments else ""
    texts = {path.relative_to(source).as_posix(): path.read_text("utf-8") for path in sorted(source.rglob("*.py"))}
    pairs = duplicates(texts)
    for pair in pairs:
        if pair.first.startswith(under) or pair.second.startswith(under):
            print(pair)
    lines = sum(text.count("\n") for text in texts.values())
    print(f"{len(pairs)} pairs in {lines} lines: {1000 * len(pairs) / max(lines, 1):.2f} per 1,000 lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
