"""Tiny noises speak in words, and a certificate is in place before its release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.files import Staged
from sfumato.io import read_trace, write_trace
from sfumato.traces import Trace


@pytest.mark.parametrize("wish", [["--noise", "5m"], ["--epsilon", "1000"]])
def test_a_tiny_noise_is_written_with_a_warning_and_not_verified(tmp_path: Path, wish: list[str]) -> None:
    ride, out, certificate = (str(tmp_path / name) for name in ("a.gpx", "b.gpx", "b.json"))
    write_trace(Trace(48.5 + np.arange(30) * 1e-4, np.full(30, 2.5), 1.7e9 + np.arange(30) * 10.0), ride)
    done = CliRunner().invoke(app, ["protect", ride, "-o", out, "--certificate", certificate, *wish])
    assert done.exit_code == 0, done.output
    assert "this protects nothing" in done.output
    assert CliRunner().invoke(app, ["verify", certificate, "--release", out]).exit_code == 1


def test_the_release_is_placed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[str] = []
    real = Staged._place
    monkeypatch.setattr(Staged, "_place", lambda self, a, b: (placed.append(b.name), real(self, a, b))[1])
    with Staged() as staged:
        for name in ("release", "certificate", "report"):
            staged.add_text(tmp_path / name, name)
        staged.commit(last=tmp_path / "release")
    assert placed == ["certificate", "report", "release"]


def test_blanks_before_an_xml_declaration_and_spaces_in_owntracks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gpx"
    write_trace(Trace([48.5, 48.6], [2.5, 2.6], [0.0, 1.0]), path)
    path.write_text("\n  \n" + path.read_text())
    assert len(read_trace(path)) == 2
    rec = tmp_path / "a.rec"
    line = '2024-05-01T12:00:00Z * {"_type": "location", "lat": 48.5, "lon": 2.5, "tst": 1714564800}'
    rec.write_text(line + "\n")
    assert len(read_trace(rec)) == 1
