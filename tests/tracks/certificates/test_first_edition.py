"""Files written by the first edition (0.1.0) are read, or refused with words: certificates, states and a ledger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT

import sfumato as sf
from sfumato.accountant.ledger import read_ledger, record
from sfumato.base.errors import BudgetExceeded, InputError, VerificationFailed
from sfumato.pages.report import render
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.certificates.state import load_state
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.noise.registry import MECHANISMS
from sfumato.tracks.trace_entries import entry_from_certificate, total_loss

OLD = ROOT / "tests" / "golden" / "v0_1"
CERTIFICATES = sorted(path.stem for path in OLD.glob("*.json") if path.with_suffix(".gpx").exists())


def private(tmp_path: Path, name: str) -> Path:
    """A copy that only its owner may read: git does not keep that."""
    path = tmp_path / name
    shutil.copy(OLD / name, path)
    path.chmod(0o600)
    return path


def test_there_is_a_certificate_of_every_mechanism_of_the_first_edition() -> None:
    found = {read_certificate(OLD / f"{name}.json")["mechanism"] for name in CERTIFICATES}
    assert found == {"multiscale", "prior-shaped", "mixed", "independent", "planar-laplace", "secrets"}
    assert found <= set(MECHANISMS)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_an_old_certificate_is_refused_with_words_and_its_numbers_verify_where_they_are_true(name: str) -> None:
    """Its sentences promised what does not hold; its numbers do, except for stays among chosen secrets."""
    with pytest.raises(VerificationFailed, match=r"Made by sfumato 0\.1\.0"):
        sf.verify(OLD / f"{name}.json", release=OLD / f"{name}.gpx")
    if name.startswith("secrets"):
        with pytest.raises(VerificationFailed, match="stays"):
            sf.verify(OLD / f"{name}.json", release=OLD / f"{name}.gpx", ignore_wording=True)
        return
    found = sf.verify(OLD / f"{name}.json", release=OLD / f"{name}.gpx", ignore_wording=True)
    assert not found.wording_checked
    assert any("0.1.0" in note for note in found.notes)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_an_old_certificate_is_audited_and_reported(name: str) -> None:
    original, release = sf.read_trace(OLD / "ride.gpx"), sf.read_trace(OLD / f"{name}.gpx")
    document = read_certificate(OLD / f"{name}.json")
    assert audit(original, release, document).holds is not False
    assert Certificate.of(document).headline in render(release=release, certificate=document).replace("&#x27;", "'")


def test_an_old_certificate_that_claims_another_version_or_another_number_is_refused_with_words() -> None:
    document = read_certificate(OLD / "multiscale.json")
    release = sf.read_trace(OLD / "multiscale.gpx")
    with pytest.raises(VerificationFailed, match=r"Made by sfumato 0\.0\.1"):
        sf.verify(with_seal({**document, "sfumato": "0.0.1"}), release=release)
    with pytest.raises(VerificationFailed, match="odds_99"):
        sf.verify(with_seal({**document, "odds_99": 2.0}), release=release, ignore_wording=True)
    with pytest.raises(VerificationFailed, match="plan"):  # one that has a plan has a true one
        sf.verify(with_seal({**document, "plan": {"odds": 2.0}}), release=release, ignore_wording=True)


@pytest.mark.parametrize(("state", "passphrase"), [("state.json", None), ("state_encrypted.json", "correct horse")])
def test_an_old_state_goes_on_with_the_same_noise(tmp_path: Path, state: str, passphrase: str | None) -> None:
    path = private(tmp_path, state)
    assert load_state(path, passphrase=passphrase).prior_class == "day"
    before = sf.read_trace(OLD / ("continuing.gpx" if passphrase is None else "continuing_encrypted.gpx"))
    again = sf.protect(sf.read_trace(OLD / "ride.gpx"), state=path, passphrase=passphrase)
    np.testing.assert_allclose(again.release.lat_deg, before.lat_deg, atol=1e-7)
    np.testing.assert_allclose(again.release.lon_deg, before.lon_deg, atol=1e-7)
    with pytest.raises(InputError, match="Two sizes"):
        sf.protect(sf.read_trace(OLD / "ride.gpx"), state=path, passphrase=passphrase, odds=3.0)


def test_an_old_ledger_is_read_and_goes_on_counting(tmp_path: Path) -> None:
    path = private(tmp_path, "ledger.json")
    document = json.loads((OLD / "continuing.json").read_text())
    spent = read_ledger(path).total("alice", total_loss)
    assert spent == pytest.approx(2 * document["worst_loss"])
    ride = sf.read_trace(OLD / "ride.gpx")
    entry = entry_from_certificate(sf.protect(ride).certificate, process="new")
    with pytest.raises(InputError, match="differently shaped"):  # the shares of today: no rule says what both cost
        record(path, "alice", entry, total_loss)
    new = sf.protect(ride, constant_share=0.1).certificate
    after = record(path, "alice", entry_from_certificate(new, process="new"), total_loss)
    assert after.total("alice", total_loss) == pytest.approx(1.5 * spent)
    small = sf.protect(ride, noise_m=50.0, constant_share=0.1).certificate
    with pytest.raises(BudgetExceeded):
        record(path, "alice", entry_from_certificate(small, process="loud"), total_loss)
