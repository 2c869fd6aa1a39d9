"""How often do odds pass 5 : 1 on real people? Exact log odds of the true place against one 200 m off, at the default.

    python benchmarks/evidence_odds.py [--quick]

For held-out GeoLife people (held_out.py), the cabs, and made-up stop and go: stretches of up to 100 moments, the noise
of the certificate, six moments and ten draws each, a random direction. The adversary knows the noise and holds a prior
around the path's own mean: the kernel that fits this stretch best, or the preset, which was fitted to others. Given the
place s at moment i the release is N(h s, P + Γ), h and P by regression: dense algebra, none of the package's.
Odds "99 times in 100" are for paths that move as believed; a belief that is wrong about a person can do worse.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator

import numpy as np

from evidence_geolife import cabs
from held_out import HERE, people_in_halves
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel, Matern32, kernel_from_dict
from sfumato.tracks.priors.presets import DEFAULT_PRESET, preset_named

RADIUS_M, ODDS, MOMENTS, DRAWS, LONGEST = 200.0, 5.0, 6, 10, 100
Path = tuple[np.ndarray, np.ndarray]


def stretches(traces: list[tuple[str, Trace]], rng: np.random.Generator) -> Iterator[Path]:
    """(times, metres) of at most 100 distinct moments of each trace."""
    for _, trace in traces:
        order = np.argsort(trace.times_s, kind="stable")
        path = unroll(trace.lat_deg[order], trace.lon_deg[order])
        times, first = np.unique(trace.times_s[order], return_index=True)
        start = int(rng.integers(0, max(1, times.size - LONGEST)))
        if times.size >= 10:
            yield times[start : start + LONGEST], path[first][start : start + LONGEST]


def log_odds(
    times: np.ndarray, path: np.ndarray, prior: Kernel, noise: Kernel, rng: np.random.Generator
) -> list[float]:
    """Of the true place against one 200 m off, at random moments, over draws of the noise."""
    n = times.size
    belief, blur = prior.covariance(times) + 1e-6 * np.eye(n), noise.covariance(times) + 1e-6 * np.eye(n)
    weight = np.linalg.solve(belief, np.ones(n))
    around = path - weight @ path / weight.sum()
    root, out = np.linalg.cholesky(blur), []
    for i in rng.choice(n, min(MOMENTS, n), replace=False):
        follows = belief[:, i] / belief[i, i]
        seen = np.linalg.solve(belief - np.outer(follows, belief[i]) + blur, follows)
        for _ in range(DRAWS):
            rest = around + root @ rng.standard_normal((n, 2)) - np.outer(follows, around[i])
            turn = rng.uniform(0, 2 * np.pi)
            off = RADIUS_M * np.array([math.cos(turn), math.sin(turn)])
            out.append(float(off @ off * (follows @ seen) / 2 - (seen @ rest) @ off))
    return out


def stop_and_go(count: int, rng: np.random.Generator) -> Iterator[Path]:
    """Paths whose own clock stands still half of the time."""
    for _ in range(count):
        clock = np.cumsum(np.where(np.repeat(rng.uniform(size=10) < 0.5, 10), 10.0, 0.01))
        root = np.linalg.cholesky(Matern32(200.0, 800.0).covariance(clock) + 1e-3 * np.eye(100))
        yield np.arange(100) * 10.0, root @ rng.standard_normal((100, 2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every eighth trace")
    step = 8 if parser.parse_args().quick else 2
    rng = np.random.default_rng(21)
    noise = kernel_from_dict(protect(Trace([48.0], [2.0], [0.0])).certificate["noise"])
    worlds: dict[str, list[Path]] = {"made-up stop and go": list(stop_and_go(120 // step, rng))}
    if HERE:
        worlds["GeoLife, held out"] = list(stretches(people_in_halves()[1][::step], rng))
        worlds["cabs"] = list(stretches(cabs(days_each=4)[::step], rng))
    failed = False
    for name, paths in worlds.items():
        for whose, preset in (("its own kernel", False), ("the preset", True)):
            found: list[float] = []
            for times, path in paths:
                prior = preset_named(DEFAULT_PRESET).prior if preset else fit(times, path, unknown_mean=True).prior
                found += log_odds(times, path, prior, noise, rng)
            share = float(np.mean(np.array(found) > math.log(ODDS)))
            print(f"{name}, believed to move like {whose}: {100 * share:.2f}% of {len(found)} moments above 5 : 1")
            failed |= not preset and share > 0.01
    print("FAILED" if failed else "ok: at most 1% where the belief fits")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
