"""Every-point losses from 1e3 to 1e6 points: the time grows like n, and agrees with the dense O(n³) at the small end.

    python benchmarks/bench_losses.py [--quick]

Prior: the GeoLife preset. Noise: the shipped multiscale ladder. Irregular times. Required: slope of log time against
log n at most 1.15, relative difference to the dense losses at most 1e-8, peak memory at 1e6 points under 1 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

REQUIRED_SLOPE = 1.15
REQUIRED_AGREEMENT = 1e-8
REQUIRED_MEMORY_GB = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 1e5 points")
    options = parser.parse_args()
    from sfumato.tracks.losses.gaussian_loss import basic_losses, basic_losses_statespace
    from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
    from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
    from sfumato.tracks.priors.classes import DAY
    from sfumato.tracks.priors.kernels import kernel_from_dict
    from sfumato.tracks.priors.presets import DEFAULT_PRESET, preset_named

    prior = preset_named(DEFAULT_PRESET).prior
    noise = kernel_from_dict(MultiscaleNoise(shipped_ladder("day"), 150.0, DAY).law())
    rng = np.random.default_rng(0)
    basic_losses_statespace(np.arange(10.0), prior, noise)  # compiled or loaded before the clock starts

    times = np.sort(rng.uniform(0, 5 * 800, 800))
    started = time.perf_counter()
    dense = basic_losses(prior.covariance(times), noise.covariance(times))
    dense_s = time.perf_counter() - started
    started = time.perf_counter()
    walked = basic_losses_statespace(times, prior, noise)
    walked_s = time.perf_counter() - started
    apart = float(np.max(np.abs(walked / dense - 1)))
    print(
        f"800 points: dense {1e3 * dense_s:.0f} ms, O(n) {1e3 * walked_s:.1f} ms, ratio {dense_s / walked_s:.1f}, ",
        end="",
    )
    print(f"largest relative difference {apart:.1e} (required {REQUIRED_AGREEMENT:g})")

    sizes = [1000, 10_000, 100_000] + ([] if options.quick else [1_000_000])
    seconds = []
    for size in sizes:
        times = np.sort(rng.uniform(0, 5.0 * size, size))
        started = time.perf_counter()
        losses = basic_losses_statespace(times, prior, noise)
        seconds.append(time.perf_counter() - started)
        print(f"{size:>9} points: {seconds[-1]:7.3f} s, {1e6 * seconds[-1] / size:5.1f} us per point, ", end="")
        print(f"worst loss x o {float(losses.max()) * 150**2:.4f}")
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"slope {slope:.3f} (required at most {REQUIRED_SLOPE})")
    print(f"peak memory {memory:.2f} GB (required under {REQUIRED_MEMORY_GB:g})")
    good = slope <= REQUIRED_SLOPE and apart <= REQUIRED_AGREEMENT and memory < REQUIRED_MEMORY_GB
    print("ok" if good else "FAILED")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
