"""What the browser page's code makes, judged by Python: same cut, same bytes, and certificates that verify."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import page_table
import pytest
from page_rides import HOME, rides

import sfumato as sf
from sfumato.base.errors import VerificationFailed
from sfumato.base.things.frames import differences_m
from sfumato.tracks.certificates.document import file_facts
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.folders.manifest import keyed_name
from sfumato.tracks.folders.rides.hide import Hiding
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import load_places

ROOT = Path(__file__).resolve().parents[3]
JS = ROOT / "clients" / "js"
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import make_page_golden  # noqa: E402

GOLDEN = json.loads((ROOT / "tests" / "golden" / "page.json").read_text("utf-8"))


def _same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            _same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            _same(a, b, f"{where}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-6), where
    else:
        assert one == other, where


def test_the_golden_file_is_what_this_python_computes() -> None:
    _same(make_page_golden.golden(), GOLDEN)


def test_the_table_offers_only_what_verify_calls_protected() -> None:
    table = page_table.table()
    assert len(table["choices"]) == 9
    for choice in table["choices"]:
        for text in (choice["one"], choice["several"]):
            body = json.loads(text)
            assert body["randomness"] == "browser CSPRNG (crypto.getRandomValues)"
            assert (body["simulation"], body["kept"], body["loss_at_times"]) == (False, [], None)
            assert max(body["odds_99"], body["stay_odds_99"]) <= 20


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("node") is None or not (JS / "dist" / "page.js").exists():
        pytest.skip("the page's code is not built: run `make web`")
    path = tmp_path_factory.mktemp("table") / "table.json"
    path.write_text(json.dumps(page_table.table()), encoding="utf-8")
    return path


def made(out: Path, table: Path, inputs: list[Path], **options: Any) -> dict[str, Any]:
    argument = json.dumps({"inputs": [str(path) for path in inputs], "table": str(table), "out": str(out), **options})
    run = subprocess.run(
        ["node", str(JS / "make_release.mjs"), argument], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_hidden_rides_are_byte_for_byte_what_python_hides_with_the_same_places_file(
    table: Path, tmp_path: Path
) -> None:
    inputs = rides(tmp_path, 4)
    found = made(tmp_path / "out", table, inputs, hide=[["home", *HOME, 800]])
    places = load_places(tmp_path / "out" / "me.places")
    hiding, key = Hiding(places), places.derive("names")
    wanted = {}
    for path in inputs:
        left = hiding.publish(sf.read_trace(path))
        assert left is not None
        sf.write_trace(left, tmp_path / "python.gpx")
        digest = bytes.fromhex(str(file_facts(tmp_path / "python.gpx")["file_sha256"]))
        wanted[keyed_name(key, digest, ".gpx")] = (tmp_path / "python.gpx").read_bytes()
    shared = tmp_path / "out" / "shared"
    assert {path.name: path.read_bytes() for path in shared.iterdir()} == wanted
    for path in shared.iterdir():
        trace = sf.read_trace(path)
        assert not places.zones[0].holds(surface(trace.lat_deg, trace.lon_deg)).any()
        assert b"home" not in path.read_bytes()
        assert b"ele" not in path.read_bytes()
    assert found["leaks"][0]["bestM"] is not None
    verified = verify_folder(tmp_path / "out" / "certificate.json", shared)
    assert verified.wording_checked
    assert verified.certificate["noise"] is None
    with zipfile.ZipFile(tmp_path / "out" / "release.zip") as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {"certificate.json", *(f"shared/{name}" for name in wanted)}


@pytest.mark.parametrize("choice", [("medium", "day"), ("low", "year"), ("high", "week")])
def test_one_blurred_file_is_good_in_all_four_answers(table: Path, tmp_path: Path, choice: tuple[str, str]) -> None:
    inputs = rides(tmp_path, 1, seed=3)
    found = made(tmp_path / "out", table, inputs, choice=choice)
    assert found == {"single": True, "files": ["shared.gpx"], "leaks": []}
    release = tmp_path / "out" / "shared" / "shared.gpx"
    verdict = judge(tmp_path / "out" / "certificate.json", release=release)
    assert verdict.ok, verdict.lines()
    before, after = sf.read_trace(inputs[0]), sf.read_trace(release)
    moved = differences_m(before.lat_deg, before.lon_deg, after.lat_deg, after.lon_deg)
    noise_m = read_certificate(tmp_path / "out" / "certificate.json")["rms_noise_m"]
    assert 0.05 * noise_m < np.sqrt(np.mean(moved**2)) < 4 * noise_m


def test_hidden_and_blurred_rides_verify_and_a_changed_byte_does_not(table: Path, tmp_path: Path) -> None:
    made(tmp_path / "out", table, rides(tmp_path, 3, seed=5), hide=[["home", *HOME, 400]], choice=("medium", "year"))
    certificate, shared = tmp_path / "out" / "certificate.json", tmp_path / "out" / "shared"
    verified = verify_folder(certificate, shared)
    assert verified.certificate["noise"]["prior_class"]["name"] == "year"
    assert any("every sentence" in line for line in verified.checks)
    file = next(shared.iterdir())
    file.write_bytes(file.read_bytes().replace(b"8.", b"9.", 1))
    with pytest.raises(VerificationFailed):
        verify_folder(certificate, shared)


def test_several_blurred_files_share_one_noise(table: Path, tmp_path: Path) -> None:
    """The same ride twice under two names is one ride: noise of its own for each would average out."""
    (ride,) = rides(tmp_path, 1, seed=8)
    other = tmp_path / "other.geojson"
    trace = sf.read_trace(ride)
    sf.write_trace(trace, other)
    made(tmp_path / "out", table, [ride, other], choice=("low", "day"))
    shared = [sf.read_trace(path) for path in (tmp_path / "out" / "shared").iterdir()]
    assert len(shared) == 2
    np.testing.assert_array_equal(shared[0].lat_deg, shared[1].lat_deg)
    verify_folder(tmp_path / "out" / "certificate.json", tmp_path / "out" / "shared")
