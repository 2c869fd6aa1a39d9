"""Points in well-known binary, as GeoParquet and GeoPackage store them, or as text in a table's column.

Texts are ``POINT(2.35 48.85)``, with ``SRID=4326;`` before it, or WKB in hexadecimals."""

from __future__ import annotations

import binascii
import re
import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError

_LITTLE_POINT = struct.pack("<BI", 1, 1)
_LAYOUT = np.dtype([("order", "u1"), ("kind", "<u4"), ("lon", "<f8"), ("lat", "<f8")])
_EWKB_SRID = 0x20000000
_NOWHERE = struct.pack("<BIdd", 1, 1, np.nan, np.nan)


def points_from_wkb(column: pa.ChunkedArray) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes of a column of points (binary WKB, or GeoArrow's structs and lists of x, y)."""
    kind = column.type
    if isinstance(kind, pa.ExtensionType):
        kind = kind.storage_type
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
    if pa.types.is_struct(kind) and {"x", "y"} <= {kind.field(i).name for i in range(kind.num_fields)}:
        whole = column.combine_chunks()
        lon, lat = (pc.struct_field(whole, name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in "xy")
        return lat.astype(np.float64), lon.astype(np.float64)
    if pa.types.is_fixed_size_list(kind) and kind.list_size >= 2:
        flat = np.asarray(column.combine_chunks().flatten().cast(pa.float64())).reshape(-1, kind.list_size)
        return flat[:, 1].copy(), flat[:, 0].copy()
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)):
        raise InputError("The geometry column does not hold points.", "Give latitude and longitude columns.")
    plain = _laid_out(column)
    return decode_points(column.to_pylist()) if plain is None else (plain["lat"].copy(), plain["lon"].copy())


def _laid_out(column: pa.ChunkedArray) -> npt.NDArray[np.void] | None:
    """The points where every row is one of 21 bytes, read where they lie; None where some row is not."""
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks == 1 else pa.concat_arrays(whole.chunks)
    wide = pa.types.is_large_binary(whole.type)
    if whole.null_count or not len(whole) or pa.types.is_binary_view(whole.type):
        return None
    offsets = np.frombuffer(whole.buffers()[1], dtype=np.int64 if wide else np.int32)
    offsets = offsets[whole.offset : whole.offset + len(whole) + 1]
    if (np.diff(offsets) != _LAYOUT.itemsize).any():
        return None
    points = np.frombuffer(whole.buffers()[2], dtype=_LAYOUT, count=len(whole), offset=int(offsets[0]))
    return points if (points["order"] == 1).all() and (points["kind"] == 1).all() else None


def decode_points(blobs: Iterable[bytes | None]) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes of WKB points, NaN where there is none; anything else is refused."""
    items = [_NOWHERE if blob is None else blob for blob in blobs]
    joined = b"".join(items)
    if all(len(blob) == 21 for blob in items):
        points = np.frombuffer(joined, dtype=_LAYOUT)
        if (points["order"] == 1).all() and (points["kind"] == 1).all():
            return points["lat"].astype(np.float64), points["lon"].astype(np.float64)
    pairs = np.array([decode_point(blob) for blob in items], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 1].copy(), pairs[:, 0].copy()


def decode_point(blob: bytes) -> tuple[float, float]:
    """Longitude and latitude of one WKB or EWKB point."""
    try:
        order = "<" if blob[0] == 1 else ">"
        (kind,) = struct.unpack_from(f"{order}I", blob, 1)
        start = 9 if kind & _EWKB_SRID else 5
        if (kind & 0x0FFFFFFF) % 1000 != 1:
            raise ValueError
        if kind & _EWKB_SRID and struct.unpack_from(f"{order}I", blob, 5)[0] not in (0, 4326):
            raise InputError("The points are not in WGS84 longitude and latitude.", "Reproject them to EPSG:4326.")
        x, y = struct.unpack_from(f"{order}dd", blob, start)
    except InputError:
        raise
    except (struct.error, ValueError, IndexError):
        raise InputError("The geometry column holds something other than points.", "Give one point per row.") from None
    return x, y


def encode_points(lat_deg: FloatArray, lon_deg: FloatArray) -> bytes:
    """All points as one run of 21-byte little-endian WKB points."""
    points = np.empty(len(lat_deg), dtype=_LAYOUT)
    points["order"], points["kind"], points["lon"], points["lat"] = 1, 1, lon_deg, lat_deg
    return points.tobytes()


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
