"""How the files beside this one were made: by the command line of the first edition (sfumato 0.1.0), never again.

Run with that edition's ``src`` on the path and this folder as the working directory:
``PYTHONPATH=first-edition/src python make_v0_1.py``. Newer code must read them or refuse them with words.
"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

PRIOR = ["--prior", "geolife-median"]
MECHANISMS = {
    "multiscale": ["--mechanism", "multiscale"],
    "multiscale_week_redrawn": ["--class", "week", "--redraws", "3"],
    "prior_shaped": ["--mechanism", "prior-shaped", *PRIOR],
    "mixed_fitted": ["--mechanism", "mixed", "--prior", "fit", "--epsilon", "1"],
    "independent": ["--mechanism", "independent", "--noise", "150m"],
    "planar_laplace": ["--mechanism", "planar-laplace", "--odds", "3"],
    "secrets": ["--secrets", "5,6", *PRIOR],
    "secrets_windows": ["--secrets", "windows:2min", *PRIOR],
}


def ride() -> str:
    """Thirty points of a made-up ride."""
    rows = []
    for i in range(30):
        lat, lon = 48.2 + 4e-4 * i + 3e-4 * math.sin(i), 16.37 + 5e-4 * math.sin(i / 3)
        time = f"2023-11-14T22:{13 + i // 3:02d}:{20 * (i % 3):02d}Z"
        rows.append(f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}"><time>{time}</time></trkpt>')
    return (
        '<?xml version="1.0" encoding="UTF-8"?><gpx version="1.1" creator="golden" '
        f'xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{"".join(rows)}</trkseg></trk></gpx>\n'
    )


def fleet() -> str:
    """Two people of ten points each, as a table."""
    rows = ["user_id,lat,lon,time"]
    for person, east in (("alice", 0.0), ("bob", 0.01)):
        for i in range(10):
            rows.append(f"{person},{48.2 + 4e-4 * i:.6f},{16.37 + east:.6f},2023-11-14T22:13:{5 * i:02d}Z")
    return "\n".join(rows) + "\n"


def sfumato(*words: str) -> None:
    """One command of the first edition."""
    program = "from sfumato.cli import main; main()"
    subprocess.run([sys.executable, "-c", program, *words], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Every mechanism's release and certificate, a state, an encrypted state and a ledger."""
    Path("ride.gpx").write_text(ride())
    for name, words in MECHANISMS.items():
        sfumato("protect", "ride.gpx", "-o", f"{name}.gpx", "--certificate", f"{name}.json", *words)
    seeded = ["--seed", "7", "--certificate", "simulation.json"]
    sfumato("protect", "ride.gpx", "-o", "simulation.gpx", *seeded)
    ledger = ["--ledger", "ledger.json", "--person", "alice"]
    state = ["--state", "state.json", "--certificate", "continuing.json", "--cap", "1e-4", *ledger]
    sfumato("protect", "ride.gpx", "-o", "continuing.gpx", *state)
    sfumato("protect", "ride.gpx", "-o", "redrawn.gpx", *ledger)
    Path("redrawn.gpx").unlink()
    Path("passphrase.txt").write_text("correct horse\n")
    Path("fleet.csv").write_text(fleet())
    kept = ["--state", "fleet_state.json", "--certificate", "fleet_certificate.json"]
    sfumato("protect", "fleet.csv", "-o", "fleet_release.csv", *kept)
    locked = ["--state", "state_encrypted.json", "--passphrase-file", "passphrase.txt"]
    sfumato("protect", "ride.gpx", "-o", "continuing_encrypted.gpx", *locked)


if __name__ == "__main__":
    main()
