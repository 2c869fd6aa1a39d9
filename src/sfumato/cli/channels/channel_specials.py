"""What ``channel binary | latent | most-information | resample`` do once their options are read."""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.base.things.cell_files import read_matrix
from sfumato.base.things.channel import Channel
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.lip import closed_forms
from sfumato.channels.designs.lip.best_utility import most_information
from sfumato.channels.designs.lip.latent import latent_channel
from sfumato.channels.files.channel_files import write_channel
from sfumato.channels.measures.discrete import hamming
from sfumato.cli.channels.channel_inputs import prior_of
from sfumato.cli.output import print_json


def run_binary(text: str, epsilon: float, *, output: Path | None, json: bool) -> None:
    """The closed form for two symbols."""
    try:
        ends = [float(part) for part in text.split(":")]
    except ValueError as error:
        raise InputError(f"'{text}' is not a probability.", "Write 0.3, or 0.2:0.4 for an interval.") from error
    if len(ends) not in (1, 2):
        raise InputError(f"'{text}' is not a probability or an interval.", "Write 0.3 or 0.2:0.4.")
    made = closed_forms.binary_channel(ends[0] if len(ends) == 1 else (ends[0], ends[1]), epsilon)
    _told(made.channel, made.guarantee, {}, output=output, json=json)


def run_latent(
    given: Path, secret_prior: Path, epsilon: float, *, distortion: Path | None, output: Path | None, json: bool
) -> None:
    """The cheapest channel that says little about s."""
    rows = read_matrix(given)
    costs = hamming(rows.shape[1]) if distortion is None else read_matrix(distortion)
    solved = latent_channel(read_matrix(secret_prior).reshape(-1), rows, costs, epsilon)
    more: dict[str, object] = {"average_distortion": solved.objective, "gap": solved.gap, "status": solved.status}
    _told(solved.value.channel, solved.value.guarantee, more, output=output, json=json)


def run_most_information(prior: Path, epsilon: float, *, output: Path | None, json: bool) -> None:
    """The largest information within a leakage."""
    law = prior_of(prior, grid=None, floor=0.0, drop_zeros=False)[0]
    best = most_information(law.probabilities, epsilon)
    more: dict[str, object] = {
        "mutual_information_nats": best.utility,
        "upper_bound_nats": best.upper_bound,
        "gap": best.gap,
        "status": best.status,
    }
    _told(best.designed.channel, best.designed.guarantee, more, output=output, json=json)


def run_resample(prior: Path, epsilon: float, delta: float, *, output: Path | None, json: bool) -> None:
    """Prior resampling with a delta."""
    law = prior_of(prior, grid=None, floor=0.0, drop_zeros=False)[0]
    channel, guarantee = closed_forms.resampling_guarantee(law.probabilities, epsilon, delta)
    share = closed_forms.resampling_share(law.probabilities, epsilon, delta=delta)
    _told(channel, guarantee, {"share_of_truth": share}, output=output, json=json)


def _told(channel: Channel, guarantee: Guarantee, more: dict[str, object], *, output: Path | None, json: bool) -> None:
    if output is not None:
        write_whole(output, lambda path: write_channel(channel, path))
    if json:
        answer: dict[str, object] = {"ok": True, "guarantee": guarantee.to_dict(), **more}
        print_json({**answer, "matrix": channel.matrix, "channel": str(output) if output else None})
        return
    for row, name in zip(channel.matrix, channel.inputs, strict=True):
        typer.echo(f"{name:>10}  " + "  ".join(f"{value:.6f}" for value in row))
    typer.echo(f"Promise: {guarantee.notion}")
    for key, number in {**guarantee.parameters, **more}.items():
        if number is not None:
            typer.echo(f"  {key} {number:.6g}" if isinstance(number, float) else f"  {key} {number}")
    for sentence in guarantee.not_covered:
        typer.echo(f"Not covered: {sentence}")
