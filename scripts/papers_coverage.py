"""What the papers state: two pages made from one table, and code that is broken to try its tests.

The page of coverage is made when the documentation is built, so it cannot be out of date; that of errata is committed.

python scripts/papers_coverage.py                    write docs/errata.md
python scripts/papers_coverage.py --check            exit 1 where it is not up to date
python scripts/papers_coverage.py --coverage         print the page of coverage
python scripts/papers_coverage.py --numbers [NAME]   run the errata's reproductions whole (about ten minutes), or one;
                                                     exit 1 for a number of the page that its command does not print
python scripts/papers_coverage.py --mutate [N]       break every named function (or a sample of N rows), each in several
                                                     ways; exit 1 for a row whose named test stays green
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from sfumato.papers import REPRODUCTIONS, reproduce  # noqa: E402
from sfumato.papers.statements import ERRATA, WORDS, Statement, statements  # noqa: E402

PAGE_OF_ERRATA = ROOT / "docs" / "errata.md"
BY_HAND = "<!-- what follows is written by hand -->"
TITLES = {
    "Meehan2020": "Location Trace Privacy Under Conditional Priors, workshop [Meehan2020]",
    "Meehan2021": "Location Trace Privacy Under Conditional Priors, with its appendix [Meehan2021]",
    "Biswas2023": "PRIVIC [Biswas2023]",
    "Jiang2021": "Context-Aware Local Information Privacy, supplement [Jiang2021]",
}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: that of coverage is added."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "coverage.md", content=coverage_page()))
    return files


def coverage_page() -> str:
    """Every statement with its verdict, and what runs and tests it."""
    rows = list(statements().values())
    counts = Counter(row.verdict for row in rows)
    said = "; ".join(f"{counts[verdict]} *{word}*" for verdict, word in WORDS.items() if counts[verdict])
    parts = [
        "# What of the papers is here",
        "",
        "Every definition, theorem, algorithm, table, figure, remark and stated experiment of the five papers: "
        f"{len(rows)} rows, one verdict each: {said}.",
        "The verdicts, and what is meant by each, are those of [the errata](errata.md); `sfumato reproduce` prints the "
        "same word for the same row. Commands are called after `sfumato`, tests lie in `tests/`.",
        "Made from `src/sfumato/papers/statements.toml` when the documentation is built; a test compares it with the "
        "runs and the tests, and `make mutate` breaks every function named to see its test fail.",
    ]
    for paper, title in TITLES.items():
        parts += [
            "",
            f"## {title}",
            "",
            "| | what it says | code | command | test | verdict |",
            "|---|---|---|---|---|---|",
        ]
        parts += [_coverage_line(row) for row in rows if row.paper == paper]
    return "\n".join(parts) + "\n"


def _coverage_line(row: Statement) -> str:
    def code(text: str) -> str:
        return "none" if text == "none" else f"`{text}`"

    verdict = f"{row.word} ({row.erratum})" if row.erratum else row.word
    verdict += f": {row.because}" if row.because else ""
    cells = (row.item, row.says, code(row.code.replace(":", ".")), code(row.command), code(row.test))
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in (*cells, verdict))} |"


def errata_page() -> str:
    """Every statement that is not simply true as printed, quoted, with the correction; what is by hand stays."""
    rows = [row for row in statements().values() if row.verdict in ERRATA]
    counts = Counter(row.verdict for row in rows)
    parts = [
        "# Errata of the papers, and what we do about each",
        "",
        "If you work with the papers, check here first. Each entry quotes its sentence with its place and has one of "
        f"six verdicts ({len(rows)} entries):",
        "",
        f"* *{WORDS['typo']}* ({counts['typo']}): what is meant is obvious, and nothing follows from it;",
        f"* *{WORDS['gap']}* ({counts['gap']}): the argument given does not carry it, another does;",
        f"* *{WORDS['empty']}* ({counts['empty']}): it holds and bounds nothing where it would be used;",
        f"* *{WORDS['false']}* ({counts['false']}): a counterexample meets every printed hypothesis;",
        f"* *{WORDS['undecided']}* ({counts['undecided']}): something it depends on is not said;",
        f"* *{WORDS['differs']}* ({counts['differs']}): run here, an experiment gives something else; ours "
        "stands beside theirs.",
        "",
        "The command of each row, in [what of the papers is here](coverage.md), prints the same word; the test named "
        "there fails if somebody puts the printed form back. Quotations are checked against the papers' text.",
    ]
    for paper, title in TITLES.items():
        parts += ["", f"## {title}", ""]
        if paper == "Jiang2021":
            parts += ["Proofs only: the main paper's text was not available to us.", ""]
        parts += ["| # | where | printed | verdict | what holds, and what the code does | how much it matters |"]
        parts += ["|---|---|---|---|---|---|", *(_errata_line(row) for row in rows if row.paper == paper)]
    kept = PAGE_OF_ERRATA.read_text(encoding="utf-8").partition(BY_HAND)[2]
    return "\n".join(parts) + f"\n\n{BY_HAND}{kept}"


def _errata_line(row: Statement) -> str:
    where = row.item if row.place == row.item else f"{row.item} ({row.place})"
    cells = (row.erratum, where, f"“{row.quote}”", row.word, row.correction, row.number)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def mutate(sample: int | None) -> int:
    """Run the named tests once per way of breaking the code they are named beside; see scripts/mutants.py."""
    keys = [row.key for row in statements().values() if ":" in row.code]
    if sample is not None:
        quick = [key for key in keys if "[" not in statements()[key].test]  # no whole reproductions in a sample
        keys = random.Random(sample).sample(quick, min(sample, len(quick)))
    environment = {**os.environ, "SFUMATO_MUTATE": "\n".join(keys), "PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT / 'src'}"}
    tests = sorted({f"tests/{statements()[key].test.partition('[')[0]}" for key in keys})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "mutants",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *tests,
    ]
    return subprocess.call(command, cwd=ROOT, env=environment)


_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\w.]*\w)")


def _numbers_in(text: str) -> list[tuple[float, float]]:
    """Every number of a text, and half of the unit of its last digit."""
    found = []
    for shown in _NUMBER.findall(text.replace("−", "-")):
        plain = shown.replace(",", "").rstrip(".")
        digits, _, power = plain.partition("e")
        places = len(digits.partition(".")[2])
        found.append((float(plain), 0.5 * 10.0 ** (int(power or 0) - places)))
    return found


@lru_cache(maxsize=32)
def _printed(name: str, quick: bool) -> tuple[dict[str, list[float]], list[float]]:
    """The numbers of a run: of the claims of each row by its key, and of its tables, notes and other claims of ours."""
    run = reproduce(name, quick=quick).to_dict()
    of_rows: dict[str, list[float]] = {}
    shared: list[float] = []
    for claim in [{"rest": {**run, "claims": []}}, *run["claims"]]:  # type: ignore[misc]
        own = of_rows.setdefault(str(claim["place"]), []) if claim.get("place") else shared
        own += [abs(value) for value, _ in _numbers_in(repr(claim))]
    return of_rows, shared


def not_printed(name: str, *, quick: bool = False) -> list[str]:
    """The numbers of a reproduction's errata that are neither in its row's claims nor in a table or note, to the digit.

    A reproduction that the correction names counts as well, whole.
    """
    missing = []
    for row in statements().values():
        if row.command == f"reproduce {name}" and row.verdict in ERRATA:
            beside = [other for other in REPRODUCTIONS if f"`{other}`" in row.correction]
            of_rows, shared = _printed(name, quick)
            printed = [*of_rows.get(row.key, []), *shared]
            for other_rows, theirs in (_printed(other, quick) for other in beside):
                printed += [at for found in (*other_rows.values(), theirs) for at in found]
            for value, unit in _numbers_in(row.number):
                scaled = [at * scale for at in printed for scale in (1.0, 100.0)]  # a share may be said in per cent
                if not any(abs(abs(value) - at) <= unit * (1 + 1e-6) for at in scaled):
                    missing.append(f"{row.erratum}: {value:g} is not printed by reproduce {name} ({row.number})")
    return missing


def numbers(names: list[str]) -> int:
    """Say which numbers of the errata no command prints."""
    commands = {row.command for row in statements().values() if row.verdict in ERRATA}
    chosen = names or sorted(command.partition(" ")[2] for command in commands if command.startswith("reproduce "))
    missing = [line for name in chosen for line in not_printed(name)]
    print("\n".join(missing) or "every number of the errata is printed by its command")
    return int(bool(missing))


def main(arguments: list[str]) -> int:
    """Write, print or check a page, or try the tests."""
    if arguments[:1] == ["--mutate"]:
        return mutate(int(arguments[1]) if len(arguments) > 1 else None)
    if arguments[:1] == ["--numbers"]:
        return numbers(arguments[1:])
    if arguments == ["--coverage"]:
        print(coverage_page(), end="")
    elif arguments == ["--check"]:
        return int(PAGE_OF_ERRATA.read_text(encoding="utf-8") != errata_page())
    else:
        PAGE_OF_ERRATA.write_text(errata_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
