"""What ``sfumato collect simulate`` does once its options are read: run the rounds, print a table or one object."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sfumato.accountant.compose import checked_reporting
from sfumato.cli.output import print_json, table_console
from sfumato.collect.cities import CITIES, City, city, city_from_csv
from sfumato.collect.loop.loop import checked_promise
from sfumato.collect.loop.simulation import (
    AveragedCycle,
    Protocol,
    averaged,
    checked_estimator,
    first_channel_named,
    simulate,
    start_named,
)

# Blahut-Arimoto and update steps of the published experiments.
_PUBLISHED_STEPS = {"paris": (8, 10), "sf": (5, 5)}


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options of the command; what is None follows the city or the other options."""

    city: str
    beta: float
    promise: str
    cycles: int
    estimator: str
    reporting: str
    rounds: int
    seed: int
    feedback: bool
    ba_steps: int | None
    ibu_steps: int | None
    floor: float | None
    start: str
    first_channel: str
    fake_share: float
    fake_cell: int | None
    max_log_change: float | None
    hold_on_alarm: bool
    last_only: bool

    def protocol(self) -> Protocol:
        """The campaign that was asked for, checked."""
        steps = _PUBLISHED_STEPS.get(self.city, (8, 10))
        return Protocol(
            beta=self.beta,
            promise=checked_promise(self.promise),
            cycles=self.cycles,
            ba_steps=steps[0] if self.ba_steps is None else self.ba_steps,
            ibu_steps=steps[1] if self.ibu_steps is None else self.ibu_steps,
            estimator=checked_estimator(self.estimator),
            reporting=checked_reporting(self.reporting),
            floor=(0.01 if self.feedback else 0.0) if self.floor is None else self.floor,
            feedback=self.feedback,
            max_log_change=self.max_log_change,
            fake_share=self.fake_share,
            fake_cell=self.fake_cell,
            last_only=self.last_only,
            hold_on_alarm=self.hold_on_alarm,
        )


def simulated(asked: SimulationOptions, *, json: bool) -> None:
    """Run the rounds and print them."""
    place = city(asked.city) if asked.city in CITIES else city_from_csv(asked.city)
    protocol = asked.protocol()
    with _progress(asked.rounds * asked.cycles) as advance:
        finished = simulate(
            place.people,
            place.plain_grid,
            protocol,
            rounds=asked.rounds,
            seed=asked.seed,
            progress=advance,
            start=start_named(asked.start, place.plain_grid, seed=asked.seed),
            first_channel=first_channel_named(asked.first_channel, place.plain_grid),
        )
    rows = averaged(finished)
    if not json:
        _print(asked, place, rows)
        return
    print_json(
        {
            "ok": True,
            "simulation": True,
            "city": place.name,
            "people": int(place.people.sum()),
            "grid": {"rows": place.plain_grid.rows, "columns": place.plain_grid.columns, "unit": "cell"},
            "beta": asked.beta,
            "promise": asked.promise,
            "promised_epsilon": 2 * asked.beta,
            "estimator": asked.estimator,
            "reporting": asked.reporting,
            "feedback": asked.feedback,
            "start": asked.start,
            "first_channel": asked.first_channel,
            "ba_steps": protocol.ba_steps,
            "ibu_steps": protocol.ibu_steps,
            "floor": protocol.floor,
            "rounds": asked.rounds,
            "seed": asked.seed,
            "cycles": [asdict(row) for row in rows],
            "last_emd_standard_error": rows[-1].emd_sd / asked.rounds**0.5,
        }
    )


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cycles", total=total)
        yield lambda: bar.advance(task)


def _print(asked: SimulationOptions, place: City, rows: list[AveragedCycle]) -> None:
    promised = f"promise of {asked.promise}, epsilon {2 * asked.beta:g} per cell"
    table = Table(title=f"{place.name}, {promised}, {asked.estimator}, {asked.reporting}")
    for name in ("cycle", "EMD", "± sd", "epsilon", "MI (nats)", "distortion", "spent"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            str(row.cycle),
            f"{row.emd_mean:.4f}",
            f"{row.emd_sd:.4f}",
            f"{row.epsilon:.3f}",
            f"{row.mutual_information_nats:.3f}",
            f"{row.distortion:.3f}",
            f"{row.spent_epsilon:.3f}",
        )
    table_console().print(table)
    typer.echo("EMD and distortion in cells, epsilon and spending per cell; a seeded simulation,")
    typer.echo(f"mean of {asked.rounds} rounds of {int(place.people.sum())} people.")
