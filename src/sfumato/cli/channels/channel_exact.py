"""``sfumato channel measure --exact``: a small channel of fractions, measured without rounding."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.channels.files.sample_files import read_fractions
from sfumato.channels.measures.exact_fractions import ExactChannel, exact_prior, nats
from sfumato.cli.output import print_json


def run_exact(path: Path, *, prior: Path | None, json: bool) -> None:
    """Print the exact ratios behind every leakage, and the leakages in nats."""
    channel = ExactChannel.of(read_fractions(path))
    if prior is None:
        raise InputError("--exact needs --prior, a file of fractions.", "One per line, for example 1/3.")
    rows = read_fractions(prior)
    law = exact_prior([row[-1] for row in rows], channel.shape[0])
    high, low = channel.lifts(law)
    before, after = channel.bayes_vulnerability(law)
    ratio = channel.largest_ratio()
    found: dict[str, tuple[str, Fraction | None, float]] = {
        "lip_up": ("a belief grows at most by the factor", high, nats(high)),
        "lip_low": ("a belief falls at most to the share", low, -nats(low)),
        "ldp": ("largest likelihood ratio", ratio, nats(ratio)),
        "maximal_leakage": ("sum of column maxima", channel.column_maxima(), nats(channel.column_maxima())),
        "min_entropy_leakage": ("factor for one guess", after / before, nats(after / before)),
        "bayes_vulnerability": ("the best guess is right", after, float(after)),
    }
    if json:
        print_json(
            {
                "ok": True,
                "exact": {
                    key: {"fraction": None if f is None else str(f), "value": value}
                    for key, (_, f, value) in found.items()
                },
                "shape": list(channel.shape),
            }
        )
        return
    for key, (words, fraction, value) in found.items():
        shown = "infinite" if fraction is None else str(fraction)
        typer.echo(f"{words:<38} {shown:>24}   {key} {value:.12g}")
