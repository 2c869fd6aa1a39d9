"""``sfumato collect crowd``: a simulated crowd drives a real collector."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.output import print_json


def crowd_command(
    url: Annotated[str, typer.Option(envvar="SFUMATO_URL", help="The collector's address.")] = "http://127.0.0.1:8000",
    city: Annotated[
        str, typer.Option(help="Where the people are: paris or sf (counts of check-ins per cell).")
    ] = "paris",
    people: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many people report in each cycle.")] = 10_000,
    cycles: Annotated[int, typer.Option(min=1, max=1000, help="How many cycles they report in.")] = 1,
    campaign: Annotated[str, typer.Option(help="The campaign's name; by default the city's.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Requests under way at the same time.")] = 32,
    token: Annotated[
        str, typer.Option(envvar="SFUMATO_OPERATOR_TOKEN", help="The operator's token, to close each cycle.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Drive a real collector with simulated people: real tickets, real reports, real draws.

    Each person is a device of its own that checks the signed channel, draws its report from the operating system's
    entropy and sends it over other connections than its ticket. A cycle closes when the campaign's rules say so, or
    when --token allows the crowd to ask for it.
    """
    from sfumato.base.progress import progress
    from sfumato.collect.cities import city as city_counts
    from sfumato.collect.client.crowd import drive

    home = city_counts(city)
    assert home.grid is not None
    with progress("Reporting", people * cycles, quiet=json) as step:
        done = drive(
            url,
            campaign or city,
            shares=home.probabilities,
            grid=home.grid,
            people=people,
            cycles=cycles,
            concurrency=concurrency,
            token=token,
            progress=lambda _count: step(),
        )
    if json:
        print_json({"ok": True, "url": url, "campaign": campaign or city, "people": people, "cycles": done})
        return
    for one in done:
        state = "closed" if one.closed else "still open"
        typer.echo(
            f"cycle {one.cycle}: {one.counted} reports counted, {one.refused} refused, in {one.seconds:.1f} s; {state}"
        )
    if any(one.moved for one in done):
        typer.echo(f"The campaign is not in {city}: that city's people were laid over its area.")
    typer.echo(f"The map: {url.rstrip('/')}/campaigns/{campaign or city}/dashboard")
