"""PRIVIC's algorithms as printed do not work; the text of section 5 does (errata P1 to P3)."""

import numpy as np

from sfumato.collect.cities import city
from sfumato.collect.loop.simulation import Protocol, simulate
from sfumato.papers.privic.privic_small import algorithm_1_distances, algorithm_2_row_sums, equation_8_row_sums

LINE = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))


def test_algorithm_2_as_printed_is_no_channel():
    sums = algorithm_2_row_sums(np.full(5, 0.2), LINE, beta=1.0)
    assert sums.min() < 0.95
    assert sums.max() > 1.02


def test_equation_8_as_printed_is_no_channel():
    assert equation_8_row_sums(np.full(5, 0.2), LINE, beta=1.0).min() > 5


def test_algorithm_1_as_printed_estimates_reports_it_did_not_make():
    place = city("paris")
    printed = algorithm_1_distances(
        place.people, place.plain_grid, beta=1.0, cycles=3, ba_steps=8, ibu_steps=10, seed=0
    )
    (text,) = simulate(place.people, place.plain_grid, Protocol(beta=1.0, cycles=3), rounds=1)
    right = [cycle.emd for cycle in text[1:]]
    assert printed[0] > 1.9  # the first reports go through C^(0), which says nothing
    assert all(a > 2 * b for a, b in zip(printed, right, strict=True))
