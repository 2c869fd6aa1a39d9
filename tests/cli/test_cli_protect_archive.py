"""`sfumato protect` on archives, with times, and where places belong to `hide`."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from command import refused, run
from rides import PARIS, ride
from track_files import write_as

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.tracks.certificates.document import certificate_text, with_seal
from sfumato.tracks.folders.rides.one_person import Whereabouts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rides" / "2024").mkdir(parents=True)
    for number in range(5):
        trace = ride([0, 0], [3000, 500 * number], every_s=10.0, at_s=1.7e9 + 86400 * number)
        write_as("gpx", trace, tmp_path / "rides" / "2024" / f"{number}.gpx")
    (tmp_path / "rides" / "notes.md").write_text("not a track")
    (tmp_path / "rides" / "bad.gpx").write_text("<gpx>")
    return tmp_path


def test_one_noise_one_certificate_for_a_folder_and_next_week_goes_on(folder: Path) -> None:
    words = ("protect", "rides", "-o", "shared", "--noise", "709m", "--certificate", "c.json")
    code, out, err = run(*words, folder=folder)
    assert (code, "NOT USED: 1 file" in out) == (1, True), (out, err)  # bad.gpx: what is not released is not silent
    assert "5 files in shared" in out
    assert "1 other file: no track" in out
    assert "rides/bad.gpx" in out
    first = {path.name: path.read_bytes() for path in (folder / "shared").iterdir()}
    write_as("gpx", ride([0, 0], [-3000, 0], every_s=10.0, at_s=1.71e9), folder / "rides" / "new.gpx")
    assert run(*words, "--lenient", folder=folder)[0] == 0
    second = {path.name: path.read_bytes() for path in (folder / "shared").iterdir()}
    assert first.items() < second.items()
    code, out, err = run("verify", "c.json", "--release", "shared", folder=folder)
    assert code == 0, err
    assert "recomputed" in out
    assert "Protection         as promised" in out
    document = json.loads((folder / "c.json").read_text())
    assert "2024-" not in json.dumps(document["files"])  # hashes may have these digits
    next((folder / "shared").iterdir()).write_text("changed")
    assert run("verify", "c.json", "--release", "shared", folder=folder)[0] == 1
    assert run(*words, "--strict", folder=folder)[0] == 2


@pytest.mark.parametrize("times", ["shift", "relative", "coarse:5min"])
def test_times_of_one_release_and_its_certificate(times: str, folder: Path) -> None:
    ride_file = "rides/2024/0.gpx"
    words = ("protect", ride_file, "-o", "out.gpx", "--times", times, "--certificate", "c.json")
    code, _, err = run(*words, folder=folder)
    assert code == 0, err
    document = json.loads((folder / "c.json").read_text())
    assert document["times"]["released"] == ("coarse:300s" if times.startswith("coarse") else times)
    assert (document["loss_at_times"] is None) == times.startswith("coarse")
    code, out, err = run("verify", "c.json", "--release", "out.gpx", folder=folder)
    assert (code, "cannot be told" in out) == ((1, True) if times.startswith("coarse") else (0, False)), out + err
    assert sf.read_trace(folder / "out.gpx").times_s[0] != sf.read_trace(folder / ride_file).times_s[0]


def test_no_times_and_no_certificate_of_them(folder: Path) -> None:
    words = ("protect", "rides/2024/0.gpx", "-o", "out.gpx", "--times", "drop")
    assert run(*words, "--certificate", "c.json", folder=folder)[0] == 2
    assert not (folder / "out.gpx").exists()
    assert run(*words, folder=folder)[0] == 0
    assert "<time>" not in (folder / "out.gpx").read_text()


def test_one_packed_track_is_one_track(folder: Path) -> None:
    (folder / "ride.gpx.gz").write_bytes(gzip.compress((folder / "rides/2024/0.gpx").read_bytes()))
    assert run("protect", "ride.gpx.gz", "-o", "out.gpx", folder=folder)[0] == 0
    assert len(sf.read_trace(folder / "out.gpx")) == len(sf.read_trace(folder / "rides/2024/0.gpx"))


def test_secret_places_point_to_hide(folder: Path) -> None:
    place = {"type": "Point", "coordinates": [PARIS[1], PARIS[0]]}
    (folder / "home.geojson").write_text(json.dumps(place))
    words = ("protect", "rides/2024/0.gpx", "-o", "out.gpx", "--secrets", "home.geojson", "--noise", "20m")
    code, _, err = run(*words, folder=folder)
    assert code == 2
    assert "sfumato hide" in err, err
    assert not (folder / "out.gpx").exists()
    code, _, err = run(*words, "--accept-odds", folder=folder)
    assert code == 0, err


@pytest.mark.parametrize("more", [(), ("--mechanism", "independent")])
def test_files_of_two_people_do_not_get_one_noise(more: tuple[str, ...], tmp_path: Path) -> None:
    """Under one noise the difference between two files of one moment would be released as it is."""
    (tmp_path / "people").mkdir()
    write_as("gpx", ride([0, 0], [3000, 0], every_s=10.0), tmp_path / "people" / "alice.gpx")
    write_as("gpx", ride([0, 5000], [3000, 9000], every_s=10.0, at_s=1.7e9 + 7), tmp_path / "people" / "bob.gpx")
    words = ("protect", "people", "-o", "shared", "--noise", "700m", *more)
    refused(*words, folder=tmp_path, says="in two places at the same time")
    assert [path.name for path in tmp_path.iterdir()] == ["people"]
    assert run(*words, "--one-person", folder=tmp_path)[0] == 0


def test_two_recorders_of_one_ride_and_rides_one_after_another_are_one_persons(tmp_path: Path) -> None:
    where = Whereabouts()
    for track in (
        ride([0, 0], [3000, 0], every_s=10.0),
        ride([60, 40], [3050, -30], every_s=7.0, at_s=1.7e9 + 3),
        ride([9000, 0], [12000, 0], every_s=10.0, at_s=1.7e9 + 3600),
    ):
        where.add(track)
    where.refuse_two_people()
    where.add(ride([0, 4000], [3000, 4000], every_s=10.0))
    with pytest.raises(InputError, match="not one person's"):
        where.refuse_two_people()


def test_a_folder_that_protects_nothing_is_not_good_however_true_its_certificate(folder: Path) -> None:
    base = ("protect", "rides", "--lenient", "--noise")
    assert run(*base, "5m", "-o", "thin", "--certificate", "thin.json", folder=folder)[0] == 0
    assert run(*base, "709m", "-o", "seeded", "--seed", "1", "--certificate", "seeded.json", folder=folder)[0] == 0
    thin = ("thin", "none. The worst odds it states", None)  # so little noise that an original could look the same
    for name, words, told in (thin, ("seeded", "none. A simulation", True)):
        code, out, _ = run("verify", f"{name}.json", "--release", name, folder=folder)
        assert (code, out.startswith("NOT GOOD"), f"Protection         {words}" in out) == (1, True, True), out
        said = json.loads(run("verify", f"{name}.json", "--release", name, "--json", folder=folder)[1])
        assert (said["ok"], said["protection"], said["clean"], said["plausible"]) == (False, "none", True, told)
    code, _, err = run("verify", "thin.json", "--release", "thin.json", folder=folder)
    assert (code, "not of thin.json alone" in err) == (1, True), err  # one file's archive is verified by its file


def test_a_true_position_in_a_comment_of_a_shared_file_is_not_clean(folder: Path) -> None:
    words = ("protect", "rides", "--lenient", "--noise", "709m", "-o", "shared", "--certificate", "c.json")
    assert run(*words, folder=folder)[0] == 0
    document = json.loads((folder / "c.json").read_text())
    path = folder / "shared" / document["files"][0]["name"]
    path.write_text(path.read_text().replace("<trk>", "<!-- 48.8566 2.3522 --><trk>", 1))
    document["files"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    body = {name: value for name, value in document.items() if name != "certificate_sha256"}
    (folder / "c.json").write_text(certificate_text(with_seal(body)))
    code, out, err = run("verify", "c.json", "--release", "shared", folder=folder)
    assert (code, f"Clean?             NO. {path.name}" in out) == (1, True), (out, err)
