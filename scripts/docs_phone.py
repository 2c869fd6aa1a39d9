"""Every page of the built documentation, looked at on a phone by Chromium (what ``make docs`` does after building).

python scripts/docs_phone.py            look at site/
python scripts/docs_phone.py FOLDER --width 390 --pictures FOLDER --dark

Exits 1 where a page scrolls sideways (tables, code and formulas may scroll inside their own box), where TeX is still
text, where a page that has formulas in its source draws none, or where anything is asked of another host. Without Node,
playwright-core (``make web``) or Chromium it says that it looked at nothing.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a page for each line would drown what was found."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which a folder is served, on a free port of this machine, while the block lasts."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def missing() -> str | None:
    """What is not here that looking needs; None where all of it is."""
    if shutil.which("node") is None or not any(map(shutil.which, BROWSERS)):
        return "Node or Chromium is not installed"
    if not (WEB / "node_modules" / "playwright-core").is_dir():
        return "playwright-core is not installed (`make web`)"
    return None


def looked(site: Path, *, width: int = 390, dark: bool = False, pictures: Path | None = None) -> dict[str, Any]:
    """What Chromium found on every page of a built site, and whom the pages asked."""
    pages = sorted(str(page.parent.relative_to(site)) for page in site.rglob("index.html"))
    with served(site) as url:
        asked = {
            "url": url,
            "pages": ["" if page == "." else f"{page}/" for page in pages],
            "width": width,
            "dark": dark,
            "pictures": str(pictures) if pictures else None,
            "executable": next(filter(None, map(shutil.which, BROWSERS))),
        }
        command = ["node", str(WEB / "test" / "docs.mjs"), json.dumps(asked)]
        run = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=600, check=False)
        if run.returncode:
            raise SystemExit(run.stderr[-4000:])
        found: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
        found["elsewhere"] = [origin for origin in found["requests"] if f"{origin}/" != url]
    return found


def complaints(found: dict[str, Any]) -> list[str]:
    """What is wrong, one line each."""
    said = [f"asks {origin}" for origin in found["elsewhere"]]
    for page in found["found"]:
        if page["width"] > page["room"]:
            said.append(f"{page['path']}: {page['width']} px wide on {page['room']} px; {page['wide']}")
        said += [f"{page['path']}: a formula is still text: {text!r}" for text in page["raw"]]
        if page["flat"]:
            said.append(f"{page['path']}: {page['flat']} formulas have no height")
    return said


def main() -> int:
    """Look, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "site")
    parser.add_argument("--width", type=int, default=390)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--pictures", type=Path)
    asked = parser.parse_args()
    if reason := missing():
        print(f"{reason}: no page was looked at on a phone.")
        return 0
    found = looked(asked.site, width=asked.width, dark=asked.dark, pictures=asked.pictures)
    said = complaints(found)
    print("\n".join(said))
    formulas = [page["formulas"] for page in found["found"] if page["formulas"]]
    drawn = f"{sum(formulas)} formulas on {len(formulas)} of them"
    print(f"{len(found['found'])} pages at {asked.width} px, {drawn}: {len(said)} complaints.")
    return 1 if said or not formulas else 0


if __name__ == "__main__":
    sys.exit(main())
