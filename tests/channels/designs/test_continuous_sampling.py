"""Proposition 2: telling the truth sometimes, for a number with a density."""

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.channels.designs.numbers.gaussian_channel import (
    ContinuousSampling,
    largest_share,
    printed_share,
    smallest_delta,
)
from sfumato.channels.measures.discrete import epsilon_delta


@pytest.mark.says("Jiang2021, Eq. 38", "undecided")
def test_the_share_of_truth_is_delta_and_the_printed_share_breaks_its_promise():
    assert largest_share(1.0, 0.05) == 0.05
    assert smallest_delta(0.05, 1.0) == pytest.approx(0.05)
    printed = printed_share(1.0, 0.05)
    assert printed == pytest.approx(0.1359140914)
    assert smallest_delta(printed, 1.0) > 0.05 * 2.7


@pytest.mark.says("Jiang2021, Prop. 2, monotone", "typo")
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.2, 0.3), (3.0, 0.01)])
def test_the_printed_share_keeps_the_definition_of_equation_38(epsilon, delta):
    share = printed_share(epsilon, delta)
    assert share == pytest.approx(min(delta * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - delta)))
    mass = np.linspace(0, 1, 501)  # Pr(Y in S_y)
    upper = math.exp(epsilon) * (mass + delta) - (share + (1 - share) * mass)
    lower = (1 - share) * mass - math.exp(-epsilon) * (mass - delta)
    assert min(upper.min(), lower.min()) >= -1e-12
    assert np.all(np.diff((math.expm1(epsilon) * mass[:-1] + delta) / (1 - mass[:-1])) > 0)  # increasing (E7)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("share", [0.01, 0.1359, 0.6, 0.95])
def test_the_exact_delta_is_the_limit_of_ever_finer_uniform_symbols(epsilon, share):
    symbols = 3000
    matrix = np.full((symbols, symbols), (1 - share) / symbols)
    np.fill_diagonal(matrix, share + (1 - share) / symbols)
    found = max(epsilon_delta(matrix, np.full(symbols, 1 / symbols), epsilon))
    assert found == pytest.approx(smallest_delta(share, epsilon), abs=3e-3)


@pytest.mark.parametrize("shape", ["gaussian", "uniform"])
def test_reports_follow_the_prior_and_tell_the_truth_as_often_as_said(shape):
    mechanism = ContinuousSampling(20.0, 2.0, 1.0, 0.1, shape)
    values = np.full(20_000, 23.5)
    reports = mechanism.release(values, rng=3)
    told = reports == 23.5
    assert abs(told.mean() - 0.1) < 4 * math.sqrt(0.09 / values.size)
    assert reports[~told].mean() == pytest.approx(20, abs=0.06)
    assert reports[~told].std() == pytest.approx(2, rel=0.03)
    assert any("value itself" in words for words in mechanism.guarantee().not_covered)


def test_delta_lies_between_0_and_1():
    with pytest.raises(InputError, match="delta"):
        ContinuousSampling(0.0, 1.0, 1.0, 0.0)
