"""`sfumato audit` and `sfumato protect` on archives: attacked again, signed, accounted, by every mechanism."""

from __future__ import annotations

import gzip
import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from command import refused, run
from rides import PARIS, ride
from track_files import FORMATS, write_as

import sfumato as sf
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.sharing import Sharing
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.places.places_file import Places, place_at
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

SUMMER = 1.7e9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rides").mkdir()
    for number in range(5):
        trace = ride([0, 0], [3000, 500 * number], every_s=10.0, at_s=SUMMER + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / f"{number}.gpx")
    (tmp_path / "rides" / "notes.md").write_text("not a track")
    return tmp_path


def shared_by(folder: Path, *more: str, out: str = "shared") -> dict[str, object]:
    code, _, err = run(
        "protect", "rides", "-o", out, "--noise", "30m", "--certificate", f"{out}.json", *more, folder=folder
    )
    assert code == 0, err
    return dict(json.loads((folder / f"{out}.json").read_text()))


def test_an_audit_of_a_folder_attacks_all_files_together_and_writes_a_private_page(folder: Path) -> None:
    shared_by(folder)
    words = ("audit", "rides", "shared", "--certificate", "shared.json", "--report", "mine.html")
    code, out, err = run(*words, folder=folder)
    assert code == 0, err
    assert "rides/3.gpx" in out
    assert "of 5 files, attacked together" in out
    assert (folder / "mine.html").stat().st_mode & 0o777 == 0o600
    assert "rides/3.gpx" in (folder / "mine.html").read_text()
    code, out, _ = run(*words, "--json", folder=folder)
    found = json.loads(out)
    assert found["files_attacked"] == 5
    assert 15 < found["noise"]["rms_error_raw_m"] < 60
    assert found["noise"]["rms_error_smoothed_m"] <= found["noise"]["rms_error_raw_m"] * 1.05
    assert all(10 < row["error_m"] < 90 for row in found["rows"] if not row["no_track"])


def test_audit_and_verify_of_a_folder_say_how_many_points_were_read_and_skipped(folder: Path) -> None:
    ride_file = folder / "rides" / "0.gpx"
    ride_file.write_text(ride_file.read_text().replace("</gpx>", '<wpt lat="1" lon="2"/></gpx>'))
    shared_by(folder)
    words = ("audit", "rides", "shared", "--certificate", "shared.json")
    code, out, err = run(*words, folder=folder)
    assert code == 0, err
    assert "skipped 6: waypoints (6)." in out  # one in every file, and one more
    found = json.loads(run(*words, "--json", folder=folder)[1])
    assert found["points_read"]["why"] == {"waypoints": 6}
    assert found["points_read"]["read"] == sum(row["points_in"] for row in found["rows"])
    code, out, err = run("verify", "shared.json", "--release", "shared", folder=folder)
    assert (code, "Protection         none" in out) == (1, True), err  # 30 m of noise
    assert f"Read {found['points_read']['read']} points; none was skipped." in out
    assert run("protect", "rides/0.gpx", "-o", "one.gpx", "--certificate", "one.json", folder=folder)[0] == 0
    said = json.loads(run("verify", "one.json", "--release", "one.gpx", "--json", folder=folder)[1])
    assert said["points_read"] == {"read": found["rows"][0]["points_in"], "skipped": 0, "why": {}}


def test_originals_are_known_by_their_bytes_wherever_they_lie(folder: Path) -> None:
    shared_by(folder)
    files = sorted((folder / "rides").glob("*.gpx"))
    with zipfile.ZipFile(folder / "backup.zip", "w") as packed:
        for number, file in enumerate(files[:3]):
            packed.write(file, f"old/{number}.gpx")
    (folder / "four.gpx.gz").write_bytes(gzip.compress(files[3].read_bytes()))
    code, out, err = run(
        *("audit", "backup.zip", "four.gpx.gz", "rides/4*.gpx", "shared", "--certificate", "shared.json"), folder=folder
    )
    assert code == 0, err
    assert "of 5 files, attacked together" in out
    code, out, err = run("audit", "backup.zip", "shared", "--certificate", "shared.json", folder=folder)
    assert code == 0, err
    assert "Made from originals that were not given: 2 shared files." in out


def test_one_packed_original_is_audited_as_a_track(folder: Path) -> None:
    (folder / "ride.gpx.gz").write_bytes(gzip.compress((folder / "rides/0.gpx").read_bytes()))
    assert run("protect", "ride.gpx.gz", "-o", "out.gpx", "--certificate", "c.json", folder=folder)[0] == 0
    code, out, err = run("audit", "ride.gpx.gz", "out.gpx", "--certificate", "c.json", folder=folder)
    assert code == 0, err
    assert "Points compared" in out


@pytest.mark.parametrize("times", ["shift", "relative", "coarse:5min"])
def test_changed_times_are_given_back_to_the_attacker(times: str, folder: Path) -> None:
    shared_by(folder, "--times", times)
    code, out, err = run("audit", "rides", "shared", "--certificate", "shared.json", "--json", folder=folder)
    assert code == 0, err
    assert 15 < json.loads(out)["noise"]["rms_error_raw_m"] < 60


def test_an_audit_refuses_in_words(folder: Path) -> None:
    shared_by(folder)
    base = ("--certificate", "shared.json")
    refused("audit", "rides", *base, folder=folder, says="Name the original, then the release")
    (folder / "others").mkdir()
    write_as("gpx", ride([0, 0], [500, 900]), folder / "others" / "x.gpx")
    refused("audit", "others", "shared", *base, folder=folder, says="None of the files given was shared")
    run("places", "add", "home", "48.85,2.35", "--places", "me.places", folder=folder)
    refused("audit", "rides", "shared", *base, "--places", "me.places", folder=folder, says="hides no places")
    next((folder / "shared").iterdir()).write_text("changed")
    assert run("audit", "rides", "shared", *base, folder=folder)[0] == 1
    shared_by(folder, "--times", "drop", out="timeless")
    refused("audit", "rides", "timeless", "--certificate", "timeless.json", folder=folder, says="show no times")
    (folder / "shared.private" / "manifest.jsonl").rename(folder / "away")
    shared_by(folder, out="again")
    (folder / "again.private" / "manifest.jsonl").unlink()
    refused("audit", "rides", "again", "--certificate", "again.json", folder=folder, says="keep it there")


@pytest.mark.parametrize("blur", [(), ("--blur", "20m")])
def test_hidden_places_are_attacked_again_and_nothing_published_lies_inside(
    blur: tuple[str, ...], folder: Path
) -> None:
    where = f"{PARIS[0]},{PARIS[1]}"
    run("places", "add", "home", where, "--places", "me.places", "--zone", "400m", folder=folder)
    words = ("hide", "rides", "-o", "shared", "--places", "me.places", "--certificate", "c.json", *blur)
    code, said, err = run(*words, folder=folder)
    assert code == 0, err
    refused("audit", "rides", "shared", "--certificate", "c.json", folder=folder, says="--places me.places")
    code, out, err = run("audit", "rides", "shared", "--certificate", "c.json", "--places", "me.places", folder=folder)
    assert code == 0, err
    assert "No published point lies inside a zone." in out
    sentence = next(line.strip() for line in said.splitlines() if "home:" in line)
    assert (sentence in out) == (not blur) or "misses it by" in out
    assert ("attacked together" in out) == bool(blur)


def test_a_point_left_inside_is_found(folder: Path) -> None:
    home = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=400.0, rng=1))
    zone = home.active[0].zone
    assert zone is not None
    done = hide_archive([folder / "rides"], folder / "shared", home)
    from sfumato.tracks.folders import audit_archive as audit_archive_module

    other = Places.none(rng=3).add(place_at("cafe", *ride([1500, 200], [1501, 201]).lat_deg[:1], 2.36, rng=1))
    with pytest.MonkeyPatch.context() as patch:  # as if the cut had missed a zone
        patch.setattr(
            audit_archive_module, "withhold", lambda trace, zones, keep: audited_withhold(trace, home.zones, keep=keep)
        )
        from sfumato.tracks.places.withhold import withhold as audited_withhold

        found = audit_archive_module.audit_archive([folder / "rides"], folder / "shared", done.document, places=other)
    assert found.inside > 0


@pytest.mark.parametrize("mechanism", ["independent", "planar-laplace", "prior-shaped", "mixed"])
def test_every_mechanism_protects_an_archive_as_one_path_once(mechanism: str, folder: Path) -> None:
    more = ("--prior", "preset") if mechanism in ("prior-shaped", "mixed") else ()
    document = shared_by(folder, "--mechanism", mechanism, *more)
    assert document["noise"]["mechanism"] == mechanism  # type: ignore[index]
    code, out, err = run("verify", "shared.json", "--release", "shared", folder=folder)
    assert (code, "Protection         none" in out) == (1, True), err  # 30 m of noise
    assert "Clean?             yes" in out
    assert "Plausible?         NO" not in out
    assert "recomputed" in out
    words = ("protect", "rides", "-o", "shared", "--noise", "30m", "--mechanism", mechanism, *more)
    code, _, err = run(*words, folder=folder)
    assert (code, "drawn once" in err) == (2, True), err
    assert run("audit", "rides", "shared", "--certificate", "shared.json", folder=folder)[0] == 0


def test_what_an_archive_cannot_be_asked_is_said(folder: Path) -> None:
    base = ("protect", "rides", "-o", "shared", "--noise", "30m")
    for more, words in (
        (("--secrets", "stays"), "sfumato hide"),
        (("--mechanism", "independent", "--state", "s.state"), "Only multiscale noise continues"),
        (("--mechanism", "independent", "--times", "relative"), "depends on the times"),
        (("--mechanism", "mixed", "--prior", "preset", "--times", "drop"), "depends on the times"),
        (("--mechanism", "prior-shaped", "--prior", "preset", "--times", "coarse:5min"), "depends on the times"),
        (("--ledger", "l.json"), "--ledger-person"),
        (("--times", "drop", "--report", "r.html"), "without times they are no tracks"),
    ):
        code, _, err = run(*base, *more, folder=folder)
        assert (code, words in err) == (2, True), err
        assert not (folder / "shared").exists()


def test_signed_accounted_and_reported(folder: Path) -> None:
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], cwd=folder, check=True)
    subprocess.run(["openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "pub.pem"], cwd=folder, check=True)
    more = ("--sign", "key.pem", "--ledger", "l.json", "--ledger-person", "ann", "--cap", "1")
    shared_by(folder, *more, "--report", "mine.html", "--public-report", "public.html")
    verify = ("verify", "shared.json", "--release", "shared")
    code, out, err = run(*verify, "--signer", "pub.pem", folder=folder)
    assert (code, "Protection         none" in out) == (1, True), err  # 30 m of noise
    assert "the signature of" in out
    entries = json.loads((folder / "l.json").read_text())
    assert "ann" in json.dumps(entries)
    assert (folder / "mine.html").stat().st_mode & 0o777 == 0o600
    public = (folder / "public.html").read_text()
    assert "Noise of" in public
    assert "rides/" not in public
    assert "zones" not in public
    # Next week continues the same process: it counts once. A cap below the loss stops everything.
    write_as("gpx", ride([0, 0], [-3000, 0], every_s=10.0, at_s=1.71e9), folder / "rides" / "new.gpx")
    shared_by(folder, "--sign", "key.pem", "--ledger", "l.json", "--ledger-person", "ann")
    code, _, err = run(
        *("protect", "rides", "-o", "other", "--noise", "30m", "--ledger", "m.json", "--ledger-person", "ann"),
        *("--cap", "1e-12"),
        folder=folder,
    )
    assert code == 2, err
    assert not (folder / "other").exists()
    document = json.loads((folder / "shared.json").read_text())
    document["signature"]["value"] = document["signature"]["value"][::-1]
    (folder / "shared.json").write_text(json.dumps(document))
    assert run(*verify, folder=folder)[0] == 1


@pytest.mark.parametrize("kind", FORMATS)
def test_noise_over_files_of_every_format_is_certified_without_holding_them(kind: str, tmp_path: Path) -> None:
    """The certificate is made from digests taken while staging; what is read back must give the same."""
    rides = tmp_path / "rides"
    rides.mkdir()
    for number in range(2):
        trace = ride(
            [0, 0], [4000, 900 * number], every_s=7.0, at_s=SUMMER + 86400 * number, rng=np.random.default_rng(1)
        )
        write_as(kind, trace, rides / f"{number}.{kind}")
    places = Places.none(rng=3).add(place_at("home", *PARIS, radius_m=400.0, rng=1))
    done = hide_archive([rides], tmp_path / "out", places, Sharing(rng=5), blur=Plan(noise_m=30.0, prior_class="year"))
    assert len(done.document["files"]) == 2
    assert "positions and times of every file" in verify_folder(done.document, tmp_path / "out").checks
    for file in (tmp_path / "out").iterdir():
        assert len(sf.read_trace(file)) > 10


def test_an_archive_that_is_the_original_is_not_protected_whatever_its_certificate_says(folder: Path) -> None:
    shared_by(folder, "--noise", "0.1m", "--snap", "0.01m", out="same")
    code, out, _ = run("audit", "rides", "same", "--certificate", "same.json", folder=folder)
    assert (code, "NOT PROTECTED: what was shared is the original" in out) == (1, True)
    code, out, _ = run("audit", "rides", "same", "--certificate", "same.json", "--json", folder=folder)
    assert (code, json.loads(out)["ok"], json.loads(out)["unprotected"]) == (1, False, True)


def test_an_archive_from_which_no_zone_took_anything_is_the_original(folder: Path) -> None:
    for name, where, expected in (("far", (PARIS[0] + 3, PARIS[1]), 1), ("home", PARIS, 0)):
        run("places", "add", name, f"{where[0]},{where[1]}", "--places", f"{name}.places", folder=folder)
        words = ("--places", f"{name}.places", "--certificate", f"{name}.json")
        assert run("hide", "rides", "-o", name, *words, folder=folder)[0] == 0
        code, out, err = run("audit", "rides", name, *words, folder=folder)
        assert (code, "NOT PROTECTED" in out) == (expected, bool(expected)), err
