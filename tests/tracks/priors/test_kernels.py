"""Kernels: formulas, spectra, sums and products, JSON."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

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


@pytest.mark.parametrize(
    "kernel", [RBF(60, 3), Matern12(60, 3), Matern32(60, 3), Matern52(60, 3), RBF(60, 3) * Matern32(20)]
)
def test_the_spectral_density_is_the_transform_of_the_kernel(kernel: Kernel) -> None:
    for omega in (0.0, 0.01, 0.05):
        transform, _ = quad(lambda d, w=omega: 2 * float(kernel(d)) * math.cos(w * d), 0, 1500, limit=2000)
        assert float(kernel.spectral_density(omega)) == pytest.approx(transform, rel=2e-4)


def test_the_densities_written_in_the_specification_are_these() -> None:
    omega, l = np.geomspace(1e-4, 1, 20), 66.0
    a3, a5 = math.sqrt(3) / l, math.sqrt(5) / l
    assert Matern32(l).spectral_density(omega) == pytest.approx(4 * a3**3 / (a3**2 + omega**2) ** 2)
    assert Matern52(l).spectral_density(omega) == pytest.approx((16 / 3) * a5**5 / (a5**2 + omega**2) ** 3)
    assert Matern12(l).spectral_density(omega) == pytest.approx((2 / l) / (l**-2 + omega**2))


def test_a_periodic_kernel_is_the_sum_of_its_lines() -> None:
    for length_scale in (0.05, 0.8, 3.0):
        kernel = Periodic(24, length_scale, 2)
        frequencies, masses = kernel.spectral_lines()
        lags = np.linspace(0, 48, 97)
        assert np.cos(np.outer(lags, frequencies)) @ masses == pytest.approx(kernel(lags), abs=1e-9)


def test_a_periodic_modulation_moves_the_density_to_its_lines() -> None:
    kernel = Matern32(1000, 2) * Periodic(600, 0.9)
    omega = np.array([0.0, 2 * np.pi / 600])
    frequencies, masses = Periodic(600, 0.9).spectral_lines()
    base = Matern32(1000, 2).spectral_density
    expected = [
        sum(0.5 * m * (float(base(w - f)) + float(base(w + f))) for f, m in zip(frequencies, masses, strict=True))
        for w in omega
    ]
    assert kernel.spectral_density(omega) == pytest.approx(expected, rel=1e-12)


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
