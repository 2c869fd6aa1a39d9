"""Three questions about how people move, each with its table: how far, how fast, how long they stay.

Squares of distances have the noise taken out exactly (:mod:`~sfumato.tracks.answers.ways.displacement`); everything
else is read off paths drawn given the release (:mod:`~sfumato.tracks.answers.ways.drawn_ways`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pyarrow as pa

from sfumato.base.randomness import Random
from sfumato.base.shown import ShownAnswer
from sfumato.tracks.answers.intervals import OverPeople
from sfumato.tracks.answers.received import Pair, Received, received_all, release_notes
from sfumato.tracks.answers.ways.displacement import LAGS_S, Displacements, estimate_displacements
from sfumato.tracks.answers.ways.drawn_ways import QUANTILES, Counted, Ways, estimate_ways

DISTRIBUTION_OF = {"distances": "trip_length_m", "speeds": "speed_m_s", "stays": "stay_s"}
Row = dict[str, object]
_NUMBERS = dict.fromkeys(("lag_s", "quantile", "value", "low", "high"), pa.float64())
_COLUMNS = {"quantity": pa.string(), "unit": pa.string(), **_NUMBERS, "mostly_model": pa.bool_()}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MovingAnswer(ShownAnswer):
    """One of the three questions with what was found; ``squares`` belong to distances."""

    question: str
    squares: Displacements | None
    ways: Ways
    of_release: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for the releases, for squares, and for what is read off paths."""
        squares = () if self.squares is None else self.squares.notes
        return (*self.of_release, *squares, self.ways.told_words(stays=self.question == "stays"))

    def to_dict(self) -> dict[str, object]:
        """Everything that was found."""
        squares = {} if self.squares is None else self.squares.to_dict()
        return {**squares, **self.ways.to_dict(), "notes": list(self.notes)}

    def to_table(self) -> pa.Table:
        """``quantity, unit, lag_s, quantile, value, low, high, mostly_model``: only what the question asks."""
        rows: list[Row] = []
        if self.squares is not None:
            pairs = zip(self.squares.lags_s, self.squares.squared_m2, strict=True)
            rows += [_row("squared displacement", "m2", one, lag_s=lag) for lag, one in pairs]
            rows.append(_row("squared radius of gyration", "m2", self.squares.gyration_m2))
        ways = self.ways
        found: dict[str, tuple[str, str, tuple[OverPeople, ...], dict[tuple[str, str], OverPeople]]] = {
            "distances": ("trip length", "m", ways.trip_length_quantiles_m, {("trip length", "m"): ways.trip_length_m}),
            "speeds": ("speed", "m/s", ways.speed_quantiles, {("speed", "m/s"): ways.speed_m_s}),
            "stays": (
                "stay",
                "s",
                ways.stay_quantiles_s,
                {("stays a day", "1/d"): ways.stays_per_day, ("share of the time in stays", ""): ways.stay_share},
            ),
        }
        name, unit, quantiles, means = found[self.question]
        model = ways.stays_mostly_model if self.question == "stays" else ways.mostly_model
        rows += [_row(what, of, one, model=model) for (what, of), one in means.items()]
        models = ways.models(DISTRIBUTION_OF[self.question])
        rows += [
            _row(name, unit, one, quantile=q, model=hidden)
            for q, one, hidden in zip(QUANTILES, quantiles, models, strict=True)
        ]
        return pa.table(
            {name: pa.array([row[name] for row in rows], kind, from_pandas=True) for name, kind in _COLUMNS.items()}
        )


class PathsAsked(TypedDict, total=False):
    """What all three questions take: confidence, whose releases they are, how people count
    (``pooled``, or ``per-person``: all the same), randomness, and a call after each person."""

    confidence: float
    each_release_a_person: bool
    weight: Counted
    rng: Random
    progress: Callable[[int, int], None] | None


def estimate_distances(
    received: Sequence[Received | Pair], *, lags_s: Sequence[float] = LAGS_S, **asked: Unpack[PathsAsked]
) -> MovingAnswer:
    """Squared displacements without bias, and lengths of trips read off paths drawn given the release."""
    every = received_all(received)
    confidence, each = asked.get("confidence", 0.9), asked.get("each_release_a_person", False)
    squares = estimate_displacements(every, lags_s=lags_s, confidence=confidence, each_release_a_person=each)
    notes = tuple(release_notes(every, trips=True))
    return MovingAnswer("distances", squares, estimate_ways(every, **asked), notes)


def estimate_speeds(received: Sequence[Received | Pair], **asked: Unpack[PathsAsked]) -> MovingAnswer:
    """How fast, from paths drawn given the release."""
    every = received_all(received)
    return MovingAnswer("speeds", None, estimate_ways(every, **asked), tuple(release_notes(every)))


def estimate_stays(received: Sequence[Received | Pair], **asked: Unpack[PathsAsked]) -> MovingAnswer:
    """How many stays and how long, from paths drawn given the release."""
    every = received_all(received)
    return MovingAnswer("stays", None, estimate_ways(every, **asked), tuple(release_notes(every)))


def _row(
    quantity: str,
    unit: str,
    found: OverPeople,
    *,
    lag_s: float | None = None,
    quantile: float | None = None,
    model: bool = False,
) -> Row:
    said = {"quantity": quantity, "unit": unit, "lag_s": lag_s, "quantile": quantile, **found.to_dict()}
    return {**said, "mostly_model": model}
