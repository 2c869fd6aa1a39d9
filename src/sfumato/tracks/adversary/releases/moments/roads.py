"""Roads: a hidden Markov model of somebody who stays on ways that are known, from a map or from other people's tracks.

*States* are directed pieces of road, 40 m long; a walker stays or goes on to one of the next pieces, rather straight on
than round a corner and hardly ever back. *Speeds* of 1.4, 5 and 12 m/s are tried, the likeliest is taken. *Seen* is
every released position, Gaussian around the piece. Noise that is correlated in time would count too often: each look
counts by what the n looks within a minute of it are worth together, 1ᵀR⁻¹1 / n with R their correlation. The guess is
the posterior mean (forward and backward), which for this model no map matcher beats in mean square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.spatial import cKDTree

from sfumato.base.arrays import FloatArray, IntArray, evenly
from sfumato.tracks.adversary.releases.seen import Knowledge, SeenTrack
from sfumato.tracks.priors.kernels import Kernel

PIECE_M, SPEEDS_M_S, MOST_LOOKS, MOST_PIECES = 40.0, (1.4, 5.0, 12.0), 120, 12_000
STRAIGHT, BACK, LOST, MEMORY_S = 1.5, 0.01, 1e-3, 60.0
_GO, _MOST_HOPS, _TRIED, _REACH_M = 0.5, 60, 60, 200.0


Near = tuple[cKDTree, float]
"""Points, and how far from them roads may be that matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Roads:
    """Directed pieces of road: their middles (m, 2), and the walker's law of going from piece to piece."""

    middles_m: FloatArray
    onward: csr_matrix

    @classmethod
    def along(
        cls, ways_m: Sequence[FloatArray], low: FloatArray, high: FloatArray, near: Near | None = None
    ) -> Roads | None:
        """Of ways inside a rectangle, and near a path if asked; ends of pieces are rounded to 40 m, so ways meet."""
        steps = [_steps(way, low, high) for way in ways_m]
        steps = [pairs for pairs in steps if len(pairs)]
        if not steps:
            return None
        pairs, taken = np.unique(np.concatenate(steps), axis=0, return_counts=True)
        if near is not None:
            some = near[0].query(PIECE_M * pairs[:, :2], distance_upper_bound=near[1])[0] <= near[1]
            pairs, taken = pairs[some], taken[some]
            if not len(pairs):
                return None
        if len(pairs) > MOST_PIECES // 2:
            pairs = pairs[np.argsort(-taken, kind="stable")[: MOST_PIECES // 2]]
        pairs = np.unique(np.vstack([pairs, pairs[:, [2, 3, 0, 1]]]), axis=0)
        nodes, ends = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
        ends = ends.reshape(-1, 2)
        return cls(PIECE_M * (pairs[:, :2] + pairs[:, 2:]) / 2, _law(pairs, ends, len(nodes)))


def _steps(way_m: FloatArray, low: FloatArray, high: FloatArray) -> IntArray:
    """From node to node along one way, (k, 4)."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way_m, axis=0).T))])
    fine = np.arange(0.0, along[-1] + 1e-9, PIECE_M / 2)
    points = np.column_stack([np.interp(fine, along, column) for column in way_m.T])
    nodes = np.round(points / PIECE_M).astype(np.int64)
    nodes = nodes[np.concatenate([[True], (np.diff(nodes, axis=0) != 0).any(axis=1)])] if len(nodes) else nodes
    pairs = np.hstack([nodes[:-1], nodes[1:]])
    inside = ((PIECE_M * pairs >= np.tile(low, 2)) & (PIECE_M * pairs <= np.tile(high, 2))).all(axis=1)
    near = np.abs(pairs[:, :2] - pairs[:, 2:]).max(axis=1, initial=0) <= 1
    return np.asarray(pairs[inside & near])


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
    roads = Roads.along(told.ways_m, low, high, (cKDTree(seen.path_m), 3 * size + _REACH_M))
    if roads is None:
        return None
    times, first, back = np.unique(seen.times_s, return_index=True, return_inverse=True)
    at = evenly(times.size, MOST_LOOKS)
    looks = seen.path_m[first][at]
    found = match_roads(roads, times[at], looks, told.noise(seen))
    whole = np.column_stack([np.interp(times, times[at], column) for column in found.T])
    return np.asarray(whole[back])


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
    ahead, back = roads.onward.T.tocsr(), roads.onward
    best, top = None, -np.inf
    for speed in speeds_m_s:
        hops = np.clip(np.rint(speed * np.diff(times_s) / (PIECE_M * _GO)), 1, _MOST_HOPS).astype(int)
        score = _walked(ahead, seen[:_TRIED], hops)[1]
        if score > top:
            best, top = hops, score
    assert best is not None
    hops = best
    forward, _ = _walked(ahead, seen, hops)
    after, out = np.ones(len(roads.middles_m)), np.empty_like(looks_m)
    for k in range(len(looks_m) - 1, -1, -1):
        weight = forward[k] * after
        total = weight.sum()
        out[k] = weight @ roads.middles_m / total if total > 0 else looks_m[k]
        if k:
            after = _hop(back, after * seen[k], int(hops[k - 1]))
            after /= max(float(after.max()), 1e-300)
    return out


def looks_worth(noise: Kernel, times_s: FloatArray) -> FloatArray:
    """How much each look counts: 1ᵀR⁻¹1 / n of the n correlated looks within a minute of it."""
    correlation = noise.covariance(times_s) / noise.variance_m2 + 1e-9 * np.eye(times_s.size)
    near = [np.flatnonzero(np.abs(times_s - when) <= MEMORY_S) for when in times_s]
    worth = [np.linalg.solve(correlation[np.ix_(some, some)], np.ones(some.size)).sum() / some.size for some in near]
    return np.minimum(worth, 1.0)


def _walked(ahead: csr_matrix, seen: FloatArray, hops: IntArray) -> tuple[list[FloatArray], float]:
    """The forward distributions, and the log-likelihood."""
    state, score, out = seen[0] / seen[0].sum(), float(np.log(seen[0].sum())), []
    out.append(state)
    for k in range(1, len(seen)):
        state = _hop(ahead, state, int(hops[k - 1])) * seen[k]
        total = float(state.sum())
        score += np.log(total) if total > 0 else -1e6
        state = state / total if total > 0 else seen[k] / max(float(seen[k].sum()), 1e-300)
        out.append(state)
    return out, score


def _hop(law: csr_matrix, state: FloatArray, hops: int) -> FloatArray:
    """So many hops; now and then one is lost, and anywhere: not every street is known."""
    start = state
    for _ in range(hops):
        state = (1.0 - _GO) * state + _GO * (law @ state)
    return np.asarray((1.0 - LOST) * state + LOST * start.mean())
