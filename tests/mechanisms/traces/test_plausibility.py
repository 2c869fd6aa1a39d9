"""A release is as rough as its noise: p-values never too small for true releases, tiny for smooth ones."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.traces.plausibility import gaussian_plausibility, laplace_plausibility
from sfumato.mechanisms.traces.trace_lookup import mechanism_from_dict
from sfumato.priors.kernels import Matern32, White
from sfumato.protection import protect
from sfumato.traces import Trace

TIMES = np.cumsum(np.random.default_rng(7).exponential(10, 40))


@pytest.mark.parametrize(
    ("mechanism", "prior"),
    [("multiscale", None), ("independent", None), ("planar-laplace", None), ("prior-shaped", "preset")],
)
def test_noise_alone_gives_p_values_that_are_not_too_small(mechanism: str, prior: str | None) -> None:
    """A still path is the worst case; P(p <= u) <= u, up to the sampling error of 400 draws."""
    still = Trace(np.full(40, 48.85), np.full(40, 2.35), TIMES)
    made = mechanism_from_dict(protect(still, mechanism=mechanism, prior=prior, rng=0).certificate["parameters"])
    rng = np.random.default_rng(1)
    found = [made.plausibility(TIMES, made.draw(TIMES, rng), snap_m=0.1) for _ in range(400)]  # type: ignore[attr-defined]
    values = np.array(found, dtype=float)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(values <= level) <= level + 3.5 * np.sqrt(level * (1 - level) / 400)
    assert np.quantile(values, 0.05) < 0.35  # and it has power left


def test_a_path_only_adds_and_a_smooth_one_is_refused() -> None:
    kernel = Matern32(length_scale_s=600, sd_m=300) + White(sd_m=50)
    rng = np.random.default_rng(2)
    noise = np.linalg.cholesky(kernel.covariance(TIMES)) @ rng.normal(size=(40, 2))
    path = np.outer(TIMES, [3.0, 1.0])
    assert gaussian_plausibility(kernel, TIMES, noise + 1e3 * path, snap_m=0.1) == pytest.approx(1.0)
    smooth = gaussian_plausibility(kernel, TIMES, path, snap_m=0.1)
    assert smooth is not None
    assert smooth < 1e-4
    jumps = rng.normal(size=(40, 2))
    assert (laplace_plausibility(0.01, TIMES, jumps, snap_m=0.1) or 0) < 1e-4


def test_what_cannot_be_told_is_none() -> None:
    kernel = White(sd_m=50)
    assert gaussian_plausibility(kernel, TIMES[:1], np.zeros((1, 2)), snap_m=0.1) is None
    assert laplace_plausibility(0.01, TIMES[:1], np.zeros((1, 2)), snap_m=0.1) is None
    assert laplace_plausibility(0.01, TIMES, np.zeros((40, 2)), snap_m=100.0) is None
