"""Laws of every attacker of the suite: sees no original, beats chance on what is unprotected, is luck on pure noise."""

from __future__ import annotations

import inspect
from dataclasses import replace

import made_town as town
import numpy as np
import pytest

from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.attackers import ATTACKERS, MOMENTS, PEOPLE, REGULAR, STAYS, SUITE, Attacker
from sfumato.tracks.adversary.releases.moments.kept_fields import COURSE, SPEED
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import HOME, IDENTITY, Attempt
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases

PEOPLE_OF_TOWN = 7
EVERY = [row for row in ATTACKERS.values() if row.against in SUITE]
NO_PLACE_AT_ALL = "hours and shape"  # goes by times alone, which pure noise on places leaves
TAKES_NOISE_OFF = "known place"  # what is not protected has none; test_suite has its own case
NO_RING = ("zone inversion", "extrapolation")  # where no zone is cut, there is no ring of ends to find


@pytest.fixture(scope="module")
def originals() -> list[Trace]:
    return [with_speed(town.person(seed, days=3)) for seed in range(PEOPLE_OF_TOWN)]


def with_speed(trace: Trace) -> Trace:
    where = town.CENTRE.to_metres(trace.lat_deg, trace.lon_deg)
    step = np.gradient(where, trace.times_s, axis=0)
    fields = {SPEED: np.hypot(*step.T), COURSE: np.degrees(np.arctan2(step[:, 0], step[:, 1])) % 360}
    return Trace(trace.lat_deg, trace.lon_deg, trace.times_s, trace.segment, fields)


def attacked(attacker: Attacker, originals, releases, **more) -> list[Attempt]:
    knows = {"known place": Knows("work"), "known moments": Knows("work")}.get(attacker.name, Knows())
    pairs = [(str(k), *pair) for k, pair in enumerate(zip(originals, releases, strict=True))]
    return list(attack_releases(pairs, replace(SuiteAsked([attacker.name], knows), **more)).outcomes)


@pytest.mark.parametrize("attacker", [row for row in EVERY if row.name != TAKES_NOISE_OFF], ids=lambda row: row.name)
def test_it_beats_chance_widely_on_what_is_not_protected_and_says_the_same_twice(attacker, originals):
    releases = originals
    if attacker.name in NO_RING:
        releases = [without_the_middle(trace) for trace in originals]
    first, again = (attacked(attacker, originals, releases) for _ in range(2))
    assert first == again
    for outcome in first:
        assert outcome.after is not None, outcome
        assert outcome.by_luck is not None
        if outcome.goal in (HOME, IDENTITY) or attacker.against in (MOMENTS, STAYS):
            assert outcome.after.share > 2 * outcome.by_luck, outcome.sentence()
            assert outcome.finds, outcome.sentence()


def without_the_middle(trace: Trace) -> Trace:
    """Rides from home in all directions, with a centred zone of 400 m cut out of them: what trimming services do."""
    where = town.CENTRE.to_metres(trace.lat_deg, trace.lon_deg)
    night = np.median(where[trace.segment == trace.segment[0]], axis=0)
    rng = np.random.default_rng(int(abs(night[0])) + 1)
    pieces, times, segment = [], [], []
    for k, turn in enumerate(rng.uniform(0, 2 * np.pi, 20)):
        out = night + np.arange(400.0, 3000.0, 15.0)[:, None] * [np.cos(turn), np.sin(turn)]
        pieces.append(out)
        times.append(trace.times_s[0] + 7200 * k + 3.0 * np.arange(len(out)))
        segment.append(np.full(len(out), k))
    lat, lon = town.CENTRE.to_degrees(np.concatenate(pieces))
    return Trace(lat, lon, np.concatenate(times), np.concatenate(segment))


@pytest.mark.parametrize("attacker", EVERY, ids=lambda row: row.name)
def test_on_pure_noise_it_is_as_good_as_luck(attacker, originals):
    releases = [town.somewhere_else(trace, seed) for seed, trace in enumerate(originals)]
    for outcome in attacked(attacker, originals, releases, before=False):
        if outcome.after is None:
            continue
        if attacker.name in (NO_PLACE_AT_ALL, "known moments"):
            continue  # times, and true places that are told, are not noise
        assert outcome.by_luck is not None
        assert not outcome.finds, outcome.sentence()
        assert outcome.after.share <= outcome.by_luck + 1.5 / PEOPLE_OF_TOWN, outcome.sentence()


@pytest.mark.parametrize("attacker", EVERY, ids=lambda row: row.name)
def test_it_is_given_no_original(attacker):
    names = list(inspect.signature(attacker.attack).parameters)
    expected = ["known", "releases", "noise_m"] if attacker.against == PEOPLE else ["seen", "told"]
    assert names[: len(expected)] == expected
    source = inspect.getsource(inspect.getmodule(attacker.attack))
    assert "attacks.truths" not in source
    assert "tracks.places.find" not in source


def test_every_goal_has_an_attacker_that_says_what_it_knows_and_what_helps():
    assert {row.against for row in EVERY} == {MOMENTS, REGULAR, STAYS, PEOPLE}
    assert all(row.mitigation and row.knows and row.assumes for row in EVERY)
