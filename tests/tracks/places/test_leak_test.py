"""The leak test: attackers on what would be published, with the truth at hand."""

from __future__ import annotations

import numpy as np
import pytest
from rides import PARIS, joined, ride

from sfumato.base.errors import NotCertified
from sfumato.tracks.adversary.places import ATTACKERS
from sfumato.tracks.places.leak_test import LeakTest, leak_test, refuse_if_found
from sfumato.tracks.places.places_file import Places, area_from_rings, place_as_drawn, place_at
from sfumato.tracks.places.withhold import withhold


def archive(seed: int = 0, rides: int = 14):
    """Straight rides out of and back to home, in all directions: the attackers' best case."""
    rng = np.random.default_rng(seed)
    out = []
    for k in range(rides):
        turn = rng.uniform(0, 2 * np.pi)
        far = 5000 * np.array([np.cos(turn), np.sin(turn)])
        ends = ([0, 0], far) if k % 2 else (far, [0, 0])
        out.append(ride(*ends, at_s=1.7e9 + 86400 * k, bend=0.0, rng=rng))
    return out


def attacked(places: Places, originals, **options):
    return leak_test([(trace, withhold(trace, places.zones).trace) for trace in originals], places, **options)


def test_one_record_per_place_says_before_centred_after_and_without_rides():
    places = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=800.0, rng=4))
    (leak,) = attacked(places, archive())
    assert leak.unprotected_m is not None
    assert leak.unprotected_m < 20
    assert leak.centred_m is not None
    assert leak.centred_m < 30  # rides straight home: crossing or circle, both find it
    assert leak.best in ATTACKERS
    assert leak.best_m == min(leak.errors_m.values())
    assert leak.gates == 14
    truth = places.active[0].zone.around.to_metres(*PARIS)[0]
    assert leak.without_rides_m == pytest.approx(float(np.hypot(*truth)))
    assert 0 < leak.by_luck < 1
    assert leak.odds > 0
    assert "48." not in leak.sentence()
    assert "home" in leak.sentence()


def test_straight_rides_home_are_found_whatever_the_zone_and_the_test_says_so():
    """No zone hides where straight lines cross; the test must not be kinder than the truth."""
    places = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=800.0, rng=4))
    leaks = attacked(places, archive())
    assert leaks[0].errors_m["crossing"] < 50
    with pytest.raises(NotCertified, match="nearer than 150 m to home"):
        refuse_if_found(leaks)
    refuse_if_found(leaks, within_m=0.01)
    assert leaks[0].found
    assert leaks[0].sentence().startswith("home: STILL FOUND; found to")
    assert "nearer than luck explains" in leaks[0].sentence()


def test_rides_that_do_not_head_home_leave_nothing_to_refuse():
    places = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=1600.0, rng=8))
    assert attacked(places, [ride([9000, 0], [12000, 500])])[0].best_m is None
    refuse_if_found(attacked(places, [ride([9000, 0], [12000, 500])]))
    words = attacked(places, [ride([9000, 0], [12000, 500])])[0].sentence()
    assert "no published ride comes near" in words


def test_attackers_see_only_what_is_published():
    """Other insides with the same outside: every attacker's guess is the same."""
    places = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=800.0, rng=4))
    originals = archive()
    published = [withhold(trace, places.zones).trace for trace in originals]
    one = leak_test(zip(originals, published, strict=True), places)[0]
    at_home = ride([0, 0], [30, 10], at_s=1.7e9 - 4000)
    other = leak_test([(joined(at_home, o) if k == 1 else o, p) for k, (o, p) in
                       enumerate(zip(originals, published, strict=True))], places)[0]  # fmt: skip
    assert one.errors_m == other.errors_m


def test_an_area_withheld_as_drawn_promises_nothing_about_where():
    ring = np.array([[2.35, 48.85], [2.36, 48.85], [2.36, 48.86], [2.35, 48.86], [2.35, 48.85]])
    places = [place_as_drawn("yard", area_from_rings([ring], rng=1))]
    test = LeakTest(places)
    test.add(ride([0, 0], [100, 0]), None)
    (leak,) = test.results()
    assert leak.best_m is None
    assert "as drawn" in leak.sentence()
