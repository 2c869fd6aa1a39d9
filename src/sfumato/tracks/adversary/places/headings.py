"""The attacker who believes that rides head home: Bayes over the inner disc, von Mises headings of concentration κ."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.adversary.places.zone_view import ZoneView, candidates_m


def _log_likelihood(view: ZoneView, places: FloatArray, kappa: float) -> FloatArray:
    """Σ κ cos(angle between the heading at a gate and the way from it to the place)."""
    way = places[None] - view.gates_m[:, None]
    way = way / np.maximum(np.hypot(way[..., 0], way[..., 1]), 1.0)[..., None]
    return np.asarray(kappa * np.einsum("nhk,nk->h", way, view.headings))


def mean(view: ZoneView, kappa: float = 2.0) -> FloatArray | None:
    """The posterior mean."""
    if not view.seen:
        return None
    places = candidates_m(view.inner_radius_m)
    value = _log_likelihood(view, places, kappa)
    weight = np.exp(value - value.max())
    return np.asarray(weight @ places / weight.sum())


def sharp_mean(view: ZoneView) -> FloatArray | None:
    """The posterior mean for rides that head home straight: κ = 8."""
    return mean(view, 8.0)


def mode(view: ZoneView) -> FloatArray | None:
    """The likeliest place, the same for every κ."""
    if not view.seen:
        return None
    places = candidates_m(view.inner_radius_m)
    return np.asarray(places[np.argmax(_log_likelihood(view, places, 1.0))])
