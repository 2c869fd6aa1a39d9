"""Folders that 0.2.0 wrote are verified: archives and datasets, hidden and with noise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command import run
from repository import ROOT

from sfumato.base.errors import VerificationFailed
from sfumato.base.version import __version__
from sfumato.tracks.folders.verify_folder import judge_folder, verify_folder

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
    found = verify_folder(document, folder, ignore_wording=document["sfumato"] != __version__)
    assert found.checks[1].startswith("every byte of")
    assert ("losses" in " ".join(found.checks)) == (document["noise"] is not None)
    assert judge_folder(document, folder, ignore_wording=True).protection == FOLDERS[name]


def test_a_folder_of_another_version_is_not_called_changed() -> None:
    """Of a track the verdict said NOT CHECKED, of a folder NOT GOOD."""
    found = judge_folder(certificate_of(OLD / "noisy"), OLD / "noisy")
    assert (found.unchanged, found.ok) == (None, False)
    assert "install 0.2.0 to verify" in found.reasons["unchanged"]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_command_accepts_it_and_refuses_it_with_a_file_more_or_a_byte_less(name: str, tmp_path: Path) -> None:
    shutil.copytree(OLD / name, tmp_path / name)
    shutil.copy(certificate_of(OLD / name), tmp_path / "c.json")
    words = ("verify", "c.json", "--release", name, "--ignore-wording")
    code, out, err = run(*words, folder=tmp_path)
    assert "Unchanged?         yes" in out, out + err
    untold = name == "dataset"  # so short that one with white noise could look the same
    assert ("Plausible?         cannot be told" in out) == untold
    assert code == (0 if FOLDERS[name] != "none" and not untold else 1), out + err
    assert "checked: no file beside them" in out
    (tmp_path / name / "more.gpx").write_text("<gpx/>")
    with pytest.raises(VerificationFailed, match=r"more\.gpx"):
        verify_folder(tmp_path / "c.json", tmp_path / name, ignore_wording=True)
    (tmp_path / name / "more.gpx").unlink()
    file = next(path for path in sorted((tmp_path / name).iterdir()) if not path.name.startswith("_"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(VerificationFailed, match="missing or not the file"):
        verify_folder(tmp_path / "c.json", tmp_path / name, ignore_wording=True)
