"""``sfumato channel compare``: mechanisms at equal leakage in a table and a picture, every other measure beside."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.channels.designs.channel_registry import COMPARED

_MECHANISM_HELP = (
    f"Only these; repeat. Default: all that apply, of {', '.join(COMPARED)}. Your own beside them: module:object or "
    "file.py:object (a function of epsilon that gives a matrix P(y | x), or a matrix), or a channel's file, compared "
    "as it is; 'all' with them for ours, too."
)


def register_compare(channel_app: typer.Typer) -> None:
    """Add ``compare`` to the channel commands."""
    channel_app.command("compare")(compare_command)


def compare_command(
    prior: Path | None = typer.Option(None, help="The prior (see `channel design --help`); or use --synthetic."),
    synthetic: str | None = typer.Option(None, help="6x6 (or any square): the synthetic city of the documentation."),
    epsilon: list[float] = typer.Option([0.5, 1.0, 2.0], help="The leakage that is held equal; repeat for several."),
    at: str = typer.Option("lip", help="The notion: lip, ldp or mi (nats), or geo (per unit of distance)."),
    distortion: str | None = typer.Option(
        None, help="hamming, euclidean (the default where there are coordinates) or a square CSV."
    ),
    mechanism: list[str] = typer.Option([], help=_MECHANISM_HELP),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    floor: float = typer.Option(0.0, help="Mix the prior with this share of the uniform one."),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    svg: Path | None = typer.Option(None, "--svg", "-o", help="Write the picture here."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Compare mechanisms, your own among them, tuned to the same leakage: cost, LIP, MI, LDP, best guess, geo-ind."""
    from sfumato.cli.channels.channel_compared import prior_city, run_compare, synthetic_grid

    if not epsilon:
        raise InputError("There is no epsilon.", "Give --epsilon 1, repeated for several.")
    if svg is not None and svg.suffix.lower() != ".svg":
        raise InputError(f"The picture cannot be written as '{svg.suffix}'.", "Use .svg.")
    if synthetic is not None and prior is None:
        problem = synthetic_grid(synthetic)
    elif prior is not None and synthetic is None:
        problem = prior_city(
            prior, distortion=distortion, grid=grid, cell_size=cell_size, floor=floor, drop_zeros=drop_zeros
        )
    else:
        raise InputError("Give either --prior or --synthetic.", "For example --synthetic 6x6.")
    if any(":" in name for name in mechanism) and "" not in sys.path:
        sys.path.insert(0, "")  # module:object is looked for where the command is run, as python -m would
    run_compare(problem, sorted(epsilon), at=at, mechanisms=mechanism or COMPARED, svg=svg, json=json)
