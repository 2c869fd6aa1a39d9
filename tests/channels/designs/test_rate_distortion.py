"""The rate-distortion curve, bracketed."""

import math

import numpy as np
import pytest

from sfumato.channels.designs.rate_distortion import rate_distortion


def binary_entropy(p):
    return -(p * math.log(p) + (1 - p) * math.log(1 - p))


def test_the_curve_of_a_binary_symbol_is_the_known_one():
    found = rate_distortion([0.3, 0.7], 1 - np.eye(2), [0.5, 1.0, 2.0, 4.0], tolerance=1e-9)
    for point in found.points:
        known = max(0.0, binary_entropy(0.3) - binary_entropy(point.distortion)) if point.distortion < 0.3 else 0.0
        assert point.rate_nats == pytest.approx(known, abs=1e-5)
    assert found.free_distortion == pytest.approx(0.3)
    assert found.entropy_nats == pytest.approx(binary_entropy(0.3))


def test_no_channel_is_below_the_certified_lines():
    rng = np.random.default_rng(0)
    prior, distances = rng.dirichlet(np.ones(5)), np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    curve = rate_distortion(prior, distances)
    from sfumato.channels.measures.discrete import average_distortion, mutual_information

    for _ in range(50):
        channel = rng.dirichlet(np.ones(5) * rng.uniform(0.1, 3), size=5)
        distortion = average_distortion(channel, prior, distances)
        assert mutual_information(channel, prior) >= curve.lower_bound(distortion) - 1e-9
    for level in (0.1, 0.4, 0.8):
        assert curve.lower_bound(level) - 1e-9 <= curve.rate(level) <= curve.lower_bound(level) + 0.05


def test_more_distortion_needs_less_information():
    curve = rate_distortion([0.5, 0.3, 0.2], 1 - np.eye(3))
    rates = [curve.rate(d) for d in np.linspace(0, curve.free_distortion, 9)]
    assert np.all(np.diff(rates) <= 1e-12)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
