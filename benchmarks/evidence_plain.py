"""Answers from releases against the plainest correction (:mod:`plain_answers`), on the same releases in the same run.

python benchmarks/evidence_plain.py                 heat maps and flows of the cabs, several rectangles
python benchmarks/evidence_plain.py --only flows --draws 1
python benchmarks/evidence_plain.py --only heatmap --draws 1 --rectangles 2 --noise independent --each

How near any correction comes to the truth hangs on where the lines between cells run: 50 m north or south change the
error at 1 km by a sixth. So the same release is asked for rectangles of 12 x 12 km laid in several places, and what is
printed beside each mean is the ratio to the plain correction, whose number of steps (and for heat maps its latent grid)
was picked by the truth, for each answer anew. Asked: at most 1.05.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from pyproj import Geod

import plain_answers as plain
from evidence_answers import MIDDLE, SHARED, SIDE_M, cabs, releases
from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.flows.origin_destination import estimate_flows
from sfumato.tracks.answers.maps.cells import Bounds
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import Received

SHIFTS_M = ((0, 0), (0, -50), (250, 250), (-400, 150), (700, 1500), (2000, -300))  # east, north
HEAT_CELLS_M, FLOW_CELLS_M = (500.0, 1000.0, 2000.0), (1500.0, 3000.0)
HEAT_LATENT_M, FLOW_LATENT_M = (250.0, 125.0), 750.0
MOST = 1.05
People = list[tuple[str, Trace]]


def rectangle(east_m: float, north_m: float) -> Bounds:
    """12 x 12 km, a metre less, so that cells of the sizes asked for fill it."""
    geod = Geod(ellps="WGS84")
    lon, lat, _ = geod.fwd(*geod.fwd(MIDDLE[1], MIDDLE[0], 90, east_m)[:2], 0, north_m)
    up = geod.fwd(lon, lat, 0, SIDE_M / 2 - 1)[1] - lat
    across = geod.fwd(lon, lat, 90, SIDE_M / 2 - 5)[0] - lon
    return (lat - up, lon - across, lat + up, lon + across)


def metres(bounds: Bounds, lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
    """North and east of the rectangle's south-west corner, (points, 2)."""
    south, west, north, east = bounds
    return SIDE_M * np.stack([(lat_deg - south) / (north - south), (lon_deg - west) / (east - west)], axis=1)


def summed(fine: FloatArray, cells: int) -> FloatArray:
    """Shares of ``cells`` along every axis, from finer ones."""
    parts = fine.shape[0] // cells
    shape = [length for _ in range(fine.ndim) for length in (cells, parts)]
    return fine.reshape(shape).sum(axis=tuple(range(1, 2 * fine.ndim, 2))) / fine.sum()


def apart(one: FloatArray, other: FloatArray) -> float:
    """Total variation."""
    return 0.5 * float(np.abs(one.ravel() - other.ravel()).sum())


def heat(people: People, received: Received, bounds: Bounds) -> list[tuple[float, float, float]]:
    """Counting, the plain correction and ours, for each size of cells."""
    true, seen = (
        metres(
            bounds, *(np.concatenate([getattr(trace, axis) for _, trace in some]) for axis in ("lat_deg", "lon_deg"))
        )
        for some in (people, received.people)
    )
    tried = [
        one
        for latent_m in HEAT_LATENT_M
        for one in plain.heat_maps(seen[:, 0], seen[:, 1], received.law.noise_m, side_m=SIDE_M, latent_m=latent_m)
    ]
    out = []
    for cell_m in HEAT_CELLS_M:
        cells = round(SIDE_M / cell_m)
        edges = np.linspace(0.0, SIDE_M, cells + 1)
        truth, naive = (np.histogram2d(*places.T, bins=(edges, edges))[0] for places in (true, seen))
        truth, naive = truth / truth.sum(), naive / naive.sum()
        found = estimate_heatmap([received], cell_m=cell_m, bounds=bounds)
        assert found.grid.cells == cells**2, "the cells asked for do not fill the rectangle"
        ours = _northwards(found.picture.reshape(cells, cells), truth)
        out.append((apart(naive, truth), min(apart(summed(one, cells), truth) for one in tried), apart(ours, truth)))
    return out


def _northwards(ours: FloatArray, truth: FloatArray) -> FloatArray:
    """Rows from south to north, whichever way the grid counts them (the nearer one: a map upside down is far off)."""
    return min((ours, ours[::-1]), key=lambda one: apart(one, truth))


def trip_ends(people: Sequence[tuple[str | None, Trace]]) -> tuple[FloatArray, IntArray]:
    """(trips, 2) rows of the first and last point in all points laid end to end, and each one's (lat, lon, time)."""
    first = [np.flatnonzero(np.r_[True, np.diff(trace.segment) != 0]) for _, trace in people]
    begun = np.cumsum([0] + [len(trace) for _, trace in people])
    last = [np.r_[one[1:], len(trace)] - 1 for one, (_, trace) in zip(first, people, strict=True)]
    pairs = [np.stack(both, axis=1) + start for *both, start in zip(first, last, begun[:-1], strict=True)]
    laid = [np.stack([trace.lat_deg, trace.lon_deg, trace.times_s], axis=1) for _, trace in people]
    return np.concatenate(laid), np.concatenate(pairs)


def flow(people: People, received: Received, bounds: Bounds) -> list[tuple[float, float, float]]:
    """The same for flows between cells."""
    laid, ends = trip_ends(people)
    seen, _ = trip_ends(received.people)
    true, moved = (metres(bounds, points[:, 0], points[:, 1])[ends] for points in (laid, seen))  # (trips, 2, 2)
    correlation = received.law.correlation(laid[ends[:, 1], 2] - laid[ends[:, 0], 2])
    noise_m = received.law.noise_m
    tried = list(plain.flows(moved[:, 0], moved[:, 1], noise_m, correlation, side_m=SIDE_M, latent_m=FLOW_LATENT_M))
    out = []
    for cell_m in FLOW_CELLS_M:
        cells = round(SIDE_M / cell_m)
        truth, naive = (_counted(places, cells) for places in (true, moved))
        found = estimate_flows([received], cell_m=cell_m, bounds=bounds)
        ours = found.share.reshape((cells,) * 4)
        ours = min((ours, ours[::-1, :, ::-1]), key=lambda one: apart(one, truth))
        out.append((apart(naive, truth), min(apart(summed(one, cells), truth) for one in tried), apart(ours, truth)))
    return out


def _counted(places: FloatArray, cells: int) -> FloatArray:
    at = np.floor(places / SIDE_M * cells).astype(np.int64)
    at = at[((at >= 0) & (at < cells)).all(axis=(1, 2))]
    out = np.zeros((cells,) * 4)
    np.add.at(out, (at[:, 0, 0], at[:, 0, 1], at[:, 1, 0], at[:, 1, 1]), 1.0)
    return out / out.sum()


def within(people: People, bounds: Bounds) -> People:
    """Trips that begin and end in the rectangle."""
    south, west, north, east = bounds
    out = []
    for name, trace in people:
        inside = (trace.lat_deg > south) & (trace.lat_deg < north) & (trace.lon_deg > west) & (trace.lon_deg < east)
        first = np.flatnonzero(np.r_[True, np.diff(trace.segment) != 0])
        last = np.r_[first[1:], len(trace)] - 1
        kept = np.repeat(inside[first] & inside[last], last - first + 1)
        of = np.flatnonzero(kept)
        out.append((name, Trace(trace.lat_deg[of], trace.lon_deg[of], trace.times_s[of], trace.segment[of])))
    return out


def show(title: str, cells_m: Sequence[float], rows: list[list[tuple[float, float, float]]], *, each: bool) -> None:
    """Means over draws and rectangles, and the mean, least and greatest ratio."""
    for number, cell_m in enumerate(cells_m):
        seen = np.array([row[number] for row in rows])
        naive, simple, ours = seen.mean(axis=0)
        ratios = seen[:, 2] / seen[:, 1]
        print(
            f"| {title} | {cell_m:.0f} m | {naive:.3f} | {simple:.4f} | {ours:.4f} | {ours / simple:.2f} "
            f"{'met' if ours / simple <= MOST else 'missed'} | {ratios.min():.2f} to {ratios.max():.2f} |",
            flush=True,
        )
        for one in seen if each else ():
            print(f"    {one[0]:.3f} {one[1]:.4f} {one[2]:.4f}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rectangles", type=int, default=len(SHIFTS_M))
    parser.add_argument("--only", choices=["heatmap", "flows"])
    parser.add_argument("--each", action="store_true", help="A line for every rectangle and draw.")
    parser.add_argument("--noise", default="today", choices=["today", "first edition", "independent"])
    asked = parser.parse_args()
    if not SHARED.exists():
        print("../shared is not on this machine: nothing to compare with")
        return 0
    rectangles = [rectangle(*shift) for shift in SHIFTS_M[: asked.rectangles]]
    print("| answer | cells | counting | plain, steps by the truth | ours | ratio of the means | of each |")
    print("|---|---|---|---|---|---|---|")
    if asked.only in (None, "heatmap"):
        people = cabs(trips=False, everywhere=True)
        for noise_m in (330.0, 660.0):
            rows = [
                heat(people, received, bounds)
                for received in releases(people, noise_m, asked.noise, asked.draws)
                for bounds in rectangles
            ]
            show(f"heat map, {noise_m:.0f} m", HEAT_CELLS_M, rows, each=asked.each)
    if asked.only in (None, "flows"):
        everybody = cabs(trips=True)
        rows = []
        for bounds in rectangles[:: len(rectangles) // 2 or 1]:
            people = within(everybody, bounds)
            rows += [flow(people, one, bounds) for one in releases(people, 660.0, asked.noise, asked.draws)]
        show("flows, 660 m", FLOW_CELLS_M, rows, each=asked.each)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
