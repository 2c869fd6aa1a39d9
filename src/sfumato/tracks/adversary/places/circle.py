"""The attacker who fits a circle of the known radius through the cut points: a centred zone's middle is the place."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.view import ZoneView

_SCALE_M = 40.0
# Rides are cut 0 to 50 m beyond the radius, a public law: the best single radius is its mean.
MEAN_MARGIN_M = 25.0


def guess(view: ZoneView) -> FloatArray | None:
    """Least squares of |g - c| = R with Huber weights, by Gauss-Newton from five starts, best fit of all."""
    gates, radius = view.gates_m, view.radius_m + MEAN_MARGIN_M
    if len(gates) < 2:
        return None
    best, best_cost = None, np.inf
    turns = np.arange(4) * (np.pi / 2)
    for shift in [np.zeros(2), *(0.7 * radius * np.column_stack([np.cos(turns), np.sin(turns)]))]:
        centre = _fitted(gates, gates.mean(axis=0) + shift, radius)
        cost = float(np.sum(np.minimum(np.abs(np.hypot(*(gates - centre).T) - radius), 4 * _SCALE_M)))
        if cost < best_cost:
            best, best_cost = centre, cost
    return best


def _fitted(gates: FloatArray, centre: FloatArray, radius: float) -> FloatArray:
    for _ in range(40):
        away = gates - centre
        distance = np.maximum(np.hypot(*away.T), 1e-9)
        miss = distance - radius
        weight = np.minimum(1.0, _SCALE_M / np.maximum(np.abs(miss), 1e-9))
        unit = away / distance[:, None]
        normal = (unit * weight[:, None]).T @ unit + 1e-9 * np.eye(2)
        step = np.linalg.solve(normal, (unit * weight[:, None]).T @ miss)
        centre = centre + step
        if float(np.hypot(*step)) < 0.1:
            break
    return np.asarray(centre)
