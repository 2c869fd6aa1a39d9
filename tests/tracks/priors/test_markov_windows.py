"""Windows of a Markov process, whitened in one pass, are what a dense factor of all their contrasts gives."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.arrays import whitening
from sfumato.tracks.noise.plausibility import MEANS, _looks
from sfumato.tracks.priors.kernels import Kernel, Matern12, Matern32, Matern52, White
from sfumato.tracks.priors.markov_windows import whiten_windows
from sfumato.tracks.priors.statespace import markov_form, sample

KERNELS = {
    "Matérn 3/2": Matern32(12, 65) + Matern32(280, 60) + Matern32(24800, 80) + White(33),
    "1/2 and 5/2": Matern52(30, 100) + Matern12(400, 50) + White(20),
}
BURSTS = np.cumsum(np.where(np.arange(203) % 8 == 0, 900.0, 2.0))
TIMES = [np.arange(203.0), np.arange(203) * 60.0, np.cumsum(np.random.default_rng(0).exponential(10, 203)), BURSTS]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("times", TIMES, ids=["seconds", "minutes", "irregular", "bursts"])
def test_one_pass_gives_what_a_dense_factor_gives(kernel: Kernel, times: np.ndarray) -> None:
    """Rows of a window may be turned, so their sums of squares are compared; and how far rounding moves them."""
    values, covariance = sample(times, kernel, coordinates=4, rng=1), kernel.covariance(times)
    values += np.outer(times, [1.0, 2.0, 30.0, -4.0])
    for among, (looks, rows) in zip(MEANS, _looks(times), strict=True):
        root = whitening(looks @ covariance @ looks.T)
        assert root is not None
        dense = (root @ looks @ values).reshape(-1, rows, 4)
        found, moved = whiten_windows(times, 0, 1, values, markov_form(kernel), among, 0.05)
        assert found.shape == dense.shape
        np.testing.assert_allclose((found**2).sum(axis=1), (dense**2).sum(axis=1), rtol=1e-7)
        reach = 0.05 * np.abs(root @ looks).sum(axis=1)
        assert moved.mean() < 1.25 * reach.mean()  # a bound, and hardly looser than exact sums


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_rounding_never_moves_a_row_farther_than_is_said(kernel: Kernel) -> None:
    rng, half_step = np.random.default_rng(3), 0.5
    for among in MEANS:
        rounded = half_step * rng.choice([-1.0, 1.0], size=(203, 2000))  # the law is linear: only the rounding moves it
        found, moved = whiten_windows(BURSTS, 0, 1, rounded, markov_form(kernel), among, half_step)
        assert np.all(np.abs(found).max(axis=2) <= moved * (1 + 1e-9))
        assert np.abs(found).max() > 0.2 * moved.max()


def test_strides_and_starts_are_the_moments_they_name() -> None:
    kernel = markov_form(KERNELS["Matérn 3/2"])
    values = sample(BURSTS, KERNELS["Matérn 3/2"], coordinates=2, rng=4)
    strided, _ = whiten_windows(BURSTS, 1, 3, values, kernel, 1, 0.05)
    alone, _ = whiten_windows(BURSTS[1::3].copy(), 0, 1, values[1::3].copy(), kernel, 1, 0.05)
    np.testing.assert_allclose(strided, alone, rtol=1e-9)
    assert strided.shape == (13, 3, 2)


def test_what_is_left_of_noise_is_independent_and_a_line_leaves_nothing() -> None:
    times = np.cumsum(np.random.default_rng(5).exponential(10, 100))
    kernel = KERNELS["1/2 and 5/2"]
    found, _ = whiten_windows(times, 0, 1, sample(times, kernel, coordinates=4000, rng=6), markov_form(kernel), 1, 0.05)
    rows = found.reshape(-1, 4000)
    assert np.abs(np.cov(rows) - np.eye(len(rows))).max() < 0.1  # 60 rows, 4,000 draws: an sd of .016 to .022
    line, _ = whiten_windows(times, 0, 1, np.outer(times, [8.0, -3.0]), markov_form(kernel), 1, 0.05)
    assert np.abs(line).max() < 1e-9
