"""The chain of estimates, exactly: which of the paper's statements about it hold."""

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.papers.privic.privic_appendix_c import limit_of_one_cycle
from sfumato.papers.privic.privic_chain import chain_of_estimates, channels_of, simplex_states, tally_law, updates

TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
THREE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))


def test_the_states_are_the_discretised_simplex_of_figure_5():
    states = simplex_states(3, 6)
    assert len(states) == math.comb(5, 2)
    np.testing.assert_allclose(states.sum(axis=1), 1)
    assert states.min() == pytest.approx(1 / 6)


def test_the_law_of_a_tally_is_the_sum_of_the_peoples_rows():
    rows = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]])
    law = tally_law(rows)
    assert law.sum() == pytest.approx(1)
    # by brute force over all reports
    wanted = np.zeros_like(law)
    for a in range(3):
        for b in range(3):
            for c in range(3):
                counts = np.bincount([a, b, c], minlength=3)
                wanted[counts[0], counts[1]] += rows[0, a] * rows[1, b] * rows[2, c]
    np.testing.assert_allclose(law, wanted, atol=1e-15)


@pytest.mark.parametrize(("people", "parts"), [([5, 5], 20), ([14, 6], 20), ([12, 8], 60)])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_lemma_6_1_some_transition_is_impossible_but_with_finite_steps_one_law_remains(people, parts, beta):
    chain = chain_of_estimates(people, TWO, beta=beta, parts=parts)
    assert not chain.everywhere_positive
    assert len(chain.closed) == 1
    (law,) = chain.stationary_laws()
    np.testing.assert_allclose(law @ chain.transition, law, atol=1e-12)


def test_more_states_than_tallies_already_make_lemma_6_1_impossible():
    chain = chain_of_estimates([2, 1], TWO, beta=1.0, parts=20)
    assert chain.tallies == 4 < len(chain.states)
    assert int((chain.transition > 0).sum(axis=1).max()) <= chain.tallies


@pytest.mark.says("Biswas2023, Lemma 6.1", "false")
@pytest.mark.says("Biswas2023, Thm 6.2", "false")
@pytest.mark.says("Biswas2023, Sec. 6, start", "false")
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_with_the_limit_of_blahut_arimoto_every_state_beyond_the_threshold_is_absorbing(beta):
    chain = chain_of_estimates([14, 6], TWO, beta=beta, parts=20, ba_steps=None)
    edge = math.exp(beta) / (1 + math.exp(beta))
    beyond = chain.states.max(axis=1) >= edge
    np.testing.assert_array_equal(chain.absorbing, beyond)
    assert beyond.any()
    np.testing.assert_allclose(chain.transition.sum(axis=1), 1)
    np.testing.assert_allclose(chain.states.sum(axis=1), 1)
    assert not chain.irreducible
    assert len(chain.closed) > 1  # so the stationary law is not unique: Theorem 6.2 fails
    assert len(chain.stationary_laws()) == len(chain.closed)
    assert chain.mixing_time() is None


def test_theorem_6_2_and_6_3_hold_where_one_class_is_left():
    chain = chain_of_estimates([10, 6, 4], THREE, beta=1.0, parts=12)
    (law,) = chain.stationary_laws()
    for state in np.argsort(-law)[:5]:
        assert law[state] * chain.mean_return_time(int(state)) == pytest.approx(1, rel=1e-9)
    mixing = chain.mixing_time()
    assert mixing is not None
    far = max(0.5 * np.abs(chain.after(mixing, s) - law).sum() for s in range(len(law)))
    farther = max(0.5 * np.abs(chain.after(mixing - 1, s) - law).sum() for s in range(len(law)))
    assert far <= 0.25 < farther
    assert chain.period(chain.closed[0]) == 1


@pytest.mark.says("Biswas2023, Thm C.6", "false")
@pytest.mark.slow
def test_theorem_c_6_the_estimate_jumps_where_the_channel_becomes_constant():
    edge = math.e / (1 + math.e)
    below, above = edge - 0.02, edge + 1e-4
    truth = np.array([0.6, 0.4])
    for theta_0, wanted in ((below, 0.6), (above, above)):
        theta = np.array([theta_0, 1 - theta_0])
        (channel,) = channels_of(theta[None], TWO, beta=1.0, steps=None)
        found = updates(theta, channel, (truth @ channel)[None], steps=200_000)[0, 0]
        assert limit_of_one_cycle(theta_0, truth_0=0.6, beta=1.0) == pytest.approx(wanted)
        if theta_0 == above:
            assert channel[:, 0].min() == 1.0  # constant: every report is cell 0
            assert found == pytest.approx(above)
        else:
            assert found == pytest.approx(0.6, abs=1e-3)


def test_what_cannot_be_enumerated_is_refused_with_advice():
    with pytest.raises(InputError, match="too many tallies"):
        chain_of_estimates([200, 200, 200], THREE, beta=1.0, parts=6)
    with pytest.raises(InputError, match="too many states"):
        simplex_states(3, 500)
    with pytest.raises(InputError, match="do not fit"):
        chain_of_estimates([1, 1], THREE, beta=1.0, parts=6)


@pytest.mark.says("Biswas2023, Thm 5.1", "false")
def test_theorem_5_1_under_a_constant_limit_channel_every_map_is_a_largest_likelihood():
    (constant,) = channels_of(np.array([[0.9, 0.1]]), TWO, beta=1.0, steps=None)
    np.testing.assert_array_equal(constant, [[1.0, 0.0], [1.0, 0.0]])
    for theta in (np.array([0.9, 0.1]), np.array([0.3, 0.7])):
        np.testing.assert_allclose(updates(theta, constant, np.array([[1.0, 0.0]]), steps=50)[0], theta)
    (telling,) = channels_of(np.array([[0.6, 0.4]]), TWO, beta=1.0, steps=None)
    assert np.linalg.matrix_rank(telling) == 2
    (finite,) = channels_of(np.array([[0.9, 0.1]]), TWO, beta=1.0, steps=8)
    assert np.linalg.matrix_rank(finite) == 2
    kernel = np.exp(-TWO)
    weights = np.full(2, 0.5)
    for _ in range(7):
        weights = weights * ((np.array([0.9, 0.1]) / (kernel @ weights)) @ kernel)
    rows = kernel * weights
    np.testing.assert_allclose(finite, rows / rows.sum(axis=1, keepdims=True), rtol=1e-12)
