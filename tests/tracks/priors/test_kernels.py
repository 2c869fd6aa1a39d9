"""Kernels: formulas, spectra, sums and products, JSON."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import (
    RBF,
    Constant,
    Kernel,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    White,
    kernel_from_dict,
    kernel_named,
)

ALL = [
    RBF(60, 100),
    Matern12(5, 2),
    Matern32(66, 123),
    Matern52(600, 30),
    Periodic(86400, 0.8, 50),
    White(1),
    Constant(400),
    Matern32(66, 123) + White(1) + Constant(9),
    RBF(3600, 10) * Periodic(86400, 1.5) + Matern52(30, 3),
]


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.to_dict()["kernel"])
def test_every_kernel_is_a_covariance_with_its_variance_at_lag_zero(kernel: Kernel) -> None:
    times = np.sort(np.random.default_rng(0).uniform(0, 1e4, 40))
    covariance = kernel.covariance(times)
    assert np.allclose(np.diag(covariance), kernel.variance_m2)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-9 * kernel.variance_m2


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.to_dict()["kernel"])
def test_a_kernel_comes_back_from_its_description(kernel: Kernel) -> None:
    assert kernel_from_dict(kernel.to_dict()) == kernel


def test_a_periodic_kernel_is_the_sum_of_its_lines() -> None:
    for length_scale in (0.05, 0.8, 3.0):
        kernel = Periodic(24, length_scale, 2)
        frequencies, masses = kernel.spectral_lines()
        lags = np.linspace(0, 48, 97)
        assert np.cos(np.outer(lags, frequencies)) @ masses == pytest.approx(kernel(lags), abs=1e-9)


def test_equal_times_share_one_white_value() -> None:
    assert White(2).covariance([0.0, 5.0, 5.0]).tolist() == [[4, 0, 0], [0, 4, 4], [0, 4, 4]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(0),
        lambda: Matern32(-1),
        lambda: Matern32(float("nan")),
        lambda: White(-1),
        lambda: Matern32(1, math.inf),
        lambda: Periodic(0, 1),
        lambda: kernel_named("cubic", length_scale_s=1),
        lambda: kernel_from_dict({"kernel": "matern32"}),
        lambda: kernel_from_dict({"kernel": "sum", "parts": []}),
        lambda: kernel_from_dict({"kernel": "velvet"}),
        lambda: RBF(1) + 3,  # type: ignore[operator]
    ],
)
def test_impossible_kernels_are_refused_with_advice(make: object) -> None:
    with pytest.raises(InputError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.advice
