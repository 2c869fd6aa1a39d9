"""Attackers against the best that can be done where that is known: Bayes, bounds, and cases solved exactly."""

from __future__ import annotations

import math
from dataclasses import replace

import made_town as town
import numpy as np
import pytest

import sfumato as sf
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.releases.moments.kept_altitude import ELEVATION
from sfumato.tracks.adversary.releases.moments.kept_fields import COURSE, SPEED
from sfumato.tracks.adversary.releases.moments.one_way_round import _mean_and_score
from sfumato.tracks.adversary.releases.moments.roads import PIECE_M, Roads, match_roads
from sfumato.tracks.adversary.releases.seen import Knowledge, Lesson, Lessons, SeenTrack, digest
from sfumato.tracks.adversary.turning import even_and_odd
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.priors.classes import PRIOR_CLASSES
from sfumato.tracks.priors.kernels import RBF, Matern12, Matern32, White, kernel_from_dict

NOISE_M = 709.0


def _variance_left(prior: tuple[np.ndarray, np.ndarray], noise: np.ndarray) -> np.ndarray:
    """Per coordinate, of who turns one way round: half the diagonal of C − C(C + 2Γ)⁻¹C."""
    even, odd = prior
    whole = 2.0 * (even + 0.9999j * odd)
    return 0.5 * np.diag(whole - whole @ np.linalg.solve(whole + 2.0 * noise, whole)).real


def test_a_turning_prior_reaches_nine_tenths_of_the_bound_and_its_error_is_what_it_says():
    noise = MultiscaleNoise(shipped_ladder("day"), NOISE_M, PRIOR_CLASSES["day"])
    law, bound = kernel_from_dict(noise.law()), 2.0 * noise.bound().worst_loss
    times = np.arange(0.0, 1500.0, 5.0)
    prior = RBF(46.8, 0.1 * NOISE_M)
    left = _variance_left(even_and_odd(prior, times), law.covariance(times))
    own = float(even_and_odd(prior, times)[0][0, 0])
    reached = float((1.0 / left - 1.0 / own).max()) * NOISE_M**2
    assert 0.9 * bound <= reached <= 1.001 * bound, (reached, bound)
    wide, rng = RBF(20.0, 0.3 * NOISE_M), np.random.default_rng(0)
    even, odd = even_and_odd(wide, times)
    roots = [np.linalg.cholesky(matrix + 1e-8 * wide.variance_m2 * np.eye(times.size))
             for matrix in (2.0 * (even + 0.9999j * odd), law.covariance(times))]  # fmt: skip
    left, errors = _variance_left((even, odd), law.covariance(times)), []
    for _ in range(25):
        z = roots[0] @ (rng.normal(size=times.size) + 1j * rng.normal(size=times.size)) / math.sqrt(2.0)
        g = roots[1] @ rng.normal(size=times.size) + 1j * (roots[1] @ rng.normal(size=times.size))
        seen = np.column_stack([(z + g).real, (z + g).imag])
        guess, _ = _mean_and_score((even, odd), times, seen, law, 0.9999)
        errors.append(np.mean((guess - np.column_stack([z.real, z.imag])) ** 2))
    assert abs(math.sqrt(np.mean(errors)) / math.sqrt(left.mean()) - 1.0) < 0.06


def _walk(roads: Roads, rng: np.random.Generator, looks: int, hops: int) -> np.ndarray:
    """Positions of a walker who follows the law of the roads."""
    at, out = int(rng.integers(len(roads.middles_m))), []
    for _ in range(looks):
        out.append(roads.middles_m[at])
        for _ in range(hops):
            if rng.random() < 0.5:
                row = slice(roads.onward.indptr[at], roads.onward.indptr[at + 1])
                at = int(rng.choice(roads.onward.indices[row], p=roads.onward.data[row]))
    return np.array(out)


def test_a_matcher_on_roads_learnt_from_others_is_within_a_tenth_of_exact_bayes():
    rng, reach = np.random.default_rng(3), 1200.0
    lines = [np.array([[-reach, y], [reach, y]]) for y in np.arange(-reach, reach + 1, 240.0)]
    streets = Roads.along([*lines, *(line[:, ::-1] for line in lines)], np.full(2, -2e3), np.full(2, 2e3))
    assert streets is not None
    speed, every = 5.0, 8.0
    hops = round(speed * every / (PIECE_M * 0.5))
    others = [_walk(streets, rng, 150, 1) for _ in range(180)]
    learnt = Roads.along(others, np.full(2, -2e3), np.full(2, 2e3))
    assert learnt is not None
    times, noise = every * np.arange(60), White(100.0)
    errors = {"bayes": [], "learnt": [], "raw": []}
    for _ in range(10):
        truth = _walk(streets, rng, times.size, hops)
        looks = truth + rng.normal(0, 100.0, truth.shape)
        guesses = {
            "bayes": match_roads(streets, times, looks, noise, (speed,)),
            "learnt": match_roads(learnt, times, looks, noise),
            "raw": looks,
        }
        for name, guess in guesses.items():
            errors[name].append(np.mean((guess - truth) ** 2))
    rms = {name: math.sqrt(np.mean(values)) for name, values in errors.items()}
    assert rms["bayes"] < 0.6 * rms["raw"], rms
    assert rms["learnt"] < 1.1 * rms["bayes"], rms


def test_speed_and_course_that_were_kept_give_the_way_back():
    one = town.person(4, days=1)
    where = town.CENTRE.to_metres(one.lat_deg, one.lon_deg)
    release = town.moved(one, np.random.default_rng(0).normal(0, 400, where.shape))
    step = np.gradient(where, one.times_s, axis=0)
    fields = {SPEED: np.hypot(*step.T), COURSE: np.degrees(np.arctan2(step[:, 0], step[:, 1])) % 360}
    kept = Trace(release.lat_deg, release.lon_deg, one.times_s, one.segment, fields)
    raw, ours = attack_releases([(None, one, kept)], SuiteAsked(["as released", "kept fields"])).outcomes
    assert raw.after is not None
    assert ours.after is not None
    assert ours.after.median_error_m < 0.25 * raw.after.median_error_m


@pytest.mark.slow
def test_an_altitude_that_was_kept_tells_where_on_the_roads_somebody_is():
    rng, pairs = np.random.default_rng(6), []
    for seed in range(24):
        one = town.person(seed, days=1)
        way = np.isin(one.segment, np.unique(one.segment)[1::2])  # the commutes
        one = Trace(one.lat_deg[way], one.lon_deg[way], one.times_s[way], one.segment[way])
        where = town.CENTRE.to_metres(one.lat_deg, one.lon_deg)
        height = {ELEVATION: town.height_m(where) + rng.normal(0, 3, len(one))}
        original = Trace(one.lat_deg, one.lon_deg, one.times_s, one.segment, height)
        done = sf.protect(one, noise_m=300, rng=seed)
        kept = Trace(done.release.lat_deg, done.release.lon_deg, one.times_s, one.segment, height)
        pairs.append((str(seed), original, kept))
    asked = SuiteAsked(["as released", "roads", "kept altitude"], certificate=done.certificate, before=False)
    raw, roads, ours = (one.after for one in attack_releases(pairs, asked).outcomes)
    assert ours.median_error_m < 0.75 * min(raw.median_error_m, roads.median_error_m)
    assert ours.share > 1.5 * max(raw.share, roads.share)


def test_a_centred_zone_is_inverted_from_twenty_rides():
    rng, found = np.random.default_rng(5), []
    for seed in range(12):
        home = town.person(seed, days=1)
        rides, times, segment = [], [], []
        for k in range(20):
            turn = rng.uniform(0, 2 * math.pi)
            out = np.arange(rng.uniform(400.0, 412.0), 3000.0, 12.0)[:, None] * [math.cos(turn), math.sin(turn)]
            bend = np.cumsum(rng.normal(0, 1.5, out.shape), axis=0)
            rides.append(out + bend - bend[0])
            times.append(home.times_s[0] + 7200.0 * k + 3.0 * np.arange(len(out)))
            segment.append(np.full(len(out), k))
        middle = town.CENTRE.to_metres(home.lat_deg, home.lon_deg)[0]
        lat, lon = town.CENTRE.to_degrees(np.concatenate(rides) + middle)
        release = Trace(lat, lon, np.concatenate(times), np.concatenate(segment))
        got = attack_releases([(None, home, release)], SuiteAsked(["zone inversion"], Knows(), 100.0)).outcomes[0]
        found.append(0.0 if got.after is None else got.after.share)
    assert np.mean(found) >= 0.8


def test_noise_of_a_tool_that_states_no_law_but_continues_is_smoothed_nearly_as_by_exact_bayes():
    """Noise of 300 m that continues for 30 s: taken for independent it left 204 m, where exact Bayes leaves 164 m."""
    rng, times = np.random.default_rng(7), np.arange(300) * 20.0
    noise, prior, exact, pairs = Matern12(30.0, 300.0), Matern32(600.0, 1500.0), [], []

    def draw(law):
        root = np.linalg.cholesky(law.covariance(times) + 1e-6 * law.variance_m2 * np.eye(times.size))
        return root @ rng.normal(size=(times.size, 2))

    for k in range(8):
        truth = draw(prior)
        seen, known = truth + draw(noise), prior.covariance(times) + 1e10
        exact.append(np.sqrt(np.mean((np.linalg.solve(known + noise.covariance(times), known).T @ seen - truth) ** 2)))
        tracks = [Trace(*town.CENTRE.to_degrees(where), town.MONDAY_S + times) for where in (truth, seen)]
        pairs.append((str(k), *tracks))
    names = ["fitted smoothing", "correlated smoothing"]
    plain, better = attack_releases(pairs, SuiteAsked(names, before=False)).outcomes
    assert better.after.median_error_m < 0.92 * plain.after.median_error_m
    assert better.after.median_error_m < 1.15 * float(np.median(exact))


@pytest.mark.slow
def test_a_learned_path_is_within_a_tenth_of_exact_bayes_on_people_it_never_saw():
    pytest.importorskip("torch", reason="needs sfumato[learned]")
    from sfumato.tracks.adversary.releases.moments import learned_path

    rng, reach, sd, speed, every = np.random.default_rng(3), 1200.0, 100.0, 5.0, 8.0
    lines = [np.array([[-reach, y], [reach, y]]) for y in np.arange(-reach, reach + 1, 240.0)]
    lines += [line[:, ::-1] for line in lines]
    streets = Roads.along(lines, np.full(2, -2e3), np.full(2, 2e3))
    times, hops = every * np.arange(60), round(speed * every / (PIECE_M * 0.5))

    def walker() -> tuple[SeenTrack, np.ndarray]:
        truth = _walk(streets, rng, times.size, hops)
        looks = truth + rng.normal(0, sd, truth.shape)
        globe = np.column_stack([looks, np.zeros(len(looks))])
        return digest(times, looks, globe, np.zeros(len(looks), dtype=int), lon_deg=0.0, kept={}), truth

    told = Knowledge(law=White(sd), ways_m=lines)
    lessons = Lessons(tuple(Lesson(seen, told, truth) for seen, truth in (walker() for _ in range(80))))
    errors = {"learned": [], "bayes": [], "raw": []}
    for _ in range(10):
        seen, truth = walker()
        guesses = {
            "learned": learned_path.guess(seen, replace(told, lessons=lessons)),
            "bayes": match_roads(streets, times, seen.path_m, White(sd), (speed,)),
            "raw": seen.path_m,
        }
        for name, guess in guesses.items():
            errors[name].append(np.mean((guess - truth) ** 2))
    rms = {name: math.sqrt(np.mean(values)) for name, values in errors.items()}
    assert rms["bayes"] < 0.6 * rms["raw"], rms
    assert rms["learned"] < 1.1 * rms["bayes"], rms
