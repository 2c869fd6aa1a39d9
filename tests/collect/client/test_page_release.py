"""What the browser page's code makes, judged by Python: same cut, same bytes, and certificates that verify."""

from __future__ import annotations

import json
import re
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
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.folders.manifest import keyed_name
from sfumato.tracks.folders.rides.hide import Hiding
from sfumato.tracks.folders.verify_folder import judge_folder, verify_folder
from sfumato.tracks.noise.plausibility import ENOUGH_POWER, REFUSED_BELOW, WHOLE
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
        for text in (choice["noise"], choice["noise_kept"]):
            body = json.loads(text)
            assert body["randomness"] == "browser CSPRNG (crypto.getRandomValues)"
            kept = ["heart_rate"] if text is choice["noise_kept"] else []
            assert (body["simulation"], body["kept"], body["loss_at_times"]) == (False, kept, None)
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


def test_heart_rates_that_are_kept_are_those_that_python_keeps(table: Path, tmp_path: Path) -> None:
    inputs = rides(tmp_path, 4)
    made(tmp_path / "out", table, inputs, hide=[["home", *HOME, 800]], keep=True)
    hiding = Hiding(load_places(tmp_path / "out" / "me.places"), keep=("heart_rate",))
    wanted, near_cuts = set(), 0
    for path in inputs:
        left = hiding.publish(sf.read_trace(path, keep=["heart_rate"]))
        assert left is not None
        near_cuts += int(np.isnan(left.columns["heart_rate"]).sum()) - len(left) // 9
        sf.write_trace(left, tmp_path / "python.gpx")
        wanted.add((tmp_path / "python.gpx").read_bytes())
    shared = tmp_path / "out" / "shared"
    assert {path.read_bytes() for path in shared.iterdir()} == wanted
    assert near_cuts > 20, "a minute beside a cut is empty"
    assert all(b"<gpxtpx:hr>" in ride for ride in wanted)
    verdict = judge_folder(tmp_path / "out" / "certificate.json", shared)
    assert (verdict.unchanged, verdict.clean) == (True, True), verdict.lines()
    assert "heart_rate" in verdict.exact


def test_heart_rates_of_blurred_rides_are_named_in_both_certificates(table: Path, tmp_path: Path) -> None:
    made(tmp_path / "out", table, rides(tmp_path, 1, points=500), choice=("medium", "day"), keep=True)
    verdict = judge_folder(tmp_path / "out" / "certificate.json", tmp_path / "out" / "shared" / "shared.gpx")
    assert verdict.ok, verdict.lines()
    assert verdict.exact == ("heart_rate",)
    document = read_certificate(tmp_path / "out" / "certificate.json")
    assert document["kept"] == document["noise"]["kept"] == ["heart_rate"]
    without = made(tmp_path / "without", table, [tmp_path / "ride 0.gpx"], choice=("medium", "day"))
    assert without["files"] == ["shared.gpx"]
    assert b":hr>" not in (tmp_path / "without" / "shared" / "shared.gpx").read_bytes()


def test_heart_rates_that_are_degrees_are_refused(table: Path, tmp_path: Path) -> None:
    (ride,) = rides(tmp_path, 1)
    text = re.sub(r'(lat="(-?[\d.]+)".*?<x:hr>)[\d.]+', r"\g<1>\2", ride.read_text())
    ride.write_text(text)
    with pytest.raises(AssertionError, match="heart rates follow the position"):
        made(tmp_path / "out", table, [ride], hide=[["home", *HOME, 400]], keep=True)


@pytest.mark.parametrize("choice", [("low", "day"), ("medium", "day"), ("medium", "year"), ("high", "week")])
def test_one_blurred_ride_is_good_in_all_four_answers(table: Path, tmp_path: Path, choice: tuple[str, str]) -> None:
    inputs = rides(tmp_path, 1, seed=3, points=500)
    found = made(tmp_path / "out", table, inputs, choice=choice)
    assert found == {"single": True, "files": ["shared.gpx"], "leaks": []}
    release = tmp_path / "out" / "shared" / "shared.gpx"
    verdict = judge_folder(tmp_path / "out" / "certificate.json", release)
    assert verdict.ok, verdict.lines()
    before, after = sf.read_trace(inputs[0]), sf.read_trace(release)
    moved = differences_m(before.lat_deg, before.lon_deg, after.lat_deg, after.lon_deg)
    noise_m = read_certificate(tmp_path / "out" / "certificate.json")["noise"]["rms_noise_m"]
    assert 0.05 * noise_m < np.sqrt(np.mean(moved**2)) < 4 * noise_m


def test_what_the_page_says_can_be_told_verify_tells() -> None:
    """At the corners of what the table promises: few points, close ones, and three hours of one a second."""
    least = page_table.TOLD
    few, longest_s = least["points"], least["every_s"]
    corners = [(few, 5), (few, longest_s), (least["span_s"], 1), (least["most_points"], 1)]
    for level, prior_class in [("low", "day"), ("medium", "year")]:
        assert page_table.choice(level, prior_class)["told"] == least
        mechanism = page_table.terms_of(level, prior_class).mechanism
        for points, step_s in corners:
            test = mechanism.roughness(1.7e9 + step_s * np.arange(points, dtype=np.float64), 0.1)
            assert test is not None
            power = test.power(REFUSED_BELOW)
            assert min(power[name] for name in WHOLE) >= ENOUGH_POWER, (level, prior_class, points, step_s)
    assert page_table.choice("low", "week")["told"] is None


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
