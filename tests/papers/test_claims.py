"""Claims: a paper's claim prints the word of its row; a surprise is what differs from the record."""

import math

import pytest

from sfumato.base.errors import InputError
from sfumato.papers.claims import as_expected, cannot_check, check, count_verdicts, near, surprises

PAPER = "Biswas2023, Fig. 3"  # a row whose verdict is "experiment differs"
HOLDS = "Biswas2023, Fig. 10"


def test_a_recorded_failure_of_a_paper_is_expected_and_printed_as_its_failure():
    claim = check("BA is better", False, whose=PAPER, recorded="fails", measured=0.3, expected=0.2)
    assert claim.seen == "fails"
    assert claim.verdict == "experiment differs"
    assert as_expected([claim])
    assert claim.line().startswith("experiment differs")
    assert PAPER in claim.line()
    assert claim.to_dict()["whose"] == "paper"


def test_a_verdict_that_differs_from_the_recorded_one_is_a_surprise_in_both_directions():
    worse = check("ours is better", False)
    better = check("BA is better", True, whose=PAPER, recorded="fails")
    assert surprises([worse, better]) == [worse, better]
    assert "recorded as 'fails'" in better.line()


def test_a_number_is_compared_with_its_tolerance_and_both_are_kept():
    claim = near("the first row", 2.0226, 2.02262, tolerance=1e-4)
    assert claim.verdict == "holds"
    assert near("the first row", 2.03, 2.02262, tolerance=1e-4).verdict == "fails"
    assert near("infinite", math.inf, 1.0, tolerance=1e-4).verdict == "fails"
    assert claim.to_dict()["tolerance"] == 1e-4
    assert claim.to_dict()["measured"] == 2.0226


def test_what_cannot_be_checked_says_why_and_counts_apart():
    claim = cannot_check("the curve goes to 0", whose=HOLDS, because="the figure prints no numbers")
    assert claim.as_expected
    assert "prints no numbers" in claim.line()
    assert count_verdicts([claim, check("a", True)]) == "papers: 1 cannot be checked; ours: 1 holds"


def test_a_claim_that_names_no_row_is_refused():
    with pytest.raises(InputError, match="No row"):
        check("somewhere in the paper", True, whose="Biswas2023, Fig. 99").line()
