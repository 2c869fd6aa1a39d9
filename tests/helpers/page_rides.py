"""Rides that begin at one home, as a recorder writes them, for the tests of the browser page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.tracks.places.globe import Around

HOME = (47.3769, 8.5417)


def rides(folder: Path, count: int, *, seed: int = 0, points: int = 400, every_s: float = 5.0) -> list[Path]:
    """Rides that begin at home and wander off, one a day, as GPX with heights, heart rates and names."""
    rng, out = np.random.default_rng(seed), []
    folder.mkdir(exist_ok=True)
    around = Around(*HOME)
    for ride in range(count):
        heading = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.08, points))
        steps = 25.0 * np.column_stack([np.cos(heading), np.sin(heading)])
        lat, lon = around.to_degrees(np.cumsum(steps, axis=0))
        times = 1.7e9 + 86400.0 * ride + every_s * np.arange(points)
        rows = [
            f'<trkpt lat="{y:.7f}" lon="{x:.7f}"><ele>{400 + k % 7}</ele>'
            f"<time>{np.datetime64(int(t), 's')}Z</time>{_heart(k)}</trkpt>"
            for k, (y, x, t) in enumerate(zip(lat, lon, times, strict=True))
        ]
        path = folder / f"ride {ride}.gpx"
        path.write_text(f"<gpx><trk><name>From home</name><trkseg>{''.join(rows)}</trkseg></trk></gpx>")
        out.append(path)
    return out


def _heart(k: int) -> str:
    """A heart rate at all but every ninth point, one of them with a fraction."""
    beats = 131.5 if k == 200 else 95 + k * 37 % 60
    return (
        f"<extensions><x:TrackPointExtension><x:hr>{beats}</x:hr></x:TrackPointExtension></extensions>" if k % 9 else ""
    )
