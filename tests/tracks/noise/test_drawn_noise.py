"""Drawn noise is held to its stated law: honest noise passes but for one in a million, and lies do not."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.noise.planar_laplace import LaplaceNoise
from sfumato.tracks.noise.post_processed import RoundedNoise
from sfumato.tracks.noise.registry import DrawnNoise, check_drawn, least_p_value
from sfumato.tracks.people.noise import choose
from sfumato.tracks.plan import Plan

TIMES = 1.7e9 + np.cumsum(np.random.default_rng(0).exponential(20.0, 200)).round(3)
PLANS = {
    "multiscale": Plan(noise_m=100.0),
    "independent": Plan(mechanism="independent", noise_m=100.0),
    "planar-laplace": Plan(mechanism="planar-laplace", noise_m=100.0),
    "prior-shaped": Plan(mechanism="prior-shaped", noise_m=100.0, prior="preset"),
    "mixed": Plan(mechanism="mixed", noise_m=100.0, prior="preset"),
}


def mechanism_of(name: str) -> TraceMechanism:
    trace = Trace(np.full(TIMES.size, 48.0), np.full(TIMES.size, 2.0), TIMES)
    return choose(PLANS[name], [trace]).mechanism


def p_value(mechanism: TraceMechanism, noise_m: np.ndarray) -> float:
    return least_p_value(mechanism, DrawnNoise.of_one(TIMES[: len(noise_m)], noise_m))


@pytest.mark.parametrize("name", PLANS)
def test_honest_noise_has_honest_p_values(name: str) -> None:
    mechanism, rng = mechanism_of(name), np.random.default_rng(1)
    found = np.array([p_value(mechanism, mechanism.draw(TIMES, rng)) for _ in range(150)])  # type: ignore[attr-defined]
    for level in (0.02, 0.1, 0.3):  # the least of several, times their number: at most uniform
        assert np.mean(found < level) < level + 4 * np.sqrt(level / 150)


@pytest.mark.slow
def test_ten_thousand_honest_releases_are_refused_as_often_as_said() -> None:
    """Scores of honest noise are independent normals, so the tests are drawn from them: each p-value is uniform."""

    class Scored(LaplaceNoise):
        def scores(self, times_s: np.ndarray, noise_m: np.ndarray) -> np.ndarray:
            return noise_m

    mechanism, rng = Scored(0.01), np.random.default_rng(2)
    found = np.array([p_value(mechanism, rng.normal(size=(200, 2))) for _ in range(10_000)])
    for level in (1e-3, 1e-2, 0.1):
        assert np.mean(found < level) <= level + 4 * np.sqrt(level / found.size)
    assert np.mean(found < 0.1) > 0.03  # Bonferroni, and not far from it


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 2.0])
def test_noise_of_another_size_is_refused(name: str, share: float) -> None:
    mechanism = mechanism_of(name)
    drawn = share * mechanism.draw(TIMES, 3)  # type: ignore[attr-defined]
    with pytest.raises(NotCertified, match="states 100 m of noise"):
        check_drawn(mechanism, DrawnNoise.of_one(TIMES, drawn))


@pytest.mark.parametrize("name", ["multiscale", "prior-shaped", "mixed"])
def test_white_noise_where_correlated_noise_is_stated_is_refused(name: str) -> None:
    white = np.random.default_rng(4).normal(0, 100.0, (TIMES.size, 2))
    with pytest.raises(NotCertified):
        check_drawn(mechanism_of(name), DrawnNoise.of_one(TIMES, white))


@pytest.mark.parametrize("name", ["independent", "planar-laplace"])
def test_one_offset_for_all_where_white_noise_is_stated_is_refused(name: str) -> None:
    constant = np.tile(mechanism_of(name).draw(TIMES[:1], 5), (TIMES.size, 1))  # type: ignore[attr-defined]
    with pytest.raises(NotCertified):
        check_drawn(mechanism_of(name), DrawnNoise.of_one(TIMES, constant))


def test_somebody_without_noise_among_many_is_noticed_and_parts_share_the_allowance() -> None:
    mechanism, rng = mechanism_of("independent"), np.random.default_rng(6)
    starts = np.arange(0, 2001, 2)
    times_ms = np.tile([0, 60_000], 1000)
    drawn = rng.normal(0, 100.0, (2000, 2))
    check_drawn(mechanism, DrawnNoise(times_ms, drawn, starts), parts=1000)
    drawn[500:502] = 0.0
    with pytest.raises(NotCertified, match="drew none for somebody"):
        check_drawn(mechanism, DrawnNoise(times_ms, drawn, starts), parts=1000)


def test_rounded_noise_is_promised_by_the_noise_and_held_to_it_before_it_is_rounded() -> None:
    ride = Trace(48.4 + 1e-4 * np.arange(150), np.full(150, 2.5), 1.7e9 + 20.0 * np.arange(150))
    done = sf.protect(ride, round_to_m=200.0, rng=1)
    said = done.certificate
    assert said["mechanism"] == "rounded"
    assert said["parameters"]["inner"]["name"] == "multiscale"
    assert said["parameters"]["round_to_m"] == 200.0
    assert said["odds_99"] == said["odds_99_after_coarsening"] <= 5.0
    assert "rounded to a public grid of 200 m" in said["headline"]
    assert said["rms_noise_m"] > sf.protect(ride, rng=1).certificate["rms_noise_m"]
    lat, lon = snap(*snap(done.release.lat_deg, done.release.lon_deg, 200.0), 0.1)
    assert np.allclose(lat, done.release.lat_deg, atol=2e-7)
    assert np.allclose(lon, done.release.lon_deg, atol=2e-7)
    assert sf.verify(said, release=done.release)
    as_asked = sf.protect(ride, round_to_m=500.0, noise_m=50.0).certificate
    assert as_asked["mu"] == pytest.approx(sf.protect(ride, noise_m=50.0).certificate["mu"])


def test_rounding_is_refused_where_it_means_nothing_and_noise_that_lies_below_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ride = Trace(48.4 + 1e-4 * np.arange(150), np.full(150, 2.5), 1.7e9 + 20.0 * np.arange(150))
    with pytest.raises(InputError, match="does not round"):
        sf.protect(ride, mechanism="independent", noise_m=50.0, round_to_m=10.0)
    with pytest.raises(InputError, match="--round-to"):
        sf.protect(ride, mechanism="rounded")
    assert RoundedNoise.summary
    truth = RoundedNoise.release
    monkeypatch.setattr(RoundedNoise, "release", lambda self, trace, rng=None: (trace.lat_deg, trace.lon_deg))
    with pytest.raises(NotCertified, match="drew none"):
        sf.protect(ride, round_to_m=200.0)
    assert truth is not RoundedNoise.release
