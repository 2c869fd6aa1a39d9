"""What 0.2.0 wrote is verified, its sentences, too: tracks, tables, archives and datasets, hidden and with noise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command import run
from repository import ROOT

import sfumato as sf
from sfumato.base.errors import OtherVersion, VerificationFailed
from sfumato.tracks.answers.ways.smooth_tracks import judge_smoothed
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.folders.verify_folder import judge_folder, verify_folder
from sfumato.tracks.noise.gaussian_noise import INDEPENDENT_AXES, LAGGED_AXES

OLD = ROOT / "tests" / "golden" / "v0_2"
FOLDERS = {
    "hidden": "places withheld",
    "noisy": "as promised",
    "at_once": "none",
    "dataset": "as promised",
    "hidden_rows": "places withheld",
}


def certificate_of(folder: Path) -> Path:
    beside = folder.with_name(f"{folder.name}.json")
    return beside if beside.exists() else folder / "_certificate.json"


@pytest.mark.parametrize("name", FOLDERS)
def test_its_files_people_and_noise_are_what_its_certificate_says(name: str) -> None:
    folder = OLD / name
    document = json.loads(certificate_of(folder).read_text())
    assert document["sfumato"] == "0.2.0"
    found = verify_folder(document, folder)
    assert found.wording_checked
    assert found.checks[1].startswith("every byte of")
    assert ("losses" in " ".join(found.checks)) == (document["noise"] is not None)
    assert judge_folder(document, folder).protection == FOLDERS[name]


def test_a_folder_of_another_version_is_not_called_changed() -> None:
    """Of a track the verdict said NOT CHECKED, of a folder NOT GOOD."""
    document = json.loads(certificate_of(OLD / "noisy").read_text())
    found = judge_folder(with_seal({**document, "sfumato": "0.2.9"}), OLD / "noisy")
    assert (found.unchanged, found.ok) == (None, False)
    assert "install 0.2.9 to verify" in found.reasons["unchanged"]


def test_a_sentence_more_in_a_folder_of_0_2_0_is_not_believed() -> None:
    document = json.loads(certificate_of(OLD / "hidden").read_text())
    with pytest.raises(OtherVersion):
        verify_folder(with_seal({**document, "covers": ["anonymous for ever"]}), OLD / "hidden")


@pytest.mark.parametrize(("name", "release"), [("track", "track.gpx"), ("people", "people.csv")])
def test_a_release_of_0_2_0_is_good_and_what_it_did_not_say_is_told(name: str, release: str) -> None:
    document = read_certificate(OLD / f"{name}.json")
    assert document["sfumato"] == "0.2.0"
    found = sf.verify(document, release=OLD / release)
    assert found.wording_checked
    told = [note for note in found.notes if note.startswith("0.2.0 did not say: ")]
    assert [text.split(": ", 1)[1] for text in told[:2]] == [INDEPENDENT_AXES, LAGGED_AXES]
    assert "at most 2 times as much: odds of at most 10.9 : 1" in told[2]
    verdict = judge(document, release=OLD / release)
    assert (verdict.unchanged, verdict.clean, verdict.protection) == (True, True, "as promised")


def test_a_smooth_track_of_0_2_0_is_unchanged() -> None:
    found = judge_smoothed(OLD / "smooth.gpx.certificate.json", release=OLD / "smooth.gpx", raw=OLD / "track.gpx")
    assert (found.unchanged, found.clean, found.wording_checked) == (True, True, True)


@pytest.mark.parametrize(
    "change",
    [
        {"headline": "Nobody can find you."},
        {"guarantee": {"covers": ["everything, for ever"]}},
        {"guarantee": {"not_covered": []}},
        {"guarantee": {"assumes": []}},
        {"warnings": ["Nothing to fear."]},
        {"releases": {"meaning": "costs nothing"}},
    ],
)
def test_other_words_in_the_name_of_0_2_0_are_not_believed_nor_called_changed(change: dict[str, object]) -> None:
    document = read_certificate(OLD / "track.json")
    forged = {name: {**document[name], **value} if isinstance(value, dict) else value for name, value in change.items()}
    with pytest.raises(OtherVersion, match=r"install 0\.2\.0 to verify"):
        sf.verify(with_seal({**document, **forged}), release=OLD / "track.gpx")


def test_a_field_that_0_2_0_had_may_not_be_missing_in_its_name() -> None:
    document = read_certificate(OLD / "track.json")
    for name in ("headline", "plan", "times"):
        with pytest.raises(VerificationFailed, match=name):
            sf.verify(with_seal({k: v for k, v in document.items() if k != name}), release=OLD / "track.gpx")


@pytest.mark.parametrize("name", FOLDERS)
def test_the_command_accepts_it_and_refuses_it_with_a_file_more_or_a_byte_less(name: str, tmp_path: Path) -> None:
    shutil.copytree(OLD / name, tmp_path / name)
    shutil.copy(certificate_of(OLD / name), tmp_path / "c.json")
    words = ("verify", "c.json", "--release", name)
    code, out, err = run(*words, folder=tmp_path)
    assert "Unchanged?         yes" in out, out + err
    untold = name == "dataset"  # so short that one with white noise could look the same
    assert ("Plausible?         cannot be told" in out) == untold
    assert code == (0 if FOLDERS[name] != "none" and not untold else 1), out + err
    assert "checked: no file beside them" in out
    (tmp_path / name / "more.gpx").write_text("<gpx/>")
    with pytest.raises(VerificationFailed, match=r"more\.gpx"):
        verify_folder(tmp_path / "c.json", tmp_path / name)
    (tmp_path / name / "more.gpx").unlink()
    file = next(path for path in sorted((tmp_path / name).iterdir()) if not path.name.startswith("_"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(VerificationFailed, match="missing or not the file"):
        verify_folder(tmp_path / "c.json", tmp_path / name)
