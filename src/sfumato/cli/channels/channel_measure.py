"""``sfumato channel measure``: what a channel tells, from its matrix, from exact fractions, or from samples alone."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import typer

from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import read_cells, read_matrix
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.units import length_m
from sfumato.channels.files.channel_files import SampleTable, read_channel, read_fractions, read_samples
from sfumato.channels.measures import black_box
from sfumato.channels.measures import g_leakage as gains
from sfumato.channels.measures.all_measures import Asked, Measures, measure_all
from sfumato.channels.measures.black_box import Estimated
from sfumato.channels.measures.discrete import epsilon_delta
from sfumato.channels.measures.exact_fractions import ExactChannel, exact_prior, nats
from sfumato.cli.channels.channel_inputs import (
    FLOOR_HELP,
    JSON_HELP,
    grid_of,
    match_prior,
    measured_distortion,
    prior_of,
)
from sfumato.cli.output import print_json

_DISTORTION_HELP = "hamming, euclidean or a CSV; default: what the channel records, else hamming."
_PRIOR_HELP = "The prior to measure against (see `channel design --help` for the format)."
_CHANNEL_HELP = "A saved channel (.parquet, .csv, .json) or a bare numeric CSV; left out with --samples."
_GAIN_HELP = (
    "What the adversary of g-leakage wants: identity (one guess), tries:3, within:200m, nearness:500m, or a CSV of "
    "gains, one row per guess and one column per symbol."
)
_GAIN_ADVICE = "Write identity, tries:3, within:200m, nearness:500m or the name of a CSV of gains."
_SAMPLES_HELP = (
    "Instead of a channel: CSV or Parquet of samples of a mechanism, columns input and output, or input, x_m and y_m "
    "for reports that are points."
)
_ORDERS, _SAMPLED = "Orders and gains", "From samples"


def measure(
    channel: Path | None = typer.Argument(None, help=_CHANNEL_HELP),
    prior: Path | None = typer.Option(None, help=_PRIOR_HELP),
    distortion: str | None = typer.Option(None, help=_DISTORTION_HELP),
    epsilon: float | None = typer.Option(None, help="Also the smallest (epsilon, delta) deltas at this epsilon."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: coordinates for a prior without them."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m."),
    floor: float = typer.Option(0.0, help=FLOOR_HELP),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0, and their rows."),
    order: float = typer.Option(
        2.0, help="Order of the alpha-leakages and of Rényi LDP; at least 1, or inf.", rich_help_panel=_ORDERS
    ),
    second_order: float = typer.Option(
        4.0, help="Second order of maximal (alpha, beta)-leakage; at least 1, or inf.", rich_help_panel=_ORDERS
    ),
    delta: float = typer.Option(
        1e-3, help="Delta of (epsilon, delta)-LDP and of the pointwise quantile.", rich_help_panel=_ORDERS
    ),
    gain: str = typer.Option("identity", help=_GAIN_HELP, rich_help_panel=_ORDERS),
    samples: Path | None = typer.Option(None, help=_SAMPLES_HELP, rich_help_panel=_SAMPLED),
    all_outputs: bool = typer.Option(
        False, help="The outputs in --samples are all there are: allows upper ends.", rich_help_panel=_SAMPLED
    ),
    error: float = typer.Option(
        0.05, help="Error probability of the intervals of --samples.", rich_help_panel=_SAMPLED
    ),
    exact: bool = typer.Option(False, help="Channel and prior are CSV of fractions (1/3): measured without rounding."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Every leakage of a channel under a prior, in nats, with its average distortion and the best guess's error.

    With --samples instead of a channel: Bayes, g-, LIP and LDP leakage of a mechanism known only by samples, each with
    an interval, and warnings where samples cannot tell.
    """
    if samples is not None:
        if channel is not None or exact:
            raise InputError("--samples stands instead of a channel.", "Leave the channel and --exact out.")
        _from_samples(samples, prior, all_outputs=all_outputs, error=error, tries=_tries_of(gain), json=json)
        return
    if channel is None:
        raise InputError("There is nothing to measure.", "Give a channel file, or --samples.")
    if exact:
        _in_fractions(channel, prior, json=json)
        return
    if prior is None:
        raise InputError("There is no prior.", "Give --prior, one probability or count per line.")
    made, cells = read_channel(channel), grid_of(grid, cell_size)
    whole, _, _ = prior_of(prior, grid=cells, floor=floor, drop_zeros=True, keep_zeros=True)
    law = match_prior(whole, made, named=bool(read_cells(prior).labels))
    if law.zeros.size:
        if not drop_zeros:
            raise InputError(
                f"{law.zeros.size} symbol(s) have prior probability 0: no leakage is defined for them.",
                "Measure over the others with --drop-zeros, or give them a floor (--floor 0.01).",
            )
        law, kept = law.without_zeros()
        made = made.only_inputs(kept)
    costs, name = measured_distortion(distortion, made, law)
    unit = "m" if cells is None else cells.unit
    asked = Asked(order, second_order, delta, _gain_of(gain, law, unit))
    found = measure_all(made, law, costs, distortion_name=name, unit=unit, asked=asked)
    deltas = None if epsilon is None else epsilon_delta(made, law.probabilities, epsilon)
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
    for line in found.lines():
        typer.echo(line)
    if found.left_out:
        typer.echo(f"not computed for {found.symbols} symbols: {', '.join(found.left_out)}")


def _tries_of(text: str) -> int | None:
    """The number of guesses of ``identity`` or ``tries:K`` (None for one guess); others need places."""
    if text == "identity":
        return None
    kind, _, value = text.partition(":")
    if kind == "tries" and value.isdigit() and int(value) > 0:
        return int(value)
    raise InputError(f"--gain {text} is not possible here.", "With --samples: identity or tries:3.")


def _gain_of(text: str, prior: CellPrior, unit: str) -> gains.Gain | None:
    """The gain function over the prior's symbols; None is one guess."""
    if text == "identity":
        return None
    kind, colon, value = text.partition(":")
    if kind == "tries" and value.isdigit():
        return gains.tries_gain(prior.size, int(value))
    if colon and kind in ("within", "nearness"):
        if prior.positions_m is None:
            raise InputError(f"--gain {text} needs places.", "Add x_m and y_m (or lat, lon) to the prior, or --grid.")
        try:
            radius = float(value) if unit != "m" else length_m(value)
        except ValueError as error:
            raise InputError(f"--gain {text} has no radius.", _GAIN_ADVICE) from error
        build = gains.within_gain if kind == "within" else gains.distance_gain
        return build(prior.distances_m(), radius)
    if text.lower().endswith((".csv", ".json")):
        found = gains.matrix_gain(read_matrix(text))
        if found.symbols != prior.size:
            raise InputError(
                f"The gains have {found.symbols} columns for {prior.size} symbols.", "Give one column per symbol."
            )
        return found
    raise InputError(f"There is no gain '{text}'.", _GAIN_ADVICE)


def _in_fractions(path: Path, prior: Path | None, *, json: bool) -> None:
    """``--exact``: the exact ratios behind every leakage, and the leakages in nats."""
    channel = ExactChannel.of(read_fractions(path))
    if prior is None:
        raise InputError("--exact needs --prior, a file of fractions.", "One per line, for example 1/3.")
    law = exact_prior([row[-1] for row in read_fractions(prior)], channel.shape[0])
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
        ratios = {
            key: {"fraction": None if f is None else str(f), "value": value} for key, (_, f, value) in found.items()
        }
        print_json({"ok": True, "exact": ratios, "shape": list(channel.shape)})
        return
    for key, (words, fraction, value) in found.items():
        shown = "infinite" if fraction is None else str(fraction)
        typer.echo(f"{words:<38} {shown:>24}   {key} {value:.12g}")


def _from_samples(
    path: Path, prior: Path | None, *, all_outputs: bool, error: float, tries: int | None, json: bool
) -> None:
    """``--samples``: each estimate with its interval, and every warning."""
    table = read_samples(path)
    if table.points_m is not None:
        found, warnings = _of_points(table, prior, error)
    else:
        found, warnings = _of_labels(table, prior, all_outputs=all_outputs, error=error, tries=tries)
    if json:
        estimates = {
            name: {"value": e.value, "lower": e.lower, "upper": e.upper, "proved": e.proved}
            for name, e in found.items()
        }
        answer = {"ok": True, "samples": len(table.inputs), "error_probability": error, "estimates": estimates}
        print_json({**answer, "warnings": warnings})
        return
    typer.echo(f"{len(table.inputs)} samples; each interval holds with probability {1 - error:g}")
    typer.echo(f"{'':<34} {'estimate':>12} {'from':>12} {'to':>12}")
    for name, e in found.items():
        mark = "" if e.proved else "  (lower end: only as samples grow)"
        upper = "infinite" if math.isinf(e.upper) else f"{e.upper:.6g}"
        typer.echo(f"{name.replace('_', ' '):<34} {e.value:>12.6g} {e.lower:>12.6g} {upper:>12}{mark}")
    for words in warnings:
        typer.echo(f"Warning: {words}.")


def _of_labels(
    table: SampleTable, prior: Path | None, *, all_outputs: bool, error: float, tries: int | None
) -> tuple[dict[str, Estimated], list[str]]:
    names, law = None, None
    if prior is not None:
        cells, _, _ = prior_of(prior, grid=None, floor=0.0, drop_zeros=True, keep_zeros=True)
        names, law = cells.labels, cells.probabilities
        strange = [name for name in dict.fromkeys(table.inputs) if name not in names]
        if strange and not read_cells(prior).labels:
            raise InputError(
                f"The prior has no labels, so its lines are the inputs 0 .. {len(names) - 1}; the samples have "
                f"'{strange[0]}'.",
                "Number the inputs in the samples by the prior's lines, or add a column label to the prior.",
            )
    outputs = tuple(dict.fromkeys(table.outputs)) if all_outputs else None
    samples = black_box.samples_of_labels(table.inputs, table.outputs, inputs=names, outputs=outputs, prior=law)
    ratios = black_box.ratios(samples, beta=error)
    found = {
        "bayes_risk": black_box.bayes_risk(samples, beta=error),
        "bayes_vulnerability": black_box.vulnerability(samples, beta=error),
        "min_entropy_leakage": black_box.min_entropy_leakage(samples, beta=error),
        "lip": ratios.lip,
        "ldp": ratios.ldp,
    }
    if tries is not None:
        gain = gains.tries_gain(samples.inputs, tries)
        found[f"vulnerability_{tries}_guesses"] = black_box.vulnerability(samples, gain, beta=error)
    return found, list(ratios.warnings)


def _of_points(table: SampleTable, prior: Path | None, error: float) -> tuple[dict[str, Estimated], list[str]]:
    if prior is not None:
        raise InputError("With points the prior is that of the samples.", "Leave --prior out.")
    names = {name: index for index, name in enumerate(dict.fromkeys(table.inputs))}
    truth = np.array([names[name] for name in table.inputs], dtype=np.int64)
    assert table.points_m is not None
    found = black_box.neighbour_risk(truth, table.points_m, beta=error)
    warnings = [
        "reports are points: the risk from above is proved, from below only as samples grow; no bound on LIP or LDP "
        "follows from finitely many points"
    ]
    if truth.size < 50 * len(names):
        warnings.append(f"{truth.size} samples for {len(names)} inputs are few: the estimate is mostly its interval")
    return {"bayes_risk": found}, warnings
