"""Golden numbers, found by an independent prototype, for prior-shaped, mixed and independent noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.losses.gaussian_loss import basic_losses, loss_matrix
from sfumato.tracks.noise.mixed import MixedNoise
from sfumato.tracks.noise.planar_laplace import LaplaceNoise
from sfumato.tracks.noise.prior_shaped import PriorShapedNoise, scale_to
from sfumato.tracks.noise.registry import mechanism_from_dict
from sfumato.tracks.priors.kernels import RBF, Matern32, Periodic, White

PRIOR = Matern32(66.0, 120.0) + White(1.0)


def unit_times(count: int) -> np.ndarray:
    return np.arange(float(count))


@pytest.mark.parametrize(
    ("scale", "o", "shaped", "independent"),
    [(1, 0.571, 1.752, 2.544), (3, 0.485, 2.061, 7.815), (6, 0.347, 2.879, 19.49), (10, 0.251, 3.976, 41.05)],
)
def test_prior_shaped_noise_attains_the_floor_where_independent_noise_does_not(
    scale: float, o: float, shaped: float, independent: float
) -> None:
    """Golden case: n = 50, RBF, nugget 1e-9; o is printed with three digits there, hence the tolerance."""
    prior = RBF(scale) + White(math.sqrt(1e-9))
    covariance = prior.covariance(unit_times(50))
    mechanism = PriorShapedNoise(prior, math.sqrt(o))
    losses = basic_losses(covariance, mechanism.kernel().covariance(unit_times(50)))
    np.testing.assert_allclose(losses, 1 / o, rtol=1e-4)
    assert mechanism.losses([unit_times(50)]).worst_loss == pytest.approx(1 / o)
    assert 1 / o == pytest.approx(shaped, rel=2.5e-3)
    assert basic_losses(covariance, o * np.eye(50)).max() == pytest.approx(independent, rel=2.5e-3)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(6.0) + White(math.sqrt(1e-9)), (5.714, 5.662, 4.018, 2.857)),
        (Matern32(6.0), (5.436, 3.160, 2.878, 2.857)),
    ],
)
def test_redrawing_costs_what_the_specification_says_and_continuing_costs_nothing(
    kernel: object, expected: tuple[float, ...]
) -> None:
    """Golden case: two 25-point traces, l = 6, o = .35, gaps 1, 6, 12, 24."""
    for gap, loss in zip((1, 6, 12, 24), expected, strict=True):
        times = np.concatenate([unit_times(25), 24 + gap + unit_times(25)])
        prior = kernel.covariance(times)  # type: ignore[attr-defined]
        shaped = PriorShapedNoise(kernel, math.sqrt(0.35)).kernel().covariance(times)  # type: ignore[arg-type]
        assert basic_losses(prior, shaped).max() == pytest.approx(1 / 0.35, rel=1e-4)
        redrawn = shaped.copy()
        redrawn[:25, 25:] = redrawn[25:, :25] = 0.0
        assert basic_losses(prior, redrawn).max() == pytest.approx(loss, rel=1e-3)
        assert loss <= 2 / 0.35 + 1e-3  # the certificate of two redraws


@pytest.mark.parametrize(
    ("share", "point", "pair", "window"),
    [(0.0, 1.000, 125.6, 3676.5), (0.05, 1.038, 94.0, 101.1), (0.10, 1.085, 89.7, 81.0), (0.20, 1.197, 87.4, 67.4),
     (1.0, 10.198, 147.8, 113.0)],
)  # fmt: skip
def test_a_white_share_blurs_the_shape(share: float, point: float, pair: float, window: float) -> None:
    """Golden case: Matérn-3/2, l = 66 s, 5 s sampling, sd 120 m, nugget 1 m, n = 64, o = 150²."""
    times = np.arange(64) * 5.0
    o = 150.0**2
    prior = PRIOR.covariance(times)
    if share == 0:
        noise = PriorShapedNoise(PRIOR, 150.0).kernel().covariance(times)
    elif share == 1:
        noise = o * np.eye(64)
    else:
        noise = MixedNoise(PRIOR, 150.0, share).kernel().covariance(times)
    assert basic_losses(prior, noise).max() * o == pytest.approx(point, rel=1e-3)

    def worst(size: int) -> float:
        return max(
            float(np.linalg.eigvalsh(loss_matrix(prior, noise, list(range(first, first + size))))[-1])
            for first in range(64 - size + 1)
        )

    assert worst(2) * o == pytest.approx(pair, rel=2e-3)
    assert worst(12) * o == pytest.approx(window, rel=2e-3)


def test_fitted_priors_and_single_kernels_are_warned_about() -> None:
    fitted = PriorShapedNoise(PRIOR, 10.0, fitted=True).losses([np.arange(3.0)])
    assert any("chosen from private data" in warning for warning in fitted.warnings)
    assert any("not for a class" in warning for warning in fitted.warnings)


def test_a_long_trace_without_a_fast_form_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="no fast form"):
        PriorShapedNoise(RBF(60.0), 10.0).draw(np.arange(5000.0), 1)


def test_scaling_changes_the_size_and_keeps_the_shape() -> None:
    for kernel in (PRIOR, RBF(3.0, 2.0) * Periodic(9.0, 1.0, 3.0)):
        big = scale_to(kernel, 500.0)
        assert big.variance_m2 == pytest.approx(500.0)
        lags = np.array([0.0, 1.0, 7.0])
        np.testing.assert_allclose(big(lags) / 500.0, kernel(lags) / kernel.variance_m2, rtol=1e-12)


def test_planar_laplace_on_a_trace_has_the_geo_indistinguishability_it_states() -> None:
    """The radius is Gamma(2, 1/eps): its quantiles, from far more draws than a trace needs."""
    mechanism = LaplaceNoise(0.01)
    draws = mechanism.draw(np.arange(40_000.0), 3)
    radius = np.hypot(*draws.T)
    for quantile in (0.1, 0.5, 0.9):
        r = np.quantile(radius, quantile)
        assert 1 - (1 + 0.01 * r) * math.exp(-0.01 * r) == pytest.approx(quantile, abs=0.01)


@pytest.mark.parametrize("broken", [{}, {"name": "magic", "noise_m": 1, "redraws": 1}, {"name": "multiscale"}])
def test_broken_descriptions_are_refused(broken: dict) -> None:
    with pytest.raises(InputError):
        mechanism_from_dict(broken)
