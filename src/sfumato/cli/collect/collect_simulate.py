"""``sfumato collect``: simulate an incremental collection, plan a campaign, or drive a real server with a crowd."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sfumato.accountant.compose import checked_reporting
from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.cli.collect.campaign_door import TokenFile, operators_token
from sfumato.cli.collect.collect_plan import plan_command
from sfumato.cli.output import AsJson, in_panel, print_json, table_console
from sfumato.collect.cities import CITIES, City, city_from_csv
from sfumato.collect.cities import city as city_counts
from sfumato.collect.client.crowd import drive, is_rehearsal
from sfumato.collect.loop.loop import checked_promise
from sfumato.collect.loop.simulation import (
    AveragedCycle,
    Protocol,
    average_rounds,
    checked_estimator,
    first_channel_named,
    simulate,
    start_named,
)

# Blahut-Arimoto and update steps of the published experiments.
_PUBLISHED_STEPS = {"paris": (8, 10), "sf": (5, 5)}
_loop, _forged = in_panel("The published loop"), in_panel("Forged reports, and what stands against them")


def register(app: typer.Typer) -> None:
    """Add ``collect`` to the app."""
    collect = typer.Typer(help="Collect obfuscated locations cycle by cycle.", no_args_is_help=True)
    for name, command in (("simulate", simulate_command), ("plan", plan_command), ("crowd", crowd_command)):
        collect.command(name)(command)
    app.add_typer(collect, name="collect")


def simulate_command(
    city: Annotated[
        str, typer.Option(help="paris, sf, or a CSV with the columns row, column, count (row 0 north, column 0 west).")
    ] = "paris",
    beta: Annotated[
        float, typer.Option(help="Half the promise: a report costs at most epsilon = 2 beta per cell.")
    ] = 1.0,
    promise: Annotated[
        str,
        typer.Option(
            help="epsilon: the tight channel of exact epsilon 2 beta, best for the map at that epsilon; "
            "mutual-information: the published loop, which tells least about a place on average."
        ),
    ] = "epsilon",
    cycles: Annotated[int, typer.Option(help="Cycles of reports after the uniform start (14 Paris, 7 SF).")] = 14,
    estimator: Annotated[
        str,
        typer.Option(
            help="blended: all cycles together, early-stopped and smooth averaged; joint: early-stopped alone; "
            "published: the update on each cycle's own reports."
        ),
    ] = "blended",
    reporting: Annotated[
        str, typer.Option(help="once: disjoint cohorts, one report each; every-cycle: everyone reports every cycle.")
    ] = "once",
    rounds: Annotated[int, typer.Option(help="Independent repetitions; round r is seeded with seed + r.")] = 5,
    seed: Annotated[int, typer.Option(help="First seed; a simulation is always seeded.")] = 0,
    feedback: Annotated[bool, _loop("Let the joint estimate choose the next channel.", "--feedback")] = False,
    ba_steps: Annotated[int | None, _loop("Blahut-Arimoto steps per cycle (8 Paris, 5 SF).")] = None,
    ibu_steps: Annotated[int | None, _loop("Bayesian update steps per cycle (10 Paris, 5 SF).")] = None,
    floor: Annotated[
        float | None, _loop("Share of uniform in the weights (0; 0.01 with --feedback or the promise epsilon).")
    ] = None,
    start: Annotated[
        str,
        _loop(
            "The first map: uniform, spike:CELL (nine tenths there) or spike:CELL:SHARE, random (of the seed), or "
            "a file of one value per cell."
        ),
    ] = "uniform",
    first_channel: Annotated[
        str,
        _loop("The channel of the first cycle: blahut-arimoto (of the first map), laplace:EPSILON (exact) or rate:K."),
    ] = "blahut-arimoto",
    fake_share: Annotated[float, _forged("Share of forged reports in every cycle.")] = 0.0,
    fake_cell: Annotated[int | None, _forged("The cell that forged reports name.")] = None,
    max_log_change: Annotated[float | None, _forged("Cap on the change of log c between cycles (none).")] = None,
    hold_on_alarm: Annotated[
        bool, _forged("Keep the channel after a cycle that raises the residual alarm.", "--hold-on-alarm")
    ] = False,
    last_only: Annotated[
        bool, typer.Option("--last-only", help="With joint: estimate after the last cycle only (faster).")
    ] = False,
    json: AsJson = False,
) -> None:
    """Simulate a campaign on real counts: how near the estimate comes, what each channel gives away, what is spent.

    Cycle 0 is the start (uniform: the paper's row N = 1): nothing is reported, so its epsilon, information, distortion
    and spending are 0. Distances are in cells, epsilon per cell; epsilon and spending are the largest over rounds.
    """
    tight, apart = promise == "epsilon", estimator != "published"
    _refuse_idle(
        {
            "--start": start != "uniform" and tight and apart,
            "--ibu-steps": ibu_steps is not None and ((tight and apart) or feedback),
            "--ba-steps": ba_steps is not None and tight,
            "--max-log-change": max_log_change is not None and tight,
            "--hold-on-alarm": hold_on_alarm and tight,
            "--feedback": feedback and tight and apart,
            "--last-only": last_only and (feedback or not apart),
        }
    )
    place = city_counts(city) if city in CITIES else city_from_csv(city)
    steps = _PUBLISHED_STEPS.get(city, (8, 10))
    protocol = Protocol(
        beta=beta,
        promise=checked_promise(promise),
        cycles=cycles,
        ba_steps=steps[0] if ba_steps is None else ba_steps,
        ibu_steps=steps[1] if ibu_steps is None else ibu_steps,
        estimator=checked_estimator(estimator),
        reporting=checked_reporting(reporting),
        last_only=last_only,
        floor=(0.01 if feedback else 0.0) if floor is None else floor,
        feedback=feedback,
        max_log_change=max_log_change,
        hold_on_alarm=hold_on_alarm,
        fake_share=fake_share,
        fake_cell=fake_cell,
    )
    with progress("cycles", rounds * cycles) as advance:
        finished = simulate(
            place.people,
            place.plain_grid,
            protocol,
            rounds=rounds,
            seed=seed,
            progress=advance,
            start=start_named(start, place.plain_grid, seed=seed),
            first_channel=first_channel_named(first_channel, place.plain_grid),
        )
    rows = average_rounds(finished)
    if not json:
        _print(place, protocol, rows, rounds)
        return
    print_json(
        {
            "ok": True,
            "simulation": True,
            "city": place.name,
            "people": int(place.people.sum()),
            "grid": {"rows": place.plain_grid.rows, "columns": place.plain_grid.columns, "unit": "cell"},
            **asdict(protocol),
            "promised_epsilon": 2 * beta,
            "start": start,
            "first_channel": first_channel,
            "rounds": rounds,
            "seed": seed,
            "cycles": [asdict(row) for row in rows],
            "last_emd_standard_error": rows[-1].emd_sd / rounds**0.5,
        }
    )


def _refuse_idle(idle: dict[str, bool]) -> None:
    """An option that would change no cycle is refused: a run with it would look like a run that tried it."""
    if named := [name for name, wrong in idle.items() if wrong]:
        raise InputError(
            f"{' and '.join(named)} would change nothing here: the tight channel follows no map, a joint estimate "
            "starts from none, and only a joint estimate that chooses no channel can wait for the last cycle.",
            "Add --promise mutual-information (the published loop), without --feedback for --start, --ibu-steps or "
            "--last-only, which needs --estimator joint.",
        )


def _print(place: City, protocol: Protocol, rows: list[AveragedCycle], rounds: int) -> None:
    promised = f"promise of {protocol.promise}, epsilon {2 * protocol.beta:g} per cell"
    table = Table(title=f"{place.name}, {promised}, {protocol.estimator}, {protocol.reporting}")
    for name in ("cycle", "EMD", "± sd", "epsilon", "MI (nats)", "distortion", "spent"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = (row.epsilon, row.mutual_information_nats, row.distortion, row.spent_epsilon)
        away = (f"{row.emd_mean:.4f}", f"{row.emd_sd:.4f}")
        table.add_row(str(row.cycle), *away, *(f"{number:.3f}" for number in numbers))
    table_console().print(table)
    typer.echo("EMD and distortion in cells, epsilon and spending per cell; a seeded simulation,")
    typer.echo(f"mean of {rounds} rounds of {int(place.people.sum())} people.")


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
        str,
        typer.Option(
            envvar="SFUMATO_OPERATOR_TOKEN",
            help="The operator's token: to close each cycle, and for any campaign that is no rehearsal.",
        ),
    ] = "",
    token_file: TokenFile = "",
    json: AsJson = False,
) -> None:
    """Drive a real collector with simulated people: real tickets, real reports, real draws.

    Each person is a device of its own that checks the signed channel, draws its report from the operating system's
    entropy and sends it over other connections than its ticket. A cycle closes when the campaign's rules say so, or
    when --token allows the crowd to ask for it. Simulated reports are counted like everybody's and cannot be taken
    out again: a campaign that is no rehearsal (campaign create --rehearsal) takes them from its operator alone.
    """
    home = city_counts(city)
    assert home.grid is not None
    token = operators_token(token_file) if token_file else token
    if not is_rehearsal(url, campaign or city, token=token):
        typer.echo(
            f"Warning: {campaign or city} is no rehearsal: {people * cycles} simulated reports are counted in it "
            "as people's, and cannot be taken out again.",
            err=True,
        )
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
