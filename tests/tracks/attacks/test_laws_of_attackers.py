"""Four laws of every attacker of the suite: reads no original, beats chance, says the same twice, is luck on noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import made_town as town
import numpy as np
import pytest

from sfumato.base.things.traces import Trace, join_traces
from sfumato.tracks.adversary.attackers import ATTACKERS, MOMENTS, OTHERS, PEOPLE, REGULAR, STAYS, SUITE, Attacker
from sfumato.tracks.adversary.releases.moments.kept_altitude import ELEVATION
from sfumato.tracks.adversary.releases.moments.kept_fields import COURSE, SPEED
from sfumato.tracks.adversary.releases.people.target import KnownPerson
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import HOME, IDENTITY, Attempt
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases, guesses
from sfumato.tracks.attacks.truths import AttackedPerson, person_of

PEOPLE_OF_TOWN, DAYS = 7, 4
EVERY = [row for row in ATTACKERS.values() if row.against in SUITE]
TOLD = {"known place": Knows("work"), "known moments": Knows(days=(town.MONDAY_S,))}


def with_fields(trace: Trace) -> Trace:
    where = town.CENTRE.to_metres(trace.lat_deg, trace.lon_deg)
    step = np.gradient(where, trace.times_s, axis=0)
    fields = {SPEED: np.hypot(*step.T), COURSE: np.degrees(np.arctan2(step[:, 0], step[:, 1])) % 360}
    fields[ELEVATION] = town.height_m(where) + np.random.default_rng(len(trace)).normal(0, 3, len(trace))
    return Trace(trace.lat_deg, trace.lon_deg, trace.times_s, trace.segment, fields)


ORIGINALS = [with_fields(town.person(seed, days=DAYS)) for seed in range(PEOPLE_OF_TOWN)]


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


UNPROTECTED: dict[str, Callable[[Trace], Trace]] = {
    "zone inversion": without_the_middle,  # where no zone is cut, there is no ring of ends to find
    "extrapolation": without_the_middle,
    "repeated releases": lambda one: join_traces([one, one]),  # one release is no second look
}


def pure_noise(trace: Trace, seed: int) -> Trace:
    """Moments at random after the first day (of which true positions may be told), anywhere in town, moving anyhow."""
    rng = np.random.default_rng(seed)
    begin = town.MONDAY_S + 1.5 * town.DAY_S
    times = np.sort(rng.uniform(begin, trace.times_s[-1], 900))
    lat, lon = town.CENTRE.to_degrees(rng.uniform(-4000, 4000, (900, 2)))
    fields = {SPEED: rng.uniform(0, 20, 900), COURSE: rng.uniform(0, 360, 900), ELEVATION: rng.uniform(0, 400, 900)}
    return Trace(lat, lon, times, np.arange(900) // 30, fields)


def people(releases: list[Trace]) -> list[AttackedPerson]:
    return [person_of(str(k), one, other) for k, (one, other) in enumerate(zip(ORIGINALS, releases, strict=True))]


def attacked(attacker: Attacker, releases: list[Trace]) -> tuple[Attempt, ...]:
    pairs = [(str(k), *pair) for k, pair in enumerate(zip(ORIGINALS, releases, strict=True))]
    asked = SuiteAsked([attacker.name], TOLD.get(attacker.name, Knows()), before=False)
    return attack_releases(pairs, asked).outcomes


def reads_no_original(attacker: Attacker) -> None:
    """Of somebody whose original is nonsense, but for what is told of it, the guess is the same to the last bit."""
    there = people([UNPROTECTED.get(attacker.name, lambda one: one)(one) for one in ORIGINALS])
    first = there[0]
    knows = TOLD.get(attacker.name, Knows())
    kept, _ = knows.moments(first, first.before)
    told = np.isin(first.before.slot_s, [] if kept is None else kept)
    rng = np.random.default_rng(0)
    nonsense = replace(
        first.before,
        path_m=rng.uniform(-1e4, 1e4, first.before.path_m.shape),
        mean_m=rng.uniform(-1e4, 1e4, first.before.path_m.shape),
        slots_m=np.where(told[:, None], first.before.slots_m, 1e5),
        globe_m=first.before.globe_m + 1e5,
        ends=first.before.ends + 1e5,
        shapes=first.before.shapes[::-1] + 1e5,
        kept={},
    )
    if attacker.against == PEOPLE:  # handed over are what is known of the person, and releases in any order
        known, turned = KnownPerson.of(first.before, rng), rng.permutation(PEOPLE_OF_TOWN)
        assert known.earlier.slot_s.max() <= np.median(first.before.slot_s)
        releases = [one.after for one in there]
        scores = attacker.attack(known, releases, 10.0)
        assert np.array_equal(attacker.attack(known, [releases[k] for k in turned], 10.0), scores[turned])
        return
    moved = replace(first, before=nonsense, at_after=first.at_after + 1e5, home=None, stays=first.stays + 1e5, ways=())
    asked = SuiteAsked([attacker.name], knows)
    honest = guesses(there, attacker, asked, after=True)[0]
    blind = guesses([moved, *there[1:]], attacker, asked, after=True)[0]
    assert honest is not None
    assert blind is not None
    assert np.array_equal(honest, blind)


def beats_chance(attacker: Attacker) -> None:
    for outcome in attacked(attacker, [UNPROTECTED.get(attacker.name, lambda one: one)(one) for one in ORIGINALS]):
        assert outcome.after is not None, outcome
        assert outcome.by_luck is not None
        if outcome.goal in (HOME, IDENTITY) or attacker.against in (MOMENTS, STAYS):
            assert outcome.after.share > 2 * outcome.by_luck, outcome.sentence()
            assert outcome.finds, outcome.sentence()


def says_the_same_twice(attacker: Attacker) -> None:
    noisy = [town.moved(one, np.random.default_rng(k).normal(0, 200, (len(one), 2))) for k, one in enumerate(ORIGINALS)]
    assert attacked(attacker, noisy) == attacked(attacker, noisy)


def is_luck_on_pure_noise(attacker: Attacker) -> None:
    for outcome in attacked(attacker, [pure_noise(one, k) for k, one in enumerate(ORIGINALS)]):
        if outcome.after is None:
            continue
        assert outcome.by_luck is not None
        assert not outcome.finds, outcome.sentence()
        assert outcome.after.share <= outcome.by_luck + 1.5 / PEOPLE_OF_TOWN, outcome.sentence()


def once_for(row: Attacker) -> object:
    """Its laws in every run, or in `make test-all` alone, where they take as long as those of ten others."""
    return pytest.param(row, id=row.name, marks=pytest.mark.slow if row.name == "kept altitude" else ())


@pytest.mark.parametrize("attacker", [once_for(row) for row in EVERY])
@pytest.mark.parametrize("law", [reads_no_original, beats_chance, says_the_same_twice, is_luck_on_pure_noise])
def test_every_attacker_keeps_the_law(law: Callable[[Attacker], None], attacker: Attacker):
    if attacker.learned_from == OTHERS:
        pytest.importorskip("torch", reason="needs sfumato[learned]")
    law(attacker)


def test_every_goal_has_an_attacker_that_says_what_it_knows_and_what_helps():
    assert {row.against for row in EVERY} == {MOMENTS, REGULAR, STAYS, PEOPLE}
    assert all(row.mitigation and row.knows and row.assumes for row in EVERY)
