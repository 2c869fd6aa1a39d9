"""What this archive's own routine gives away: its regular places and repeated ways, priced by the noise's law. Private.

Places are found in the original (:func:`sfumato.tracks.places.find_places`); the moments at each are the release's own.
A way is what lies between leaving one place and arriving at another, and counts as repeated where it was taken at least
three times along the same line (within 300 m of the median one). Nothing here is promised: it is what repetition costs.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray, distinct
from sfumato.base.numbers.odds import mu_of, odds_at, odds_words
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.routine import ROUTE_PRIOR, observed_loss, repeated_loss
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.places.find import FoundPlace, find_places
from sfumato.tracks.places.globe import surface
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import is_markov

AT_PLACE_M, SAME_WAY_M = 200.0, 300.0
FEWEST_TRIPS, MOST_PLACES, MOST_WAYS = 3, 4, 5
_WAY_POINTS, _LONGEST_WAY_S, _MOST_MOMENTS = 21, 6 * 3600.0, 20_000


def routine_rows(original: Trace, certificate: Certificate) -> list[tuple[str, str]]:
    """Rows of (what, odds in words); none where nothing repeats, or the noise is no process over days."""
    noise = certificate.mechanism.kernel()
    if noise is None or not is_markov(noise) or len(original) < 2:
        return []
    places = [place for place in find_places(original) if place.visits >= 2][:MOST_PLACES]
    if not places:
        return []
    order = np.argsort(original.times_s, kind="stable")
    times = original.times_s[order]
    points = surface(original.lat_deg[order], original.lon_deg[order])
    at = [_at(points, place) for place in places]
    radius_m = certificate.stated.numbers.radius_m
    rows = []
    for number, place in enumerate(places):
        name = _name(place, number)
        rows.append(
            (
                f"{name}, {place.visits} visits, no other place known",
                _odds(_loss(times, at, number, None, noise), radius_m),
            )
        )
        others = [other for other in range(len(places)) if other != number]
        if others:
            known = max(others, key=lambda other: int(at[other].sum()))
            words = f"{name}, when {_name(places[known], known).lower()} is known"
            rows.append((words, _odds(_loss(times, at, number, known, noise), radius_m)))
    metres = unroll(original.lat_deg[order], original.lon_deg[order])
    for (start, end), trips in _ways(times, metres, at)[:MOST_WAYS]:
        loss = repeated_loss(trips, trips[0] - trips[0, 0], noise, ROUTE_PRIOR)
        first, last = _name(places[start], start).lower(), _name(places[end], end).lower()
        rows.append((f"The way from {first} to {last}, taken {len(trips)} times", _odds(loss, radius_m)))
        bare = [_thinned(times[at[end]])]
        loss = repeated_loss(trips, trips[0] - trips[0, 0], noise, ROUTE_PRIOR, known_s=bare)
        rows.append((f"The same way, when {last} is known", _odds(loss, radius_m)))
    return rows


def _name(place: FoundPlace, number: int) -> str:
    return place.label.capitalize() if place.label in ("home", "work") else f"Place {number + 1}"


def _at(points: FloatArray, place: FoundPlace) -> BoolArray:
    centre = surface(np.array([place.lat_deg]), np.array([place.lon_deg]))[0]
    return np.asarray(np.linalg.norm(points - centre, axis=1) <= AT_PLACE_M)


def _loss(times: FloatArray, at: list[BoolArray], secret: int, known: int | None, noise: Kernel) -> float:
    """Moments at the secret place, at the known one, and at the others as further unknown places."""
    free = [number for number in range(len(at)) if number not in (secret, known)]
    use = np.zeros(len(times), dtype=np.bool_)
    for mask in at:
        use |= mask
    moments, first = np.unique(times[use], return_index=True)
    if not moments.size:
        return 0.0
    kept = first[:: max(1, -(-moments.size // _MOST_MOMENTS))]
    present = [number for number in (secret, *free) if at[number][use][kept].any()]
    columns = np.column_stack([at[number][use][kept].astype(np.float64) for number in present])
    return observed_loss(times[use][kept], columns, noise) if present and present[0] == secret else 0.0


def _thinned(times: FloatArray) -> FloatArray:
    moments, _ = distinct(times)
    return np.asarray(moments[:: max(1, -(-moments.size // _MOST_MOMENTS))])


def _ways(times: FloatArray, metres: FloatArray, at: list[BoolArray]) -> list[tuple[tuple[int, int], FloatArray]]:
    """Repeated ways, most taken first: (from, to) and the moments (trips, points) at equal shares of the way's time."""
    where = np.full(len(times), -1)
    for number, mask in enumerate(at):
        where[mask & (where < 0)] = number
    stops = np.flatnonzero(where >= 0)
    legs: dict[tuple[int, int], list[tuple[FloatArray, FloatArray]]] = defaultdict(list)
    for one, other in pairwise(stops):
        length = times[other] - times[one]
        if where[one] == where[other] or other - one < 3 or not 60.0 <= length <= _LONGEST_WAY_S:
            continue
        shares = times[one] + length * np.linspace(0.0, 1.0, _WAY_POINTS)
        moments, _ = distinct(times[one : other + 1])
        _, first = np.unique(times[one : other + 1], return_index=True)
        line = np.column_stack([np.interp(shares, moments, metres[one : other + 1][first, axis]) for axis in (0, 1)])
        legs[int(where[one]), int(where[other])].append((shares, line))
    found = []
    for pair, taken in legs.items():
        lines = np.array([line for _, line in taken])
        apart = np.median(np.linalg.norm(lines - np.median(lines, axis=0), axis=2), axis=1)
        same = np.array([shares for shares, _ in taken])[apart <= SAME_WAY_M]
        if len(same) >= FEWEST_TRIPS:
            found.append((pair, np.asarray(same)))
    return sorted(found, key=lambda item: -len(item[1]))


def _odds(loss: float, radius_m: float) -> str:
    return f"odds of {odds_words(odds_at(mu_of(loss, radius_m)))}"
