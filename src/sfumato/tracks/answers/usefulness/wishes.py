"""Wishes for a release, and whether they can be had together: an answer this good, and a promise this strong.

A promise is a radius within which places stay indistinguishable at certain odds; for every mechanism here it takes
noise in proportion to the radius. So a wish is met, or not, at one size of the noise, which is simulated; where it is
not met, the nearest two that can be had are named: the same answer with a smaller radius, or the radius with a worse
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.base.errors import InputError
from sfumato.base.units import format_length, length_m
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.quality import Quality

_ADVICE = "For instance length=10%,radius=500m, heatmap@1km=10% or flows@3km=15%,radius=200m,odds=5."


@dataclass(frozen=True, slots=True)
class Wish:
    """An answer within a share of the truth, at a radius and odds."""

    kind: str
    cell_m: float | None
    within: float
    radius_m: float
    odds: float

    @property
    def words(self) -> str:
        """Both halves of the wish."""
        name = Quality(self.kind, self.cell_m, None, None).name
        return f"{name} within {_percent(self.within)} and a radius of {format_length(self.radius_m)}"

    def asks(self, row: Quality) -> bool:
        """Whether this is the measure that is wished for."""
        return row.kind == self.kind and row.cell_m == self.cell_m


@dataclass(frozen=True, slots=True)
class Granted:
    """Whether a wish can be had (None: it cannot be said), what it comes to, and one sentence."""

    wish: Wish
    together: bool | None
    reached: float | None
    sentence: str

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        asked = {name: getattr(self.wish, name) for name in ("kind", "cell_m", "within", "radius_m", "odds")}
        return {"wish": asked, "together": self.together, "reached": self.reached, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class NoiseOffer:
    """One size of noise: the radius it keeps at the wished odds, and the errors of its answers."""

    noise_m: float
    radius_m: float
    measures: tuple[Quality, ...]


def parse_wish(text: str, radius_m: float, odds: float) -> Wish:
    """``length=10%,radius=500m`` and the like; radius and odds default to those given."""
    found: tuple[str, float | None, float] | None = None
    for part in (piece.strip() for piece in text.split(",")):
        name, _, value = part.partition("=")
        kind, _, cell = name.partition("@")
        try:
            if name == "radius":
                radius_m = length_m(value)
            elif name == "odds":
                odds = float(value)
            elif kind in ("length", "speed") and not cell:
                found = kind, None, _share(value)
            elif kind in ("heatmap", "flows") and cell:
                found = kind, length_m(cell), _share(value)
            else:
                raise ValueError
        except ValueError:
            raise InputError(f"'{part}' is no wish.", _ADVICE) from None
    if found is None:
        raise InputError("A wish names no answer.", _ADVICE)
    if not odds > 1:
        raise InputError(f"The odds wished for are {odds:g}.", "Give a number above 1.")
    return Wish(*found, radius_m, odds)


def usual_wishes(asked: MapsAsked, radius_m: float, odds: float) -> list[Wish]:
    """What most people want of a release, where no wish was named: everything within a tenth."""
    maps = [("heatmap", cell) for cell in asked.heat_cells_m] + [("flows", cell) for cell in asked.flow_cells_m]
    return [Wish(kind, cell, 0.1, radius_m, odds) for kind, cell in [("length", None), ("speed", None), *maps]]


def granted(wish: Wish, offers: Sequence[NoiseOffer]) -> Granted:
    """Whether one of the offers that keep the radius answers well enough; ``offers`` are at the wish's odds."""
    answered = [(offer, row) for offer in offers for row in offer.measures if wish.asks(row)]
    keeping = [pair for pair in answered if pair[0].radius_m >= wish.radius_m * (1 - 1e-6)]
    if not keeping:
        return Granted(wish, None, None, f"{wish.words}: cannot be said, for it was not asked for.")
    offer, row = min(keeping, key=lambda pair: pair[0].noise_m)
    error = row.best
    if error is None:
        return Granted(wish, None, None, f"{wish.words}: cannot be said, {row.note}.")
    model = f" ({row.note})" if row.note in ("mostly the model", "one cell holds everybody") else ""
    if error <= wish.within:
        words = f"together, at {format_length(offer.noise_m)} of noise: {_percent(error)}{model}."
        return Granted(wish, True, error, f"{wish.words}: {words}")
    good = [pair for pair in answered if pair[1].best is not None and pair[1].best <= wish.within]
    nearest = f"a radius of {format_length(wish.radius_m)} with {_percent(error)}{model}"
    if good:
        other, reached = max(good, key=lambda pair: pair[0].noise_m)
        smaller = f"a radius of {format_length(other.radius_m)} (noise {format_length(other.noise_m)})"
        nearest = f"{smaller} with {_percent(reached.best or 0.0)}, or {nearest}"
    else:
        nearest += "; no noise that was tried gives such an answer"
    return Granted(wish, False, error, f"{wish.words}: not together. Nearest: {nearest}.")


def _share(text: str) -> float:
    share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if not 0 < share < 10:
        raise ValueError
    return share


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f} %"
