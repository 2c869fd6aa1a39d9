"""``sfumato collect``: simulate an incremental collection, or drive a real server with a crowd."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``collect`` to the app."""
    collect = typer.Typer(help="Collect obfuscated locations cycle by cycle.", no_args_is_help=True)
    collect.command("simulate")(simulate_command)
    collect.command("plan")(plan_command)
    with contextlib.suppress(ModuleNotFoundError):
        import_module("sfumato.cli.collect.crowd").register_crowd(collect)
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
    feedback: Annotated[
        bool, typer.Option("--feedback", help="Let the joint estimate choose the next channel.")
    ] = False,
    ba_steps: Annotated[int | None, typer.Option(help="Blahut-Arimoto steps per cycle (8 Paris, 5 SF).")] = None,
    ibu_steps: Annotated[int | None, typer.Option(help="Bayesian update steps per cycle (10 Paris, 5 SF).")] = None,
    floor: Annotated[
        float | None, typer.Option(help="Share of uniform in the weights (0; 0.01 with --feedback).")
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            help="The first map: uniform, spike:CELL (nine tenths there) or spike:CELL:SHARE, random (of the seed), or "
            "a file of one value per cell."
        ),
    ] = "uniform",
    first_channel: Annotated[
        str,
        typer.Option(
            help="The channel of the first cycle: blahut-arimoto (of the first map), laplace:EPSILON (exact) or rate:K."
        ),
    ] = "blahut-arimoto",
    fake_share: Annotated[float, typer.Option(help="Share of forged reports in every cycle.")] = 0.0,
    fake_cell: Annotated[int | None, typer.Option(help="The cell that forged reports name.")] = None,
    max_log_change: Annotated[
        float | None, typer.Option(help="Cap on the change of log c between cycles (none).")
    ] = None,
    hold_on_alarm: Annotated[
        bool, typer.Option("--hold-on-alarm", help="Keep the channel after a cycle that raises the residual alarm.")
    ] = False,
    last_only: Annotated[
        bool, typer.Option("--last-only", help="With joint: estimate after the last cycle only (faster).")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Simulate a campaign on real counts: how near the estimate comes, what each channel gives away, what is spent.

    Cycle 0 is the start (uniform: the paper's row N = 1): nothing is reported, so its epsilon, information, distortion
    and spending are 0. Distances are in cells, epsilon per cell; epsilon and spending are the largest over rounds.
    """
    from sfumato.cli.collect.collect_simulated import SimulationOptions, simulated

    simulated(
        SimulationOptions(
            city=city,
            beta=beta,
            promise=promise,
            cycles=cycles,
            estimator=estimator,
            reporting=reporting,
            rounds=rounds,
            seed=seed,
            feedback=feedback,
            ba_steps=ba_steps,
            ibu_steps=ibu_steps,
            floor=floor,
            start=start,
            first_channel=first_channel,
            fake_share=fake_share,
            fake_cell=fake_cell,
            max_log_change=max_log_change,
            hold_on_alarm=hold_on_alarm,
            last_only=last_only,
        ),
        json=json,
    )


def plan_command(
    place: Annotated[str, typer.Option("--city", help="paris or sf; or give --cell, --rows and --columns.")] = "paris",
    cell: Annotated[str | None, typer.Option(help="The side of square cells, for example 500m.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of cells, with --cell.")] = 20,
    columns: Annotated[int, typer.Option(min=1, help="Columns of cells, with --cell.")] = 20,
    epsilon: Annotated[float, typer.Option(help="What one report may cost at most: epsilon per km.")] = 2.0,
    promise: Annotated[
        str | None, typer.Option(help="epsilon or mutual-information; both are shown when it is left out.")
    ] = None,
    cycle: Annotated[str, typer.Option(help="How long a cycle lasts, for example 1day.")] = "1day",
    lasting: Annotated[str, typer.Option(help="How long people should be able to take part.")] = "2year",
    people: Annotated[int, typer.Option(min=1, help="About how many people will take part.")] = 500,
    after: Annotated[str, typer.Option(help="When the map is looked at, for example 7day.")] = "7day",
    reporting: Annotated[str, typer.Option(help="once, every-cycle, or once-per-epoch with --epoch-cycles.")] = "once",
    epoch_cycles: Annotated[int, typer.Option(help="Cycles that share one report of a device.")] = 0,
    bounds: Annotated[
        str | None, typer.Option(help="SOUTH,WEST,NORTH,EAST in degrees, with --cell, instead of rows and columns.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="A device's budget, epsilon per km; as devices have it when left out.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Compare what a campaign could promise before anybody takes part, and plan how often people can report.

    Says how fine a map that many people would draw. Two neighbouring areas, one with twice as many people, are told
    apart when the fuller one comes out fuller in 95 of 100 campaigns.
    A device stops for good when its budget is spent. "once" costs one report in a campaign's life;
    "once-per-epoch" with the epoch shown lasts as long as asked.
    """
    from sfumato.cli.collect.collect_plan import Crowd, planned

    planned(
        place=place,
        cell=cell,
        rows=rows,
        columns=columns,
        epsilon=epsilon,
        promise=promise,
        cycle=cycle,
        lasting=lasting,
        crowd=Crowd(people, after, reporting, epoch_cycles or None),
        bounds=bounds,
        budget=budget,
        json=json,
    )
