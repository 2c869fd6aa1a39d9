"""Every attacker is one row that can be loaded, and says what it assumes and what it knows."""

from __future__ import annotations

import pytest

from sfumato.base.errors import MissingExtra
from sfumato.tracks.adversary.attackers import ATTACKERS, NOISE, SUITE, ZONES, Attacker
from sfumato.tracks.adversary.places import ATTACKERS as OF_PLACES


@pytest.mark.parametrize("attacker", ATTACKERS.values(), ids=ATTACKERS)
def test_every_row_says_what_it_does_assumes_and_knows_and_its_function_is_documented(attacker: Attacker) -> None:
    assert attacker.against in (ZONES, NOISE, *SUITE)
    assert all((attacker.words, attacker.assumes, attacker.knows))
    try:
        assert callable(attacker.attack)
    except MissingExtra as missing:
        pytest.skip(str(missing))
    assert attacker.attack.__doc__


def test_those_of_hidden_places_are_asked_by_the_leak_test_in_the_registry_s_order() -> None:
    assert list(OF_PLACES) == [name for name, row in ATTACKERS.items() if row.against == ZONES]
    assert len(OF_PLACES) == 14
