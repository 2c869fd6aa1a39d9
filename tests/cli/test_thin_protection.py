"""Tiny noises speak in words, and a certificate is in place before its release."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.base.files import Staged
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.pages.report import render
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.people.door import protect


@pytest.mark.parametrize("wish", [["--noise", "5m"], ["--epsilon", "1000"]])
def test_a_tiny_noise_is_written_with_a_warning_and_not_verified(tmp_path: Path, wish: list[str]) -> None:
    ride, out, certificate = (str(tmp_path / name) for name in ("a.gpx", "b.gpx", "b.json"))
    write_trace(Trace(48.5 + np.arange(30) * 1e-4, np.full(30, 2.5), 1.7e9 + np.arange(30) * 10.0), ride)
    done = CliRunner().invoke(app, ["protect", ride, "-o", out, "--certificate", certificate, *wish])
    assert done.exit_code == 0, done.output
    assert "this protects nothing" in done.output
    assert CliRunner().invoke(app, ["verify", certificate, "--release", out]).exit_code == 1


def _ride(path: Path, step_deg: float) -> None:
    rows = "".join(
        f'<trkpt lat="{48.5 + k * step_deg:.6f}" lon="2.5"><ele>{100 + 37 * k % 11}</ele>'
        f"<time>2024-05-01T12:{k:02d}:00Z</time></trkpt>"
        for k in range(30)
    )
    path.write_text(f'<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{rows}</trkseg></trk></gpx>')


def test_kept_fields_are_named_in_terminal_certificate_and_both_reports(tmp_path: Path) -> None:
    _ride(tmp_path / "a.gpx", 1e-2)
    words = [*("protect", "a.gpx", "-o", "b.gpx", "--certificate", "b.json", "--keep", "elevation"), "--report"]
    with contextlib.chdir(tmp_path):
        done = CliRunner().invoke(app, [*words, "private.html", "--public-report", "public.html"])
    assert done.exit_code == 0, done.output
    assert "Kept as recorded, without noise: elevation." in done.output
    certificate = json.loads((tmp_path / "b.json").read_text())
    assert certificate["warnings"][0].startswith("Kept as recorded, without noise: elevation.")
    for name in ("private.html", "public.html"):
        assert "Also in the release, exactly as recorded: elevation." in (tmp_path / name).read_text()


@pytest.mark.parametrize("private", [True, False])
def test_a_report_is_red_exactly_where_protection_is_none_or_hardly_any(private: bool) -> None:
    ride = Trace(48.5 + np.arange(30) * 1e-3, np.full(30, 2.5), 1.7e9 + np.arange(30) * 10.0)
    for noise_m, said in ((5.0, "protects nothing"), (250.0, "protects hardly anything"), (709.0, None)):
        done = protect(ride, noise_m=noise_m)
        original = done.original if private else None
        page = render(release=done.release, certificate=done.certificate, original=original)
        assert ("banner warning" in page) == (said is not None)
        assert said is None or said in page
        assert not re.search(r"[0-9 ]{12,} : 1", page)
        assert ("Contains nothing of the original track" in page) != private


def test_noise_larger_than_the_track_or_than_a_region_is_warned_about(tmp_path: Path) -> None:
    _ride(tmp_path / "a.gpx", 1e-5)
    ride, out, certificate = (str(tmp_path / name) for name in ("a.gpx", "b.gpx", "b.json"))
    words = ["protect", ride, "-o", out, "--certificate", certificate]
    done = CliRunner().invoke(app, words)
    assert "the noise (709 m) is larger than the whole track (32.2 m across): nothing of the way is left" in done.output
    assert json.loads(Path(certificate).read_text())["warnings"] == []  # the size of a track is private
    done = CliRunner().invoke(app, [*words, "--noise", "84km"])
    said = "Noise of 84 km per coordinate leaves the region, and nothing of the way."
    assert said in done.output
    assert json.loads(Path(certificate).read_text())["warnings"][0].startswith(said)


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
