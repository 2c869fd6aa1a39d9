"""Questions saved by a report, and the entropies they are read as."""

import numpy as np
import pytest

from sfumato.papers.privic.privic_questions import expected_questions, questions


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


def test_information_is_the_questions_saved_only_to_within_one():
    found = questions(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.full(3, 1 / 3))
    assert found.saved == pytest.approx(1.0)
    assert found.information_bits == pytest.approx(0.9182958)
    rng = np.random.default_rng(1)
    for _ in range(20):
        found = questions(rng.dirichlet(np.ones(4), size=6), rng.dirichlet(np.ones(6)))
        assert abs(found.saved - found.information_bits) < 1
