"""Heat map of a million points and flows of a hundred thousand trips, against counting and against a dense step.

Required: a heat map of 1e6 points in at most 5 s of processor time and 1 GB; flows of 1e5 trips at 1.5 km in at most
60 s; flows of 1e6 trips between 10,000 cells of 3 km in at most 60 s and 1 GB, no farther off than counting. Beside
them, in the same run: numpy's ``histogram2d`` of the same points, and one step of expectation-maximisation with dense
matrices, as the specification writes it, on 2,000 trips (scaled to all). ``--quick`` is a tenth of each.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

import numpy as np

from answer_worlds import BOUNDS, SIDE_M, SOUTH, WEST, default_kernel
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Received

MOST_HEAT_S, MOST_FLOWS_S, MOST_BYTES = 5.0, 60.0, 1_000_000_000
TRIP_NOISE_M, NOISE_M = 660.0, 330.0


def _people(people: int, points: int, noise_m: float, *, trips: bool) -> Received:
    """Points around ten centres; noise drawn point by point, which costs the estimate the same."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(0, 1, (10, 2))
    law, out = NoiseLaw(default_kernel(noise_m), 0.0), []
    size = np.array([BOUNDS[2] - SOUTH, BOUNDS[3] - WEST])
    for number in range(people):
        at = centres[rng.integers(10, size=points)] + 0.07 * rng.standard_normal((points, 2))
        at = np.array([SOUTH, WEST]) + size * (at + noise_m / SIDE_M * rng.standard_normal((points, 2)))
        times = 1.7e9 + 60.0 * np.arange(points)
        segment = np.arange(points) // 2 if trips else None
        out.append((str(number), Trace(at[:, 0], at[:, 1], times, segment)))
    return Received(tuple(out), law, "multiscale", False)


def _heat(people: int, queue: multiprocessing.Queue) -> None:
    from sfumato.tracks.answers.maps.heatmap import estimate_heatmap

    received = _people(people, 1000, NOISE_M, trips=False)
    estimate_heatmap([_people(12, 20, NOISE_M, trips=False)], cell_m=2000, bounds=BOUNDS)  # compiled outside the clock
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    began = time.process_time()
    found = estimate_heatmap([received], cell_m=500, bounds=BOUNDS)
    took = time.process_time() - began
    lat = np.concatenate([trace.lat_deg for _, trace in received.people])
    lon = np.concatenate([trace.lon_deg for _, trace in received.people])
    began = time.process_time()
    np.histogram2d(lat, lon, bins=found.grid.shape)
    counting = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    queue.put((took, counting, peak, peak - before, found.steps))


def _dense_step_s(trips: int, latent: int) -> float:
    """One step as the specification writes it: w = rowsum((Ly P) ∘ Lx), P ← P ∘ (Lyᵀ (Lx / w))."""
    rng = np.random.default_rng(0)
    down, across = rng.random((trips, latent**2)), rng.random((trips, latent**2))
    flows = np.full((latent**2, latent**2), 1.0 / latent**4)
    began = time.process_time()
    weight = ((down @ flows) * across).sum(axis=1)
    flows = flows * (down.T @ (across / weight[:, None]))
    return time.process_time() - began


def _flows(people: int, queue: multiprocessing.Queue) -> None:
    from sfumato.tracks.answers.flows.origin_destination import (
        FIRST_STEPS,
        GRAVITY_STEPS,
        MOST_GROUPS,
        ONE_START,
        estimate_flows,
    )

    received = _people(people, 2000, TRIP_NOISE_M, trips=True)
    estimate_flows([_people(12, 20, TRIP_NOISE_M, trips=True)], cell_m=4000, bounds=BOUNDS)
    began = time.process_time()
    found = estimate_flows([received], cell_m=1500, bounds=BOUNDS)
    took = time.process_time() - began
    latent = round(found.grid.rows * found.grid.cell_height / found.latent_m) + 4
    starts = 1 if found.trips > ONE_START else MOST_GROUPS + 1
    passes = starts * (FIRST_STEPS + GRAVITY_STEPS) + (MOST_GROUPS + 2) * (found.steps + 1)
    dense = _dense_step_s(2000, latent) / 2000 * found.trips * passes
    queue.put((took, dense, found.trips, found.steps))


CITY_CELLS, CITY_CELL_M, CITY_NOISE_M, PER_PERSON = 100, 3000.0, 300.0, 1000


def _city(people: int, queue: multiprocessing.Queue) -> None:
    """A land of forty towns: two trips in five lead to another town, the others a few kilometres away."""
    from sfumato.tracks.answers.flows.origin_destination import estimate_flows

    rng = np.random.default_rng(3)
    side = CITY_CELLS * CITY_CELL_M
    towns, wide, likely = (
        rng.uniform(0.03, 0.97, (40, 2)) * side,
        rng.uniform(2e3, 15e3, 40),
        rng.dirichlet(np.ones(40)),
    )
    kernel, degree = default_kernel(CITY_NOISE_M), np.array([111_200.0, 111_200.0 * np.cos(np.radians(46.3))])
    law = NoiseLaw(kernel, 0.0)

    def places() -> np.ndarray:
        town = rng.choice(40, PER_PERSON, p=likely)
        return np.asarray(towns[town] + wide[town, None] * rng.standard_normal((PER_PERSON, 2)))

    out, starts, ends = [], [], []
    for number in range(people):
        start, angle = places(), rng.uniform(0, 2 * np.pi, PER_PERSON)
        near = start + rng.exponential(4000, (PER_PERSON, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])
        end = np.where(rng.random((PER_PERSON, 1)) < 0.4, places(), near)
        took = rng.uniform(300, 5400, PER_PERSON)
        share = law.correlation(took)[:, None]
        first, fresh = CITY_NOISE_M * rng.standard_normal((2, PER_PERSON, 2))
        at = np.stack([start + first, end + share * first + np.sqrt(1 - share**2) * fresh], axis=1).reshape(-1, 2)
        times = np.repeat(1.7e9 + 1e4 * np.arange(PER_PERSON), 2)
        times[1::2] += took
        lat, lon = (corner + at[:, axis] / degree[axis] for axis, corner in ((0, 45.0), (1, 5.0)))
        out.append((str(number), Trace(lat, lon, times, np.repeat(np.arange(PER_PERSON), 2))))
        starts.append(start)
        ends.append(end)
    bounds = (45.0, 5.0, 45.0 + side / degree[0], 5.0 + (side - 100) / degree[1])
    received = Received(tuple(out), law, "multiscale", False)
    estimate_flows([Received(tuple(out[:6]), law, "multiscale", False)], cell_m=CITY_CELL_M, bounds=bounds)
    began = time.process_time()
    found = estimate_flows([received], cell_m=CITY_CELL_M, bounds=bounds)
    took_s = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cells = found.cells.cells
    began = time.process_time()
    np.unique(found.pairs[:, 0] * cells + found.pairs[:, 1], return_counts=True)
    counting = time.process_time() - began
    located = [
        found.grid.locate(45.0 + at[:, 0] / degree[0], 5.0 + at[:, 1] / degree[1])
        for at in (np.concatenate(starts), np.concatenate(ends))
    ]
    inside = (located[0] >= 0) & (located[1] >= 0)
    true, count = np.unique(located[0][inside] * cells + located[1][inside], return_counts=True)
    listed = found.pairs[:, 0] * cells + found.pairs[:, 1]
    every = np.union1d(true, listed)
    truth, ours, naive = (np.zeros(len(every)) for _ in range(3))
    truth[np.searchsorted(every, true)] = count / count.sum()
    for into, values in ((ours, found.shares), (naive, found.naives)):
        into[np.searchsorted(every, listed)] = values
    often = truth * count.sum() >= 30
    off = [float(0.5 * np.abs(one - truth)[of].sum()) for of in (slice(None), often) for one in (naive, ours)]
    queue.put((took_s, counting, peak, found.trips, cells, *off))


def _apart(work: object, size: int) -> tuple[float, ...]:
    """In a process of its own, so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(size, queue))
    process.start()
    found = queue.get(timeout=1800)
    process.join()
    return tuple(found)


def main() -> int:
    """Print both and fail where a limit is missed."""
    quick = "--quick" in sys.argv
    people = 100 if quick else 1000
    took, counting, peak, more, steps = _apart(_heat, people)
    print(f"heat map of {1000 * people} points: {took:.2f} s CPU in {steps:.0f} steps, peak {peak / 1e6:.0f} MB "
          f"(+{more / 1e6:.0f} MB); histogram2d {counting:.2f} s, ratio {took / counting:.1f}")  # fmt: skip
    met = took <= MOST_HEAT_S and peak <= MOST_BYTES
    trips = 10 if quick else 100
    took, dense, count, steps = _apart(_flows, trips)
    print(f"flows of {count:.0f} trips at 1.5 km: {took:.1f} s CPU in {steps:.0f} steps; dense steps {dense:.0f} s, "
          f"ratio {took / dense:.2f}")  # fmt: skip
    met &= took <= MOST_FLOWS_S
    took, counting, peak, count, cells, naive, ours, naive_often, ours_often = _apart(_city, people)
    print(f"flows of {count:.0f} trips between {cells:.0f} cells: {took:.1f} s CPU, peak {peak / 1e6:.0f} MB; sorting "
          f"{counting:.2f} s; off by {ours:.4f} (counting {naive:.4f}), of pairs with 30 trips and more "
          f"{ours_often:.4f} (counting {naive_often:.4f})")  # fmt: skip
    met &= took <= MOST_FLOWS_S and peak <= MOST_BYTES and ours <= naive
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
