"""The first five minutes: protect an embedded sample ride, audit it, verify it, and say where the files are.

Run by ``make demo``; needs the core only. The noise comes from the operating system, so every run differs.
"""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path

from sfumato.cli import app
from sfumato.cli.output import fail
from sfumato.errors import SfumatoError


def main(folder: str = "demo-output") -> int:
    """Write everything under ``folder``."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with as_file(files("sfumato").joinpath("data", "sample_ride.gpx")) as sample:
        ride = out / "ride.gpx"
        ride.write_bytes(sample.read_bytes())
    shared, certificate = out / "shared.gpx", out / "shared.json"
    steps = (
        (
            "Protect a ride: what can be shared, and what it promises",
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
    print(f"\nOpen {(out / 'report.html').resolve()} in a browser (private: it shows the original).")
    print(f"Share {shared}, {certificate} and {out / 'public_report.html'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
