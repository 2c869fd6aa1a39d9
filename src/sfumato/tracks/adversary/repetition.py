"""Whoever waits for repetition: averaging releases of the same moments, and looking at one home for many nights.

Each returns the number it reaches, so that what a design does against it can be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import Constant, Kernel
from sfumato.tracks.priors.statespace import is_markov, posterior_variances

DAY_S = 86400.0


def average_of(releases_m: Sequence[npt.ArrayLike]) -> FloatArray:
    """The plain mean of several releases of the same moments, (n, coordinates)."""
    stack = [finite(release, "release") for release in releases_m]
    if not stack or any(release.shape != stack[0].shape for release in stack):
        raise InputError("The releases differ in shape.", "Average releases of the same moments.")
    return np.asarray(np.mean(stack, axis=0))


def rms_m(errors_m: npt.ArrayLike) -> float:
    """The root mean square over points and coordinates."""
    return float(np.sqrt(np.mean(np.asarray(errors_m, dtype=np.float64) ** 2)))


@dataclass(frozen=True, slots=True, eq=False)
class Stay:
    """What is learned about one unknown place: the loss per m², its ratio to the floor 1/o, and the error left."""

    loss_per_m2: float
    loss_over_floor: float
    error_m: float
    reports: int


def stay_times(*, duration_s: float, every_s: float, nights: int = 1, period_s: float = DAY_S) -> FloatArray:
    """The times of a stay of ``duration_s`` reported every ``every_s``, repeated on ``nights`` nights."""
    positive(duration_s, "duration_s")
    positive(every_s, "every_s")
    if nights < 1:
        raise InputError(f"{nights} nights.", "Give at least one.")
    once = np.arange(0.0, duration_s + every_s / 2, every_s)
    return (np.arange(nights)[:, None] * period_s + once[None, :]).ravel()


def stay_attack(times_s: npt.ArrayLike, noise: Kernel, *, place_sd_m: float = 1e6) -> Stay:
    """The exact loss about one place that never moved over all these reports, with noise that continues through them.

    The prior is a constant of sd ``place_sd_m`` (the default says: nothing is known). Without a constant share in the
    noise the loss grows with every night; a share χ caps it at 1/(χ o) for ever.
    """
    times = finite(times_s, "times_s", dimensions=1)
    prior = Constant(positive(place_sd_m, "place_sd_m"))
    if is_markov(noise):
        _, left = posterior_variances(times, prior=prior, noise=noise)
        remaining = float(left[0])
    else:
        moments = np.unique(times)
        covariance = noise.covariance(moments)
        information = float(np.sum(np.linalg.solve(covariance, np.ones(len(moments)))))
        remaining = 1.0 / (information + 1.0 / prior.variance_m2)
    loss = 1.0 / remaining - 1.0 / prior.variance_m2
    return Stay(loss, loss * noise.variance_m2, math.sqrt(remaining), len(times))


def redrawn_stay_attack(times_s: Sequence[npt.ArrayLike], noise: Kernel, *, place_sd_m: float = 1e6) -> Stay:
    """The same when every stay's noise is drawn anew: information adds up, and nothing caps it."""
    losses = [stay_attack(times, noise, place_sd_m=place_sd_m) for times in times_s]
    total = float(sum(stay.loss_per_m2 for stay in losses))
    remaining = 1.0 / (total + 1.0 / place_sd_m**2)
    return Stay(total, total * noise.variance_m2, math.sqrt(remaining), sum(stay.reports for stay in losses))
