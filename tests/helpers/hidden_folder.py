"""Rides hidden from the command line in a folder of a test, and logs that grow."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from command import run
from rides import PARIS, ride

from sfumato.tracks.places.globe import Around


def where(metres: list[float]) -> str:
    lat, lon = Around(*PARIS).to_degrees(metres)
    return f"{lat[0]:.6f},{lon[0]:.6f}"


def add(folder: Path, name: str, at: str, *more: str) -> str:
    code, out, err = run("places", "add", name, at, "--places", "me.places", "--zone", "800m", *more, folder=folder)
    assert code == 0, err
    return out


def hide(folder: Path, *more: str) -> tuple[int, str, str]:
    return run(
        "hide", "rides", "-o", "shared", "--places", "me.places", "--certificate", "c.json", *more, folder=folder
    )


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def log(days: int, *, first: int = 0) -> str:
    """A CSV that grows by a ride a day."""
    rows = ["time,lat,lon"]
    for day in range(first, days):
        trace = ride([0, 0], [4000.0 - 300 * day, 5000.0], every_s=30.0, at_s=1.7e9 + 86400 * day)
        rows += [
            f"{t:.0f},{y:.6f},{x:.6f}" for y, x, t in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)
        ]
    return "\n".join(rows) + "\n"


def owntracks(days: int) -> str:
    """A month's .rec of OwnTracks."""
    lines = []
    for row in log(days).splitlines()[1:]:
        t, lat, lon = row.split(",")
        when = datetime.fromtimestamp(int(t), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines.append(f'{when}\t*\t{{"_type":"location","lat":{lat},"lon":{lon},"tst":{t}}}')
    return "\n".join(lines) + "\n"
