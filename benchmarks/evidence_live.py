"""What having no future costs at zones: how long positions wait after leaving one, on real tracks (../shared/data).

    python benchmarks/evidence_live.py [--tracks 300]

A zone is drawn at each track's first point, of 400, 800 and 1,600 m. What the live gate sends is held against what
``hide`` leaves of the whole track.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.things.traces import Trace
from sfumato.tracks.live.gate import Fate, Gate, Track
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import RADII_M, draw_zone

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "geolife" / "geolife_traces.parquet"


def main() -> None:
    """Print a line for each radius."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=300)
    count = parser.parse_args().tracks
    if not DATA.exists():
        raise SystemExit(f"{DATA} is not here.")
    frame = pq.read_table(DATA).to_pandas()
    groups = [group for _, group in frame.groupby(["user_id", "trajectory_id"])]
    some = np.random.default_rng(30).permutation(len(groups))[:count]
    for radius in RADII_M:
        waits, sent, more, less = [], 0, 0, 0
        for number in some.tolist():
            group = groups[number]
            lat, lon = group.lat_e6.to_numpy() / 1e6, group.lon_e6.to_numpy() / 1e6
            times = group.time.astype("int64").to_numpy() / (1e9 if "ns" in str(group.time.dtype) else 1e3)
            inside = np.abs(lat) <= 90
            lat, lon, times = lat[inside], lon[inside], times[inside]
            zone = draw_zone(float(lat[0]), float(lon[0]), radius_m=radius, rng=number)
            left, waited = live(Gate((("home", zone),)), lat, lon, times)
            kept = set(withhold(Trace(lat, lon, np.arange(len(lat), dtype=np.float64)), [zone]).kept.tolist())
            waits += waited
            sent, more, less = sent + len(left), more + len(left - kept), less + len(kept - left)
        quantiles = np.quantile(waits, [0.5, 0.9]) if waits else [0.0, 0.0]
        print(
            f"zone {radius:g} m: {sent} positions sent, {more} that hide cuts, {less} not that hide keeps; a run waits "
            f"{quantiles[0]:.0f} s (median) and {quantiles[1]:.0f} s (90 %) after leaving"
        )


def live(gate: Gate, lat: np.ndarray, lon: np.ndarray, times: np.ndarray) -> tuple[set[int], list[float]]:
    """Which points left, by number, and how long each run's first point waited."""
    track, left, waited = Track(), set[int](), []
    for at in range(len(lat)):
        found = gate.take(track, at, float(lat[at]), float(lon[at]))
        left |= set(found.leave_ms)
        if found.fate is Fate.PASSES:
            left.add(at)
        if found.leave_ms:
            waited.append(float(times[at] - times[found.leave_ms[0]]))
    return left, waited


if __name__ == "__main__":
    main()
