"""The Blackwell order in doubles and in fractions, hyper-distributions: every certificate is checked here again."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_channels import channels_with_priors, random_channel

from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel
from sfumato.channels.measures.discrete import ldp, lip, maximal_leakage, mutual_information
from sfumato.channels.measures.exact_fractions import ExactChannel, exact_refined_by, nats
from sfumato.channels.measures.g_leakage import g_leakage
from sfumato.channels.measures.refinement import refined_by


def check(first: np.ndarray, second: np.ndarray) -> bool:
    """The verdict, after checking its proof."""
    found = refined_by(first, second)
    if found.holds:
        assert found.post_processing is not None
        assert np.abs(first @ found.post_processing.matrix - second).max() <= 1e-9
    else:
        assert found.gain is not None
        assert found.gain.min() >= 0
        assert found.gain.max() <= 1
        uniform = np.full(len(first), 1 / len(first))
        ahead = g_leakage(second, uniform, found.gain).average - g_leakage(first, uniform, found.gain).average
        assert ahead == pytest.approx(found.advantage, abs=1e-12)
        assert ahead > 0
    return found.holds


def test_the_verdicts_are_those_of_qif() -> None:
    qif = pytest.importorskip("qif")
    rng = np.random.default_rng(0)
    for trial in range(60):
        n = int(rng.integers(2, 6))
        a = random_channel(rng, n, int(rng.integers(2, 7)))
        b = a @ random_channel(rng, a.shape[1], 3) if trial % 2 else random_channel(rng, n, int(rng.integers(2, 7)))
        assert check(a, b) == bool(qif.refinement.refined_by(a, b))


@given(channels_with_priors(zeros=True), st.integers(0, 10**6))
def test_what_is_refined_leaks_no_more_by_any_measure(both: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    q, p = both
    after = q @ random_channel(np.random.default_rng(seed), q.shape[1], 3, zeros=True)
    assert check(q, after)
    for measure in (
        lambda c: lip(c, p).max,
        lambda c: mutual_information(c, p),
        maximal_leakage,
        ldp,
    ):
        assert measure(after) <= measure(q) + 1e-9


def test_more_outputs_than_inputs_goes_through_the_program() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        a = random_channel(rng, 3, 6)
        assert check(a, a @ random_channel(rng, 6, 4))
        check(a, random_channel(rng, 3, 4))
    assert not check(np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]]), np.eye(2))


def both_ways(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[bool, bool]:
    return refined_by(first, second).holds, refined_by(second, first).holds


def test_four_ways_two_channels_can_compare() -> None:
    a = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert both_ways(a, a[:, ::-1]) == (True, True)
    assert both_ways(np.eye(2), a) == (True, False)
    assert both_ways(a, np.eye(2)) == (False, True)
    assert both_ways([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]) == (False, False)


def test_equal_capacity_does_not_mean_refinement() -> None:
    """Two channels of equal min-entropy capacity that no adversary ranks the same way."""
    a, b = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    assert maximal_leakage(a) == pytest.approx(maximal_leakage(b))
    assert not check(a, b)
    assert not check(b, a)


def test_channels_about_different_symbols_are_refused() -> None:
    with pytest.raises(InputError):
        refined_by(np.eye(2), np.eye(3))
    for tolerance in (0.0, -1.0, math.nan):
        with pytest.raises(InputError):
            refined_by(np.eye(2), np.eye(2), tolerance=tolerance)


def fractions(draw: st.DrawFn, rows: int, columns: int) -> ExactChannel:
    table = [[draw(st.integers(0, 6)) for _ in range(columns)] for _ in range(rows)]
    for row in table:
        row[0] += 1
    return ExactChannel.of([[Fraction(v, sum(row)) for v in row] for row in table])


@st.composite
def exact_pairs(draw: st.DrawFn) -> tuple[ExactChannel, ExactChannel]:
    n = draw(st.integers(2, 3))
    return fractions(draw, n, draw(st.integers(2, 3))), fractions(draw, n, draw(st.integers(2, 3)))


@given(exact_pairs())
def test_fractions_decide_exactly_one_of_the_two(both: tuple[ExactChannel, ExactChannel]) -> None:
    a, b = both
    r, gain = exact_refined_by(a, b)
    assert (r is None) != (gain is None)
    if r is not None:
        assert a.then(r).rows == b.rows
    else:
        assert gain is not None
        uniform = [Fraction(1, a.shape[0])] * a.shape[0]
        assert b.g_vulnerability(uniform, gain)[1] > a.g_vulnerability(uniform, gain)[1]


@given(exact_pairs())
def test_exact_measures_are_those_of_the_doubles(both: tuple[ExactChannel, ExactChannel]) -> None:
    exact, _ = both
    n = exact.shape[0]
    prior = [Fraction(k + 1, n * (n + 1) // 2) for k in range(n)]
    q, p = Channel(np.array(exact.rows, dtype=float)), np.array([float(v) for v in prior])
    high, low = exact.lifts(prior)
    leakage = lip(q, p)
    assert nats(high) == pytest.approx(leakage.up, abs=1e-12)
    assert -nats(low) == pytest.approx(leakage.low, abs=1e-12)
    assert nats(exact.largest_ratio()) == pytest.approx(ldp(q), abs=1e-12)
    assert nats(exact.column_maxima()) == pytest.approx(maximal_leakage(q), abs=1e-12)
    before, after = exact.bayes_vulnerability(prior)
    assert (before, after) == exact.g_vulnerability(prior, np.eye(n, dtype=int).tolist())


def test_a_third_is_a_third() -> None:
    exact = ExactChannel.of([["1/3", "2/3"], ["0.1", "0.9"]])
    assert exact.rows[0][0] == Fraction(1, 3)
    assert exact.rows[1][0] == Fraction(1, 10)
    assert exact.largest_ratio() == Fraction(10, 3)
    assert exact.column_maxima() == Fraction(1, 3) + Fraction(9, 10)


@pytest.mark.parametrize(
    "rows", [[], [[]], [["1/3", "1/3"]], [["-1", "2"]], [["1/0", "1"]], [["x", "1"]], [["1"], ["1/2", "1/2"]]]
)
def test_fractions_that_are_no_channel_are_refused(rows: list[list[str]]) -> None:
    with pytest.raises(InputError):
        ExactChannel.of(rows)
