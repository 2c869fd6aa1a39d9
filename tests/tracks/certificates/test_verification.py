"""Verification recomputes everything: one changed byte, number or sentence is found, and the reason is given."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.base.errors import InputError, SfumatoError, VerificationFailed
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import certificate_body, released_of
from sfumato.tracks.certificates.document import SEAL, certificate_text, with_file, with_seal
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.certificates.verify import read_certificate, verify
from sfumato.tracks.io import write_trace
from sfumato.tracks.people.door import protect


def ride(count: int = 25) -> Trace:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(count, 2)).cumsum(axis=0) * 2e-4
    return Trace(48.5 + steps[:, 0], 2.5 + steps[:, 1], 1.7e9 + np.arange(count) * 10.0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("verification")
    done = protect(ride())
    release, document = folder / "shared.gpx", folder / "shared.json"
    write_trace(done.release, release)
    document.write_text(certificate_text(with_seal(with_file(done.body, release))))
    return document, release


def test_what_was_written_verifies(files: tuple[Path, Path]) -> None:
    found = verify(files[0], release=files[1])
    assert "every byte of the release" in found.checks
    assert found.to_dict()["ok"]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_one_changed_byte_of_the_certificate_is_found(files: tuple[Path, Path], data: st.DataObject) -> None:
    text = files[0].read_bytes()
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[at]))
    changed = files[0].with_name("changed.json")
    changed.write_bytes(text[:at] + bytes([byte]) + text[at + 1 :])
    with pytest.raises(VerificationFailed):
        verify(changed, release=files[1])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_changed_byte_of_the_release_is_found(files: tuple[Path, Path], data: st.DataObject) -> None:
    content = files[1].read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != content[at]))
    changed = files[1].with_name("changed.gpx")
    changed.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])
    with pytest.raises(VerificationFailed, match="bytes differ"):
        verify(files[0], release=changed)


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for i, item in enumerate(value) for leaf in leaves(item, (*path, i))]
    return [path]


def test_every_single_field_is_recomputed_even_when_the_certificate_is_sealed_again(files: tuple[Path, Path]) -> None:
    """A forger who recomputes the hash is still caught, field by field: version, source and wish included."""
    document = read_certificate(files[0])
    checked = 0
    for path in leaves(document):
        if path == (SEAL,):
            continue
        forged = copy.deepcopy(document)
        place = forged
        for key in path[:-1]:
            place = place[key]
        value = place[path[-1]]
        if isinstance(value, bool):
            place[path[-1]] = not value
        elif isinstance(value, int | float):
            place[path[-1]] = value * 0.5 if value else 1.0
        elif value is None:
            place[path[-1]] = 1.0
        else:
            place[path[-1]] = value + " "
        with pytest.raises(SfumatoError):
            verify(with_seal(forged), release=files[1])
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("name", ["headline", "plan", "times", "several_files", "if_turning"])
def test_what_older_versions_did_not_say_is_missed_in_todays(name: str, files: tuple[Path, Path]) -> None:
    """Without `if_turning`, which warns, or the headline a certificate was Good."""
    forged = {key: value for key, value in read_certificate(files[0]).items() if key != name}
    with pytest.raises(VerificationFailed, match=f"'{name}' is missing"):
        verify(with_seal(forged), release=files[1])


def test_a_number_beyond_use_is_a_change_and_no_crash(files: tuple[Path, Path]) -> None:
    forged = read_certificate(files[0])
    forged["parameters"]["noise_m"] = 1e300
    with pytest.raises(VerificationFailed, match="do not hold"):
        verify(with_seal(forged), release=files[1])


def test_a_stronger_wish_than_the_noise_keeps_is_found(files: tuple[Path, Path]) -> None:
    forged = read_certificate(files[0])
    forged["target"] = {"odds": 1.5, "epsilon": None, "noise_m": None}
    with pytest.raises(VerificationFailed, match="do not hold"):
        verify(with_seal(forged), release=files[1])


def test_a_smaller_class_of_priors_or_a_heavier_ladder_cannot_be_claimed(files: tuple[Path, Path]) -> None:
    document = read_certificate(files[0])
    forged = copy.deepcopy(document)
    forged["parameters"]["prior_class"]["length_scales_s"] = [10.0, 100.0]
    forged["prior_class"]["length_scales_s"] = [10.0, 100.0]
    with pytest.raises(VerificationFailed):
        verify(with_seal(forged), release=files[1])
    forged = copy.deepcopy(document)
    forged["parameters"]["ladder"]["weights"] = [0.5, 0.5, 0, 0, 0, 0]
    with pytest.raises(VerificationFailed):
        verify(with_seal(forged), release=files[1])


def test_positions_off_the_grid_are_found(files: tuple[Path, Path]) -> None:
    done = protect(ride(), snap_m=50.0)
    moved = done.release.moved_to(done.release.lat_deg + 3e-5, done.release.lon_deg)
    forged = with_seal(certificate_body(done.terms, released_of([(None, moved)])))
    with pytest.raises(VerificationFailed, match="grid"):
        verify(forged, release=moved)


def test_another_release_another_format_or_no_release_is_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = protect(ride()).release
    write_trace(other, tmp_path / "other.gpx")
    with pytest.raises(VerificationFailed):
        verify(files[0], release=tmp_path / "other.gpx")
    with pytest.raises(VerificationFailed):
        verify(files[0], release=other)
    with pytest.raises(InputError):
        verify(files[0], release=tmp_path / "absent.gpx")
    with pytest.raises(InputError):
        verify(tmp_path / "absent.json", release=files[1])
    (tmp_path / "cut.gpx").write_bytes(files[1].read_bytes()[:200])
    with pytest.raises(VerificationFailed):
        verify(files[0], release=tmp_path / "cut.gpx")


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"format": 1}', '{"format": NaN}', '{"format": 2'])
def test_what_is_no_certificate_is_refused(files: tuple[Path, Path], tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(VerificationFailed):
        verify(path, release=files[1])


def test_releases_close_to_a_cells_border_verify_on_coarse_grids() -> None:
    rng = np.random.default_rng(3)
    count = 400
    at = Trace(48 + rng.normal(size=count) * 0.003, 3 + rng.normal(size=count) * 0.003, np.arange(count) * 60.0)
    done = protect(at, noise_m=300.0, snap_m=30.0)
    assert verify(done.certificate, release=done.release).checks


def test_a_signature_says_who_and_a_changed_or_foreign_one_is_found(files: tuple[Path, Path], tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    keys = {}
    for name in ("me", "you"):
        key = Ed25519PrivateKey.generate()
        keys[name] = tmp_path / f"{name}.pem"
        keys[name].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
    document = with_seal(read_certificate(files[0]), signer_with(keys["me"]))
    found = verify(document, release=files[1], signer=tmp_path / "me.pub")
    assert any("signature" in check for check in found.checks)
    assert verify(document, release=files[1], signer=document["signature"]["public_key"]).checks
    with pytest.raises(VerificationFailed, match="another key"):
        verify(document, release=files[1], signer=tmp_path / "you.pub")
    with pytest.raises(VerificationFailed, match="not signed"):
        verify(files[0], release=files[1], signer=tmp_path / "me.pub")
    for change in (
        {"randomness": "dice"},
        {"signature": {}},
        {"signature": {**document["signature"], "value": "AAAA"}},
    ):
        with pytest.raises(VerificationFailed, match="signature"):
            verify(with_seal({**document, **change}), release=files[1])
    with pytest.raises(InputError):
        signer_with(files[1])
    with pytest.raises(InputError):
        signer_with(tmp_path / "absent.pem")


def test_sentences_that_cannot_be_written_again_are_refused_whatever_version_they_claim(
    files: tuple[Path, Path],
) -> None:
    forged = read_certificate(files[0])
    forged["sfumato"] = "0.0.9"
    with pytest.raises(VerificationFailed, match=r"Made by sfumato 0\.0\.9; this is .*--ignore-wording"):
        verify(with_seal(forged), release=files[1])
    forged["guarantee"]["covers"] = ["everything, anonymous for ever"]
    forged["guarantee"]["not_covered"] = []
    with pytest.raises(VerificationFailed):
        verify(with_seal(forged), release=files[1])
    forged["sfumato"] = read_certificate(files[0])["sfumato"]
    with pytest.raises(VerificationFailed, match="covers"):
        verify(with_seal(forged), release=files[1])
    for odd in ("9\x1b[2J", None, "a b", ["0.1.0"]):
        with pytest.raises(VerificationFailed, match="unknown version"):
            verify(with_seal({**forged, "sfumato": odd}), release=files[1])


@pytest.mark.parametrize(
    "change",
    [
        {"target": {"odds": None, "epsilon": None, "noise_m": 150.0}},
        {"target": {"odds": 50.0, "epsilon": None, "noise_m": None}},
        {"target": {"odds": 5.01, "epsilon": None, "noise_m": None}},
        {"target": {"odds": None, "epsilon": 3.0, "noise_m": None}},
        {"randomness": "dice"},
        {"randomness": "seeded generator (simulation)"},
        {"randomness": "key from the operating system CSPRNG, AES-256"},
        {"simulation": True},
        {"simulation": 0},
    ],
    ids=str,
)
def test_another_wish_or_another_source_of_randomness_cannot_be_claimed(
    files: tuple[Path, Path], change: dict[str, Any]
) -> None:
    document = read_certificate(files[0])
    with pytest.raises(VerificationFailed):
        verify(with_seal({**document, **change}), release=files[1])


@pytest.mark.parametrize("mechanism", ["independent", "planar-laplace", "mixed"])
def test_no_mechanism_lets_its_wish_be_weakened_afterwards(mechanism: str) -> None:
    prior = {"prior": "preset"} if mechanism == "mixed" else {}
    for wish in ({"odds": 5.0}, {"epsilon": 0.8}, {"noise_m": 77.7}):
        done = protect(ride(), mechanism=mechanism, **wish, **prior)
        assert verify(done.certificate, release=done.release).checks
        name = next(iter(wish))
        weaker = {**done.certificate["target"], name: wish[name] * (0.99 if name == "noise_m" else 1.01)}
        with pytest.raises(VerificationFailed, match="do not hold"):
            verify(with_seal({**done.certificate, "target": weaker}), release=done.release)


def test_without_the_wording_another_version_may_word_the_promise_otherwise_but_not_change_a_number(
    files: tuple[Path, Path],
) -> None:
    document = read_certificate(files[0])
    older = copy.deepcopy(document)
    older["sfumato"] = "0.0.9"
    older["guarantee"]["covers"] = ["the same, in other words"]
    older["releases"]["meaning"] = "likewise"
    found = verify(with_seal(older), release=files[1], ignore_wording=True)
    assert not found.wording_checked
    assert not found.to_dict()["wording_checked"]
    assert not any("sentence" in check for check in found.checks)
    assert found.notes
    assert verify(document, release=files[1]).wording_checked
    for path, value in (
        (("guarantee", "parameters", "epsilon"), 0.1), (("releases", "redraws"), 2), (("worst_loss",), 1e-9),
        (("mechanism",), "magic"), (("releases", "mode"), "continuing"), (("guarantee", "simulation"), True),
        (("guarantee", "covers"), 7), (("odds_per_point",), 1.5), (("randomness",), "dice"),
    ):  # fmt: skip
        forged = copy.deepcopy(older)
        place = forged
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(VerificationFailed):
            verify(with_seal(forged), release=files[1], ignore_wording=True)


def test_a_certificate_means_the_same_after_json(files: tuple[Path, Path]) -> None:
    document = read_certificate(files[0])
    assert with_seal(json.loads(json.dumps(document))) == document


@pytest.mark.parametrize("ending", ["gpx", "geojson", "csv", "parquet", "geoparquet", "kml", "gpkg"])
def test_what_was_kept_cannot_be_left_unsaid(tmp_path: Path, ending: str) -> None:
    plain = ride(4)
    trace = Trace(plain.lat_deg, plain.lon_deg, plain.times_s, columns={"elevation": [1.0, 2.0, 3.0, 4.0]})
    path = tmp_path / f"r.{ending}"
    for keep in ([], ["elevation"]):
        done = protect(trace, keep=keep)
        write_trace(done.release, path)
        assert verify(done.certificate, release=path).checks
        assert verify(done.certificate, release=done.release).checks
    with pytest.raises(VerificationFailed, match="elevation"):
        verify(with_seal({**done.certificate, "kept": []}), release=path)
