"""Metres around a place: public local frames, one per whole-degree cell of the globe.

A *cell* is the whole-degree square ``(floor(lat), floor(lon))`` that a point lies in; the two polar caps (beyond 89°)
are one cell each, because whole degrees of longitude shrink to nothing there. A cell's frame is a conformal
projection centred on the cell (transverse Mercator; polar stereographic for the caps), so one metre of noise is one
metre on the ground in every direction, to four parts in 100,000 inside the cell.

*What a frame tells.* It is a function of the cell alone, never of the trace. Noise is one process in metres east and
north *as seen from the point it is added to*: a frame's axes are turned by its meridian convergence there, so that
nothing jumps by more than a few millimetres (less than the snapping grid) when a path crosses a cell border. The price:
east turns along the path, by tan(latitude)/6371 km per metre, so Z = X + G holds up to a stretch of
1 + |G| tan(latitude)/6371 km: 1.0001 at 45° and 1.0007 at 78° for 900 m of noise. Guarantees are called idealised for
that as for double precision. Inside the two caps, where east is no direction to build on, the axes are those of the
polar grid; at a cap's border they turn by the longitude, which shows the crossing and is as if the noise had been drawn
anew there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from pyproj import Transformer

from sfumato.base.arrays import FloatArray, IntArray, positive, wrap_longitude
from sfumato.base.errors import InputError

# Written degrees: 1e-7 degree is 1.1 cm, finer than the finest snapping grid, and the same in every file format.
DEGREE_DECIMALS = 7
_NORTH_CAP, _SOUTH_CAP = 89, -90


@lru_cache(maxsize=1024)
def _projection(lat_cell_deg: int, lon_cell_deg: int) -> Transformer:
    if lat_cell_deg in (_NORTH_CAP, _SOUTH_CAP):
        pole = 90 if lat_cell_deg == _NORTH_CAP else -90
        step = f"+proj=stere +lat_0={pole} +lat_ts={pole} +lon_0=0 +k_0=1 +ellps=WGS84"
    else:
        step = f"+proj=tmerc +lat_0={lat_cell_deg + 0.5} +lon_0={lon_cell_deg + 0.5} +k_0=1 +ellps=WGS84"
    return Transformer.from_pipeline(f"+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad +step {step}")


@dataclass(frozen=True, slots=True)
class LocalFrame:
    """East and north in metres around the middle of one public whole-degree cell."""

    lat_cell_deg: int
    lon_cell_deg: int

    @classmethod
    def from_cell(cls, lat_cell_deg: int, lon_cell_deg: int) -> LocalFrame:
        """The frame of the cell whose south-west corner is given in whole degrees."""
        if not -90 <= lat_cell_deg <= 89 or not -180 <= lon_cell_deg <= 179:
            raise InputError(
                "That is not a whole-degree cell.", "Latitudes run from -90 to 89 and longitudes from -180 to 179."
            )
        cap = lat_cell_deg in (_NORTH_CAP, _SOUTH_CAP)
        return cls(int(lat_cell_deg), 0 if cap else int(lon_cell_deg))

    @property
    def cell(self) -> tuple[int, int]:
        """South-west corner in whole degrees; a polar cap has longitude 0."""
        return self.lat_cell_deg, self.lon_cell_deg

    def to_metres(self, lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> FloatArray:
        """Positions as an (n, 2) array of east, north metres from the middle of the cell."""
        projection = _projection(self.lat_cell_deg, self.lon_cell_deg)
        east, north = projection.transform(
            np.array(lon_deg, dtype=np.float64, ndmin=1), np.array(lat_deg, dtype=np.float64, ndmin=1), inplace=True
        )
        positions: FloatArray = np.empty((len(east), 2))
        positions[:, 0], positions[:, 1] = east, north
        if not np.isfinite(positions).all():
            raise InputError(
                "A position is too far from the local frame to be measured in its metres.",
                "Split the trace, or use one frame per cell.",
            )
        return positions

    def to_degrees(self, positions_m: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes, the latter in [-180, 180), of an (n, 2) array of east, north metres."""
        positions = np.asarray(positions_m, dtype=np.float64).reshape(-1, 2)
        projection = _projection(self.lat_cell_deg, self.lon_cell_deg)
        lon, lat = projection.transform(
            positions[:, 0].copy(), positions[:, 1].copy(), direction="INVERSE", inplace=True
        )
        if not (np.isfinite(lat).all() and np.isfinite(lon).all()):
            raise InputError("A position in metres lies beyond the edge of its local frame.", "Use less noise.")
        return lat, wrap_longitude(lon)


def cells_of(lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> IntArray:
    """The (n, 2) whole-degree cells that points lie in, polar caps as ``(89, 0)`` and ``(-90, 0)``."""
    lat = np.atleast_1d(np.asarray(lat_deg, dtype=np.float64))
    lon = np.atleast_1d(np.asarray(lon_deg, dtype=np.float64))
    if not (np.isfinite(lat).all() and np.isfinite(lon).all() and (np.abs(lat) <= 90).all()):
        raise InputError("A position is not on the globe.", "Latitudes lie in -90 .. 90; nothing may be NaN.")
    lon = wrap_longitude(lon)
    cells: IntArray = np.empty((len(lat), 2), dtype=np.int64)
    cells[:, 0] = np.minimum(np.floor(lat), _NORTH_CAP)
    cells[:, 1] = np.floor(lon)
    cells[(cells[:, 0] == _NORTH_CAP) | (cells[:, 0] == _SOUTH_CAP), 1] = 0
    return cells


def frame_for(lat_deg: float, lon_deg: float) -> LocalFrame:
    """The public frame of the whole-degree cell that a point lies in."""
    lat_cell, lon_cell = cells_of([lat_deg], [lon_deg])[0]
    return LocalFrame.from_cell(int(lat_cell), int(lon_cell))


def _by_frame(cells: IntArray) -> Iterator[tuple[LocalFrame, slice | IntArray]]:
    """Each frame present in ``cells`` with the places of its points."""
    first = cells[0]
    if (cells == first).all():
        yield LocalFrame.from_cell(int(first[0]), int(first[1])), slice(None)
        return
    keys = cells[:, 0] * 1000 + cells[:, 1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
    for places in np.split(order, starts[1:]):
        lat_cell, lon_cell = cells[places[0]]
        yield LocalFrame.from_cell(int(lat_cell), int(lon_cell)), places


def _turned(
    moves: FloatArray, lat_deg: FloatArray, lon_deg: FloatArray, frame: LocalFrame, *, to_frame: bool
) -> FloatArray:
    """Metres east and north at each point as metres along the frame's axes, or back (``to_frame=False``).

    The axes differ by the meridian convergence γ = atan(tan(λ − λ₀) sin φ) of the transverse Mercator projection (the
    spherical formula is within 1e-8 inside a cell); a cap keeps the axes of the polar grid.
    """
    if frame.lat_cell_deg in (_NORTH_CAP, _SOUTH_CAP):
        return moves
    offset = np.radians(wrap_longitude(lon_deg - (frame.lon_cell_deg + 0.5)))
    turn = np.arctan(np.tan(offset) * np.sin(np.radians(lat_deg)))
    if not to_frame:
        turn = -turn
    cosine, sine = np.cos(turn), np.sin(turn)
    turned: FloatArray = np.empty_like(moves)
    turned[:, 0] = moves[:, 0] * cosine - moves[:, 1] * sine
    turned[:, 1] = moves[:, 0] * sine + moves[:, 1] * cosine
    return turned


def displace(
    lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, east_north_m: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Each point moved by its own (east, north) metres, measured in the public frame of the cell it lies in.

    The noise may be one process over the whole trace: nothing restarts or turns at a cell border, and a point pushed
    over a border, the antimeridian or a pole lands where it should. See the module for what this reveals.
    """
    lat, lon = np.array(lat_deg, dtype=np.float64, ndmin=1), np.array(lon_deg, dtype=np.float64, ndmin=1)
    moves = np.asarray(east_north_m, dtype=np.float64).reshape(-1, 2)
    if not len(lat) == len(lon) == len(moves):
        raise InputError("Positions and displacements differ in number.", "Give one (east, north) pair per point.")
    if not len(lat):
        return lat, lon
    for frame, places in _by_frame(cells_of(lat, lon)):
        positions = frame.to_metres(lat[places], lon[places])
        positions += _turned(moves[places], lat[places], lon[places], frame, to_frame=True)
        lat[places], lon[places] = frame.to_degrees(positions)
    return lat, lon


def snap(lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike, grid_m: float = 0.1) -> tuple[FloatArray, FloatArray]:
    """Released points moved to the nearest node of a public grid of ``grid_m`` metres, then to 1e-7 degrees.

    Done after the noise and looking at nothing but the released point: the grid starts at the middle of the cell
    that the *released* point lies in, so it is post-processing and reveals nothing. The result is the same double
    in every file format, text or binary.
    """
    lat, lon = np.array(lat_deg, dtype=np.float64, ndmin=1), np.array(lon_deg, dtype=np.float64, ndmin=1)
    step = positive(grid_m, "grid_m", at_most=10_000.0)
    if not len(lat):
        return lat, lon
    for frame, places in _by_frame(cells_of(lat, lon)):
        positions = frame.to_metres(lat[places], lon[places])
        positions /= step
        np.rint(positions, out=positions)
        positions *= step
        lat[places], lon[places] = frame.to_degrees(positions)
    np.round(lat, DEGREE_DECIMALS, out=lat)
    return lat, wrap_longitude(np.round(lon, DEGREE_DECIMALS, out=lon))


def differences_m(
    from_lat_deg: npt.ArrayLike, from_lon_deg: npt.ArrayLike, to_lat_deg: npt.ArrayLike, to_lon_deg: npt.ArrayLike
) -> FloatArray:
    """The (n, 2) east, north metres that lead from each first point to its second, the inverse of :func:`displace`."""
    lat = np.atleast_1d(np.asarray(from_lat_deg, dtype=np.float64))
    lon = np.atleast_1d(np.asarray(from_lon_deg, dtype=np.float64))
    to_lat = np.atleast_1d(np.asarray(to_lat_deg, dtype=np.float64))
    to_lon = np.atleast_1d(np.asarray(to_lon_deg, dtype=np.float64))
    if not len(lat) == len(lon) == len(to_lat) == len(to_lon):
        raise InputError("The two lists of positions differ in number.", "Compare traces of the same points.")
    result: FloatArray = np.empty((len(lat), 2))
    if not len(lat):
        return result
    for frame, places in _by_frame(cells_of(lat, lon)):
        steps = frame.to_metres(to_lat[places], to_lon[places]) - frame.to_metres(lat[places], lon[places])
        result[places] = _turned(steps, lat[places], lon[places], frame, to_frame=False)
    return result


def unroll(lat_deg: npt.ArrayLike, lon_deg: npt.ArrayLike) -> FloatArray:
    """A path of any length as one continuous (n, 2) path in metres from its first point.

    Every step is measured in metres east and north of the point it starts from, which is how the noise sees the path.
    """
    lat = np.atleast_1d(np.asarray(lat_deg, dtype=np.float64))
    lon = np.atleast_1d(np.asarray(lon_deg, dtype=np.float64))
    path: FloatArray = np.zeros((len(lat), 2))
    if len(lat) > 1:
        np.cumsum(differences_m(lat[:-1], lon[:-1], lat[1:], lon[1:]), axis=0, out=path[1:])
    return path


def decimal_texts(values: FloatArray) -> list[str]:
    """Degrees without exponents: seven decimals for anything snapped (exact), ten (0.01 mm) for anything else.

    Which of the two is decided by what ten decimals hold, so that what was read back is written the same again.
    """
    values = np.round(values, 10)
    snapped = bool((np.round(values, DEGREE_DECIMALS) == values).all())
    pattern = f"%.{DEGREE_DECIMALS if snapped else 10}f"
    return [pattern % value for value in values.tolist()]


def bounds_texts(lat_deg: FloatArray, lon_deg: FloatArray) -> tuple[str, str, str, str]:
    """South, west, north, east of the points; west is larger than east where they straddle the antimeridian."""
    west, east = float(lon_deg.min()), float(lon_deg.max())
    if east - west > 180:
        # The shorter way round: the largest gap between neighbouring longitudes is the part not covered.
        ordered = np.unique(lon_deg)
        widest = int(np.argmax(np.diff(ordered)))
        if ordered[widest + 1] - ordered[widest] > 360 - (east - west):
            west, east = float(ordered[widest + 1]), float(ordered[widest])
    south, north = float(lat_deg.min()), float(lat_deg.max())
    south_text, west_text, north_text, east_text = decimal_texts(np.array([south, west, north, east]))
    return south_text, west_text, north_text, east_text
