"""Laws that every mechanism for traces obeys: it draws what it states, and claims no less than it gives away."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.leakage.loss import basic_losses
from sfumato.mechanisms.traces.independent import IndependentNoise
from sfumato.mechanisms.traces.interface import TraceNoise
from sfumato.mechanisms.traces.mixed import MixedNoise
from sfumato.mechanisms.traces.multiscale.ladder import shipped_ladder
from sfumato.mechanisms.traces.multiscale.noise import MultiscaleNoise
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.mechanisms.traces.prior_shaped import PriorShapedNoise
from sfumato.mechanisms.traces.trace_registry import mechanism_from_dict
from sfumato.priors.classes import DAY
from sfumato.priors.kernels import RBF, Matern32, Periodic, White

PRIOR = Matern32(66.0, 120.0) + White(1.0)
MECHANISMS = [
    MultiscaleNoise(shipped_ladder("day"), 150.0, DAY),
    MultiscaleNoise(shipped_ladder("day"), 150.0, DAY, key=b"a" * 32),
    PriorShapedNoise(PRIOR, 150.0),
    PriorShapedNoise(RBF(60.0, 10.0) + White(0.1), 150.0),
    PriorShapedNoise(Periodic(600.0, 1.0, 5.0) * RBF(60.0), 150.0),
    MixedNoise(PRIOR, 150.0),
    IndependentNoise(150.0, DAY),
    LaplaceNoise(math.sqrt(3.0) / 150.0),
]
NAMES = [f"{mechanism.name}-{i}" for i, mechanism in enumerate(MECHANISMS)]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_every_mechanism_has_the_noise_it_states_and_equal_times_share_it(mechanism: TraceNoise) -> None:
    rng = np.random.default_rng(1)
    times = 1.7e9 + np.array([0.0, 5.0, 5.0, 100.0])
    if isinstance(mechanism, MultiscaleNoise) and mechanism.key:
        draws = np.stack([mechanism.keyed(rng.bytes(32)).draw(times) for _ in range(1500)])
    else:
        draws = np.stack([mechanism.draw(times, rng) for _ in range(1500)])
    assert draws.shape == (1500, 4, 2)
    assert np.array_equal(draws[:, 1], draws[:, 2])
    rms = np.sqrt((draws**2).mean(axis=(0, 1)))
    np.testing.assert_allclose(rms, mechanism.noise_m, rtol=0.12)
    assert mechanism.noise_m == pytest.approx(150.0)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_every_mechanism_comes_back_from_its_description(mechanism: TraceNoise) -> None:
    again = mechanism_from_dict(mechanism.parameters())
    assert again.parameters() == mechanism.parameters()
    assert again.law() == mechanism.law()
    times = [np.arange(0.0, 100.0, 7.0)]
    assert again.losses(times).basis == mechanism.losses(times).basis


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_no_mechanism_claims_less_than_the_floor_or_than_its_exact_loss(mechanism: TraceNoise) -> None:
    losses = mechanism.losses([np.arange(0.0, 200.0, 5.0)])
    if losses.worst_loss is not None:
        assert losses.worst_loss >= losses.floor_loss * (1 - 1e-12)
        if losses.loss_at_times is not None:
            assert losses.loss_at_times <= losses.worst_loss * (1 + 1e-12)
    else:
        assert losses.warnings  # no bound, so it says why


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_the_exact_loss_under_the_stated_prior_is_within_the_claim(mechanism: TraceNoise) -> None:
    if isinstance(mechanism, LaplaceNoise):
        pytest.skip("planar Laplace noise is not Gaussian")
    times = np.cumsum(np.random.default_rng(4).exponential(10.0, 50))
    prior = getattr(mechanism, "prior", Matern32(66.0, 120.0) + White(1.0))
    noise = mechanism.kernel().covariance(times)  # type: ignore[attr-defined]
    loss = float(basic_losses(prior.covariance(times), noise).max())
    claimed = mechanism.losses([times]).basis
    assert loss <= claimed * (1 + 1e-6)
