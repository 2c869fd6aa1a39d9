"""Shares of areas from an estimate of cells: what part of each cell lies in an area, sums, intervals, what is shown.

*Parts.* An area takes from each cell the part of its ground that lies inside. An edge of its outline, cut at the lines
of the grid, covers of the cell that a piece is in what lies to its right, and so much of every cell further right in
that row: the signed sum over the outline is the part, exactly.

*Intervals.* The variance of an estimate grows with the share R asked about, V(R) = a + b R. The interval is every R
with (estimate - R)^2 <= z^2 V(R), as [Wilson1927]'s.

*Shown together.* While two neighbours are not told apart, the two that are hardest to tell are shown together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.things.areas import Areas
from sfumato.base.things.grid import Grid

Group = tuple[int, ...]
Shape = Sequence[Sequence[FloatArray]]
"""Polygons, each of rings of (lon, lat) in degrees, the first its outside."""


def parts_of_cells(
    shapes: Sequence[Shape], shape: tuple[int, int], corner: tuple[float, float], size: tuple[float, float]
) -> csr_array:
    """(areas, cells): the part of each cell inside; of what lies in several areas, the first has all it covers.

    ``shape``: rows and columns, ``corner``: north and west, ``size``: height and width of a cell, in degrees.
    """
    left = np.ones(shape)
    found: list[tuple[FloatArray, IntArray, IntArray]] = []
    for number, polygons in enumerate(shapes):
        rings = [
            _turned(_places(ring, polygons[0][0], corner, size), k == 0)
            for one in polygons
            for k, ring in enumerate(one)
        ]
        every = np.concatenate(rings)
        low = np.clip(np.floor(every.min(axis=0)), 0, shape).astype(np.int64)
        high = np.clip(np.ceil(every.max(axis=0)), 0, shape).astype(np.int64)
        if (low >= high).any():
            continue
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        part = np.minimum(_covered([ring - low for ring in rings], *(high - low)), left[box])
        left[box] -= part
        row, column = np.nonzero(part > 1e-12)
        found.append((part[row, column], np.full(row.size, number), (row + low[0]) * shape[1] + column + low[1]))
    if not found:
        return csr_array((len(shapes), shape[0] * shape[1]))
    parts, areas, cells = (np.concatenate(column) for column in zip(*found, strict=True))
    return csr_array((parts, (areas, cells)), shape=(len(shapes), shape[0] * shape[1]))


def parts_on(areas: Areas, grid: Grid) -> FloatArray:
    """(areas, cells): the part of each cell of a grid inside."""
    assert grid.north_deg is not None
    assert grid.west_deg is not None
    assert grid.cell_height_deg is not None
    assert grid.cell_width_deg is not None
    shapes = [[one.rings for one in shape] for shape in areas.shapes]
    size = grid.cell_height_deg, grid.cell_width_deg
    out: FloatArray = parts_of_cells(shapes, grid.shape, (grid.north_deg, grid.west_deg), size).toarray()
    return out


def _places(ring: FloatArray, origin: FloatArray, corner: tuple[float, float], size: tuple[float, float]) -> FloatArray:
    """(n, 2): rows and columns with fractions; longitudes are counted on from the first vertex of the area."""
    first = float(origin[0, 0])
    across = (ring[:, 0] - first + 180.0) % 360.0 - 180.0 + (first - corner[1] + 180.0) % 360.0 - 180.0
    return np.column_stack([(corner[0] - ring[:, 1]) / size[0], across / size[1]])


def _turned(ring: FloatArray, outside: bool) -> FloatArray:
    """The ring, walked so that what it covers counts: an outside is added, a hole taken away."""
    after = np.roll(ring, -1, axis=0)
    adds = float(((after - ring)[:, 0] * (after + ring)[:, 1]).sum()) < 0
    return ring if adds == outside else ring[::-1]


def _covered(rings: Sequence[FloatArray], rows: int, columns: int) -> FloatArray:
    begin, end = np.concatenate(rings), np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    cuts = [(np.arange(len(begin)), np.full(len(begin), at)) for at in (0.0, 1.0)]
    cuts += [_crossings(begin[:, axis], end[:, axis], most) for axis, most in ((0, rows), (1, columns))]
    edge, at = (np.concatenate(column) for column in zip(*cuts, strict=True))
    order = np.lexsort((at, edge))
    edge, at = edge[order], at[order]
    same = edge[1:] == edge[:-1]
    way = (end - begin)[edge[1:][same]]
    pieces = (begin[edge[1:][same]] + way * one[same][:, None] for one in (at[:-1], at[1:]))
    from_, to = (np.clip(one, 0.0, (rows, columns)) for one in pieces)
    down, (row, column) = to[:, 0] - from_[:, 0], ((from_ + to) / 2).T
    inside = np.minimum(np.floor(row), rows - 1).astype(np.int64) * (columns + 2) + np.floor(column).astype(np.int64)
    right, size = column - np.floor(column), rows * (columns + 2)
    sums = np.bincount(inside, down * (1 - right), size) + np.bincount(inside + 1, down * right, size)
    covered: FloatArray = np.cumsum(sums.reshape(rows, -1), axis=1)[:, :columns]
    return np.clip(covered, 0.0, 1.0)


def _crossings(begin: FloatArray, end: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    """Where edges cross the lines 0 .. ``most``: which edge, and at what part of it."""
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    first = np.clip(np.ceil(low), 0, most + 1).astype(np.int64)
    count = np.maximum(np.clip(np.floor(high), -1, most).astype(np.int64) - first + 1, 0) * (low < high)
    edge = np.repeat(np.arange(len(begin)), count)
    line = first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    return edge, (line - begin[edge]) / (end - begin)[edge]


def sums_of(weights: csr_array | FloatArray, values: FloatArray) -> FloatArray:
    """(..., areas): what areas hold of values (..., cells), by the part of each cell in each area (areas, cells)."""
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray((weights @ flat.T).T).reshape(*values.shape[:-1], -1)


def score_ends(
    share: FloatArray, at_nothing: FloatArray | float, growth: FloatArray | float, z: float
) -> tuple[FloatArray, FloatArray]:
    """Every R with (share - R)^2 <= z^2 (``at_nothing`` + ``growth`` R): its two ends."""
    half = z**2 * np.asarray(growth) / 2
    reach = np.sqrt(z**2 * (at_nothing + growth * share) + half**2)
    return share + half - reach, share + half + reach


def neighbours(of_cell: IntArray) -> list[tuple[int, int]]:
    """Pairs of areas that share an edge of a cell (rows, columns; -1: of none), the smaller number first."""
    beside = [(of_cell[:, :-1], of_cell[:, 1:]), (of_cell[:-1], of_cell[1:])]
    pairs = np.concatenate([np.column_stack([one.ravel(), other.ravel()]) for one, other in beside])
    pairs = np.sort(pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)], axis=1)
    return [(one, other) for one, other in np.unique(pairs, axis=0).tolist()]


def shown_together(
    areas: int, beside: Sequence[tuple[int, int]], needed: Callable[[Group, Group], float], given: float
) -> tuple[Group, ...]:
    """The areas, those together that what is ``given`` does not tell from their neighbours; ``needed``: of two."""
    groups: list[Group] = [(one,) for one in range(areas)]
    known = {(groups[one], groups[other]): needed(groups[one], groups[other]) for one, other in beside}
    while known:
        hardest = max(known, key=lambda pair: (known[pair], pair))
        if known[hardest] <= given:
            break
        together = tuple(sorted(hardest[0] + hardest[1]))
        groups = [one for one in groups if one not in hardest] + [together]
        touched = {pair for pair in known if set(pair) & set(hardest)}
        around = {one for pair in touched for one in pair} - set(hardest)
        known = {pair: value for pair, value in known.items() if pair not in touched}
        known |= {(one, together): needed(one, together) for one in around}
    return tuple(sorted(groups))
