"""Smooth tracks: nearer to the truth than the release, made from it alone, and judged as what they are."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from typer.testing import CliRunner

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.randomness import randomness
from sfumato.base.things.frames import differences_m, displace, unroll
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.answers.ways.movement import fit_movement, likeliest_path, possible_paths, told_by_release
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks, judge_smoothed, smooth, smoothed_certificate
from sfumato.tracks.certificates.document import certificate_text, with_seal
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import RBF, Constant, Matern32, White
from sfumato.tracks.priors.statespace import sample

CLI = CliRunner()


def ride(seed: int = 1, n: int = 300, every_s: float = 10.0) -> Trace:
    times = np.arange(n) * every_s
    path = sample(times, Matern32(900.0, 2000.0), coordinates=2, rng=seed)
    lat, lon = displace(np.full(n, 52.5), np.full(n, 13.4), path)
    return Trace(lat, lon, 1.7e9 + times)


def errors_m(one: Trace, other: Trace) -> float:
    return float(
        np.median(np.linalg.norm(differences_m(one.lat_deg, one.lon_deg, other.lat_deg, other.lon_deg), axis=1))
    )


def length_m(trace: Trace) -> float:
    return float(np.linalg.norm(np.diff(unroll(trace.lat_deg, trace.lon_deg), axis=0), axis=1).sum())


def test_a_smooth_track_is_nearer_to_the_truth_and_has_its_length() -> None:
    nearer = 0
    for seed in range(5):
        truth = ride(seed)
        done = protect(truth, noise_m=150, rng=seed)
        found = smooth(done.release, done.certificate)
        assert found.movements[0].fitted
        assert np.array_equal(found.trace.times_s, done.release.times_s)
        assert length_m(done.release) > 1.5 * length_m(truth)
        assert 0.7 < length_m(found.trace) / length_m(truth) < 1.3
        nearer += errors_m(found.trace, truth) <= errors_m(done.release, truth)
    assert nearer >= 4


def test_paths_drawn_given_the_release_are_calibrated() -> None:
    times, noise, law = np.arange(200) * 10.0, White(30.0) + Constant(50.0), Matern32(600.0, 800.0)
    inside = []
    for seed in range(20):
        truth = sample(times, law, coordinates=2, rng=seed)
        release = truth + sample(times, noise, coordinates=2, rng=1000 + seed)
        movement = fit_movement(times, release, noise)
        draws = possible_paths(times, release, movement, noise, 40, randomness(seed))
        mean = likeliest_path(times, release, movement, noise)
        assert draws.shape == (40, 200, 2)
        assert np.abs(draws.mean(axis=0) - mean).max() < 60  # sd 50 of the offset, over 40 draws: 8 m each
        inside.append(np.mean(np.abs(truth - mean) < draws.std(axis=0)))
        assert told_by_release(mean, draws) > 0.5
    assert 0.5 < np.mean(inside) < 0.85


def test_few_points_and_unknown_times_are_not_fitted() -> None:
    few = protect(ride(n=4), noise_m=150, rng=1)
    found = smooth(few.release, few.certificate)
    assert not found.movements[0].fitted
    coarse = protect(ride(), noise_m=150, times="coarse:5min", rng=1)
    with pytest.raises(InputError, match="how long"):
        smooth(coarse.release, coarse.certificate)
    with pytest.raises(InputError, match="walked through once"):
        fit_movement(np.arange(20.0), np.zeros((20, 2)), RBF(10.0, 5.0))
    with pytest.raises(VerificationFailed):
        smooth(ride(2), few.certificate)


def written(folder: Path, every_s: float = 10.0) -> tuple[Path, Path, Path, Path]:
    truth, release, certificate = folder / "truth.gpx", folder / "release.gpx", folder / "c.json"
    write_trace(ride(every_s=every_s), truth)
    done = CLI.invoke(app, ["protect", str(truth), "-o", str(release), "--certificate", str(certificate)])
    assert done.exit_code == 0, done.output
    nice = folder / "nice.geojson"
    done = CLI.invoke(app, ["smooth", str(release), "--certificate", str(certificate), "-o", str(nice), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["length_smooth_m"] < 0.5 * json.loads(done.stdout)["length_released_m"]
    return truth, release, nice, folder / "nice.geojson.certificate.json"


def test_the_command_and_what_verify_says(tmp_path: Path) -> None:
    truth, release, nice, certificate = written(tmp_path)
    alone = CLI.invoke(app, ["verify", str(certificate), "--release", str(nice)])
    assert alone.exit_code == 1
    assert "cannot be told" in alone.output
    both = CLI.invoke(app, ["verify", str(certificate), "--release", str(nice), "--raw", str(release)])
    assert both.exit_code == 0, both.output
    assert "smoothing again" in both.output
    assert CLI.invoke(app, ["verify", str(certificate), "--release", str(release)]).exit_code == 1
    wrong = CLI.invoke(app, ["verify", str(certificate), "--release", str(nice), "--raw", str(truth)])
    assert wrong.exit_code == 1
    plain = CLI.invoke(app, ["verify", str(tmp_path / "c.json"), "--release", str(release), "--raw", str(release)])
    assert plain.exit_code != 0
    again = CLI.invoke(app, ["smooth", str(release), "-c", str(tmp_path / "c.json"), "-o", str(release)])
    assert again.exit_code != 0


def test_the_demand_that_no_part_is_as_it_was_is_asked_of_the_release(tmp_path: Path) -> None:
    """`--require parts` was not looked at: a smooth track of which only the release could tell passed."""
    _, release, nice, certificate = written(tmp_path, every_s=60.0)  # of a point a minute, fifteen tell nothing
    raw, alone = judge(tmp_path / "c.json", release=release), judge_smoothed(certificate, release=nice, require="parts")
    assert raw.unnoticed
    assert any("only the release can show (--raw)" in text for text in alone.unmet)
    found = judge_smoothed(certificate, release=nice, raw=release, require="parts")
    assert (found.unnoticed, found.ok) == (raw.unnoticed, False)
    assert f"parts: not noticed would be {' or '.join(raw.unnoticed)}" in found.unmet
    without = judge_smoothed(certificate, release=nice, raw=release)
    assert without.ok, without.lines()
    assert "Not noticed would be" in without.reasons["plausible"]


def test_an_original_under_a_borrowed_certificate_is_found(tmp_path: Path) -> None:
    """The truth sealed as if it were the smooth track: alone it cannot be told, with the release it is refused."""
    truth, release, _, certificate = written(tmp_path)
    found = smooth(release, tmp_path / "c.json")
    faked = type(found)(((None, ride()),), found.movements, found.source)
    document = smoothed_certificate(faked, truth)
    assert judge_smoothed(document, release=truth).plausible is None
    verdict = judge_smoothed(document, release=truth, raw=release)
    assert verdict.plausible is False
    assert not verdict.ok
    stated = json.loads(certificate.read_text())
    for change in (
        {"points": 3},
        {"derived": {"how": "by hand"}},
        {"more": 1},
        {"source": {**stated["source"], "snap_m": 9}},
    ):
        changed = tmp_path / "changed.json"
        changed.write_text(certificate_text(with_seal({**stated, **change})))
        assert not judge_smoothed(changed, release=tmp_path / "nice.geojson", raw=release).unchanged


def test_protect_releases_the_smooth_track_alone_and_verify_believes_a_signer(tmp_path: Path) -> None:
    truth, nice, certificate = tmp_path / "truth.gpx", tmp_path / "nice.gpx", tmp_path / "c.json"
    write_trace(ride(), truth)
    key = Ed25519PrivateKey.generate()
    pem = tmp_path / "key.pem"
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    words = ["protect", str(truth), "-o", str(nice), "--noise", "150m", "--certificate", str(certificate)]
    reports = ["--report", str(tmp_path / "r.html"), "--public-report", str(tmp_path / "p.html")]
    done = CLI.invoke(app, [*words, "--style", "smooth", "--sign", str(pem), *reports])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "c.json",
        "key.pem",
        "nice.gpx",
        "p.html",
        "r.html",
        "truth.gpx",
    ]
    assert 0.5 < length_m(read_trace(nice)) / length_m(ride()) < 1.5
    stated = json.loads(certificate.read_text())
    assert stated["derived"]["how"] == "smoothed from the release; prior fitted to the release"
    check = ["verify", str(certificate), "--release", str(nice)]
    assert "cannot be told" in CLI.invoke(app, check).output
    assert CLI.invoke(app, check).exit_code == 1
    # Noise of 150 m does not keep odds of 5 at 200 m; everything else is answered yes.
    believed = judge_smoothed(certificate, release=nice, signer=public)
    assert (believed.unchanged, believed.clean, believed.plausible, believed.signed_by) == (True, True, True, public)
    other = base64.b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    assert not judge_smoothed(certificate, release=nice, signer=other).unchanged
    # A borrowed inner certificate, signed as it is, vouches for no other track.
    found = smooth_of(stated)
    assert judge_smoothed(found, release=truth, signer=public).plausible is None
    page = (tmp_path / "p.html").read_text()
    assert "smoothed from a noisy release" in page
    assert stated["release"]["content_sha256"] in page


def smooth_of(stated: dict[str, object]) -> dict[str, object]:
    """The truth under the signed certificate inside, sealed again by somebody without the key."""
    return smoothed_certificate(SmoothTracks(((None, ride()),), (), stated["source"]))  # type: ignore[arg-type]


def test_a_smooth_style_is_refused_where_nothing_can_be_smoothed(tmp_path: Path) -> None:
    truth = tmp_path / "truth.gpx"
    write_trace(ride(n=30), truth)
    for more, why in (
        (["--style", "wavy"], "no style 'wavy'"),
        (["--style", "smooth", "--times", "coarse:5min"], "does not show how long"),
        (["--style", "smooth", "--secrets", "windows:10min", "--accept-odds"], "The noise of 'secrets' has no one law"),
    ):
        done = CLI.invoke(app, ["protect", str(truth), "-o", str(tmp_path / "out.gpx"), *more])
        assert done.exit_code != 0, more
        assert why in str(done.exception), more
        assert [path.name for path in tmp_path.iterdir()] == ["truth.gpx"]
