"""The report is one file that asks nothing of any host, and it is public only without the original."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from sfumato.base.drawing.scales import nice_step, nice_time_step_s
from sfumato.base.drawing.svg import MOST_POINTS, drawn_places
from sfumato.base.errors import InputError
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.traces import Trace
from sfumato.pages.report import render
from sfumato.pages.report.words import cards, odds_words
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.io import read_trace
from sfumato.tracks.people.door import protect

AUDIT = Audit(
    points=60,
    rms_error_raw_m=655.0,
    rms_error_smoothed_m=400.0,
    interval_68_m=390.0,
    smallest_interval_68_m=380.0,
    coverage_68=0.7,
    floor_m=320.0,
    in_class=True,
    outside_because=(),
    prior_used={"source": "fitted"},
    mechanism="multiscale",
    verdict="kept.",
    holds=True,
)


def _ride(count: int = 60) -> Trace:
    return Trace(np.full(count, 48.2), np.full(count, 16.37), 1.7e9 + 30.0 * np.arange(count))


CERTIFICATE: dict[str, Any] = protect(_ride()).certificate
PROMISE = CERTIFICATE["guarantee"]


def headline(document: dict[str, Any]) -> str:
    return Certificate.of(document).headline


def _pair(count: int = 60, lat: float = 48.2, lon: float = 16.37, step_m: float = 90.0) -> tuple[Trace, Trace]:
    generator = np.random.default_rng(3)
    path = np.cumsum(generator.normal(0, step_m, (count, 2)), axis=0)
    y, x = displace(np.full(count, lat), np.full(count, lon), path)
    times = 1.7e9 + 30.0 * np.arange(count)
    segment = np.arange(count) // max(count // 3, 1)
    original = Trace(y, x, times, segment)
    released = snap(*displace(y, x, generator.normal(0, 660.0, (count, 2))))
    return original, original.moved_to(*released)


def _private(**changes: Any) -> str:
    original, release = _pair()
    values: dict[str, Any] = {"certificate": CERTIFICATE, "audit": AUDIT, "dropped": ("elevation", "heart_rate")}
    return render(release=release, original=original, **{**values, **changes})


class _Page(HTMLParser):
    """Tags opened and closed, and every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in ("meta", "input", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def _pages() -> dict[str, str]:
    original, release = _pair()
    return {
        "private": _private(),
        "public": render(release=release, certificate=CERTIFICATE),
        "without an audit": render(release=release, original=original, certificate=CERTIFICATE),
    }


@pytest.mark.parametrize("kind", ["private", "public", "without an audit"])
def test_the_page_asks_nothing_of_any_host(kind: str) -> None:
    page = _pages()[kind]
    for address in re.findall(r"[a-z]+://[^\s\"'<>]+", page):
        assert re.match(r"https?://www\.(w3\.org|topografix\.com)/", address)
    assert "//" not in re.sub(r"https?://www\.(w3\.org|topografix\.com)/", "", page).replace("<!--", "")
    lowered = page.lower()
    for word in ("src=", "href=", "url(", "@import", "fetch(", "xmlhttprequest", "<link", "<img", "<iframe", "beacon"):
        assert word not in lowered
    assert "default-src 'none'" in page


@pytest.mark.parametrize("kind", ["private", "public", "without an audit"])
def test_the_page_is_well_formed_and_its_pictures_are_described(kind: str) -> None:
    page = _Page(_pages()[kind])
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    labelled = [value for tag, name, value in page.attributes if tag == "svg" and name == "aria-labelledby"]
    assert len(labelled) == (1 if kind == "public" else 2)
    for names in labelled:
        assert all(name in page.ids for name in names.split())
    assert ("html", "lang", "en") in page.attributes


def test_the_private_page_says_so_on_top_and_shows_everything() -> None:
    page = _private()
    assert page.index("Private.") < page.index("<svg")
    text = " ".join(_Page(page).text)
    for words in ("cannot tell apart two places at most 200 m apart", "5 : 1", "99 times in 100", "elevation",
                  "heart rate", "menu of known routes", "The times themselves", "What is not covered", "by time",
                  "68% interval", "±390 m", "sfumato verify"):  # fmt: skip
        assert words in text
    assert 'id="layer-original"' in page
    assert 'id="layer-band"' in page


def test_the_public_page_depends_on_nothing_but_release_and_certificate() -> None:
    _, release = _pair()
    page = render(release=release, certificate=CERTIFICATE)
    assert "Contains nothing of the original track that is not in the release" in page
    assert "banner warning" not in page
    for word in ("layer-original", "truth", "Private.", "left out", "best guess", "adversary still learns"):
        assert word not in " ".join(_Page(page).text) + re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data is not None
    assert set(json.loads(data.group(1))) == {"times", "release"}


def test_a_public_page_with_private_things_is_refused() -> None:
    _, release = _pair()
    with pytest.raises(InputError, match="public"):
        render(release=release, certificate=CERTIFICATE, audit=AUDIT)
    with pytest.raises(InputError, match="public"):
        render(release=release, certificate=CERTIFICATE, dropped=("elevation",))
    original, _ = _pair(61)
    with pytest.raises(InputError, match="number of points"):
        render(release=release, certificate=CERTIFICATE, original=original)


def test_every_text_is_escaped() -> None:
    nasty = '<script>alert("x")</script>&\'"</style>'
    promise = {**PROMISE, "notion": nasty, "numerics": nasty}
    promise |= {name: [nasty] for name in ("assumes", "covers", "not_covered")}
    certificate = {
        **CERTIFICATE,
        "warnings": [nasty],
        "kept": [nasty],
        "randomness": nasty,
        "sfumato": nasty,
        "release": {"content_sha256": nasty},
        "guarantee": promise,
    }
    page = _private(certificate=certificate, dropped=(nasty,), audit=replace(AUDIT, verdict=nasty))
    assert "<script>alert" not in page
    assert page.count("<script") == 2
    assert page.count("</style>") == 1
    assert _Page(page).open == []


@pytest.mark.slow
def test_very_many_points_give_a_page_of_bounded_size() -> None:
    count = 200_000
    generator = np.random.default_rng(0)
    lat, lon = 48 + np.cumsum(generator.normal(0, 1e-6, count)), 16 + np.cumsum(generator.normal(0, 1e-6, count))
    original = Trace(lat, lon, 1.0 * np.arange(count), np.arange(count) // 7)
    page = render(release=original.moved_to(lat, lon), original=original, certificate=CERTIFICATE, audit=AUDIT)
    assert len(page) < 400_000
    assert f"of {count} points are drawn" in page
    assert len(drawn_places(original)) <= MOST_POINTS


@pytest.mark.parametrize(
    ("lat", "lon", "step_m"),
    [(0.0, 0.0, 90.0), (78.2, 15.6, 90.0), (-16.9, 179.99, 500.0), (89.99, 10.0, 90.0), (-90.0, 0.0, 90.0),
     (37.7, -122.4, 60_000.0), (52.0, 179.0, 90_000.0)],
)  # fmt: skip
def test_the_map_stays_inside_its_frame_anywhere_on_the_globe(lat: float, lon: float, step_m: float) -> None:
    original, release = _pair(60, lat, lon, step_m)
    page = render(release=release, original=original, certificate=CERTIFICATE, audit=AUDIT)
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data is not None
    for name in ("release", "original"):
        pixels = np.array(json.loads(data.group(1))[name]).reshape(-1, 2)
        assert (pixels >= 0).all()
        assert (pixels <= [960, 600]).all()
        steps = np.abs(np.diff(pixels, axis=0)).max()
        assert steps < 900
    assert ('class="land"' in page) is True


def test_one_point_and_no_time_at_all_still_make_a_page() -> None:
    original, release = _pair(1)
    page = render(release=release, original=original, certificate=CERTIFICATE)
    assert _Page(page).open == []
    assert "NaN" not in page
    assert "inf" not in re.sub(r"[a-z]*inf[a-z]+", "", page)


def test_a_simulation_is_called_one() -> None:
    assert "protects nobody" in _private(certificate={**CERTIFICATE, "simulation": True})
    assert "protects nobody" not in _private()


def test_a_certificate_that_does_not_say_what_it_promises_has_no_page() -> None:
    _, release = _pair()
    for missing in ("guarantee", "parameters", "mechanism", "warnings", "odds_99"):
        bare = {name: value for name, value in CERTIFICATE.items() if name != missing}
        with pytest.raises(InputError, match=missing):
            render(release=release, certificate=bare)
    with pytest.raises(InputError, match="does not state"):
        render(release=release, certificate={})


def test_odds_are_rounded_against_us() -> None:
    assert odds_words(4.99991) == "5 : 1"
    assert odds_words(5.001) == "5.01 : 1"
    assert odds_words(14.68) == "14.7 : 1"
    assert odds_words(12345.2) == "12 400 : 1"
    assert odds_words(999.6) == "1 000 : 1"
    assert odds_words(5e23) == odds_words(np.inf) == "more than a million : 1"  # nobody reads 24 digits
    assert odds_words(None) is None


def test_the_promise_is_worded_for_its_mechanism() -> None:
    assert headline(CERTIFICATE) == (
        "At any one moment, someone who knows how you move cannot tell apart two places at most 200 m apart with odds "
        "better than 5 : 1, 99 times in 100. The same goes for one unknown place you stay at, in this release; a "
        "routine, or a regular place when another one is known, gives more away with every day."
    )
    two = headline(protect(_ride(), constant_share=0.1).certificate)  # the shares of the first edition
    assert "For a place you stay at or hardly leave, in this release, odds are at most 14.7 : 1; a routine" in two
    assert "sees one released point and nothing else" in headline(
        protect(_ride(), mechanism="planar-laplace").certificate
    )
    for hopeless in (None, 5e23):
        said = headline({**CERTIFICATE, "odds_99": hopeless})
        assert said.startswith("No protection at 200 m: noise of 709 m does not keep two places that far apart")
        assert ": 1" not in said
    independent = _private(certificate=protect(_ride(), mechanism="independent").certificate, audit=None)
    assert "recorded more densely" in independent
    assert [card.label for card in cards(Certificate.of(CERTIFICATE), None)] == [
        "Odds at any one moment, or for one unknown place",
        "Noise",
    ]


def test_ticks_are_round() -> None:
    assert nice_step(1234, 6) == 500
    assert nice_time_step_s(4 * 3600, 8) == 1800
    assert nice_time_step_s(30 * 86400, 8) == 4 * 86400


def test_the_sample_ride_and_the_land_ship_with_the_package() -> None:
    data = resources.files("sfumato").joinpath("data")
    assert len(json.loads(data.joinpath("ne_110m_land.geojson").read_text())["features"]) > 100
    with resources.as_file(data.joinpath("sample_ride.gpx")) as path:
        trace = read_trace(path)
        assert path.stat().st_size < 60_000
    assert 150 <= len(trace) <= 600
    assert trace.segments > 5
    assert "doi:10.15783/C7J010" in data.joinpath("README.md").read_text()


def test_a_real_protected_ride_reports_itself() -> None:
    import sfumato

    with resources.as_file(resources.files("sfumato").joinpath("data/sample_ride.gpx")) as path:
        protected = sfumato.protect(read_trace(path), rng=1)
    page = render(
        release=protected.release, certificate=protected.certificate, original=protected.original,
        audit=protected.audit(), dropped=protected.dropped,
    )  # fmt: skip
    text = " ".join(_Page(page).text)
    assert headline(protected.certificate) in text
    assert all(item in text for item in protected.certificate["guarantee"]["not_covered"])
    assert "the adversary's 68% interval" in text
    public = render(release=protected.release, certificate=protected.certificate)
    for value in protected.original.lat_deg[:20]:
        assert f"{value:.5f}" not in public


@pytest.mark.browser
def test_a_real_browser_runs_the_page_and_asks_for_nothing_else(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    asked: list[str] = []
    page = _private().encode()

    class Host(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
             f"--user-data-dir={tmp_path}", "--virtual-time-budget=2000", "--dump-dom",
             f"http://127.0.0.1:{server.server_port}/report"],
            capture_output=True, text=True, timeout=90, check=True,
        )  # fmt: skip
    finally:
        server.shutdown()
    assert asked == ["/report"]
    assert '<div class="timeline" id="timeline">' in done.stdout  # the script ran: it shows the slider


def test_the_map_draws_the_likeliest_track_and_the_released_points_as_dots() -> None:
    done = protect(_moving(), noise_m=400.0, rng=3)
    page = render(release=done.release, certificate=done.certificate)
    line = re.search(r'<g id="layer-smooth"[^>]*><path class="track smooth" d="([^"]*)"', page)
    dots = re.search(r'<g id="layer-release"[^>]*><path class="points" d="([^"]*)"', page)
    assert line is not None
    assert dots is not None
    assert dots[1].count("h0") == len(done.release)
    assert _drawn_length(line[1]) < 0.3 * _drawn_length(dots[1].replace("h0", ""))
    assert "likeliest track, from the release alone" in page
    coarse = protect(_moving(), noise_m=400.0, times="coarse:5min", rng=3)
    assert 'id="layer-smooth"' not in render(release=coarse.release, certificate=coarse.certificate)


def _moving() -> Trace:
    ride, _ = _pair(120)
    return ride


def _drawn_length(data: str) -> float:
    points = np.array([float(word) for word in re.findall(r"-?[0-9.]+", data)]).reshape(-1, 2)
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
