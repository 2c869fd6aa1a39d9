"""Figure 2 of [Meehan2021], a point of every panel, and the shapes that appendix 7.1.2 describes."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.papers.cip.cip_figure_2 import every_point_widths, misspecified_widths, one_secret_widths
from sfumato.papers.cip.cip_illustration import interval_widths
from sfumato.tracks.designs.published import multiple_secrets, sdp_a_basic, uniform
from sfumato.tracks.priors.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


@pytest.mark.parametrize(("name", "length", "published"), [("rbf", 6.1, 0.4205), ("periodic", 1.1, 0.3350)])
def test_the_published_mechanism_leaves_a_wider_interval_than_the_baselines_at_one_time(name, length, published):
    row = one_secret_widths(name, length, [24])
    assert row["published"] == pytest.approx(published, rel=1e-3)
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
    assert row["trace"] == pytest.approx({"rbf": 17.20, "periodic": 10.40}[name], rel=0.01)
    assert row["published"] == pytest.approx({"rbf": 0.7075, "periodic": 0.5756}[name], rel=0.01)


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


def test_three_sensitive_moments_are_left_less_certain_than_by_independent_noise_of_the_same_error():
    pytest.importorskip("cvxpy")
    prior = RBF(6.0).covariance(np.arange(30.0)) + 1e-6 * np.eye(30)
    moments = (5, 15, 25)
    secrets = [np.array([k]) for k in moments]
    published = multiple_secrets(prior, secrets, budget=0.6).value
    even = uniform(prior, secrets, budget=published.trace)
    widths = {name: interval_widths(prior, design, moments) for name, design in (("ms", published), ("even", even))}
    joint_law = prior - prior @ np.linalg.solve(prior + even.noise_covariance, prior)
    np.testing.assert_allclose(widths["even"], 2 * np.sqrt(np.diag(joint_law)), rtol=1e-3)
    at = list(moments)
    assert widths["ms"][at].min() > 1.2 * widths["even"][at].max()
    assert np.median(np.delete(widths["ms"], at)) < widths["ms"][at].min()
