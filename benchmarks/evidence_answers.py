"""How near answers from releases come to the truth: the cabs of San Francisco, by release and certificate alone.

python benchmarks/evidence_answers.py                 every table, mean over 3 draws of the noise
python benchmarks/evidence_answers.py --draws 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.answers.flows import estimate_flows
from sfumato.answers.heatmap import estimate_heatmap
from sfumato.answers.received import Received, receive
from sfumato.plan import Plan
from sfumato.protection import protect_fleet
from sfumato.traces import Trace

SHARED = Path(__file__).resolve().parents[2] / "shared"
SOUTH, WEST, SIDE_KM = 37.70, -122.515, 12.0
NORTH, EAST = SOUTH + SIDE_KM / 111.2, WEST + SIDE_KM / (111.32 * np.cos(np.radians(37.77)))


def cabs(*, trips: bool) -> list[tuple[str, Trace]]:
    """The cabs inside the rectangle; with ``trips`` only rides with a passenger, a segment each."""
    table = pq.read_table(SHARED / "data" / "cabspotting" / "cabspotting.parquet")
    cab = table["cab_id"].combine_chunks().indices.to_numpy()
    seconds = table["time"].cast("int64").to_numpy() / 1e3
    order = np.lexsort((seconds, cab))
    lat, lon = (table[name].to_numpy()[order] / 1e6 for name in ("lat_e6", "lon_e6"))
    cab, seconds = cab[order], seconds[order]
    occupied = table["occupied"].to_numpy(zero_copy_only=False)[order]
    inside = (lat > SOUTH) & (lat < NORTH) & (lon > WEST) & (lon < EAST)
    fresh = np.r_[True, (np.diff(cab) != 0) | (np.diff(occupied.astype(int)) != 0)]
    segment = np.cumsum(fresh)
    if trips:
        start = np.flatnonzero(fresh)
        end = np.r_[start[1:], len(lat)] - 1
        inside = (occupied[start] & (end > start) & inside[start] & inside[end])[segment - 1]
    return [
        (f"c{one}", Trace(lat[of], lon[of], seconds[of], segment[of] if trips else None))
        for one in np.unique(cab)
        if len(of := np.flatnonzero((cab == one) & inside))
    ]


def releases(people: list[tuple[str, Trace]], noise_m: float, draws: int) -> Iterator[Received]:
    """Simulated releases, as somebody else gets them."""
    for draw in range(draws):
        done = protect_fleet(Plan(noise_m=noise_m), people, rng=draw)
        yield receive(list(done.releases), done.certificate)


def heat_maps(draws: int) -> None:
    """Heat maps at three sizes of cells."""
    people = cabs(trips=False)
    lat = np.concatenate([trace.lat_deg for _, trace in people])
    lon = np.concatenate([trace.lon_deg for _, trace in people])
    print("\n| noise | cells | counting | corrected | truth within 90 % | seconds |\n|---|---|---|---|---|---|")
    for noise_m in (330.0, 660.0):
        rows: dict[float, list[tuple[float, ...]]] = {}
        for received in releases(people, noise_m, draws):
            for cell_m in (500.0, 1000.0, 2000.0):
                began = time.process_time()
                found = estimate_heatmap([received], cell_m=cell_m, bounds=(SOUTH, WEST, NORTH, EAST))
                took = time.process_time() - began
                cells = found.grid.locate(lat, lon)
                truth = np.bincount(cells[cells >= 0], minlength=found.grid.cells) / np.count_nonzero(cells >= 0)
                shown = truth > 1e-3
                held = float(np.mean(((found.low <= truth) & (truth <= found.high))[shown]))
                apart = [0.5 * float(np.abs(share - truth).sum()) for share in (found.naive, found.share)]
                rows.setdefault(cell_m, []).append((*apart, held, took))
        for cell_m, seen in rows.items():
            naive, ours, held, took = np.mean(seen, axis=0)
            print(f"| {noise_m:.0f} m | {cell_m:.0f} m | {naive:.3f} | {ours:.3f} | {100 * held:.0f} % | {took:.1f} |")


def flows(draws: int) -> None:
    """Flows at 660 m of noise."""
    people = cabs(trips=True)
    print("\n| noise | cells | counting ends | corrected | seconds |\n|---|---|---|---|---|")
    rows: dict[float, list[tuple[float, ...]]] = {}
    for received in releases(people, 660.0, draws):
        for cell_m in (1500.0, 3000.0):
            began = time.process_time()
            found = estimate_flows([received], cell_m=cell_m, bounds=(SOUTH, WEST, NORTH, EAST))
            took = time.process_time() - began
            truth = np.zeros_like(found.share)
            for _, trace in people:
                ends = np.flatnonzero(np.r_[True, np.diff(trace.segment) != 0])
                last = np.r_[ends[1:], len(trace)] - 1
                start, end = (found.grid.locate(trace.lat_deg[of], trace.lon_deg[of]) for of in (ends, last))
                np.add.at(truth, (start, end), 1.0)
            truth /= truth.sum()
            apart = [0.5 * float(np.abs(share - truth).sum()) for share in (found.naive, found.share)]
            rows.setdefault(cell_m, []).append((*apart, took))
    for cell_m, seen in rows.items():
        naive, ours, took = np.mean(seen, axis=0)
        print(f"| 660 m | {cell_m / 1000:g} km | {naive:.3f} | {ours:.3f} | {took:.0f} |")


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    asked = parser.parse_args()
    if not SHARED.exists():
        print("../shared is not on this machine: nothing to compare with")
        return 0
    heat_maps(asked.draws)
    flows(asked.draws)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
