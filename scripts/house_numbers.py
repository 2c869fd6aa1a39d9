"""The numbers that the house is held to, in scripts/house.toml: rates that may only fall, and budgets of lines.

A *limit* is a ratchet: ``--check`` fails above it, ``--tighten`` writes a lower number where the count has fallen, and
nobody writes a higher one. A *budget* of lines is a wing's; it is raised by a row of ``[[raised]]`` that says by how
much and why, never by changing the number.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent / "house.toml"


@dataclass(frozen=True)
class Numbers:
    """What scripts/house.toml says."""

    limits: Mapping[str, float]
    goals: Mapping[str, float]
    budgets: Mapping[str, int]
    journeys: Mapping[str, int]
    public: tuple[str, ...]
    silent: tuple[str, ...]
    papers: tuple[str, ...]


def numbers(text: str | None = None) -> Numbers:
    """Read the file; a raise without a reason is refused."""
    said = tomllib.loads(FILE.read_text("utf-8") if text is None else text)
    budgets = dict(said["lines"])
    for row in said.get("raised", []):
        if len(str(row.get("why", "")).split()) < 4:
            raise ValueError(f"The budget of '{row.get('wing')}' is raised without a reason: say why, in a sentence.")
        if row["wing"] not in budgets:
            raise ValueError(f"'{row['wing']}' has no budget that could be raised: its row is missing in [lines].")
        budgets[row["wing"]] += int(row["by"])
    reach = said["reach"]
    return Numbers(
        said["limits"],
        said["goals"],
        budgets,
        said["journeys"],
        tuple(reach["public"]),
        tuple(reach["silent"]),
        tuple(reach["papers"]),
    )


def too_many(counts: Mapping[str, float], limits: Mapping[str, float]) -> list[str]:
    """What stands above its limit, in words; what has no limit is not held to any."""
    return [
        f"{name}: {shown(count)} of at most {shown(limits[name])}"
        for name, count in counts.items()
        if name in limits and count > limits[name]
    ]


def shown(count: float) -> str:
    """A count, or a rate with two digits, rounded up so that a limit written from it holds."""
    return str(int(count)) if count == int(count) else f"{math.ceil(count * 100 - 1e-9) / 100:.2f}"


def tightened(text: str, table: str, counts: Mapping[str, float]) -> str:
    """The file's text with the numbers of one table lowered to the counts that have fallen."""
    head, mark, rest = text.partition(f"[{table}]\n")
    body, next_table, tail = re.match(r"(.*?)(\n\[|\Z)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]

    def lower(found: re.Match[str]) -> str:
        name, limit = found[1].strip('"'), float(found[2])
        count = float(shown(counts.get(name, limit)))
        return f"{found[1]} = {shown(min(count, limit))}{found[3]}"

    body = re.sub(r'^("[^"]+"|[\w-]+) = ([\d.]+)(.*)$', lower, body, flags=re.MULTILINE)
    return f"{head}{mark}{body}{next_table}{tail}"


def budgeted(text: str, lines: Mapping[str, int]) -> str:
    """The file's text with every wing's budget set to its lines, and no raises: how an issue that moves wings ends."""
    head, mark, rest = text.partition("[lines]\n")
    tail = re.search(r"\n(?=\[(?!\[raised))|\Z", rest)
    rows = "".join(f"{wing} = {count}\n" for wing, count in lines.items())
    return f"{head}{mark}{rows}{rest[tail.start() :] if tail else ''}"
