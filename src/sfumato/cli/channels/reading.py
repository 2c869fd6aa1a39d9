"""``sfumato reading``: a number in, a private number out, and what is promised about it."""

from __future__ import annotations

from pathlib import Path

import typer

_MECHANISMS = (
    "gaussian: Gaussian noise on a Gaussian number (--prior-mean, --prior-sd, --promise); laplace: clamped Laplace "
    "noise, the same for all values; context-laplace: less noise for likely values [Jiang2021, Thm 6]; sampling: the "
    "truth with probability delta, else a draw from the prior [Jiang2021, Prop. 2]."
)
_PROMISE_HELP = (
    "gaussian: range (values within --radius of the mean), average, or mass (events of at least --least-mass). There "
    "is no promise for every value."
)
_VALUES_HELP = "laplace: CSV of the possible values and their probabilities, one pair per line."


def register(app: typer.Typer) -> None:
    """Add ``reading`` to the app."""
    app.command("reading")(reading)


def reading(
    value: float | None = typer.Argument(None, help="The number to report; or --readings for one per line of a file."),
    readings: Path | None = typer.Option(None, help="CSV of numbers, one per line: one person's reading each."),
    mechanism: str = typer.Option("gaussian", help=_MECHANISMS),
    epsilon: float = typer.Option(..., help="Leakage of local information privacy, in nats."),
    delta: float | None = typer.Option(None, help="gaussian and sampling: how often epsilon may be passed."),
    prior_mean: float | None = typer.Option(None, help="The average of such readings, as anybody knows it."),
    prior_sd: float | None = typer.Option(None, help="How far they spread."),
    promise: str | None = typer.Option(None, help=_PROMISE_HELP),
    radius: float | None = typer.Option(None, help="gaussian, range: how far from the mean the promise reaches."),
    least_mass: float | None = typer.Option(None, help="gaussian, mass: the smallest probability of an event covered."),
    values: Path | None = typer.Option(None, help=_VALUES_HELP),
    calibration: str = typer.Option("exact", help="laplace: exact, or sufficient (the theorem's conditions)."),
    seed: int | None = typer.Option(None, help="For a simulation only: the noise can then be undone."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write the private numbers here, one per line."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Report a number privately: noise for one reading, with the guarantee that was computed for it.

    The guarantee is of local information privacy, for one reading of one person under the prior stated. Several
    readings of the same person are not covered: no rule is known for adding them up.
    """
    from sfumato.cli.channels.reading_released import ReadingOptions, run_reading

    options = ReadingOptions(
        mechanism=mechanism,
        epsilon=epsilon,
        delta=delta,
        prior_mean=prior_mean,
        prior_sd=prior_sd,
        promise=promise,
        radius=radius,
        least_mass=least_mass,
        values=values,
        calibration=calibration,
    )
    run_reading(options, value, readings, seed=seed, output=output, json=json)
