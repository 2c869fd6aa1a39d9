"""Prior sets: support functions against brute force, coverage of the sets from counts, and samples needed."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior, positive_prior
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.priors.prior_sets import (
    Box,
    EveryPrior,
    Known,
    Polytope,
    PriorSet,
    TVBall,
    prior_from_counts,
    samples_needed,
    weissman_variation,
)


def members(priors: PriorSet, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random members found by rejection or mixing, independent of the support functions."""
    size = priors.supported.size
    found: list[np.ndarray] = []
    while len(found) < count:
        p = rng.dirichlet(np.ones(size) * rng.uniform(0.2, 5))
        weight = rng.random() ** 2
        p = (1 - weight) * priors.centre + weight * p
        match priors:
            case Box(low=low, high=high) if np.any(p < low) or np.any(p > high):
                continue
            case TVBall(centre=centre, radius=radius) if 0.5 * np.abs(p - centre).sum() > radius:
                continue
            case Polytope(vertices=vertices):
                p = rng.dirichlet(np.ones(len(vertices)) * 0.5) @ vertices
            case Known(prior=prior):
                p = prior
            case _:
                pass
        found.append(p)
    return np.array(found)


SETS = [
    Known(np.array([0.5, 0.3, 0.2])),
    Polytope(np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]])),
    Box(np.array([0.3, 0.2, 0.05]), np.array([0.6, 0.5, 0.4])),
    TVBall(np.array([0.5, 0.3, 0.2]), 0.15),
    EveryPrior(3),
]


@pytest.mark.parametrize("priors", SETS, ids=lambda s: type(s).__name__)
def test_no_member_passes_the_support_functions_and_they_are_attained(priors: PriorSet) -> None:
    rng = np.random.default_rng(0)
    values = rng.random((3, 6))
    inside = members(priors, rng, 400) @ values
    assert (inside <= priors.support_max(values) + 1e-12).all()
    assert (inside >= priors.support_min(values) - 1e-12).all()
    spread = priors.support_max(values) - priors.support_min(values)
    assert (inside.max(axis=0) - inside.min(axis=0) >= 0.5 * spread - 1e-12).all()


@pytest.mark.parametrize("priors", SETS, ids=lambda s: type(s).__name__)
def test_the_largest_smallest_probability_is_a_bound_and_is_reached(priors: PriorSet) -> None:
    rng = np.random.default_rng(1)
    smallest = members(priors, rng, 600).min(axis=1)
    assert smallest.max() <= priors.max_min_prob() + 1e-12
    assert smallest.max() >= priors.max_min_prob() - 0.06


def test_the_largest_smallest_probability_is_over_the_convex_hull() -> None:
    """The vertices alone would say 0."""
    assert Polytope(np.eye(3)).max_min_prob() == pytest.approx(1 / 3)
    assert TVBall([0.5, 0.3, 0.2], 0.05).max_min_prob() == pytest.approx(0.25)  # type: ignore[arg-type]


def test_support_functions_equal_a_linear_program() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(2)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(5)), rng.random(5)
        low, high = np.maximum(p - rng.random(5) * 0.1, 0), np.minimum(p + rng.random(5) * 0.1, 1)
        found = linprog(-q, A_eq=np.ones((1, 5)), b_eq=[1], bounds=list(zip(low, high, strict=True)))
        assert float(Box(low, high).support_max(q)) == pytest.approx(-found.fun, abs=1e-9)
        radius = float(rng.uniform(0, 0.5))
        # P = p + u - v, sum u = sum v <= radius, v <= p
        cost = np.concatenate([-q, q])
        ball = linprog(cost, A_eq=[[1] * 5 + [-1] * 5], b_eq=[0], A_ub=[[1] * 5 + [0] * 5], b_ub=[radius],
                       bounds=[(0, None)] * 5 + [(0, value) for value in p])  # fmt: skip
        assert float(TVBall(p, radius).support_max(q)) == pytest.approx(p @ q - ball.fun, abs=1e-9)


@pytest.mark.parametrize(
    ("low", "high"),
    [([0.5, 0.6], [0.7, 0.7]), ([0.1, 0.1], [0.3, 0.3]), ([0.5, 0.5], [0.4, 0.9]), ([-0.1, 0.5], [0.5, 0.9])],
)
def test_infeasible_boxes_are_refused(low: list[float], high: list[float]) -> None:
    with pytest.raises(InputError):
        Box(np.array(low), np.array(high))


def test_infeasible_sets_and_counts_are_refused() -> None:
    with pytest.raises(InputError):
        TVBall(np.array([0.5, 0.5]), 1.5)
    with pytest.raises(InputError):
        Polytope(np.zeros((0, 3)))
    with pytest.raises(InputError):
        EveryPrior(0)
    for counts in ([1.5, 2], [-1, 2], [0, 0], [3]):
        with pytest.raises(InputError):
            prior_from_counts(counts, beta=0.05)
    with pytest.raises(InputError):
        prior_from_counts([3, 4], beta=0.0)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((3, 0.2, 0.05, 0.1), (6776, 5411, 6609, 7930, 5117)),
        ((4, 0.05, 0.05, 0.1), (126495, 101887, 124445, 33626, 21695)),
        ((8, 0.05, 0.01, 0.25), (31252, 25146, 41458, 9048, 5569)),
        ((36, 0.002, 0.05, 0.1), (440692606, 315853312, 385784107, 1204583, 777159)),
    ],
)
def test_samples_needed(row: tuple[int, float, float, float], expected: tuple[int, ...]) -> None:
    methods = ("source", "weissman", "self-referential", "chernoff", "multiplicative")
    found = tuple(samples_needed(*row, method=method) for method in methods)  # type: ignore[arg-type]
    assert found == expected


def test_the_samples_of_the_tight_bound_are_enough_when_simulated() -> None:
    rng = np.random.default_rng(3)
    p, beta, overhead = np.array([0.5, 0.3, 0.2]), 0.05, 0.1
    n = samples_needed(3, 0.2, beta, overhead)
    observed = rng.multinomial(n, p, size=4000) / n
    assert (np.abs(np.log(observed / p)).max(axis=1) <= overhead).mean() >= 1 - beta


def test_clopper_pearson_covers_jointly_only_with_the_correction() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(20) * 3)
    from scipy.special import betaincinv

    together = alone = 0
    for _ in range(400):
        counts = rng.multinomial(2000, p)
        box = prior_from_counts(counts, beta=0.05)
        assert isinstance(box, Box)
        together += bool(np.all((p >= box.low) & (p <= box.high)))
        low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), 2000 - counts + 1, 0.025), 0)
        high = betaincinv(counts + 1, 2000 - counts, 0.975)
        alone += bool(np.all((p >= low) & (p <= high)))
    assert together / 400 >= 0.95
    assert alone / 400 < 0.75


def test_weissman_covers_and_the_observed_overhead_is_infinite_for_rare_symbols() -> None:
    rng = np.random.default_rng(5)
    p = np.array([0.5, 0.3, 0.2])
    radius = weissman_variation(500, 3, 0.05)
    ball = prior_from_counts(rng.multinomial(500, p), beta=0.05, method="weissman")
    assert isinstance(ball, TVBall)
    assert ball.radius == radius
    variations = 0.5 * np.abs(rng.multinomial(500, p, size=2000) / 500 - p).sum(axis=1)
    assert (variations <= radius).mean() >= 0.95


def test_a_cell_prior_is_checked_floored_and_loses_its_zeros_only_on_request() -> None:
    prior = CellPrior.from_counts([3, 0, 1], labels=("a", "b", "c"))
    assert prior.zeros.tolist() == [1]
    assert prior.smallest == 0.25
    with pytest.raises(InputError, match="floor"):
        positive_prior(prior)
    assert prior.with_floor(0.03).probabilities[1] == pytest.approx(0.01)
    smaller, kept = prior.without_zeros()
    assert smaller.labels == ("a", "c")
    assert kept.tolist() == [0, 2]
    with pytest.raises(InputError):
        CellPrior([0.5, 0.4])  # type: ignore[arg-type]
    with pytest.raises(InputError):
        prior.distances_m()


@pytest.mark.parametrize("priors", SETS[1:], ids=lambda s: type(s).__name__)
def test_no_member_of_a_set_breaks_a_promise_designed_for_it(priors: PriorSet) -> None:
    """Attack: thousands of priors of the set, found without its support functions."""
    rng = np.random.default_rng(6)
    designed = optimal_channel(priors.centre, rng.random((3, 4)), 0.8, priors=priors).value
    q = designed.channel.matrix
    for p in members(priors, rng, 1000):
        ratio = np.log(q / (p @ q))
        assert np.abs(ratio).max() <= 0.8
