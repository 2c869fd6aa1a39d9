"""``sfumato channel binary | latent | most-information | resample``: designs with a question of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.base.things.cell_files import read_matrix
from sfumato.channels.designs.lip import closed_forms
from sfumato.channels.designs.lip.other_goals import latent_channel
from sfumato.channels.designs.lip.other_goals import most_information as best_information
from sfumato.channels.designs.task import DesignedChannel
from sfumato.channels.files.channel_files import write_channel
from sfumato.channels.measures.discrete import hamming
from sfumato.cli.channels.channel_inputs import JSON_HELP, PRIOR_HELP, plain_prior
from sfumato.cli.output import print_json, print_promise

_OUTPUT_HELP = "Where to save the channel: .parquet, .csv or .json."
_EPSILON_HELP = "Leakage of local information privacy, in nats."


def binary(
    probability: str = typer.Argument(..., help="P(X = 1), or an interval it lies in: 0.3 or 0.2:0.4."),
    epsilon: float = typer.Option(..., help=_EPSILON_HELP),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """The best channel for a yes or no, in closed form: no other with that leakage tells anybody more, for any use."""
    try:
        ends = [float(part) for part in probability.split(":")]
    except ValueError as error:
        advice = "Write 0.3, or 0.2:0.4 for an interval."
        raise InputError(f"'{probability}' is not a probability.", advice) from error
    if len(ends) not in (1, 2):
        raise InputError(f"'{probability}' is not a probability or an interval.", "Write 0.3 or 0.2:0.4.")
    made = closed_forms.binary_channel(ends[0] if len(ends) == 1 else (ends[0], ends[1]), epsilon)
    _ship(made, {}, output, json=json)


def latent(
    given: Path = typer.Option(..., help="CSV of P(x | s): one row per value of what must stay hidden."),
    secret_prior: Path = typer.Option(..., help="The probabilities of those values, one per line."),
    epsilon: float = typer.Option(..., help="How far a report may move the belief in any value of s, in nats."),
    distortion: Path | None = typer.Option(None, help="CSV of d(x, y); default: hamming."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Hide a latent variable behind the symbols, and nothing else: about the symbol itself there is no promise."""
    rows = read_matrix(given)
    costs = hamming(rows.shape[1]) if distortion is None else read_matrix(distortion)
    found = latent_channel(read_matrix(secret_prior).reshape(-1), rows, costs, epsilon)
    more = {"average_distortion": found.objective, "gap": found.gap, "status": found.status}
    _ship(found.value, more, output, json=json)


def most_information(
    prior: Path = typer.Option(..., help=PRIOR_HELP),
    epsilon: float = typer.Option(..., help=_EPSILON_HELP),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """The channel that tells the most on average within a leakage of local information privacy; about ten symbols."""
    best = best_information(plain_prior(prior).probabilities, epsilon)
    numbers = {"mutual_information_nats": best.utility, "upper_bound_nats": best.upper_bound, "gap": best.gap}
    _ship(best.designed, {**numbers, "status": best.status}, output, json=json)


def resample(
    prior: Path = typer.Option(..., help=PRIOR_HELP),
    epsilon: float = typer.Option(..., help=_EPSILON_HELP),
    delta: float = typer.Option(..., help="How often it may be passed (additive)."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Tell the truth with the largest probability that keeps (epsilon, delta), else a symbol drawn from the prior."""
    p = plain_prior(prior).probabilities
    made = closed_forms.resampling_with_delta(p, epsilon, delta)
    share = closed_forms.resampling_share(p, epsilon, delta=delta)
    _ship(made, {"share_of_truth": share}, output, json=json)


def _ship(made: DesignedChannel, more: Mapping[str, object], output: Path | None, *, json: bool) -> None:
    """Measure the channel on its way out, then save and print it; one that does not keep its promise does not leave."""
    channel, guarantee = made.channel, made.guarantee
    if output is not None:
        write_whole(output, lambda path: write_channel(channel, path))
    if json:
        answer: dict[str, object] = {"ok": True, "guarantee": guarantee.to_dict(), **more}
        print_json({**answer, "matrix": channel.matrix, "channel": str(output) if output else None})
        return
    for row, name in zip(channel.matrix, channel.inputs, strict=True):
        typer.echo(f"{name:>10}  " + "  ".join(f"{value:.6f}" for value in row))
    print_promise(guarantee, more)
    for sentence in guarantee.not_covered:
        typer.echo(f"Not covered: {sentence}")
