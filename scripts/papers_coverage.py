"""Every definition, theorem, algorithm, table and figure of the five papers, one row each: writes docs/coverage.md.

python scripts/papers_coverage.py            write the page
python scripts/papers_coverage.py --check    exit 1 where the page is not up to date
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
TABLE = Path(__file__).with_suffix(".txt")
WORKS = "works"


@dataclass(frozen=True)
class Row:
    """One statement: where it stands, what it says, what runs it, what tests it, and what became of it."""

    item: str
    says: str
    function: str
    command: str
    test: str
    verdict: str


def papers() -> dict[str, list[Row]]:
    """The rows of each paper, from the table beside this file."""
    found: dict[str, list[Row]] = {}
    title = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("## "):
            title = line[3:]
            found[title] = []
        elif line:
            found[title].append(Row(*(cell.strip() for cell in line.split("|"))))
    return found


def page() -> str:
    """The whole page."""
    everything = [row for rows in papers().values() for row in rows]
    counts = {
        "work": sum(row.verdict == WORKS for row in everything),
        "fail as printed": sum(row.verdict.startswith("fails") for row in everything),
        "are not implemented": sum(row.verdict.startswith("not") for row in everything),
    }
    said = ", ".join(f"{count} {words}" for words, count in counts.items())
    parts = [
        "# What of the papers is here",
        "",
        f"Every definition, theorem, algorithm, table and figure of the five papers: {len(everything)} rows; {said}.",
        "A row that fails as printed works here in its corrected form; the number is that of [the errata](errata.md).",
        "Written by `python scripts/papers_coverage.py`; tests check that everything named exists.",
    ]
    for title, rows in papers().items():
        parts += [
            "",
            f"## {title}",
            "",
            "| | what it says | function | command | test | verdict |",
            "|---|---|---|---|---|---|",
        ]
        parts += [_line(row) for row in rows]
    return "\n".join(parts) + "\n"


def _line(row: Row) -> str:
    def code(text: str, before: str = "") -> str:
        return "none" if text == "none" else f"`{before}{text}`"

    function = row.function.replace(":", ".")
    cells = (row.item, row.says, code(function), code(row.command, "sfumato "), code(row.test), row.verdict)
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
