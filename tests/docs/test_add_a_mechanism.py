"""The page that says how to add a mechanism is followed to the letter: its file, its line, then everything else."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from followed_pages import blocks, page_text, place_of
from repository import ROOT
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.cli import app
from sfumato.pages.report import render
from sfumato.tracks.certificates.build import certificate_body, released_of
from sfumato.tracks.noise.registry import MECHANISMS, all_mechanisms, mechanism_named, taking

PAGE = page_text("add_a_mechanism")
SAMPLE = ROOT / "src" / "sfumato" / "data" / "sample_ride.gpx"


def loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rounding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One new file and one registry line, both as the page prints them."""
    text, line = blocks(PAGE)
    module = place_of(text).removeprefix("src/").removesuffix(".py").replace("/", ".")
    (tmp_path / "rounding.py").write_text(text, encoding="utf-8")
    name, home = re.fullmatch(r'\s*"(\S+)": "(\S+)",\s*', line).groups()  # type: ignore[union-attr]
    assert home.startswith(module + ":")
    loaded(module, tmp_path / "rounding.py")
    monkeypatch.setitem(MECHANISMS, name, home)
    yield name
    del sys.modules[module]


def test_the_example_obeys_every_law(rounding: str) -> None:
    laws = loaded("trace_laws", ROOT / "tests" / "laws" / "test_trace_noise_laws.py")
    laws.check_covariance(laws.mechanism_of(rounding))
    ran = 0
    for name, law in vars(laws).items():
        marks = {mark.name: mark for mark in getattr(law, "pytestmark", [])}
        if name.startswith("test_") and "parametrize" in marks and marks["parametrize"].args[0] == "name":
            law(rounding)
            ran += 1
    assert ran >= 7
    del sys.modules["trace_laws"]


def test_the_example_is_protected_verified_audited_and_reported_and_promises_nothing(
    rounding: str, tmp_path: Path
) -> None:
    out, certificate, page = tmp_path / "r.gpx", tmp_path / "r.json", tmp_path / "r.html"
    words = ["protect", str(SAMPLE), "-o", str(out), "--mechanism", rounding, "--certificate", str(certificate)]
    run = CliRunner().invoke(app, [*words, "--noise", "100m", "--report", str(page)])
    assert run.exit_code == 0, run.output
    assert "promises nothing about places" in run.output
    assert "epsilon" not in run.output
    document = json.loads(certificate.read_text())
    assert document["noise"] is None
    assert document["odds_99"] is None
    assert document["guarantee"]["covers"] == []
    assert document["randomness"].startswith("none")
    assert "promises nothing about places" in page.read_text()
    assert "indistinguishable" not in page.read_text()
    judged = CliRunner().invoke(app, ["verify", str(certificate), "--release", str(out)])
    assert judged.exit_code == 1  # unchanged and clean, but it promises nothing
    assert "Unchanged?         yes" in judged.stdout
    assert "Protection         none" in judged.stdout
    audited = CliRunner().invoke(app, ["audit", str(SAMPLE), str(out), "--certificate", str(certificate), "--json"])
    assert audited.exit_code == 0, audited.output
    assert json.loads(audited.stdout)["interval_68_m"] is None
    refused = CliRunner().invoke(app, [*words, "--odds", "5"])
    assert isinstance(refused.exception, InputError)
    assert "promises no odds" in str(refused.exception)


def test_the_options_it_does_not_take_are_refused(rounding: str) -> None:
    trace = sf.read_trace(SAMPLE)
    for option in ({"prior": "preset"}, {"white_share": 0.1}, {"redraws": 3}, {"secrets": "3"}):
        with pytest.raises(InputError, match=rounding):
            sf.protect(trace, mechanism=rounding, noise_m=100.0, **option)
    with pytest.raises(InputError, match="multiscale noise continues"):
        sf.protect(trace, mechanism=rounding, noise_m=100.0, state="never.json")


def test_without_its_line_the_example_is_refused(rounding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = mechanism_named(rounding)
    done = sf.protect(sf.read_trace(SAMPLE), mechanism=rounding, noise_m=100.0)
    monkeypatch.delitem(MECHANISMS, rounding)
    assert isinstance(done.terms.mechanism, mechanism)
    with pytest.raises(InputError, match="no mechanism 'rounding'"):
        certificate_body(done.terms, released_of([(None, done.release)]))
    with pytest.raises(VerificationFailed, match="no mechanism 'rounding'"):
        sf.verify(done.certificate, release=done.release)
    with pytest.raises(InputError, match="no mechanism 'rounding'"):
        done.audit()
    with pytest.raises(InputError, match="no mechanism 'rounding'"):
        render(release=done.release, certificate=done.certificate)


def test_every_mechanism_is_in_the_table_of_the_docs_and_in_the_help() -> None:
    table = (ROOT / "docs" / "protect.md").read_text(encoding="utf-8")
    shown = re.sub(r"[\s│]+", " ", CliRunner().invoke(app, ["protect", "--help"], terminal_width=200).output)
    for name, mechanism in all_mechanisms().items():
        assert f"| `{name}` |" in table
        assert name in shown
        assert len(mechanism.summary) < 100
    for name in taking("prior"):
        assert name in table
