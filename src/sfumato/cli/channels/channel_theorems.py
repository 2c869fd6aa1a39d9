"""``sfumato channel convert | compose | mismatch | rate-distortion``: the theorems on numbers of your own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate, repeat
from pathlib import Path

import numpy as np
import typer

from sfumato.base.drawing.panels import Panel, svg
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.cell_files import read_cells, read_matrix
from sfumato.channels.conversions import composition, lip_constants
from sfumato.channels.conversions import routes as graph
from sfumato.channels.conversions.routes import notion
from sfumato.channels.designs import rate_distortion as curves
from sfumato.channels.files.channel_files import read_channel
from sfumato.channels.measures.discrete import lip
from sfumato.channels.priors.prior_sets import weissman_variation
from sfumato.cli.channels.channel_inputs import (
    CELL_SIZE_HELP,
    GRID_HELP,
    JSON_HELP,
    PRIOR_HELP,
    WIDTH_HELP,
    design_distortion,
    grid_of,
    match_prior,
    plain_prior,
    prior_of,
)
from sfumato.cli.output import print_json
from sfumato.papers.lip.printed_conversions import printed_between

_COMPOSED = {
    "each": "each report alone",
    "exact": "together, exactly",
    "worst_case_exact": "the most any such channels could tell together",
    "theorem_4": "Theorem 4 (sharper for two symbols)",
    "theorem_4_as_printed": "Theorem 4 with c(ε, p_min) as printed",
    "corollary_5": "Corollary 5",
    "sum_if_designed_for_the_posterior": "if each were designed for the posterior (the sum)",
}
_MISMATCHED = {
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


def convert(
    value: float = typer.Argument(..., help="The bound that is known, in the unit of its notion (nats for most)."),
    source: str = typer.Option(..., "--from", help="The notion it bounds: lip, ldp, di, geo_epsilon_per_m, ..."),
    target: str | None = typer.Option(None, "--to", help="The notion wanted; left out: everything that follows."),
    prior: Path | None = typer.Option(None, help=PRIOR_HELP),
    order: float | None = typer.Option(None, help="The order of notions that have one, for example 2."),
    second_order: float | None = typer.Option(None, help="The second order of maximal (alpha, beta)-leakage."),
    delta: float | None = typer.Option(None, help="The delta of notions that have one."),
    people: int | None = typer.Option(None, help="How many people's reports are mixed (shuffled_epsilon)."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """What a bound on one notion says about another: the tightest known, and what the paper prints.

    Each step says when it holds and whether some channel attains it. A printed conversion that is looser, or wrong,
    stands beside it with its erratum.
    """
    law = None if prior is None else plain_prior(prior)
    known = graph.Facts(
        prior=None if law is None else law.probabilities,
        distances_m=None if law is None or law.positions_m is None else law.distances_m(),
        order=order,
        second_order=second_order,
        delta=delta,
        people=people,
    )
    if target is None:
        routes = graph.tightest(value, source, known)
    else:
        routes = {target: graph.convert(value, source, target, known)}
    printed = {name: [] if known.prior is None else printed_between(source, name) for name in routes}
    if json:
        found = {
            name: {
                **route.to_dict(),
                "printed": [
                    {
                        "place": f"Jiang2021, {one.place}",
                        "formula": one.formula,
                        "value": one.value(value, known),
                        "erratum": one.erratum or None,
                    }
                    for one in printed[name]
                ],
            }
            for name, route in routes.items()
        }
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
            wrong = f"  ({one.erratum})" if one.erratum else ""
            typer.echo(f"    printed, Jiang2021, {one.place}: {one.formula} = {one.value(value, known):.6g}{wrong}")


def compose(
    channels: list[Path] = typer.Argument(None, help="Saved channels, one report each; name one twice for two."),
    prior: Path = typer.Option(..., help=PRIOR_HELP),
    epsilon: list[float] = typer.Option([], help="Instead of channels: the LIP leakage of each report, in nats."),
    transition: Path | None = typer.Option(None, help="CSV of P(next | now), one row per symbol: one report per step."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """What several reports tell together: exact for given channels, worst case and Theorem 4 for given leakages.

    With --transition the symbol moves and each report is about one step (Corollary 5). Leakages do not add; they do
    where each report is designed for the posterior, and that sum is printed too.
    """
    if bool(channels) == bool(epsilon):
        raise InputError("Give channels, or --epsilon for each report.", "One of the two.")
    law = plain_prior(prior)
    made = [read_channel(path) for path in channels or []]
    moves = None if transition is None else read_matrix(transition)
    p, each = law.probabilities, list(epsilon)
    if made:
        p = match_prior(law, made[0], named=bool(read_cells(prior).labels)).probabilities
    count = len(made) or len(each)
    steps = list(accumulate(repeat(moves, count - 1), lambda now, by: now if by is None else now @ by, initial=p))
    answer: dict[str, object] = {"ok": True, "reports": count}
    least = 0.0
    if made:
        each = [lip(channel, step).max for channel, step in zip(made, steps, strict=True)]
        if moves is None:
            found = composition.together(made, p)
            answer |= {"exact": found.max, "exact_up": found.up, "exact_low": found.low}
        else:
            exact, least = composition.sequence_leakage(made, p, moves)
            answer |= {"exact": exact, "smallest_sequence": least}
    answer |= {"each": each, "sum_if_designed_for_the_posterior": float(sum(each))}
    if moves is None:
        answer["theorem_4"] = composition.composed_bound(each, p)
        answer["theorem_4_as_printed"] = composition.source_theorem_4(each, float(p.min()))
        if p.size <= 6 and len(each) <= 3:
            answer["worst_case_exact"] = composition.worst_together(each, p)
    else:
        smallest_each = [float(step[step > 0].min()) for step in steps]
        answer["corollary_5"] = composition.sequence_bound(each, smallest_each, least)
    _tell(answer, _COMPOSED, width=54, json=json)
    if not json:
        typer.echo("Leakages of reports designed for one fixed prior do not add.")


def mismatch(
    designed_for: Path = typer.Option(..., help="The prior the channel was designed for."),
    truth: Path = typer.Option(..., help="The prior that holds."),
    channel: Path | None = typer.Option(None, help="The channel; its leakage under both priors is then exact."),
    epsilon: float | None = typer.Option(None, help="Instead of a channel: its leakage under the first prior, nats."),
    samples: int | None = typer.Option(None, help="The first prior was estimated from this many draws (Corollary 3)."),
    set_error: float = typer.Option(0.05, help="Error probability of that estimate."),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """What a promise for one prior is worth under another: Lemma 3, Corollaries 3 and 6, and the exact leakage."""
    first, second = plain_prior(designed_for).probabilities, plain_prior(truth).probabilities
    if (channel is None) == (epsilon is None):
        raise InputError("Give a --channel, or its --epsilon under the first prior.", "One of the two.")
    variation, ratio = lip_constants.mismatch_overhead(first, second)
    total = 0.5 * float(np.abs(first - second).sum())
    answer: dict[str, object] = {"ok": True, "total_variation": total, "lemma_3_overhead": variation}
    answer["ratio_overhead"] = ratio
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
        apart, smallest = weissman_variation(samples, first.size, set_error), float(first.min())
        answer["corollary_3_variation"] = apart
        answer["corollary_3_overhead"] = -math.log1p(-apart / smallest) if apart < smallest else math.inf
    _tell(answer, _MISMATCHED, width=58, json=json)


def rate_distortion(
    prior: Path = typer.Option(..., help=PRIOR_HELP),
    distortion: str | None = typer.Option(None, help="hamming, euclidean or a CSV; default: as in `channel design`."),
    beta: list[float] = typer.Option([], help="A slope of the curve; repeat. Default: 16 spread over it."),
    grid: str | None = typer.Option(None, help=GRID_HELP),
    cell_size: str | None = typer.Option(None, help=CELL_SIZE_HELP),
    output: Path | None = typer.Option(None, "--output", "-o", help="Draw the curve here (SVG)."),
    width_mm: float | None = typer.Option(None, help=WIDTH_HELP),
    json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """The least a report can tell on average for its average distortion, with a certified lower bound beside it."""
    law, _, _ = prior_of(prior, grid=grid_of(grid, cell_size), floor=0.0, drop_zeros=False)
    name = distortion or ("hamming" if law.positions_m is None else "euclidean")
    curve = curves.rate_distortion(law.probabilities, design_distortion(name, law), list(beta) or None)
    if output is not None:
        write_text(output, _curve_svg(curve, name, width_mm))
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


def _curve_svg(curve: curves.RateDistortion, name: str, width_mm: float | None) -> str:
    ends = np.array([0.0, *sorted(point.distortion for point in curve.points), curve.free_distortion])
    lines = {
        "channels found": np.array([curve.rate(float(d)) for d in ends]),
        "no channel below": np.array([curve.lower_bound(float(d)) for d in ends]),
    }
    panel = Panel("least information", ends, lines, f"average distortion ({name})", "nats")
    return svg([panel], columns=1, width_mm=width_mm)


def _tell(answer: Mapping[str, object], words: Mapping[str, str], *, width: int, json: bool) -> None:
    """One object, or one line for each number that has words."""
    if json:
        print_json(answer)
        return
    for key, text in words.items():
        if key in answer:
            value = answer[key]
            shown = ", ".join(f"{v:.6g}" for v in value) if isinstance(value, list) else f"{value:.6g}"
            typer.echo(f"{text:<{width}} {shown}")
