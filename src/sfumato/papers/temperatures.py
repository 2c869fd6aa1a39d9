"""Twenty days of home temperature, and the recipe that fits a periodic prior to two of them at a time.

A cut of SML2010 [Zamora2014], CC BY 4.0, ships with the package: the dining room, a room and the weather forecast every
15 minutes. The recipe is that of the code published with [Meehan2021]; see :mod:`.home_temperature`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
from scipy.signal import decimate

from sfumato.base.arrays import FloatArray
from sfumato.papers.periodic_fitting import Assumed, PeriodicFit, fit_periodic

FIELDS = {"dining room (field 3)": 0, "room (field 4)": 1, "weather (field 5)": 2}
_PRINTED = "1.06777789 1.15811296 1.13576362 1.03293856 1.12586109 1.06136241 .87187123 .75403929 1.14805235 1.2014448"
PUBLISHED = tuple(map(float, _PRINTED.split()))
WHITE_VARIANCE = 0.1
PERIODS = (16.0, 34.0)


@lru_cache(maxsize=1)
def temperatures() -> FloatArray:
    """The shipped cut of SML2010: one row every 15 minutes, dining room, room and weather in °C."""
    text = (files("sfumato") / "data" / "sml2010_cut.csv").read_text("utf-8")
    rows = [line.split(",") for line in text.splitlines() if line and line[0].isdigit()]
    return np.array(rows, dtype=np.float64)


def pieces(field: int) -> list[FloatArray]:
    """Ten pieces of two days, each of unit variance, 48 hourly values (low-pass filtered, then every fourth)."""
    values = temperatures()[:, field]
    days = np.arange(values.size) / 96
    out = []
    for day in range(0, 20, 2):
        part = values[(days > day) & (days < day + 2)]
        out.append(np.asarray(decimate((part - part.mean()) / part.std(), 4, ftype="iir")))
    return out


def recipe(piece: FloatArray, white_variance: float) -> PeriodicFit:
    """The published recipe on one piece: unit variance and the white variance taken for known."""
    return fit_periodic(
        np.arange(float(piece.size)),
        piece[:, None],
        periods_s=PERIODS,
        length_scales=(0.01, 100.0),
        assumed=Assumed(1.0, white_variance**0.5),
        resolved=False,
    )


@lru_cache(maxsize=64)
def length_scales(field: int, white_variance: float = WHITE_VARIANCE) -> tuple[float, ...]:
    """The ten length scales of a field under an assumed white variance."""
    return tuple(recipe(piece, white_variance).length_scale for piece in pieces(field))


def quartiles(field: int, white_variance: float = WHITE_VARIANCE) -> tuple[float, float, float]:
    """First, second and third quartile: the grey band and the dashed line of Figure 2e-h."""
    low, middle, high = np.quantile(length_scales(field, white_variance), [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)
