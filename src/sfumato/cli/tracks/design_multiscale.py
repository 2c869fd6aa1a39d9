"""``sfumato design multiscale``: solve the ladders and print them, their prices and the reasons for the shares."""

from __future__ import annotations

from pathlib import Path

import typer


def register_multiscale(design_app: typer.Typer) -> None:
    """Add ``multiscale`` to the design commands."""
    design_app.command("multiscale", help="Solve the multiscale noise: ladders, weights, prices, and their proof.")(
        multiscale
    )


def multiscale(
    shortest: str | None = typer.Option(None, help="Solve one class of your own: its shortest length scale (10s)."),
    longest: str | None = typer.Option(None, help="Its longest length scale (6h, 1week, 1year)."),
    kernel: list[str] = typer.Option([], help="Its kernels: matern32, matern52, rbf; repeat. Default all three."),
    tables: bool = typer.Option(True, help="Also print the price table and the tables behind the two shares."),
    write: Path | None = typer.Option(None, help="Write the shipped data file (multiscale.json) here."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Losses are times the noise variance per coordinate, so 1 is the floor. Certified over continuous ranges."""
    from sfumato.cli.tracks.solved_ladders import solved_ladders

    solved_ladders(shortest, longest, kernel, tables=tables, write=write, json=json)
