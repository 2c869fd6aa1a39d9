"""What ``sfumato reading`` does once its options are read: choose the mechanism, draw, and state the guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.cell_files import read_matrix
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.numbers import clamped_laplace, gaussian_channel
from sfumato.channels.designs.numbers.continuous_sampling import ContinuousSampling
from sfumato.cli.output import print_json

MECHANISMS = ("gaussian", "laplace", "context-laplace", "sampling")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """The options of the command."""

    mechanism: str
    epsilon: float
    delta: float | None
    prior_mean: float | None
    prior_sd: float | None
    promise: str | None
    radius: float | None
    least_mass: float | None
    values: Path | None
    calibration: str

    def needed(self, name: str, advice: str) -> float:
        """A number this mechanism cannot do without."""
        number = getattr(self, name)
        if number is None:
            raise InputError(f"{self.mechanism} needs --{name.replace('_', '-')}.", advice)
        return float(number)


def run_reading(
    options: ReadingOptions,
    value: float | None,
    readings: Path | None,
    *,
    seed: int | None,
    output: Path | None,
    json: bool,
) -> None:
    """Draw one private number per reading and print the guarantee."""
    if (value is None) == (readings is None):
        raise InputError("Give one number, or --readings with a file of numbers.", "One of the two.")
    numbers = np.array([value], dtype=np.float64) if readings is None else read_matrix(readings).reshape(-1)
    released, guarantee = _released(options, numbers, seed)
    simulation = seed is not None
    if output is not None:
        write_text(output, "".join(f"{number!r}\n" for number in released.tolist()))
    if json:
        answer: dict[str, object] = {"ok": True, "mechanism": options.mechanism, "simulation": simulation}
        answer |= {"guarantee": guarantee.to_dict(), "private": released.tolist() if output is None else None}
        answer["output"] = str(output) if output else None
        print_json(answer)
        return
    if output is None:
        for number in released.tolist():
            typer.echo(f"{number:.10g}")
    else:
        typer.echo(f"{released.size} private readings written to {output}")
    typer.echo(f"Promise: {guarantee.notion}")
    for name, number in guarantee.parameters.items():
        if number is not None:
            typer.echo(f"  {name} {number:.6g}" if isinstance(number, float) else f"  {name} {number}")
    for title, sentences in (
        ("Assumes", guarantee.assumes),
        ("Covers", guarantee.covers),
        ("Not covered", guarantee.not_covered),
    ):
        for sentence in sentences:
            typer.echo(f"{title}: {sentence}")
    if simulation:
        typer.echo("A seeded simulation: whoever knows the seed can undo it.")


def _released(options: ReadingOptions, numbers: FloatArray, seed: int | None) -> tuple[FloatArray, Guarantee]:
    if options.mechanism == "gaussian":
        noise = gaussian_channel.calibrated(
            prior_variance=options.needed("prior_sd", "How far readings spread, for example --prior-sd 2.") ** 2,
            epsilon=options.epsilon,
            delta=options.needed("delta", "For example --delta 0.01."),
            promise=gaussian_channel.checked_promise(options.promise or ""),
            radius=options.radius,
            least_mass=options.least_mass,
            mean=options.needed("prior_mean", "What readings are on average."),
        )
        _refuse_outside(options, numbers)
        return noise.release(numbers, seed), noise.guarantee()
    if options.mechanism == "sampling":
        sampling = ContinuousSampling(
            options.needed("prior_mean", "What readings are on average."),
            options.needed("prior_sd", "How far readings spread."),
            options.epsilon,
            options.needed("delta", "How often the truth may be told, for example --delta 0.01."),
        )
        return sampling.release(numbers, seed), sampling.guarantee()
    if options.mechanism in ("laplace", "context-laplace"):
        return _laplace(options, numbers, seed)
    raise InputError(f"There is no mechanism '{options.mechanism}'.", f"Use one of: {', '.join(MECHANISMS)}.")


def _refuse_outside(options: ReadingOptions, numbers: FloatArray) -> None:
    """A promise for a range says nothing about a reading outside it: such a one is not reported."""
    if options.promise == "range" and options.radius is not None and options.prior_mean is not None:
        outside = int(np.sum(np.abs(numbers - options.prior_mean) > options.radius))
        if outside:
            raise InputError(
                f"{outside} reading(s) lie outside the range that is promised.",
                "Widen --radius, clamp them to the range, or leave them out.",
            )


def _laplace(options: ReadingOptions, numbers: FloatArray, seed: int | None) -> tuple[FloatArray, Guarantee]:
    if options.values is None:
        raise InputError(f"{options.mechanism} needs --values.", "A CSV of possible values and their probabilities.")
    table = read_matrix(options.values)
    if table.shape[1] != 2:
        raise InputError(f"The values have {table.shape[1]} columns.", "Give a value and its probability per line.")
    kind = clamped_laplace.checked_calibration(options.calibration)
    build = clamped_laplace.independent if options.mechanism == "laplace" else clamped_laplace.context_aware
    made = build(table[:, 0], table[:, 1], options.epsilon, calibration=kind)
    where = np.argmin(np.abs(numbers[:, None] - made.values[None, :]), axis=1)
    strange = int(np.sum(made.values[where] != numbers))
    if strange:
        raise InputError(f"{strange} reading(s) are not among the possible values.", "Round them first.")
    return made.release(where, seed), made.guarantee()
