"""Points as text in a table's column: ``POINT(2.35 48.85)``, with ``SRID=4326;`` before it, or WKB in hexadecimals."""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.tracks.io.tables.wkb import decode_point

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_POINT = re.compile(
    r"\s*(?:SRID\s*=\s*(\d+)\s*;)?\s*POINT\s*(?:ZM|Z|M)?"
    rf"\s*\(\s*({_NUMBER})\s+({_NUMBER})(?:\s+{_NUMBER}){{0,2}}\s*\)\s*",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\s*(?:SRID\s*=\s*\d+\s*;)?\s*(LINESTRING|POLYGON|MULTIPOINT|MULTILINESTRING|MULTIPOLYGON|GEOMETRYCOLLECTION)",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\s*(?:SRID\s*=\s*\d+\s*;)?\s*POINT\s*(?:ZM|Z|M)?\s*EMPTY\s*", re.IGNORECASE)
_WGS84 = ("4326", "4979", "84")


def points_from_texts(texts: Sequence[str | None]) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes; NaN for what is no point. Lines, areas and other systems of coordinates are refused."""
    pairs = np.array([_point(text) for text in texts], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 1].copy(), pairs[:, 0].copy()


def is_empty(text: str) -> bool:
    """Whether a text says that there is no point."""
    return not text.strip() or _EMPTY.fullmatch(text) is not None


def _point(text: str | None) -> tuple[float, float]:
    if text is None or is_empty(text):
        return np.nan, np.nan
    match = _POINT.fullmatch(text)
    if match is not None:
        if match.group(1) is not None and match.group(1) not in _WGS84:
            raise InputError("The points are not in WGS84 longitude and latitude.", "Reproject them to EPSG:4326.")
        return float(match.group(2)), float(match.group(3))
    other = _OTHER.match(text)
    if other is not None:
        raise InputError(
            f"The geometry column holds a {other.group(1).upper()} instead of one point with its time per row.",
            "A line of WKT has no times: export the points, or GeoJSON with coordTimes.",
        )
    try:
        blob = binascii.unhexlify(text.strip().removeprefix("\\x"))
    except (binascii.Error, ValueError):
        return np.nan, np.nan
    return decode_point(blob)
