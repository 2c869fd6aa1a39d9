"""A release is as rough as its noise: p-values never too small for true releases, tiny for smooth ones."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.plausibility import gaussian_plausibility, laplace_plausibility, plausibilities
from sfumato.tracks.noise.registry import mechanism_from_dict
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import RBF, Constant, Matern32, White
from sfumato.tracks.priors.statespace import sample

MULTISCALE = Matern32(12, 65) + Matern32(280, 60) + Matern32(24800, 80) + White(33) + Constant(69)  # about 150 m
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


def test_a_fast_ride_with_a_stop_does_not_hide_that_there_is_no_noise() -> None:
    """The first test summed squares: one step of a fast ride hid all the smooth ones (20 of 57 originals at 150 m)."""
    times = np.arange(120) * 5.0
    gone = np.where(np.arange(120) // 12 % 2 == 0, 5.0, 0.0).cumsum()
    path = np.outer(gone, [25.0, 8.0])
    found = gaussian_plausibility(MULTISCALE, times, path, snap_m=0.1)
    assert found is not None
    assert found < 1e-12
    half = path.copy()  # the first half protected, the second not
    half[:60] += sample(times[:60], MULTISCALE, coordinates=2, rng=3)
    assert (gaussian_plausibility(MULTISCALE, times, half, snap_m=0.1) or 0) < 1e-4


def test_many_true_releases_pass_and_their_p_values_are_no_smaller_than_uniform() -> None:
    rng = np.random.default_rng(11)
    for times in (TIMES, np.arange(3) * 60.0, np.arange(250) * 7.0):
        root = np.linalg.cholesky(MULTISCALE.covariance(times))
        for speed in (0.0, 12.0):
            noise = np.tensordot(root, rng.standard_normal((times.size, 2, 3000)), axes=1)
            released = np.round(noise + np.outer(times, [speed, 1.0])[:, :, None], 1)
            found = plausibilities(MULTISCALE, times, released, snap_m=0.1)
            assert found is not None
            for level in (1e-3, 1e-2, 0.1):
                assert np.mean(found <= level) <= level + 3.5 * np.sqrt(level / 3000)
            assert found.min() >= 1e-6


def test_directions_without_noise_are_left_out_not_divided_by() -> None:
    smooth = RBF(length_scale_s=4000, sd_m=300)  # in double precision a few directions only
    times = np.arange(60) * 5.0
    noise = np.linalg.cholesky(smooth.covariance(times) + 1e-6 * np.eye(60)) @ np.random.default_rng(4).normal(
        size=(60, 2)
    )
    found = gaussian_plausibility(smooth, times, np.round(noise, 1), snap_m=0.1)
    assert found is None or found > 1e-4
