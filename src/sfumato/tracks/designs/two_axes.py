"""Two coordinates at once: one prior over east and north together, so that one secret place is one secret.

Stack the coordinates, X = (x_1..x_n, y_1..y_n). A time i is then the pair {i, n+i}, and hypotheses about that place
that differ by at most r in the plane have loss exactly r²·λ_max(J) of the pair. Independent axes are a block-diagonal
prior (an optimal Γ is then block-diagonal too: averaging Γ with its sign-flipped copy raises no loss); correlated ones
bring their cross-covariance. All designs of `convex` apply unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, Solved, finite, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.designs.convex import least_loss
from sfumato.tracks.designs.noise_design import NoiseDesign, checked_prior, checked_secrets


def stacked_prior(prior_x: npt.ArrayLike, prior_y: npt.ArrayLike, cross: npt.ArrayLike | None = None) -> FloatArray:
    """The (2n, 2n) covariance of (x, y); ``cross`` is Cov(x_i, y_j), (n, n), absent for independent axes."""
    east, north = finite(prior_x, "The prior of x", dimensions=2), finite(prior_y, "The prior of y", dimensions=2)
    if east.shape != north.shape:
        raise InputError("The two axes have different numbers of points.", "Give both at the same times.")
    between = np.zeros_like(east) if cross is None else finite(cross, "The cross-covariance", dimensions=2)
    if between.shape != east.shape:
        raise InputError("The cross-covariance does not fit the axes.", "Give Cov(x_i, y_j) as (n, n).")
    return checked_prior(np.block([[east, between], [between.T, north]]), "The prior of both axes together")


def stacked_secrets(secrets: Sequence[npt.ArrayLike], count: int) -> tuple[IntArray, ...]:
    """Each time i as the pair {i, count + i}."""
    return tuple(read_only(np.concatenate([s, s + count]), np.int64) for s in checked_secrets(secrets, count))


def least_loss_two_axes(
    prior_x: npt.ArrayLike,
    prior_y: npt.ArrayLike,
    secrets: Sequence[npt.ArrayLike],
    *,
    budget: float,
    cross: npt.ArrayLike | None = None,
    targets: Sequence[float] | None = None,
    gap: float = 1e-6,
) -> Solved[NoiseDesign]:
    """Least worst loss for secret places; ``budget`` is the trace over both axes."""
    prior = stacked_prior(prior_x, prior_y, cross)
    pairs = stacked_secrets(secrets, len(prior) // 2)
    return _in_the_plane(least_loss(prior, pairs, budget=budget, targets=targets, gap=gap))


def _in_the_plane(solved: Solved[NoiseDesign]) -> Solved[NoiseDesign]:
    return replace(solved, value=replace(solved.value, axes=2))
