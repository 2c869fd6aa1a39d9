"""How many unprotected originals does *plausible?* refuse, and how many true releases?

    python benchmarks/evidence_plausible.py [--quick] [--releases 24000] [--no-traces]

Originals: 104 traces of GeoLife people on whom nothing of the test was chosen (window and stretch were chosen on the
other half), sealed as if they were releases with so much noise. True releases: still, moving and stop-and-go paths at
seven sampling patterns, with the noise of the certificate, snapped; refused at most once in 10,000 by construction.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import scipy

from held_out import HERE, people_in_halves
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.noise.plausibility import REFUSED_BELOW, GaussianRoughness, moments_of
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import Kernel

SNAP_M = 0.1
WANTED, AMONG = 84, 104


def mechanism(noise_m: float | None):
    """The default mechanism at its default size, or at another."""
    wish = {} if noise_m is None else {"noise_m": noise_m}
    return Certificate.of(protect(Trace([48.0], [2.0], [0.0]), **wish).certificate).mechanism


def refused_originals(traces: list[tuple[str, Trace]], noise_m: float | None) -> int:
    """How many originals are refused as releases with this noise."""
    noise, refused = mechanism(noise_m), 0
    for _, trace in traces:
        order = np.argsort(trace.times_s, kind="stable")
        path = unroll(trace.lat_deg[order], trace.lon_deg[order])
        times, path = moments_of(trace.times_s[order], path)
        test = noise.roughness(times, SNAP_M)
        found = None if test is None else test.p_values(path[:, :, None])
        refused += found is not None and found[0] < REFUSED_BELOW
    return refused


def patterns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Sampling patterns: dense, usual, sparse, irregular, in bursts, few, and a day with gaps."""
    return {
        "every second, 90": np.arange(90.0),
        "every 5 s, 60": np.arange(60) * 5.0,
        "every minute, 60": np.arange(60) * 60.0,
        "irregular, 80": np.cumsum(rng.exponential(10, 80)),
        "bursts, 80": np.cumsum(np.where(np.arange(80) % 8 == 0, 900.0, 2.0)),
        "three points": np.array([0.0, 4.0, 60.0]),
        "a day, 240": np.sort(np.concatenate([rng.uniform(0, 3600, 120), rng.uniform(40000, 43600, 120)])),
    }


def paths(times: np.ndarray) -> dict[str, np.ndarray]:
    """A place, a straight ride, and stop and go: whatever the path is, it can only add."""
    moving = np.concatenate([[0.0], np.cumsum(np.diff(times) * (np.arange(times.size - 1) // 10 % 2))])
    return {
        "still": np.zeros((times.size, 2)),
        "straight, 8 m/s": np.outer(times, [8.0, 1.0]),
        "stop and go": np.outer(moving, [10.0, -3.0]),
    }


def drawn(kernel: Kernel, times: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Noise of the law, (n, 2, count), by another way than the mechanism's own: a dense square root."""
    root = scipy.linalg.cholesky(kernel.covariance(times) + 1e-9 * np.eye(times.size), lower=True)
    return np.tensordot(root, rng.standard_normal((times.size, 2, count)), axes=1)


def refused_releases(releases: int, *, seed: int = 5) -> tuple[int, int, np.ndarray]:
    """(refused, tried, p-values) of true releases over sizes, patterns and paths."""
    rng = np.random.default_rng(seed)
    sizes, times_of = (None, 300.0, 150.0, 50.0), patterns(rng)
    each = -(-releases // (len(sizes) * len(times_of) * 3))
    values = []
    for size in sizes:
        kernel = mechanism(size).kernel()
        for times in times_of.values():
            for path in paths(times).values():
                released = path[:, :, None] + drawn(kernel, times, each, rng)
                released = SNAP_M * np.round(released / SNAP_M)
                values.append(GaussianRoughness(kernel, times, SNAP_M).p_values(released))
    everything = np.concatenate(values)
    return int(np.count_nonzero(everything < REFUSED_BELOW)), everything.size, everything


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=24000)
    parser.add_argument("--quick", action="store_true", help="every fourth original, 2,000 releases")
    parser.add_argument("--no-traces", action="store_true", help="true releases only: needs no data")
    options = parser.parse_args()
    refused, tried, values = refused_releases(2000 if options.quick else options.releases)
    below = ", ".join(f"{np.mean(values < level):.5f} below {level:g}" for level in (0.1, 0.01, 0.001))
    print(f"true releases refused: {refused} of {tried} (p-values: {below})")
    failed = refused > 2 + 3 * tried * REFUSED_BELOW
    if HERE and not options.no_traces:
        chosen_on, held_out = people_in_halves()
        step = 4 if options.quick else 1
        for label, half in (("held out", held_out), ("chosen on", chosen_on)):
            traces = half[:AMONG:step]
            found = {size: refused_originals(traces, size) for size in (None, 300.0, 150.0, 50.0)}
            words = ", ".join(f"{'default' if size is None else f'{size:g} m'} {n}" for size, n in found.items())
            print(f"originals refused, {label}, of {len(traces)}: {words}")
            failed |= label == "held out" and found[None] < WANTED / AMONG * len(traces)
    else:
        print("originals: ../shared/data is not here")
    print("FAILED" if failed else "ok")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
