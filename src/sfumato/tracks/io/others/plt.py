"""GeoLife PLT: six header lines, then latitude, longitude, 0, altitude in feet, a day number, date and time in GMT."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import Draft, Reading, degrees

_HEADER = 6
_FIELDS = 7
_FOOT_M = 0.3048
_NO_ALTITUDE_FT = -777
# PLT counts days since 1899-12-30.
_DAY_ZERO_S = -2_209_161_600


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft of one segment; PLT times are GMT by definition."""
    draft = Draft(reading, path.stem)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if len(lines) <= _HEADER:
        raise InputError("The PLT file has no points.", "After six header lines it needs one line per point.")
    rows = [line.split(",") for line in lines[_HEADER:] if line.strip()]
    if rows and len(rows[-1]) < _FIELDS:
        raise InputError("The PLT file ends in the middle of a point.", "It is cut off; copy it again.")
    for fields in rows:
        if len(fields) < _FIELDS:
            draft.skip("damaged lines")
            continue
        day, clock = fields[5].strip(), fields[6].strip()
        draft.add(degrees(fields[0]), degrees(fields[1]), f"{day}T{clock}Z" if day and clock else None)
        altitude_ft = degrees(fields[3])
        if altitude_ft is not None and altitude_ft != _NO_ALTITUDE_FT:
            draft.saw("elevation", altitude_ft * _FOOT_M)
    return [draft]


def write(trace: Trace, path: Path) -> None:
    """A PLT file of one segment, with whole seconds as the format has them."""
    refused = sorted({*trace.columns, *trace.texts} - {"elevation"})
    if refused:
        raise InputError(f"PLT cannot hold {refused[0]}.", "Write GPX, CSV or Parquet to keep it.")
    if trace.segments > 1:
        raise InputError(
            f"PLT holds one segment; the trace has {trace.segments}.", "Write GPX, or one file per segment."
        )
    if (trace.times_s % 1).any():
        raise InputError("PLT holds whole seconds; the trace has fractions.", "Write GPX, CSV or Parquet.")
    stamps = np.datetime_as_string(trace.times_s.astype(np.int64).astype("datetime64[s]"), unit="s").tolist()
    days = (trace.times_s - _DAY_ZERO_S) / 86400.0
    heights = np.full(len(trace), float(_NO_ALTITUDE_FT))
    if "elevation" in trace.columns:
        feet = trace.columns["elevation"] / _FOOT_M
        heights = np.where(np.isnan(feet), heights, feet)
    with path.open("w", encoding="ascii", newline="\n") as out:
        out.write("Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,sfumato,0,0,2,8421376\n0\n")
        for y, x, h, d, s in zip(
            decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), heights, days, stamps, strict=True
        ):
            out.write(f"{y},{x},0,{h:.10g},{d:.10f},{s[:10]},{s[11:]}\n")
