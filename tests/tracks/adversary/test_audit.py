"""The audit: what it measures agrees with what the certificate implies, for every mechanism."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import Kernel, Matern32, White
from sfumato.tracks.priors.statespace import sample

FIELDS = {"rms_error_raw_m", "rms_error_smoothed_m", "interval_68_m", "coverage_68", "prior_used", "points"}


def walk(points: int = 250, kernel: Kernel | None = None, seed: int = 0, step: float = 5.0) -> Trace:
    times = 1.2e9 + np.round(np.cumsum(np.random.default_rng(seed).uniform(0.4 * step, 1.6 * step, points)), 3)
    path = sample(times, kernel or Matern32(66, 123) + White(1), coordinates=2, rng=seed)
    lat, lon = displace(np.full(points, 48.51), np.full(points, 2.33), path)
    return Trace(lat, lon, times)


MECHANISMS = {
    "multiscale": {},
    "independent": {"mechanism": "independent"},
    "planar-laplace": {"mechanism": "planar-laplace"},
    "prior-shaped": {"mechanism": "prior-shaped", "prior": "geolife-median"},
    "mixed": {"mechanism": "mixed", "prior": "fit"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", MECHANISMS.values(), ids=MECHANISMS)
def test_every_mechanism_can_be_audited_and_the_answer_is_json(options: dict) -> None:
    protected = protect(walk(), noise_m=150, rng=1, **options)
    found = protected.audit().to_dict()
    assert set(found) >= FIELDS
    json.dumps(found, allow_nan=False)
    assert found["points"] == 250
    assert found["rms_error_raw_m"] == pytest.approx(150, rel=0.35)
    assert found["rms_error_smoothed_m"] < found["rms_error_raw_m"]
    assert 0.3 < found["coverage_68"] <= 1
    assert found["holds"] is not False


def test_noise_designed_for_chosen_times_is_audited_from_its_own_covariance() -> None:
    protected = protect(walk(24, seed=12), secrets="windows:1min", prior="geolife-median", rng=9)
    found = protected.audit()
    assert found.mechanism == "secrets"
    assert found.points == 24
    assert found.rms_error_raw_m > found.rms_error_smoothed_m > 0
    assert found.floor_m is None


def test_a_prior_in_the_class_keeps_the_promised_floor() -> None:
    for seed in range(4):
        protected = protect(walk(seed=seed), noise_m=150, rng=seed)
        found = protected.audit()
        assert found.in_class
        assert found.holds
        worst, sd2 = protected.certificate["worst_loss"], 1.0
        kernel = found.prior_used["kernel"]["parts"]
        sd2 = sum(part["sd_m"] ** 2 for part in kernel)
        assert found.floor_m == pytest.approx((worst + 1 / sd2) ** -0.5)
        assert found.smallest_interval_68_m >= found.floor_m


def test_the_errors_measured_are_the_intervals_claimed_on_average() -> None:
    rows = []
    for seed in range(40):
        protected = protect(walk(100, seed=seed, step=20), noise_m=150, mechanism="planar-laplace", rng=seed)
        for place in ("known", "unknown"):
            found = audit(
                protected.original, protected.release, protected.certificate, prior="geolife-median", place=place
            )
            rows.append((found.rms_error_smoothed_m**2 / found.interval_68_m**2, found.coverage_68))
    for place, label in ((0, "known"), (1, "unknown")):
        ratio, coverage = np.transpose(rows[place::2])
        assert ratio.mean() == pytest.approx(1.0, abs=0.06), label
        assert coverage.mean() == pytest.approx(0.6827, abs=0.02), label


def test_short_paths_are_covered_as_often_as_claimed_although_their_mean_is_unknown_to_us() -> None:
    """A path much shorter than its length scale: its average is no mean, and must not be taken for one."""
    coverage = []
    document = protect(walk(20), mechanism="independent", noise_m=150).certificate
    for seed in range(200):
        trace = walk(20, kernel=Matern32(600, 300) + White(1), seed=seed)
        noise = White(150)
        lat, lon = displace(trace.lat_deg, trace.lon_deg, sample(trace.times_s, noise, coordinates=2, rng=seed + 999))
        found = audit(trace, trace.moved_to(lat, lon), document, prior=Matern32(600, 300) + White(1))
        coverage.append(found.coverage_68)
    assert np.mean(coverage) == pytest.approx(0.6827, abs=3 * np.std(coverage) / np.sqrt(200))


def test_an_adversary_who_does_not_know_the_average_place_learns_less() -> None:
    protected = protect(walk(), noise_m=150, rng=11)
    known, unknown = (
        audit(protected.original, protected.release, protected.certificate, place=place)
        for place in ("known", "unknown")
    )
    assert unknown.interval_68_m > known.interval_68_m
    assert unknown.prior_used["mean"] == "unknown"
    assert unknown.holds
    with pytest.raises(InputError):
        audit(protected.original, protected.release, protected.certificate, place="there")  # type: ignore[arg-type]


def test_a_path_outside_the_class_is_told_so_and_promised_nothing() -> None:
    protected = protect(walk(kernel=Matern32(3, 100)), noise_m=150, rng=2)
    found = protected.audit()
    assert found.in_class is False
    assert found.floor_m is None
    assert found.holds is None
    assert any("length scale" in reason for reason in found.outside_because)


def test_a_broken_promise_would_be_noticed() -> None:
    protected = protect(walk(), noise_m=150, rng=3)
    boast = {**protected.certificate, "worst_loss": protected.certificate["worst_loss"] / 10}
    found = audit(protected.original, protected.release, boast)
    assert found.holds is False
    assert "BROKEN" in found.verdict


def test_one_point_two_points_and_repeated_times_are_audited() -> None:
    one = Trace(np.array([48.5]), np.array([2.3]), np.array([0.0]))
    repeated = Trace(np.array([48.5, 48.5001, 48.5]), np.array([2.3, 2.3, 2.3]), np.array([5.0, 5.0, 5.0]))
    two = Trace(np.array([48.5, 48.51]), np.array([2.3, 2.3]), np.array([0.0, 60.0]))
    for trace in (one, two, repeated):
        found = protect(trace, rng=4).audit()
        assert "too few moments" in found.prior_used["source"]
        assert np.isfinite(found.interval_68_m)


def test_a_trace_over_a_cell_border_is_measured_in_the_metres_of_its_noise() -> None:
    times = 1.2e9 + np.arange(60) * 10.0
    trace = Trace(np.full(60, 48.5), np.linspace(2.98, 3.02, 60), times)
    protected = protect(trace, noise_m=80, mechanism="independent", rng=5)
    assert protected.audit().rms_error_raw_m == pytest.approx(80, rel=0.2)


def test_priors_can_be_chosen_and_unknown_ones_are_refused() -> None:
    protected = protect(walk(60), noise_m=150, mechanism="prior-shaped", prior="geolife-median", rng=6)
    own = audit(protected.original, protected.release, protected.certificate, prior="certificate")
    assert own.holds
    assert own.smallest_interval_68_m == pytest.approx(own.floor_m, rel=1e-6)  # prior-shaped noise attains the floor
    default = audit(protected.original, protected.release, protected.certificate, prior="preset")
    assert default.prior_used["source"] == "preset geolife-median"
    given = audit(protected.original, protected.release, protected.certificate, prior=Matern32(66, 123))
    assert given.prior_used["source"] == "given"
    with pytest.raises(InputError, match="no prior"):
        audit(protected.original, protected.release, protected.certificate, prior="martian")
    multiscale = protect(walk(60), rng=6)
    with pytest.raises(InputError, match="names no prior"):
        audit(multiscale.original, multiscale.release, multiscale.certificate, prior="certificate")


def test_another_trace_or_a_foreign_certificate_is_refused() -> None:
    protected = protect(walk(40), rng=7)
    with pytest.raises(InputError, match="points"):
        audit(walk(41), protected.release, protected.certificate)
    with pytest.raises(InputError, match="times"):
        audit(walk(40, seed=9), protected.release, protected.certificate)
    known = dict(protected.certificate["parameters"])
    for parameters in (
        {},
        {**known, "name": "planar-laplace"},
        {"name": "planar-laplace", "epsilon_per_m": -1, "redraws": 1},
        {**known, "name": "?"},
    ):
        with pytest.raises(InputError):
            Certificate.of({**protected.certificate, "parameters": parameters})
    with pytest.raises(InputError, match="does not state"):
        audit(protected.original, protected.release, {"format": 1, "kind": "sfumato trace certificate"})


def test_no_true_coordinate_is_in_an_audit() -> None:
    found = protect(walk(50), rng=8).audit().to_dict()
    text = json.dumps(found)
    assert "48.5" not in text
    assert found["prior_used"]["mean"] == "known"


def test_a_release_that_is_the_original_is_called_unprotected_whatever_its_certificate_promises() -> None:
    protected = protect(walk(80), rng=12)
    same = audit(protected.original, protected.original, protected.certificate)
    assert same.unprotected
    assert same.holds is False
    assert same.verdict.startswith("NOT PROTECTED")
    nudged = protected.original.moved_to(protected.original.lat_deg + 5e-6, protected.original.lon_deg)
    assert audit(protected.original, nudged, protected.certificate).unprotected
    lat = np.where(np.arange(80) < 60, protected.original.lat_deg, protected.release.lat_deg)
    lon = np.where(np.arange(80) < 60, protected.original.lon_deg, protected.release.lon_deg)
    most = audit(protected.original, protected.original.moved_to(lat, lon), protected.certificate)
    assert most.verdict.startswith("HARDLY PROTECTED: 75%")
    true = protected.audit()
    assert not true.unprotected
    assert true.within_a_metre == 0.0


def test_what_is_held_out_was_not_fitted_on_and_covers_where_the_person_moves_alike_all_the_way() -> None:
    coverage = []
    for seed in range(12):
        protected = protect(walk(120, kernel=Matern32(120, 900) + White(1), seed=seed), noise_m=150, rng=seed)
        found = protected.audit()
        assert "in sample" in found.prior_used["source"]
        assert found.held_out is not None
        coverage.append(found.held_out["coverage_68"])
    assert np.mean(coverage) == pytest.approx(0.6827, abs=3.5 * np.std(coverage, ddof=1) / np.sqrt(12))
    changed = walk(120, seed=3)  # another second half changes what is fitted to it, not how the first half is fitted
    preset = audit(changed, protect(changed, rng=1).release, protect(changed, rng=1).certificate, prior="preset")
    assert preset.held_out is None  # fitted to other people altogether
