"""Made-up cities whose answers are known exactly: people are drawn from them, protected, and asked about.

Four worlds, in metres on a square of 8 km and around it; a person is drawn anew for every run:

clustered  eight centres; everybody prefers a few of them (weights from a Dirichlet law), places around them are normal
uniform    everybody has three places of their own, anywhere in 16 x 16 km
commuter   a home from a wide normal law, a work place from a narrow one elsewhere; six tenths of the time at home

corridor   four places of everybody's own along a street of 6 km, normal across it

How heat maps choose and how wide their intervals are was tuned on these four. Held out, with people of its own seed:

ring road  three places of everybody's own, unequally often: in two towns, on the road between, or on a ring around one

Places are drawn independently given the person, so the shares of cells and of pairs of cells are sums of products of
normal laws, and of moments of the Dirichlet law: no simulation is needed for the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from sfumato.base.arrays import FloatArray
from sfumato.base.things.grid import metres_per_degree
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Received
from sfumato.tracks.noise.multiscale.ladder import noise_covariance, shipped_ladder
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern32, White

SIDE_M = 8000.0
SOUTH, WEST = 47.0, 8.0  # the square's corner
POINTS, STAYS, STEP_S = 5, 8, 600.0
CONCENTRATION = 3.0
_WIDE_M = 16_000.0  # the uniform world
_STREET, _ACROSS = (1000.0, 7000.0), (4200.0, 150.0)  # the corridor
_CENTRES = np.array(
    [[1500, 1800], [2500, 5200], [4100, 3900], [5600, 6500], [6300, 2100], [3300, 800], [7200, 5000], [1000, 7000]],
    dtype=np.float64,
)
_WIDTHS = np.array([250, 500, 350, 700, 300, 450, 250, 600], dtype=np.float64)
_PREFERRED = np.array([0.22, 0.16, 0.2, 0.1, 0.12, 0.08, 0.07, 0.05])
_HOME, _HOME_WIDTH, _WORK, _WORK_WIDTH, _AT_HOME = (3600.0, 4300.0), 1800.0, (5200.0, 3000.0), 600.0, 0.6


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Places (people, stays, 2) of people drawn anew; the shares of a grid of cells, and of pairs of its cells."""

    name: str
    places: Callable[[int, int, np.random.Generator], FloatArray]
    shares: Callable[[float], FloatArray]
    pairs: Callable[[float], FloatArray]
    seed: int = 1


def _normal(centre: FloatArray, width: float, cell_m: float) -> FloatArray:
    edges = np.arange(0.0, SIDE_M + 1.0, cell_m)
    x, y = (np.diff(ndtr((edges - at) / width)) for at in centre)
    return np.outer(y[::-1], x).ravel()  # from the north-western corner, row by row


def _scaled(mass: FloatArray) -> FloatArray:
    return mass / mass.sum()


def _clustered_places(people: int, stays: int, rng: np.random.Generator) -> FloatArray:
    weights = rng.dirichlet(CONCENTRATION * _PREFERRED, size=people)
    which = (rng.random((people, stays, 1)) > np.cumsum(weights, axis=1)[:, None, :]).sum(axis=2)
    which = np.minimum(which, len(_CENTRES) - 1)
    return _CENTRES[which] + _WIDTHS[which][..., None] * rng.standard_normal((people, stays, 2))


def _around(cell_m: float) -> FloatArray:
    return np.array([_normal(centre, width, cell_m) for centre, width in zip(_CENTRES, _WIDTHS, strict=True)])


def _clustered_pairs(cell_m: float) -> FloatArray:
    a = CONCENTRATION
    together = (a * np.outer(_PREFERRED, _PREFERRED) + np.diag(_PREFERRED)) / (a + 1)  # E[w wᵀ]
    return _scaled(_around(cell_m).T @ together @ _around(cell_m))


def _uniform_places(people: int, stays: int, rng: np.random.Generator) -> FloatArray:
    own = (rng.random((people, 3, 2)) - 0.5) * _WIDE_M + SIDE_M / 2
    return own[np.arange(people)[:, None], rng.integers(3, size=(people, stays))]


def _flat(cell_m: float) -> FloatArray:
    cells = round(SIDE_M / cell_m) ** 2
    return np.full(cells, 1.0 / cells)


def _uniform_pairs(cell_m: float) -> FloatArray:
    """Two of three places: the same one in a third of the cases; another one may lie outside the square."""
    flat, inside = _flat(cell_m), (SIDE_M / _WIDE_M) ** 2
    return _scaled(inside * np.diag(flat) / 3 + inside**2 * np.outer(flat, flat) * 2 / 3)


def _commuter_places(people: int, stays: int, rng: np.random.Generator) -> FloatArray:
    home = np.array(_HOME) + _HOME_WIDTH * rng.standard_normal((people, 1, 2))
    work = np.array(_WORK) + _WORK_WIDTH * rng.standard_normal((people, 1, 2))
    return np.where(rng.random((people, stays, 1)) < _AT_HOME, home, work)


def _ends(cell_m: float) -> tuple[FloatArray, FloatArray]:
    return _normal(np.array(_HOME), _HOME_WIDTH, cell_m), _normal(np.array(_WORK), _WORK_WIDTH, cell_m)


def _commuter_pairs(cell_m: float) -> FloatArray:
    home, work = _ends(cell_m)
    both = _AT_HOME * (1 - _AT_HOME)
    still = _AT_HOME**2 * np.diag(home) + (1 - _AT_HOME) ** 2 * np.diag(work)
    return _scaled(still + both * (np.outer(home, work) + np.outer(work, home)))


def _commuter_shares(cell_m: float) -> FloatArray:
    home, work = _ends(cell_m)
    return _scaled(_AT_HOME * home + (1 - _AT_HOME) * work)


def _corridor_places(people: int, stays: int, rng: np.random.Generator) -> FloatArray:
    own = np.stack(
        [rng.uniform(*_STREET, (people, 4)), _ACROSS[0] + _ACROSS[1] * rng.standard_normal((people, 4))], axis=2
    )
    return own[np.arange(people)[:, None], rng.integers(4, size=(people, stays))]


def _corridor_shares(cell_m: float) -> FloatArray:
    edges = np.arange(0.0, SIDE_M + 1.0, cell_m)
    x, y = np.diff(np.clip(edges, *_STREET)), np.diff(ndtr((edges - _ACROSS[0]) / _ACROSS[1]))
    return _scaled(np.outer(y[::-1], x).ravel())


def _corridor_pairs(cell_m: float) -> FloatArray:
    shares = _corridor_shares(cell_m)
    return np.diag(shares) / 4 + np.outer(shares, shares) * 3 / 4


_TOWNS, _TOWN_WIDTHS = np.array([[2300.0, 5600.0], [6200.0, 2700.0]]), np.array([420.0, 260.0])
_RING_M, _ROAD_WIDTH, _KINDS, _VISITS = 1500.0, 90.0, np.array([0.4, 0.25, 0.2, 0.15]), np.array([0.6, 0.3, 0.1])


def _on_ways(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(..., 2) places on the road from town to town, and on the ring around the first, for ``at`` from 0 to 1."""
    ring = _RING_M * np.stack([np.cos(2 * np.pi * at), np.sin(2 * np.pi * at)], axis=-1)
    return _TOWNS[0] + at[..., None] * (_TOWNS[1] - _TOWNS[0]), _TOWNS[0] + ring


def _ring_places(people: int, stays: int, rng: np.random.Generator) -> FloatArray:
    kind = rng.choice(4, p=_KINDS, size=(people, 3))
    road, ring = _on_ways(rng.random((people, 3)))
    towns = _TOWNS[np.minimum(kind, 1)]
    middle = np.where((kind == 2)[..., None], road, np.where((kind == 3)[..., None], ring, towns))
    width = np.where(kind < 2, _TOWN_WIDTHS[np.minimum(kind, 1)], _ROAD_WIDTH)
    own = middle + width[..., None] * rng.standard_normal((people, 3, 2))
    return own[np.arange(people)[:, None], rng.choice(3, p=_VISITS, size=(people, stays))]


def _ring_mass(cell_m: float) -> FloatArray:
    """Integrated along road and ring by the midpoint rule, 10 m apart: to better than a millionth."""
    towns = [_normal(centre, width, cell_m) for centre, width in zip(_TOWNS, _TOWN_WIDTHS, strict=True)]
    ways = [
        np.mean([_normal(at, _ROAD_WIDTH, cell_m) for at in way], axis=0)
        for way in _on_ways((np.arange(1000) + 0.5) / 1000)
    ]
    return _KINDS @ np.array([*towns, *ways])


def _ring_pairs(cell_m: float) -> FloatArray:
    mass, same = _ring_mass(cell_m), float(np.sum(_VISITS**2))
    return _scaled(same * np.diag(mass) + (1 - same) * np.outer(mass, mass))


HELD_OUT = World("ring road", _ring_places, lambda cell: _scaled(_ring_mass(cell)), _ring_pairs, seed=2611)
CORRIDOR = World("corridor", _corridor_places, _corridor_shares, _corridor_pairs)
WORLDS = (
    World("clustered", _clustered_places, lambda cell: _scaled(_PREFERRED @ _around(cell)), _clustered_pairs),
    World("uniform", _uniform_places, _flat, _uniform_pairs),
    World("commuter", _commuter_places, _commuter_shares, _commuter_pairs),
)


def default_kernel(noise_m: float, *, constant_share: float | None = None) -> Kernel:
    """Today's default noise, or with another constant share (0.1 was the first edition's)."""
    ladder = shipped_ladder(constant_share=constant_share)
    parts: Kernel = Constant(noise_m * ladder.constant_share**0.5) + White(noise_m * ladder.white_share**0.5)
    for scale, variance in zip(ladder.length_scales_s, ladder.variances, strict=True):
        parts = parts + Matern32(float(scale), noise_m * float(variance) ** 0.5)
    return parts


_NORTH_M, _EAST_M = metres_per_degree(SOUTH + SIDE_M / 2 / 111_200)
BOUNDS = (
    SOUTH,
    WEST,
    SOUTH + (SIDE_M - 0.5) / _NORTH_M,
    WEST + (SIDE_M - 0.5) / _EAST_M,
)  # whole cells, not a hair more


def degrees(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Latitude and longitude of places (n, 2), in metres east and north of the square's corner."""
    return SOUTH + places[:, 1] / _NORTH_M, WEST + places[:, 0] / _EAST_M


def released(places: FloatArray, noise_m: float, rng: np.random.Generator, *, trips: bool = False) -> Received:
    """People at these places with today's default noise: stays of some points each, or a trip from each to the next.

    Everybody has the same times, so one factor of the covariance draws everybody's noise.
    """
    people, stays, _ = places.shape
    if trips:
        path = np.stack([places[:, :-1], places[:, 1:]], axis=2).reshape(people, -1, 2)
        times = (3600.0 * np.arange(stays - 1)[:, None] + np.array([0.0, 1500.0])).ravel()
        segment = np.repeat(np.arange(stays - 1), 2)
    else:
        path = np.repeat(places, POINTS, axis=1) + 20.0 * rng.standard_normal((people, stays * POINTS, 2))
        times, segment = STEP_S * np.arange(stays * POINTS), np.zeros(stays * POINTS, dtype=np.int64)
    factor = np.linalg.cholesky(noise_covariance(shipped_ladder(), times) + 1e-12 * np.eye(len(times)))
    noise = noise_m * np.einsum("ts,psk->ptk", factor, rng.standard_normal(path.shape))
    found = [
        (f"p{number}", Trace(SOUTH + one[:, 1] / _NORTH_M, WEST + one[:, 0] / _EAST_M, 1.7e9 + times, segment))
        for number, one in enumerate(path + noise)
    ]
    return Received(tuple(found), NoiseLaw(default_kernel(noise_m), 0.0), "multiscale", False)
