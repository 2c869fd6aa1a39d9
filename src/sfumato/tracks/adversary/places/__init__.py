"""Attackers of hidden places, one file each: given what is published around a zone, where is it?

They are rows of :mod:`sfumato.tracks.adversary.attackers`.
"""

from __future__ import annotations

from typing import cast

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.attackers import ATTACKERS as _EVERY
from sfumato.tracks.adversary.attackers import ZONES
from sfumato.tracks.adversary.places.zone_view import Stretch, ZoneView, look

__all__ = ["ATTACKERS", "Stretch", "ZoneView", "guesses_m", "look"]

ATTACKERS = {name: attacker for name, attacker in _EVERY.items() if attacker.against == ZONES}


def guesses_m(view: ZoneView) -> dict[str, FloatArray]:
    """Every attacker's guess in metres around the zone's centre; those with nothing to go by are left out."""
    few = view.thin()
    found = {name: cast("FloatArray | None", attacker.attack(few)) for name, attacker in ATTACKERS.items()}
    return {name: guess for name, guess in found.items() if guess is not None}
