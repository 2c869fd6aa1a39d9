"""``sfumato channel measure --samples``: what a mechanism leaks, from samples alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import typer

from sfumato.base.errors import InputError
from sfumato.base.things.cell_files import read_cells
from sfumato.channels.files.sample_files import SampleTable, read_samples
from sfumato.channels.measures import black_box
from sfumato.channels.measures.black_box import Estimated, neighbour_risk
from sfumato.cli.channels.channel_inputs import prior_of
from sfumato.cli.output import print_json


def run_samples(
    path: Path, *, prior: Path | None, all_outputs: bool, error: float, tries: int | None, json: bool
) -> None:
    """Print each estimate with its interval, and every warning."""
    table = read_samples(path)
    if table.points_m is not None:
        found, warnings = _points(table, prior, error)
    else:
        found, warnings = _labels(table, prior, all_outputs=all_outputs, error=error, tries=tries)
    if json:
        print_json(
            {
                "ok": True,
                "samples": len(table.inputs),
                "error_probability": error,
                "estimates": {
                    name: {"value": e.value, "lower": e.lower, "upper": e.upper, "proved": e.proved}
                    for name, e in found.items()
                },
                "warnings": warnings,
            }
        )
        return
    typer.echo(f"{len(table.inputs)} samples; each interval holds with probability {1 - error:g}")
    typer.echo(f"{'':<34} {'estimate':>12} {'from':>12} {'to':>12}")
    for name, e in found.items():
        mark = "" if e.proved else "  (lower end: only as samples grow)"
        typer.echo(f"{name.replace('_', ' '):<34} {e.value:>12.6g} {e.lower:>12.6g} {_number(e.upper):>12}{mark}")
    for words in warnings:
        typer.echo(f"Warning: {words}.")


def _labels(
    table: SampleTable, prior: Path | None, *, all_outputs: bool, error: float, tries: int | None
) -> tuple[dict[str, Estimated], list[str]]:
    from sfumato.channels.measures.g_leakage import tries_gain

    names, law = None, None
    if prior is not None:
        if not read_cells(prior).labels:
            raise InputError("The prior has no labels to match the samples' inputs.", "Add a column label.")
        cells, _, _ = prior_of(prior, grid=None, floor=0.0, drop_zeros=True, keep_zeros=True)
        names, law = cells.labels, cells.probabilities
    outputs = tuple(dict.fromkeys(table.outputs)) if all_outputs else None
    samples = black_box.labelled(table.inputs, table.outputs, inputs=names, outputs=outputs, prior=law)
    ratios = black_box.ratios(samples, beta=error)
    found = {
        "bayes_risk": black_box.bayes_risk(samples, beta=error),
        "bayes_vulnerability": black_box.vulnerability(samples, beta=error),
        "min_entropy_leakage": black_box.min_entropy_leakage(samples, beta=error),
        "lip": ratios.lip,
        "ldp": ratios.ldp,
    }
    if tries is not None:
        found[f"vulnerability_{tries}_guesses"] = black_box.vulnerability(
            samples, tries_gain(samples.inputs, tries), beta=error
        )
    return found, list(ratios.warnings)


def _points(table: SampleTable, prior: Path | None, error: float) -> tuple[dict[str, Estimated], list[str]]:
    if prior is not None:
        raise InputError("With points the prior is that of the samples.", "Leave --prior out.")
    names = {name: index for index, name in enumerate(dict.fromkeys(table.inputs))}
    truth = np.array([names[name] for name in table.inputs], dtype=np.int64)
    assert table.points_m is not None
    found = neighbour_risk(truth, table.points_m, beta=error)
    warnings = [
        "reports are points: the risk from above is proved, from below only as samples grow; no bound on LIP or LDP "
        "follows from finitely many points"
    ]
    if truth.size < 50 * len(names):
        warnings.append(f"{truth.size} samples for {len(names)} inputs are few: the estimate is mostly its interval")
    return {"bayes_risk": found}, warnings


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6g}"
