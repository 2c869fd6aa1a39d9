"""Chosen secrets end to end: what the certificate says is what was drawn, and the protected times are called public."""

from __future__ import annotations

import json

import numpy as np
import pytest
from repository import ROOT
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.cli import app
from sfumato.tracks.certificates.document import Certificate, certificate_text, with_seal
from sfumato.tracks.certificates.verify import verify
from sfumato.tracks.losses.gaussian_loss import loss_matrix
from sfumato.tracks.noise.chosen_secrets import SecretNoise
from sfumato.tracks.noise.interface import Stated
from sfumato.tracks.noise.secret_recipes import weighted_losses
from sfumato.tracks.plan import Target
from sfumato.tracks.priors.kernels import RBF, Matern32, Matern52, White
from sfumato.tracks.secret import TIMES_ARE_PUBLIC, EveryWindow, basic, compound

PRIOR = Matern32(66.0, 120.0) + White(1.0)
TIMES = np.arange(60) * 20.0
secret_noise = SecretNoise.for_secrets
SAMPLE = ROOT / "src" / "sfumato" / "data" / "sample_ride.gpx"


def test_every_secret_keeps_the_target_and_the_rest_gets_less_noise():
    target = Target(radius_m=200.0, odds=5.0)
    chosen = secret_noise(TIMES, [basic(20), compound([40, 41])], PRIOR, target, fitted=False)
    allowed = (target.mu / 200.0) ** 2
    noise = chosen.covariance_m2()
    prior = PRIOR.covariance(TIMES)
    for secret in ([20], [40, 41]):
        exact = len(secret) * np.linalg.eigvalsh(loss_matrix(prior, noise, secret))[-1]
        assert exact <= allowed
    assert noise[0, 0] < 0.1 * noise[20, 20]
    assert chosen.noise_m < 300  # protecting every point would take 328 m


def test_its_parameters_rebuild_it_exactly():
    target = Target(radius_m=200.0, epsilon=1.0)
    long = np.arange(70) * 20.0
    for times, secrets, kind in (
        (TIMES, [basic(20), basic(44)], "factor"), (long, EveryWindow(duration_s=120).at(long), "envelope"),
    ):  # fmt: skip
        chosen = secret_noise(times, list(secrets), PRIOR, target, fitted=False)
        assert chosen.design.kind == kind
        again = SecretNoise.from_dict(json.loads(json.dumps(chosen.parameters())))
        np.testing.assert_allclose(again.covariance_m2(), chosen.covariance_m2(), rtol=1e-12)
        assert again.secret_losses() == pytest.approx(chosen.secret_losses())
        assert np.max(chosen.secret_losses()) <= (target.mu / 200.0) ** 2


def test_what_is_drawn_has_the_designed_covariance_and_equal_times_share_it():
    chosen = secret_noise(TIMES[:8], [basic(3)], PRIOR, Target(radius_m=200.0, odds=5.0), fitted=False)
    rng = np.random.default_rng(1)
    draws = np.concatenate([chosen.draw(TIMES[:8], rng).T for _ in range(4000)])
    designed = chosen.covariance_m2()
    assert np.max(np.abs(np.cov(draws.T) - designed)) < 0.06 * designed.max()
    doubled = chosen.draw(np.repeat(TIMES[:8], 2), 5)
    np.testing.assert_array_equal(doubled[::2], doubled[1::2])
    with pytest.raises(InputError, match="other times"):
        chosen.draw(TIMES[:8] + 1.0)


def test_a_smaller_radius_for_one_secret_asks_for_less_noise_there():
    target = Target(radius_m=200.0, odds=5.0)
    near = secret_noise(TIMES, [basic(20, radius_m=50.0)], PRIOR, target, fitted=False)
    far = secret_noise(TIMES, [basic(20)], PRIOR, target, fitted=False)
    assert near.noise_m < 0.5 * far.noise_m


@pytest.mark.parametrize("words", ["windows:10min", "place", "24,25"])
def test_protect_with_secrets_works_from_file_to_verified_file(tmp_path, words):
    if words == "place":
        trace = sf.read_trace(SAMPLE)
        place = {"type": "Point", "coordinates": [float(trace.lon_deg[30]), float(trace.lat_deg[30])]}
        (tmp_path / "home.geojson").write_text(json.dumps(place))
        words = str(tmp_path / "home.geojson")
    out, certificate, page = tmp_path / "out.gpx", tmp_path / "out.json", tmp_path / "out.html"
    run = CliRunner().invoke(
        app,
        ["protect", str(SAMPLE), "-o", str(out), "--secrets", words, "--accept-odds", "--certificate", str(certificate),
         "--public-report", str(page), "--json"],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    block = found["certificate"]["secrets"]
    protected = block["points_protected"]
    expected = TIMES_ARE_PUBLIC if protected < block["points"] else "Every point is protected."
    assert block["statement"] == expected
    assert expected in page.read_text()
    assert found["odds_99"] <= 5
    checked = CliRunner().invoke(app, ["verify", str(certificate), "--release", str(out), "--json"])
    verdict = json.loads(checked.stdout)
    assert verdict["unchanged"]
    assert verdict["clean"]
    # Odds at one moment under one prior are kept; a stay and the rest of the class are not: no yes for it.
    assert checked.exit_code == 1
    assert verdict["protection"] in ("none", "hardly any")
    sound = json.loads(certificate.read_text())
    for change in ({"loss_at_times": sound["loss_at_times"] / 2}, {"secrets": {**block, "points_protected": 10_000}}):
        certificate.write_text(certificate_text(with_seal({**sound, **change})))  # a forger who seals again
        forged = CliRunner().invoke(app, ["verify", str(certificate), "--release", str(out)])
        assert forged.exit_code == 1
        assert "The certificate was changed" in forged.output


def test_windows_over_some_tens_of_points_get_the_certified_optimum_not_the_envelope():
    times = np.arange(44) * 50.0
    chosen = secret_noise(
        times, list(EveryWindow(duration_s=300).at(times)), PRIOR, Target(radius_m=200.0, odds=5.0), fitted=False
    )
    assert chosen.design.kind == "factor"
    assert chosen.design.gap <= 0.03
    assert np.max(chosen.secret_losses()) <= (Target(radius_m=200.0, odds=5.0).mu / 200.0) ** 2


def test_a_larger_sd_at_the_same_nugget_is_not_promised_for_it_can_give_away_more():
    times = np.arange(60) * 10.0
    narrow = Matern32(600.0, 30.0) + White(20.0)
    chosen = secret_noise(times, [basic(30)], narrow, Target(radius_m=200.0, odds=5.0), fitted=False)
    noise, claimed = chosen.covariance_m2(), float(np.max(chosen.secret_losses()))
    wider = (Matern32(600.0, 60.0) + White(20.0)).covariance(times)
    assert np.max(weighted_losses(wider, noise, chosen.secrets, chosen.radii)) > 10 * claimed
    assert np.max(weighted_losses(4 * narrow.covariance(times), noise, chosen.secrets, chosen.radii)) <= claimed
    said = " ".join((*chosen.assumes(), *chosen.losses([times]).warnings))
    assert "nugget included" in said
    assert "with that sd or a larger one" not in said
    assert "Not for a larger sd at the same nugget" in said


def test_a_stay_and_the_rest_of_the_class_are_named_with_their_odds_where_the_promise_stands():
    times = np.arange(60) * 50.0
    chosen = secret_noise(times, [basic(i) for i in range(21)], PRIOR, Target(radius_m=200.0, odds=5.0), fitted=False)
    noise = chosen.covariance_m2()
    # One place that could be anywhere at the protected points, and the path going on from it like the prior.
    path = PRIOR.covariance(times)
    follows = np.vstack([np.ones((21, 1)), path[21:, :21] @ np.linalg.solve(path[:21, :21], np.ones((21, 1)))])
    strays = np.zeros((60, 60))
    strays[21:, 21:] = path[21:, 21:] - path[21:, :21] @ np.linalg.solve(path[:21, :21], path[:21, 21:])
    place = 1e10 * follows @ follows.T + strays + 1e-3 * np.eye(60)
    by_definition = loss_matrix(place, noise, [7])[0, 0]
    assert chosen.losses([times]).stay_loss == pytest.approx(by_definition, rel=1e-3)
    assert by_definition > 5 * np.max(chosen.secret_losses())
    of_the_first_edition = np.linalg.solve(noise[:21, :21], np.ones(21)).sum()  # it forgot the points around
    assert by_definition > of_the_first_edition
    block = chosen.block(200.0)
    assert block["stay_sd_at_least_m"] == pytest.approx(np.sqrt(PRIOR.variance_m2))
    assert block["offset_loss"] == pytest.approx(np.linalg.solve(noise, np.ones(60)).sum())
    assert block["offset_loss"] > by_definition
    for member in (Matern32(600.0, 1.0), RBF(300.0, 120.0), Matern52(21600.0, 5.0)):
        found = np.max(
            weighted_losses(member.covariance(times) + 1e-9 * np.eye(60), noise, chosen.secrets, chosen.radii)
        )
        assert found <= block["loss_over_class"]
    assert block["loss_over_class"] > 50 * np.max(chosen.secret_losses())
    target = Target(radius_m=200.0, odds=5.0)
    losses = chosen.losses([times])
    stated = Stated(target, losses, chosen.numbers(losses, target), {"secrets": block})
    sentence, limits = chosen.headline(stated), chosen.figures(stated)[-1]
    assert "one way of moving only (matern32 66 s, sd 120 m + white sd 1 m)" in limits
    assert "does not cover a place you stay at" in limits
    assert "more than a million : 1" in limits
    assert limits in chosen.explanations(stated)
    assert "Nothing is promised for a place you stay at (odds can reach more than a million : 1)" in sentence
    assert "for the other points" in sentence
    assert sentence.count(". ") == 1  # two sentences


def test_a_stay_among_unprotected_points_is_learned_from_the_points_around_it():
    """The first edition looked at the protected points alone: it said 41.6 : 1 where the odds were 3,420."""
    times = np.arange(60) * 10.0
    chosen = secret_noise(times, [basic(i) for i in range(25, 35)], PRIOR, Target(radius_m=200.0, odds=5.0))
    inside = np.linalg.solve(chosen.covariance_m2()[25:35, 25:35], np.ones(10)).sum()
    stated = chosen.losses([times]).stay_loss
    assert stated > 1.1 * inside
    assert chosen.block(200.0)["offset_loss"] > 10 * stated


def test_the_class_named_with_secrets_is_the_one_looked_at_and_nothing_is_promised_over_it():
    trace = sf.read_trace(SAMPLE)
    day, year = (sf.protect(trace, secrets="24", prior_class=name).certificate for name in ("day", "year"))
    assert (day["secrets"]["checked_class"], year["secrets"]["checked_class"]) == ("day", "year")
    assert year["secrets"]["loss_over_class"] >= day["secrets"]["loss_over_class"]
    assert year["prior_class"] is None
    with pytest.raises(InputError, match="no prior class"):
        sf.protect(trace, secrets="24", prior_class="decade")


def test_nothing_is_said_about_other_points_where_every_point_is_protected():
    trace = sf.read_trace(SAMPLE)
    done = sf.protect(trace, secrets="all").certificate
    headline = Certificate.of(done).headline
    assert "other points" not in headline
    assert headline.startswith("At every point")
    assert TIMES_ARE_PUBLIC not in done["guarantee"]["not_covered"]
    assert not any("not listed" in line for line in done["guarantee"]["not_covered"])


def test_the_secrets_are_named_by_their_own_points_so_that_other_labels_do_not_verify():
    trace = sf.read_trace(SAMPLE)
    done = sf.protect(trace, secrets=[basic(3), basic(4), compound([9, 11, 12], label="home")])
    block = done.certificate["secrets"]
    assert block["labels"] == ["points 3 to 4, each on its own", "points 9, 11 to 12 together"]
    forged = with_seal({**done.certificate, "secrets": {**block, "labels": ["every point"]}})
    with pytest.raises(VerificationFailed, match="labels"):
        verify(forged, release=done.release)
    verify(done.certificate, release=done.release)


def test_secrets_that_cannot_be_are_refused():
    trace = sf.read_trace(SAMPLE)
    for wish in (
        {"secrets": "100000"}, {"secrets": "nowhere.geojson"}, {"secrets": "24", "mechanism": "independent"},
        {"secrets": "24", "white_share": 0.1},
    ):  # fmt: skip
        with pytest.raises(InputError):
            sf.protect(trace, **wish)
