"""``estimate distances``, ``speeds`` and ``stays``: how people move, from paths drawn given their releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import typer
from rich.console import Console
from rich.progress import Progress

from sfumato.base.things.estimated_map import LEAST_PEOPLE
from sfumato.base.units import duration_s, format_duration, format_length
from sfumato.cli import command_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.answers.estimate_options import Question
from sfumato.tracks.answers.answer_files import check_ending, write_answer
from sfumato.tracks.answers.intervals import OverPeople
from sfumato.tracks.answers.received import receive_each
from sfumato.tracks.answers.ways.displacement import Displacements
from sfumato.tracks.answers.ways.drawn_ways import QUANTILES, STAY_RADIUS_M, STAY_S, Ways
from sfumato.tracks.answers.ways.how_people_move import (
    MovingAnswer,
    estimate_distances,
    estimate_speeds,
    estimate_stays,
)


@dataclass(frozen=True, slots=True)
class WaysQuestion(Question):
    """How people move."""

    weight: str = typer.Option(
        "pooled", help="'pooled': whoever recorded more counts more; 'per-person': everybody counts the same."
    )


@dataclass(frozen=True, slots=True)
class DistancesQuestion(WaysQuestion):
    """How far."""

    lags: str = typer.Option("1min,10min,1h", help="Times between two points whose distance is squared.")


def distances(asked: DistancesQuestion) -> None:
    """Squares have the noise taken out exactly; lengths are read off paths drawn given the release."""
    answer_ways("distances", asked, lags_s=[duration_s(lag) for lag in asked.lags.split(",")])


def answer_ways(question: str, asked: WaysQuestion, **wishes: Sequence[float]) -> None:
    """How far, how fast, how many stays."""
    check_ending(asked.output)
    received = receive_each(asked.release, asked.certificate)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Drawing paths given the release", total=None)
        answer = _QUESTIONS[question](
            received,
            **wishes,
            confidence=asked.confidence,
            each_release_a_person=asked.each_file_a_person,
            weight=asked.weight,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    squares, ways = answer.squares, answer.ways
    if asked.output is not None:
        write_answer(answer, asked.output)
    if asked.json:
        written = {"output": asked.output and str(asked.output)}
        print_json({"ok": True, "confidence": asked.confidence, **answer.to_dict(), **written})
        return
    typer.echo(_whose(ways.people, asked.confidence))
    for line in [*([] if squares is None else _squares(squares)), *_LINES[question](ways), *answer.notes]:
        typer.echo(line)
    if asked.output is not None:
        typer.echo(f"Written: {asked.output}")


def _whose(people: int, confidence: float) -> str:
    if people >= LEAST_PEOPLE:
        return f"{people} people; intervals of {100 * confidence:g} % over people."
    crowd = "One person" if people == 1 else f"{people} people"
    return f"{crowd}: no intervals. They are over people, and need at least {LEAST_PEOPLE}."


def _row(label: str, one: OverPeople, unit: str, scale: float = 1.0) -> str:
    interval = "" if math.isnan(one.low) else f"  [{one.low / scale:.4g}, {one.high / scale:.4g}]"
    value = "-" if math.isnan(one.value) else f"{one.value / scale:.4g} {unit}"
    return f"  {label:<44}{value}{interval}"


def _squares(found: Displacements) -> list[str]:
    rows = [
        _row(f"mean squared displacement in {format_duration(lag)}", one, "km²", 1e6)
        for lag, one in zip(found.lags_s, found.squared_m2, strict=True)
    ]
    return [*rows, _row("squared radius of gyration of a track", found.gyration_m2, "km²", 1e6)]


def _spread(label: str, ways: Ways, name: str, unit: str, scale: float = 1.0) -> list[str]:
    return [
        _row(f"{100 * q:g} % of {label} under", one, unit, scale) + "  (mostly the model)" * model
        for q, one, model in zip(QUANTILES, ways.distributions()[name], ways.models(name), strict=True)
    ]


def _distances(ways: Ways) -> list[str]:
    return [
        f"  total length {format_length(ways.total_length_m)}",
        _row("length of a trip", ways.trip_length_m, "km", 1e3),
        *_spread("trips", ways, "trip_length_m", "km", 1e3),
    ]


def _speeds(ways: Ways) -> list[str]:
    rows = [_row("speed, length over time without pauses", ways.speed_m_s, "m/s"), "  slower than, of the time:"]
    return [*rows, *_spread("the time", ways, "speed_m_s", "m/s")]


def _stays(ways: Ways) -> list[str]:
    what = f"A stay is at least {format_duration(STAY_S)} within {format_length(STAY_RADIUS_M)} of where it began."
    rows = [_row("stays a day", ways.stays_per_day, ""), _row("share of the time in stays", ways.stay_share, "")]
    return [*rows, *_spread("stays", ways, "stay_s", "min", 60.0), what]


WAYS: dict[str, tuple[str, Callable[..., None]]] = {
    "distances": (
        "How far: squared displacement without bias, and lengths of trips.",
        command_of(DistancesQuestion, distances),
    ),
    "speeds": (
        "How fast, from paths drawn given the release. Says when the answer is mostly the model: where the "
        "release tells less than half of the squared steps, or less than four fifths of the length.",
        command_of(WaysQuestion, partial(answer_ways, "speeds")),
    ),
    "stays": (
        "How many stays and how long (at least five minutes within 200 m of where it began), from paths drawn "
        "given the release. Says when the answer is mostly the model.",
        command_of(WaysQuestion, partial(answer_ways, "stays")),
    ),
}
_LINES = {"distances": _distances, "speeds": _speeds, "stays": _stays}
_QUESTIONS: dict[str, Callable[..., MovingAnswer]] = {
    "distances": estimate_distances,
    "speeds": estimate_speeds,
    "stays": estimate_stays,
}
