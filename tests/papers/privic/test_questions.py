"""Questions saved by a report, and the entropies they are read as."""

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.papers.privic.privic_questions import expected_questions, questions, questions_by_halves


def test_powers_of_a_half_need_exactly_the_entropy():
    assert expected_questions([0.5, 0.25, 0.125, 0.125]) == pytest.approx(1.75)
    assert expected_questions([1.0]) == 0


@pytest.mark.says("Biswas2023, Sec. 3.2, posterior", "typo")
def test_the_best_tree_needs_between_the_entropy_and_one_question_more():
    rng = np.random.default_rng(0)
    for size in (2, 5, 40):
        prior = rng.dirichlet(np.ones(size))
        found = questions(np.eye(size), prior)
        assert found.entropy_bits <= found.before < found.entropy_bits + 1
        assert found.after == found.residual_bits == 0


@pytest.mark.says("Biswas2023, Sec. 3.2, best strategy", "false")
def test_questions_that_halve_the_mass_are_not_always_the_best_but_within_one_of_the_entropy():
    five = [0.35, 0.17, 0.17, 0.16, 0.15]  # .35 + .15 against the rest is an exact half
    assert questions_by_halves(five) == pytest.approx(2 * (0.35 + 0.15 + 0.17) + 3 * (0.17 + 0.16))
    assert expected_questions(five) == pytest.approx(0.35 + 3 * 0.65)
    assert questions_by_halves([0.5, 0.25, 0.125, 0.125]) == pytest.approx(1.75)
    rng = np.random.default_rng(2)
    for size in (2, 5, 9):
        prior = rng.dirichlet(np.ones(size))
        halves, entropy = questions_by_halves(prior), questions(np.eye(size), prior).entropy_bits
        assert expected_questions(prior) - 1e-12 <= halves < entropy + 1
    with pytest.raises(InputError, match="too many sets"):
        questions_by_halves(np.full(20, 0.05))


def test_information_is_the_questions_saved_only_to_within_one():
    found = questions(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.full(3, 1 / 3))
    assert found.saved == pytest.approx(1.0)
    assert found.information_bits == pytest.approx(0.9182958)
    rng = np.random.default_rng(1)
    for _ in range(20):
        found = questions(rng.dirichlet(np.ones(4), size=6), rng.dirichlet(np.ones(6)))
        assert abs(found.saved - found.information_bits) < 1
