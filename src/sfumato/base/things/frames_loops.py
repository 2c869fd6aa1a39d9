"""Points moved and snapped in the frame of their whole-degree cell, compiled: the transverse Mercator series.

It does in one pass what :func:`sfumato.base.things.frames.displace` and then :func:`sfumato.base.things.frames.snap`
do. A point goes to the metres of its own cell; the noise, turned to the cell's axes, is added; the nearest node of the
public grid is taken (of the neighbour's grid where the noise led into another cell); and that goes back to degrees. A
point beyond 88° of latitude, or led more than 2° of longitude away, is marked: the caller uses those two functions.

*How exact.* Both ways are the series of [Snyder1987, eq. 3-21, 3-26, 8-9 to 8-25] on the WGS84 ellipsoid. In them the
longitude's offset enters as A = Δλ cos φ, every term of degree k with at most (tan φ)^(k−1): so it is bounded by Δλ^k.
With |Δλ| ≤ 0.5° = 0.0087 inside a cell, the first term left out of the forward series is at most
a·(61 + 479 + 179 + 1)/5040·Δλ⁷ < 4e-9 m and of the inverse series a·(61 + 662 + 1320 + 720)/5040·Δλ⁷ < 2e-8 m; the
meridian arc is Krüger's in n up to n⁴ (n⁵ < 2e-14, hence 1e-7 m at the very most). Together with rounding that is
below 1e-6 m, a ten-thousandth of the finest grid there may be (0.01 m): a node other than the one PROJ finds is chosen
only for points within a micrometre of the middle between two, and both are then as near. A point led up to 2° from the
middle of its cell is off by at most 4⁷ times the above, 0.3 mm, before it is snapped.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.compiled import compile_loop

_A, _F = 6378137.0, 1.0 / 298.257223563
_E2 = _F * (2.0 - _F)
_EP2 = _E2 / (1.0 - _E2)
_N = _F / (2.0 - _F)
# Metres of meridian per radian of the rectifying latitude, and Krüger's series to it and back.
_ARC = _A / (1.0 + _N) * (1.0 + _N**2 / 4.0 + _N**4 / 64.0)
_M2, _M4 = -3.0 / 2.0 * _N + 9.0 / 16.0 * _N**3, 15.0 / 16.0 * _N**2 - 15.0 / 32.0 * _N**4
_M6, _M8 = -35.0 / 48.0 * _N**3, 315.0 / 512.0 * _N**4
_B2, _B4 = 3.0 / 2.0 * _N - 27.0 / 32.0 * _N**3, 21.0 / 16.0 * _N**2 - 55.0 / 32.0 * _N**4
_B6, _B8 = 151.0 / 96.0 * _N**3, 1097.0 / 512.0 * _N**4
_DEGREE = math.pi / 180.0
_TO_DEGREES, _PER_ARC, _PER_A, _PER_E = 1.0 / _DEGREE, 1.0 / _ARC, 1.0 / _A, 1.0 / (1.0 - _E2)  # dividing is slow
_WHOLE = 1.5 * 2.0**52  # added and taken away again, it leaves the nearest whole number
MOST_LATITUDE = 88
BLOCK = 1024
LEAST_DEGREE_M = 110_574.0  # of latitude, at the equator; one of longitude is more, times the cosine
FARTHEST = 2.0  # degrees of longitude from the middle of the cell it came from


@compile_loop(nogil=True, inline="always")
def _series(sine2: float, cosine2: float, c2: float, c4: float, c6: float, c8: float) -> float:
    """c2 sin 2x + c4 sin 4x + c6 sin 6x + c8 sin 8x from sin 2x and cos 2x, by Clenshaw."""
    twice = 2.0 * cosine2
    b3 = c6 + twice * c8
    b2 = c4 + twice * b3 - c8
    b1 = c2 + twice * b2 - b3
    return b1 * sine2


@compile_loop(nogil=True, inline="always")
def _forward(sine: float, cosine: float, phi: float, dlam: float) -> tuple[float, float]:
    """East and north of the central meridian and the equator."""
    nu = _A / math.sqrt(1.0 - _E2 * sine * sine)
    tan = sine / cosine
    t, c, a = tan * tan, _EP2 * cosine * cosine, dlam * cosine
    a2 = a * a
    sine2, cosine2 = 2.0 * sine * cosine, 1.0 - 2.0 * sine * sine
    arc = _ARC * (phi + _series(sine2, cosine2, _M2, _M4, _M6, _M8))
    fifth = (5.0 - 18.0 * t + t * t + 72.0 * c - 58.0 * _EP2) * (1.0 / 120.0)
    east = nu * a * (1.0 + a2 * ((1.0 - t + c) * (1.0 / 6.0) + a2 * fifth))
    fourth = (5.0 - t + 9.0 * c + 4.0 * c * c) * (1.0 / 24.0)
    sixth = (61.0 - 58.0 * t + t * t + 600.0 * c - 330.0 * _EP2) * (1.0 / 720.0)
    return east, arc + nu * tan * a2 * (0.5 + a2 * (fourth + a2 * sixth))


@compile_loop(nogil=True, inline="always")
def _turned(sine: float, cosine: float, by: float) -> tuple[float, float]:
    """Sine and cosine of an angle turned by less than 0.07: Taylor, what is left out is below 1e-17."""
    b2 = by * by
    small = by * (1.0 + b2 * (-1.0 / 6.0 + b2 * (1.0 / 120.0 + b2 * (-1.0 / 5040.0 + b2 * (1.0 / 362880.0)))))
    near = 1.0 + b2 * (-0.5 + b2 * (1.0 / 24.0 + b2 * (-1.0 / 720.0 + b2 * (1.0 / 40320.0))))
    return sine * near + cosine * small, cosine * near - sine * small


@compile_loop(nogil=True, inline="always")
def _inverse(east: float, mu: float, sine: float, cosine: float) -> tuple[float, float]:
    """Latitude and longitude's offset, in radians, at the rectifying latitude mu of that sine and cosine."""
    more = _series(2.0 * sine * cosine, 1.0 - 2.0 * sine * sine, _B2, _B4, _B6, _B8)
    foot = mu + more
    sine, cosine = _turned(sine, cosine, more)
    root2 = 1.0 - _E2 * sine * sine
    per_nu = math.sqrt(root2) * _PER_A
    tan = sine / cosine
    t, c, d = tan * tan, _EP2 * cosine * cosine, east * per_nu
    d2 = d * d
    fourth = (5.0 + 3.0 * t + 10.0 * c - 4.0 * c * c - 9.0 * _EP2) * (1.0 / 24.0)
    sixth = (61.0 + 90.0 * t + 298.0 * c + 45.0 * t * t - 252.0 * _EP2 - 3.0 * c * c) * (1.0 / 720.0)
    # nu over the meridian's radius of curvature is (1 − e² sin²)/(1 − e²)
    phi = foot - root2 * _PER_E * tan * d2 * (0.5 - d2 * (fourth - d2 * sixth))
    fifth = (5.0 - 2.0 * c + 28.0 * t - 3.0 * c * c + 8.0 * _EP2 + 24.0 * t * t) * (1.0 / 120.0)
    return phi, d * (1.0 - d2 * ((1.0 + 2.0 * t + c) * (1.0 / 6.0) - d2 * fifth)) / cosine


@compile_loop(nogil=True, inline="always")
def _rectifying(phi: float) -> float:
    """The rectifying latitude: metres of meridian from the equator, over the mean of them per radian."""
    sine, cosine = math.sin(phi), math.cos(phi)
    mu: float = phi + _series(2.0 * sine * cosine, 1.0 - 2.0 * sine * sine, _M2, _M4, _M6, _M8)
    return mu


@compile_loop(nogil=True, inline="always")
def _led(
    lat: float, dlam: float, move_e: float, move_n: float, middle: float, sine0: float, cosine0: float, origin: float
) -> tuple[float, float]:
    """East and north, in its cell's frame, of a point moved by metres east and north as seen from where it is."""
    phi = lat * _DEGREE
    sine, cosine = _turned(sine0, cosine0, (lat - middle) * _DEGREE)
    east, north = _forward(sine, cosine, phi, dlam)
    # The frame's north is turned by the meridian convergence: tan γ = tan Δλ sin φ.
    l2 = dlam * dlam
    turn = dlam * (1.0 + l2 * (1.0 / 3.0 + l2 * (2.0 / 15.0 + l2 * 17.0 / 315.0))) * sine
    cos_turn = 1.0 / math.sqrt(1.0 + turn * turn)
    sin_turn = turn * cos_turn
    return east + (move_e * cos_turn - move_n * sin_turn), north + (move_e * sin_turn + move_n * cos_turn - origin)


@compile_loop(nogil=True, error_model="numpy")
def _within(block: FloatArray, count: int, south: float, size_m: float, grid_m: float) -> None:
    """Points of one whole degree of latitude, most of whom stay in their cell: no branch, so many at a time.

    ``block`` holds BLOCK latitudes, longitudes, moves east, moves north, and room for new latitudes (not a number for
    those who are not done here) and longitudes: one array, so that the compiler knows that none of them overlap.
    """
    phi0 = (south + 0.5) * _DEGREE
    mu0, sine0, cosine0 = _rectifying(phi0), math.sin(phi0), math.cos(phi0)
    sine_mu0, cosine_mu0 = math.sin(mu0), math.cos(mu0)
    margin = grid_m * 2e-5 + 1e-6
    wide = 1.1 * margin / cosine0
    for i in range(count):
        lat, lon = block[i], block[BLOCK + i]
        west = math.floor(lon)
        dlam = (lon - (west + 0.5)) * _DEGREE
        move_e, move_n = size_m * block[2 * BLOCK + i], size_m * block[3 * BLOCK + i]
        east, north = _led(lat, dlam, move_e, move_n, south + 0.5, sine0, cosine0, _ARC * mu0)
        node = np.rint(north / grid_m) * grid_m * _PER_ARC
        sine, cosine = _turned(sine_mu0, cosine_mu0, node)
        new_phi, new_dlam = _inverse(np.rint(east / grid_m) * grid_m, mu0 + node, sine, cosine)
        new_lat, offset = new_phi * _TO_DEGREES, new_dlam * _TO_DEGREES
        near = (abs(east) < 400_000.0 * cosine0) & (abs(north) < 400_000.0)
        inside = (south + margin < new_lat) & (new_lat < south + 1.0 - margin)
        inside &= (-0.5 + wide < offset) & (offset < 0.5 - wide)
        block[4 * BLOCK + i] = np.rint(new_lat * 1e7) / 1e7 if near & inside else math.nan
        block[5 * BLOCK + i] = np.rint((west + 0.5 + offset) * 1e7) / 1e7


@compile_loop(nogil=True, error_model="numpy")
def _beside_nodes(block: FloatArray, count: int, south: float, grid_m: float, slack_deg: float) -> None:
    """Whether points of one whole degree of latitude lie within a slack of a node, as 1 or 0, in the last row.

    The first two rows are latitudes and, from the middle of each point's cell, longitudes. No branch, as above.
    """
    phi0 = (south + 0.5) * _DEGREE
    sine0, cosine0, origin = math.sin(phi0), math.cos(phi0), _ARC * _rectifying(phi0)
    slack_m, per = slack_deg * LEAST_DEGREE_M - 1e-6, 1.0 / grid_m
    for i in range(count):
        lat = block[i]
        sine, cosine = _turned(sine0, cosine0, (lat - (south + 0.5)) * _DEGREE)
        east, north = _forward(sine, cosine, lat * _DEGREE, block[BLOCK + i] * _DEGREE)
        east, north = east * per, (north - origin) * per
        off_e = abs(east - ((east + _WHOLE) - _WHOLE)) * grid_m
        off_n = abs(north - ((north + _WHOLE) - _WHOLE)) * grid_m
        # The frame's axes are turned by less than 0.5°, whose sine is below 0.01.
        near = (off_n + 0.01 * off_e < slack_m) & (off_e + 0.01 * off_n < slack_m * cosine)
        block[2 * BLOCK + i] = 1.0 if near else 0.0


@compile_loop(nogil=True)
def beside_nodes(lat_deg: FloatArray, lon_deg: FloatArray, grid_m: float, slack_deg: float, out: BoolArray) -> None:
    """Marks points that surely lie within a slack of the nearest node of their cell's grid, in both coordinates."""
    block, first = np.empty(3 * BLOCK), 0
    while first < lat_deg.size:
        south, i = math.floor(lat_deg[first]), first
        while i < min(first + BLOCK, lat_deg.size) and south <= lat_deg[i] < south + 1.0:
            block[i - first], block[BLOCK + i - first] = lat_deg[i], lon_deg[i] - math.floor(lon_deg[i]) - 0.5
            i += 1
        _beside_nodes(block, i - first, float(south), grid_m, slack_deg)
        for k in range(i - first):
            inside = -MOST_LATITUDE < lat_deg[first + k] < MOST_LATITUDE and -180.0 <= lon_deg[first + k] < 180.0
            out[first + k] = inside and block[2 * BLOCK + k] > 0.0
        first = max(i, first + 1)


@compile_loop(nogil=True)
def _across(lat: float, lon: float, move_e: float, move_n: float, grid_m: float) -> tuple[float, float]:
    """One point that is led near or over its cell's border: the grid is that of the cell it is led to.

    Not a number where these formulas do not reach.
    """
    south, west = math.floor(lat), math.floor(lon)
    phi0 = (south + 0.5) * _DEGREE
    mu0, sine0, cosine0 = _rectifying(phi0), math.sin(phi0), math.cos(phi0)
    dlam = (lon - (west + 0.5)) * _DEGREE
    east, north = _led(lat, dlam, move_e, move_n, south + 0.5, sine0, cosine0, _ARC * mu0)
    if not (abs(east) < 400_000.0 * cosine0 and abs(north) < 400_000.0):
        return math.nan, math.nan
    mu = mu0 + north * _PER_ARC
    phi, dlam = _inverse(east, mu, math.sin(mu), math.cos(mu))
    new_lat, offset = phi * _TO_DEGREES, dlam * _TO_DEGREES
    if not (-MOST_LATITUDE < new_lat < MOST_LATITUDE and -FARTHEST < offset < FARTHEST):
        return math.nan, math.nan
    new_lon = west + 0.5 + offset
    south, west = math.floor(new_lat), math.floor(new_lon)
    dlam = (new_lon - (west + 0.5)) * _DEGREE
    middle = _rectifying((south + 0.5) * _DEGREE)
    east, north = _forward(math.sin(phi), math.cos(phi), phi, dlam)
    mu = middle + np.rint((north - _ARC * middle) / grid_m) * grid_m * _PER_ARC
    phi, dlam = _inverse(np.rint(east / grid_m) * grid_m, mu, math.sin(mu), math.cos(mu))
    new_lon = west + 0.5 + dlam * _TO_DEGREES
    new_lon += -360.0 if new_lon >= 180.0 else 360.0 if new_lon < -180.0 else 0.0
    return np.rint(phi * _TO_DEGREES * 1e7) / 1e7, np.rint(new_lon * 1e7) / 1e7


@compile_loop(nogil=True)
def move_and_snap(
    lat_deg: FloatArray,
    lon_deg: FloatArray,
    moves: FloatArray,
    size_m: float,
    grid_m: float,
    out_lat: FloatArray,
    out_lon: FloatArray,
    left: BoolArray,
) -> None:
    """Points moved by ``size_m`` times ``moves`` (east, north) and snapped; ``left`` marks those not done here.

    Longitudes lie in [-180, 180). What is written has seven decimals.
    """
    block = np.empty(6 * BLOCK)
    first = 0
    while first < lat_deg.size:
        if not (-MOST_LATITUDE < lat_deg[first] < MOST_LATITUDE and -180.0 <= lon_deg[first] < 180.0):
            left[first] = True
            first += 1
            continue
        south, i = math.floor(lat_deg[first]), first
        while i < min(first + BLOCK, lat_deg.size):
            if not (south <= lat_deg[i] < south + 1.0 and -180.0 <= lon_deg[i] < 180.0):
                break
            k = i - first
            block[k], block[BLOCK + k] = lat_deg[i], lon_deg[i]
            block[2 * BLOCK + k], block[3 * BLOCK + k] = moves[i, 0], moves[i, 1]
            i += 1
        _within(block, i - first, float(south), size_m, grid_m)
        for k in range(i - first):
            at, new_lat, new_lon = first + k, block[4 * BLOCK + k], block[5 * BLOCK + k]
            if math.isnan(new_lat):
                new_lat, new_lon = _across(
                    lat_deg[at], lon_deg[at], size_m * moves[at, 0], size_m * moves[at, 1], grid_m
                )
            out_lat[at], out_lon[at] = new_lat, -180.0 if new_lon >= 180.0 else new_lon
            left[at] = math.isnan(new_lat)
        first = i
