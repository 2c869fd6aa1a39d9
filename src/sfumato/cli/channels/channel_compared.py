"""What ``sfumato channel compare`` does once its options are read: tune, measure, print, draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.grid import Grid
from sfumato.channels.designs.channel_registry import COMPARED
from sfumato.channels.designs.comparison import Compared, compare
from sfumato.channels.designs.own import is_own
from sfumato.cli.channels.channel_inputs import design_distortion, grid_of, prior_of
from sfumato.cli.output import print_json, tell_progress
from sfumato.papers.lip.lip_comparison import picture, synthetic_city


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is compared: where people are, what a wrong report costs, and the unit of that cost."""

    probabilities: FloatArray
    costs: FloatArray
    unit: str
    grid: Grid | None = None
    distances: FloatArray | None = None


def synthetic_grid(text: str) -> Problem:
    """``--synthetic 6x6``."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not parts[0].isdigit() or parts[0] != parts[1] or not 2 <= int(parts[0]) <= 20:
        raise InputError(f"'{text}' is not a square city.", "Write 6x6, up to 20x20.")
    size = int(parts[0])
    probabilities, costs = synthetic_city(size)
    grid = Grid.plain(size, size, 6 / size, 6 / size)
    return Problem(probabilities, costs, "sixths of the city's side", grid, costs)


def prior_city(
    prior: Path, *, distortion: str | None, grid: str | None, cell_size: str | None, floor: float, drop_zeros: bool
) -> Problem:
    """``--prior`` with its places and costs."""
    cells = grid_of(grid, cell_size)
    law, _, _ = prior_of(prior, grid=cells, floor=floor, drop_zeros=drop_zeros)
    distortion = distortion or ("hamming" if law.positions_m is None else "euclidean")
    costs = design_distortion(distortion, law)
    if law.size > 2500:
        raise InputError(f"{law.size} symbols are too many to compare.", "Merge cells to at most 2500.")
    unit = "cells" if cells is not None and cell_size is None else "m" if distortion == "euclidean" else distortion
    distances = law.distances_m() if law.positions_m is not None else None
    return Problem(law.probabilities, costs, unit, cells, distances)


def run_compare(
    problem: Problem,
    epsilons: Sequence[float],
    *,
    at: str,
    mechanisms: Sequence[str],
    svg: Path | None,
    json: bool,
) -> None:
    """Compare, print the table or one object, and write the picture."""
    rows = compare(
        problem.probabilities,
        problem.costs,
        epsilons,
        grid=problem.grid,
        distances=problem.distances,
        at=at,
        mechanisms=[name for given in mechanisms for name in (COMPARED if given == "all" else (given,))],
        progress=tell_progress,
    )
    tell_progress("")
    there = {"all", *(row.mechanism for row in rows)}
    left_out = [name for name in mechanisms if not is_own(name) and name not in there]
    if svg is not None:
        write_text(svg, picture(rows, unit=problem.unit))
    if json:
        answer = {"ok": True, "unit": problem.unit, "rows": [asdict(row) for row in rows], "left_out": left_out}
        print_json({**answer, "picture": str(svg) if svg else None})
        return
    _print(rows, at, problem.unit)
    if left_out:
        typer.echo(f"Left out (too many symbols to optimise over, or no grid): {', '.join(left_out)}")
    if svg is not None:
        typer.echo(f"Picture: {svg}")


_AT = {"lip": "LIP leakage, in nats", "ldp": "LDP, in nats", "mi": "mutual information, in nats", "geo": "geo-ind"}


def _print(rows: Sequence[Compared], at: str, unit: str) -> None:
    typer.echo(f"Mechanisms at equal {_AT[at]}; distortion in {unit}, geo-indistinguishability per its unit.")
    if beyond := sorted({row.mechanism for row in rows if not row.within_target}):
        typer.echo(f"As given, and beyond the target: {', '.join(beyond)}.")
    head = ("target", "mechanism", "distortion", "LIP", "MI", "LDP", "max.leak", "Bayes err", "guess off", "geo-ind")
    width = max(22, *(len(row.mechanism) for row in rows))
    typer.echo("  ".join(f"{word:<{width}}" if word == "mechanism" else f"{word:>10}" for word in head))
    last = None
    for row in rows:
        if last is not None and row.target != last:
            typer.echo("")
        last = row.target
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
            f"{row.target:>10g}",
            f"{row.mechanism:<{width}}",
            *(f"{value:>10.6g}" for value in values),
            f"{geo:>10}",
        ]
        typer.echo("  ".join(cells))
