"""``sfumato collect plan``: what a campaign would promise and tell, and how long a device can take part in it."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sfumato.accountant.device import DEFAULT_CAP_PER_KM
from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid
from sfumato.base.units import bounds_deg, duration_s, format_duration, format_length, length_m
from sfumato.cli.output import AsJson, in_panel, print_json, table_console
from sfumato.collect.cities import CITIES, city
from sfumato.collect.client.offer import Caps
from sfumato.collect.client.reveals import reveals
from sfumato.collect.loop.districts import Districts, Pair, pairs_of, telling
from sfumato.collect.loop.forecast import CampaignPlan, Forecast, as_planned, cheaper, forecast, plan
from sfumato.collect.loop.loop import PROMISES, checked_promise
from sfumato.collect.loop.rhythm import Rhythm, as_reporting, checked_rhythm

_area = in_panel("Another area")


def plan_command(
    place: Annotated[str, typer.Option("--city", help="paris or sf; or give --cell, --rows and --columns.")] = "paris",
    cell: Annotated[str | None, typer.Option(help="The side of square cells, for example 500m.")] = None,
    rows: Annotated[int | None, _area("Rows of cells; 20 when left out.", min=1)] = None,
    columns: Annotated[int | None, _area("Columns of cells; 20 when left out.", min=1)] = None,
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
        str | None, _area("SOUTH,WEST,NORTH,EAST in degrees, with --cell, instead of rows and columns.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="A device's budget, epsilon per km; as devices have it when left out.")
    ] = None,
    areas: Annotated[Path | None, _area("Districts, as campaign create has them, with --bounds and --cell.")] = None,
    name_field: Annotated[str | None, _area("The property that names a district.")] = None,
    json: AsJson = False,
) -> None:
    """Compare what a campaign could promise before anybody takes part, and plan how often people can report.

    Says how fine a map that many people would draw. Two neighbouring areas, one with twice as many people, are told
    apart when the fuller one comes out fuller in 95 of 100 campaigns.
    A device stops for good when its budget is spent. "once" costs one report in a campaign's life;
    "once-per-epoch" with the epoch shown lasts as long as asked.
    """
    budget = DEFAULT_CAP_PER_KM if budget is None else budget
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"--epsilon is {epsilon:g} per km.", "It must be a finite number greater than 0.")
    grid, prior = _where(place, cell, rows, columns, bounds)
    if grid.cells > Caps().cells:
        shape = f"{grid.rows} × {grid.columns} cells"
        raise InputError(
            f"{shape} are more than the {Caps().cells:,} that devices accept.", "Take larger cells, or a smaller area."
        )
    chosen = PROMISES if promise is None else (checked_promise(promise),)
    plans = [
        plan(
            grid,
            epsilon=epsilon / 1000,
            promise=one,
            prior=prior,
            budget=budget / 1000,
            cycle_s=duration_s(cycle),
            lasting_s=duration_s(lasting),
        )
        for one in chosen
    ]
    epoch = epoch_cycles or None
    rhythm, each_s, within_s = checked_rhythm(reporting, epoch), duration_s(cycle), duration_s(after)
    expected = [
        forecast(one, people=people, after_s=within_s, cycle_s=each_s, reporting=rhythm, epoch_cycles=epoch)
        for one in plans
    ]
    named = None if areas is None else Districts.within(Areas.read(areas, name_field=name_field), grid)
    pairs = [[] if named is None else _pairs(named, *both, rhythm) for both in zip(plans, expected, strict=True)]
    if json:
        found = zip(plans, expected, pairs, strict=True)
        told = [
            {**_plain(one, grid), **_forecast(that), "districts": [asdict(pair) for pair in apart]}
            for one, that, apart in found
        ]
        print_json({"ok": True, "budget_per_km": budget, "plans": told})
        return
    _print(plans, grid, budget, cycle, lasting)
    for one, that, apart in zip(plans, expected, pairs, strict=True):
        typer.echo(" ".join(filter(None, (f"{one.promise}: {that.words}", that.together_words, that.map_words))))
        for other in cheaper(one, that, cycle_s=each_s):
            typer.echo(f"  Cheaper: {other.once_words}")
        for pair in apart:
            typer.echo(f"  {pair.words}")
    for line in Caps().too_much(grid, epsilon_per_km=epsilon):
        typer.echo(f"Warning: no device would take part. {line}")


def _pairs(districts: Districts, one: CampaignPlan, that: Forecast, rhythm: Rhythm) -> list[Pair]:
    """Which neighbouring districts the plan's reports tell apart."""
    found = telling(districts, as_planned(one, that.each), as_reporting(rhythm))
    return pairs_of(districts, found, people=that.people, each=max(1, that.each))


def no_device(bounds: str, cell: str, epsilon_per_km: float) -> None:
    """Warn of a campaign that every device would refuse."""
    for line in Caps().too_much(_bounded(bounds, length_m(cell)), epsilon_per_km=epsilon_per_km):
        typer.echo(f"Warning: no device would take part. {line}", err=True)


def _forecast(one: Forecast) -> dict[str, object]:
    return {
        "people": one.people,
        "reports": one.reports,
        "width_told_apart_m": one.width_m,
        "people_for_width_m": [{"width_m": width, "people": people} for width, people in one.finer],
        "words": one.words,
        "reports_each": one.each,
        "epsilon_per_km_together": one.together_per_km,
        "together_words": one.together_words,
        "map_odds": asdict(one.map_odds),
        "map_words": one.map_words,
    }


def _bounded(bounds: str, side: float) -> Grid:
    south, west, north, east = bounds_deg(bounds)
    return Grid.from_bounds(south=south, west=west, north=north, east=east, cell_size_m=side)


def _where(
    place: str, cell: str | None, rows: int | None, columns: int | None, bounds: str | None
) -> tuple[Grid, FloatArray | None]:
    if bounds is not None:
        return _bounded(bounds, length_m(cell or "500m")), None
    if (cell, rows, columns) != (None, None, None):
        side = length_m(cell or "500m")
        return Grid(rows=rows or 20, columns=columns or 20, cell_height=side, cell_width=side, unit="m"), None
    if place not in CITIES:
        raise typer.BadParameter(f"There is no city '{place}'. Use {' or '.join(CITIES)}, or give --bounds.")
    home = city(place)
    assert home.grid is not None
    return home.grid, home.probabilities


def _plain(one: CampaignPlan, grid: Grid) -> dict[str, object]:
    told = reveals(grid, one.channel.output_weights, beta_per_m=one.channel.beta)
    return {
        "promise": one.promise,
        "promised_epsilon_per_km": 1000 * one.promised_epsilon,
        "epsilon_per_km": 1000 * one.epsilon,
        "beta_per_km": 1000 * one.channel.beta,
        "mutual_information_bits": one.mutual_information_bits,
        "displacement_m": one.distortion,
        "two_cell_success": told.two_cell_success,
        "two_cell_within_m": told.two_cell_within_m,
        "reports_until_stop": one.reports_until_stop,
        "every_cycle_lasts_s": one.lasts_s,
        "lasting_epoch_s": one.lasting_epoch_s if math.isfinite(one.lasting_epoch_s) else None,
        "lasting_epoch_cycles": one.lasting_epoch_cycles,
        "epsilon_per_km_each_epoch": 1000 * one.epsilon,
        "epsilon_per_km_for_ever": 1000 * one.for_ever,
        "smallest_tight_cell_m": one.smallest_tight_cell,
    }


def _print(plans: list[CampaignPlan], grid: Grid, budget: float, cycle: str, lasting: str) -> None:
    table = Table(title=f"{grid.rows} × {grid.columns} cells of {format_length(grid.cell_height)}")
    table.add_column("")
    for one in plans:
        table.add_column(one.promise, justify="right")
    facts = [_plain(one, grid) for one in plans]
    lines = (
        ("exact epsilon per km", "epsilon_per_km", "{:.3f}"),
        ("mutual information, bits", "mutual_information_bits", "{:.2f}"),
        ("mean displacement, m (if below half a cell, most stay)", "displacement_m", "{:.0f}"),
        ("worst two-cell success within 1 km", "two_cell_success", "{:.2f}"),
        ("reports until a device stops", "reports_until_stop", "{}"),
    )
    for label, key, form in lines:
        table.add_row(label, *(form.format(one[key]) for one in facts))
    table.add_row(
        f"every cycle of {format_duration(duration_s(cycle))} lasts", *(format_duration(one.lasts_s) for one in plans)
    )
    table.add_row(
        f"one report per epoch lasts {format_duration(duration_s(lasting))} with",
        *(format_duration(one.lasting_epoch_s) for one in plans),
    )
    table.add_row("  that is, epoch_cycles", *(str(one.lasting_epoch_cycles) for one in plans))
    table.add_row("  spent in each epoch, per km", *(f"{1000 * one.epsilon:.3f}" for one in plans))
    table.add_row("  spent for ever, per km", *(f"{1000 * one.for_ever:.3f}" for one in plans))
    table_console().print(table)
    first = plans[0]
    typer.echo(f"A device's budget is {budget:g} per km for everything it ever sends; then it stops for good.")
    typer.echo(f"Asked in every cycle, it stops for good after {first.reports_until_stop} reports ({first.promise}).")
    typer.echo("Plans that last: reporting once (one report in the campaign's life), or once-per-epoch as above.")
    if first.promise == "epsilon" and min(grid.cell_height, grid.cell_width) < first.smallest_tight_cell:
        typer.echo(
            f"Cells narrower than {format_length(first.smallest_tight_cell)} cost part of the promise at this epsilon: "
            f"larger cells or a larger epsilon give a sharper map."
        )
