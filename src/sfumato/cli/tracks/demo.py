"""The first five minutes: hide home in an archive of rides, then blur one ride, audit it, verify it.

Run by ``make demo``; needs the core only. The noise comes from the operating system, so every run differs.
"""

from __future__ import annotations

import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

from sfumato.base.errors import SfumatoError
from sfumato.cli import app
from sfumato.cli.output import fail
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import members
from sfumato.tracks.places import find_places


def main(folder: str = "demo-output") -> int:
    """Write everything under ``folder``."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with as_file(files("sfumato").joinpath("data", "sample_ride.gpx")) as sample:
        (out / "ride.gpx").write_bytes(sample.read_bytes())
    home = _home(out)
    hidden = "-o OUT/rides_shared --places OUT/me.places --certificate OUT/rides_shared.json"
    blurred = "-o OUT/shared.gpx --radius 200m --odds 5 --certificate OUT/shared.json"
    steps = {
        "Find the places in an archive of rides (private)": "places find OUT/rides.zip --most 3",
        "Name home: its zone is drawn once, for ever": f"places add home {home} --places OUT/me.places",
        "Hide home, keep the rides: attacked before anything is shared": f"hide OUT/rides.zip {hidden} --report "
        "OUT/rides_private.html --public-report OUT/rides_public.html",
        "Check the shared folder, as anybody can": "verify OUT/rides_shared.json --release OUT/rides_shared",
        "Blur one ride: what can be shared, and what it promises": f"protect OUT/ride.gpx {blurred} --report "
        "OUT/report.html --public-report OUT/public_report.html",
        "Audit it: what an adversary who smooths still learns": "audit OUT/ride.gpx OUT/shared.gpx --certificate "
        "OUT/shared.json",
        "Verify the certificate from the two files alone": "verify OUT/shared.json --release OUT/shared.gpx",
    }
    for number, (title, words) in enumerate(steps.items(), start=1):
        command = [word.replace("OUT", str(out)) for word in words.split()]
        print(f"\n{number}. {title}\n   $ sfumato {' '.join(command)}\n", flush=True)
        try:
            app(command, standalone_mode=False)
        except SfumatoError as error:
            fail(error, json=False)
    private, public = (out / "rides_private.html").resolve(), out / "rides_public.html"
    print(f"\nOpen {private} and {(out / 'report.html').resolve()} in a browser (private: places and originals).")
    print(f"Share {out / 'rides_shared'}, {out / 'rides_shared.json'} and {public};")
    print(f"      {out / 'shared.gpx'}, {out / 'shared.json'} and {out / 'public_report.html'}.")
    return 0


def _home(out: Path) -> str:
    """Where the owner of the embedded archive returns to most; a demo begins anew every time."""
    for name in ("rides_shared", "rides_shared.private"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "me.places").unlink(missing_ok=True)
    archive = out / "rides.zip"
    with as_file(files("sfumato").joinpath("data", "sample_rides.zip")) as sample:
        archive.write_bytes(sample.read_bytes())
    rides = []
    for member in members([archive]):
        with member.path() as path:
            rides.append(read_trace(path))
    most = find_places(rides)[0]
    return f"{most.lat_deg:.5f},{most.lon_deg:.5f}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
