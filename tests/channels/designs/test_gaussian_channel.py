"""The Gaussian report: published deltas and calibrations, the missing case of Lemma 4, and no default promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.base.errors import InputError
from sfumato.base.numbers.gaussian_quantity import delta_at, delta_average, delta_mass, hockey_stick
from sfumato.channels.designs.numbers.gaussian_channel import GaussianChannel, calibrate


@pytest.mark.says("Jiang2021, Lemma 4", "false")
def test_published_hockey_sticks_with_the_missing_case() -> None:
    assert hockey_stick(0, math.sqrt(2), 1, 1, math.e) == pytest.approx(0.1893731002, abs=1e-9)
    # E18: B <= 0, where the formula alone would take the root of a negative number.
    assert hockey_stick(0, math.sqrt(2), 1, 1, 1 / math.e) == pytest.approx(1 - 1 / math.e, abs=1e-12)


def test_the_hockey_stick_equals_quadrature() -> None:
    rng = np.random.default_rng(0)
    for _ in range(8):
        m1, m2, s2 = rng.normal(0, 1), rng.normal(0, 1), float(rng.uniform(0.3, 2))
        s1, gamma = s2 * float(rng.uniform(1.05, 3)), float(rng.uniform(0.2, 4))
        f, g = stats.norm(m1, s1), stats.norm(m2, s2)
        y = np.linspace(-30, 30, 400_001)
        value = float(np.trapezoid(np.maximum(0.0, f.pdf(y) - gamma * g.pdf(y)), y))
        assert hockey_stick(m1, s1, m2, s2, gamma) == pytest.approx(value, abs=1e-6)


def test_published_deltas_at_a_value() -> None:
    for variance, low, up in ((4, 0.1468746345, 0.0675989617), (1, 0.4632762478, 0.3063147234)):
        found = delta_at(2, prior_variance=1, noise_variance=variance, epsilon=1)
        assert found == (pytest.approx(low, abs=1e-9), pytest.approx(up, abs=1e-9))


def test_no_noise_protects_every_value() -> None:
    """Delta grows with |x| to 1."""
    published = ((0, 5.37e-4), (1, 0.0280), (2, 0.1469), (3, 0.3184), (6, 0.7609), (20, 0.999996))
    values = [delta_at(x, prior_variance=1, noise_variance=4, epsilon=1)[0] for x, _ in published]
    for value, (_, wanted) in zip(values, published, strict=True):
        assert value == pytest.approx(wanted, rel=2e-3)
    assert values == sorted(values)
    assert delta_at(1e4, prior_variance=1, noise_variance=1e6, epsilon=1)[0] > 0.99


def test_proposition_3_the_two_hockey_sticks_of_a_pair() -> None:
    """E_γ(f || g) - γ E_{1/γ}(g || f) = 1 - γ, the second by quadrature."""
    y = np.linspace(-40, 40, 200_001)
    f, g = (np.exp(-((y - m) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi)) for m, s in ((0.0, 2.0), (0.5, 1.0)))
    for gamma in (0.4, 0.8):
        reverse = np.maximum(g - f / gamma, 0).sum() * (y[1] - y[0])
        assert hockey_stick(0.0, 2.0, 0.5, 1.0, gamma) == pytest.approx(1 - gamma + gamma * reverse, abs=1e-6)


def test_the_upper_side_is_the_reverse_divergence() -> None:
    """Proposition 3: delta_up = e^eps E_{e^-eps}(f_Y || f_{Y|x}) - e^eps + 1, where that does not cancel."""
    for x in (0.5, 1.5, 3.0):
        up = delta_at(x, prior_variance=1, noise_variance=2, epsilon=0.7)[1]
        reverse = hockey_stick(0, math.sqrt(3), x, math.sqrt(2), math.exp(-0.7))
        assert up == pytest.approx(math.exp(0.7) * reverse - math.exp(0.7) + 1, abs=1e-12)


@pytest.mark.parametrize(
    ("variance", "epsilon", "up", "low", "probability"),
    [(1, 1, 0.04205288, 0.16648315, 0.14984250), (4, 1, 0.00882357, 0.03246086, 0.04901724),
     (4, 0.5, 0.03301657, 0.06927625, 0.18983500)],
)  # fmt: skip
def test_published_averages(variance: float, epsilon: float, up: float, low: float, probability: float) -> None:
    found = delta_average(prior_variance=1, noise_variance=variance, epsilon=epsilon)
    assert found == (pytest.approx(low, abs=1e-8), pytest.approx(up, abs=1e-8), pytest.approx(probability, abs=1e-8))
    averaged = integrate.quad(
        lambda x: stats.norm.pdf(x) * delta_at(x, prior_variance=1, noise_variance=variance, epsilon=epsilon)[0], -9, 9
    )[0]
    assert found[0] == pytest.approx(averaged, abs=1e-7)


@pytest.mark.parametrize(
    ("epsilon", "delta", "value"), [(1, 1e-2, 7.83117797), (1, 1e-3, 20.32712872), (0.5, 1e-3, 53.22642625)]
)
def test_published_average_calibrations(epsilon: float, delta: float, value: float) -> None:
    found = calibrate(prior_variance=1, epsilon=epsilon, delta=delta, promise="average")
    assert found.noise_variance == pytest.approx(value, abs=1e-7)
    assert max(found.deltas()) <= delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "value"), [(1, 1e-2, 34.70101466), (1, 1e-3, 65.64685996), (2, 1e-3, 22.30749458)]
)
def test_published_range_calibrations(epsilon: float, delta: float, value: float) -> None:
    found = calibrate(prior_variance=1, epsilon=epsilon, delta=delta, promise="range", radius=3)
    assert found.noise_variance == pytest.approx(value, abs=1e-7)
    assert max(found.deltas()) <= delta
    statement = found.guarantee()
    assert statement.parameters["probability_outside_range"] == pytest.approx(2 * stats.norm.sf(3))
    assert "every single value" in statement.not_covered[0]


def test_the_published_half_line() -> None:
    low, up = delta_mass(prior_variance=1, noise_variance=4, epsilon=1, least_mass=0.05)
    assert low == pytest.approx(0.148995, abs=1e-6)
    assert up == pytest.approx(0.080872, abs=1e-6)
    found = calibrate(prior_variance=1, epsilon=1, delta=0.05, promise="mass", least_mass=0.05)
    assert max(found.deltas()) <= 0.05


def test_the_half_line_is_worse_than_other_events_of_its_mass() -> None:
    low, up = delta_mass(prior_variance=1, noise_variance=4, epsilon=1, least_mass=0.1)
    y = np.linspace(-40, 40, 8001)
    step = y[1] - y[0]
    prior = stats.norm.pdf(y, 0, math.sqrt(5))
    for start in (0.05, 0.3, 0.45):
        a, b = stats.norm.ppf([start, start + 0.1])
        given = (
            (stats.norm.cdf((b - y / 5) / math.sqrt(0.8)) - stats.norm.cdf((a - y / 5) / math.sqrt(0.8))) * prior / 0.1
        )
        assert np.maximum(prior - math.e * given, 0).sum() * step <= low + 1e-6
        assert np.maximum(given - math.e * prior, 0).sum() * step <= up + 1e-6


def test_the_promise_must_be_chosen() -> None:
    with pytest.raises(TypeError):
        calibrate(prior_variance=1, epsilon=1, delta=0.01)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="none is safe"):
        GaussianChannel(1, 1, 1, "all")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        calibrate(prior_variance=1, epsilon=1, delta=0.01, promise="range")
    with pytest.raises(InputError):
        calibrate(prior_variance=1, epsilon=1, delta=1.5, promise="average")


def test_reports_have_the_designed_noise() -> None:
    channel = GaussianChannel(1.0, 4.0, 1.0, "average")
    noise = channel.release(np.zeros(40_000), rng=1)
    assert stats.kstest(noise / 2, "norm").pvalue > 1e-4
