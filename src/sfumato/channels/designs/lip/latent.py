"""Protection of a latent variable S with S -> X -> Y: the cheapest channel on X for which a report says little about S.

The promise is about S alone; about X itself there is none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import Solved
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities, checked_rows
from sfumato.channels.designs.limits import design_epsilon
from sfumato.channels.designs.lip.candidates import bound_below, merge_targets, solution
from sfumato.channels.designs.lip.linear_program import best_for_latent
from sfumato.channels.designs.promises import LatentPromise
from sfumato.channels.designs.task import DesignedChannel
from sfumato.channels.measures.discrete import average_distortion


def latent_channel(
    secret_prior: npt.ArrayLike,
    given: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    epsilon_low: float | None = None,
    gap: float = 1e-5,
    inputs: Sequence[str] = (),
) -> Solved[DesignedChannel]:
    """Protect a latent S (S -> X -> Y) and nothing else: the cheapest channel on X for which Y says little about S.

    ``given[s, x]`` = P(x | s). The promise is about S; about X itself there is none (its leakage is often infinite).
    """
    began = time.perf_counter()
    up = design_epsilon(epsilon)
    low = up if epsilon_low is None else design_epsilon(epsilon_low, "epsilon_low")
    rows = checked_rows(given)
    ps = positive_prior(secret_prior, rows.shape[0])
    d = checked_distortion(distortion)
    if d.shape[0] != rows.shape[1] or d.min() < 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {rows.shape[1]} symbols.", "Give d(x, y) >= 0.")
    p = checked_probabilities(ps @ rows)
    raw, bound, steps = best_for_latent(p, d, rows, up=up, low=low)
    assert raw is not None
    raw = np.maximum(raw, 0)
    raw /= raw.sum(axis=1, keepdims=True)
    place = merge_targets(raw, d, p, allowance=1e-7 * max(bound, 1e-300))
    kept = np.unique(place)
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, np.searchsorted(kept, place), raw.T)
    promise = LatentPromise(ps, rows, up, low)
    outputs = tuple(str(y) for y in kept)
    labels = partial(Channel, inputs=tuple(inputs), outputs=outputs, distortion=d[:, kept])
    made = DesignedChannel(promise.keep(gathered, labels), promise)
    cost = average_distortion(made.channel, p, d[:, kept])
    return solution(made, cost, bound_below(bound, cost), gap=gap, steps=steps, began=began)
