"""What an attacker sees of a hidden place: the zone, which counts as known, and the published rides that stop at it.

Metres east and north of the zone's centre throughout. A *gate* is an end of a published stretch at the zone's border.
At a gate the ride came from, or went on to, somewhere inside; its *heading* points inward along the last 100 m, and its
*far point* is where the ride was a kilometre further out. A ride that is seen again within ten minutes passed through;
at the other gates it began, ended or stopped inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, evenly, read_only

_MARGIN_M, _SLACK_M, _HEADING_M, _FAR_M, _LONGEST_STEP_M = 50.0, 100.0, 100.0, 1000.0, 1000.0
PASSING_S = 600.0


class Stretch(NamedTuple):
    """One published segment: (n, 2) positions in metres around the zone's centre, times, and the ride's number."""

    positions_m: FloatArray
    times_s: FloatArray
    ride: int


@dataclass(frozen=True, slots=True, eq=False)
class ZoneView:
    """The zone (around the origin) and its gates; ``stops`` marks gates of rides that began, ended or stopped inside.

    ``inner_radius_m`` bounds where the place can be, which the mechanism makes public.
    """

    radius_m: float
    inner_radius_m: float
    gates_m: FloatArray
    headings: FloatArray
    far_m: FloatArray
    stops: BoolArray

    @property
    def seen(self) -> bool:
        """Whether any ride touches the zone at all; if none does, nothing shows that there is one."""
        return len(self.gates_m) > 0

    def thin(self, at_most: int = 1500) -> ZoneView:
        """Evenly chosen gates where there are more than ``at_most``: attackers are quadratic in them."""
        if len(self.gates_m) <= at_most:
            return self
        return self._chosen(evenly(len(self.gates_m), at_most))

    def of_stops(self) -> ZoneView:
        """Only the gates of rides that stopped inside, or all where none is known to have."""
        use = self.stops if self.stops.any() else np.ones_like(self.stops)
        return self._chosen(np.flatnonzero(use))

    def seen_from_far(self) -> ZoneView:
        """The same gates with headings from their far points: on a straight road a kilometre aims better than 100 m."""
        way = self.gates_m - self.far_m
        length = np.hypot(*way.T)
        headings = np.where(length[:, None] > _HEADING_M, way / np.maximum(length, 1.0)[:, None], self.headings)
        return replace(self, headings=read_only(headings))

    def _chosen(self, use: IntArray) -> ZoneView:
        return replace(self, **_columns(self.rows[use]))

    @property
    def rows(self) -> FloatArray:
        """A row of seven numbers for each gate: itself, heading, far point, whether the ride stopped inside."""
        return np.column_stack([self.gates_m, self.headings, self.far_m, self.stops])

    @classmethod
    def join(cls, views: Sequence[ZoneView]) -> ZoneView:
        """All gates of several looks at one zone."""
        return replace(views[0], **_columns(np.concatenate([view.rows for view in views])))

    @classmethod
    def of_rows(cls, rows: npt.ArrayLike, *, radius_m: float, inner_radius_m: float) -> ZoneView:
        """The look that has these :attr:`rows`."""
        return cls(radius_m, inner_radius_m, **_columns(np.asarray(rows, dtype=np.float64).reshape(-1, 7)))


class _GateColumns(TypedDict):
    gates_m: FloatArray
    headings: FloatArray
    far_m: FloatArray
    stops: BoolArray


def _columns(rows: FloatArray) -> _GateColumns:
    gates, headings, far = (read_only(rows[:, k : k + 2]) for k in (0, 2, 4))
    return {"gates_m": gates, "headings": headings, "far_m": far, "stops": rows[:, 6] > 0}


def look(stretches: Sequence[Stretch], *, radius_m: float, inner_radius_m: float, noise_m: float = 0.0) -> ZoneView:
    """The gates that published stretches show; stretches of one ride are given in the order of time.

    ``noise_m`` per coordinate on the published points moves gates away from the border: three times it is allowed.
    """
    rows: list[tuple[FloatArray, FloatArray, FloatArray, bool]] = []
    for number, (positions, times, ride) in enumerate(stretches):
        if len(positions) < 2:
            continue
        before = stretches[number - 1] if number else None
        after = stretches[number + 1] if number + 1 < len(stretches) else None
        if _at_border(positions[:6], radius_m + 3.0 * noise_m):
            away = np.inf if before is None or before.ride != ride else times[0] - before.times_s[-1]
            rows.append((*outward(positions), bool(away > PASSING_S)))
        if _at_border(positions[:-7:-1], radius_m + 3.0 * noise_m):
            away = np.inf if after is None or after.ride != ride else after.times_s[0] - times[-1]
            rows.append((*outward(positions[::-1]), bool(away > PASSING_S)))
    seen = [np.concatenate([*row[:3], [row[3]]]) for row in rows]
    return ZoneView.of_rows(seen, radius_m=radius_m, inner_radius_m=inner_radius_m)


def _at_border(end_m: FloatArray, radius_m: float) -> bool:
    """Whether a stretch's end (its last fixes, the last one first) is within a step and a half of the border."""
    step = float(np.median(np.hypot(*np.diff(end_m, axis=0).T)))
    return float(np.hypot(*end_m[0])) < radius_m + _MARGIN_M + max(_SLACK_M, min(1.5 * step, _LONGEST_STEP_M))


def outward(positions: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The gate a stretch starts at, the unit heading inward there, and the far point."""
    gate = positions[0]
    away = np.hypot(*(positions - gate).T)
    back = gate - positions[_first_beyond(away, _HEADING_M)]
    length = float(np.hypot(*back))
    heading = back / length if length > 1.0 else -gate / max(float(np.hypot(*gate)), 1.0)
    return gate, heading, positions[_first_beyond(away, _FAR_M)]


def _first_beyond(away_m: FloatArray, distance_m: float) -> int:
    beyond = away_m >= distance_m
    return int(np.argmax(beyond)) if beyond.any() else int(np.argmax(away_m))


def clusters_of(gates_m: FloatArray, radius_m: float = 75.0) -> tuple[IntArray, IntArray]:
    """(number of the cluster of each gate, gates per cluster): fullest neighbourhood first. O(n²) in the gates."""
    near = scipy.spatial.distance.cdist(gates_m, gates_m) < radius_m
    label: IntArray = np.full(len(gates_m), -1, dtype=np.int64)
    number = 0
    for gate in np.argsort(-near.sum(axis=1), kind="stable"):
        if label[gate] < 0:
            label[near[gate] & (label < 0)] = number
            number += 1
    return label, np.bincount(label, minlength=number).astype(np.int64)


def candidates_m(inner_radius_m: float, across: int = 32) -> FloatArray:
    """A square grid of places of the inner disc, ``across`` of them from side to side."""
    line = (np.arange(across) + 0.5) * (2.0 / across) - 1.0
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    return np.asarray(grid[np.hypot(*grid.T) <= 1.0] * inner_radius_m)


def into_disc(point_m: FloatArray, inner_radius_m: float) -> FloatArray:
    """The nearest point where the place can be."""
    length = float(np.hypot(*point_m))
    return point_m if length <= inner_radius_m else point_m * (inner_radius_m / length)
