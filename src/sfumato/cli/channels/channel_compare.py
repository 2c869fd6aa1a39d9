"""``sfumato channel compare``: mechanisms at equal leakage in a table and a picture, every other measure beside."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import svg as svg_of
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.comparison import Compared, compare
from sfumato.channels.designs.door import compared_rows
from sfumato.channels.designs.own import is_own
from sfumato.cli.channels.channel_inputs import (
    CELL_SIZE_HELP,
    FLOOR_HELP,
    GRID_HELP,
    JSON_HELP,
    WIDTH_HELP,
    design_distortion,
    grid_of,
    prior_of,
)
from sfumato.cli.output import print_json, tell_progress
from sfumato.papers.lip.lip_comparison import comparison_parts, synthetic_city

_MECHANISM_HELP = (
    f"Only these; repeat. Default: all that apply, of {', '.join(compared_rows('geo'))}. Your own beside them: "
    "module:object or file.py:object (a function of epsilon that gives a matrix P(y | x), or a matrix), or a channel's "
    "file, compared as it is; 'all' with them for ours, too."
)
_AT = {"lip": "LIP leakage, in nats", "ldp": "LDP, in nats", "mi": "mutual information, in nats", "geo": "geo-ind"}


def compare_command(
    prior: Path | None = typer.Option(None, help="The prior (see `channel design --help`); or use --synthetic."),
    synthetic: str | None = typer.Option(None, help="6x6 (or any square): the synthetic city of the documentation."),
    epsilon: list[float] = typer.Option([0.5, 1.0, 2.0], help="The leakage that is held equal; repeat for several."),
    at: str = typer.Option(
        "lip", help="The notion: lip, ldp or mi (nats), geo (per unit of distance), or your own (file.py:function)."
    ),
    distortion: str | None = typer.Option(
        None, help="hamming, euclidean (the default where there are coordinates) or a square CSV."
    ),
    mechanism: list[str] = typer.Option([], help=_MECHANISM_HELP),
    grid: str | None = typer.Option(None, help=GRID_HELP),
    cell_size: str | None = typer.Option(None, help=CELL_SIZE_HELP),
    floor: float = typer.Option(0.0, help=FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    svg: Path | None = typer.Option(None, "--svg", "-o", help="Write the picture here.", rich_help_panel="The picture"),
    width_mm: float | None = typer.Option(None, help=WIDTH_HELP, rich_help_panel="The picture"),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Compare mechanisms, your own among them, tuned to the same leakage: cost, LIP, MI, LDP, best guess, geo-ind."""
    if not epsilon:
        raise InputError("There is no epsilon.", "Give --epsilon 1, repeated for several.")
    if svg is not None and svg.suffix.lower() != ".svg":
        raise InputError(f"The picture cannot be written as '{svg.suffix}'.", "Use .svg.")
    if (synthetic is None) == (prior is None):
        raise InputError("Give either --prior or --synthetic.", "For example --synthetic 6x6.")
    cells = grid_of(grid, cell_size)
    distances: FloatArray | None
    if prior is None:
        size = _size_of_city(synthetic or "")
        probabilities, costs = synthetic_city(size)
        cells, distances, unit = Grid.plain(size, size, 6 / size, 6 / size), costs, "sixths of the city's side"
    else:
        law, _, _ = prior_of(prior, grid=cells, floor=floor, drop_zeros=drop_zeros)
        name = distortion or ("hamming" if law.positions_m is None else "euclidean")
        probabilities, costs = law.probabilities, design_distortion(name, law)
        if law.size > 2500:
            raise InputError(f"{law.size} symbols are too many to compare.", "Merge cells to at most 2500.")
        unit = "cells" if cells is not None and cell_size is None else "m" if name == "euclidean" else name
        distances = law.distances_m() if law.positions_m is not None else None
    if any(":" in name for name in (*mechanism, at)) and "" not in sys.path:
        sys.path.insert(0, "")  # module:object is looked for where the command is run, as python -m would
    wanted = mechanism or compared_rows(at)
    rows = compare(
        probabilities,
        costs,
        sorted(epsilon),
        grid=cells,
        distances=distances,
        at=at,
        mechanisms=[name for given in wanted for name in (compared_rows(at) if given == "all" else (given,))],
        progress=tell_progress,
    )
    tell_progress("")
    there = {"all", *(row.mechanism for row in rows)}
    left_out = [name for name in wanted if not is_own(name) and name not in there]
    if svg is not None:
        parts = comparison_parts(rows, unit=unit)
        write_text(svg, svg_of(parts, columns=1 if width_mm and width_mm <= 100 else 2, width_mm=width_mm))
    if json:
        answer = {"ok": True, "unit": unit, "rows": [asdict(row) for row in rows], "left_out": left_out}
        print_json({**answer, "picture": str(svg) if svg else None})
        return
    _print(rows, at, unit)
    if left_out:
        typer.echo(f"Left out (no grid, too many symbols, or optimal in another notion): {', '.join(left_out)}")
    if svg is not None:
        typer.echo(f"Picture: {svg}")


def _size_of_city(text: str) -> int:
    """``--synthetic 6x6``: the side of a square city."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not parts[0].isdigit() or parts[0] != parts[1] or not 2 <= int(parts[0]) <= 20:
        raise InputError(f"'{text}' is not a square city.", "Write 6x6, up to 20x20.")
    return int(parts[0])


def _print(rows: Sequence[Compared], at: str, unit: str) -> None:
    typer.echo(f"Mechanisms at equal {_AT.get(at, at)}; distortion in {unit}, geo-indistinguishability per its unit.")
    if beyond := sorted({row.mechanism for row in rows if not row.within_target}):
        typer.echo(f"As given, and beyond the target: {', '.join(beyond)}.")
    for row in rows:
        if row.lower_bound is not None:
            typer.echo(f"At {row.target:g} no channel costs less than {row.lower_bound:.6g} (certified).")
    head = ["target", "mechanism", "distortion", "LIP", "MI", "LDP", "max.leak", "Bayes err", "guess off", "geo-ind"]
    head += [] if at in _AT else ["measured"]  # in the caller's own notion, which no other column has
    width = max(22, *(len(row.mechanism) for row in rows))
    typer.echo("  ".join(f"{word:<{width}}" if word == "mechanism" else f"{word:>10}" for word in head))
    last = None
    for row in rows:
        if last is not None and row.target != last:
            typer.echo("")
        last = row.target
        geo = "" if row.geo_epsilon_per_unit is None else f"{row.geo_epsilon_per_unit:.4g}"
        leaked = (row.lip, row.mutual_information_nats, row.ldp, row.maximal_leakage)
        values = (row.average_distortion, *leaked, row.bayes_error, row.adversary_distortion)
        numbers = [f"{value:>10.6g}" for value in values] + [f"{geo:>10}"]
        numbers += [] if at in _AT else [f"{row.measured:>10.6g}"]
        typer.echo("  ".join([f"{row.target:>10g}", f"{row.mechanism:<{width}}", *numbers]))
