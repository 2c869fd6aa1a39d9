"""The first-order method for geo-indistinguishable channels: its bound, promise and time, checked from outside."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from sfumato.channels.designs.exponential import exponential_for_epsilon
from sfumato.channels.designs.geo.geo_first_order import (
    best_weights,
    distant_bound,
    first_order,
    kept_columns,
    near_pairs,
    simple_columns,
)
from sfumato.channels.designs.geo.geo_optimal import optimal_geo_channel
from sfumato.channels.designs.geo.geo_splitting import Splitting
from sfumato.channels.designs.limits import NEVER, Deadline
from sfumato.channels.designs.lip.candidates import best_reported, constant_report
from sfumato.channels.measures.discrete import average_distortion


def cells(rows: int, columns: int) -> np.ndarray:
    place = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(float)
    return np.linalg.norm(place[:, None] - place[None], axis=2)


def full_program(p: np.ndarray, d: np.ndarray, far: np.ndarray, g: float) -> float:
    """Every pair and output as it is published, by HiGHS."""
    n, k = d.shape
    x, other, y = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(n), np.arange(k), indexing="ij"))
    keep = x != other
    x, other, y = x[keep], other[keep], y[keep]
    row = np.arange(x.size)
    a = coo_array(
        (
            np.concatenate([np.exp(-g * far[x, other]), -np.ones(x.size)]),
            (np.concatenate([row, row]), np.concatenate([x * k + y, other * k + y])),
        ),
        shape=(x.size, n * k),
    ).tocsr()
    sums = coo_array((np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k))), shape=(n, n * k)).tocsr()
    scale = float((p @ d).min())
    found = linprog((p[:, None] * d / scale).ravel(), A_ub=a, b_ub=np.zeros(x.size), A_eq=sums, b_eq=np.ones(n))
    assert found.status == 0
    return float(found.fun) * scale


def steepest(q: np.ndarray, far: np.ndarray) -> float:
    """The epsilon of every pair and output, one by one."""
    logs = np.log(q)
    return max(
        float((np.abs(logs[x] - logs[x + 1 :]).max(axis=1) / far[x, x + 1 :]).max()) for x in range(q.shape[0] - 1)
    )


def priors(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    skewed = 0.2 ** np.arange(n)
    return [np.full(n, 1 / n), rng.dirichlet(np.full(n, 0.5)) * 0.99 + 0.01 / n, skewed / skewed.sum()]


@pytest.mark.slow
@pytest.mark.parametrize("g", [0.1, 0.6, 2.0])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_bound_optimum_and_cost_come_in_this_order_and_close(g: float, which: int) -> None:
    far = cells(4, 4)
    p = priors(16)[which]
    optimum = full_program(p, far, far, g)
    found, bound, steps = first_order(p, far, far, g, gap=1e-3, deadline=NEVER)
    assert bound <= optimum * (1 + 1e-9) <= found[-1].cost * (1 + 1e-6)
    assert steps > 0
    # A skewed prior asks for more digits than single precision has: there only the order is certain.
    if which < 2:
        assert found[-1].cost <= 1.01 * optimum
        assert bound >= 0.97 * optimum


def test_it_holds_for_scattered_places_and_a_rectangular_distortion() -> None:
    rng = np.random.default_rng(5)
    place = rng.random((14, 2)) * 4
    far = np.linalg.norm(place[:, None] - place[None], axis=2)
    d = rng.random((14, 9)) * 3
    p = rng.dirichlet(np.ones(14))
    optimum = full_program(p, d, far, 0.7)
    found, bound, _ = first_order(p, d, far, 0.7, gap=1e-3, deadline=NEVER)
    matrix, used = found[-1].matrix, found[-1].outputs
    assert bound <= optimum * (1 + 1e-9)
    assert found[-1].cost <= 1.02 * optimum
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-6
    assert steepest(matrix, far) <= 0.7 * (1 + 1e-9)
    assert found[-1].cost == pytest.approx(float((p[:, None] * matrix * d[:, used]).sum()), rel=1e-9)


def test_distances_without_a_triangle_inequality_state_the_program_of_their_shortest_paths() -> None:
    """Peaks broke the promise there, so that what was put together cost less than any channel that keeps it."""
    rng = np.random.default_rng(11)
    far = rng.random((12, 12)) * 3 + 0.2
    far = np.minimum(far, far.T)
    np.fill_diagonal(far, 0)
    p, d = rng.dirichlet(np.ones(12)), rng.random((12, 12))
    for cost in (far, d):
        optimum = full_program(p, cost, far, 0.7)
        found, bound, _ = first_order(p, cost, far, 0.7, gap=1e-2, deadline=NEVER)
        assert bound <= optimum * (1 + 1e-9) <= found[-1].cost * (1 + 1e-6)
        assert found[-1].cost <= 1.02 * optimum
        assert steepest(found[-1].matrix, far) <= 0.7 * (1 + 1e-9)


def test_whatever_the_multipliers_are_the_bound_is_one() -> None:
    far = cells(4, 4)
    p = priors(16)[1]
    optimum = full_program(p, far, far, 0.5)
    scale = float((p @ far).min())
    pairs = near_pairs(far, 16)
    state = Splitting(p[:, None] * far / scale, pairs, np.exp(-0.5 * far[pairs[:, 0], pairs[:, 1]]))
    rng = np.random.default_rng(0)
    bounds = []
    for step in range(60):
        state.weigh(float(rng.choice([1e-3, 0.1, 3.0])))
        state.step()
        bounds.append(scale * state.bound())
        if step == 30:  # nonsense must give a weak bound, not a false one
            state.v[:] = rng.normal(size=state.v.shape)
            state.rows = rng.normal(size=16)
            bounds.append(scale * state.bound())
    assert max(bounds) <= optimum
    assert min(bounds) < 0.5 * optimum < max(bounds)


@pytest.mark.parametrize("g", [1e-9, 1e-4, 0.3, 3.0])
def test_the_bound_from_afar_is_one_and_exact_as_epsilon_vanishes(g: float) -> None:
    far = cells(3, 4)
    p = priors(12)[1]
    bound = distant_bound(p, far, np.exp(-g * far))
    trivial = constant_report(p, far).cost
    optimum = trivial if g < 1e-3 else full_program(p, far, far, g)
    assert bound <= optimum * (1 + 1e-12)
    if g == 1e-9:
        assert bound == pytest.approx(trivial, rel=1e-7)


def test_columns_keep_the_promise_by_themselves() -> None:
    far, g = cells(5, 6), 0.4
    decay = np.exp(-g * far)
    noise = np.random.default_rng(1).random((30, 30))
    for columns in (simple_columns(decay), kept_columns(noise, decay)):
        assert steepest(columns.T, far) <= g * (1 + 1e-12)
        assert columns.max() == pytest.approx(1.0)


def test_sixteen_neighbours_remain_where_little_may_be_held_and_more_otherwise() -> None:
    far = cells(9, 9)
    centre = 40
    few, many = near_pairs(far, 10**7), near_pairs(far, 10)
    around = [int((pairs == centre).any(axis=1).sum()) for pairs in (few, many)]
    assert around[1] == 32
    assert around[0] in (8, 16)
    assert {tuple(pair) for pair in few} <= {tuple(pair) for pair in many}


def test_no_weights_are_better_than_too_late_ones() -> None:
    far = cells(4, 4)
    columns = simple_columns(np.exp(-far))
    assert best_weights(columns, np.ones(columns.shape[0]), deadline=Deadline(0.0)) is None


def test_where_the_time_is_over_the_trivial_channels_remain_with_an_honest_gap() -> None:
    far = cells(16, 16)
    p = priors(256)[1]
    began = time.process_time()
    made = optimal_geo_channel(p, far, 0.8, most_seconds=1e-3, unit="cell")
    assert time.process_time() - began < 20
    assert made.status == "stopped"
    assert made.gap is not None
    assert made.gap > 0.03
    rival = best_reported(exponential_for_epsilon(far, 0.8, metric=True).channel.matrix, p, far)
    assert made.objective is not None
    assert made.objective <= min(rival.cost, constant_report(p, far).cost) * (1 + 1e-9)


@pytest.mark.slow
def test_four_hundred_cells_are_certified_and_beat_what_is_in_closed_form() -> None:
    far = cells(20, 20)
    p = priors(400)[1]
    told: list[str] = []
    made = optimal_geo_channel(p, far, 0.5, gap=0.05, unit="cell", progress=told.append)
    assert made.status == "converged"
    assert made.gap is not None
    assert made.gap <= 0.05
    channel = made.value.channel
    assert steepest(channel.matrix, far) <= 0.5
    where = [int(name) for name in channel.outputs]
    assert average_distortion(channel, p, far[:, where]) == pytest.approx(made.objective, rel=1e-12)
    rival = best_reported(exponential_for_epsilon(far, 0.5, metric=True).channel.matrix, p, far)
    assert made.objective is not None
    assert made.objective < 0.95 * rival.cost
    assert any("gap" in words for words in told)
