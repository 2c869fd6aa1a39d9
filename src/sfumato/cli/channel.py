"""``sfumato channel``: design a channel, measure what one tells, compare mechanisms at equal leakage. All in nats."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.output import print_json
from sfumato.errors import InputError
from sfumato.files import write_whole

if TYPE_CHECKING:
    from sfumato.arrays import FloatArray
    from sfumato.channel import Channel
    from sfumato.grid import Grid
    from sfumato.priors.cells import CellPrior
    from sfumato.priors.sets import PriorSet

MECHANISMS = {
    "lip-optimal": "least distortion under local information privacy (--epsilon, nats)",
    "ldp-optimal": "least distortion under local differential privacy, every prior (--epsilon, nats)",
    "geo-optimal": "least distortion under geo-indistinguishability (--epsilon per metre; up to about 200 cells)",
    "prior-resampling": "the truth or a draw from the prior, then the best relabelling (--epsilon, nats)",
    "top-k": "randomized response over the likeliest symbols, every prior (--epsilon, nats)",
    "planar-laplace": "planar Laplace from cell centres on a --grid (--epsilon per metre)",
    "planar-geometric": "planar geometric noise on a --grid (--epsilon per metre)",
    "exponential": "exponential mechanism over the cells (--epsilon per metre, measured)",
}

_MECHANISM_HELP = "; ".join(f"{name}: {words}" for name, words in MECHANISMS.items())


def register(app: typer.Typer) -> None:
    """Add ``channel design``, ``channel measure`` and ``channel compare``."""
    from sfumato.cli.channel_compare import register_compare

    channel_app = typer.Typer(no_args_is_help=True, help=__doc__)
    channel_app.command("design")(design)
    channel_app.command("measure")(measure)
    register_compare(channel_app)
    app.add_typer(channel_app, name="channel")


def design(
    mechanism: str = typer.Option("lip-optimal", help=_MECHANISM_HELP),
    prior: Path = typer.Option(
        ..., help="CSV, Parquet or JSON: one probability or count per line, or label, value, and lat, lon or x_m, y_m."
    ),
    epsilon: float = typer.Option(..., help="Leakage in nats, or per metre for geo mechanisms; greater than 0."),
    distortion: str = typer.Option(
        "hamming",
        help="hamming, euclidean (needs coordinates) or a CSV of numbers, one "
        "row per symbol and one column per output.",
    ),
    epsilon_low: float | None = typer.Option(None, help="A different limit for the lower side (asymmetric LIP)."),
    priors: str = typer.Option(
        "known", help="For which priors to promise: known, all, tv:RADIUS, or from counts: clopper-pearson, weissman."
    ),
    beta: float = typer.Option(0.05, help="Error probability of the set built from counts."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    floor: float = typer.Option(0.0, help="Mix the prior with this share of the uniform one."),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0."),
    remap: bool = typer.Option(False, help="Replace each report by the best answer under the prior (post-processing)."),
    gap: float = typer.Option(1e-6, help="Relative gap to certify between the cost and its lower bound."),
    max_seconds: float | None = typer.Option(None, help="Stop refining after this long and report the gap reached."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Where to save: .parquet, .csv or .json."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Design a channel, certify its leakage on the matrix that ships, and save it with labels and distortion."""
    from sfumato.cli.channel_inputs import design_distortion, grid_of, prior_of, prior_set_of
    from sfumato.io.cells import read_cells
    from sfumato.io.channel_files import write_channel

    if not gap > 0 or (max_seconds is not None and not max_seconds > 0):
        raise InputError("--gap and --max-seconds are greater than 0.", "For example --gap 1e-6 --max-seconds 60.")
    if mechanism not in MECHANISMS:
        raise InputError(f"There is no mechanism '{mechanism}'.", f"Use one of: {', '.join(MECHANISMS)}.")
    if output is not None and output.suffix.lower() not in (".parquet", ".pq", ".csv", ".json"):
        raise InputError(f"A channel cannot be written as '{output.suffix}'.", "Use .parquet, .csv or .json.")
    if not 0 <= floor < 1:
        raise InputError(f"The floor is {floor}.", "It is a share between 0 and 1, for example 0.01.")
    began = time.perf_counter()
    cells = grid_of(grid, cell_size)
    law, counts, plane_error = prior_of(prior, grid=cells, floor=floor, drop_zeros=drop_zeros)
    unit = _unit(cells)
    costs = design_distortion(distortion, law)
    counted = priors in ("clopper-pearson", "weissman")
    if counted and drop_zeros and counts is not None and law.size < read_cells(prior).values.size:
        raise InputError(
            f"--priors {priors} holds jointly for all cells; those never seen cannot be dropped from it.",
            "Use --floor 0.01 instead of --drop-zeros, or merge rare cells.",
        )
    target = prior_set_of(priors, law, counts, beta)
    if target is not None and mechanism != "lip-optimal":
        raise InputError(f"--priors is not used by {mechanism}.", "It is for lip-optimal.")
    if epsilon_low is not None and mechanism != "lip-optimal":
        raise InputError(f"--epsilon-low is not used by {mechanism}.", "It is for lip-optimal.")
    made, said = _made(
        mechanism,
        law,
        costs,
        epsilon,
        distortion_name=distortion,
        epsilon_low=epsilon_low,
        target=target,
        cells=cells,
        plane_error=plane_error,
        gap=gap,
        max_seconds=max_seconds,
    )
    if counted:
        said["prior_set"] = {"method": priors, "beta": beta, "holds_with_probability": 1 - beta}
        said["guarantee"]["assumes"] = [
            *said["guarantee"]["assumes"],
            f"that set was built from the counts ({priors}): it holds the true prior with probability {1 - beta:g}, if "
            "the counts are independent draws",
        ]
    if remap:
        from sfumato.mechanisms.channels.remap import remapped

        if costs.shape[0] != costs.shape[1]:
            raise InputError("--remap needs a square distortion.", "Use hamming, euclidean or a square file.")
        made = remapped(made, law, costs, answers=law.labels)
    answer: dict[str, Any] = {
        "ok": True,
        "mechanism": mechanism,
        "epsilon": epsilon,
        "remapped": remap,
        **said,
        "measures": _measures(made, law, made.distortion if made.distortion is not None else None, distortion, unit),
        "distance_unit": unit,
        "plane_error": plane_error,
        "seconds": time.perf_counter() - began,
    }
    answer.setdefault("average_distortion", answer["measures"]["average_distortion"])
    if output is not None:
        write_whole(output, lambda path: write_channel(made, path))
        answer["channel"] = str(output)
    if json:
        print_json(answer)
        return
    typer.echo(f"{mechanism}, epsilon {epsilon:g}: {made.shape[0]} inputs, {made.shape[1]} outputs in use")
    if said.get("gap") is not None:
        typer.echo(f"certified gap {said['gap']:.2e} ({said['status']})")
    _print_measures(answer["measures"])
    if output is not None:
        typer.echo(f"saved to {output}")


def measure(
    channel: Path = typer.Argument(..., help="A saved channel (.parquet, .csv, .json) or a bare numeric CSV."),
    prior: Path = typer.Option(..., help="The prior to measure against (see `channel design --help` for the format)."),
    distortion: str | None = typer.Option(
        None, help="hamming, euclidean or a CSV; default: what the channel records, else hamming."
    ),
    epsilon: float | None = typer.Option(None, help="Also the smallest (epsilon, delta) deltas at this epsilon."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: coordinates for a prior without them."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m."),
    floor: float = typer.Option(0.0, help="Mix the prior with this share of the uniform one."),
    drop_zeros: bool = typer.Option(False, help="Leave out symbols of prior probability 0, and their rows."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Every leakage of a channel under a prior, in nats, with its average distortion and the best guess's error."""
    from sfumato.cli.channel_inputs import grid_of, matched, measured_distortion, prior_of
    from sfumato.io.cells import read_cells
    from sfumato.io.channel_files import read_channel
    from sfumato.leakage.discrete import epsilon_delta

    made = read_channel(channel)
    cells = grid_of(grid, cell_size)
    law = matched(
        prior_of(prior, grid=cells, floor=floor, drop_zeros=True, keep_zeros=True)[0],
        made,
        named=bool(read_cells(prior).labels),
    )
    if law.zeros.size:
        if not drop_zeros:
            raise InputError(
                f"{law.zeros.size} symbol(s) have prior probability 0: no leakage is defined for them.",
                "Measure over the others with --drop-zeros, or give them a floor (--floor 0.01).",
            )
        law, kept = law.without_zeros()
        made = made.restricted(kept)
    costs, name = measured_distortion(distortion, made, law)
    unit = _unit(cells)
    answer: dict[str, Any] = {"ok": True, **_measures(made, law, costs, name, unit), "distance_unit": unit}
    if epsilon is not None:
        low, up = epsilon_delta(made, law.probabilities, epsilon)
        answer["epsilon_delta"] = {"epsilon": epsilon, "delta_low": low, "delta_up": up}
    if json:
        print_json(answer)
        return
    _print_measures(answer)
    if epsilon is not None:
        typer.echo(f"(epsilon, delta) at {epsilon:g}: delta_low {low:.6g}, delta_up {up:.6g}")


def _made(
    mechanism: str,
    law: CellPrior,
    costs: FloatArray,
    epsilon: float,
    *,
    distortion_name: str,
    epsilon_low: float | None,
    target: PriorSet | None,
    cells: Grid | None,
    plane_error: float,
    gap: float,
    max_seconds: float | None,
) -> tuple[Channel, dict[str, Any]]:
    """The channel and what its design says of itself (gap, bound, guarantee)."""
    import numpy as np

    from sfumato.channel import Channel
    from sfumato.mechanisms.channels import (
        closed_forms,
        exponential,
        geo_optimal,
        lip_optimal,
        planar_geometric,
        planar_laplace,
    )

    p, names = law.probabilities, law.labels
    unit = _unit(cells)
    places_m = law.positions_m if unit == "m" else None  # a file's places are metres
    square = costs.shape[0] == costs.shape[1]
    if not square and mechanism not in ("lip-optimal", "ldp-optimal", "geo-optimal", "prior-resampling"):
        raise InputError(
            f"{mechanism} reports one of the {law.size} symbols; the distortion has {costs.shape[1]} columns.",
            "Use hamming, euclidean or a square file.",
        )
    outputs = names if square else ()
    if mechanism in ("lip-optimal", "ldp-optimal"):
        from sfumato.priors.sets import Simplex

        wanted = Simplex(law.size) if mechanism == "ldp-optimal" else target
        solved = lip_optimal.optimal_channel(
            p,
            costs,
            epsilon,
            priors=wanted,
            epsilon_low=epsilon_low,
            gap=gap,
            inputs=names,
            outputs=outputs,
            distortion_name=distortion_name,
            positions_m=places_m,
            most_seconds=max_seconds,
        )
        return solved.value.channel, {
            "average_distortion": solved.objective,
            "lower_bound": solved.lower_bound,
            "gap": solved.gap,
            "status": solved.status,
            "steps": solved.steps,
            "guarantee": solved.value.guarantee.to_dict(),
        }
    if mechanism == "geo-optimal":
        found = geo_optimal.optimal_geo_channel(
            p,
            law.distances_m(),
            epsilon,
            distortion=costs,
            gap=max(gap, 5e-5),
            unit=unit,
            inputs=names,
            positions_m=places_m,
            plane_error=plane_error,
            distortion_name=distortion_name,
        )
        return found.value.channel, {
            "average_distortion": found.objective,
            "lower_bound": found.lower_bound,
            "gap": found.gap,
            "status": found.status,
            "steps": found.steps,
            "guarantee": found.value.guarantee.to_dict(),
        }
    if mechanism == "prior-resampling":
        designed = closed_forms.resampling_channel(p, epsilon, distortion=costs, inputs=names)
        made, guarantee = designed.channel, designed.guarantee
    elif mechanism == "top-k":
        designed, _ = closed_forms.top_k_channel(p, epsilon, inputs=names)
        made, guarantee = designed.channel, designed.guarantee
    else:
        if mechanism == "exponential":
            geo = exponential.exponential_for_epsilon(
                law.distances_m(), epsilon, unit=unit, plane_error=plane_error, inputs=names
            )
        else:
            if cells is None or cells.cells != law.size:
                raise InputError(f"{mechanism} needs --grid, with one line of the prior per cell.", "Add --grid 6x6.")
            build = (
                planar_laplace.planar_laplace_channel
                if mechanism == "planar-laplace"
                else (planar_geometric.planar_geometric_channel)
            )
            geo = build(cells, epsilon, plane_error=plane_error)
        made, guarantee = geo.channel, geo.guarantee
    used = made.shape[1] == costs.shape[1]
    where = np.arange(costs.shape[1]) if used else np.array([names.index(label) for label in made.outputs])
    made = Channel(
        made.matrix,
        inputs=names,
        outputs=tuple(names[y] for y in where) if square else made.outputs,
        distortion=costs[:, where],
        distortion_name=distortion_name,
        positions_m=places_m,
    )
    return made, {"status": "exact", "gap": None, "guarantee": guarantee.to_dict()}


def _unit(cells: Grid | None) -> str:
    """What distances are measured in: the places of a file are metres, those of a grid without a size are cells."""
    return "m" if cells is None else cells.unit


def _measures(channel: Channel, law: CellPrior, costs: FloatArray | None, name: str, unit: str) -> dict[str, Any]:
    """Every measure the issue of a channel's user asks for; infinite ones are null and named in ``infinite``."""
    import math

    import numpy as np

    from sfumato.leakage import discrete

    p = law.probabilities
    leakage = discrete.lip(channel, p)
    pair = leakage.pair
    found: dict[str, Any] = {
        "lip": leakage.max,
        "lip_up": leakage.up,
        "lip_low": leakage.low,
        "lip_pair": {"input": channel.inputs[pair[0]], "output": channel.outputs[pair[1]]},
        "ldp": discrete.ldp(channel),
        "di": discrete.differential_identifiability(channel, p),
        "mutual_information_nats": discrete.mutual_information(channel, p),
        "maximal_leakage": discrete.maximal_leakage(channel, p),
        "pointwise_maximal_leakage": leakage.up,
        "bayes_error": discrete.bayes_error(channel, p),
    }
    positions = law.positions_m if law.positions_m is not None else channel.positions_m
    if positions is not None and channel.shape[0] > 1:
        step = positions[:, None, :] - positions[None, :, :]
        distances = np.hypot(step[..., 0], step[..., 1])
        found[f"geo_epsilon_per_{unit}"] = discrete.geo_epsilon(channel, distances)
        found[f"adversary_error_{unit}"] = discrete.adversary_error(channel, p, distances)
    if costs is not None:
        found["average_distortion"] = discrete.average_distortion(channel, p, costs)
        found["distortion"] = name
    found["prior"] = {
        "symbols": law.size,
        "smallest": law.smallest,
        "zeros": int(law.zeros.size),
        "entropy_nats": law.entropy_nats(),
    }
    found["shape"] = list(channel.shape)
    found["infinite"] = [key for key, value in found.items() if isinstance(value, float) and math.isinf(value)]
    return found


def _print_measures(found: dict[str, Any]) -> None:
    words = {
        "lip": "local information privacy (LIP)",
        "lip_up": "  up: a belief grows at most by e^",
        "lip_low": "  low: a belief falls at most by e^",
        "ldp": "local differential privacy",
        "di": "differential identifiability",
        "mutual_information_nats": "mutual information",
        "maximal_leakage": "maximal leakage",
        "geo_epsilon_per_m": "geo-indistinguishability per metre",
        "geo_epsilon_per_cell": "geo-indistinguishability per cell",
        "average_distortion": "average distortion",
        "bayes_error": "error of the best guess",
        "adversary_error_m": "distance of the best guess (m)",
        "adversary_error_cell": "distance of the best guess (cells)",
    }
    for key, text in words.items():
        if key in found:
            typer.echo(f"{text:<40} {found[key]:.6g}")
