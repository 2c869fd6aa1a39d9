"""Small files laid out like the exports of trackers, phones and photo libraries; the way in them was made up here."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

# Ten fixes of a walk: degrees, seconds since 1970, and their time as text.
FIXES = [(48.85 + n / 1000, 2.35 + n / 700, 1_714_564_800 + 60 * n) for n in range(10)]


def stamp(seconds: int, zone: str = "Z") -> str:
    minutes = (seconds - FIXES[0][2]) // 60
    return f"2024-05-01T12:{minutes:02}:00.000{zone}"


def csv(head: str, row: str, fixes: list[tuple[float, float, int]] = FIXES) -> str:
    """A table by a pattern: y and x in degrees, y7 and x7 in ten-millionths, s in seconds, t as text, n counts."""
    lines = [
        row.format(y=y, x=x, y7=round(y * 1e7), x7=round(x * 1e7), s=s, t=stamp(s), clock=stamp(s)[11:19], n=n)
        for n, (y, x, s) in enumerate(fixes)
    ]
    return "\n".join([head, *lines]) + "\n"


def rows(of: Any, fixes: list[tuple[float, float, int]] = FIXES) -> list[Any]:
    return [of(y, x, s, n) for n, (y, x, s) in enumerate(fixes)]


def geojson(properties: Any, **more: Any) -> str:
    features = rows(
        lambda y, x, s, n: {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [x, y, 35.0]},
            "properties": properties(s, n),
        }
    )
    return json.dumps({"type": "FeatureCollection", "features": features, **more})


def e7(y: float, x: float, *names: str) -> dict[str, int]:
    lat, lon = names or ("latitudeE7", "longitudeE7")
    return {lat: round(y * 1e7), lon: round(x * 1e7)}


def semantic(*objects: Any) -> str:
    return json.dumps({"timelineObjects": list(objects)})


def journey(first: int, last: int, **more: Any) -> dict[str, Any]:
    duration = {"startTimestamp": stamp(FIXES[first][2]), "endTimestamp": stamp(FIXES[last][2])}
    return {"activitySegment": {"duration": duration, "confidence": "LOW", **more}}


def visit(place: Any, **duration: Any) -> dict[str, Any]:
    return {"placeVisit": {"location": place, "duration": duration, "placeConfidence": "HIGH"}}


def waypoints(*places: int) -> dict[str, Any]:
    return {"waypoints": [e7(*FIXES[place][:2], "latE7", "lngE7") for place in places], "source": "BACKFILLED"}


def phone(*segments: Any, raw: list[Any] | None = None) -> str:
    return json.dumps({"semanticSegments": list(segments), "rawSignals": raw or [], "userLocationProfile": {}})


def android(place: int) -> str:
    return f"{FIXES[place][0]:.6f}°, {FIXES[place][1]:.6f}°"


def ios(place: int) -> str:
    return f"geo:{FIXES[place][0]:.6f},{FIXES[place][1]:.6f}"


def span(first: int, last: int | None, **more: Any) -> dict[str, Any]:
    ends = {} if last is None else {"endTime": stamp(FIXES[last][2], "+00:00")}
    return {"startTime": stamp(FIXES[first][2], "+00:00"), **ends, **more}


def path(point: Any) -> list[dict[str, Any]]:
    return [{"point": point(n), "time": stamp(s)} for n, (_, _, s) in enumerate(FIXES)]


def raw(places: range) -> list[Any]:
    position = [
        {"position": {"LatLng": android(n), "accuracyMeters": 9, "timestamp": stamp(FIXES[n][2])}} for n in places
    ]
    return [*position, {"wifiScan": {"deliveryTime": stamp(FIXES[0][2]), "devicesRecords": []}}]


def rec(*kinds: str) -> str:
    """OwnTracks: a message for each kind, at the fixes in turn."""
    out = ""
    for (y, x, s), kind in zip(FIXES, kinds, strict=False):
        message = {"_type": kind, "lat": y, "lon": x, "tst": s, "tid": "RO", "batt": 90, "vel": 36, "event": "leave"}
        out += f"{stamp(s)}\t*                 \t{json.dumps(message)}\n"
    return out


def edits(*positions: int) -> list[Any]:
    found = [
        {"point": e7(*FIXES[n][:2], "latE7", "lngE7"), "accuracyMm": 9000, "timestamp": stamp(FIXES[n][2])}
        for n in positions
    ]
    return [{"deviceId": "1", "rawSignal": {"signal": {"position": position}}} for position in found]


def states(entity: str, fixes: list[tuple[float, float, int]] = FIXES) -> list[Any]:
    """A list of Home Assistant's states."""
    return rows(
        lambda y, x, s, n: {
            "entity_id": entity,
            "state": "home" if n < 3 else "not_home",
            "attributes": {"source_type": "gps", "latitude": y, "longitude": x, "gps_accuracy": 8},
            "last_changed": stamp(FIXES[min(n, 3)][2]),
            **({"last_updated": stamp(s)} if n > 3 else {"last_updated": stamp(s)} if n else {}),
        },
        fixes,
    )


def photos(**more: Any) -> list[Any]:
    return rows(
        lambda y, x, s, n: {
            "id": f"a{n}",
            "ownerId": "me",
            "deviceId": f"camera {n % 2}",
            "type": "IMAGE",
            "exifInfo": {"make": "A", "dateTimeOriginal": stamp(s), "latitude": y, "longitude": x, **more},
        }
    )


def traccar(y: float, x: float, s: int, n: int) -> dict[str, Any]:
    times = {"serverTime": stamp(s + 60), "deviceTime": stamp(s), "fixTime": stamp(s, "+00:00")}
    place = {"valid": True, "latitude": y, "longitude": x, "altitude": 35.0, "speed": 10.0, "course": 90.0}
    return {"id": n, "attributes": {"batteryLevel": 90 - n, "motion": n > 2}, "deviceId": 4, **times, **place}


def gpx(points: str, *, tag: str = "trk") -> str:
    inner = f"<trkseg>{points}</trkseg>" if tag == "trk" else points
    return f'<gpx version="1.1" creator="A">{f"<{tag}>{inner}</{tag}>" if tag != "wpt" else inner}</gpx>'


def gpx_points(tag: str, *, timed: bool = True, extra: str = "") -> str:
    return "".join(
        f'<{tag} lat="{y}" lon="{x}">{f"<time>{stamp(s)}</time>" if timed else ""}{extra}</{tag}>' for y, x, s in FIXES
    )


def marks(when: str = "<TimeStamp><when>{t}</when></TimeStamp>", extra: str = "") -> str:
    return "".join(
        f"<Placemark><name>mark</name>{when.format(t=stamp(s))}{extra}<Point><coordinates>{x},{y},10</coordinates></Point>"
        "</Placemark>"
        for y, x, s in FIXES
    )


def kml(inside: str) -> str:
    return f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>Log</name>{inside}</Document></kml>'


def kmz(inside: str, name: str = "doc.kml") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images/pin.png", b"\x89PNG")
        archive.writestr(name, kml(inside))
    return packed.getvalue()


def tcx(position: str) -> str:
    points = "".join(
        f"<Trackpoint><Time>{stamp(s)}</Time>{position.format(y=y, x=x)}</Trackpoint>" for y, x, s in FIXES
    )
    return (
        '<TrainingCenterDatabase><Activities><Activity Sport="Running"><Lap><AverageHeartRateBpm><Value>99</Value>'
        f"</AverageHeartRateBpm><Track>{points}</Track></Lap></Activity></Activities></TrainingCenterDatabase>"
    )
