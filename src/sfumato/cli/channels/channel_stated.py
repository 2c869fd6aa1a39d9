"""What ``channel convert | compose | mismatch | rate-distortion`` do once their options are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Panel, svg
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.cell_files import read_cells, read_matrix
from sfumato.base.things.cell_prior import CellPrior
from sfumato.channels.conversions import composition, lip_constants
from sfumato.channels.conversions import routes as graph
from sfumato.channels.conversions.notions import notion
from sfumato.channels.designs.rate_distortion import RateDistortion, rate_distortion
from sfumato.channels.files.channel_files import read_channel
from sfumato.channels.measures.discrete import lip
from sfumato.channels.priors.prior_sets import weissman_variation
from sfumato.cli.channels.channel_inputs import design_distortion, grid_of, matched, prior_of
from sfumato.cli.output import print_json
from sfumato.papers.lip.printed_conversions import printed_between


def _prior(path: Path) -> CellPrior:
    return prior_of(path, grid=None, floor=0.0, drop_zeros=False)[0]


# --------------------------------------------------------------------------- convert


def run_convert(
    value: float, source: str, target: str | None, *, prior: Path | None, facts: Mapping[str, Any], json: bool
) -> None:
    """Print the tightest route to one notion, or to all."""
    law = None if prior is None else _prior(prior)
    places = None if law is None or law.positions_m is None else law.distances_m()
    known = graph.Facts(prior=None if law is None else law.probabilities, distances_m=places, **facts)
    if target is None:
        routes = graph.tightest(value, source, known)
    else:
        routes = {target: graph.convert(value, source, target, known)}
    printed = {
        name: [
            {
                "place": f"Jiang2021, {one.place}",
                "formula": one.formula,
                "value": one.value(value, known),
                "erratum": one.erratum or None,
            }
            for one in printed_between(source, name)
            if known.prior is not None
        ]
        for name in routes
    }
    if json:
        found = {name: {**route.to_dict(), "printed": printed[name]} for name, route in routes.items()}
        print_json({"ok": True, "from": source, "given": value, "conversions": found})
        return
    for name, route in sorted(routes.items()):
        if name == source and target is None:
            continue
        mark = "attained by some channel" if route.tight else "a bound"
        typer.echo(f"{notion(name).name:<42} {route.value:.6g} {notion(name).unit} ({mark})")
        for step, reached in route.steps:
            typer.echo(f"    {step.source} -> {step.target}: {step.formula} = {reached:.6g}  [{step.reference}]")
        for one in printed[name]:
            wrong = f"  ({one['erratum']})" if one["erratum"] else ""
            typer.echo(f"    printed, {one['place']}: {one['formula']} = {one['value']:.6g}{wrong}")


# --------------------------------------------------------------------------- compose


def run_compose(
    paths: Sequence[Path], *, prior: Path, epsilons: Sequence[float], transition: Path | None, json: bool
) -> None:
    """Print what reports tell together."""
    if bool(paths) == bool(epsilons):
        raise InputError("Give channels, or --epsilon for each report.", "One of the two.")
    law = _prior(prior)
    named = bool(read_cells(prior).labels)
    channels = [read_channel(path) for path in paths]
    answer: dict[str, object] = {"ok": True, "reports": len(channels) or len(epsilons)}
    moves = None if transition is None else read_matrix(transition)
    each = list(epsilons)
    p = law.probabilities
    if channels:
        p = matched(law, channels[0], named=named).probabilities
    steps = _marginals(p, moves, len(channels) or len(epsilons))
    if channels:
        each = [lip(channel, step).max for channel, step in zip(channels, steps, strict=True)]
        if moves is None:
            found = composition.together(channels, p)
            answer |= {"exact": found.max, "exact_up": found.up, "exact_low": found.low}
        else:
            exact, smallest = composition.sequence_leakage(channels, p, moves)
            answer |= {"exact": exact, "smallest_sequence": smallest}
    answer |= {"each": each, "sum_if_designed_for_the_posterior": float(sum(each))}
    if moves is None:
        answer["theorem_4"] = composition.composed_bound(each, p)
        answer["theorem_4_as_printed"] = composition.source_theorem_4(each, float(p.min()))
        if p.size <= 6 and len(each) <= 3:
            answer["worst_case_exact"] = composition.worst_together(each, p)
    else:
        smallest_each = [float(step[step > 0].min()) for step in steps]
        sequence = answer.get("smallest_sequence")
        least = float(sequence) if isinstance(sequence, float) else 0.0
        answer["corollary_5"] = composition.sequence_bound(each, smallest_each, least)
    if json:
        print_json(answer)
        return
    words = {
        "each": "each report alone",
        "exact": "together, exactly",
        "worst_case_exact": "the most any such channels could tell together",
        "theorem_4": "Theorem 4 (sharper for two symbols)",
        "theorem_4_as_printed": "Theorem 4 with c(ε, p_min) as printed",
        "corollary_5": "Corollary 5",
        "sum_if_designed_for_the_posterior": "if each were designed for the posterior (the sum)",
    }
    for key, text in words.items():
        if key in answer:
            typer.echo(f"{text:<54} {_shown(answer[key])}")
    typer.echo("Leakages of reports designed for one fixed prior do not add.")


def _marginals(p: FloatArray, moves: FloatArray | None, count: int) -> list[FloatArray]:
    out = [p]
    for _ in range(count - 1):
        out.append(out[-1] if moves is None else out[-1] @ moves)
    return out


# --------------------------------------------------------------------------- mismatch


def run_mismatch(
    designed_for: Path,
    truth: Path,
    *,
    channel: Path | None,
    epsilon: float | None,
    samples: int | None,
    set_error: float,
    json: bool,
) -> None:
    """Print what a promise for one prior is worth under another."""
    first, second = _prior(designed_for).probabilities, _prior(truth).probabilities
    if (channel is None) == (epsilon is None):
        raise InputError("Give a --channel, or its --epsilon under the first prior.", "One of the two.")
    variation, ratio = lip_constants.mismatch_overhead(first, second)
    total = 0.5 * float(np.abs(first - second).sum())
    answer: dict[str, object] = {
        "ok": True,
        "total_variation": total,
        "lemma_3_overhead": variation,
        "ratio_overhead": ratio,
    }
    if channel is not None:
        made = read_channel(channel)
        found = lip_constants.mismatch(made, first, second)
        epsilon = lip(made, first).max
        answer |= {"leakage_designed": epsilon, "leakage_true": lip(made, second).max, "cap": found.cap}
        answer |= {"bound": found.bound, "holds": found.holds}
    else:
        assert epsilon is not None
        cap = lip_constants.largest_likelihood_ratio(epsilon, first).nats
        answer |= {"leakage_designed": epsilon, "bound": min(epsilon + ratio, cap), "cap": cap}
    useful = lip_constants.largest_useful_variation(epsilon, float(first.min()), float(second.min()))
    answer |= {"corollary_6_largest_variation": useful, "knowing_the_prior_helps": total <= useful}
    if samples is not None:
        apart = weissman_variation(samples, first.size, set_error)
        smallest = float(first.min())
        answer["corollary_3_variation"] = apart
        answer["corollary_3_overhead"] = -math.log1p(-apart / smallest) if apart < smallest else math.inf
    if json:
        print_json(answer)
        return
    words = {
        "leakage_designed": "leakage under the prior designed for",
        "leakage_true": "leakage under the true prior, exactly",
        "bound": "at most, proved",
        "lemma_3_overhead": "Lemma 3: ln(1 + TV/p_min) more",
        "ratio_overhead": "tighter: the largest |ln p1/p2| more",
        "cap": "and never more than (any prior of that support)",
        "total_variation": "total variation between the priors",
        "corollary_6_largest_variation": "Corollary 6: knowing the prior helps up to",
        "corollary_3_variation": "Corollary 3: variation of an estimate from that many draws",
        "corollary_3_overhead": "and its overhead",
    }
    for key, text in words.items():
        if key in answer:
            typer.echo(f"{text:<58} {_shown(answer[key])}")


# --------------------------------------------------------------------------- rate-distortion


def run_rate_distortion(
    prior: Path,
    *,
    distortion: str | None,
    betas: Sequence[float],
    grid: str | None,
    cell_size: str | None,
    output: Path | None,
    json: bool,
) -> None:
    """Print and draw the curve."""
    cells = grid_of(grid, cell_size)
    law, _, _ = prior_of(prior, grid=cells, floor=0.0, drop_zeros=False)
    name = distortion or ("hamming" if law.positions_m is None else "euclidean")
    curve = rate_distortion(law.probabilities, design_distortion(name, law), list(betas) or None)
    if output is not None:
        write_text(output, _curve_svg(curve, name))
    rows = [
        {
            "beta": point.beta,
            "average_distortion": point.distortion,
            "mutual_information_nats": point.rate_nats,
            "lower_bound_nats": curve.lower_bound(point.distortion),
            "gap_nats": point.gap_nats,
        }
        for point in curve.points
    ]
    if json:
        ends = {"entropy_nats": curve.entropy_nats, "free_distortion": curve.free_distortion, "distortion": name}
        print_json({"ok": True, **ends, "points": rows, "picture": str(output) if output else None})
        return
    typer.echo(f"{'beta':>10} {'distortion':>12} {'information':>12} {'at least':>12}   (nats)")
    for row in rows:
        numbers = (row["beta"], row["average_distortion"], row["mutual_information_nats"], row["lower_bound_nats"])
        typer.echo("{:>10.4g} {:>12.6g} {:>12.6g} {:>12.6g}".format(*numbers))
    typer.echo(f"Everything tells {curve.entropy_nats:.6g}; nothing costs {curve.free_distortion:.6g} ({name}).")
    if output is not None:
        typer.echo(f"Picture: {output}")


def _curve_svg(curve: RateDistortion, name: str) -> str:
    ends = np.array([0.0, *sorted(point.distortion for point in curve.points), curve.free_distortion])
    lines = {
        "channels found": np.array([curve.rate(float(d)) for d in ends]),
        "no channel below": np.array([curve.lower_bound(float(d)) for d in ends]),
    }
    return svg([Panel("least information", ends, lines, f"average distortion ({name})", "nats")], columns=1)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"{v:.6g}" for v in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
