"""``sfumato channel design``: one channel by a named design, certified, measured and saved."""

from __future__ import annotations

import math
import time
from pathlib import Path

import typer

from sfumato.base.errors import InputError, NotConverged
from sfumato.base.files import write_whole
from sfumato.base.things.cell_files import read_cells
from sfumato.channels.designs.design_registry import DESIGNS
from sfumato.channels.designs.door import design_channel, design_named
from sfumato.channels.designs.task import ChannelTask, DesignedChannel
from sfumato.channels.files.channel_files import write_channel
from sfumato.channels.measures.all_measures import measure_all
from sfumato.cli.channels.channel_inputs import (
    CELL_SIZE_HELP,
    FLOOR_HELP,
    GRID_HELP,
    JSON_HELP,
    design_distortion,
    first_weights,
    grid_of,
    prior_of,
    prior_set_of,
)
from sfumato.cli.channels.channel_measure import print_measures
from sfumato.cli.output import print_json, tell_progress

_EPSILON = {"nats": "--epsilon, nats", "per metre": "--epsilon per metre"}
_MECHANISM_HELP = "; ".join(f"{design.name}: {design.summary} ({_EPSILON[design.epsilon_unit]})" for design in DESIGNS)
_PRIOR_HELP = "CSV, Parquet or JSON: one probability or count per line, or label, value, and lat, lon or x_m, y_m."
_DISTORTION_HELP = (
    "hamming, euclidean (needs coordinates) or a CSV of numbers, one row per symbol and one column per output. "
    "Default: euclidean where the prior has coordinates, else hamming."
)
_EPSILON_HELP = (
    "Leakage in nats, or per metre for geo mechanisms; greater than 0. Needed except with --beta or a target."
)
_BETA_HELP = "blahut-arimoto: the rate, a plain number per unit of distortion."
_FIRST_HELP = "blahut-arimoto: the channel to start from, or its output weights, one per line. Default: uniform."
_PRIORS_HELP = (
    "For which priors to promise: known, all, tv:RADIUS, polytope:FILE (one prior per row; every mixture), box:FILE "
    "(two rows: lower and upper bounds), or from counts: clopper-pearson, weissman."
)
_REMAP_HELP = "Replace each report by the best answer under the prior (post-processing)."
_GAP_HELP = (
    "Relative gap to certify between the cost and its lower bound; else 1e-6, for geo-optimal 5e-5 (3 % "
    "above about 220 places). Missing it is an "
    "error (see --accept-gap)."
)
_ACCEPT_HELP = "Take what was found when the gap or the time ran out; the gap reached is printed."
_RATE, _CELLS, _SURE = "Blahut-Arimoto", "Cells and priors", "How far to optimise"


def design(
    mechanism: str = typer.Option("lip-optimal", help=_MECHANISM_HELP),
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: float | None = typer.Option(None, help=_EPSILON_HELP),
    beta: float | None = typer.Option(None, help=_BETA_HELP, rich_help_panel=_RATE),
    distortion_target: float | None = typer.Option(
        None, help="blahut-arimoto: the average distortion accepted.", rich_help_panel=_RATE
    ),
    first_channel: Path | None = typer.Option(None, help=_FIRST_HELP, rich_help_panel=_RATE),
    distortion: str | None = typer.Option(None, help=_DISTORTION_HELP),
    epsilon_low: float | None = typer.Option(
        None, help="A different limit for the lower side (asymmetric LIP).", rich_help_panel=_CELLS
    ),
    priors: str = typer.Option("known", help=_PRIORS_HELP),
    set_error: float = typer.Option(
        0.05, help="Error probability of the set built from counts.", rich_help_panel=_CELLS
    ),
    grid: str | None = typer.Option(None, help=GRID_HELP),
    cell_size: str | None = typer.Option(None, help=CELL_SIZE_HELP),
    floor: float = typer.Option(0.0, help=FLOOR_HELP, rich_help_panel=_CELLS),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0.", rich_help_panel=_CELLS),
    remap: bool = typer.Option(False, help=_REMAP_HELP),
    gap: float | None = typer.Option(None, help=_GAP_HELP, rich_help_panel=_SURE),
    max_seconds: float | None = typer.Option(None, help="Stop refining after this long.", rich_help_panel=_SURE),
    accept_gap: bool = typer.Option(False, "--accept-gap", help=_ACCEPT_HELP, rich_help_panel=_SURE),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to save: .parquet, .csv or .json."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Design a channel, certify its leakage on the matrix that ships, and save it with labels and distortion."""
    began = time.perf_counter()
    _refuse_impossible(gap, max_seconds, output)
    design_named(mechanism)
    cells = grid_of(grid, cell_size)
    law, counts, plane_error = prior_of(prior, grid=cells, floor=floor, drop_zeros=drop_zeros)
    name = distortion or ("hamming" if law.positions_m is None else "euclidean")
    costs = design_distortion(name, law)
    counted = priors in ("clopper-pearson", "weissman")
    if counted and drop_zeros and counts is not None and law.size < read_cells(prior).values.size:
        raise InputError(
            f"--priors {priors} holds jointly for all cells; those never seen cannot be dropped from it.",
            "Use --floor 0.01 instead of --drop-zeros, or merge rare cells.",
        )
    if remap and costs.shape[0] != costs.shape[1]:
        raise InputError("--remap needs a square distortion.", "Use hamming, euclidean or a square file.")
    task = ChannelTask(
        law,
        costs,
        epsilon,
        distortion_name=name,
        grid=cells,
        plane_error=plane_error,
        priors=prior_set_of(priors, law, counts, set_error),
        epsilon_low=epsilon_low,
        rate=beta,
        average_distortion=distortion_target,
        first_weights=None if first_channel is None else first_weights(first_channel, law.probabilities),
        gap=gap,
        most_seconds=max_seconds,
        progress=tell_progress,
    )
    made = design_channel(mechanism, task, remap=remap)
    tell_progress("")
    if made.status == "stopped" and not accept_gap:
        raise _missed(mechanism, made, timed=max_seconds is not None)
    channel, promise = made.channel, made.guarantee
    if counted:
        promise = promise.assuming(
            f"that set was built from the counts ({priors}): it holds the true prior with probability "
            f"{1 - set_error:g}, if the counts are independent draws"
        )
    assert channel.distortion is not None
    found = measure_all(channel, law, channel.distortion, distortion_name=name, unit=task.unit)
    seconds = time.perf_counter() - began
    if output is not None:
        write_whole(output, lambda path: write_channel(channel, path))
    if json:
        cost = found.numbers["average_distortion"] if made.average_distortion is None else made.average_distortion
        answer: dict[str, object] = {
            "ok": True,
            "mechanism": mechanism,
            "epsilon": epsilon,
            "beta": beta,
            "distortion_target": distortion_target,
            "remapped": remap,
            "average_distortion": cost,
            "gap": made.gap,
            "status": made.status,
            "guarantee": promise.to_dict(),
            "measures": found.to_dict(),
            "distance_unit": task.unit,
            "plane_error": plane_error,
            "seconds": seconds,
        }
        if made.gap is not None:
            answer |= {"lower_bound": made.lower_bound, "steps": made.steps}
        if counted:
            sure = {"set_error": set_error, "holds_with_probability": 1 - set_error}
            answer["prior_set"] = {"method": priors, **sure}
        print_json(answer | ({} if output is None else {"channel": str(output)}))
        return
    wishes = (("epsilon", epsilon), ("beta", beta), ("average distortion", distortion_target))
    wish = ", ".join(f"{word} {value:g}" for word, value in wishes if value is not None)
    typer.echo(f"{mechanism}, {wish}: {channel.shape[0]} inputs, {channel.shape[1]} outputs in use")
    if made.gap is not None:
        typer.echo(f"certified gap {made.gap:.2e} ({made.status})")
    print_measures(found)
    if output is not None:
        typer.echo(f"saved to {output}")


def _refuse_impossible(gap: float | None, max_seconds: float | None, output: Path | None) -> None:
    """What no design can do, said before any file is read."""
    if gap is not None and not 0 < gap < 1:
        raise InputError(f"--gap is {gap:g}.", "It is a share between 0 and 1, for example 1e-4.")
    if max_seconds is not None and not 0 < max_seconds < math.inf:
        raise InputError(f"--max-seconds is {max_seconds:g}.", "Give a finite number above 0, such as 60.")
    if output is not None and output.suffix.lower() not in (".parquet", ".pq", ".csv", ".json"):
        raise InputError(f"A channel cannot be written as '{output.suffix}'.", "Use .parquet, .csv or .json.")


def _missed(mechanism: str, made: DesignedChannel, *, timed: bool) -> NotConverged:
    """What was not reached, before anything is written."""
    if made.gap is None:
        what = f"{mechanism} was not yet tuned to --epsilon when --max-seconds had passed."
    elif made.gap >= 1:
        what = f"{mechanism} found nothing that is known to be better than any other channel."
    else:
        what = f"{mechanism} stopped with a certified gap of {made.gap:.2g}: so much cheaper the best may be."
    longer = "allow more --max-seconds, " if timed else ""
    advice = f"Its promise holds all the same: take it with --accept-gap, {longer}or ask for a larger --gap."
    return NotConverged(what, advice)
