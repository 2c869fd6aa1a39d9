"""``sfumato audit compare``: mechanism × attack × usefulness on one's own data, as a table, picture, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from sfumato.base.arrays import evenly
from sfumato.base.drawing.panels import Panel, svg
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.units import length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import named_columns
from sfumato.cli.tracks.attacks.run_suite import people_in, refused_words
from sfumato.tracks.attacks.compare import CompareAsked, ComparedMechanism, cells_to_compare, compare_mechanisms
from sfumato.tracks.attacks.outcomes import attackers_named
from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED, RMS, mechanism_compared
from sfumato.tracks.io import SourceReading

USUAL = "as released,smoothing,fitted smoothing,stops,roads,nights averaged,ends of rides,zone inversion,extrapolation,"
SHOWN = ("trip length", "heat map, cells of 1 km", "flows, cells of 3 km")
USUAL += "stays,few moments,top places,hours and shape,earlier tracks"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What is compared, on whose data, and where the results go."""

    original: list[Path] = typer.Argument(..., metavar="ORIGINAL...", help="Tracks, a table of people, or an archive.")
    mechanisms: str = typer.Option("all", help="Names or module:object, separated by semicolons.")
    attacks: str = typer.Option(USUAL, help="Attackers: 'all', names or module:object, separated by commas.")
    rms: str = typer.Option("50m,150m,500m,709m", help="Root mean square errors per coordinate to compare at.")
    radius: str = typer.Option("400m,1600m", help="Radii of what is cut out.")
    odds: str = typer.Option("5", help="Promised odds to compare at (200 m apart, 99 times in 100).")
    within: str = typer.Option("200m", help="A guess at most so far off is a success.")
    people: int = typer.Option(100, help="Of more people, so many, evenly chosen.")
    seed: int = typer.Option(0, help="All releases are simulations from this seed.")
    csv: Path | None = typer.Option(None, help="Write the table here.")
    svg: Path | None = typer.Option(None, help="Write the picture here.")
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more.")
    time_zone: str | None = typer.Option(None, help="Time zone of times that name none.")
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else.")


def compare(asked: CompareOptions) -> None:
    """Releases are simulated and thrown away. What is printed was computed from the originals: keep it to yourself."""
    names = list(MECHANISMS_COMPARED) if asked.mechanisms == "all" else asked.mechanisms.split(";")
    sizes, radii = ([length_m(part) for part in text.split(",") if part] for text in (asked.rms, asked.radius))
    try:
        odds = [float(part) for part in asked.odds.split(",") if part]
    except ValueError as error:
        raise InputError(f"'{asked.odds}' are no odds.", "Write numbers, e.g. 2,5.") from error
    wanted = CompareAsked(
        mechanisms=[name.strip() for name in names],
        attackers=attackers_named(asked.attacks),
        sizes_m=sizes,
        radii_m=radii,
        odds=odds,
        within_m=length_m(asked.within),
        seed=asked.seed,
    )
    refused: list[str] = []
    found = people_in(asked.original, SourceReading(None, asked.time_zone, named_columns(asked.column)), refused)
    everybody = list(found.items())
    chosen = [everybody[k] for k in evenly(len(everybody), asked.people)]
    with progress("Comparing", len(cells_to_compare(wanted)), quiet=asked.json) as step:
        rows = compare_mechanisms(chosen, wanted, step)
    if asked.csv is not None:
        write_text(asked.csv, table_text(rows), private=True)
    if asked.svg is not None:
        write_text(asked.svg, picture(rows, sizes), private=True)
    if asked.json:
        print_json({"ok": True, "private": True, "people": len(chosen), "rows": [row.to_dict() for row in rows]})
        return
    typer.echo(
        f"Private: computed from {len(chosen)} originals. In 100, what the best attacker finds within {asked.within}; "
        "errors of answers read naively. * on the frontier."
    )
    for line in (*refused_words(refused), *lines_of(rows)):
        typer.echo(line)


def table_text(rows: Sequence[ComparedMechanism]) -> str:
    """As CSV."""
    out = io.StringIO()
    made = [row.row() for row in rows]
    names = list(dict.fromkeys(name for row in made for name in row))
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    writer.writerows(made)
    return out.getvalue()


def lines_of(rows: Sequence[ComparedMechanism]) -> list[str]:
    """For a terminal."""
    heads = ("mechanism", "at", "RMS", "moments", "home", "identity", "length", "heat 1 km", "flows 3 km", "promises")
    cells: list[tuple[str, ...]] = [heads]
    for row in rows:
        best = [row.found(goal) for goal in ("moments", "home", "identity")]
        shares = ["-" if one is None else f"{100 * one[0]:.0f}" for one in best]
        answers = [row.useful.get(name) for name in SHOWN]
        errors = ["-" if value is None else f"{100 * value:.0f}%" for value in answers]
        rms = "-" if row.rms_m is None else f"{row.rms_m:.0f} m"
        name = f"{row.mechanism}{' *' if row.frontier else ''}"
        cells.append((name, row.at, rms, *shares, *errors, row.promises))
    widths = [max(len(str(line[k])) for line in cells) for k in range(len(heads))]
    every = (zip(line, widths, strict=True) for line in cells)
    return ["  ".join(str(value).ljust(width) for value, width in line).rstrip() for line in every]


def picture(rows: Sequence[ComparedMechanism], sizes_m: Sequence[float]) -> str:
    """What is found and what is lost of a heat map, by RMS error, a line per mechanism that moves points."""
    names = [name for name in dict.fromkeys(row.mechanism for row in rows) if mechanism_compared(name).sized == RMS]

    def line(name: str, value: str) -> np.ndarray:
        own = [row for row in rows if row.mechanism == name and row.at.endswith("RMS")]
        if value == "map":
            shares = [row.useful.get("heat map, cells of 1 km") for row in own]
        else:
            shares = [None if (best := row.found(value)) is None else best[0] for row in own]
        return np.array([np.nan if share is None else 100.0 * share for share in shares])

    titles = {"moments": "Moments found, in 100", "home": "Homes found, in 100", "map": "Heat map (1 km) wrong, %"}
    panels = [
        Panel(title, np.array(sizes_m), {name: line(name, value) for name in names}, x_label="RMS error, m")
        for value, title in titles.items()
    ]
    return svg(panels, columns=3)
