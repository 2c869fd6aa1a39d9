"""A well-kept map matcher (leuvenmapmatching) behind the interface of attackers, beside ours and exact Bayes.

    pip install leuvenmapmatching
    python benchmarks/evidence_map_matcher.py [--walks 10]
    PYTHONPATH=benchmarks sfumato audit people.csv shared.csv --attacks roads,evidence_map_matcher:guess

People walk along the streets of a made-up city as the hidden Markov model of ours says, so that its posterior mean is
the exact Bayes estimate; each matcher is given the streets, and every released position with noise of its size.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from leuvenmapmatching.map.inmem import InMemMap
from leuvenmapmatching.matcher.distance import DistanceMatcher

from sfumato.base.arrays import FloatArray, evenly
from sfumato.tracks.adversary.releases.moments.roads import PIECE_M, Roads, match_roads
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.priors.kernels import White

MOST_LOOKS, REACH_M, BLOCK_M, SPEED_M_S, EVERY_S = 120, 200.0, 240.0, 5.0, 8.0


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The likeliest way along the roads that are told, for ``--attacks evidence_map_matcher:guess``."""
    if not len(told.ways_m):
        return None
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    at = evenly(times.size, MOST_LOOKS)
    found = likeliest_way(told.ways_m, seen.path_m[first][at], told.noise_m(seen))
    if found is None:
        return None
    return np.column_stack([np.interp(times, times[at], column) for column in found.T])[back]


def likeliest_way(ways_m: Sequence[FloatArray], looks_m: FloatArray, noise_m: float) -> FloatArray | None:
    """Viterbi's way (Meert and Verbeke 2018); None where it stops before half of the looks."""
    streets = InMemMap("streets", use_latlon=False, use_rtree=False, index_edges=True)
    low, high = looks_m.min(axis=0) - 3 * noise_m - REACH_M, looks_m.max(axis=0) + 3 * noise_m + REACH_M
    for way in ways_m:
        nodes = [tuple(int(x) for x in point) for point in np.rint(way)]
        for a, b in pairwise(nodes):
            if a != b and all(low[k] <= min(a[k], b[k]) and max(a[k], b[k]) <= high[k] for k in (0, 1)):
                for one in (a, b):
                    streets.add_node(one, one)
                streets.add_edge(a, b)
                streets.add_edge(b, a)
    matcher = DistanceMatcher(
        streets, max_dist=3 * noise_m + REACH_M, obs_noise=noise_m, non_emitting_states=False, only_edges=True,
        max_lattice_width=50,
    )  # fmt: skip
    _, last = matcher.match([tuple(look) for look in looks_m])
    if last < len(looks_m) // 2:
        return None
    path = np.array([state.edge_m.pi for state in matcher.lattice_best])
    return np.vstack([path, np.tile(path[-1], (len(looks_m) - len(path), 1))])[: len(looks_m)]


def walk(roads: Roads, rng: np.random.Generator, looks: int, hops: int) -> FloatArray:
    """Positions of a walker who follows the law of the roads."""
    at, out = int(rng.integers(len(roads.middles_m))), []
    for _ in range(looks):
        out.append(roads.middles_m[at])
        for _ in range(hops):
            if rng.random() < 0.5:
                row = slice(roads.onward.indptr[at], roads.onward.indptr[at + 1])
                at = int(rng.choice(roads.onward.indices[row], p=roads.onward.data[row]))
    return np.array(out)


def main(arguments: list[str]) -> int:
    """Errors per coordinate and processor time of each; 1 where ours is more than a tenth off exact Bayes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walks", type=int, default=10)
    asked, worst = parser.parse_args(arguments), 0.0
    logging.getLogger("be.kuleuven.cs.dtai.mapmatching").setLevel(logging.ERROR)  # "use an index", per street
    reach, rng = 1200.0, np.random.default_rng(3)
    along = np.arange(-reach, reach + 1, BLOCK_M)
    lines = [np.column_stack([along, np.full(along.size, y)]) for y in along]
    lines += [line[:, ::-1] for line in lines]
    roads = Roads.along(lines, np.full(2, -2e3), np.full(2, 2e3))
    assert roads is not None
    times, hops = EVERY_S * np.arange(60), round(SPEED_M_S * EVERY_S / (PIECE_M * 0.5))
    for noise_m in (30.0, 100.0, 300.0):
        squares: dict[str, list[float]] = {"as released": [], "exact Bayes": [], "ours": [], "leuvenmapmatching": []}
        spent = dict.fromkeys(squares, 0.0)
        for _ in range(asked.walks):
            truth = walk(roads, rng, times.size, hops)
            looks = truth + rng.normal(0, noise_m, truth.shape)
            for name in squares:
                started = time.process_time()
                found: FloatArray | None = looks
                if name == "leuvenmapmatching":
                    found = likeliest_way(lines, looks, noise_m)
                elif name != "as released":
                    speeds = {"speeds_m_s": (SPEED_M_S,)} if name == "exact Bayes" else {}
                    found = match_roads(roads, times, looks, White(noise_m), **speeds)
                spent[name] += time.process_time() - started
                squares[name].append(float(np.mean(((looks if found is None else found) - truth) ** 2)))
        rms = {name: math.sqrt(np.mean(values)) for name, values in squares.items()}
        worst = max(worst, rms["ours"] / rms["exact Bayes"])
        print(
            f"noise {noise_m:.0f} m: " + ", ".join(f"{n} {rms[n]:.1f} m in {spent[n]:.2f} s" for n in squares),
            flush=True,
        )
    return int(worst > 1.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
