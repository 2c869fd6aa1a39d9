"""The adversary who knows how you move and how the noise was made, and computes: the exact Gaussian posterior.

Three ways of looking at a release Z = X + G of one coordinate (mean known, prior kernel k, noise kernel g):

    raw        X̂ = Z                          takes the release at its word
    pointwise  X̂ = mean + σ²/(σ²+o) (Z - mean) uses each moment alone
    smoothed   X̂ = E[X | all of Z]             uses every moment for every moment: nobody does better in mean square

The smoothed one is computed in O(n) where both kernels are sums of Matérn, White and Constant, densely otherwise. It
needs no Gaussian truth to be the best *linear* estimate, and its √V is then its exact root mean square error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.losses.gaussian_loss import posterior_covariance
from sfumato.tracks.priors.gaussian import GaussianPrior
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import is_markov, posterior_variances, smooth

DENSE_LIMIT = 3000
Look = Literal["raw", "pointwise", "smoothed"]


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the adversary believes per point: mean (n, coordinates), and the half-width √V of the 68% interval (n,)."""

    mean_m: FloatArray
    sd_m: FloatArray
    look: Look

    def errors_m(self, truth_m: npt.ArrayLike) -> FloatArray:
        """mean - truth, per point and coordinate."""
        return self.mean_m - np.asarray(truth_m, dtype=np.float64)

    def coverage(self, truth_m: npt.ArrayLike) -> float:
        """The share of points and coordinates whose truth lies within ±√V of the mean (expected: 68.3%)."""
        return float(np.mean(np.abs(self.errors_m(truth_m)) <= self.sd_m[:, None]))


def believe(
    times_s: npt.ArrayLike,
    release_m: npt.ArrayLike,
    *,
    prior: Kernel,
    noise: Kernel,
    mean_m: npt.ArrayLike = 0.0,
    look: Look = "smoothed",
) -> Belief:
    """The belief after a release (n, coordinates); ``mean_m`` is the mean path the adversary knows (broadcast)."""
    times, release = finite(times_s, "times_s", dimensions=1), finite(release_m, "release_m", dimensions=2)
    if len(times) != len(release):
        raise InputError(f"{len(times)} times but {len(release)} released positions.", "Give one per time.")
    mean = np.broadcast_to(np.asarray(mean_m, dtype=np.float64), release.shape)
    if look == "raw":
        return Belief(release, read_only(np.full(len(times), np.sqrt(noise.variance_m2))), "raw")
    if look == "pointwise":
        total = prior.variance_m2 + noise.variance_m2
        share = prior.variance_m2 / total if total > 0 else 0.0
        sd = np.sqrt(share * noise.variance_m2)
        return Belief(read_only(mean + share * (release - mean)), read_only(np.full(len(times), sd)), "pointwise")
    if look != "smoothed":
        raise InputError(f"There is no look '{look}'.", "Choose raw, pointwise or smoothed.")
    if is_markov(prior) and is_markov(noise):
        result = smooth(times, release - mean, prior=prior, noise=noise)
        return Belief(read_only(mean + result.mean_m), read_only(result.sd_m), "smoothed")
    moments, which, counts = np.unique(times, return_inverse=True, return_counts=True)
    _check_size(len(moments))
    merged = np.zeros((len(moments), release.shape[1]))
    np.add.at(merged, which, release - mean)
    belief = GaussianPrior(prior).posterior(moments, merged / counts[:, None], noise.covariance(moments))
    return Belief(read_only(mean + belief.mean_m[which]), read_only(belief.sd_m[which]), "smoothed")


def remaining_sd_m(times_s: npt.ArrayLike, *, prior: Kernel, noise: Kernel) -> FloatArray:
    """√V at every time; it depends on the times and the two kernels only, not on what was released."""
    if is_markov(prior) and is_markov(noise):
        _, left = posterior_variances(times_s, prior=prior, noise=noise)
        return np.sqrt(left)
    moments, which = np.unique(finite(times_s, "times_s", dimensions=1), return_inverse=True)
    _check_size(len(moments))
    left = np.diag(posterior_covariance(prior.covariance(moments), noise.covariance(moments)))
    return np.sqrt(np.maximum(left, 0.0))[which]


def _check_size(count: int) -> None:
    if count > DENSE_LIMIT:
        raise InputError(
            f"{count} moments with a kernel that has no O(n) form (the limit is {DENSE_LIMIT}).",
            "Use Matérn kernels, or a piece of the trace.",
        )
