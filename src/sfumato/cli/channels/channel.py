"""Design a channel, measure what one tells, compare mechanisms at equal leakage. Everything in nats."""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.channels.designs.channel_registry import DESIGNS
from sfumato.cli.channels.channel_compare import register_compare
from sfumato.cli.channels.channel_gain import tries_of
from sfumato.cli.channels.channel_refine import register_refine
from sfumato.cli.channels.channel_special import register_special
from sfumato.cli.channels.channel_theorems import register_theorems

_EPSILON = {"nats": "--epsilon, nats", "per metre": "--epsilon per metre"}
_MECHANISM_HELP = "; ".join(f"{design.name}: {design.summary} ({_EPSILON[design.epsilon_unit]})" for design in DESIGNS)
_PRIOR_HELP = "CSV, Parquet or JSON: one probability or count per line, or label, value, and lat, lon or x_m, y_m."
_DISTORTION_HELP = (
    "hamming, euclidean (needs coordinates) or a CSV of numbers, one row per symbol and one column per output. "
    "Default: euclidean where the prior has coordinates, else hamming."
)
_EPSILON_HELP = (
    "Leakage in nats, or per metre for geo mechanisms; greater than 0. Needed except with --beta or a target."
)
_BETA_HELP = "blahut-arimoto: the rate, a plain number per unit of distortion."
_FIRST_HELP = "blahut-arimoto: the channel to start from, or its output weights, one per line. Default: uniform."
_PRIORS_HELP = (
    "For which priors to promise: known, all, tv:RADIUS, polytope:FILE (one prior per row; every mixture), box:FILE "
    "(two rows: lower and upper bounds), or from counts: clopper-pearson, weissman."
)
_REMAP_HELP = "Replace each report by the best answer under the prior (post-processing)."
_MEASURED_DISTORTION_HELP = "hamming, euclidean or a CSV; default: what the channel records, else hamming."
_MEASURED_PRIOR_HELP = "The prior to measure against (see `channel design --help` for the format)."
_CHANNEL_HELP = "A saved channel (.parquet, .csv, .json) or a bare numeric CSV; left out with --samples."
_GAIN_HELP = (
    "What the adversary of g-leakage wants: identity (one guess), tries:3, within:200m, nearness:500m, or a CSV of "
    "gains, one row per guess and one column per symbol."
)
_SAMPLES_HELP = (
    "Instead of a channel: CSV or Parquet of samples of a mechanism, columns input and output, or input, x_m and y_m "
    "for reports that are points."
)
_GAP_HELP = (
    "Relative gap to certify between the cost and its lower bound; else 1e-6, for geo-optimal 5e-5 (3 % "
    "above about 220 places). Missing it is an "
    "error (see --accept-gap)."
)
_ACCEPT_HELP = "Take what was found when the gap or the time ran out; the gap reached is printed."
_FLOOR_HELP = "Mix the prior with this share of the uniform one."


def register(app: typer.Typer) -> None:
    """Add ``channel design``, ``measure``, ``compare``, ``refine`` and the theorems."""
    channel_app = typer.Typer(no_args_is_help=True, help=__doc__)
    channel_app.command("design")(design)
    channel_app.command("measure")(measure)
    register_compare(channel_app)
    register_refine(channel_app)
    register_theorems(channel_app)
    register_special(channel_app)
    app.add_typer(channel_app, name="channel")


def design(
    mechanism: str = typer.Option("lip-optimal", help=_MECHANISM_HELP),
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: float | None = typer.Option(None, help=_EPSILON_HELP),
    beta: float | None = typer.Option(None, help=_BETA_HELP),
    distortion_target: float | None = typer.Option(None, help="blahut-arimoto: the average distortion accepted."),
    first_channel: Path | None = typer.Option(None, help=_FIRST_HELP),
    distortion: str | None = typer.Option(None, help=_DISTORTION_HELP),
    epsilon_low: float | None = typer.Option(None, help="A different limit for the lower side (asymmetric LIP)."),
    priors: str = typer.Option("known", help=_PRIORS_HELP),
    set_error: float = typer.Option(0.05, help="Error probability of the set built from counts."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    floor: float = typer.Option(0.0, help=_FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    remap: bool = typer.Option(False, help=_REMAP_HELP),
    gap: float | None = typer.Option(None, help=_GAP_HELP),
    max_seconds: float | None = typer.Option(None, help="Stop refining after this long."),
    accept_gap: bool = typer.Option(False, "--accept-gap", help=_ACCEPT_HELP),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to save: .parquet, .csv or .json."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Design a channel, certify its leakage on the matrix that ships, and save it with labels and distortion."""
    from sfumato.cli.channels.channel_designed import DesignOptions, run_design

    asked = DesignOptions(
        mechanism=mechanism,
        prior=prior,
        epsilon=epsilon,
        distortion=distortion,
        epsilon_low=epsilon_low,
        priors=priors,
        beta=beta,
        distortion_target=distortion_target,
        first_channel=first_channel,
        set_error=set_error,
        grid=grid,
        cell_size=cell_size,
        floor=floor,
        drop_zeros=drop_zeros,
        remap=remap,
        gap=gap,
        max_seconds=max_seconds,
        accept_gap=accept_gap,
        output=output,
    )
    run_design(asked, json=json)


def measure(
    channel: Path | None = typer.Argument(None, help=_CHANNEL_HELP),
    prior: Path | None = typer.Option(None, help=_MEASURED_PRIOR_HELP),
    distortion: str | None = typer.Option(None, help=_MEASURED_DISTORTION_HELP),
    epsilon: float | None = typer.Option(None, help="Also the smallest (epsilon, delta) deltas at this epsilon."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: coordinates for a prior without them."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m."),
    floor: float = typer.Option(0.0, help=_FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0, and their rows."),
    order: float = typer.Option(2.0, help="Order of the alpha-leakages and of Rényi LDP; at least 1, or inf."),
    second_order: float = typer.Option(4.0, help="Second order of maximal (alpha, beta)-leakage; at least 1, or inf."),
    delta: float = typer.Option(1e-3, help="Delta of (epsilon, delta)-LDP and of the pointwise quantile."),
    gain: str = typer.Option("identity", help=_GAIN_HELP),
    samples: Path | None = typer.Option(None, help=_SAMPLES_HELP),
    all_outputs: bool = typer.Option(False, help="The outputs in --samples are all there are: allows upper ends."),
    error: float = typer.Option(0.05, help="Error probability of the intervals of --samples."),
    exact: bool = typer.Option(False, help="Channel and prior are CSV of fractions (1/3): measured without rounding."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Every leakage of a channel under a prior, in nats, with its average distortion and the best guess's error.

    With --samples instead of a channel: Bayes, g-, LIP and LDP leakage of a mechanism known only by samples, each with
    an interval, and warnings where samples cannot tell.
    """
    from sfumato.cli.channels.channel_measured import MeasureOptions, run_measure

    if samples is not None:
        from sfumato.cli.channels.channel_sampled import run_samples

        if channel is not None or exact:
            raise InputError("--samples stands instead of a channel.", "Leave the channel and --exact out.")
        run_samples(samples, prior=prior, all_outputs=all_outputs, error=error, tries=tries_of(gain), json=json)
        return
    if channel is None:
        raise InputError("There is nothing to measure.", "Give a channel file, or --samples.")
    if exact:
        from sfumato.cli.channels.channel_exact import run_exact

        run_exact(channel, prior=prior, json=json)
        return
    if prior is None:
        raise InputError("There is no prior.", "Give --prior, one probability or count per line.")
    run_measure(
        channel,
        options=MeasureOptions(order=order, second_order=second_order, delta=delta, gain=gain),
        prior=prior,
        distortion=distortion,
        epsilon=epsilon,
        grid=grid,
        cell_size=cell_size,
        floor=floor,
        drop_zeros=drop_zeros,
        json=json,
    )
