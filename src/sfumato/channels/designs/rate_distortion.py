"""The least information a report can carry for its average distortion: the rate-distortion curve, with its certificate.

    R(D) = min I(X; Y) over channels of average distortion at most D          [Shannon1948; Biswas2023, Def. C.1]

Each β >= 0 gives the point where the curve has slope -β: Blahut-Arimoto minimises I + β E d. With its certified gap G,
every channel has I >= objective - G - β E d: a straight line under the curve. The curve is thus bracketed: points
reached by channels from above, the envelope of those lines from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.blahut_arimoto_matrix import blahut_arimoto_matrix
from sfumato.base.things.channel import checked_distortion, checked_probabilities
from sfumato.channels.measures.discrete import average_distortion, mutual_information


@dataclass(frozen=True, slots=True)
class RatePoint:
    """One channel of the curve: its rate and distortion, and the line -β D + intercept that no channel is below."""

    beta: float
    distortion: float
    rate_nats: float
    intercept_nats: float
    gap_nats: float


@dataclass(frozen=True, slots=True, eq=False)
class RateDistortion:
    """Points by growing β, the entropy (the rate at distortion 0) and the distortion that needs no information."""

    points: tuple[RatePoint, ...]
    entropy_nats: float
    free_distortion: float

    def lower_bound(self, distortion: float) -> float:
        """Nats that every channel of at most this average distortion leaks: the best of the certified lines."""
        return max(0.0, *(point.intercept_nats - point.beta * distortion for point in self.points))

    def rate(self, distortion: float) -> float:
        """Nats that some mixture of the channels found leaks at this average distortion (convex interpolation)."""
        ends = [(0.0, self.entropy_nats), *((p.distortion, p.rate_nats) for p in self.points)]
        ends.append((self.free_distortion, 0.0))
        known = sorted(ends)
        return float(np.interp(distortion, [d for d, _ in known], [r for _, r in known]))


def rate_distortion(
    prior: npt.ArrayLike,
    distortion: npt.ArrayLike,
    betas: Sequence[float] | None = None,
    *,
    tolerance: float = 1e-6,
    most_steps: int = 20_000,
) -> RateDistortion:
    """The curve at these slopes (default: 16, spread over the curve); each point to a gap of ``tolerance`` nats."""
    d = checked_distortion(distortion)
    p = checked_probabilities(prior, d.shape[0])
    positive(tolerance, "tolerance")
    slopes = _spread(d) if betas is None else sorted(positive(beta, "beta", at_most=1e100) for beta in betas)
    if not slopes:
        raise InputError("No beta was given.", "Give at least one, or none for a spread of them.")
    points = []
    for beta in slopes:
        solved = blahut_arimoto_matrix(p, d, beta=beta, steps=most_steps, tolerance=tolerance)
        assert solved.objective is not None
        assert solved.lower_bound is not None
        matrix = solved.value.matrix
        points.append(
            RatePoint(
                float(beta), average_distortion(matrix, p, d), mutual_information(matrix, p), solved.lower_bound,
                solved.objective - solved.lower_bound,
            )
        )  # fmt: skip
    seen = p[p > 0]
    return RateDistortion(tuple(points), float(-(seen @ np.log(seen))), float((p @ d).min()))


def _spread(d: FloatArray) -> list[float]:
    apart = d[d > 0]
    typical = float(np.median(apart)) if apart.size else 1.0
    return [float(beta) for beta in np.geomspace(0.3, 30, 16) / typical]
