"""Pictures of the browser page for docs/browser_page.md, from the sample rides that ship (needs `make web`, Chromium).

python scripts/page_pictures.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import sfumato as sf

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "web" / "dist-page" / "sfumato-protect.html"


def main() -> None:
    """docs/images/protect_page*.png, with a zone around the place that the rides begin and end at most."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(ROOT / "src/sfumato/data/sample_rides.zip") as rides:
        rides.extractall(folder)
        inputs = sorted(Path(folder).rglob("*.gpx"))
        home = sf.find_places([sf.read_trace(path) for path in inputs])[0]
        argument = {
            "page": str(PAGE),
            "inputs": [str(path) for path in inputs],
            "pictures": str(ROOT / "docs" / "images"),
            "executable": shutil.which("chromium") or shutil.which("google-chrome"),
            "home": [round(home.lat_deg, 5), round(home.lon_deg, 5)],
        }
        command = ["node", "test/protect_pictures.mjs", json.dumps(argument)]
        subprocess.run(command, cwd=ROOT / "web", check=True, timeout=600)


if __name__ == "__main__":
    main()
