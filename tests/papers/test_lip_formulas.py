"""Local information privacy, written out by hand: the measures and bounds of [Jiang2021] on small channels."""

import math

import numpy as np
import pytest

from sfumato.channels.conversions import composition, lip_constants
from sfumato.channels.measures import discrete
from sfumato.channels.priors.prior_sets import Polytope

CHANNEL = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
PRIOR = np.array([0.5, 0.3, 0.2])


def by_hand(channel, prior):
    lifts = np.log(channel / (prior @ channel))
    return lifts.max(), -lifts.min()


def test_the_leakage_is_the_largest_log_lift_and_post_processing_never_raises_it():
    found = discrete.lip(CHANNEL, PRIOR)
    assert (found.up, found.low) == pytest.approx(by_hand(CHANNEL, PRIOR))
    assert found.max == pytest.approx(max(by_hand(CHANNEL, PRIOR)))
    merged = CHANNEL @ np.array([[0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 0.8]])
    assert discrete.lip(merged, PRIOR).max < found.max
    joint = PRIOR[:, None] * CHANNEL
    backwards = (joint / joint.sum(axis=0)).T  # linkage: the same leakage with the roles exchanged
    assert discrete.lip(backwards, joint.sum(axis=0)).max == pytest.approx(found.max)


@pytest.mark.says("Jiang2021, Lemma 2", "gap")
def test_the_leakage_over_a_set_is_the_largest_over_its_mixtures():
    other = np.array([0.2, 0.3, 0.5])
    found = discrete.lip_over_set(CHANNEL, Polytope(np.array([PRIOR, other])))
    mixtures = [t * PRIOR + (1 - t) * other for t in np.linspace(0, 1, 501)]
    assert found.max == pytest.approx(max(max(by_hand(CHANNEL, p)) for p in mixtures), rel=1e-6)
    ends = max(max(by_hand(CHANNEL, p)) for p in (PRIOR, other))
    assert found.max == pytest.approx(ends)  # what holds at the two priors holds for their mixtures


@pytest.mark.says("Jiang2021, Thm 4", "typo")
def test_two_reports_leak_at_most_what_theorem_4_says_with_the_prior_beside_the_product():
    epsilon = discrete.lip(CHANNEL, PRIOR).max
    each = min(2 * epsilon, math.log((math.exp(epsilon) - 1 + 0.2) / 0.2))
    bound = composition.source_theorem_4([epsilon, epsilon], 0.2)
    assert bound == pytest.approx(math.log(0.2 + 0.8 * math.exp(2 * each)))
    both = np.einsum("xa,xb->xab", CHANNEL, CHANNEL).reshape(3, 9)
    exact = max(by_hand(both, PRIOR))
    assert exact <= bound
    printed = np.einsum("x,xa,xb->ab", PRIOR**2, CHANNEL, CHANNEL).reshape(9)  # P(x') inside each factor
    assert not np.allclose(printed, PRIOR @ both)


def test_another_prior_costs_at_most_the_variation_over_the_least_probability():
    other = np.array([0.4, 0.35, 0.25])
    bound = lip_constants.mismatch_overhead(PRIOR, other)
    assert bound[0] == pytest.approx(math.log1p(0.1 / 0.2))
    change = abs(discrete.lip(CHANNEL, PRIOR).max - discrete.lip(CHANNEL, other).max)
    assert change <= bound[0]


def test_identifiability_follows_from_the_leakage_and_the_spread_of_the_prior():
    epsilon = discrete.lip(CHANNEL, PRIOR).max
    bound = lip_constants.lip_to_identifiability(epsilon, PRIOR).nats
    assert discrete.differential_identifiability(CHANNEL, PRIOR) <= bound <= 2 * epsilon + math.log(2.5) + 1e-9
    assert bound == pytest.approx(lip_constants.largest_likelihood_ratio(epsilon, PRIOR).nats + math.log(2.5))
