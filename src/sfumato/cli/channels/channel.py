"""Design a channel, measure what one tells, compare mechanisms at equal leakage. Everything in nats."""

from __future__ import annotations

from collections.abc import Callable

import typer

from sfumato.cli.channels.channel_compare import compare_command
from sfumato.cli.channels.channel_design import design
from sfumato.cli.channels.channel_measure import measure
from sfumato.cli.channels.channel_refine import refine
from sfumato.cli.channels.channel_special import binary, latent, most_information, resample
from sfumato.cli.channels.channel_theorems import compose, convert, mismatch, rate_distortion

COMMANDS: dict[str, Callable[..., None]] = {
    "design": design,
    "measure": measure,
    "compare": compare_command,
    "refine": refine,
    "convert": convert,
    "compose": compose,
    "mismatch": mismatch,
    "rate-distortion": rate_distortion,
    "binary": binary,
    "latent": latent,
    "most-information": most_information,
    "resample": resample,
}


def register(app: typer.Typer) -> None:
    """Add ``channel`` with its commands."""
    channel_app = typer.Typer(no_args_is_help=True, help=__doc__)
    for name, command in COMMANDS.items():
        channel_app.command(name)(command)
    app.add_typer(channel_app, name="channel")
