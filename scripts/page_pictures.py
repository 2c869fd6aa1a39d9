"""Pictures of the pages for the docs (needs `make web`, Chromium): the browser page from the sample rides that ship,
the collector's from an invented campaign of 4,000 people in Marseille on invented streets, the tops of two reports. All
are made small by pngquant and optipng where those are installed.

python scripts/page_pictures.py [page|collector|report]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import sfumato as sf

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "web" / "dist-page" / "sfumato-protect.html"
IMAGES = ROOT / "docs" / "images"

AREA = {"south": 43.25, "west": 5.33, "north": 43.33, "east": 5.43}
REPORTS = 4_000


def main() -> None:
    """All of them, or those that are named."""
    asked = sys.argv[1:] or ["page", "collector", "report"]
    if "page" in asked:
        protect_page()
    if "collector" in asked:
        collector_pages()
    if "report" in asked:
        reports()


def collector_pages() -> None:
    """docs/images/participant*.png and dashboard*.png; prints the map's headline."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    import collector_harness as harness
    import tile_maker

    with tempfile.TemporaryDirectory() as folder:
        tiles = tile_maker.town_tiles(Path(folder) / "town.pmtiles", **AREA, sea=True)
        with harness.CollectorProcess(f"sqlite:///{folder}/collector.db", tiles=tiles) as collector:
            words = {"title": "Bicycles in Marseille", "question": "Where do you park your bicycle?"}
            words |= {"organiser": "City of Marseille", "contact": "velo@example.org"}
            grid = {**AREA, "cell_size_m": 500.0}
            harness.create(collector.visitor, grid=grid, beta_per_m=0.002, promise="epsilon", **words)
            harness.crowd(collector.visitor, REPORTS, middle=(43.296, 5.378), seed=16)
            harness.close(collector.visitor)
            argument = {"url": collector.url, "campaign": "town", "place": {"latitude": 43.29, "longitude": 5.375}}
            _draw("collector_pictures.mjs", argument)


def _draw(script: str, argument: dict[str, object]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    told = {"pictures": str(IMAGES), "executable": chromium, **argument}
    began_s = time.time()
    subprocess.run(["node", f"test/{script}", json.dumps(told)], cwd=ROOT / "web", check=True, timeout=600)
    small([path for path in IMAGES.glob("*.png") if path.stat().st_mtime >= began_s - 1])


def small(pictures: Sequence[Path]) -> None:
    """The same pictures in a palette of 256 colours, a third of the size, where the programs for it are installed."""
    if not pictures or shutil.which("pngquant") is None or shutil.which("optipng") is None:
        return
    names = [str(one) for one in pictures]
    quantised = [
        "pngquant",
        "--force",
        "--ext",
        ".png",
        "--quality",
        "75-98",
        "--speed",
        "1",
        "--strip",
        "--skip-if-larger",
    ]
    # 98 and 99: a picture that would lose too much, or gain nothing, stays as it is.
    assert subprocess.run([*quantised, *names], check=False).returncode in (0, 98, 99)
    subprocess.run(["optipng", "-quiet", "-o2", *names], check=True)


def reports() -> None:
    """docs/images/report_*.png: a public report, and one of a release that hides hardly anything."""
    ride = str(ROOT / "src/sfumato/data/sample_ride.gpx")
    with tempfile.TemporaryDirectory() as folder:
        pages = {}
        for name, wishes in (("report_public", []), ("report_red", ["--noise", "5m"])):
            pages[name] = f"{folder}/{name}.html"
            command = [sys.executable, "-c", "from sfumato.cli import main; main()", "protect", ride, "-o"]
            command += [f"{folder}/{name}.gpx", "--public-report", pages[name], *wishes]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        _draw("report_pictures.mjs", {"pages": pages})


def protect_page() -> None:
    """docs/images/protect_page*.png, with a zone around the place that the rides begin and end at most."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(ROOT / "src/sfumato/data/sample_rides.zip") as rides:
        rides.extractall(folder)
        inputs = sorted(Path(folder).rglob("*.gpx"))
        home = sf.find_places([sf.read_trace(path) for path in inputs])[0]
        argument: dict[str, object] = {
            "page": str(PAGE),
            "inputs": [str(path) for path in inputs],
            "home": [round(home.lat_deg, 5), round(home.lon_deg, 5)],
        }
        _draw("protect_pictures.mjs", argument)


if __name__ == "__main__":
    main()
