"""``sfumato channel``: design a channel, measure what one tells, compare mechanisms at equal leakage. All in nats."""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.cli.channel_compare import register_compare
from sfumato.mechanisms.channels.channel_registry import DESIGNS

_EPSILON = {"nats": "--epsilon, nats", "per metre": "--epsilon per metre"}
_MECHANISM_HELP = "; ".join(f"{design.name}: {design.summary} ({_EPSILON[design.epsilon_unit]})" for design in DESIGNS)
_PRIOR_HELP = "CSV, Parquet or JSON: one probability or count per line, or label, value, and lat, lon or x_m, y_m."
_DISTORTION_HELP = (
    "hamming, euclidean (needs coordinates) or a CSV of numbers, one row per symbol and one column per output."
)
_PRIORS_HELP = "For which priors to promise: known, all, tv:RADIUS, or from counts: clopper-pearson, weissman."
_REMAP_HELP = "Replace each report by the best answer under the prior (post-processing)."
_MEASURED_DISTORTION_HELP = "hamming, euclidean or a CSV; default: what the channel records, else hamming."
_MEASURED_PRIOR_HELP = "The prior to measure against (see `channel design --help` for the format)."
_FLOOR_HELP = "Mix the prior with this share of the uniform one."


def register(app: typer.Typer) -> None:
    """Add ``channel design``, ``channel measure`` and ``channel compare``."""
    channel_app = typer.Typer(no_args_is_help=True, help=__doc__)
    channel_app.command("design")(design)
    channel_app.command("measure")(measure)
    register_compare(channel_app)
    app.add_typer(channel_app, name="channel")


def design(
    mechanism: str = typer.Option("lip-optimal", help=_MECHANISM_HELP),
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: float = typer.Option(..., help="Leakage in nats, or per metre for geo mechanisms; greater than 0."),
    distortion: str = typer.Option("hamming", help=_DISTORTION_HELP),
    epsilon_low: float | None = typer.Option(None, help="A different limit for the lower side (asymmetric LIP)."),
    priors: str = typer.Option("known", help=_PRIORS_HELP),
    beta: float = typer.Option(0.05, help="Error probability of the set built from counts."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    floor: float = typer.Option(0.0, help=_FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    remap: bool = typer.Option(False, help=_REMAP_HELP),
    gap: float = typer.Option(1e-6, help="Relative gap to certify between the cost and its lower bound."),
    max_seconds: float | None = typer.Option(None, help="Stop refining after this long and report the gap reached."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to save: .parquet, .csv or .json."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Design a channel, certify its leakage on the matrix that ships, and save it with labels and distortion."""
    from sfumato.cli.channel_designed import DesignOptions, run_design

    asked = DesignOptions(
        mechanism=mechanism,
        prior=prior,
        epsilon=epsilon,
        distortion=distortion,
        epsilon_low=epsilon_low,
        priors=priors,
        beta=beta,
        grid=grid,
        cell_size=cell_size,
        floor=floor,
        drop_zeros=drop_zeros,
        remap=remap,
        gap=gap,
        max_seconds=max_seconds,
        output=output,
    )
    run_design(asked, json=json)


def measure(
    channel: Path = typer.Argument(..., help="A saved channel (.parquet, .csv, .json) or a bare numeric CSV."),
    prior: Path = typer.Option(..., help=_MEASURED_PRIOR_HELP),
    distortion: str | None = typer.Option(None, help=_MEASURED_DISTORTION_HELP),
    epsilon: float | None = typer.Option(None, help="Also the smallest (epsilon, delta) deltas at this epsilon."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: coordinates for a prior without them."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m."),
    floor: float = typer.Option(0.0, help=_FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0, and their rows."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Every leakage of a channel under a prior, in nats, with its average distortion and the best guess's error."""
    from sfumato.cli.channel_measured import run_measure

    run_measure(
        channel,
        prior=prior,
        distortion=distortion,
        epsilon=epsilon,
        grid=grid,
        cell_size=cell_size,
        floor=floor,
        drop_zeros=drop_zeros,
        json=json,
    )
