"""One track written in every format that is read, with whatever else such files hold: names, laps, heights, devices."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
from sample_files import fit_crc

from sfumato.base.things.traces import Trace
from sfumato.tracks.io import write_trace
from sfumato.tracks.io.times import format_times

FORMATS = (
    *("gpx", "tcx", "fit", "kml", "kmz", "geojson", "csv", "parquet", "geoparquet", "gpkg", "plt"),
    *("rec", "records.json", "timeline.json"),
)


def write_as(kind: str, trace: Trace, path: Path, *, words: str = "a ride", laps: int = 1) -> None:
    """``words`` and ``laps`` are what only the owner should know."""
    rows = list(zip(trace.lat_deg.tolist(), trace.lon_deg.tolist(), format_times(trace.times_s), strict=True))
    seconds = trace.times_s.tolist()
    if kind == "gpx":
        points = "".join(f'<trkpt lat="{y}" lon="{x}"><ele>7</ele><time>{t}</time></trkpt>' for y, x, t in rows)
        path.write_text(
            f'<gpx creator="{words}"><metadata><name>{words}</name><time>{rows[0][2]}</time></metadata>'
            f'<wpt lat="{rows[0][0]}" lon="{rows[0][1]}"><name>{words}</name></wpt>'
            f"<trk><name>{words}</name><trkseg>{points}</trkseg></trk></gpx>"
        )
    elif kind == "tcx":
        text = "".join(
            f"<Trackpoint><Time>{t}</Time><Position><LatitudeDegrees>{y}</LatitudeDegrees>"
            f"<LongitudeDegrees>{x}</LongitudeDegrees></Position></Trackpoint>"
            for y, x, t in rows
        )
        path.write_text(
            '<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities>'
            f'<Activity Sport="Biking"><Id>{rows[0][2]}</Id><Lap StartTime="{rows[0][2]}"><Calories>{laps}</Calories>'
            f"<DistanceMeters>{len(rows)}</DistanceMeters><Track>{text}</Track></Lap><Notes>{words}</Notes>"
            "</Activity></Activities></TrainingCenterDatabase>"
        )
    elif kind == "fit":
        path.write_bytes(_fit(trace, serial=len(words)))
    elif kind == "rec":
        lines = (
            {"_type": "location", "lat": y, "lon": x, "tst": s, "SSID": words}
            for (y, x, _), s in zip(rows, seconds, strict=True)
        )
        path.write_text("".join(f"{t}\t*\t{json.dumps(line)}\n" for (_, _, t), line in zip(rows, lines, strict=True)))
    elif kind == "records.json":
        found = [
            {"latitudeE7": round(y * 1e7), "longitudeE7": round(x * 1e7), "timestamp": t, "deviceTag": len(words)}
            for y, x, t in rows
        ]
        path.write_text(json.dumps({"locations": found}))
    elif kind == "timeline.json":
        found = [{"point": f"{y:.7f}°, {x:.7f}°", "time": t} for y, x, t in rows]
        profile = {"frequentPlaces": [{"placeLocation": f"{rows[0][0]}°, {rows[0][1]}°", "label": words}]}
        segment = {"startTime": rows[0][2], "endTime": rows[-1][2], "timelinePath": found}
        path.write_text(json.dumps({"semanticSegments": [segment], "userLocationProfile": profile}))
    elif kind == "kmz":
        inner = path.with_suffix(".doc.kml")
        write_trace(trace, inner, format="kml")
        with zipfile.ZipFile(path, "w") as packed:
            packed.write(inner, "doc.kml")
            packed.writestr("images/cover.txt", words)
        inner.unlink()
    else:
        write_trace(trace, path, format=kind)


def _fit(trace: Trace, serial: int) -> bytes:
    body = struct.pack("<BBBHB", 0x40, 0, 0, 0, 3) + bytes([0, 1, 0, 3, 4, 0x8C, 4, 4, 0x86])
    body += struct.pack("<BBII", 0, 4, serial, int(trace.times_s[0]) - 631065600)
    body += struct.pack("<BBBHB", 0x41, 0, 0, 20, 3) + bytes([253, 4, 0x86, 0, 4, 0x85, 1, 4, 0x85])
    for y, x, t in zip(trace.lat_deg, trace.lon_deg, np.floor(trace.times_s), strict=True):
        lat, lon = (round(float(value) * (1 << 31) / 180) for value in (y, x))
        body += struct.pack("<BIii", 1, int(t) - 631065600, lat, lon)
    header = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    header += struct.pack("<H", fit_crc(header))
    return header + body + struct.pack("<H", fit_crc(header + body))
