"""Effective length scales of GeoLife traces: the appendix's recipe, and the reading that reproduces the published ones.

[Meehan2021, App. 7.4] as printed: traces of under 50 locations that last between 4.5 and 5.5 minutes, each axis to zero
mean and unit variance, the RBF length scale of largest likelihood, divided by the sampling period. Of the 2,600 whole
trajectories here 9 are such traces, so that this cannot be how 10k traces were left of GeoLife's 18,670. The paper
prints no quartiles; 2.67, 6.10 and 8.00 are those of the numbers published with it, 3,762 traces.

What reproduces those is the published program: the first 320 s of each trajectory, kept if they span 240 s (here also
at least 10 points), thinned to about 50 points; users with at least 10 such traces, the first 50 of each; length scales
limited to (1, 40) s, white variance .0025. The third quartile, 8.00, is that limit: 40 s over a period of 5 s, so its
agreement says nothing about people. 36 users of the original data are missing here: within 15 % can be expected.
The data may not be redistributed: where it is not present, its claims cannot be checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import minimize_scalar

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.panels import Panel
from sfumato.base.errors import InputError
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, near
from sfumato.papers.picture import Picture

LONGEST_S, SHORTEST_S = 320.0, 240.0
FEWEST_POINTS, USUAL_POINTS, FEWEST_TRACES, MOST_TRACES = 10, 50, 10, 50
FirstMinutes = tuple[int, FloatArray, FloatArray]
Thinned = tuple[FloatArray, FloatArray, float]


class DataNotHere(InputError):
    """Real data that may not ship is needed and is not there."""


def shared_data(folder: str) -> Path:
    """Where the real data lies, or an error that says how to say so."""
    own = os.environ.get("SFUMATO_SHARED_DATA")
    places = [Path(own)] if own else []
    places += [Path.cwd().parent / "shared" / "data", Path(__file__).resolve().parents[4] / "shared" / "data"]
    for place in places:
        if (place / folder).is_dir():
            return place / folder
    raise DataNotHere(
        f"The data '{folder}' is not here (it may not be redistributed).",
        "Put it in ../shared/data, or name the folder in SFUMATO_SHARED_DATA.",
    )


def first_minutes() -> list[FirstMinutes]:
    """(user, times in s from 0, (n, 2) latitude and longitude) of the first 320 s of every trajectory."""
    return [
        (user, t[inside], xy[inside])
        for user, t, xy in _trajectories("geolife_first320s.parquet")
        if (inside := (t <= LONGEST_S) & (np.abs(xy[:, 0]) <= 90)).any()
    ]


def as_printed(whole: Iterable[FirstMinutes]) -> list[FirstMinutes]:
    """The traces that App. 7.4 keeps as printed: under 50 locations, between 4.5 and 5.5 minutes from first to last."""
    return [one for one in whole if one[1].size < 50 and 270 <= one[1][-1] - one[1][0] <= 330]


def published_fits() -> tuple[int, int]:
    """How many traces and how many pieces of temperature the numbers published with the paper are of."""
    folder = shared_data("l_eff")
    return int(np.load(folder / "l_eff_x.npy").size), int(np.load(folder / "l_eff_temp.npy").size)


def _trajectories(name: str) -> Iterator[FirstMinutes]:
    columns = ["user_id", "trajectory_id", "time", "lat_e6", "lon_e6"]
    table = pq.read_table(shared_data("geolife") / name, columns=columns)
    user, trip = (np.asarray(_codes(table[name])) for name in columns[:2])
    times = table["time"].to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000.0
    places = np.stack([table[name].to_numpy() / 1e6 for name in columns[3:]], axis=1)
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(user) != 0) | (np.diff(trip) != 0))))
    for start, stop in zip(starts, np.append(starts[1:], user.size), strict=True):
        yield int(user[start]), times[start:stop] - times[start], places[start:stop]


def thin_traces(whole: list[FirstMinutes], most: int = MOST_TRACES) -> list[Thinned]:
    """(times, positions, median period) of what the published program keeps: about 50 points of 240 s or more.

    Users with at least 10 such traces, the first 50 of each. Degrees will do: each axis is scaled to unit variance.
    """
    kept: dict[int, list[Thinned]] = {}
    for user, t, xy in whole:
        if t.size < FEWEST_POINTS or t[-1] < SHORTEST_S:
            continue
        stride = max(t.size // USUAL_POINTS, 1)
        kept.setdefault(user, []).append((t[::stride], xy[::stride], float(np.median(np.diff(t[::stride])))))
    return [trace for traces in kept.values() if len(traces) >= FEWEST_TRACES for trace in traces[:most]]


def _codes(column: pa.ChunkedArray) -> FloatArray:
    array = column.combine_chunks()
    return np.asarray((array if hasattr(array, "indices") else array.dictionary_encode()).indices)


PUBLISHED = (2.67, 6.10, 8.00)
WHITE = 0.0025
LIMITS_S = (1.0, 40.0)


def run(*, quick: bool = False) -> Reproduction:
    """Fit every trace (``quick``: every twelfth), compare the quartiles, and count what the printed rule keeps."""
    every = 12 if quick else 1
    traces = thin_traces(first_minutes())[::every]
    whole = list(_trajectories("geolife_traces.parquet"))
    kept, (published, pieces) = len(as_printed(whole)), published_fits()
    clamped = _scales(traces, LIMITS_S)
    ours = np.quantile(clamped, [0.25, 0.5, 0.75])
    rows: list[Row] = [
        {"quartile": name, "published with the paper": p, "ours, read as its program does": float(q)}
        for name, p, q in zip(("first", "median", "third"), PUBLISHED, ours, strict=True)
    ]
    at_limit = float(np.mean(clamped * np.repeat([p for *_, p in traces], 2)[: clamped.size] > 39.9))
    shares = np.linspace(0, 1, 101)
    panel = Panel("l_eff", np.quantile(clamped, shares), {"share of traces below": shares}, "l_eff", "share")
    return Reproduction(
        name="l-eff",
        title="Effective length scales of GeoLife (both axes)",
        tables={"quartiles": rows},
        claims=(
            *(
                near(
                    f"{name} quartile of the published numbers, read as their program does",
                    float(q),
                    p,
                    tolerance=0.2 if quick else 0.15,
                    because="the limit of 40 s over 5 s, not people" if name == "third" else "",
                )
                for name, q, p in zip(("first", "median", "third"), ours, PUBLISHED, strict=True)
            ),
            check(
                "the printed rule leaves 10k traces (of all 18,670 trajectories; here a sample)",
                kept / len(whole) > 0.25,
                whose="Meehan2021, App. 7.4",
                measured=kept,
                expected=round(10_000 / 18_670 * len(whole)),
                because=f"of {len(whole)} whole trajectories",
            ),
            check(
                "the published numbers are of 10k traces and of 40 days",
                published >= 9_500 and 2 * pieces >= 38,
                whose="Meehan2021, Sec. 5, sizes",
                measured=(float(published), float(2 * pieces)),
                expected=(10_000.0, 40.0),
            ),
            check(
                "the length scale of a path drawn with 2 is found (within 15 %, median of 20)",
                abs(_of_drawn_paths() / 2 - 1) < 0.15,
                whose="Meehan2021, Sec. 5, l_eff",
                measured=_of_drawn_paths(),
                expected=2.0,
            ),
            check("a large share of the fits lies at the limit of 40 s", at_limit > 0.2, measured=at_limit),
        ),
        picture=Picture([panel], "GeoLife"),
        notes=(
            f"{len(traces)} traces; 36 users of the original data are missing.",
            "The numbers published with the paper are of earth-centred coordinates, not of latitude and longitude.",
        ),
        numbers={"traces": len(traces), "as_printed": kept, "fits": int(clamped.size), "at_limit": at_limit},
    )


def _scales(traces: Sequence[Thinned], limits_s: tuple[float, float]) -> FloatArray:
    found = [effective_length(t, axis, period, limits_s) for t, positions, period in traces for axis in positions.T]
    scales = np.array(found)
    return np.asarray(scales[np.isfinite(scales)])


def effective_length(
    times_s: FloatArray, values: FloatArray, period_s: float, limits_s: tuple[float, float] = LIMITS_S
) -> float:
    """The maximum-likelihood RBF length scale over the sampling period; NaN for a constant axis."""
    centred = values - values.mean()
    size = float(centred.std())
    if size == 0 or period_s <= 0:
        return float("nan")
    y = centred / size
    squares = (times_s[:, None] - times_s) ** 2

    def minus_log_likelihood(length: float) -> float:
        covariance = np.exp(-squares / (2 * length * length))
        covariance.flat[:: y.size + 1] += WHITE
        factor = np.linalg.cholesky(covariance)
        white = np.linalg.solve(factor, y)
        return 0.5 * float(white @ white) + float(np.sum(np.log(np.diag(factor))))

    grid = np.geomspace(*limits_s, 24)
    best = int(np.argmin([minus_log_likelihood(float(length)) for length in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return float(found.x) / period_s


def _of_drawn_paths() -> float:
    times = np.arange(50.0)
    root = np.linalg.cholesky(np.exp(-((times[:, None] - times) ** 2) / 8) + WHITE * np.eye(50))
    drawn = root @ np.random.default_rng(0).normal(size=(50, 20))
    return float(np.median([effective_length(times, path, 1.0) for path in drawn.T]))
