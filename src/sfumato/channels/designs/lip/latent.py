"""Protection of a latent variable S with S -> X -> Y: the cheapest channel on X for which a report says little about S.

The promise is about S alone; about X itself there is none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import UNIT, lift_error
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import Channel, checked_distortion, checked_probabilities, checked_rows
from sfumato.base.things.guarantees import Guarantee
from sfumato.channels.designs.certified import NUMERICS, Designed, bound_below, design_epsilon, judged, merged
from sfumato.channels.designs.lip.linear_program import best_for_latent
from sfumato.channels.measures.discrete import average_distortion, lip
from sfumato.channels.priors.prior_sets import Known


def latent_channel(
    secret_prior: npt.ArrayLike,
    given: npt.ArrayLike,
    distortion: npt.ArrayLike,
    epsilon: float,
    *,
    epsilon_low: float | None = None,
    gap: float = 1e-5,
    inputs: Sequence[str] = (),
) -> Solved[Designed]:
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
    place = merged(raw, d, p, allowance=1e-7 * max(bound, 1e-300))
    kept = np.unique(place)
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, np.searchsorted(kept, place), raw.T)
    shipped = _repaired_for_latent(gathered, rows, ps, up=up, low=low)
    channel = Channel(shipped, inputs=tuple(inputs), outputs=tuple(str(y) for y in kept), distortion=d[:, kept])
    leakage = lip(checked_rows(rows @ channel.matrix), ps)
    cost = average_distortion(channel, p, d[:, kept])
    bound = bound_below(bound, cost)
    guarantee = Guarantee(
        notion="local information privacy of a latent variable",
        parameters={
            "epsilon_up_nats": up,
            "epsilon_low_nats": low,
            "measured_up_nats": leakage.up,
            "measured_low_nats": leakage.low,
        },
        assumes=("the latent variable has the stated prior and gives the symbol by the stated P(x | s)",),
        covers=("one report; the belief in any value of the latent variable",),
        not_covered=("the symbol itself: nothing is promised about it", "several reports"),
        numerics=NUMERICS,
    )
    designed = Designed(
        channel=channel,
        priors=Known(ps),
        leakage=leakage,
        guarantee=guarantee,
        prior=p,
        cost=cost,
        lower_bound=bound,
    )
    return judged(designed, cost, bound, gap=gap, steps=steps, began=began)


def _repaired_for_latent(
    matrix: FloatArray, given: FloatArray, secret_prior: FloatArray, *, up: float, low: float
) -> FloatArray:
    # Mixing Q with the constant channel m mixes P(y | s) with the same m, so the repair of S is a repair of Q.
    slack = 0.0
    m = (secret_prior @ given) @ matrix
    for _ in range(24):
        ratio = (given @ matrix)[:, m > 0] / m[m > 0]
        largest, smallest = float(ratio.max()), float(ratio.min())
        e_up, e_low = math.exp(up - slack), math.exp(-(low - slack))
        share = max(
            0.0,
            (largest - e_up) / (largest - 1) if largest > e_up else 0.0,
            (e_low - smallest) / (1 - smallest) if smallest < e_low else 0.0,
        )
        fixed: FloatArray = (1 - share) * matrix + share * m
        seen = checked_rows(given @ fixed)
        leakage, error = lip(seen, secret_prior), lift_error(seen, secret_prior) + 4 * given.shape[1] * UNIT
        if max(leakage.up - up, leakage.low - low) + error <= 0:
            return fixed
        slack = max(4 * slack, 2 * error)
    raise InputError("The latent design could not be repaired.", "Ask for a larger epsilon.")
