"""Numbers as writers put them: plain decimals without exponents, and the bounds of what is released."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.frames import DEGREE_DECIMALS
from sfumato.traces import Trace


def decimal_texts(values: FloatArray) -> list[str]:
    """Degrees without exponents: seven decimals for anything snapped (exact), ten (0.01 mm) for anything else."""
    snapped = bool((np.round(values, DEGREE_DECIMALS) == values).all())
    pattern = f"%.{DEGREE_DECIMALS if snapped else 10}f"
    return [pattern % value for value in values.tolist()]


def bounds(trace: Trace) -> tuple[str, str, str, str]:
    """South, west, north, east of the points; west is larger than east where they straddle the antimeridian."""
    lon = np.asarray(trace.lon_deg)
    west, east = float(lon.min()), float(lon.max())
    if east - west > 180:
        # The shorter way round: the largest gap between neighbouring longitudes is the part not covered.
        ordered = np.unique(lon)
        widest = int(np.argmax(np.diff(ordered)))
        if ordered[widest + 1] - ordered[widest] > 360 - (east - west):
            west, east = float(ordered[widest + 1]), float(ordered[widest])
    south, north = float(trace.lat_deg.min()), float(trace.lat_deg.max())
    south_text, west_text, north_text, east_text = decimal_texts(np.array([south, west, north, east]))
    return south_text, west_text, north_text, east_text
