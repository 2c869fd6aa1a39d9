"""What ``sfumato channel measure`` does once its options are read: match prior and channel, and measure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import read_cells
from sfumato.channels.files.channel_files import read_channel
from sfumato.channels.measures.discrete import epsilon_delta
from sfumato.channels.measures.table import WORDS, Asked, Measures, measured
from sfumato.cli.channels.channel_gain import gain_of
from sfumato.cli.channels.channel_inputs import grid_of, matched, measured_distortion, prior_of
from sfumato.cli.output import print_json


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What some notions need: orders, a delta, and what the adversary wants."""

    order: float = 2.0
    second_order: float = 4.0
    delta: float = 1e-3
    gain: str = "identity"


def run_measure(
    path: Path,
    *,
    options: MeasureOptions,
    prior: Path,
    distortion: str | None,
    epsilon: float | None,
    grid: str | None,
    cell_size: str | None,
    floor: float,
    drop_zeros: bool,
    json: bool,
) -> None:
    """Print every measure of a saved channel."""
    channel = read_channel(path)
    cells = grid_of(grid, cell_size)
    law = matched(
        prior_of(prior, grid=cells, floor=floor, drop_zeros=True, keep_zeros=True)[0],
        channel,
        named=bool(read_cells(prior).labels),
    )
    if law.zeros.size:
        if not drop_zeros:
            raise InputError(
                f"{law.zeros.size} symbol(s) have prior probability 0: no leakage is defined for them.",
                "Measure over the others with --drop-zeros, or give them a floor (--floor 0.01).",
            )
        law, kept = law.without_zeros()
        channel = channel.restricted(kept)
    costs, name = measured_distortion(distortion, channel, law)
    unit = "m" if cells is None else cells.unit
    asked = Asked(options.order, options.second_order, options.delta, gain_of(options.gain, law, unit))
    found = measured(channel, law, costs, distortion_name=name, unit=unit, asked=asked)
    deltas = None if epsilon is None else epsilon_delta(channel, law.probabilities, epsilon)
    if json:
        answer: dict[str, object] = {"ok": True, **found.to_dict(), "distance_unit": unit}
        if deltas is not None:
            answer["epsilon_delta"] = {"epsilon": epsilon, "delta_low": deltas[0], "delta_up": deltas[1]}
        print_json(answer)
        return
    print_measures(found)
    if deltas is not None:
        typer.echo(f"(epsilon, delta) at {epsilon:g}: delta_low {deltas[0]:.6g}, delta_up {deltas[1]:.6g}")


def print_measures(found: Measures) -> None:
    """One line per measure, for people."""
    metric, guess = ("metre", "m") if found.unit == "m" else (found.unit, f"{found.unit}s")
    lines = (
        ("local information privacy (LIP)", found.lip),
        ("  up: a belief grows at most by e^", found.lip_up),
        ("  low: a belief falls at most by e^", found.lip_low),
        ("local differential privacy", found.ldp),
        ("differential identifiability", found.differential_identifiability),
        ("mutual information", found.mutual_information_nats),
        ("maximal leakage", found.maximal_leakage),
        (f"geo-indistinguishability per {metric}", found.geo_epsilon),
        ("average distortion", found.average_distortion),
        ("error of the best guess", found.bayes_error),
        (f"distance of the best guess ({guess})", found.adversary_error),
    )
    for words, value in lines:
        if value is not None:
            typer.echo(f"{words:<40} {value:.6g}")
    more, asked = found.notions, found.notions.asked
    for key, template in WORDS.items():
        if key in more.numbers:
            words = template.format(order=asked.order, second_order=asked.second_order, delta=asked.delta)
            words = f"{words} ({asked.gain.name})" if key == "g_leakage" and asked.gain is not None else words
            typer.echo(f"{words:<40} {more.numbers[key]:.6g}")
    if more.left_out:
        typer.echo(f"not computed for {found.symbols} symbols: {', '.join(more.left_out)}")
