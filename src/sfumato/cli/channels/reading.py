"""``sfumato reading``: a number in, a private number out, and what is promised about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.cell_files import read_matrix
from sfumato.channels.designs.numbers import clamped_laplace, gaussian_channel
from sfumato.cli.output import print_json, print_promise

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
_MEAN, _SD = "What readings are on average.", "How far readings spread, for example --prior-sd 2."
_GAUSSIAN, _LAPLACE = "Gaussian noise", "Laplace noise"


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
    promise: str | None = typer.Option(None, help=_PROMISE_HELP, rich_help_panel=_GAUSSIAN),
    radius: float | None = typer.Option(
        None, help="gaussian, range: how far from the mean the promise reaches.", rich_help_panel=_GAUSSIAN
    ),
    least_mass: float | None = typer.Option(
        None, help="gaussian, mass: the smallest probability of an event covered.", rich_help_panel=_GAUSSIAN
    ),
    values: Path | None = typer.Option(None, help=_VALUES_HELP, rich_help_panel=_LAPLACE),
    calibration: str = typer.Option(
        "exact", help="laplace: exact, or sufficient (the theorem's conditions).", rich_help_panel=_LAPLACE
    ),
    seed: int | None = typer.Option(None, help="For a simulation only: the noise can then be undone."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Write the private numbers here, one per line."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Report a number privately: noise for one reading, with the guarantee that was computed for it.

    The guarantee is of local information privacy, for one reading of one person under the prior stated. Several
    readings of the same person are not covered: no rule is known for adding them up.
    """

    def need(name: str, number: float | None, advice: str) -> float:
        if number is None:
            raise InputError(f"{mechanism} needs --{name}.", advice)
        return number

    if (value is None) == (readings is None):
        raise InputError("Give one number, or --readings with a file of numbers.", "One of the two.")
    numbers = np.array([value], dtype=np.float64) if readings is None else read_matrix(readings).reshape(-1)
    noise: gaussian_channel.GaussianChannel | gaussian_channel.ContinuousSampling | clamped_laplace.ClampedLaplace
    if mechanism == "gaussian":
        noise = gaussian_channel.calibrate(
            prior_variance=need("prior-sd", prior_sd, _SD) ** 2,
            epsilon=epsilon,
            delta=need("delta", delta, "For example --delta 0.01."),
            promise=gaussian_channel.checked_promise(promise or ""),
            radius=radius,
            least_mass=least_mass,
            mean=need("prior-mean", prior_mean, _MEAN),
        )
        if promise == "range" and radius is not None and prior_mean is not None:
            outside = int(np.sum(np.abs(numbers - prior_mean) > radius))
            if outside:  # a promise for a range says nothing about a reading outside it
                advice = "Widen --radius, clamp them to the range, or leave them out."
                raise InputError(f"{outside} reading(s) lie outside the range that is promised.", advice)
    elif mechanism == "sampling":
        share = "How often the truth may be told, for example --delta 0.01."
        noise = gaussian_channel.ContinuousSampling(
            need("prior-mean", prior_mean, _MEAN),
            need("prior-sd", prior_sd, "How far readings spread."),
            epsilon,
            need("delta", delta, share),
        )
    elif mechanism in ("laplace", "context-laplace"):
        noise, numbers = _laplace(mechanism, values, epsilon, calibration, numbers)
    else:
        names = "gaussian, laplace, context-laplace, sampling"
        raise InputError(f"There is no mechanism '{mechanism}'.", f"Use one of: {names}.")
    _report(mechanism, noise.release(numbers, seed), noise.guarantee(), seed, output, json=json)


def _laplace(
    mechanism: str, values: Path | None, epsilon: float, calibration: str, numbers: FloatArray
) -> tuple[clamped_laplace.ClampedLaplace, FloatArray]:
    """The mechanism over the file's values, and which of them each reading is."""
    if values is None:
        raise InputError(f"{mechanism} needs --values.", "A CSV of possible values and their probabilities.")
    table = read_matrix(values)
    if table.shape[1] != 2:
        raise InputError(f"The values have {table.shape[1]} columns.", "Give a value and its probability per line.")
    kind = clamped_laplace.checked_calibration(calibration)
    build = clamped_laplace.independent if mechanism == "laplace" else clamped_laplace.context_aware
    made = build(table[:, 0], table[:, 1], epsilon, calibration=kind)
    where = np.argmin(np.abs(numbers[:, None] - made.values[None, :]), axis=1)
    strange = int(np.sum(made.values[where] != numbers))
    if strange:
        raise InputError(f"{strange} reading(s) are not among the possible values.", "Round them first.")
    return made, where


def _report(
    mechanism: str, released: FloatArray, guarantee: Guarantee, seed: int | None, output: Path | None, *, json: bool
) -> None:
    """Write and print the private numbers, and what is promised about them."""
    if output is not None:
        write_text(output, "".join(f"{number!r}\n" for number in released.tolist()))
    if json:
        answer: dict[str, object] = {"ok": True, "mechanism": mechanism, "simulation": seed is not None}
        answer |= {"guarantee": guarantee.to_dict(), "private": released.tolist() if output is None else None}
        print_json({**answer, "output": str(output) if output else None})
        return
    if output is None:
        for number in released.tolist():
            typer.echo(f"{number:.10g}")
    else:
        typer.echo(f"{released.size} private readings written to {output}")
    print_promise(guarantee)
    said = (("Assumes", guarantee.assumes), ("Covers", guarantee.covers), ("Not covered", guarantee.not_covered))
    for title, sentences in said:
        for sentence in sentences:
            typer.echo(f"{title}: {sentence}")
    if seed is not None:
        typer.echo("A seeded simulation: whoever knows the seed can undo it.")
