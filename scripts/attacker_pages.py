"""One page for every attacker of the suite, and the matrix, when the documentation is built: from the registry and from
docs/evidence/attack_matrix.csv, which ``python benchmarks/evidence_attack_suite.py --write`` renews.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MATRIX = Path(__file__).parents[1] / "docs" / "evidence" / "attack_matrix.csv"
DRAWN = ("multiscale", "independent Gaussian", "planar Laplace", "donut", "hide and blur")
WORLDS = {"geolife": "GeoLife", "cabs": "San Francisco's cabs"}
Row = dict[str, str]


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Called by MkDocs with the pages it found: ours are added."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"evidence/attackers/{name}.md", content=text))
    return files


def slug(name: str) -> str:
    """The name of an attacker's page."""
    return name.replace(" ", "_")


def matrix_rows() -> list[Row]:
    """What the benchmark wrote last."""
    with MATRIX.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pages() -> dict[str, str]:
    """Name -> Markdown."""
    from sfumato.tracks.adversary.attackers import ATTACKERS, SUITE

    rows = matrix_rows()
    suite = [one for one in ATTACKERS.values() if one.against in SUITE]
    return {slug(one.name): _page(one, [row for row in rows if row["attacker"] == one.name]) for one in suite}


def _page(one: Any, rows: Sequence[Row]) -> str:
    bounds = {"worst_loss": "its loss of a moment", "stay_loss": "its loss of a stay"}
    bounded = f"yes, by {bounds[one.bounded_by]}, for people of its class" if one.bounded_by else "no"
    parts = [
        f"# {one.name[0].upper()}{one.name[1:]}",
        f"It attacks {one.against}: {one.words}.",
        f"* *It believes*: {one.assumes}.\n* *It knows*: {one.knows}."
        + (f"\n* *It learnt from*: {one.learned_from}." if one.learned_from else "")
        + f"\n* *Bounded by a certificate*: {bounded}.\n* *What helps, and what it costs*: {one.mitigation}.",
        "## How each mechanism fares",
    ]
    if not rows:
        parts.append(
            "No row of the matrix: what it needs is not in these data. `sfumato audit --attacks` runs it on yours."
        )
    for world in dict.fromkeys(row["world"] for row in rows):
        here = [row for row in rows if row["world"] == world]
        parts += [
            f"{WORLDS[world]}, {here[0]['people']} people; in 100, with 95 % intervals over people.",
            _table(here),
        ]
        for goal in dict.fromkeys(row["goal"] for row in here):
            parts += _drawing([row for row in here if row["goal"] == goal], goal)
    return "\n\n".join([*parts, "[All attackers](../attacks.md)"]) + "\n"


def _table(rows: Sequence[Row]) -> str:
    lines = ["| mechanism | at | goal | found | a blind guess | allowed |", "|---|---|---|---|---|---|"]
    for row in rows:
        found = f"{_hundred(row['found'])} ({_hundred(row['low'])} to {_hundred(row['high'])})"
        cells = (row["mechanism"], row["at"], row["goal"], found, _hundred(row["luck"]), _hundred(row["allowed"]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _hundred(share: str) -> str:
    return f"{100 * float(share):.0f}" if share else "–"


def _drawing(rows: Sequence[Row], goal: str) -> list[str]:
    """What is found by the size of the noise, where there are two sizes at least."""
    import numpy as np

    from sfumato.base.drawing.panels import Panel, svg
    from sfumato.base.units import length_m

    found = {(row["mechanism"], row["at"]): 100.0 * float(row["found"]) for row in rows if row["at"].endswith("RMS")}
    at = sorted({size for _, size in found}, key=lambda size: length_m(size.removesuffix(" RMS")))
    names = [name for name in DRAWN if sum((name, size) in found for size in at) > 1]
    if len(at) < 2 or not names:
        return []
    lines = {name: np.array([found.get((name, size), np.nan) for size in at]) for name in names}
    sizes = np.array([length_m(size.removesuffix(" RMS")) for size in at])
    return [svg([Panel(f"{goal}: found, in 100", sizes, lines, x_label="RMS error, m")])]


def matrix() -> str:
    """The best attacker of every goal, by mechanism, for the page of attacks."""
    goals = ("moments", "home", "work", "stays", "identity")
    lines = [f"| world | mechanism | at | {' | '.join(goals)} |", "|---" * (3 + len(goals)) + "|"]
    best: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in matrix_rows():
        cell = best.setdefault((row["world"], row["mechanism"], row["at"]), {})
        if row["goal"] not in cell or float(row["found"]) > float(cell[row["goal"]]["found"]):
            cell[row["goal"]] = row
    for (world, mechanism, at), cell in best.items():
        found = [
            f"{_hundred(cell[goal]['found'])} ({cell[goal]['attacker']})" if goal in cell else "–" for goal in goals
        ]
        lines.append(f"| {WORLDS[world]} | {mechanism} | {at} | {' | '.join(found)} |")
    return "\n".join(lines)
