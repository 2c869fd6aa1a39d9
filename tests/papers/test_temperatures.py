"""Erratum 6, decided by evidence: the published temperature length scales are the weather's."""

import numpy as np
import pytest

from sfumato.papers.temperatures import PUBLISHED, length_scales, pieces, quartiles, temperatures


def test_the_cut_is_twenty_days_of_three_columns():
    assert temperatures().shape == (1921, 3)
    assert all(piece.size == 48 for piece in pieces(0))


@pytest.mark.says("Meehan2021, Sec. 5, temperature", "differs")
def test_the_ten_published_length_scales_are_those_of_field_5():
    assert np.max(np.abs(np.array(length_scales(2)) / np.array(PUBLISHED) - 1)) < 1e-5
    assert quartiles(2) == pytest.approx((1.040, 1.097, 1.145), abs=1e-3)


@pytest.mark.parametrize("field", [0, 1])
def test_they_are_not_those_of_a_room(field):
    assert np.max(np.abs(np.array(length_scales(field)) / np.array(PUBLISHED) - 1)) > 0.4


@pytest.mark.slow
def test_the_length_scale_follows_the_white_variance_that_is_assumed():
    assert quartiles(0)[1] == pytest.approx(1.367, abs=1e-3)
    assert quartiles(0, 0.01)[1] < 0.05
