"""Attackers of hidden places, one file each, in one registry: given what is published around a zone, where is it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places import circle, crossing, crossroads, exits, headings, learned
from sfumato.tracks.adversary.places.view import Stretch, ZoneView, look

__all__ = ["ATTACKERS", "Attacker", "Stretch", "ZoneView", "guesses_m", "look"]


@dataclass(frozen=True, slots=True, eq=False)
class Attacker:
    """A name, what it does in words, and its guess in metres around the zone's centre (None: nothing to go by)."""

    name: str
    words: str
    guess: Callable[[ZoneView], FloatArray | None]
    learned_from: str = ""


def _learned_likeliest(view: ZoneView) -> FloatArray | None:
    belief = learned.believe(view)
    return None if belief is None else belief.likeliest()


def _learned_nearest(view: ZoneView) -> FloatArray | None:
    belief = learned.believe(view)
    return None if belief is None else belief.nearest_on_average()


def _far_crossroads(view: ZoneView) -> FloatArray | None:
    return crossroads.guess(view.seen_from_far())


_FITTED = "the development people of GeoLife, never on the archive at hand"
ATTACKERS = {
    attacker.name: attacker
    for attacker in (
        Attacker("circle", "fits a circle through the points where rides are cut", circle.guess),
        Attacker("crossing", "extends the rides straight and takes where they cross", crossing.guess),
        Attacker("robust crossing", "the same, by the least sum of distances", crossing.robust),
        Attacker("crossroads", "extends the rides straight and takes where most pairs of them cross", crossroads.guess),
        Attacker("far crossroads", "the same with the last kilometre's direction", _far_crossroads),
        Attacker("headings", "rides head home, Bayes (κ = 2), mean", headings.mean),
        Attacker("headings, mode", "the same, likeliest place (whatever κ)", headings.mode),
        Attacker("sharp headings", "the same with κ = 8, mean", lambda view: headings.mean(view, 8.0)),
        Attacker("commonest exit", "the commonest exit, half a radius inward", exits.guess),
        Attacker("back along", "the commonest exit of stops, half a radius back along the way", exits.back_along),
        Attacker("middle exit", "the median of the exits, east and north", exits.middle),
        Attacker("learned", "learned from others, most belief within 100 m", _learned_likeliest, _FITTED),
        Attacker("learned, nearest", "learned from others, least expected distance", _learned_nearest, _FITTED),
        Attacker("centre", "the zone's centre: no ride needed", lambda view: np.zeros(2)),
    )
}


def guesses_m(view: ZoneView) -> dict[str, FloatArray]:
    """Every attacker's guess in metres around the zone's centre; those with nothing to go by are left out."""
    few = view.thinned()
    found = {name: attacker.guess(few) for name, attacker in ATTACKERS.items()}
    return {name: guess for name, guess in found.items() if guess is not None}
