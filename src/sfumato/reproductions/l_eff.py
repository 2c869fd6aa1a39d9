"""Effective length scales of GeoLife traces, by the pipeline of [Meehan2021, App. 7.4], against the published ones.

Each trace: its first 320 s, kept if it spans at least 240 s and has at least 10 points, thinned by the stride n // 50;
users with at least 10 such traces, the first 50 of each. Each axis to zero mean and unit variance; the
maximum-likelihood RBF length scale in (1, 40) s with white variance .0025; divided by the median sampling period after
thinning. 36 users of the original data are missing here, so quartiles within 15% are what can be expected.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import minimize_scalar

from sfumato.arrays import FloatArray
from sfumato.errors import InputError
from sfumato.reproductions import Reproduction
from sfumato.reproductions.picture import Panel, svg

PUBLISHED = (2.67, 6.10, 8.00)
WHITE = 0.0025
LONGEST_S, SHORTEST_S = 320.0, 240.0
FEWEST_POINTS, USUAL_POINTS, FEWEST_TRACES, MOST_TRACES = 10, 50, 10, 50
_Thinned = tuple[FloatArray, FloatArray, float]
_GRID_S = np.geomspace(1.0, 40.0, 24)


def run(*, quick: bool = False) -> Reproduction:
    """Fit every trace (``quick``: every fourth) and compare the quartiles."""
    traces = _traces(_data() / "geolife" / "geolife_first320s.parquet", MOST_TRACES)[:: 4 if quick else 1]
    scales = np.array([effective_length(t, axis, period) for t, positions, period in traces for axis in positions.T])
    scales = scales[np.isfinite(scales)]
    quartiles = np.quantile(scales, [0.25, 0.5, 0.75])
    rows: list[dict[str, Any]] = [
        {"quartile": name, "ours": float(q), "published": p, "ratio": float(q / p)}
        for name, q, p in zip(("first", "median", "third"), quartiles, PUBLISHED, strict=True)
    ]
    shares = np.linspace(0, 1, 101)
    panel = Panel(
        "Effective length scales", np.quantile(scales, shares), {"share of traces below": shares}, "l_eff", "share"
    )
    return Reproduction(
        name="l-eff",
        title="Effective length scales of GeoLife (both axes)",
        tables={"quartiles": rows},
        claims={
            f"the {row['quartile']} quartile is within 15% of the published {row['published']}": bool(
                abs(row["ratio"] - 1) <= 0.15
            )
            for row in rows
        },
        picture_svg=svg([panel], columns=1, title="GeoLife"),
        notes=(
            f"{len(traces)} traces; 36 users of the original data are missing.",
            "The temperature length scales published with the paper (quartiles 1.04, 1.10, 1.14) are those of field 5, "
            "outdoor weather, not of the room: a shifted header (erratum 6).",
        ),
        numbers={"traces": len(traces), "fits": int(scales.size)},
    )


def _data() -> Path:
    own = os.environ.get("SFUMATO_SHARED_DATA")
    places = [Path(own)] if own else []
    places += [Path.cwd().parent / "shared" / "data", Path(__file__).resolve().parents[4] / "shared" / "data"]
    for place in places:
        if (place / "geolife").is_dir():
            return place
    raise InputError(
        "The GeoLife data is not here (it may not be redistributed).",
        "Put it in ../shared/data, or name the folder in SFUMATO_SHARED_DATA.",
    )


def _traces(path: Path, most: int) -> list[_Thinned]:
    """(times in s, positions (n, 2), median period in s before thinning) of the traces the pipeline keeps."""
    table = pq.read_table(path, columns=["user_id", "trajectory_id", "time", "lat_e6", "lon_e6"])
    user = np.asarray(_codes(table["user_id"]))
    trip = np.asarray(_codes(table["trajectory_id"]))
    times = table["time"].to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000.0
    lat, lon = (table[name].to_numpy() / 1e6 for name in ("lat_e6", "lon_e6"))
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(user) != 0) | (np.diff(trip) != 0))))
    kept: dict[int, list[_Thinned]] = {}
    for start, stop in zip(starts, np.append(starts[1:], user.size), strict=True):
        t = times[start:stop] - times[start]
        inside = (t <= LONGEST_S) & (np.abs(lat[start:stop]) <= 90)
        t = t[inside]
        if t.size < FEWEST_POINTS or t[-1] < SHORTEST_S:
            continue
        stride = max(t.size // USUAL_POINTS, 1)
        # Degrees will do: each axis is scaled to unit variance anyway.
        xy = np.stack([lat[start:stop][inside], lon[start:stop][inside]], axis=1)[::stride]
        kept.setdefault(int(user[start]), []).append((t[::stride], xy, float(np.median(np.diff(t[::stride])))))
    return [trace for traces in kept.values() if len(traces) >= FEWEST_TRACES for trace in traces[:most]]


def _codes(column: pa.ChunkedArray) -> FloatArray:
    array = column.combine_chunks()
    return np.asarray((array if hasattr(array, "indices") else array.dictionary_encode()).indices)


def effective_length(times_s: FloatArray, values: FloatArray, period_s: float) -> float:
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

    values_on_grid = [minus_log_likelihood(float(length)) for length in _GRID_S]
    best = int(np.argmin(values_on_grid))
    low, high = _GRID_S[max(best - 1, 0)], _GRID_S[min(best + 1, len(_GRID_S) - 1)]
    found = minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return float(found.x) / period_s
