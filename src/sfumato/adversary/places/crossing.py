"""The attacker who extends every ride straight into the zone and takes the point nearest to all those lines."""

from __future__ import annotations

import numpy as np

from sfumato.adversary.places.view import ZoneView, into_disc
from sfumato.arrays import FloatArray


def guess(view: ZoneView) -> FloatArray | None:
    """The x that minimises Σ |(I - u uᵀ)(x - g)|² over gates g with headings u."""
    if not view.seen:
        return None
    across = np.eye(2) - view.headings[:, :, None] * view.headings[:, None, :]
    normal, right = across.sum(axis=0), np.einsum("nij,nj->i", across, view.gates_m)
    return into_disc(np.linalg.lstsq(normal, right, rcond=1e-6)[0], view.inner_radius_m)
