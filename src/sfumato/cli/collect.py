"""``sfumato collect``: simulate an incremental collection, or drive a real server with a crowd."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import print_json

if TYPE_CHECKING:
    from sfumato.priors.cities import City

# Blahut-Arimoto and update steps of the published experiments.
_PUBLISHED_STEPS = {"paris": (8, 10), "sf": (5, 5)}


def register(app: typer.Typer) -> None:
    """Add ``collect`` to the app."""
    collect = typer.Typer(help="Collect obfuscated locations cycle by cycle.", no_args_is_help=True)
    collect.command("simulate")(simulate_command)
    with contextlib.suppress(ModuleNotFoundError):
        import_module("sfumato.cli.crowd").register_crowd(collect)
    app.add_typer(collect, name="collect")


def simulate_command(
    city: Annotated[
        str, typer.Option(help="paris, sf, or a CSV with the columns row, column, count (row 0 north, column 0 west).")
    ] = "paris",
    beta: Annotated[float, typer.Option(help="The loss parameter per cell; a report costs at most 2 beta.")] = 1.0,
    cycles: Annotated[int, typer.Option(help="Cycles of reports after the uniform start (14 Paris, 7 SF).")] = 14,
    estimator: Annotated[
        str,
        typer.Option(
            help="published: the update on each cycle's own reports; joint: all together; blended: joint and smooth."
        ),
    ] = "published",
    reporting: Annotated[
        str, typer.Option(help="every-cycle: everyone reports every cycle; once: disjoint cohorts, one report each.")
    ] = "every-cycle",
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

    Cycle 0 is the uniform start (the paper's row N = 1): nothing is reported, so its epsilon, information, distortion
    and spending are 0. Distances are in cells, epsilon per cell; epsilon and spending are the largest over rounds.
    """
    from sfumato.collection.simulation import Protocol, averaged, simulate

    place = _city(city)
    steps = _PUBLISHED_STEPS.get(city, (8, 10))
    protocol = Protocol(
        beta=beta, cycles=cycles, ba_steps=steps[0] if ba_steps is None else ba_steps,
        ibu_steps=steps[1] if ibu_steps is None else ibu_steps, estimator=estimator, reporting=reporting,  # type: ignore[arg-type]
        floor=(0.01 if feedback else 0.0) if floor is None else floor, feedback=feedback, max_log_change=max_log_change,
        fake_share=fake_share, fake_cell=fake_cell, last_only=last_only, hold_on_alarm=hold_on_alarm,
    )  # fmt: skip
    with _progress(rounds * cycles) as advance:
        finished = simulate(place.people, place.plain_grid, protocol, rounds=rounds, seed=seed, progress=advance)
    rows = averaged(finished)
    result: dict[str, Any] = {
        "ok": True,
        "simulation": True,
        "city": place.name,
        "people": int(place.people.sum()),
        "grid": {"rows": place.plain_grid.rows, "columns": place.plain_grid.columns, "unit": "cell"},
        "beta": beta,
        "estimator": estimator,
        "reporting": reporting,
        "feedback": feedback,
        "ba_steps": protocol.ba_steps,
        "ibu_steps": protocol.ibu_steps,
        "floor": protocol.floor,
        "rounds": rounds,
        "seed": seed,
        "cycles": rows,
        "last_emd_standard_error": rows[-1]["emd_sd"] / rounds**0.5,
    }
    if json:
        print_json(result)
    else:
        _print(result)


def _city(name: str) -> City:
    from sfumato.priors.cities import CITIES, city, city_from_csv

    return city(name) if name in CITIES else city_from_csv(name)


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cycles", total=total)
        yield lambda: bar.advance(task)


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    kind = f"{result['estimator']}, {result['reporting']}"
    table = Table(title=f"{result['city']}, beta = {result['beta']:g} per cell, {kind}")
    for name in ("cycle", "EMD", "± sd", "epsilon", "MI (nats)", "distortion", "spent"):
        table.add_column(name, justify="right")
    for row in result["cycles"]:
        table.add_row(
            str(row["cycle"]), f"{row['emd_mean']:.4f}", f"{row['emd_sd']:.4f}", f"{row['epsilon']:.3f}",
            f"{row['mutual_information_nats']:.3f}", f"{row['distortion']:.3f}", f"{row['spent_epsilon']:.3f}",
        )  # fmt: skip
    Console().print(table)
    typer.echo("EMD and distortion in cells, epsilon and spending per cell; a seeded simulation,")
    typer.echo(f"mean of {result['rounds']} rounds of {result['people']} people.")
