"""Small files of every format, made here: three or four invented points in the sea off Ghana and elsewhere."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

# What every sample says: latitude, longitude, time.
POINTS = [(5.101, -1.202, 1714564800.0), (5.102, -1.203, 1714564810.0), (5.1035, -1.2041, 1714564825.5)]
TIMES = ["2024-05-01T12:00:00Z", "2024-05-01T12:00:10Z", "2024-05-01T12:00:25.500Z"]

GPX = """<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Watch 7 of Ama" xmlns="http://www.topografix.com/GPX/1/1"
 xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1">
<metadata><name>Run from home</name><author><name>Ama</name></author>
<bounds minlat="1" minlon="2" maxlat="3" maxlon="4"/></metadata>
<wpt lat="5.09" lon="-1.19"><name>Home</name></wpt>
<trk><name>Morning &amp; evening</name><desc>from my door</desc><trkseg>
<trkpt lat="5.101" lon="-1.202"><ele>12.5</ele><time>2024-05-01T12:00:00Z</time>
<extensions><gpxtpx:TrackPointExtension><gpxtpx:hr>121</gpxtpx:hr><gpxtpx:cad>80</gpxtpx:cad>
</gpxtpx:TrackPointExtension></extensions></trkpt>
<trkpt lat="5.102" lon="-1.203"><ele>13</ele><time>2024-05-01T12:00:10Z</time></trkpt></trkseg><trkseg>
<trkpt lat="5.1035" lon="-1.2041"><time>2024-05-01T12:00:25.500Z</time></trkpt>
</trkseg></trk></gpx>
"""
GPX_1_0 = """<?xml version="1.0"?><gpx version="1.0" creator="old" xmlns="http://www.topografix.com/GPX/1/0"><trk><trkseg>
<trkpt lat="5.101" lon="-1.202"><time>2024-05-01T12:00:00Z</time><course>12</course><speed>2.5</speed></trkpt>
<trkpt lat="5.102" lon="-1.203"><time>2024-05-01T13:00:10+01:00</time></trkpt>
<trkpt lat="5.1035" lon="-1.2041"><time>2024-05-01T12:00:25.500Z</time></trkpt></trkseg></trk></gpx>"""
KML = """<?xml version="1.0" encoding="UTF-8"?><kml xmlns="http://www.opengis.net/kml/2.2"
 xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><name>Ama's rides</name><Placemark><name>Ride</name>
<gx:MultiTrack><gx:Track><when>2024-05-01T12:00:00Z</when><when>2024-05-01T12:00:10Z</when>
<gx:coord>-1.202 5.101 12.5</gx:coord><gx:coord>-1.203 5.102 13</gx:coord></gx:Track>
<gx:Track><when>2024-05-01T12:00:25.500Z</when><gx:coord>-1.2041 5.1035 14</gx:coord></gx:Track>
</gx:MultiTrack></Placemark></Document></kml>"""
KML_POINTS = """<kml><Document>
<Placemark><TimeStamp><when>2024-05-01T12:00:00Z</when></TimeStamp><Point><coordinates>-1.202,5.101,0</coordinates>
</Point></Placemark>
<Placemark><TimeStamp><when>2024-05-01T12:00:10Z</when></TimeStamp><Point><coordinates>-1.203,5.102,0</coordinates>
</Point></Placemark>
<Placemark><TimeStamp><when>2024-05-01T12:00:25.500Z</when></TimeStamp>
<Point><coordinates>-1.2041,5.1035</coordinates></Point></Placemark>
<Placemark><name>Home</name><Point><coordinates>-1.19,5.09</coordinates></Point></Placemark></Document></kml>"""
TCX = """<?xml version="1.0"?><TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2">
<Activities><Activity Sport="Running"><Id>2024-05-01T12:00:00Z</Id><Lap StartTime="2024-05-01T12:00:00Z">
<Calories>5</Calories><Track>
<Trackpoint><Time>2024-05-01T12:00:00Z</Time><Position><LatitudeDegrees>5.101</LatitudeDegrees>
<LongitudeDegrees>-1.202</LongitudeDegrees></Position><AltitudeMeters>12.5</AltitudeMeters>
<HeartRateBpm><Value>121</Value></HeartRateBpm></Trackpoint>
<Trackpoint><Time>2024-05-01T12:00:05Z</Time></Trackpoint>
<Trackpoint><Time>2024-05-01T12:00:10Z</Time><Position><LatitudeDegrees>5.102</LatitudeDegrees>
<LongitudeDegrees>-1.203</LongitudeDegrees></Position></Trackpoint></Track></Lap><Lap><Track>
<Trackpoint><Time>2024-05-01T12:00:25.500Z</Time><Position><LatitudeDegrees>5.1035</LatitudeDegrees>
<LongitudeDegrees>-1.2041</LongitudeDegrees></Position></Trackpoint></Track></Lap>
<Creator><Name>Watch 7</Name><UnitId>31337</UnitId></Creator></Activity></Activities></TrainingCenterDatabase>"""
CSV = "time,latitude,Longitude,speed\n" + "".join(
    f"{t},{y},{x},{s}\n" for (y, x, _), t, s in zip(POINTS, TIMES, (1.0, 2.0, ""), strict=True)
)
CSV_SEMICOLON = "# exported\nid;X;Y;timestamp\n" + "".join(
    f"{i};{x};{y};{int(t * 1000)}\n".replace(".", ",") for i, (y, x, t) in enumerate(POINTS)
)
PLT = (
    "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
    "5.101,-1.202,0,41,45413.5,2024-05-01,12:00:00\n5.102,-1.203,0,-777,45413.50012,2024-05-01,12:00:10\n"
    "5.1035,-1.2041,0,42,45413.50029,2024-05-01,12:00:25.5\n"
)
OWNTRACKS = (
    "".join(
        f"2024-05-01T12:00:00Z\t*                 \t"
        f"{json.dumps({'_type': 'location', 'lat': y, 'lon': x, 'tst': t, 'batt': 9, 'alt': 3, 'SSID': 'Ama home'})}\n"
        for y, x, t in (POINTS[0], POINTS[2], POINTS[1])
    )
    + '2024-05-01T12:10:00Z\t-\t{"_type":"lwt","tst":1714565400}\n'
)

_LINE = [[x, y, 12.5] for y, x, _ in POINTS]
GEOJSON_LINE = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": "Run", "coordTimes": TIMES, "heart": [1, 2, 3], "device": "Watch"},
                "geometry": {"type": "LineString", "coordinates": _LINE},
            },
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [-1.19, 5.09]}},
        ],
    }
)
GEOJSON_MULTI = json.dumps(
    {
        "type": "Feature",
        "properties": {"coordTimes": [TIMES[:2], TIMES[2:]]},
        "geometry": {"type": "MultiLineString", "coordinates": [_LINE[:2], _LINE[2:]]},
    }
)
GEOJSON_POINTS = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"Timestamp": t, "speed": 1},
                "geometry": {"type": "Point", "coordinates": p},
            }
            for t, p in zip(TIMES, _LINE, strict=True)
        ],
    }
)
MFJSON = json.dumps(
    {
        "type": "Feature",
        "temporalGeometry": {"type": "MovingPoint", "coordinates": [p[:2] for p in _LINE], "datetimes": TIMES},
        "temporalProperties": [{"wind": {"values": [1, 2, 3]}}],
    }
)
MFJSON_COLLECTION = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "temporalGeometry": {
                    "type": "MovingGeometryCollection",
                    "prisms": [
                        {
                            "type": "MovingPoint",
                            "coordinates": [p[:2] for p in part],
                            "datetimes": [int(t * 1000) for _, _, t in times],
                        }
                        for part, times in ((_LINE[:2], POINTS[:2]), (_LINE[2:], POINTS[2:]))
                    ],
                },
            }
        ],
    }
)
RECORDS = json.dumps(
    {
        "locations": [
            {
                "latitudeE7": round(y * 1e7),
                "longitudeE7": round(x * 1e7) % (1 << 32),  # the unsigned overflow of some exports
                **({"timestampMs": str(int(t * 1000))} if i else {"timestamp": TIMES[0]}),
                "accuracy": 12,
                "deviceTag": 99,
                "wifiScan": {"accessPoints": [{"mac": "1"}]},
            }
            for i, (y, x, t) in enumerate(POINTS)
        ]
    }
)
SEMANTIC = json.dumps(
    {
        "timelineObjects": [
            {
                "activitySegment": {
                    "startLocation": {"latitudeE7": 51010000, "longitudeE7": -12020000},
                    "endLocation": {"latitudeE7": 51035000, "longitudeE7": -12041000},
                    "duration": {"startTimestamp": TIMES[0], "endTimestampMs": "1714564825500"},
                    "activityType": "WALKING",
                    "simplifiedRawPath": {
                        "points": [{"latE7": 51020000, "lngE7": -12030000, "timestamp": TIMES[1], "accuracyMeters": 9}]
                    },
                }
            },
            {
                "placeVisit": {
                    "location": {"latitudeE7": 51040000, "longitudeE7": -12050000, "name": "Home", "address": "1 Road"},
                    "duration": {"startTimestamp": "2024-05-01T12:05:00Z", "endTimestamp": "2024-05-01T13:05:00Z"},
                }
            },
        ]
    }
)
ANDROID = json.dumps(
    {
        "semanticSegments": [
            {
                "startTime": "2024-05-01T12:00:00.000+00:00",
                "endTime": "2024-05-01T12:00:25.500+00:00",
                "timelinePath": [{"point": "5.102°, -1.203°", "time": "2024-05-01T12:00:10.000+00:00"}],
            },
            {
                "startTime": "2024-05-01T14:00:00.000+02:00",
                "endTime": "2024-05-01T14:00:25.500+02:00",
                "activity": {
                    "start": {"latLng": "5.101°, -1.202°"},
                    "end": {"latLng": "5.1035°, -1.2041°"},
                    "distanceMeters": 300.0,
                    "topCandidate": {"type": "WALKING"},
                },
            },
            {
                "startTime": "2024-05-01T12:05:00Z",
                "endTime": "2024-05-01T13:05:00Z",
                "visit": {"topCandidate": {"placeId": "x", "placeLocation": {"latLng": "5.104°, -1.205°"}}},
            },
        ],
        "rawSignals": [{"position": {"LatLng": "5.0°, -1.0°", "timestamp": TIMES[0], "accuracyMeters": 13}}],
        "userLocationProfile": {"frequentPlaces": [{"placeLocation": "5.104°, -1.205°", "label": "HOME"}]},
    },
    ensure_ascii=False,
)
ANDROID_RAW = json.dumps(
    {
        "semanticSegments": [],
        "rawSignals": [
            {"position": {"LatLng": f"{y}°, {x}°", "timestamp": t, "altitudeMeters": 3}}
            for (y, x, _), t in zip(POINTS, TIMES, strict=True)
        ],
    },
    ensure_ascii=False,
)
IOS = json.dumps(
    [
        {
            "startTime": "2024-05-01T12:00:00.000Z",
            "endTime": "2024-05-01T13:00:00.000Z",
            "timelinePath": [
                {"point": "geo:5.101,-1.202", "durationMinutesOffsetFromStartTime": "0"},
                {"point": "geo:5.102,-1.203", "durationMinutesOffsetFromStartTime": "7"},
            ],
        },
        {
            "startTime": "2024-05-01T12:30:00.000Z",
            "endTime": "2024-05-01T13:30:00.000Z",
            "visit": {"hierarchyLevel": "0", "topCandidate": {"placeLocation": "geo:5.1035,-1.2041", "placeID": "x"}},
        },
        {
            "startTime": "2024-05-01T13:30:00.000Z",
            "endTime": "2024-05-01T13:40:00.000Z",
            "activity": {"start": "geo:5.1035,-1.2041", "end": "geo:5.101,-1.202", "distanceMeters": "100"},
        },
    ]
)


def fit_crc(data: bytes) -> int:
    """FIT's 16-bit checksum."""
    table = (0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401,
             0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400)  # fmt: skip
    crc = 0
    for byte in data:
        for nibble in (byte & 0xF, byte >> 4):
            crc = (crc >> 4) ^ table[crc & 0xF] ^ table[nibble]
    return crc


def fit_file() -> bytes:
    """A FIT activity: file_id with a serial number, three records with position, height and heart rate, one without."""
    definition_id = struct.pack("<BBBHB", 0x40, 0, 0, 0, 3) + bytes([0, 1, 0, 3, 4, 0x8C, 4, 4, 0x86])
    data_id = struct.pack("<BBII", 0, 4, 31337, 1083498000)
    fields = bytes([253, 4, 0x86, 0, 4, 0x85, 1, 4, 0x85, 2, 2, 0x84, 3, 1, 2])
    definition = struct.pack("<BBBHB", 0x41, 0, 0, 20, 5) + fields
    records = b""
    for y, x, t in POINTS:
        lat, lon = (round(value * (1 << 31) / 180) for value in (y, x))
        records += struct.pack("<BIiiHB", 1, int(t) - 631065600, lat, lon, round((12.4 + 500) * 5), 121)
    records += struct.pack("<BIiiHB", 1, 1714564830 - 631065600, 0x7FFFFFFF, 0x7FFFFFFF, 0xFFFF, 0xFF)
    body = definition_id + data_id + definition + records
    header = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    header += struct.pack("<H", fit_crc(header))
    return header + body + struct.pack("<H", fit_crc(header + body))


TEXT_SAMPLES: dict[str, str] = {
    "a.gpx": GPX,
    "b.gpx": GPX_1_0,
    "a.kml": KML,
    "b.kml": KML_POINTS,
    "a.tcx": TCX,
    "a.csv": CSV,
    "b.csv": CSV_SEMICOLON,
    "a.plt": PLT,
    "a.rec": OWNTRACKS,
    "a.geojson": GEOJSON_LINE,
    "b.geojson": GEOJSON_MULTI,
    "c.geojson": GEOJSON_POINTS,
    "mf.json": MFJSON,
    "mf2.json": MFJSON_COLLECTION,
    "Records.json": RECORDS,
    "2024_MAY.json": SEMANTIC,
    "Timeline.json": ANDROID,
    "raw.json": ANDROID_RAW,
    "location-history.json": IOS,
}


def write_samples(folder: Path) -> dict[str, Path]:
    """Every sample as a file, by name."""
    paths = {name: folder / name for name in (*TEXT_SAMPLES, "a.fit")}
    for name, text in TEXT_SAMPLES.items():
        paths[name].write_text(text, encoding="utf-8")
    paths["a.fit"].write_bytes(fit_file())
    return paths


def kmz_file() -> bytes:
    """A KMZ file of the three points."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("doc.kml", KML)
    return packed.getvalue()
