"""Protecting a trace from Python: what is released, what is promised, and what is never said."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.things.frames import differences_m, snap
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body, milliseconds_as_s, released_of
from sfumato.tracks.certificates.state import load_state
from sfumato.tracks.people.door import protect, protect_fleet
from sfumato.tracks.people.noise import choose
from sfumato.tracks.plan import Plan, Target

MECHANISMS = [
    {"mechanism": "multiscale"},
    {"mechanism": "multiscale", "prior_class": "year"},
    {"mechanism": "independent"},
    {"mechanism": "planar-laplace"},
    {"mechanism": "prior-shaped", "prior": "preset"},
    {"mechanism": "prior-shaped", "prior": "fit"},
    {"mechanism": "mixed", "prior": "geolife-median"},
    {"mechanism": "mixed", "prior": "fit", "white_share": 0.2},
]


def ride(count: int = 40, *, seed: int = 0, lat: float = 48.5, lon: float = 2.5) -> Trace:
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(count, 2)).cumsum(axis=0) * 2e-4
    return Trace(lat + steps[:, 0], lon + steps[:, 1], 1.7e9 + np.arange(count) * 10.0)


@pytest.mark.parametrize("options", MECHANISMS, ids=str)
def test_every_mechanism_releases_certifies_and_verifies(options: dict) -> None:
    done = protect(ride(), **options)
    assert len(done.release) == 40
    assert np.array_equal(done.release.times_s, done.original.times_s)
    assert sf.verify(done.certificate, release=done.release).checks
    text = json.dumps(done.certificate, allow_nan=False)
    assert "NaN" not in text


@pytest.mark.parametrize("options", MECHANISMS, ids=str)
@pytest.mark.parametrize("wish", [{"odds": 3.0}, {"epsilon": 0.7}, {"noise_m": 80.0}, {"level": "low"}], ids=str)
def test_what_was_asked_for_is_kept(options: dict, wish: dict) -> None:
    document = protect(ride(20), radius_m=100.0, **options, **wish).certificate
    odds = document["odds_per_point" if options["mechanism"] == "planar-laplace" else "odds_99"]
    if "odds" in wish:
        assert odds <= 3.0
    if "epsilon" in wish:
        assert document["epsilon"] <= 0.7
    if "noise_m" in wish:
        assert document["rms_noise_m"] == pytest.approx(80.0)
    if "level" in wish:
        assert odds <= 20.0
    if document["worst_loss"] is not None:
        assert document["epsilon"] == pytest.approx(2.5 * 100.0**2 * document["worst_loss"], rel=1e-12)
        assert document["floor_loss"] == pytest.approx(1 / document["rms_noise_m"] ** 2)
        assert document["loss_over_floor"] == pytest.approx(document["worst_loss"] / document["floor_loss"])


def test_the_defaults_are_those_of_the_specification() -> None:
    document = protect(ride()).certificate
    assert document["radius_m"] == 200.0
    assert document["order"] == 5.0
    assert document["target"]["odds"] == 5.0
    assert document["prior_class"]["name"] == "day"
    assert document["loss_over_floor"] <= 4.7001
    assert 0.998 * document["worst_loss"] < document["stay_loss"] <= document["worst_loss"]  # one number for both
    assert document["stay_odds_99"] == document["odds_99"] <= 5.0
    assert document["snap_m"] == 0.1
    assert not document["simulation"]
    assert document["loss_at_times"] <= document["worst_loss"]


def test_odds_promised_are_odds_measured() -> None:
    """Draw traces from a member of the class, release them, and count how often the odds pass the promise."""
    from sfumato.tracks.losses.gaussian_loss import posterior_covariance
    from sfumato.tracks.priors.kernels import Matern32

    mechanism = choose(Plan(radius_m=200.0, odds=5.0), [ride()]).mechanism
    times = np.arange(0.0, 200.0, 10.0)
    prior = Matern32(100.0, 300.0).covariance(times)
    noise = mechanism.kernel().covariance(times)
    rng = np.random.default_rng(0)
    count, at = 40_000, 10
    slope = prior[:, at] / prior[at, at]
    inner = prior - np.outer(slope, prior[at]) + noise
    # Truth: X[at] = 0 and the rest from the prior; the other hypothesis puts it 200 m away.
    release = rng.multivariate_normal(np.zeros(times.size), inner, size=count, method="cholesky")
    weight = np.linalg.solve(inner, slope * 200.0)
    log_odds = -(release @ weight) + 0.5 * (slope * 200.0) @ weight
    passed = float((log_odds > math.log(5.0)).mean())
    assert passed <= 0.01 + 3 * math.sqrt(0.01 / count)
    assert posterior_covariance(prior, noise)[at, at] > 0


def test_the_original_is_not_in_the_certificate_and_neither_are_seed_state_or_input_hash(tmp_path: Path) -> None:
    import hashlib

    trace = ride()
    done = protect(trace, rng=987654321)
    text = json.dumps(done.certificate)
    assert "987654321" not in text
    for lat, lon in zip(trace.lat_deg, trace.lon_deg, strict=True):
        assert f"{lat:.5f}" not in text
        assert f"{lon:.5f}" not in text
    for array in (trace.lat_deg, trace.lon_deg):
        assert hashlib.sha256(array.tobytes()).hexdigest() not in text
    keyed = protect(trace, state=tmp_path / "s.json", noise_m=100.0)
    assert keyed.state is not None
    assert keyed.state.key.hex() not in json.dumps(keyed.certificate)


def test_nothing_in_the_certificate_but_the_release_hash_depends_on_where_the_trace_is() -> None:
    here, there = protect(ride(seed=1)).certificate, protect(ride(seed=2, lat=-33.4, lon=151.2)).certificate
    for name in here:
        if name not in ("release", "certificate_sha256"):
            assert here[name] == there[name], name


def test_a_fitted_prior_says_that_it_voids_the_claim() -> None:
    document = protect(ride(), mechanism="prior-shaped", prior="fit").certificate
    assert any("chosen from the trace" in warning for warning in document["warnings"])
    assert not any(
        "chosen from the trace" in w for w in protect(ride(), mechanism="mixed", prior="preset").certificate["warnings"]
    )


def test_mechanisms_without_a_bound_say_null_and_warn_about_denser_sampling() -> None:
    for name in ("independent", "planar-laplace"):
        document = protect(ride(), mechanism=name).certificate
        assert document["worst_loss"] is None
        assert document["loss_over_floor"] is None
        assert any("dens" in warning for warning in document["warnings"])
    assert protect(ride(), mechanism="independent").certificate["loss_at_times"] > 0
    assert protect(ride(), mechanism="planar-laplace").certificate["geo_indistinguishability_per_m"] > 0


def test_seeds_make_simulations_that_repeat_and_say_so() -> None:
    one, two, other = (protect(ride(), rng=seed) for seed in (5, 5, 6))
    assert one.certificate["simulation"]
    assert one.certificate["guarantee"]["simulation"]
    assert np.array_equal(one.release.lat_deg, two.release.lat_deg)
    assert not np.array_equal(one.release.lat_deg, other.release.lat_deg)
    fresh = [protect(ride()).release.lat_deg for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_a_single_point_and_duplicate_times_are_accepted() -> None:
    assert len(protect(Trace([48.5], [2.5], [1.7e9])).release) == 1
    twice = Trace([48.5, 48.5, 48.6], [2.5, 2.5, 2.6], [1.7e9, 1.7e9, 1.7e9 + 60])
    release = protect(twice).release
    assert release.lat_deg[0] == release.lat_deg[1]
    assert release.lon_deg[0] == release.lon_deg[1]


def test_the_noise_in_metres_is_what_is_stated_at_the_equator_far_north_and_across_the_antimeridian() -> None:
    for lat, lon in ((0.3, 10.4), (78.2, 15.6), (-45.5, 179.9999), (89.99, 0.0)):
        there = Trace(np.full(400, lat), np.full(400, lon), np.arange(400) * 1e5)
        for name in ("multiscale", "independent"):
            release = protect(there, noise_m=200.0, rng=3, mechanism=name).release
            found = differences_m(there.lat_deg, there.lon_deg, release.lat_deg, release.lon_deg)
            found -= found.mean(axis=0)  # the constant share is one draw
            moving = 200.0 * math.sqrt(0.9 if name == "multiscale" else 1.0)
            np.testing.assert_allclose(np.sqrt((found**2).mean(axis=0)), moving, rtol=0.15)
            assert abs(np.corrcoef(found.T)[0, 1]) < 0.2


def test_releases_lie_on_the_public_grid() -> None:
    release = protect(ride(), snap_m=25.0).release
    lat, lon = snap(release.lat_deg, release.lon_deg, 25.0)
    np.testing.assert_allclose(lat, release.lat_deg, atol=1.5e-7)
    np.testing.assert_allclose(lon, release.lon_deg, atol=1.5e-7)


def test_only_what_was_asked_for_is_kept() -> None:
    trace = Trace([48.5, 48.6], [2.5, 2.6], [0.0, 1.0], columns={"elevation": [1.0, 2.0], "speed": [3.0, 4.0]})
    assert not protect(trace).release.columns
    kept = protect(trace, keep=["elevation"])
    assert list(kept.release.columns) == ["elevation"]
    assert kept.certificate["kept"] == ["elevation"]
    with pytest.raises(InputError):
        protect(trace, keep=["heart_rate"])


def test_times_are_released_to_the_millisecond() -> None:
    trace = Trace([48.5, 48.5], [2.5, 2.5], [1.7e9 + 0.00012, 1.7e9 + 0.5])
    assert np.array_equal(protect(trace).release.times_s, milliseconds_as_s(trace.times_s))


def test_redraws_add_up_and_calibration_counts_them() -> None:
    once, thrice = protect(ride()).certificate, protect(ride(), redraws=3).certificate
    assert thrice["odds_99"] <= 5.0
    assert thrice["rms_noise_m"] == pytest.approx(once["rms_noise_m"] * math.sqrt(3), rel=1e-4)
    assert thrice["releases"]["loss_multiplier"] == 3
    assert once["releases"]["gap_s"] == pytest.approx(5 * 24800.0)


def test_a_fleet_is_protected_person_by_person(tmp_path: Path) -> None:
    people = [("a", ride(seed=1)), ("b", ride(seed=1)), ("c", ride(3, seed=2))]
    done = protect_fleet(Plan(noise_m=100.0), people)
    assert done.certificate["people"] == 3
    assert done.certificate["points"] == 83
    assert not np.array_equal(done.releases[0][1].lat_deg, done.releases[1][1].lat_deg)
    assert sf.verify(done.certificate, release=list(done.releases)).checks
    state = tmp_path / "fleet.json"
    first, second = (protect_fleet(Plan(noise_m=100.0), people, state=state) for _ in range(2))
    assert np.array_equal(first.releases[0][1].lat_deg, second.releases[0][1].lat_deg)
    assert not np.array_equal(first.releases[0][1].lat_deg, first.releases[1][1].lat_deg)
    with pytest.raises(InputError):
        protect_fleet(Plan(), [("a", ride()), ("a", ride())])


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "magic"}, {"prior_class": "decade"}, {"prior": "fit"}, {"mechanism": "mixed"},
        {"mechanism": "prior-shaped", "prior": "nobody"}, {"snap_m": 0.0}, {"snap_m": math.nan}, {"snap_m": 1e9},
        {"redraws": 0}, {"redraws": 1.5}, {"white_share": 1.5}, {"white_share": -0.1}, {"constant_share": 0.99},
        {"mechanism": "independent", "white_share": 0.1},
        {"mechanism": "mixed", "prior": "preset", "constant_share": 0.1},
        {"mechanism": "mixed", "prior": "preset", "white_share": 0.0}, {"radius_m": 0.0}, {"odds": 1.0},
        {"epsilon": -1.0}, {"rng": -3}, {"order": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(options: dict) -> None:
    with pytest.raises(InputError):
        protect(ride(), **options)


def test_shares_that_the_class_needs_cannot_be_left_out() -> None:
    for options in ({"white_share": 0.0}, {"constant_share": 0.0}):
        with pytest.raises(NotCertified):
            protect(ride(), **options)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-89.9, 89.9), st.floats(-179.9, 179.9), st.integers(0, 10**9)), min_size=1, max_size=12
    )
)
def test_any_trace_on_the_globe_is_protected_and_verifies(points: list[tuple[float, float, int]]) -> None:
    points = sorted(points, key=lambda point: point[2])
    trace = Trace(*(np.array([point[i] for point in points], dtype=float) for i in range(3)))
    done = protect(trace, noise_m=50.0)
    assert sf.verify(done.certificate, release=done.release).checks


def test_certificates_are_refused_when_the_noise_does_not_keep_the_wish() -> None:
    from dataclasses import replace

    done = protect(ride())
    terms = replace(done.terms, target=Target(radius_m=200.0, odds=1.5))
    with pytest.raises(NotCertified):
        certificate_body(terms, released_of([(None, done.release)]))


@pytest.mark.parametrize("table", [False, True])
def test_a_pickle_of_a_result_holds_no_key(table: bool, tmp_path: Path) -> None:
    """In 0.2.0 it held the state: whoever read the pickle could undo every release."""
    times = 1.7e9 + np.arange(30) * 10.0
    trace = Trace(48.5 + np.arange(30) * 1e-4, np.full(30, 2.5), times)
    state = tmp_path / "me.state"
    if table:
        rows = pa.table(
            {"id": ["a"] * 30, "lat": trace.lat_deg, "lon": trace.lon_deg, "time": times.astype(int) * 1000}
        )
        done = protect(rows, person="id", columns={"time": "time"}, state=state)
    else:
        done = protect(trace, state=state)
    key = load_state(state).key
    held = pickle.dumps(done)
    assert key not in held
    assert load_state(state).key_of("a" if table else None, together=table) not in held
    again = pickle.loads(held)
    assert again.state is None
    assert again.certificate == done.certificate
    assert again.terms.mechanism.continuing
