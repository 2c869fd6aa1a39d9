"""The exact loss at a release's own times, maximised over the prior class on a stated grid.

The loss of every point falls as the path's sd grows (P + Γ grows in the Loewner order), so the supremum over *every*
sd is its limit for small sd: with K the prior correlation at the times,

    sup over σ of J_i = [K Γ⁻¹ K]_ii .

One Cholesky factor of Γ serves every kernel and length scale. Beyond :data:`DENSE_POINTS` points, state-space
filters at a small sd take over for the Matérn members; beyond :data:`MARKOV_POINTS` it is too costly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrsm

from sfumato.base.arrays import FloatArray, distinct
from sfumato.tracks.losses.gaussian_loss import basic_losses_statespace
from sfumato.tracks.priors.kernels import kernel_named

if TYPE_CHECKING:
    from sfumato.tracks.priors.classes import PriorClass
    from sfumato.tracks.priors.kernels import Kernel

DENSE_POINTS = 800
MARKOV_POINTS = 20_000
DENSE_SCALES = 16
MARKOV_SCALES = 12
_COLUMNS = 512  # of some members side by side: they stay near the processor
SMALL_SD = 1e-3  # of the noise sd; the loss is then within 1e-5 of its limit


def scales_grid(prior_class: PriorClass, count: int) -> FloatArray:
    """Length scales of the grid, ends included."""
    low, high = prior_class.length_scales_s
    return np.geomspace(low, high, count) if high > low else np.array([low])


def stated_grid(points: int) -> str | None:
    """Which members were tried for a trace of so many distinct times, in words; None where it is too costly."""
    if points <= DENSE_POINTS:
        return f"every kernel of the class at {DENSE_SCALES} length scales (geometric), every sd, no nugget"
    if points <= MARKOV_POINTS:
        return (
            f"the Matérn kernels of the class at {MARKOV_SCALES} length scales (geometric), sd {SMALL_SD:g} of the "
            "noise, no nugget"
        )
    return None


def stated_independent(points: int) -> str | None:
    """The same for independent noise, whose largest loss is known without a grid."""
    if points > MARKOV_POINTS:
        return None
    return "the supremum over the class: every kernel, length scale, sd and nugget, no offset, at the released moments"


def largest_loss(times_s: FloatArray, noise: Kernel, prior_class: PriorClass) -> float | None:
    """The largest exact loss per m² of any point, over the grid of :func:`stated_grid`; None where too costly."""
    times, _ = distinct(times_s)
    worst = 0.0
    if times.size <= DENSE_POINTS:
        factor = cholesky(noise.covariance(times), lower=True)
        scales, lags = scales_grid(prior_class, DENSE_SCALES), times[:, None] - times[None, :]
        for some in np.array_split(scales, min(scales.size, -(-scales.size * times.size // _COLUMNS))):
            scaled = lags / some[:, None, None]
            for name in prior_class.kernels:
                members = kernel_named(name, length_scale_s=1.0, sd_m=1.0)(scaled).reshape(-1, times.size)
                seen = dtrsm(1.0, factor, members.T, lower=1, overwrite_b=1)  # each member is symmetric
                worst = max(worst, float(np.einsum("ij,ij->j", seen, seen).max()))
        return worst
    if times.size <= MARKOV_POINTS:
        sd_m = SMALL_SD * float(np.sqrt(noise.variance_m2))
        for name in prior_class.kernels:
            if name == "rbf":
                continue
            for scale in scales_grid(prior_class, MARKOV_SCALES):
                member = kernel_named(name, length_scale_s=float(scale), sd_m=sd_m)
                worst = max(worst, float(basic_losses_statespace(times, member, noise).max()))
        return worst
    return None


def largest_independent_loss(times_s: FloatArray, variance_m2: float, prior_class: PriorClass) -> float | None:
    """The same for independent noise, where [K Γ⁻¹ K]_ii = Σ_j k(t_i − t_j)²/o: rows of K, nothing factored."""
    times, _ = distinct(times_s)
    if times.size > MARKOV_POINTS:
        return None
    worst = 0.0
    for name in prior_class.kernels:
        for scale in scales_grid(prior_class, 4)[-1:]:  # longer is worse for independent noise: correlations grow
            member = kernel_named(name, length_scale_s=float(scale), sd_m=1.0)
            for start in range(0, times.size, 256):
                block = member.covariance(times[start : start + 256], times)
                worst = max(worst, float(np.einsum("ij,ij->i", block, block).max()))
    return worst / variance_m2
