# src/sfumato/tracks/adversary/places/last_exit.py
"""The attacker who goes half a radius inward from the exit of the last ride."""

from __future__ import annotations

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.zone_view import ZoneView, into_disc


def guess(view: ZoneView) -> FloatArray | None:
    """From the last gate R/2 along its heading, inside the disc that the place must lie in."""
    if not view.seen:
        return None
    return into_disc(view.gates_m[-1] + 0.5 * view.radius_m * view.headings[-1], view.inner_radius_m)
