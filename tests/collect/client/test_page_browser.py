"""A person protects tracks on the page in a real browser, from the disk, without a request; Python judges the files."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from page_rides import HOME, rides
from page_table import table

import sfumato as sf
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import load_places

ROOT = Path(__file__).resolve().parents[3]
WEB = ROOT / "web"
PAGE = WEB / "dist-page" / "sfumato-protect.html"
PICTURES = ROOT / "test-output" / "browser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

SFUMATO = [sys.executable, "-c", "from sfumato.cli import main; main()"]
pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, list[Path]]:
    if CHROMIUM is None or shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("chromium, node or playwright-core is not installed: run `make web`")
    if not PAGE.exists():
        pytest.skip("the page is not built: run `make web`")
    built_from = json.loads((WEB / "src" / "page" / "table.json").read_text("utf-8"))
    words = [
        [json.loads(choice[kind])["guarantee"] for kind in ("noise", "noise_kept")] for choice in built_from["choices"]
    ]
    now = [[json.loads(choice[kind])["guarantee"] for kind in ("noise", "noise_kept")] for choice in table()["choices"]]
    assert words == now, "the page is older than the certificate's words: run `make web`"
    folder = tmp_path_factory.mktemp("page")
    inputs = rides(folder, 3, seed=21)
    many = folder / "export.zip"
    with zipfile.ZipFile(many, "w", zipfile.ZIP_DEFLATED) as export:
        for number, path in enumerate(rides((folder / "many"), 200, seed=5, points=40)):
            export.write(path, f"activities/{number}.gpx")
        export.writestr("activities/7.fit", b"\x0e\x10.FIT")
    alone = folder / "alone.gpx.gz"
    alone.write_bytes(gzip.compress(inputs[0].read_bytes()))
    argument = {
        "page": str(PAGE), "inputs": [str(path) for path in inputs], "out": str(folder / "out"),
        "packed": [str(many), str(alone)], "short": str(rides(folder / "short", 1, points=60, every_s=60.0)[0]),
        "pictures": str(PICTURES), "executable": CHROMIUM, "home": HOME,
    }  # fmt: skip
    run = subprocess.run(
        ["node", str(WEB / "test" / "protect.mjs"), json.dumps(argument)],
        cwd=WEB, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    (folder / "out" / "me.places").chmod(0o600)
    return json.loads(run.stdout.strip().splitlines()[-1]), folder / "out", inputs


def verified(certificate: Path, release: Path) -> dict[str, Any]:
    """`sfumato verify` as anybody would run it."""
    command = [*SFUMATO, "verify", str(certificate), "--release", str(release), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def unpacked(out: Path, name: str) -> Path:
    folder = out / name.removesuffix(".zip")
    with zipfile.ZipFile(out / name) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


Walk = tuple[dict[str, Any], Path, list[Path]]


def test_the_page_makes_no_request_and_reports_no_problem(walk: Walk) -> None:
    found, _, _ = walk
    for name in ("hidden", "blurred", "again", "bad"):
        assert found[name]["outside"] == [], name
        assert found[name]["problems"] == [], name


def test_hidden_rides_verify_and_hold_nothing_of_the_zone(walk: Walk) -> None:
    found, out, inputs = walk
    folder = unpacked(out, "hidden.zip")
    verified(folder / "certificate.json", folder / "shared")
    places = load_places(out / "me.places")
    (zone,) = places.zones
    files = sorted((folder / "shared").iterdir())
    assert len(files) == len(inputs)
    inside: set[str] = set()
    for path in inputs:
        trace = sf.read_trace(path)
        held = zone.holds(surface(trace.lat_deg, trace.lon_deg))
        assert held.any()
        inside |= {f'lat="{lat:.7f}"' for lat in trace.lat_deg[held]}
    for path in files:
        text = path.read_text()
        trace = sf.read_trace(path)
        assert not zone.holds(surface(trace.lat_deg, trace.lon_deg)).any()
        assert not [one for one in inside if one in text]
        assert "ele" not in text
        assert "home" not in text
    assert "attackers tried here" in found["hidden"]["outcome"]


def test_python_cuts_the_same_bytes_with_the_places_file_that_the_page_saved(walk: Walk, tmp_path: Path) -> None:
    _, out, inputs = walk
    command = [
        *SFUMATO, "hide", *map(str, inputs), "-o", str(tmp_path / "shared"),
        "--places", str(out / "me.places"), "--certificate", str(tmp_path / "certificate.json"),
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    # Where the page drew its zone is luck: three rides sometimes give the place away, and then it is said.
    assert done.returncode == int("STILL FOUND" in done.stdout), done.stdout + done.stderr
    folder = unpacked(out, "hidden.zip")
    mine = {path.name: path.read_bytes() for path in (folder / "shared").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "shared").iterdir()} == mine
    assert (folder / "certificate.json").read_bytes() == (tmp_path / "certificate.json").read_bytes()
    again = unpacked(out, "again.zip")
    assert {path.name: path.read_bytes() for path in (again / "shared").iterdir()} == mine


def test_one_blurred_track_is_good_in_all_four_answers(walk: Walk) -> None:
    found, out, _ = walk
    verdict = verified(out / "certificate.json", out / "shared.gpx")
    assert (verdict["ok"], verdict["unchanged"], verdict["clean"], verdict["plausible"]) == (True, True, True, True)
    assert verdict["protection"] == "as promised"
    assert found["blurred"]["command"] == "sfumato verify certificate.json --release shared.gpx"
    assert "can check that it holds such noise" in found["blurred"]["outcome"]


def test_a_point_a_minute_for_an_hour_cannot_be_told_and_the_page_says_so(walk: Walk) -> None:
    found, out, _ = walk
    command = [*SFUMATO, "verify", str(out / "short.json"), "--release", str(out / "short" / "shared.gpx"), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    verdict = json.loads(run.stdout)
    assert (run.returncode, verdict["ok"], verdict["unchanged"], verdict["plausible"]) == (1, False, True, None)
    assert "whether it is may not be told" in found["short"]["outcome"]
    assert "can check" not in found["short"]["outcome"]


def test_heart_rates_are_kept_where_they_are_asked_for(walk: Walk) -> None:
    found, out, inputs = walk
    assert found["kept"]["offered"] is True
    assert "heart rates stay" in found["kept"]["outcome"]
    folder = unpacked(out, "kept.zip")
    verdict = verified(folder / "certificate.json", folder / "shared")
    assert "heart_rate" in verdict["exact"]
    assert all("<gpxtpx:hr>" in path.read_text() for path in (folder / "shared").iterdir())
    assert len(list((folder / "shared").iterdir())) == len(inputs)
    assert "heart rates, names and everything else are left out" in found["hidden"]["outcome"]


def test_a_zip_of_two_hundred_tracks_is_read_with_a_bar_into_a_box_that_scrolls(walk: Walk) -> None:
    found = walk[0]["packed"]
    assert found["rows"] == 201
    assert found["seen"] > 0, "a bar shows how far it is"
    assert "201 tracks read." in found["words"]
    assert "1 files in it are neither GPX nor GeoJSON" in found["words"]
    high, shown = found["box"]
    assert high > 1000 > 400 > shown
    assert "runs from your disk" in found["said"]


def test_the_page_saved_from_a_server_works_from_the_disk(walk: Walk) -> None:
    found, _, inputs = walk
    assert found["saved"]["rows"] == len(inputs)
    assert "runs from your disk" in found["saved"]["said"]
    assert found["saved"]["problems"] == []
    assert Path(found["saved"]["copy"]).read_text("utf-8").count("<script") == PAGE.read_text("utf-8").count("<script")


def test_hidden_and_blurred_rides_verify(walk: Walk) -> None:
    found, out, _ = walk
    folder = unpacked(out, "both.zip")
    checks = " ".join(verified(folder / "certificate.json", folder / "shared")["checks"])
    assert "every sentence" in checks
    assert "odds better than 5 : 1" in found["hidden"]["promise"]
    assert found["hidden"]["changeable"] is False, "a second blur of what was saved would add up"


def test_the_page_fails_closed(walk: Walk) -> None:
    found, _, _ = walk
    assert "no track yet" in found["hidden"]["refused"]
    assert "Nothing is protected yet" in found["hidden"]["stillRefused"]
    assert "less than 200 m away" in found["hidden"]["second"]
    assert found["hidden"]["lockedBefore"] is True, "the places file is saved before the release"
    assert found["again"]["placesButton"] == 0
    assert len(found["again"]["suggestions"]) > len(found["again"]["afterwards"])
    assert "home" in found["again"]["opened"]
    assert "document type" in found["bad"]["words"]
    assert found["bad"]["rows"] == 0


def test_it_works_by_keyboard_on_a_phone_and_with_a_screen_reader(walk: Walk) -> None:
    found, _, _ = walk
    assert found["axe"] == {"empty": [], "protected": [], "phone, dark": [], "many, phone": []}
    assert all(pixels <= 0 for pixels in found["overflow"].values()), found["overflow"]
    assert found["hidden"]["focus"] == "result-title"
    assert float(found["again"]["picked"]) != float(found["again"]["tapped"])


def test_the_page_is_one_small_file_whose_own_policy_forbids_requests() -> None:
    if not PAGE.exists():
        pytest.skip("the page is not built: run `make web`")
    text = PAGE.read_text("utf-8")
    assert "default-src 'none'; script-src 'sha256-" in text
    assert len(text.encode()) < 600_000
    assert "fetch(" not in text
    assert "XMLHttpRequest" not in text
    assert "Math.random" not in text
