"""Exports as people have them: read, every point counted, or refused for the reason a person would give."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import export_files as make
import numpy as np
import pytest
import sample_files as samples
from command import run
from coordinates import coordinates_in
from export_files import FIXES, csv, e7, rows, stamp

from sfumato.base.errors import InputError
from sfumato.tracks.io import read_trace, read_traces
from sfumato.tracks.io.draft import NO_POSITION, NO_TIME

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

LATER_FIRST = FIXES[::-1]
PLACE = e7(*FIXES[0][:2])
WHOLE = {"startTimestamp": stamp(FIXES[0][2]), "endTimestamp": stamp(FIXES[9][2])}
OLD = {"startTimestampMs": str(FIXES[0][2] * 1000), "endTimestampMs": str(FIXES[9][2] * 1000)}
SPACED = {"startTimestamp": "2024-05-01 14:00:00 +0200"}
LOGGER = "time,lat,lon,elevation,accuracy,bearing,speed,satellites,provider"
ARROWS = '"Type","Name","Address","Latitude","Longitude","Start Time","End Time","PlaceId"'

# name: content, points read, points skipped by reason.
READ: dict[str, tuple[str | bytes, int, dict[str, int]]] = {
    # tables
    "gpslogger.csv": (csv(f"{LOGGER},activity,battery", "{t},{y},{x},34.0,8,90,1.5,1{n},gps,walking,9{n}"), 10, {}),
    "gpslogger_rising.csv": (csv(f"{LOGGER},batt", "{t},{y},{x},34,8,90,1,12,gps,8{n}", FIXES[:3]), 3, {}),
    "nsew.csv": (csv("INDEX,TAG,time,LATITUDE N/S,LONGITUDE E/W,HEIGHT", "{n},T,{t},{y:.6f}N,{x:.6f}E,34"), 10, {}),
    "ns_column.csv": (
        csv(
            "INDEX,DATE,TIME,VALID,LATITUDE,N/S,LONGITUDE,E/W,HEIGHT(m)",
            "{n},2024/05/01,{clock},DGPS,{y:.6f},N,{x:.6f},E,35.0",
        ),
        10,
        {},
    ),
    "minutes.csv": (csv("time;lat;lon", "{t};48°51'{n}.5\"N;2°21'{n}\"E"), 10, {}),
    "quoted.csv": (csv(ARROWS, '"Visit","Bakery {n}","","{y}","{x}","{t}","{t}","place {n}"'), 10, {}),
    "quoted_two.csv": (
        '"Type","Name","Address","Latitude","Longitude","Start Time","End Time","PlaceId"\n'
        f'"Activity","UNKNOWN","","48.85","2.35","{stamp(FIXES[0][2])}","",""\n'
        f'"Visit","","","48.86","2.36","{stamp(FIXES[1][2])}","",""\n',
        2,
        {},
    ),
    "semicolons.csv": (
        csv("time;lat;lon;accuracy", "{t};{y:.4f};{x:.4f};1,5").replace("48.", "48,").replace("2.3", "2,3"),
        10,
        {},
    ),
    "e7.csv": (csv("timestamp,latitudeE7,longitudeE7,velocity", "{t},{y7},{x7},1.5"), 10, {}),
    "seconds.csv": (csv("deviceid,lat,lon,timestamp,batterylevel", "phone1,{y},{x},{s},8{n}"), 10, {}),
    "newest_first.csv": (csv("time,lat,lon", "{t},{y},{x}", LATER_FIRST), 10, {}),
    "traccar.csv": (
        csv(
            "id,protocol,deviceId,serverTime,deviceTime,fixTime,valid,latitude,longitude,speed,attributes",
            '{n},osmand,4,{t},{t},{t},true,{y},{x},10.0,"{{""batteryLevel"":9{n}}}"',
        ),
        10,
        {},
    ),
    "semantic_place.csv": (csv("time,lat,lon,place_id,name", "{t},{y},{x},p{n},Home"), 10, {}),
    # GeoJSON
    "date.geojson": (make.geojson(lambda s, n: {"date": stamp(s)}), 10, {}),
    "datetime.geojson": (make.geojson(lambda s, n: {"datetime": stamp(s), "vel": 1.5, "batt": 70 + n}), 10, {}),
    "mixed_names.geojson": (
        make.geojson(lambda s, n: {("datetime", "when", "recorded_at")[n % 3]: stamp(s), "deviceId": "phone1"}),
        10,
        {},
    ),
    "gpslogger.geojson": (
        make.geojson(lambda s, n: {"time": stamp(s), "time_long": s * 1000, "provider": "gps"}),
        10,
        {},
    ),
    "traccar.geojson": (make.geojson(lambda s, n: {"fixTime": stamp(s), "deviceId": 4}), 10, {}),
    "dawarich.geojson": (make.geojson(lambda s, n: {"timestamp": s, "tracker_id": "x", "battery": 90 - n}), 10, {}),
    "places_too.geojson": (
        make.geojson(lambda s, n: {"date": stamp(s)} if n else {"name": "cafe"}),
        9,
        {"waypoints": 1},
    ),
    "overland.json": (
        json.dumps(
            {
                "locations": [
                    *json.loads(make.geojson(lambda s, n: {"timestamp": stamp(s), "device_id": "phone"}))["features"],
                    {"type": "Feature", "properties": {"timestamp": stamp(FIXES[9][2]), "action": "will_terminate"}},
                ]
            }
        ),
        10,
        {"features without a geometry": 1},
    ),
    "lines.ndjson.json": (
        "\n".join(map(json.dumps, json.loads(make.geojson(lambda s, n: {"t": s}))["features"])),
        10,
        {},
    ),
    # Google, before 2024
    "Records.json": (
        json.dumps({"locations": rows(lambda y, x, s, n: {**e7(y, x), "timestamp": stamp(s), "deviceTag": n % 2})}),
        10,
        {},
    ),
    "Records_old.json": (
        json.dumps({"locations": rows(lambda y, x, s, n: {**e7(y, x), "timestampMs": str(s * 1000)})}),
        10,
        {},
    ),
    "Records_gaps.json": (
        json.dumps(
            {
                "locations": [
                    *rows(lambda y, x, s, n: {**e7(y, x), "timestamp": stamp(s)}),
                    {"timestamp": stamp(FIXES[3][2]), "activity": []},
                ]
            }
        ),
        10,
        {NO_POSITION: 1},
    ),
    "waypoints.json": (
        make.semantic(make.journey(0, 9, startLocation={}, endLocation={}, waypointPath=make.waypoints(0, 4, 9))),
        2,
        {"waypoints without a time": 1},
    ),
    "one_waypoint.json": (
        make.semantic({"activitySegment": {"duration": SPACED, "waypointPath": make.waypoints(0)}}),
        1,
        {},
    ),
    "ends_and_waypoints.json": (
        make.semantic(make.journey(0, 9, startLocation=PLACE, endLocation=PLACE, waypointPath=make.waypoints(1, 2, 3))),
        2,
        {"waypoints without a time": 3},
    ),
    "raw_path.json": (
        make.semantic(
            make.journey(
                0,
                9,
                startLocation=PLACE,
                endLocation=PLACE,
                simplifiedRawPath={
                    "points": [{**e7(*FIXES[4][:2], "latE7", "lngE7"), "timestamp": stamp(FIXES[4][2])}]
                },
            )
        ),
        3,
        {},
    ),
    "transit.json": (
        make.semantic(
            make.journey(
                0,
                9,
                startLocation=PLACE,
                endLocation=PLACE,
                transitPath={"transitStops": [e7(48.8, 2.3)] * 4, "name": "7"},
            )
        ),
        2,
        {"stops of public transport": 4},
    ),
    "parking.json": (
        make.semantic(
            make.journey(
                0,
                9,
                startLocation=PLACE,
                endLocation=PLACE,
                parkingEvent={"location": PLACE, "timestamp": stamp(FIXES[9][2])},
            )
        ),
        3,
        {},
    ),
    "visit.json": (make.semantic(make.visit({**PLACE, "name": "Home"}, **WHOLE)), 2, {}),
    "visit_no_end.json": (make.semantic(make.visit(PLACE, startTimestamp=stamp(FIXES[0][2]))), 1, {}),
    "visit_ms.json": (make.semantic(make.visit(PLACE, **OLD)), 2, {}),
    "visit_ms_in_text.json": (make.semantic(make.visit(PLACE, startTimestamp=str(FIXES[0][2] * 1000))), 1, {}),
    "visit_s_in_text.json": (make.semantic(make.visit(PLACE, startTimestamp=str(FIXES[0][2]))), 1, {}),
    "visit_offset.json": (make.semantic(make.visit(PLACE, **SPACED)), 1, {}),
    "visit_candidates.json": (
        make.semantic({"placeVisit": {"duration": SPACED, "otherCandidateLocations": [PLACE, PLACE]}}),
        1,
        {"other candidates for a place": 1},
    ),
    "visit_centre.json": (
        make.semantic(
            {"placeVisit": {"duration": WHOLE, "location": {}, "centerLatE7": 488500000, "centerLngE7": 23500000}}
        ),
        2,
        {},
    ),
    "visit_in_visit.json": (
        make.semantic(
            {
                "placeVisit": {
                    "duration": WHOLE,
                    "location": PLACE,
                    "childVisits": [make.visit(PLACE, startTimestamp=stamp(FIXES[4][2]))["placeVisit"]],
                }
            }
        ),
        3,
        {},
    ),
    "month_with_bom.json": (("\ufeff" + make.semantic(make.visit(PLACE, **WHOLE))).encode(), 2, {}),
    "month.json": (
        make.semantic(make.visit(PLACE, **WHOLE), make.visit({}, **WHOLE), make.journey(0, 9, startLocation=PLACE)),
        3,
        {NO_POSITION: 1},
    ),
    # Google, the phone's
    "android.json": (make.phone(make.span(0, 9, timelinePath=make.path(make.android))), 10, {}),
    "android_visit.json": (
        make.phone(
            make.span(0, 9, visit={"topCandidate": {"placeId": "a", "placeLocation": {"latLng": make.android(0)}}})
        ),
        2,
        {},
    ),
    "android_visit_open.json": (
        make.phone(make.span(0, None, visit={"topCandidate": {"placeLocation": {"latLng": make.android(0)}}})),
        1,
        {},
    ),
    "android_activity.json": (
        make.phone(
            make.span(0, 9, activity={"start": {"latLng": make.android(0)}, "end": {"latLng": make.android(9)}})
        ),
        2,
        {},
    ),
    "android_memory.json": (
        make.phone(make.span(0, 9, timelinePath=make.path(make.android)), make.span(0, 9, timelineMemory={"trip": {}})),
        10,
        {},
    ),
    "raw_signals.json": (make.phone(raw=make.raw(range(10))), 10, {}),
    "raw_and_path.json": (
        make.phone(make.span(0, 9, timelinePath=make.path(make.android)), raw=make.raw(range(4))),
        10,
        {"raw positions beside the timeline": 4},
    ),
    "raw_first.json": (
        json.dumps(
            {
                "rawSignals": make.raw(range(2)),
                "semanticSegments": [make.span(0, 9, timelinePath=make.path(make.android))],
            }
        ),
        10,
        {"raw positions beside the timeline": 2},
    ),
    "ios.json": (
        json.dumps(
            [
                make.span(
                    0,
                    9,
                    timelinePath=[
                        {"point": make.ios(n), "durationMinutesOffsetFromStartTime": str(n)} for n in range(10)
                    ],
                )
            ]
        ),
        10,
        {},
    ),
    "ios_visit.json": (
        json.dumps([make.span(0, 9, visit={"topCandidate": {"placeLocation": make.ios(0)}, "probability": "1"})]),
        2,
        {},
    ),
    "ios_visit_open.json": (
        json.dumps([make.span(0, None, visit={"topCandidate": {"placeLocation": make.ios(0)}})]),
        1,
        {},
    ),
    "ios_activity.json": (json.dumps([make.span(0, 9, activity={"start": make.ios(0), "end": make.ios(9)})]), 2, {}),
    "timeline_edits.json": (
        json.dumps(
            {
                "timelineEdits": [
                    *make.edits(*range(10)),
                    {"deviceId": "0", "placeAggregates": {}},
                    {"rawSignal": {"signal": {"position": {"point": None, "timestamp": stamp(FIXES[0][2])}}}},
                    {"rawSignal": {"signal": {"wifiScan": {}}}},
                ]
            }
        ),
        10,
        {NO_POSITION: 1},
    ),
    # OwnTracks
    "recorder.rec": (make.rec(*["location"] * 10), 10, {}),
    "transitions.rec": (make.rec("location", "transition", "location", "transition"), 4, {}),
    "waypoint.rec": (make.rec("location", "waypoint", "location", "lwt"), 2, {"waypoints": 1}),
    "spaces.rec": (make.rec(*["location"] * 10).replace("\t", "   "), 10, {}),
    "owntracks.json": (
        json.dumps(
            {
                "count": 10,
                "data": rows(lambda y, x, s, n: {"_type": "location", "lat": y, "lon": x, "tst": s, "vel": 36}),
            }
        ),
        10,
        {},
    ),
    # Immich, Traccar, Home Assistant, Polarsteps and others
    "immich_memory.json": (
        json.dumps([[{"assets": make.photos()[:5], "yearsAgo": 1}, {"assets": make.photos()[5:]}]]),
        10,
        {},
    ),
    "immich_search.json": (
        json.dumps({"albums": {"items": []}, "assets": {"total": 10, "items": make.photos()[::-1]}}),
        10,
        {},
    ),
    "immich_points.json": (
        json.dumps(
            rows(
                lambda y, x, s, n: {
                    "latitude": y,
                    "longitude": x,
                    "lonlat": f"SRID=4326;POINT({x} {y})",
                    "timestamp": s,
                }
            )
        ),
        10,
        {},
    ),
    "immich_no_gps.json": (
        json.dumps([*make.photos(), {"id": "z", "exifInfo": {"make": "A"}}]),
        10,
        {"entries that are no points": 1},
    ),
    "traccar.json": (json.dumps(rows(make.traccar)), 10, {}),
    "home_assistant.json": (json.dumps([make.states("device_tracker.phone")]), 10, {}),
    "home_assistant_zone.json": (
        json.dumps([make.states("person.me"), make.states("zone.home", FIXES[:1])]),
        10,
        {"zones": 1},
    ),
    "polarsteps.json": (
        json.dumps({"locations": rows(lambda y, x, s, n: {"lat": y, "lon": x, "time": s + 0.5}, LATER_FIRST)}),
        10,
        {},
    ),
    "polarsteps_shuffled.json": (
        json.dumps({"locations": rows(lambda y, x, s, n: {"lat": y, "lon": x, "time": s}, FIXES[5:] + FIXES[:5])}),
        10,
        {},
    ),
    "polarsteps_iso.json": (
        json.dumps({"locations": rows(lambda y, x, s, n: {"lat": y, "lon": x, "time": stamp(s)})}),
        10,
        {},
    ),
    "polarsteps_steps.json": (
        json.dumps(
            rows(
                lambda y, x, s, n: {
                    "id": n,
                    "name": f"Step {n}",
                    "arrived": s,
                    "departed": s + 9,
                    "location": {"lat": y, "lon": x, "detail": "A"},
                }
            )
        ),
        10,
        {},
    ),
    "polarsteps_segments.json": (
        json.dumps(
            rows(
                lambda y, x, s, n: {
                    "id": f"s-{n}",
                    "lat": y,
                    "lng": x,
                    "lon": x,
                    "timestamp": stamp(s),
                    "type": "place_visit" if n % 2 else "activity_start",
                    "time": stamp(s),
                }
            )
        ),
        10,
        {},
    ),
    "photo_library.json": (
        json.dumps(
            {
                "type": "PhotoLibrary",
                "version": 1,
                "points": rows(
                    lambda y, x, s, n: {"timestamp": s * (1000 if n % 2 else 1), "latitude": y, "longitude": x}
                ),
            }
        ),
        10,
        {},
    ),
    # XML
    "logger.gpx": (
        make.gpx(
            make.gpx_points("trkpt", extra="<sat>3</sat><hdop>1.9</hdop><extensions><speed>2</speed></extensions>")
        ),
        10,
        {},
    ),
    "route.gpx": (make.gpx(make.gpx_points("rtept"), tag="rte"), 10, {}),
    "track_and_marks.gpx": (
        make.gpx(make.gpx_points("trkpt")).replace("<trk>", make.gpx_points("wpt") + "<trk>"),
        10,
        {"waypoints": 10},
    ),
    "points.kml": (make.kml(make.marks()), 10, {}),
    "spans.kml": (make.kml(make.marks("<TimeSpan><begin>{t}</begin></TimeSpan>")), 10, {}),
    "extended.kml": (
        make.kml(make.marks(extra='<ExtendedData><Data name="speed"><value>5</value></Data></ExtendedData>')),
        10,
        {},
    ),
    "folders.kml": (make.kml(f"<Folder><Folder>{make.marks()}</Folder></Folder>"), 10, {}),
    "points.kmz": (make.kmz(make.marks()), 10, {}),
    "named.kmz": (make.kmz(make.marks(), "files/log.kml"), 10, {}),
    "running.tcx": (
        make.tcx("<Position><LatitudeDegrees>{y}</LatitudeDegrees><LongitudeDegrees>{x}</LongitudeDegrees></Position>"),
        10,
        {},
    ),
    "twice.tcx": (
        make.tcx(
            "<Position><LatitudeDegrees>{y}</LatitudeDegrees><LongitudeDegrees>{x}</LongitudeDegrees></Position>"
            "<Position><LatitudeDegrees>1</LatitudeDegrees><LongitudeDegrees>1</LongitudeDegrees></Position>"
        ),
        10,
        {"further positions of a point": 10},
    ),
}

# name: content, what is said.
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "two_devices.json": (
        json.dumps([*rows(make.traccar), *[{**make.traccar(*fix, 0), "deviceId": 5} for fix in FIXES]]),
        "2 traces",
    ),
    "two_devices.geojson": (make.geojson(lambda s, n: {"time": stamp(s), "device_id": n % 2}), "2 people or devices"),
    "two_entities.json": (json.dumps([make.states("person.me"), make.states("person.you")]), "2 traces"),
    "two_lists.json": (
        json.dumps(
            {
                "a": rows(lambda y, x, s, n: {"lat": y, "lon": x, "time": s}),
                "b": rows(lambda y, x, s, n: {"lat": y, "lon": x, "time": s}),
            }
        ),
        "2 lists",
    ),
    "split_backwards.csv": (
        csv("DATE,TIME,LATITUDE,LONGITUDE", "2024/05/01,{clock},{y},{x}", [*FIXES[5:], *FIXES[:5]]),
        "time zone|backwards",
    ),
    "states.csv": (csv("entity_id,state,last_changed", "person.me,home,{t}"), "no latitude column"),
    "no_places.json": (json.dumps([[{"state": "home", "last_changed": stamp(FIXES[0][2])}] * 9]), "no list of points"),
    "device_settings.json": (
        json.dumps({"deviceSettings": [{"deviceTag": 1, "reportingEnabled": True}]}),
        "no list of points",
    ),
    "flights.json": (
        json.dumps(
            {
                "flights": [
                    {
                        "from": {"lat": 52.3, "lon": 13.4},
                        "to": {"lat": 49.0, "lon": 2.5},
                        "departure": stamp(FIXES[0][2]),
                    }
                ]
            }
        ),
        "no list of points",
    ),
    "visit_nowhere.json": (
        make.semantic(make.visit({}, startTimestamp=stamp(FIXES[0][2]))),
        "no points with a position",
    ),
    "empty_timeline.json": (make.phone(), "no points with a position"),
    "edits_only_places.json": (json.dumps({"timelineEdits": [{"placeAggregates": {}}]}), "no points with a position"),
    "timeless.geojson": (make.geojson(lambda s, n: {"name": n}), "no point with times"),
    "timeless_line.geojson": (
        json.dumps({"type": "LineString", "coordinates": [[x, y] for y, x, _ in FIXES]}),
        NO_TIME,
    ),
    "timeless.gpx": (make.gpx(make.gpx_points("trkpt", timed=False)), NO_TIME),
    "marks.gpx": (make.gpx(make.gpx_points("wpt"), tag="wpt"), "waypoint"),
    "timeless_marks.gpx": (make.gpx(make.gpx_points("wpt", timed=False), tag="wpt"), "waypoint"),
    "points.kml": (make.kml(make.marks("")), "no point with a TimeStamp"),
    "line.kml": (
        make.kml(
            "<Placemark><LineString><coordinates>2.35,48.85,0 2.36,48.86,0</coordinates></LineString></Placemark>"
        ),
        "no times",
    ),
    "area.kml": (
        make.kml(
            "<Placemark><Polygon><outerBoundaryIs><LinearRing><coordinates>2,48 2,49 3,49</coordinates></LinearRing>"
            "</outerBoundaryIs></Polygon></Placemark>"
        ),
        "no times",
    ),
    "empty.kml": (make.kml(""), "no track"),
    "page.kmz": (b"PK\x03\x04 not a zip", "ZIP archive"),
    "indoors.tcx": (make.tcx(""), "no track points with a position"),
    "archive.html.json": ("<!DOCTYPE html><html></html>", "not valid JSON"),
    "lwt_only.rec": (make.rec("lwt", "status"), "no locations"),
    "sidecar.json": (
        json.dumps(
            {
                "title": "a.jpg",
                "photoTakenTime": {"timestamp": "1718447400"},
                "geoData": {"latitude": 48.8, "longitude": 2.3},
                "geoDataExif": {"latitude": 48.8, "longitude": 2.3},
            }
        ),
        "no list of points",
    ),
}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", READ)
def test_it_is_read_and_every_point_is_counted(tmp_path: Path, name: str) -> None:
    content, points, skipped = READ[name]
    zone = "UTC" if name == "ns_column.csv" else None
    path = written(tmp_path, name, content)
    trace = read_trace(path, zone=zone)
    assert (len(trace), dict(trace.skipped)) == (points, skipped)
    assert len(read_traces(path, zone=zone)) == 1  # and nobody is made up
    assert (np.diff(trace.times_s) >= 0).all()
    assert 1_714_564_800 <= trace.times_s[0] <= trace.times_s[-1] < 1_714_565_400
    assert abs(trace.lat_deg - 48.855).max() < 0.01
    assert abs(trace.lon_deg - 2.357).max() < 0.01


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_for_the_reason_that_a_person_would_give(tmp_path: Path, name: str) -> None:
    content, said = REFUSED[name]
    with pytest.raises(InputError, match=said) as caught:
        read_trace(written(tmp_path, name, content))
    assert not coordinates_in(f"{caught.value}", [48.85, 2.35, *(fix[0] for fix in FIXES)])


def test_there_are_enough_kinds() -> None:
    assert len(READ) + len(REFUSED) >= 74 + 30


def test_south_and_west_are_negative_wherever_the_letter_stands(tmp_path: Path) -> None:
    tables = {
        "a.csv": "time,LATITUDE N/S,LONGITUDE E/W\n{t},33.900S,151.200W\n",
        "b.csv": "time,lat,N/S,lon,E/W\n{t},33.9,S,151.2,W\n",
        "c.csv": "time,lat,lon\n{t},S 33°54'0\",151°12'W\n",
        "d.csv": "time,lat,N/S,lon,E/W\n{t},-33.9,S,-151.2,W\n",
    }
    for name, text in tables.items():
        trace = read_trace(written(tmp_path, name, text.format(t=stamp(FIXES[0][2]))))
        assert (trace.lat_deg[0], trace.lon_deg[0]) == pytest.approx((-33.9, -151.2)), name


def test_knots_and_kilometres_an_hour_come_out_in_metres_a_second(tmp_path: Path) -> None:
    for name, speed in (
        ("traccar.json", 5.1444),
        ("traccar.csv", 5.1444),
        ("owntracks.json", 10.0),
        ("recorder.rec", 10.0),
    ):
        trace = read_trace(written(tmp_path, name, READ[name][0]), keep=["speed"])
        assert trace.columns["speed"] == pytest.approx(speed, abs=1e-3)


def test_photos_of_two_owners_are_not_one_persons(tmp_path: Path) -> None:
    photos = make.photos()
    photos[4]["ownerId"] = "you"
    path = written(tmp_path, "a.json", json.dumps(photos))
    with pytest.raises(InputError, match="2 traces"):
        read_trace(path)
    assert len(read_trace(path, one_person=True)) == 10


@pytest.mark.parametrize("name", ["email_address", "device_type", "battery_id", "user_status", "source", "city"])
def test_what_only_sounds_like_a_measurement_still_tells_people_apart(tmp_path: Path, name: str) -> None:
    lines = [f"{stamp(s)},{y + n % 2},{x},{'ab'[n % 2]}" for n, (y, x, s) in enumerate(FIXES)]
    with pytest.raises(InputError, match="one-person"):
        read_trace(written(tmp_path, "a.csv", "\n".join([f"time,lat,lon,{name}", *lines])))


def test_every_kind_goes_through_hide_and_verify_in_folders_and_zips(tmp_path: Path) -> None:
    """As their programs lay them out: a Takeout, a Strava export with packed FIT files, a recorder's folder."""
    takeout, strava = "Takeout/Location History (Timeline)", "activities"
    of_google = {"Records.json": "", "month.json": "/Semantic Location History/2024", "timeline_edits.json": ""}
    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as packed:
        for name, below in of_google.items():
            packed.writestr(f"{takeout}{below}/{name}", READ[name][0])
        packed.writestr(f"{takeout}/Settings.json", "{}")
        packed.writestr("Takeout/Google Photos/a.jpg.json", REFUSED["sidecar.json"][0])
    with zipfile.ZipFile(tmp_path / "strava.zip", "w") as packed:
        packed.writestr("activities.csv", "Activity ID,Filename\n1,activities/1.fit.gz\n")
        packed.writestr(f"{strava}/1.fit.gz", gzip.compress(samples.fit_file()))
        packed.writestr(f"{strava}/2.gpx", READ["logger.gpx"][0])
        packed.writestr(f"{strava}/3.tcx.gz", gzip.compress(str(READ["running.tcx"][0]).encode()))
    for name, (content, _, _) in READ.items():
        if name not in (*of_google, "ns_column.csv"):
            folder = tmp_path / "kinds" / ("rec/me/phone" if name.endswith(".rec") else "")
            folder.mkdir(parents=True, exist_ok=True)
            written(folder, name, content)
    run("places", "add", "far", "10,10", "--places", "me.places", "--zone", "400m", folder=tmp_path)
    for number, (source, files) in enumerate({"kinds": len(READ) - 4, "takeout.zip": 3, "strava.zip": 3}.items()):
        out = ("hide", source, "-o", f"s{number}", "--places", "me.places", "--unnamed", "warn", "--strict")
        code, said, err = run(*out, folder=tmp_path)
        assert code == 0, said + err
        code, said, _ = run("verify", f"s{number}", folder=tmp_path)
        assert code == 0, said
        noisy = ("protect", source, "-o", f"p{number}", "--noise", "200m", "--one-person", "--strict")
        assert run(*noisy, folder=tmp_path)[0] == 0
        summary = (tmp_path / f"p{number}.private" / "summary.csv").read_text().splitlines()[1:]
        assert sum(line.split(",")[1] != "0" for line in summary) == files
