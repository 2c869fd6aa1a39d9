"""``sfumato channel convert | compose | mismatch | rate-distortion``: the theorems on numbers of your own."""

from __future__ import annotations

from pathlib import Path

import typer

_PRIOR_HELP = "One probability or count per line (see `channel design --help` for the format)."


def register_theorems(channel_app: typer.Typer) -> None:
    """Add ``convert``, ``compose``, ``mismatch`` and ``rate-distortion`` to the channel commands."""
    channel_app.command("convert")(convert)
    channel_app.command("compose")(compose)
    channel_app.command("mismatch")(mismatch)
    channel_app.command("rate-distortion")(rate_distortion)


def convert(
    value: float = typer.Argument(..., help="The bound that is known, in the unit of its notion (nats for most)."),
    source: str = typer.Option(..., "--from", help="The notion it bounds: lip, ldp, di, geo_epsilon_per_m, ..."),
    target: str | None = typer.Option(None, "--to", help="The notion wanted; left out: everything that follows."),
    prior: Path | None = typer.Option(None, help=_PRIOR_HELP),
    order: float | None = typer.Option(None, help="The order of notions that have one, for example 2."),
    second_order: float | None = typer.Option(None, help="The second order of maximal (alpha, beta)-leakage."),
    delta: float | None = typer.Option(None, help="The delta of notions that have one."),
    people: int | None = typer.Option(None, help="How many people's reports are mixed (shuffled_epsilon)."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What a bound on one notion says about another: the tightest known, and what the paper prints.

    Each step says when it holds and whether some channel attains it. A printed conversion that is looser, or wrong,
    stands beside it with its erratum.
    """
    from sfumato.cli.channels.channel_stated import run_convert

    facts = {"order": order, "second_order": second_order, "delta": delta, "people": people}
    run_convert(value, source, target, prior=prior, facts=facts, json=json)


def compose(
    channels: list[Path] = typer.Argument(None, help="Saved channels, one report each; name one twice for two."),
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    epsilon: list[float] = typer.Option([], help="Instead of channels: the LIP leakage of each report, in nats."),
    transition: Path | None = typer.Option(None, help="CSV of P(next | now), one row per symbol: one report per step."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What several reports tell together: exact for given channels, worst case and Theorem 4 for given leakages.

    With --transition the symbol moves and each report is about one step (Corollary 5). Leakages do not add; they do
    where each report is designed for the posterior, and that sum is printed too.
    """
    from sfumato.cli.channels.channel_stated import run_compose

    run_compose(list(channels or []), prior=prior, epsilons=list(epsilon), transition=transition, json=json)


def mismatch(
    designed_for: Path = typer.Option(..., help="The prior the channel was designed for."),
    truth: Path = typer.Option(..., help="The prior that holds."),
    channel: Path | None = typer.Option(None, help="The channel; its leakage under both priors is then exact."),
    epsilon: float | None = typer.Option(None, help="Instead of a channel: its leakage under the first prior, nats."),
    samples: int | None = typer.Option(None, help="The first prior was estimated from this many draws (Corollary 3)."),
    set_error: float = typer.Option(0.05, help="Error probability of that estimate."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What a promise for one prior is worth under another: Lemma 3, Corollaries 3 and 6, and the exact leakage."""
    from sfumato.cli.channels.channel_stated import run_mismatch

    run_mismatch(designed_for, truth, channel=channel, epsilon=epsilon, samples=samples, set_error=set_error, json=json)


def rate_distortion(
    prior: Path = typer.Option(..., help=_PRIOR_HELP),
    distortion: str | None = typer.Option(None, help="hamming, euclidean or a CSV; default: as in `channel design`."),
    beta: list[float] = typer.Option([], help="A slope of the curve; repeat. Default: 16 spread over it."),
    grid: str | None = typer.Option(None, help="ROWSxCOLUMNS: the prior's lines are cells, from north-west."),
    cell_size: str | None = typer.Option(None, help="Side of a cell of --grid, for example 500m; else 1."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Draw the curve here (SVG)."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """The least a report can tell on average for its average distortion, with a certified lower bound beside it."""
    from sfumato.cli.channels.channel_stated import run_rate_distortion

    run_rate_distortion(
        prior, distortion=distortion, betas=beta, grid=grid, cell_size=cell_size, output=output, json=json
    )
