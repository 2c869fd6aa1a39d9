"""Theorem 3.3 of [Meehan2021]: what a misspecified prior costs by its bound, and exactly.

It is true, and its Δ(λ) is infinite for two Gaussian kernels over all places, because their slopes differ. On bounded
regions it is finite near the assumed kernel; how near depends on the white variance in the prior: within 2 % of its
length scale at 1e-6, within 10 % at .1 (λ = 1.1). The exact loss answers everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.papers.cip.theorems import exact_epsilon_under, misspecified_epsilon
from sfumato.papers.claims import Claim, check
from sfumato.tracks.designs.published import sdp_a_basic
from sfumato.tracks.priors.kernels import RBF

NUGGET = 1e-6
RATIOS = (0.5, 0.9, 0.98, 0.99, 0.999, 1.0, 1.001, 1.01, 1.02, 1.1, 1.5)
ORDERS = (1.1, 2.0, 5.0)
AISTATS = "Meehan2021"


def smooth_prior(length: float, n: int = 50, nugget: float = NUGGET) -> np.ndarray:
    """The prior of Figure 2: an RBF kernel of unit variance at n times, one apart, with a nugget."""
    return RBF(length).covariance(np.arange(float(n))) + nugget * np.eye(n)


def finite_map() -> dict[tuple[float, float], float]:
    """ε'(λ) of Theorem 3.3 by (truth / assumed, λ), for SDP_A at one moment, radius .2, region 1."""
    assumed = smooth_prior(6.1)
    noise = sdp_a_basic(assumed, 24, budget=1.0).noise_covariance
    return {
        (ratio, order): misspecified_epsilon(
            assumed, smooth_prior(6.1 * ratio), noise, [24], order=order, radius=0.2, region=1.0
        )
        for ratio in RATIOS
        for order in ORDERS
    }


def misspecified_claims(finite: dict[tuple[float, float], float]) -> list[Claim]:
    """The theorem where it is finite, and the exact loss beside it."""
    assumed, truth = smooth_prior(6.1), smooth_prior(1.5 * 6.1)
    noise = sdp_a_basic(assumed, 24, budget=1.0).noise_covariance
    bound = misspecified_epsilon(assumed, truth, noise, [24], order=5, radius=0.2, region=1.0)
    exact = exact_epsilon_under(truth, noise, [24], order=5, radius=0.2)
    far = [finite[ratio, order] for ratio in (0.5, 1.1, 1.5) for order in ORDERS]
    wider = [
        misspecified_epsilon(
            smooth_prior(6.1, nugget=white),
            smooth_prior(6.1 * ratio, nugget=white),
            noise,
            [24],
            order=1.1,
            radius=0.2,
            region=1.0,
        )
        for ratio, white in ((1.02, 1e-6), (1.05, 1e-3), (1.1, 0.1))
    ]
    known, shorter = (exact_epsilon_under(smooth_prior(6.1 * r), noise, [24], order=5, radius=0.2) for r in (1.0, 0.5))
    return [
        check(
            "it bounds the loss wherever it is finite",
            all(
                exact_epsilon_under(smooth_prior(6.1 * ratio), noise, [24], order=order, radius=0.2) <= value
                for (ratio, order), value in finite.items()
            ),
            whose=f"{AISTATS}, Thm 3.3",
            measured=sum(math.isfinite(value) for value in finite.values()),
            expected=len(finite),
            because=f"finite bounds in the table below; {sum(map(math.isfinite, far))} of {len(far)} at the priors of "
            "Figure 2d",
        ),
        check(
            "it is finite 2 %, 5 % and 10 % from the assumed length scale at white variance 1e-6, .001, .1 (λ = 1.1)",
            all(map(math.isfinite, wider)),
            measured=tuple(wider),
        ),
        check(
            "the exact loss changes by under a fifth where 1.5 times or half the length scale is true (λ = 5)",
            all(abs(other / known - 1) < 0.2 for other in (exact, shorter)),
            measured=(shorter, known, exact),
            because="ε at half, at the assumed and at 1.5 times the length scale",
        ),
        check(
            "the exact loss under the other kernel is finite where the theorem is not",
            math.isinf(bound) and math.isfinite(exact),
            measured=exact,
        ),
    ]
