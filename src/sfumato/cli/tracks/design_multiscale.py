"""``sfumato design multiscale``: solve the ladders and print them, their prices and the reasons for the shares."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.units import duration_s
from sfumato.cli.output import print_json, table_console
from sfumato.tracks.noise.multiscale import price_tables as made
from sfumato.tracks.priors.classes import DAY, PRIOR_CLASSES, PriorClass


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
    out: dict[str, Any] = {"ladders": _ladders(shortest, longest, kernel)}
    if tables:
        out["price_table"] = made.price_table()
        out["white_share_table"] = made.white_share_table()
        out["constant_share_table"] = made.constant_share_table()
    if write is not None:
        text = json_module.dumps(jsonable(made.shipped_classes()), indent=1, allow_nan=False) + "\n"
        write_text(write, text)
        out["written"] = str(write)
    if json:
        print_json(out)
        return
    _say(out)


def _ladders(shortest: str | None, longest: str | None, kernels: list[str]) -> list[dict[str, Any]]:
    classes = dict(PRIOR_CLASSES)
    if shortest or longest or kernels:
        low, high = DAY.length_scales_s
        low, high = (duration_s(shortest) if shortest else low), (duration_s(longest) if longest else high)
        if not low < high:
            raise InputError(f"The class runs from {low:g} s to {high:g} s.", "Give two increasing length scales.")
        classes = {"custom": PriorClass(tuple(kernels) or DAY.kernels, (low, high))}
    rows = []
    for name, members in classes.items():
        solved, ladder, bound = made.solve(members)
        rows.append(
            {
                "class": name,
                "prior_class": members.to_dict(),
                **ladder.to_dict(),
                "path_loss": bound.path_loss * ladder.moving_share,
                "path_loss_least_possible": solved.lower_bound,
                "gap": solved.gap,
                "worst_loss": bound.worst_loss,
                "stay_loss": bound.stay_loss,
                "worst_kernel": bound.worst_kernel,
                "worst_length_scale_s": bound.worst_length_scale_s,
                "margin": bound.margin,
                "free_nugget_share": bound.free_nugget_share,
                "free_offset_share": bound.free_offset_share,
                "steps": solved.steps,
                "seconds": solved.seconds,
            }
        )
    return rows


def _say(out: dict[str, Any]) -> None:
    console = table_console()
    for row in out["ladders"]:
        low, high = row["prior_class"]["length_scales_s"]
        table = Table(
            title=f"class {row['class']}: {low:,.0f} s - {high:,.0f} s, {', '.join(row['prior_class']['kernels'])}"
        )
        table.add_column("length scale (s)", justify="right")
        table.add_column("weight", justify="right")
        for scale, weight in zip(row["length_scales_s"], row["weights"], strict=True):
            table.add_row(f"{scale:,.10g}", f"{weight:.6f}")
        console.print(table)
        console.print(
            f"multiscale share alone {row['path_loss']:.4f} x floor (no mixture of Matérn-3/2 scales below "
            f"{row['path_loss_least_possible']:.4f}, gap {100 * row['gap']:.3f}%); with white {row['white_share']:g} "
            f"and constant {row['constant_share']:g}: worst loss {row['worst_loss']:.4f}, stay loss "
            f"{row['stay_loss']:.4f}; a nugget up to {row['free_nugget_share']:.2f} of the sd is free.\n"
        )
    if "price_table" not in out:
        return
    table = Table(title="Price: worst loss x noise variance, any sd, any timestamps, multiscale share alone")
    for name in ("length scales", "Matérn-3/2", "least possible", "+ 5/2 and RBF", "least possible"):
        table.add_column(name, justify="right")
    for row in out["price_table"]:
        table.add_row(
            row["range"],
            *(f"{row[key]:.4f}" for key in ("matern32", "matern32_least_possible")),
            *(f"{row[key]:.4f}" for key in ("three_kernels", "three_kernels_least_possible")),
        )
    console.print(table)
    _print_rows(console, "Why a white share of 0.05 (class day)", out["white_share_table"])
    _print_rows(
        console,
        "Why this constant share (class day): path and place lose alike",
        out["constant_share_table"],
    )
    if "written" in out:
        console.print(f"Written: {out['written']}")


def _print_rows(console: Console, title: str, rows: list[dict[str, float | None]]) -> None:
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*("-" if value is None else f"{value:.4g}" for value in row.values()))
    console.print(table)
