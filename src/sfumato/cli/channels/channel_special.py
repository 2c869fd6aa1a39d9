"""``sfumato channel binary | latent | most-information | resample``: designs with a question of their own."""

from __future__ import annotations

from pathlib import Path

import typer

_PRIOR_HELP = "One probability or count per line (see `channel design --help` for the format)."
_OUTPUT_HELP = "Where to save the channel: .parquet, .csv or .json."


def register_special(channel_app: typer.Typer) -> None:
    """Add the four commands."""
    channel_app.command("binary")(binary)
    channel_app.command("latent")(latent)
    channel_app.command("most-information")(most_information)
    channel_app.command("resample")(resample)


def binary(
    probability: str = typer.Argument(..., help="P(X = 1), or an interval it lies in: 0.3 or 0.2:0.4."),
    epsilon: float = typer.Option(..., help="Leakage of local information privacy, in nats."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """The best channel for a yes or no, in closed form: no other with that leakage tells anybody more, for any use."""
    from sfumato.cli.channels.channel_specials import run_binary

    run_binary(probability, epsilon, output=output, json=json)


def latent(
    given: Path = typer.Option(..., help="CSV of P(x | s): one row per value of what must stay hidden."),
    secret_prior: Path = typer.Option(..., help="The probabilities of those values, one per line."),
    epsilon: float = typer.Option(..., help="How far a report may move the belief in any value of s, in nats."),
    distortion: Path | None = typer.Option(None, help="CSV of d(x, y); default: hamming."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Hide a latent variable behind the symbols, and nothing else: about the symbol itself there is no promise."""
    from sfumato.cli.channels.channel_specials import run_latent

    run_latent(given, secret_prior, epsilon, distortion=distortion, output=output, json=json)


def most_information(
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: float = typer.Option(..., help="Leakage of local information privacy, in nats."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """The channel that tells the most on average within a leakage of local information privacy; about ten symbols."""
    from sfumato.cli.channels.channel_specials import run_most_information

    run_most_information(prior, epsilon, output=output, json=json)


def resample(
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: float = typer.Option(..., help="Leakage of local information privacy, in nats."),
    delta: float = typer.Option(..., help="How often it may be passed (additive)."),
    output: Path | None = typer.Option(None, "--output", "-o", help=_OUTPUT_HELP),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Tell the truth with the largest probability that keeps (epsilon, delta), else a symbol drawn from the prior."""
    from sfumato.cli.channels.channel_specials import run_resample

    run_resample(prior, epsilon, delta, output=output, json=json)
