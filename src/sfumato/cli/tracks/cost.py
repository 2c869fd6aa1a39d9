"""The command ``cost``: what a routine, a known regular place or companions cost, from a certificate alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.units import duration_s, format_length, length_m
from sfumato.cli.output import AsJson, print_json
from sfumato.tracks.adversary import routine
from sfumato.tracks.adversary.routine import Cost, Days
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.priors.kernels import Matern32

_STEPS = (1, 5, 10, 20, 60, 120, 250)


def register(app: typer.Typer) -> None:
    """Add ``cost`` to the app."""
    app.command("cost", help="What a routine or a known regular place gives away over days, from a certificate.")(cost)


def cost(
    certificate: Path = typer.Argument(..., help="A certificate (JSON) of sfumato protect; no trace is needed."),
    repeats: int = typer.Option(20, help="On how many days the same is recorded."),
    secret: list[str] = typer.Option(
        [], help="A place to keep secret and its hours: home=22:00-7:00; repeat for more."
    ),
    known: list[str] = typer.Option([], help="A regular place that the adversary knows: work=9:00-17:00."),
    unknown: list[str] = typer.Option([], help="A further regular place that they do not know: gym=18:00-19:00."),
    route: list[str] = typer.Option([], help="A way taken every day, the same each time: commute=8:00-8:30."),
    route_sd: str = typer.Option("4km", help="How far from what the adversary expects a route may lie (m, km)."),
    companions: int = typer.Option(0, help="This many people travel one way together, and all of them are released."),
    laps: str | None = typer.Option(None, help="Round and round, one lap in this time: 5min."),
    every: str = typer.Option("10min", help="How often positions are recorded at a place (routes: once a minute)."),
    separate: bool = typer.Option(
        False, "--separate", help="Every day is a release of its own with redrawn noise (without --state)."
    ),
    json: AsJson = False,
) -> None:
    """Exact odds, 99 times in 100, between two places at most the certificate's radius apart."""
    document = read_certificate(certificate)
    if not 1 <= repeats <= 3660:
        raise InputError(f"--repeats is {repeats}.", "It must be a number of days from 1 to 3660.")
    if not (secret or route or companions or laps):
        raise InputError(
            "Nothing was asked.",
            "Give --secret home=22:00-7:00, --route commute=8:00-8:30, --laps 5min or --companions 2.",
        )
    places, known_places, others, ways = (
        [routine.Hours.parse(text) for text in texts] for texts in (secret, known, unknown, route)
    )
    prior = Matern32(routine.ROUTE_PRIOR.length_scale_s, length_m(route_sd))
    rows: list[Cost] = []
    if places or ways:
        noise, radius_m = routine.noise_law(document)
        for days in [*(step for step in _STEPS if step < repeats), repeats]:
            seen = Days(noise, radius_m, known_places, others, days, duration_s(every), separate)
            for place in places:
                rest = [other for other in places if other is not place]
                rows.append(routine.place_cost(replace(seen, unknown=rest + others), place))
            every_place = replace(seen, unknown=places + others)
            rows += [routine.route_cost(every_place, way, prior=prior) for way in ways]
    if companions:
        rows.append(routine.companions_cost(document, companions))
    if laps:
        rows.append(routine.laps_cost(document, duration_s(laps)))
    if json:
        print_json({"costs": [row.to_dict() for row in rows], "radius_m": document["radius_m"], "covered": False})
        return
    _say(rows, [place.name for place in known_places], float(document["radius_m"]))


def _say(rows: list[Cost], known: list[str], radius_m: float) -> None:
    whose = f" (known: {', '.join(known)})" if known else ""
    typer.echo(f"Odds between two places at most {format_length(radius_m)} apart, 99 times in 100{whose}:")
    for row in rows:
        times = f"after {row.repeats} day{'' if row.repeats == 1 else 's'}"
        if row.what.endswith("on one way"):
            times = "together"
        if row.what.startswith("laps of"):
            times = f"in step for {row.repeats}"
        typer.echo(f"  {row.what:<28}{times:<18}{odds_words(row.odds_99)}")
    typer.echo(
        "The certificate does not cover this: it is what repetition gives away. Withhold regular places (sfumato hide) "
        "and share a routine seldom."
    )
