"""LIP-optimal channels: published optima, certified bounds, exact guarantees on the shipped matrix, and attacks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from lip_channels import random_lip_channel

from sfumato.base.errors import InputError
from sfumato.channels.designs.lip.candidates import merge_targets
from sfumato.channels.designs.lip.closed_forms import resampling_channel
from sfumato.channels.designs.lip.interior_point import generate, proved_bound
from sfumato.channels.designs.lip.linear_program import best_over_set
from sfumato.channels.designs.lip.lip_optimal import optimal_channel, worst_case_channel
from sfumato.channels.designs.lip.other_goals import latent_channel
from sfumato.channels.designs.promises import repair
from sfumato.channels.measures import discrete as d
from sfumato.channels.priors.prior_sets import Box, EveryPrior, Known, Polytope, TVBall

P = np.array([0.5, 0.3, 0.2])
VALUES = np.arange(3.0)
SQUARED = (VALUES[:, None] - VALUES) ** 2
ABSOLUTE = np.abs(VALUES[:, None] - VALUES)
SOLVERS = ("lp", "output-generation")


def city(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The synthetic city of docs/channel.md, and distances in its units."""
    c = (np.arange(size) + 0.5) * 6 / size
    y, x = np.meshgrid(c, c, indexing="ij")
    spots = ((1.0, 1.5, 1.5, 0.8), (0.6, 4.5, 3.5, 1.1), (0.3, 1.0, 5.0, 0.6))
    heat = sum(w * np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * s * s)) for w, a, b, s in spots) + 0.02
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    return (heat / heat.sum()).ravel(), np.linalg.norm(places[:, None] - places[None], axis=2)


def exactly_lip(matrix: np.ndarray, prior: np.ndarray, epsilon: float) -> bool:
    """e^-eps m <= Q <= e^eps m in rational arithmetic, with e^eps rounded towards the harder side."""
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    rows = [[v / sum(row) for v in row] for row in rows]
    weights = [Fraction(float(v)) for v in prior]
    weights = [v / sum(weights) for v in weights]
    limit = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**15))
    for y in range(matrix.shape[1]):
        m = sum(w * row[y] for w, row in zip(weights, rows, strict=True))
        if any(row[y] > limit * m or m > limit * row[y] for row in rows):
            return False
    return True


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("distortion", "epsilon", "low", "value"),
    [
        (d.hamming(3), 1, None, 0.2742007565),
        (d.hamming(3), 2, None, 0.0839078756),
        (SQUARED, 1, None, 0.4575156088),
        (SQUARED, 2, None, 0.1651090455),
        (ABSOLUTE, 1, None, 0.3604577105),
        (d.hamming(3), 1, 2.0, 0.2076400014),
        (d.hamming(3), 1, math.inf, 0.1738061806),
    ],
)
def test_published_optima(solver: str, distortion: np.ndarray, epsilon: float, low: float | None, value: float) -> None:
    solved = optimal_channel(P, distortion, epsilon, epsilon_low=low, solver=solver)  # type: ignore[arg-type]
    assert solved.objective == pytest.approx(value, abs=1e-6)
    assert solved.lower_bound is not None
    assert solved.lower_bound <= value + 1e-9
    assert solved.value.promise.measure(solved.value.channel).up <= epsilon
    if low is None:
        assert solved.value.leakage <= epsilon


def test_published_accuracies_of_four_symbols() -> None:
    p = [0.5, 0.3, 0.15, 0.05]
    for epsilon, value in ((1, 0.6892463146), (2, 0.8738739032), (3, 0.9683852116)):
        assert 1 - optimal_channel(p, d.hamming(4), epsilon).objective == pytest.approx(value, abs=1e-6)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("size", "epsilon", "value"),
    [(6, 0.5, 1.889245), (6, 1, 1.5425296), (6, 1.5, 1.222844), (6, 2, 0.878118), (6, 3, 0.3621302), (6, 4, 0.095886),
     (10, 0.5, 1.8732453), (10, 1, 1.5570549), (10, 2, 0.9397569), (14, 1, 1.5594138), (14, 2, 0.9446989)],
)  # fmt: skip
def test_published_optima_of_the_city_with_a_certified_gap(size: int, epsilon: float, value: float) -> None:
    p, distances = city(size)
    solved = optimal_channel(p, distances, epsilon, gap=1e-6)
    assert solved.status == "converged"
    assert solved.gap is not None
    assert solved.gap <= 1e-6
    assert solved.objective == pytest.approx(value, abs=2e-6)
    assert solved.value.leakage <= epsilon
    assert d.average_distortion(solved.value.channel, p, solved.value.channel.distortion) == solved.objective  # type: ignore[arg-type]


def test_the_guarantee_is_exact_in_rational_arithmetic() -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        n = int(rng.integers(2, 7))
        p, epsilon = rng.dirichlet(np.ones(n)), float(rng.uniform(0.1, 3))
        p = np.maximum(p, 1e-4) / np.maximum(p, 1e-4).sum()
        solved = optimal_channel(p, rng.random((n, n)), epsilon)
        assert exactly_lip(solved.value.channel.matrix, p, epsilon)
    p, distances = city(6)
    assert exactly_lip(optimal_channel(p, distances, 1).value.channel.matrix, p, 1)


def test_no_other_channel_with_that_distance_leaks_less() -> None:
    """Attack by random members of the class: none is cheaper than the certified lower bound."""
    rng = np.random.default_rng(1)
    for _ in range(25):
        n = int(rng.integers(2, 5))
        p, epsilon = rng.dirichlet(np.ones(n) * 2), float(rng.uniform(0.3, 2))
        cost = rng.random((n, n))
        solved = optimal_channel(p, cost, epsilon)
        for _ in range(8):
            q = random_lip_channel(p, epsilon, rng)
            remapped = ((p[:, None] * q).T @ cost).min(axis=1).sum()
            assert remapped >= solved.lower_bound - 1e-9  # type: ignore[operator]


def test_both_solvers_agree_on_random_problems() -> None:
    rng = np.random.default_rng(2)
    for _ in range(15):
        n, k = int(rng.integers(2, 7)), int(rng.integers(1, 7))
        p, cost, epsilon = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n, rng.random((n, k)), float(rng.uniform(0.2, 3))
        values = [optimal_channel(p, cost, epsilon, solver=solver).objective for solver in SOLVERS]  # type: ignore[arg-type]
        assert values[0] == pytest.approx(values[1], abs=1e-7)


def test_output_generation_brackets_the_optimum_for_any_multipliers() -> None:
    p, distances = city(6)
    optimum, lo, hi = 1.5425295849, math.exp(-1), math.exp(1)
    rng = np.random.default_rng(3)
    for _ in range(50):
        bound, _ = proved_bound(p, distances, p * rng.normal(1.0, 1.0, p.size), lo=lo, hi=hi)
        assert bound <= optimum + 1e-9
    rough = generate(p, distances, lo=lo, hi=hi, gap=0.05)
    assert rough.lower_bound <= optimum <= rough.objective  # type: ignore[operator]


def test_stopping_early_is_said_and_still_bracketed() -> None:
    p, distances = city(14)
    found = generate(p, distances, lo=math.exp(-1), hi=math.exp(1), gap=1e-9, most_rounds=1)
    assert found.status == "stopped"
    assert found.gap is not None
    assert found.gap > 1e-3
    assert found.lower_bound <= 1.5594138 <= found.objective  # type: ignore[operator]


def test_the_promise_over_total_variation_balls() -> None:
    rows = {1: (0.274201, 0.287952, 0.307272, 0.337747, 0.370694, 0.415153),
            2: (0.083908, 0.088602, 0.095503, 0.106645, 0.174641, 0.213014)}  # fmt: skip
    for epsilon, values in rows.items():
        found = []
        for radius in (0.0, 0.02, 0.05, 0.1, 0.2, 1.0):
            solved = optimal_channel(P, d.hamming(3), epsilon, priors=TVBall(P, radius))
            assert d.lip_over_set(solved.value.channel, TVBall(P, radius)).max <= epsilon
            found.append(solved.objective)
        np.testing.assert_allclose(found, values, atol=1e-6)
        assert found == sorted(found)  # type: ignore[type-var]
        assert worst_case_channel(P, d.hamming(3), epsilon).objective == pytest.approx(values[-1], abs=1e-6)


def box_vertices(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    import itertools

    found = []
    for free in range(low.size):
        others = [i for i in range(low.size) if i != free]
        for bits in itertools.product((0, 1), repeat=low.size - 1):
            p = np.empty(low.size)
            p[others] = [high[i] if bit else low[i] for i, bit in zip(others, bits, strict=True)]
            p[free] = 1 - p[others].sum()
            if low[free] - 1e-12 <= p[free] <= high[free] + 1e-12:
                found.append(np.clip(p, 0, 1))
    return np.array(found)


def test_a_box_costs_what_its_vertices_cost() -> None:
    rng = np.random.default_rng(4)
    for _ in range(8):
        p = rng.dirichlet(np.ones(4) * 4)
        width, epsilon, cost = float(rng.uniform(0.01, 0.1)), float(rng.uniform(0.3, 2.5)), rng.random((4, 4))
        box = Box(np.maximum(p - width, 0.001), np.minimum(p + width, 1))
        by_dual = optimal_channel(p, cost, epsilon, priors=box)
        polytope = Polytope(box_vertices(box.low, box.high))
        by_vertices = optimal_channel(p, cost, epsilon, priors=polytope)
        assert by_dual.objective == pytest.approx(by_vertices.objective, abs=1e-6)
        assert d.lip_over_set(by_dual.value.channel, box).max <= epsilon
        q = by_dual.value.channel
        assert d.lip_over_set(q, box).max == pytest.approx(d.lip_over_set(q, polytope).max, abs=1e-9)


def test_every_prior_is_the_linear_program_of_local_differential_privacy() -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        n = int(rng.integers(2, 6))
        p, cost, epsilon = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n, rng.random((n, n)), float(rng.uniform(0.3, 2.5))
        _, by_rows, _ = best_over_set(p, cost, Polytope(np.eye(n)), up=epsilon, low=epsilon)
        solved = worst_case_channel(p, cost, epsilon)
        assert solved.objective == pytest.approx(by_rows, abs=1e-6)
        assert d.ldp(solved.value.channel) <= epsilon
        assert solved.lower_bound <= by_rows + 1e-9  # type: ignore[operator]


def test_resampling_with_the_best_relabelling_is_optimal_above_the_threshold() -> None:
    rng = np.random.default_rng(6)
    for _ in range(12):
        n = int(rng.integers(2, 6))
        p = rng.dirichlet(np.ones(n) * 5)
        epsilon = math.log((1 - p.min()) / p.min()) + float(rng.uniform(0, 1))
        cost = rng.random((n, n))
        assert resampling_channel(p, epsilon, distortion=cost).average_distortion == pytest.approx(
            optimal_channel(p, cost, epsilon).objective, abs=1e-8
        )


def test_a_latent_variable_is_protected_and_the_symbol_is_not() -> None:
    given = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    cost = np.abs(np.arange(4.0)[:, None] - np.arange(4.0))
    ps = np.array([0.7, 0.3])
    solved = latent_channel(ps, given, cost, 0.5)
    q = solved.value.channel
    assert d.lip(given @ q.matrix, ps).max <= 0.5
    assert d.lip(q, ps @ given).max > 5
    everything = optimal_channel(ps @ given, cost, 0.5)
    assert solved.objective < everything.objective  # type: ignore[operator]
    assert any("symbol itself" in words for words in solved.value.guarantee.not_covered)


def test_latent_protection_of_the_symbol_itself_is_the_ordinary_optimum() -> None:
    solved = latent_channel(P, np.eye(3), d.hamming(3), 1.0)
    assert solved.objective == pytest.approx(0.2742007565, abs=1e-6)


def test_repair_brings_any_channel_inside_and_keeps_the_output_distribution() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        q, p, epsilon = rng.dirichlet(np.ones(4) * 0.4, size=3), rng.dirichlet(np.ones(3)), float(rng.uniform(0.1, 1))
        fixed = repair(q, Known(p), up=epsilon, low=epsilon)
        assert d.lip(fixed, p).max <= epsilon + 1e-9
        np.testing.assert_allclose(p @ fixed, p @ q, atol=1e-14)
        ball = TVBall(p, 0.1)
        assert d.lip_over_set(repair(q, ball, up=epsilon, low=epsilon), ball).max <= epsilon + 1e-9


def test_tiny_columns_are_merged_and_never_dropped() -> None:
    q = np.array([[0.5, 0.5 - 1e-12, 1e-12], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    target = merge_targets(q, d.hamming(3), P, allowance=1e-9)
    assert target[2] != 2
    assert set(target.tolist()) <= {0, 1}


def test_the_guarantee_names_its_prior_set_and_the_measured_leakage() -> None:
    designed = optimal_channel(P, d.hamming(3), 1, priors=TVBall(P, 0.05)).value
    assert "total variation 0.05" in designed.guarantee.assumes[0]
    assert designed.guarantee.parameters["measured_up_nats"] == designed.promise.measure(designed.channel).up
    assert any("do not simply add" in words for words in designed.guarantee.not_covered)


def test_reports_follow_the_designed_channel() -> None:
    from scipy import stats

    designed = optimal_channel(P, d.hamming(3), 1).value
    drawn = designed.channel.sample(np.full(50_000, 2), rng=3)
    row = designed.channel.row(2)
    assert stats.chisquare(np.bincount(drawn, minlength=row.size), 50_000 * row).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="greater than 0"):
        optimal_channel(P, d.hamming(3), epsilon)


def test_bad_input_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="nothing is protected"):
        optimal_channel(P, d.hamming(3), 300)
    with pytest.raises(InputError, match="drop-zeros"):
        optimal_channel([0.5, 0.5, 0.0], d.hamming(3), 1)
    with pytest.raises(InputError):
        optimal_channel(P, d.hamming(4), 1)
    with pytest.raises(InputError):
        optimal_channel(P, -d.hamming(3), 1)
    with pytest.raises(InputError, match="known prior"):
        optimal_channel(P, d.hamming(3), 1, priors=EveryPrior(3), solver="output-generation")
    with pytest.raises(InputError):
        optimal_channel(P, d.hamming(3), 1, priors=TVBall([0.5, 0.5], 0.1))
    with pytest.raises(InputError, match="Widen the set"):
        optimal_channel(P, d.hamming(3), 1, priors=Known([0.5, 0.5, 0.0]))


def test_a_free_output_is_always_reported() -> None:
    solved = optimal_channel(P, np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), 1)
    assert solved.objective == 0
    assert solved.value.channel.outputs == ("1",)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-7, 1e-9, 1e6])
def test_the_unit_of_the_distortion_changes_nothing_and_the_bound_is_proved(scale: float) -> None:
    p = np.array([0.5, 0.3, 0.2])
    costs = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    for priors, solver in ((TVBall(p, 0.05), "auto"), (None, "lp")):
        one = optimal_channel(p, costs, 1.0, priors=priors, solver=solver)
        solved = optimal_channel(p, scale * costs, 1.0, priors=priors, solver=solver)
        assert solved.objective is not None
        assert solved.lower_bound is not None
        assert solved.objective / scale == pytest.approx(one.objective, rel=1e-6)
        assert solved.status == "converged"
        assert solved.lower_bound <= solved.objective
        assert solved.lower_bound / scale >= 0.999998 * one.objective
    latent = latent_channel([0.7, 0.3], [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], scale * costs, 0.5)
    assert latent.objective / scale == pytest.approx(
        latent_channel([0.7, 0.3], [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], costs, 0.5).objective, rel=1e-5
    )


def test_the_bound_of_a_prior_set_is_valid_for_any_multipliers_the_solver_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scipy import optimize

    p, costs = np.array([0.5, 0.3, 0.2]), np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    sets = (TVBall(p, 0.05), Box(0.8 * p, np.minimum(1.2 * p, 1)), Polytope([p, [0.4, 0.4, 0.2]]))
    optima = [optimal_channel(p, costs, 1.0, priors=priors).objective for priors in sets]
    honest, rng = optimize.linprog, np.random.default_rng(5)

    def disturbed(*arguments: object, **options: object) -> object:
        result = honest(*arguments, **options)
        for part in (result.ineqlin, result.eqlin):
            part.marginals = part.marginals + 0.02 * rng.standard_normal(part.marginals.shape)
        return result

    monkeypatch.setattr(optimize, "linprog", disturbed)
    for priors, optimum in zip(sets, optima, strict=True):
        for _ in range(10):
            solved = optimal_channel(p, costs, 1.0, priors=priors)
            assert solved.lower_bound <= optimum
            assert solved.status == "stopped"
