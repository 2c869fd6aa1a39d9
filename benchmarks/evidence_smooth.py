"""What smoothing and drawing paths give on real traces: errors, lengths and speeds; and that squares are unbiased.

    python benchmarks/evidence_smooth.py [--traces 200] [--noise 150] [--runs 200] [--live]

Development traces of GeoLife (../shared/data), noise redrawn once each; the two halves of people (held_out.py) are
printed apart. Prototypes were tried on traces of both, so neither half is strictly held out. Exits 0 and says so
without the data.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from evidence_geolife import mechanisms
from held_out import HERE, people_in_halves
from sfumato.base.randomness import randomness
from sfumato.base.things.frames import differences_m, displace, unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Received
from sfumato.tracks.answers.ways.displacement import estimate_displacements
from sfumato.tracks.answers.ways.live import IN_SDS, live_track
from sfumato.tracks.answers.ways.movement import (
    LEAST_ALIKE,
    MOSTLY_MODEL,
    fit_movement,
    likeliest_path,
    possible_paths,
    told_by_release,
)
from sfumato.tracks.priors.kernels import Matern32
from sfumato.tracks.priors.statespace import sample


def tracks(traces: list[tuple[str, Trace]], noise_m: float) -> np.ndarray:
    """Per trace: error raw, smooth; length true, raw, smooth, drawn; told; fastest true, raw, smooth."""
    mechanism, _ = mechanisms(noise_m)["multiscale"]
    noise, rng, rows = mechanism.kernel(), np.random.default_rng(3), []
    for _, trace in traces:
        times, first = np.unique(trace.times_s, return_index=True)
        truth = unroll(trace.lat_deg, trace.lon_deg)[first]
        raw = truth + mechanism.draw(times, rng)
        movement = fit_movement(times, raw, noise)
        mean = likeliest_path(times, raw, movement, noise)
        drawn = possible_paths(times, raw, movement, noise, 10, randomness(5))
        errors = [float(np.median(np.linalg.norm(one - truth, axis=1))) for one in (raw, mean)]
        steps = [np.linalg.norm(np.diff(one, axis=-2), axis=-1) for one in (truth, raw, mean, drawn)]
        lengths = [float(one.sum()) for one in steps[:3]] + [float(steps[3].sum()) / 10]
        fastest = [float((one / np.diff(times)).max()) for one in steps[:3]]
        rows.append([*errors, *lengths, told_by_release(mean, drawn), *fastest])
    return np.array(rows)


def print_tracks(found: np.ndarray, label: str) -> None:
    """One block of numbers."""
    good = found[found[:, 2] > 1]
    print(f"{label}: {len(found)} traces")
    print(f"  median error   raw {np.median(found[:, 0]):.0f} m, smooth {np.median(found[:, 1]):.0f} m")
    print(f"  smooth no farther off than raw on {100 * np.mean(found[:, 1] <= found[:, 0]):.1f} % of traces")
    for column, name in ((3, "raw"), (4, "smooth"), (5, "drawn")):
        q = np.quantile(good[:, column] / good[:, 2], [0.1, 0.5, 0.9])
        total = found[:, column].sum() / found[:, 2].sum()
        print(f"  length / truth {name:<7} median {q[1]:.2f} (10 % {q[0]:.2f}, 90 % {q[2]:.2f}), total {total:.3f}")
    model = (found[:, 6] < MOSTLY_MODEL) | (found[:, 4] < LEAST_ALIKE * found[:, 5])
    print(f"  told by the release: median {np.median(found[:, 6]):.2f}, called mostly the model: {np.mean(model):.0%}")
    print("  fastest step, median: true {:.0f}, raw {:.0f}, smooth {:.0f} m/s".format(*np.median(found[:, 7:], axis=0)))


def watched(traces: list[tuple[str, Trace]], noise_m: float, label: str) -> None:
    """Live positions: errors of the dot and of the causal guess, how far both jump, and what the circles hold."""
    mechanism, _ = mechanisms(noise_m)["multiscale"]
    rng, rows, sizes = np.random.default_rng(4), [], []
    for _, trace in traces:
        noise = mechanism.draw(trace.times_s, rng)
        raw = trace.moved_to(*displace(trace.lat_deg, trace.lon_deg, noise))
        track, radius = live_track(raw, NoiseLaw(mechanism.kernel(), 0.0))
        truth = (trace.lat_deg, trace.lon_deg)
        off = [np.linalg.norm(differences_m(*truth, one.lat_deg, one.lon_deg), axis=1) for one in (raw, track)]
        path = [unroll(one.lat_deg, one.lon_deg) for one in (trace, raw, track)]
        jumps = [float(np.linalg.norm(np.diff(one, axis=0), axis=1).sum()) for one in path]
        around = IN_SDS * mechanism.kernel().variance_m2 ** 0.5  # the dot's own circle: no model, for comparison
        rows.append([*(np.median(one) for one in off), np.mean(off[1] <= radius), *jumps, np.mean(off[0] <= around)])
        sizes.append(np.median(radius))
    found = np.array(rows)
    print(f"{label}, watched live: {len(found)} traces")
    print(f"  median error   dot {np.median(found[:, 0]):.0f} m, live {np.median(found[:, 1]):.0f} m")
    print(f"  live no farther off than the dot on {100 * np.mean(found[:, 1] <= found[:, 0]):.1f} % of traces")
    held, dots = (f"{100 * np.mean(found[:, k]):.1f} % of moments" for k in (2, 6))
    print(f"  circles of 68 % hold the truth in {held}, median radius {np.median(sizes):.0f} m")
    print(f"  circles of {around:.0f} m around the dots hold it in {dots} (68 % over many draws)")
    good = found[found[:, 3] > 1]
    ratios = [np.median(good[:, k] / good[:, 3]) for k in (4, 5)]
    print(f"  length / truth, median: dot {ratios[0]:.2f}, live {ratios[1]:.2f}")


def squares(runs: int) -> None:
    """z of the unbiased squares over simulated fleets of six."""
    mechanism, _ = mechanisms(330.0)["multiscale"]
    times, law = np.arange(150) * 30.0, Matern32(900.0, 1500.0)
    off, lags = [], (60.0, 600.0, 3600.0)
    rng = np.random.default_rng(9)
    for run in range(runs):
        truth = [sample(times, law, coordinates=2, rng=100 * run + k) for k in range(6)]
        people = []
        for k, one in enumerate(truth):
            lat, lon = displace(np.full(150, 0.2), np.full(150, 10.4), one + mechanism.draw(times, rng))
            people.append((str(k), Trace(lat, lon, times)))
        found = estimate_displacements(
            [Received(tuple(people), NoiseLaw(mechanism.kernel(), 0.0), "", False)], lags_s=lags
        )
        real = [np.mean([np.sum((x[k:] - x[:-k]) ** 2, axis=1).mean() for x in truth]) for k in (2, 20, 120)]
        turn = np.mean([np.sum((x - x.mean(axis=0)) ** 2, axis=1).mean() for x in truth])
        off.append(
            [*(one.value - r for one, r in zip(found.squared_m2, real, strict=True)), found.gyration_m2.value - turn]
        )
    z = np.mean(off, axis=0) / (np.std(off, axis=0, ddof=1) / math.sqrt(runs))
    print(f"squares, {runs} runs, 330 m: z at 1 min {z[0]:.2f}, 10 min {z[1]:.2f}, 1 h {z[2]:.2f}, gyration {z[3]:.2f}")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=200)
    parser.add_argument("--noise", type=float, nargs="*", default=[150.0, 330.0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--live", action="store_true", help="live positions alone")
    options = parser.parse_args()
    if not options.live:
        squares(options.runs)
    if not HERE:
        print("no ../shared/data here: traces are left out")
        return
    halves = people_in_halves()
    for noise_m in options.noise:
        for half, name in zip(halves, ("chosen on", "held out"), strict=True):
            some, label = half[: options.traces // 2], f"{noise_m:g} m of noise, people {name}"
            if options.live:
                watched(some, noise_m, label)
            else:
                print_tracks(tracks(some, noise_m), label)


if __name__ == "__main__":
    main()
