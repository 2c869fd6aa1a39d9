"""A fitted kernel in the class is not a person in the class: stop-and-go, Brownian and routine traces are told."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.adversary.misfit import misfits
from sfumato.tracks.adversary.stop_and_go import stopped_loss
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel, Matern12, Matern32, Matern52, White
from sfumato.tracks.priors.statespace import innovations, sample, whitened_products


def reasons(times: np.ndarray, path: np.ndarray) -> str:
    return "; ".join(misfits(times, path, fit(times, path, unknown_mean=True).prior))


@pytest.mark.parametrize("kernel", [Matern32(66, 123) + White(1), Matern52(300, 2000) + White(3), Matern32(2000, 500)])
def test_a_member_of_the_class_passes(kernel: Kernel) -> None:
    times = np.cumsum(np.random.default_rng(1).uniform(3, 9, 400))
    passed = sum(not reasons(times, sample(times, kernel, coordinates=2, rng=seed)) for seed in range(10))
    assert passed >= 9


def test_brownian_motion_stop_and_go_and_a_routine_do_not() -> None:
    """All three passed the first edition's in_class, which looked at the fitted parameters only."""
    times = np.arange(600) * 10.0
    assert "Brownian" in reasons(times, sample(times, Matern12(3000, 800), coordinates=2, rng=3))
    rng = np.random.default_rng(4)
    moving = np.repeat(rng.uniform(size=20) < 0.5, 30)
    clock = np.cumsum(np.where(moving, 10.0, 0.01))
    stops = sample(clock, Matern32(200, 600), coordinates=2, rng=5) + rng.normal(0, 0.3, (600, 2))
    assert "stops and goes" in reasons(times, stops)
    days = (86400.0 * np.arange(6)[:, None] + np.arange(100) * 60.0).ravel()
    way = np.tile(sample(np.arange(100) * 60.0, Matern32(900, 2000), coordinates=2, rng=6), (6, 1))
    assert "routine" in reasons(days, way + rng.normal(0, 5, way.shape))


def test_the_audit_says_so_in_its_verdict() -> None:
    rng = np.random.default_rng(7)
    times = 1.2e9 + np.arange(400) * 10.0
    clock = np.cumsum(np.where(np.repeat(rng.uniform(size=20) < 0.5, 20), 10.0, 0.01))
    path = sample(clock, Matern32(200, 600), coordinates=2, rng=8) + rng.normal(0, 0.3, (400, 2))
    lat, lon = displace(np.full(400, 48.5), np.full(400, 2.3), path)
    done = protect(Trace(lat, lon, times), rng=1)
    found = audit(done.original, done.release, done.certificate)
    assert found.moves_otherwise
    assert "does not move like the kernel" in found.verdict
    assert found.to_dict()["moves_otherwise"]


def test_innovations_are_the_whitened_values() -> None:
    times = np.sort(np.random.default_rng(0).uniform(0, 500, 40))
    kernel = Matern32(60, 100) + White(5)
    values = np.random.default_rng(1).normal(size=(40, 2))
    expected = np.linalg.solve(np.linalg.cholesky(kernel.covariance(times)), values)
    np.testing.assert_allclose(innovations(times, values, kernel), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(whitened_products(times, values, kernel), expected.T @ expected, rtol=1e-9)


def test_a_class_that_stops_and_goes_loses_what_the_computation_says_and_no_clock_loses_more() -> None:
    document = protect(Trace([48.0], [2.0], [0.0])).certificate
    from sfumato.tracks.adversary.routine import noise_law

    noise, _ = noise_law(document)
    floor = document["floor_loss"]
    losses = [stopped_loss(noise, stop) / floor for stop in (0.0, 300.0, 3600.0)]
    assert losses[0] <= document["loss_over_floor"] * 1.001  # no stop: a member of the class
    assert losses[1] == pytest.approx(13.0, rel=0.02)
    assert losses[2] == pytest.approx(20.0, rel=0.02)
    rng = np.random.default_rng(2)
    nearest = 0.0
    times = np.arange(200) * 20.0  # 4000 s
    longest = stopped_loss(noise, 4000.0)
    for _ in range(60):
        clock = np.cumsum(np.where(np.repeat(rng.uniform(size=20) < rng.uniform(), 10), 20.0, 1e-3))
        prior = Matern32(float(rng.choice([10.0, 60.0, 600.0])), 0.5).covariance(clock) + 1e-9 * np.eye(200)
        worst = basic_losses(prior, noise.covariance(times)).max()
        assert worst <= longest
        nearest = max(nearest, worst / longest)
    assert nearest > 0.3
