"""``sfumato channel compare``: mechanisms at equal leakage in a table and a picture, every other measure beside."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.output import print_json
from sfumato.errors import InputError
from sfumato.files import write_text

if TYPE_CHECKING:
    from sfumato.arrays import FloatArray


def register_compare(channel_app: typer.Typer) -> None:
    """Add ``compare`` to the channel commands."""
    channel_app.command("compare")(compare_command)


def compare_command(
    prior: Path | None = typer.Option(None, help="The prior (see `channel design --help`); or use --synthetic."),
    synthetic: str | None = typer.Option(None, help="6x6 (or any square): the synthetic city of the documentation."),
    epsilon: list[float] = typer.Option([0.5, 1.0, 2.0], help="LIP leakage in nats; repeat for several."),
    distortion: str = typer.Option("euclidean", help="hamming, euclidean (needs coordinates) or a square CSV."),
    mechanism: list[str] = typer.Option([], help="Only these; repeat. Default: all that apply."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    floor: float = typer.Option(0.0, help="Mix the prior with this share of the uniform one."),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    svg: Path | None = typer.Option(None, "--svg", "-o", help="Write the picture here."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Compare mechanisms tuned to the same LIP leakage: cost, MI, LDP, maximal leakage, best guess, geo-ind."""
    from sfumato.grid import Grid
    from sfumato.mechanisms.channels.comparison import MECHANISMS, compare
    from sfumato.reproductions.lip_comparison import picture, synthetic_city

    if (prior is None) == (synthetic is None):
        raise InputError("Give either --prior or --synthetic.", "For example --synthetic 6x6.")
    if not epsilon:
        raise InputError("There is no epsilon.", "Give --epsilon 1, repeated for several.")
    if svg is not None and svg.suffix.lower() != ".svg":
        raise InputError(f"The picture cannot be written as '{svg.suffix}'.", "Use .svg.")
    if prior is not None and grid is None and any(name.startswith("planar-laplace") for name in mechanism):
        raise InputError("Planar Laplace needs a grid.", "Add --grid ROWSxCOLUMNS, one line of the prior per cell.")
    cells: Grid | None
    distances: FloatArray | None
    if synthetic is not None:
        parts = synthetic.lower().split("x")
        if len(parts) != 2 or not parts[0].isdigit() or parts[0] != parts[1] or not 2 <= int(parts[0]) <= 20:
            raise InputError(f"'{synthetic}' is not a square city.", "Write 6x6, up to 20x20.")
        size = int(parts[0])
        probabilities, costs = synthetic_city(size)
        cells, distances, unit = Grid.plain(size, size, 6 / size, 6 / size), costs, "sixths of the city's side"
    else:
        from sfumato.cli.channel_inputs import design_distortion, grid_of, prior_of

        assert prior is not None
        cells = grid_of(grid, cell_size)
        law, _, _ = prior_of(prior, grid=cells, floor=floor, drop_zeros=drop_zeros)
        costs = design_distortion(distortion, law)
        probabilities = law.probabilities
        distances = law.distances_m() if law.positions_m is not None else None
        unit = "cells" if cells is not None and cell_size is None else "m" if distortion == "euclidean" else distortion
        if probabilities.size > 400:
            raise InputError(f"{probabilities.size} symbols are too many to compare.", "Merge cells to at most 400.")
    rows = compare(
        probabilities,
        costs,
        sorted(epsilon),
        grid=cells,
        distances=distances,
        mechanisms=mechanism or MECHANISMS,
        progress=_progress,
    )
    _progress("")
    drawing = picture(rows, unit=unit)
    if svg is not None:
        write_text(svg, drawing)
    if json:
        print_json(
            {"ok": True, "unit": unit, "rows": [asdict(row) for row in rows], "picture": str(svg) if svg else None}
        )
        return
    _print(rows, unit)
    if svg is not None:
        typer.echo(f"Picture: {svg}")


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{words}")
        sys.stderr.flush()


def _print(rows: list[Any], unit: str) -> None:
    typer.echo(
        f"Mechanisms at equal LIP leakage, in nats; distortion in {unit}, geo-indistinguishability per its unit."
    )
    head = ("LIP", "mechanism", "distortion", "measured", "MI", "LDP", "max.leak", "Bayes err", "guess off", "geo-ind")
    typer.echo("  ".join(f"{word:<22}" if word == "mechanism" else f"{word:>10}" for word in head))
    last = None
    for row in rows:
        if last is not None and row.target_lip != last:
            typer.echo("")
        last = row.target_lip
        geo = "" if row.geo_epsilon_per_unit is None else f"{row.geo_epsilon_per_unit:.4g}"
        values = (
            row.average_distortion,
            row.lip,
            row.mutual_information_nats,
            row.ldp,
            row.maximal_leakage,
            row.bayes_error,
            row.adversary_distortion,
        )
        cells = [
            f"{row.target_lip:>10g}",
            f"{row.mechanism:<22}",
            *(f"{value:>10.6g}" for value in values),
            f"{geo:>10}",
        ]
        typer.echo("  ".join(cells))
