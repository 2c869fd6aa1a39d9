"""Clamped Laplace: published calibrations, the exact leakage against a fine grid, and the errata of Theorem 6."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.base.errors import InputError
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.designs.numbers import clamped_laplace as cl
from sfumato.papers.lip.lip_theorems import printed_conditions

X = np.arange(3.0)


def skewed(s: float) -> list[float]:
    return [1 / 3 + s / 2, 1 / 3, 1 / 3 - s / 2]


TABLE = [
    (1, 0.0, 0.8239, 1.7882, 0.8239, 1.5691),
    (1, 0.2, 0.4760, 1.1758, 0.7541, 1.7007),
    (1, 0.4, 0.2121, 0.6771, 0.6960, 1.8302),
    (2, 0.2, 0.7704, 2.0557, 1.0012, 0.8954),
    (2, 0.4, 0.4380, 1.5905, 0.9367, 0.9412),
    (2, 0.6, 0.1057, 1.1117, 0.8814, 0.9855),
]


@pytest.mark.parametrize(("epsilon", "s", "sufficient", "exact", "threshold", "independent"), TABLE)
def test_published_calibrations(
    epsilon: float, s: float, sufficient: float, exact: float, threshold: float, independent: float
) -> None:
    p = skewed(s)
    assert cl.context_aware(X, p, epsilon, calibration="sufficient").alpha == pytest.approx(sufficient, abs=1e-4)
    assert cl.context_aware(X, p, epsilon, calibration="exact").alpha == pytest.approx(exact, abs=1e-4)
    assert cl.alpha_threshold(p, epsilon) == pytest.approx(threshold, abs=1e-4)
    assert cl.independent(X, p, epsilon, calibration="sufficient").scales[0] == pytest.approx(independent, abs=1e-4)


@pytest.mark.parametrize(
    ("epsilon", "p", "independent", "dependent", "program"),
    [
        (0.5, skewed(0.2), 0.7440, 0.7662, 0.5312),
        (1, skewed(0.2), 0.5934, 0.5957, 0.3418),
        (1, [0.7, 0.2, 0.1], 0.6226, 0.6259, 0.2545),
        (2, skewed(0.2), 0.4222, 0.4112, 0.1149),
        (2, [0.7, 0.2, 0.1], 0.4376, 0.4213, 0.0999),
    ],
)
def test_published_errors_and_the_discrete_optimum_beside_them(
    epsilon: float, p: list[float], independent: float, dependent: float, program: float
) -> None:
    assert cl.independent(X, p, epsilon, calibration="exact").mean_error() == pytest.approx(independent, abs=1e-4)
    assert cl.context_aware(X, p, epsilon, calibration="exact").mean_error() == pytest.approx(dependent, abs=1e-4)
    optimum = optimal_channel(p, np.abs(X[:, None] - X), epsilon).objective
    assert optimum == pytest.approx(program, abs=1e-4)
    assert optimum < min(independent, dependent)


def test_the_exact_leakage_agrees_with_a_fine_grid_of_outputs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        n = int(rng.integers(2, 5))
        x, p, b = np.sort(rng.random(n)) * 4, rng.dirichlet(np.ones(n) * 2), rng.uniform(0.4, 4, n)
        up, low = cl.exact_leakage(x, p, b)
        y = np.linspace(x[0], x[-1], 4001)
        density = np.exp(-np.abs(y - x[:, None]) / b[:, None]) / (2 * b[:, None])
        atoms = 0.5 * np.stack([np.exp(-(x - x[0]) / b), np.exp(-(x[-1] - x) / b)], axis=1)
        both = np.concatenate([density, atoms], axis=1)
        logs = np.log(both / (p @ both))
        assert logs.max() <= up + 1e-9
        assert -logs.min() <= low + 1e-9
        assert up == pytest.approx(logs.max(), abs=2e-3)
        assert low == pytest.approx(-logs.min(), abs=2e-3)


def test_the_sufficient_conditions_never_fail_exactly() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(2, 6))
        x, p, epsilon = np.sort(rng.random(n)), rng.dirichlet(np.ones(n) * 3), float(rng.uniform(0.3, 3))
        for found in (cl.context_aware(x, p, epsilon, calibration="sufficient"),
                      cl.independent(x, p, epsilon, calibration="sufficient")):  # fmt: skip
            assert max(found.leakage()) <= epsilon + 1e-9


@pytest.mark.says("Jiang2021, Thm 6, claim", "empty")
def test_the_threshold_is_never_feasible_under_the_sufficient_conditions() -> None:
    """E13: equality only for the uniform prior."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        p, epsilon = rng.dirichlet(np.ones(3) * 4), float(rng.uniform(0.3, 3))
        needed = cl.alpha_threshold(p, epsilon)
        assert cl.context_aware(X, p, epsilon, calibration="sufficient").alpha <= needed + 1e-9  # type: ignore[operator]
        rate = math.log((math.exp(epsilon) - p.min()) / (1 - p.min()))
        assert needed * p.min() + epsilon == pytest.approx(rate)  # from here on no scale is above the independent one


@pytest.mark.says("Jiang2021, Thm 6, lower", "empty")
def test_the_lower_condition_of_the_source_refuses_plain_laplace() -> None:
    """E9: with P_min for P(x) even alpha = 0, which is eps-LIP, is rejected."""
    p, epsilon = np.array(skewed(0.4)), 1.0
    plain = np.full(3, epsilon)
    assert cl.sufficient(p, plain, epsilon)
    assert not any(printed_conditions(p, alpha * p + epsilon, epsilon) for alpha in np.linspace(0, 6, 61))
    found = cl.context_aware(X, p, epsilon, calibration="sufficient")
    assert found.alpha is not None
    assert 0 < found.alpha < cl.alpha_threshold(p, epsilon)
    np.testing.assert_allclose(found.scales, 2.0 / (found.alpha * p + epsilon))
    printed = p.min() + (1 - p) * math.exp(-epsilon)
    assert printed.min() < math.exp(-epsilon)


def test_the_conditions_of_the_source_are_infeasible_where_the_corrected_ones_are_not() -> None:
    """E8, E9: with P_min for P(x) in both; where it is feasible at all, alpha is the corrected one."""

    def printed(p: np.ndarray, rates: np.ndarray, epsilon: float) -> bool:
        others = p @ rates - p * rates
        falling = p @ (rates * np.exp(-rates)) - p * rates * np.exp(-rates)
        above = p.min() + others / rates * np.exp(rates)
        below = p.min() + falling / rates
        return bool(above.max() <= math.exp(epsilon) and below.min() >= math.exp(-epsilon))

    for epsilon, s, _, _, _, _ in TABLE:
        p = np.array(skewed(s))
        corrected = cl.context_aware(X, p, epsilon, calibration="sufficient").alpha
        assert corrected is not None
        feasible = [a for a in np.linspace(0, 1.2, 1201) if printed(p, a * p + epsilon, epsilon)]
        if (epsilon, s) in ((1, 0.4), (2, 0.6)):
            assert not feasible
        else:
            assert max(feasible) == pytest.approx(corrected, abs=2e-3)


@pytest.mark.says("Jiang2021, Thm 6, upper", "gap")
@pytest.mark.says("Jiang2021, Thm 6, typo", "typo")
def test_the_upper_condition_and_the_atoms_never_decide_in_random_priors() -> None:
    """E8: what both printed conditions accept keeps eps exactly, though the first term of the upper is too small."""
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(100):
        p, epsilon = rng.dirichlet(np.ones(int(rng.integers(2, 6)))), float(rng.uniform(0.1, 4))
        values = np.arange(float(p.size))
        for alpha in np.linspace(0, 3, 16):
            rates = alpha * p + epsilon
            if printed_conditions(p, rates, epsilon):
                accepted += 1
                assert cl.sufficient(p, rates * (1 - 1e-12), epsilon)
                assert max(cl.exact_leakage(values, p, np.ptp(values) / rates)) <= epsilon + 1e-9
    assert accepted > 50
    skew = np.array(skewed(0.2))
    alpha = cl.context_aware(X, skew, 2.0, calibration="sufficient").alpha
    assert alpha is not None
    assert printed_conditions(skew, (alpha - 1e-6) * skew + 2.0, 2.0)
    assert not printed_conditions(skew, (alpha + 1e-3) * skew + 2.0, 2.0)
    assert not cl.sufficient(skew, (alpha + 1e-3) * skew + 2.0, 2.0)


@pytest.mark.says("Jiang2021, App. L, grid search", "undecided")
def test_a_grid_search_finds_beta_below_epsilon_for_the_least_mean_noise() -> None:
    """E21: what the search of App. L minimised is not said."""
    p = np.array(skewed(0.2))
    found = {
        (a, b): float(p @ (1 / (a * p + b)))
        for a in np.linspace(0, 3, 31)
        for b in np.linspace(1, 2.4, 29)
        if cl.sufficient(p, a * p + b, 2.0)
    }
    _, beta = min(found, key=lambda pair: found[pair])
    assert 1.4 < beta < 1.8
    assert 2.0 < max(b for a, b in found if a == 0) < 2.3
    assert max(a for a, b in found if abs(b - 2.0) < 1e-9) == pytest.approx(0.7, abs=0.06)


@pytest.mark.says("Jiang2021, Fig. 3a", "typo")
def test_alpha_falls_with_skew() -> None:
    """E12: more skew needs more noise, that is a smaller alpha."""
    at_2 = [cl.context_aware(X, skewed(s), 2, calibration="sufficient").alpha for s in (0.0, 0.6)]
    assert at_2 == pytest.approx([1.078, 0.106], abs=1e-3)
    alphas = [cl.context_aware(X, skewed(s), 1, calibration="sufficient").alpha for s in (0.0, 0.2, 0.4)]
    assert alphas == sorted(alphas, reverse=True)  # type: ignore[type-var]


def test_without_the_clamp_a_context_aware_scale_leaks_without_bound() -> None:
    found = cl.context_aware(X, skewed(0.4), 1, calibration="exact")
    far = 50.0
    density = np.exp(-np.abs(far - X) / found.scales) / (2 * found.scales)
    assert np.abs(np.log(density / (found.prior @ density))).max() > 3


def test_reports_follow_the_clamped_law() -> None:
    found = cl.independent(X, skewed(0.2), 1, calibration="exact")
    drawn = found.release(np.full(60_000, 1), rng=5)
    b = found.scales[1]
    assert drawn.min() == 0
    assert drawn.max() == 2
    atom = 0.5 * math.exp(-1 / b)
    edges = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75])
    inside = stats.laplace(1, b).cdf(edges)
    expected = np.diff(np.concatenate([[atom], inside, [1 - atom]]))
    counts, _ = np.histogram(drawn[(drawn > 0) & (drawn < 2)], bins=[0, *edges, 2])
    observed = [np.sum(drawn == 0), *counts, np.sum(drawn == 2)]
    assert stats.chisquare(observed, 60_000 * np.array([atom, *expected, atom])).pvalue > 1e-4
    assert np.abs(drawn - 1).mean() == pytest.approx(b * -math.expm1(-1 / b), rel=0.02)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError):
        cl.independent([1, 1], [0.5, 0.5], 1, calibration="exact")
    with pytest.raises(InputError):
        cl.independent(X, skewed(0), 1, calibration="rough")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        cl.context_aware(X, skewed(0.4), 1, calibration="rough")  # type: ignore[arg-type]
