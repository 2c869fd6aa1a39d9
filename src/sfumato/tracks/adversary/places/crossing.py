"""The attacker who extends every ride straight into the zone and takes the point nearest to all lines, or to most."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.zone_view import ZoneView, into_disc

_NEAR_M, _ROUNDS = 30.0, 50


def guess(view: ZoneView) -> FloatArray | None:
    """The x that minimises Σ |(I - u uᵀ)(x - g)|² over gates g with headings u."""
    if not view.seen:
        return None
    across = np.eye(2) - view.headings[:, :, None] * view.headings[:, None, :]
    normal, right = across.sum(axis=0), np.einsum("nij,nj->i", across, view.gates_m)
    return into_disc(np.linalg.lstsq(normal, right, rcond=1e-6)[0], view.inner_radius_m)


def robust(view: ZoneView) -> FloatArray | None:
    """The x that minimises Σ |distance of x to the line of g|, by reweighting: rides that turned count little."""
    found = guess(view)
    if found is None:
        return None
    across = np.eye(2) - view.headings[:, :, None] * view.headings[:, None, :]
    for _ in range(_ROUNDS):
        off = np.linalg.norm(np.einsum("nij,nj->ni", across, found - view.gates_m), axis=1)
        weighted = across / np.maximum(off, _NEAR_M)[:, None, None]
        right = np.einsum("nij,nj->i", weighted, view.gates_m)
        found = np.linalg.lstsq(weighted.sum(axis=0), right, rcond=1e-6)[0]
    return into_disc(found, view.inner_radius_m)
