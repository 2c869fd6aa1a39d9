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
        ride = out / "ride.gpx"
        ride.write_bytes(sample.read_bytes())
    shared, certificate = out / "shared.gpx", out / "shared.json"
    archive, home = _rides(out)
    places = out / "me.places"
    steps: tuple[tuple[str, list[object]], ...] = (
        ("Find the places in an archive of rides (private)", ["places", "find", archive, "--most", "3"]),
        ("Name home: its zone is drawn once, for ever", ["places", "add", "home", home, "--places", places]),
        (
            "Hide home, keep the rides: attacked before anything is shared",
            [
                *("hide", archive, "-o", out / "rides_shared", "--places", places),
                *("--certificate", out / "rides_shared.json", "--report", out / "rides_private.html"),
                *("--public-report", out / "rides_public.html"),
            ],
        ),
        (
            "Check the shared folder, as anybody can",
            ["verify", out / "rides_shared.json", "--release", out / "rides_shared"],
        ),
        (
            "Blur one ride: what can be shared, and what it promises",
            [
                "protect",
                ride,
                "-o",
                shared,
                "--radius",
                "200m",
                "--odds",
                "5",
                "--certificate",
                certificate,
                "--report",
                out / "report.html",
                "--public-report",
                out / "public_report.html",
            ],
        ),
        (
            "Audit it: what an adversary who smooths still learns",
            ["audit", ride, shared, "--certificate", certificate],
        ),
        ("Verify the certificate from the two files alone", ["verify", certificate, "--release", shared]),
    )
    for number, (title, words) in enumerate(steps, start=1):
        command = [str(word) for word in words]
        print(f"\n{number}. {title}\n   $ sfumato {' '.join(command)}\n", flush=True)
        try:
            app(command, standalone_mode=False)
        except SfumatoError as error:
            fail(error, json=False)
    private, public = (out / "rides_private.html").resolve(), out / "rides_public.html"
    print(f"\nOpen {private} and {(out / 'report.html').resolve()} in a browser (private: places and originals).")
    print(f"Share {out / 'rides_shared'}, {out / 'rides_shared.json'} and {public};")
    print(f"      {shared}, {certificate} and {out / 'public_report.html'}.")
    return 0


def _rides(out: Path) -> tuple[Path, str]:
    """The embedded archive, and where its owner returns to most; a demo begins anew every time."""
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
    return archive, f"{most.lat_deg:.5f},{most.lon_deg:.5f}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
