"""Roads: a hidden Markov model of somebody who stays on ways that are known, from a map or from other people's tracks.

*States* are directed pieces of road, 40 m long (where noise is wide an eighth of it); a walker stays or goes on to one
of the next pieces, rather straight on than round a corner and hardly ever back. *Speeds* of 1.4, 5 and 12 m/s are
tried, the likeliest is taken. *Seen* is every released position, Gaussian around the piece. Noise that is correlated in
time would count too often: each look counts by what the n looks within a minute of it are worth together, 1ᵀR⁻¹1 / n
with R their correlation. The guess is the posterior mean (forward and backward), which for this model no map matcher
beats in mean square. After a pause of more than sixty steps the walker may be anywhere. The fitted smoothing is taken
of moments between looks that are more than a minute apart, and where five looks together are three times as far from
the guess as noise puts them: there one is on no known road.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.sparse import csr_matrix, diags
from scipy.spatial import cKDTree

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.base.compiled import compile_loop
from sfumato.tracks.adversary.releases.moments.likely_path import best_fit, between_looks
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.priors.kernels import Kernel

PIECE_M, SPEEDS_M_S, MOST_LOOKS, MOST_PIECES = 40.0, (1.4, 5.0, 12.0), 120, 12_000
STRAIGHT, BACK, LOST, MEMORY_S = 1.5, 0.01, 1e-3, 60.0
_GO, _MOST_HOPS, _TRIED, _REACH_M, _LEAST = 0.5, 60, 60, 200.0, 1e-4
_TOGETHER, _OFF_ROAD, _ANYWHERE = 5, 3.0, -1


Near = tuple[cKDTree, float]
"""Points, and how far from them roads may be that matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Roads:
    """Directed pieces of road: their middles (m, 2), and the walker's law of going from piece to piece."""

    middles_m: FloatArray
    onward: csr_matrix
    piece_m: float = PIECE_M

    @classmethod
    def along(
        cls,
        ways_m: Sequence[FloatArray],
        low: FloatArray,
        high: FloatArray,
        near: Near | None = None,
        piece_m: float = PIECE_M,
    ) -> Roads | None:
        """Of ways inside a rectangle, and near a path if asked; ends of pieces are rounded to 40 m, so ways meet."""
        if not len(ways_m):
            return None
        first, last = (np.array([np.ceil(low / piece_m), np.floor(high / piece_m)])).astype(np.int64)
        starts = np.cumsum([0, *map(len, ways_m)])
        steps, taken = np.unique(_steps(np.concatenate(ways_m), starts, first, last, piece_m), return_counts=True)
        if not len(steps):
            return None
        node, turn = np.divmod(steps, 9)
        begins = np.stack(np.divmod(node, last[1] - first[1] + 1), axis=1) + first
        pairs = np.hstack([begins, begins + np.stack(np.divmod(turn, 3), axis=1) - 1])
        if near is not None:
            new = np.diff(node, prepend=-1) != 0  # steps are in the order of the nodes they begin at
            away = np.asarray(near[0].query(piece_m * begins[new], distance_upper_bound=near[1])[0])
            some = (away <= near[1])[np.cumsum(new) - 1]
            pairs, taken = pairs[some], taken[some]
            if not len(pairs):
                return None
        if len(pairs) > MOST_PIECES // 2:
            pairs = pairs[np.argsort(-taken, kind="stable")[: MOST_PIECES // 2]]
        pairs = np.unique(np.vstack([pairs, pairs[:, [2, 3, 0, 1]]]), axis=0)
        nodes, ends = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
        ends = ends.reshape(-1, 2)
        return cls(piece_m * (pairs[:, :2] + pairs[:, 2:]) / 2, _law(pairs, ends, len(nodes)), piece_m)


@compile_loop()
def _steps(ways_m: FloatArray, starts: IntArray, first: IntArray, last: IntArray, piece_m: float) -> IntArray:
    """From node to node along all ways, inside a rectangle of nodes: 9 · node + which of the nine around it is next."""
    found = [np.int64(0) for _ in range(0)]
    tall = last[1] - first[1] + 1
    for way in range(len(starts) - 1):
        x, y, left, begun = 0, 0, 0.0, False
        for k in range(starts[way], starts[way + 1]):
            east, north, apart = ways_m[k, 0], ways_m[k, 1], 0.0
            if begun:
                back_x, back_y = ways_m[k - 1, 0], ways_m[k - 1, 1]
                apart = np.sqrt((east - back_x) ** 2 + (north - back_y) ** 2)
            else:
                back_x, back_y = east, north
            while left <= apart:
                share = left / apart if apart > 0 else 0.0
                to_x = int(np.rint((back_x + share * (east - back_x)) / piece_m))
                to_y = int(np.rint((back_y + share * (north - back_y)) / piece_m))
                inside = first[0] <= min(x, to_x) and max(x, to_x) <= last[0]
                inside = inside and first[1] <= min(y, to_y) and max(y, to_y) <= last[1]
                if begun and inside and max(abs(to_x - x), abs(to_y - y)) == 1:
                    node = (x - first[0]) * tall + y - first[1]
                    found.append(9 * node + 3 * (to_x - x + 1) + to_y - y + 1)
                x, y, begun = to_x, to_y, True
                left += piece_m / 2
            left -= apart
    return np.array(found, dtype=np.int64)


def _law(pairs: IntArray, ends: IntArray, nodes: int) -> csr_matrix:
    """From piece to piece: e^{1.5 cos(turn)}, a hundredth of that for going back."""
    number = np.arange(len(pairs))
    into = csr_matrix((np.ones(len(pairs)), (number, ends[:, 1])), (len(pairs), nodes))
    out = csr_matrix((np.ones(len(pairs)), (ends[:, 0], number)), (nodes, len(pairs)))
    follows = (into @ out).tocoo()
    way = (pairs[:, 2:] - pairs[:, :2]).astype(float)
    way /= np.hypot(*way.T)[:, None]
    cosine = (way[follows.row] * way[follows.col]).sum(axis=1)
    back = ends[follows.row, 0] == ends[follows.col, 1]
    weight = np.exp(STRAIGHT * cosine) * np.where(back, BACK, 1.0)
    law = csr_matrix((weight, (follows.row, follows.col)), (len(pairs), len(pairs)))
    return csr_matrix(diags(1.0 / np.asarray(law.sum(axis=1)).ravel()) @ law)


def guess(seen: SeenTrack, told: Knowledge) -> FloatArray | None:
    """The posterior mean; None where no way is known near the release."""
    size = max(told.noise_m(seen), 10.0)
    low, high = seen.path_m.min(axis=0) - 3 * size, seen.path_m.max(axis=0) + 3 * size
    roads = Roads.along(told.ways_m, low, high, (cKDTree(seen.path_m), 3 * size + _REACH_M), max(PIECE_M, size / 8))
    if roads is None:
        return None
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    at = evenly(times.size, MOST_LOOKS)
    looks = seen.path_m[first][at]
    found = match_roads(roads, times[at], looks, told.noise(seen))
    free = best_fit(seen, told)
    if free is None:
        return between_looks(times, times[at], found, seen.path_m[first])[back]
    whole = between_looks(times, times[at], found, free[first])[back]
    misfit = ((looks - found) ** 2).sum(axis=1) / (2 * size**2)
    lost = np.interp(times, times[at], uniform_filter1d(misfit, _TOGETHER, mode="nearest"))[back] > _OFF_ROAD
    return np.where(lost[:, None], free, whole)


def match_roads(
    roads: Roads,
    times_s: FloatArray,
    looks_m: FloatArray,
    noise: Kernel,
    speeds_m_s: Sequence[float] = SPEEDS_M_S,
) -> FloatArray:
    """The posterior mean at every look, for the likeliest speed."""
    worth = looks_worth(noise, times_s)
    away = ((looks_m[:, None] - roads.middles_m[None]) ** 2).sum(axis=2)
    seen = -worth[:, None] * away / (2 * max(noise.variance_m2, 100.0))
    most = seen.max(axis=1, keepdims=True)
    seen = np.exp(seen - most)
    ahead, back = roads.onward, roads.onward.T.tocsr()
    steps = [np.rint(speed * np.diff(times_s) / (roads.piece_m * _GO)) for speed in speeds_m_s]
    tried = [np.where(each > _MOST_HOPS, _ANYWHERE, np.maximum(each, 1)).astype(int) for each in steps]
    walks = [_walked(ahead, seen[:_TRIED], each) for each in tried]
    best = int(np.argmax([score for _, score in walks]))
    hops, forward = tried[best], walks[best][0]
    forward += _walked(ahead, seen[_TRIED - 1 :], hops[_TRIED - 1 :], forward[-1])[0][1:]
    after, out = np.ones(len(roads.middles_m)), np.empty_like(looks_m)
    for k in range(len(looks_m) - 1, -1, -1):
        weight = forward[k] * after
        total = weight.sum()
        out[k] = weight @ roads.middles_m / total if total > 0 else looks_m[k]
        if k and hops[k - 1] == _ANYWHERE:
            after = np.ones_like(after)
        elif k:
            after = _hop(back, after * seen[k], int(hops[k - 1]))
            after /= max(float(after.max()), 1e-300)
    return out


def looks_worth(noise: Kernel, times_s: FloatArray) -> FloatArray:
    """How much each look counts: 1ᵀR⁻¹1 / n of the n correlated looks within a minute of it."""
    correlation = noise.covariance(times_s) / noise.variance_m2 + 1e-9 * np.eye(times_s.size)
    near = [np.flatnonzero(np.abs(times_s - when) <= MEMORY_S) for when in times_s]
    worth = [np.linalg.solve(correlation[np.ix_(some, some)], np.ones(some.size)).sum() / some.size for some in near]
    return np.minimum(worth, 1.0)


def _walked(
    ahead: csr_matrix, seen: FloatArray, hops: IntArray, state: FloatArray | None = None
) -> tuple[list[FloatArray], float]:
    """The forward distributions from the first look, or from what is believed at it, and the log-likelihood."""
    score = float(np.log(seen[0].sum())) if len(seen) else 0.0
    state = seen[0] / seen[0].sum() if state is None else state
    out = [state]
    for k in range(1, len(seen)):
        state = _hop(ahead, state, int(hops[k - 1])) * seen[k]
        total = float(state.sum())
        score += np.log(total) if total > 0 else -1e6
        state = state / total if total > 0 else seen[k] / max(float(seen[k].sum()), 1e-300)
        out.append(state)
    return out, score


def _hop(law: csr_matrix, state: FloatArray, hops: int) -> FloatArray:
    """So many hops; now and then one is lost, and anywhere: not every street is known. Rows say what follows."""
    if hops == _ANYWHERE:
        return np.full_like(state, state.mean())
    gone = _hopped(law.data, np.asarray(law.indices), np.asarray(law.indptr), state, hops, _LEAST * float(state.max()))
    return np.asarray((1.0 - LOST) * gone + LOST * state.mean())


@compile_loop()
def _hopped(
    weights: FloatArray, indices: IntArray, starts: IntArray, state: FloatArray, hops: int, least: float
) -> FloatArray:
    """(½ + ½ law)^hops state by where each piece leads; what is less than ``least`` is let go of."""
    now, after = np.zeros_like(state), np.zeros_like(state)
    here, there = np.empty(len(state), dtype=np.int64), np.empty(len(state), dtype=np.int64)
    count = 0
    for i in range(len(state)):
        if state[i] > least:
            now[i] = state[i]
            here[count] = i
            count += 1
    for _ in range(hops):
        reached = 0
        for a in range(count):
            i = here[a]
            value = now[i]
            now[i] = 0.0
            if value <= least:
                continue
            if after[i] == 0.0:
                there[reached] = i
                reached += 1
            after[i] += (1.0 - _GO) * value
            value *= _GO
            for k in range(starts[i], starts[i + 1]):
                j = indices[k]
                if after[j] == 0.0:
                    there[reached] = j
                    reached += 1
                after[j] += weights[k] * value
        now, after = after, now
        here, there = there, here
        count = reached
    return now
