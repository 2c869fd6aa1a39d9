"""How the learned attacker of hidden places learns: weights of greatest likelihood, from zones whose place is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, read_only
from sfumato.tracks.adversary.places.learned import FEATURES, Weights, features
from sfumato.tracks.adversary.places.zone_view import ZoneView, candidates_m


def fit(views: Sequence[tuple[ZoneView, FloatArray]], *, fitted_on: str, ridge: float = 0.1) -> Weights:
    """Maximum-likelihood weights from (view, true place) pairs, with a ridge on standardised features."""
    tables, truths = [], []
    for view, truth in views:
        if view.seen:
            places = candidates_m(view.inner_radius_m)
            tables.append(features(view, places))
            truths.append(int(np.argmin(np.hypot(*(places - truth).T))))
    table = np.array(tables)
    spread = table.std(axis=1).mean(axis=0) + 1e-9
    table = (table - table.mean(axis=1, keepdims=True)) / spread
    hit = table[np.arange(len(table)), truths]

    def loss(weight: FloatArray) -> tuple[float, FloatArray]:
        value = table @ weight
        top = value.max(axis=1, keepdims=True)
        share = np.exp(value - top)
        total = share.sum(axis=1, keepdims=True)
        score = (hit @ weight) - top[:, 0] - np.log(total[:, 0])
        slope = hit.mean(axis=0) - np.einsum("vc,vcf->f", share / total, table) / len(table)
        return float(-score.mean() + 0.5 * ridge * weight @ weight), ridge * weight - slope

    found = scipy.optimize.minimize(
        loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    return Weights(read_only(found.x / spread), fitted_on)
