"""Figure 2 of [Meehan2021], a point of every panel, and the shapes that appendix 7.1.2 describes."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.papers.cip.cip_figure_2 import every_point_widths, misspecified_widths, one_secret_widths
from sfumato.tracks.designs.published import sdp_a_basic
from sfumato.tracks.priors.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


@pytest.mark.parametrize(("name", "length", "published"), [("rbf", 6.1, 0.3784), ("periodic", 1.1, 0.4)])
def test_the_published_mechanism_leaves_a_wider_interval_than_the_baselines_at_one_time(name, length, published):
    row = one_secret_widths(name, length, [24])
    assert row["published"] == pytest.approx(published, rel=0.2)
    assert row["ours"] > row["published"] > max(row["uniform"], row["concentrated"]) > 0
    assert row["l"] == length


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length", "pair"), [("rbf", 1.0, [24, 25]), ("periodic", 0.5, [16, 32])])
def test_the_published_mechanism_leaves_a_wider_interval_than_the_baselines_at_two_times_together(name, length, pair):
    pytest.importorskip("cvxpy")
    row = one_secret_widths(name, length, pair)
    assert row["ours"] >= row["published"] * (1 - 1e-6)
    assert 2 > row["published"] > max(row["uniform"], row["concentrated"]) > 0
    assert row["uniform"] == pytest.approx({"rbf": 0.26, "periodic": 0.1565}[name], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length"), [("rbf", 6.1), ("periodic", 1.1)])
def test_multiple_secrets_leaves_a_wider_interval_than_uniform_noise_of_its_trace(name, length):
    pytest.importorskip("cvxpy")
    row = every_point_widths(name, length)
    assert 0 < row["uniform"] < row["published"] <= row["ours"] * (1 + 1e-6)
    assert 0.96 < row["trace"] < 50


@pytest.mark.says("Meehan2021, Sec. 5, colours", "typo")
@pytest.mark.parametrize(("name", "length"), [("rbf", 6.1), ("periodic", 1.1)])
def test_a_truth_less_and_more_correlated_than_assumed_moves_the_interval_little(name, length):
    row = misspecified_widths(name, length)
    base = row["published, truth 1 l"]
    assert base == pytest.approx(one_secret_widths(name, length, [24])["published"])
    assert 0.9 * base < row["published, truth 0.5 l"] < base
    assert 0.9 * base < row["published, truth 1.5 l"] < base
    assert row["ours, worst of the three"] > base


def test_the_covariance_for_one_time_has_the_shape_the_appendix_describes():
    noise = sdp_a_basic(RBF(6.0).covariance(np.arange(50.0)) + 1e-6 * np.eye(50), 24, budget=1.0).noise_covariance
    others = np.delete(np.arange(50), 24)
    assert np.trace(noise) == pytest.approx(1.0)
    assert not noise[24, others].any()
    assert noise[np.ix_(others, others)].min() >= 0
    assert int(others[np.argmax(np.diag(noise)[others])]) in (23, 25)
