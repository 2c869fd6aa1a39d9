"""What the visible part of a ride tells about the moment it was home, exactly, for a Gaussian-process prior.

With prior variance Σ = k(0) per coordinate and V the variance left at the hidden moment given every published point
(receiver's error s), the loss is J = 1/V - 1/Σ per m² (the withheld times are unobserved). Homes stay
where they are, so the losses of rides about one home add up, and the error left is 1/√(1/Σ_home + Σ J).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import finite, positive
from sfumato.tracks.priors.kernels import Kernel

# Points further away in time than these many others add nothing measurable and cost n³.
NEAREST_POINTS = 300


def arrival_loss_per_m2(
    published_s: npt.ArrayLike, hidden_s: float, *, prior: Kernel, receiver_sd_m: float = 1.0
) -> float:
    """J of the hidden moment, per coordinate; depends on the times and the prior alone."""
    times = np.unique(finite(published_s, "published_s", dimensions=1))
    if not len(times):
        return 0.0
    nearest = np.sort(np.argsort(np.abs(times - hidden_s), kind="stable")[:NEAREST_POINTS])
    times = times[nearest]
    noise = positive(receiver_sd_m, "receiver_sd_m") ** 2
    seen = prior.covariance(times) + noise * np.eye(len(times))
    with_hidden = prior.covariance(times, np.array([float(hidden_s)]))[:, 0]
    total = prior.variance_m2
    left = total - float(with_hidden @ np.linalg.solve(seen, with_hidden))
    return max(1.0 / max(left, 1e-12 * total) - 1.0 / total, 0.0)
