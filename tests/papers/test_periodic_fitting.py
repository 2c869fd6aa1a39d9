"""A periodic prior learned from values, its period found."""

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.papers.periodic_fitting import Assumed, features, fit_periodic
from sfumato.tracks.priors.kernels import Periodic


def drawn(times, period, length, nugget, seed):
    rng = np.random.default_rng(seed)
    covariance = Periodic(period, length).covariance(times) + nugget**2 * np.eye(times.size)
    return np.linalg.cholesky(covariance + 1e-12 * np.eye(times.size)) @ rng.standard_normal((times.size, 3))


def test_the_lines_are_the_kernel():
    times = np.sort(np.random.default_rng(0).uniform(0, 100, 40))
    for length in (0.3, 1.1, 4.0):
        lines = features(times, length, 17.0)
        np.testing.assert_allclose(lines @ lines.T, Periodic(17.0, length).covariance(times), atol=1e-12)


def test_the_period_and_the_length_scale_are_found_at_irregular_times():
    times = np.sort(np.random.default_rng(1).uniform(0, 300, 120))
    found = fit_periodic(times, drawn(times, 31.0, 0.9, 0.1, 2))
    assert found.period_s == pytest.approx(31.0, rel=0.01)
    assert found.length_scale == pytest.approx(0.9, rel=0.25)
    assert found.nugget == pytest.approx(0.1, rel=0.3)


def test_the_likelihood_is_the_dense_one():
    times = np.arange(30.0)
    values = drawn(times, 10.0, 1.0, 0.2, 3)
    found = fit_periodic(times, values, periods_s=(9.0, 11.0), assumed=Assumed(1.0, 0.2))
    covariance = Periodic(found.period_s, found.length_scale).covariance(times) + 0.04 * np.eye(30)
    dense = -0.5 * (
        np.sum(values * np.linalg.solve(covariance, values))
        + 3 * np.linalg.slogdet(covariance)[1]
        + values.size * np.log(2 * np.pi)
    )
    assert found.log_likelihood == pytest.approx(dense, abs=1e-8)
    assert found.period_s == pytest.approx(10.0, rel=0.05)


def test_no_other_length_scale_is_likelier():
    times = np.arange(48.0)
    values = drawn(times, 24.0, 1.2, 0.3, 4)
    best = fit_periodic(times, values, periods_s=(23.9, 24.1))
    for factor in (0.8, 0.97, 1.03, 1.25):
        length = best.length_scale * factor
        other = fit_periodic(times, values, periods_s=(23.9, 24.1), length_scales=(length * 0.9999, length * 1.0001))
        assert other.log_likelihood <= best.log_likelihood + 1e-9


def test_a_period_the_span_cannot_show_is_refused_with_advice():
    with pytest.raises(InputError, match="No period"):
        fit_periodic(np.arange(4.0), np.ones((4, 1)))
