"""Every reader: points read + points skipped = points in the file, each skip with its reason, none with a coordinate.

Run on the first edition, of the seventy files of the first test 62 are refused as a whole, four have their skip
counted, three lose a point without a word, and in one a latitude off the globe becomes another place.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sample_files as samples
from coordinates import coordinates_in

from sfumato.base.errors import InputError
from sfumato.base.things.traces import PointsRead, Trace
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.io.draft import BAD_TIME, NO_NUMBER, NO_POSITION, NO_TIME, OFF_GLOBE
from sfumato.tracks.io.formats import FORMATS

# Twelve points; some of them bad. A point is (latitude, longitude, time) as texts, None where the file has none.
GOOD = [(f"{48.85 + n / 1000:.4f}", f"{2.35 + n / 1000:.4f}", f"2024-05-01T12:{n:02}:00Z") for n in range(12)]
Point = tuple[str | None, str | None, str | None]
BAD: dict[str, Point] = {
    NO_POSITION: (None, None, GOOD[3][2]),
    NO_NUMBER: ("48.85x", GOOD[5][1], GOOD[5][2]),
    OFF_GLOBE: ("448.8551", GOOD[7][1], GOOD[7][2]),
    NO_TIME: (GOOD[9][0], GOOD[9][1], None),
    BAD_TIME: (GOOD[10][0], GOOD[10][1], "yesterday"),
}
PLACES = dict(zip(BAD, (3, 5, 7, 9, 10), strict=True))


def _csv(points: list[Point]) -> str:
    return "time,lat,lon\n" + "".join(f"{t or ''},{y or ''},{x or ''}\n" for y, x, t in points)


def _wkt(points: list[Point]) -> str:
    return "time;wkt\n" + "".join(f"{t or ''};{f'POINT({x} {y})' if x else ''}\n" for y, x, t in points)


def _gpx(points: list[Point]) -> str:
    rows = (
        f"<trkpt{f' lat={y!r}' if y else ''}{f' lon={x!r}' if x else ''}>{f'<time>{t}</time>' if t else ''}</trkpt>"
        for y, x, t in points
    )
    return f"<gpx><trk><trkseg>{''.join(rows)}</trkseg></trk></gpx>"


def _kml(points: list[Point]) -> str:
    whens = "".join(f"<when>{t or ''}</when>" for _, _, t in points)
    coords = "".join(f"<gx:coord>{f'{x} {y} 0' if x else ''}</gx:coord>" for y, x, _ in points)
    return f"<kml><Placemark><gx:Track>{whens}{coords}</gx:Track></Placemark></kml>"


def _kmz(points: list[Point]) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("doc.kml", _kml(points))
    return packed.getvalue()


def _tcx(points: list[Point]) -> str:
    rows = "".join(
        f"<Trackpoint>{f'<Time>{t}</Time>' if t else ''}"
        + (f"<LatitudeDegrees>{y}</LatitudeDegrees><LongitudeDegrees>{x}</LongitudeDegrees>" if x else "")
        + "</Trackpoint>"
        for y, x, t in points
    )
    head = "<TrainingCenterDatabase><Activities><Activity><Lap><Track>"
    return f"{head}{rows}</Track></Lap></Activity></Activities></TrainingCenterDatabase>"


def _plt(points: list[Point]) -> str:
    lines = (
        f"{y or ''},{x or ''},0,0,0,{(t or '')[:10]},{(t or '').rstrip('Z')[11:] if t != 'yesterday' else 'noon'}"
        for y, x, t in points
    )
    return "Geolife trajectory\n" + "x\n" * 5 + "\n".join(lines) + "\n"


def _line(points: list[Point]) -> str:
    places = [[x, y] if x else None for y, x, _ in points]
    properties = {"coordTimes": [t for _, _, t in points]}
    geometry = {"type": "LineString", "coordinates": places}
    return json.dumps({"type": "Feature", "properties": properties, "geometry": geometry})


def _stamped(points: list[Point]) -> str:
    places = [{"type": "Point", "coordinates": [x, y] if x else []} for y, x, _ in points]
    features = [
        {"type": "Feature", "properties": {"time": t or ""}, "geometry": place}
        for (_, _, t), place in zip(points, places, strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features})


def _owntracks(points: list[Point]) -> str:
    stamps = {t: 1714564800 + n for n, (_, _, t) in enumerate(GOOD)}
    return "".join(
        f"x  *  {json.dumps({'_type': 'location', 'lat': y, 'lon': x, 'tst': stamps.get(t or '', t)})}\n"
        for y, x, t in points
    )


def _records(points: list[Point]) -> str:
    def e7(text: str | None) -> object:
        return text and (text if text.endswith("x") else round(float(text) * 1e7))

    rows = [{"latitudeE7": e7(y), "longitudeE7": e7(x), "timestamp": t} for y, x, t in points]
    return json.dumps({"locations": rows})


def _timeline(points: list[Point]) -> str:
    path = [{"point": x and f"{y}°, {x}°", "time": t} for y, x, t in points]
    return json.dumps({"semanticSegments": [{"startTime": GOOD[0][2], "timelinePath": path}]})


def _list(points: list[Point]) -> str:
    return json.dumps({"locations": [{"lat": y, "lon": x, "time": t} for y, x, t in points]})


def _parquet(points: list[Point]) -> bytes:
    out = BytesIO()
    lat, lon, time = (list(column) for column in zip(*points, strict=True))
    pq.write_table(pa.table({"lat": pa.array(lat, pa.string()), "lon": lon, "time": time}), out)
    return out.getvalue()


WRITERS: dict[str, Callable[[list[Point]], str | bytes]] = {
    "a.csv": _csv, "wkt.csv": _wkt, "a.gpx": _gpx, "a.kml": _kml, "a.kmz": _kmz, "a.tcx": _tcx, "a.plt": _plt,
    "a.geojson": _line, "b.geojson": _stamped, "a.rec": _owntracks, "Records.json": _records,
    "Timeline.json": _timeline, "list.json": _list, "a.parquet": _parquet,
}  # fmt: skip


@pytest.mark.parametrize("reason", BAD)
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_read_and_what_is_skipped_is_all_there_is(tmp_path: Path, name: str, reason: str) -> None:
    points: list[Point] = list(GOOD)
    points[PLACES[reason]] = BAD[reason]
    content = WRITERS[name](points)
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    counted = read_trace(path).points_read
    assert (counted.read, counted.skipped, counted.total) == (11, 1, 12)
    assert set(counted.why) == {reason}
    assert not coordinates_in(counted.sentence(), [48.85, 2.35, *(float(p[0] or 0) for p in GOOD)])
    assert f"{next(iter(counted.why))} (1)" in read_trace(path).dropped


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_which_half_is_bad_is_refused_with_the_reasons(tmp_path: Path, name: str) -> None:
    points: list[Point] = [("448.8551", x, t) if n % 2 else (y, x, t) for n, (y, x, t) in enumerate(GOOD)]
    content = WRITERS[name](points)
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=r"only 6 can be used: points off the globe \(6\)"):
        read_trace(path)


def test_every_format_that_is_read_is_counted() -> None:
    here = {Path(name).suffix for name in WRITERS}
    elsewhere = {".gpkg", ".geoparquet", ".fit", ".mfjson"}  # below; mfjson is read as GeoJSON lines are
    assert {format.endings[0] for format in FORMATS.values() if format.endings} | {".mfjson"} == here | elsewhere


def test_a_geopackage_and_a_geoparquet_count_their_empty_geometries(tmp_path: Path) -> None:
    trace = Trace([48.85, 48.86, 48.87], [2.35, 2.36, 2.37], [0.0, 1.0, 2.0])  # type: ignore[arg-type]
    write_trace(trace, tmp_path / "a.gpkg")
    with closing(sqlite3.connect(tmp_path / "a.gpkg")) as database:
        table, column = database.execute("SELECT table_name, column_name FROM gpkg_geometry_columns").fetchone()
        database.execute(f"UPDATE {table} SET {column} = NULL WHERE rowid = 2")
        database.commit()
    write_trace(trace, tmp_path / "b.geoparquet")
    blobs = pq.read_table(tmp_path / "b.geoparquet")
    geometry = blobs.column("geometry").to_pylist()
    changed = pa.array([geometry[0], None, geometry[2]], pa.binary())
    pq.write_table(blobs.set_column(0, "geometry", changed), tmp_path / "b.geoparquet")
    for name in ("a.gpkg", "b.geoparquet"):
        assert read_trace(tmp_path / name).points_read == PointsRead(2, {NO_POSITION: 1})


def test_a_fit_file_counts_records_without_a_position(tmp_path: Path) -> None:
    (tmp_path / "a.fit").write_bytes(samples.fit_file())
    assert read_trace(tmp_path / "a.fit").points_read == PointsRead(3, {NO_POSITION: 1})


def test_damaged_rows_waypoints_routes_lines_and_multigeometries_are_counted(tmp_path: Path) -> None:
    rows = _csv(list(GOOD)).splitlines()
    rows[4] += ",1,2"
    (tmp_path / "a.csv").write_text("\r\n".join(rows) + "\r\n")
    assert read_trace(tmp_path / "a.csv").points_read == PointsRead(11, {"rows with too few or too many fields": 1})
    rows[-1] = rows[-1][:25]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    with pytest.raises(InputError, match="cut off"):
        read_trace(tmp_path / "a.csv")
    more = '<wpt lat="1" lon="2"/><rte><rtept lat="1" lon="2"/><rtept lat="1" lon="2"/></rte>'
    (tmp_path / "a.gpx").write_text(_gpx(list(GOOD)).replace("</gpx>", f"{more}</gpx>"))
    assert read_trace(tmp_path / "a.gpx").skipped == {"waypoints": 1, "points of routes": 2}
    line = "<Placemark><LineString><coordinates>1,2 3,4 5,6</coordinates></LineString></Placemark>"
    point = "<Point><coordinates>1,2</coordinates></Point>"
    many = f"<Placemark><MultiGeometry>{point}{point}{point}</MultiGeometry></Placemark>"
    (tmp_path / "a.kml").write_text(_kml(list(GOOD)).replace("</kml>", f"{line}{many}</kml>"))
    skipped = read_trace(tmp_path / "a.kml").skipped
    assert skipped == {
        "points of a LineString, which has no times": 3,
        "further points of a MultiGeometry": 2,
        "waypoints": 1,
    }


def test_people_keep_their_own_counts_and_one_who_has_no_point_left_is_counted(tmp_path: Path) -> None:
    rows = [("a", *point) for point in GOOD] + [("b", "448.8", "2.3", GOOD[0][2])] + [("c", *point) for point in GOOD]
    rows[2] = ("a", "", "", GOOD[2][2])
    text = "user_id,lat,lon,time\n" + "".join(",".join(row) + "\n" for row in rows)
    (tmp_path / "fleet.csv").write_text(text)
    found = dict(read_traces(tmp_path / "fleet.csv"))
    assert found["a"].points_read == PointsRead(11, {NO_POSITION: 1})
    assert found["c"].points_read == PointsRead(12, {OFF_GLOBE: 1})
    assert PointsRead.of(found.values()).total == len(rows)


def test_points_of_a_kml_with_a_time_span_are_read_when_it_begins(tmp_path: Path) -> None:
    view = "<LookAt><gx:TimeStamp><when>1999-01-01T00:00:00Z</when></gx:TimeStamp></LookAt>"
    marks = "".join(
        f"<Placemark>{view}<TimeSpan><begin>{t}</begin><end>2024-06-01T00:00:00Z</end></TimeSpan>"
        f"<Point><coordinates>{x},{y}</coordinates></Point></Placemark>"
        for y, x, t in GOOD
    )
    place = "<Point><coordinates>2,48</coordinates></Point>"
    bare = f"<Placemark><TimeSpan><end>2024-06-01</end></TimeSpan>{place}</Placemark>"
    (tmp_path / "a.kml").write_text(f"<kml>{marks}{bare}</kml>")
    trace = read_trace(tmp_path / "a.kml")
    assert trace.points_read == PointsRead(12, {"waypoints": 1})
    assert trace.times_s[1] - trace.times_s[0] == 60.0
    assert str(trace.times_s[0].astype("datetime64[s]")) == "2024-05-01T12:00:00"


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
def test_json_lines_are_read_as_such_and_a_torn_one_is_refused_by_its_number(tmp_path: Path, name: str) -> None:
    lines = [json.dumps({"lat": float(y), "lon": float(x), "time": t}) for y, x, t in GOOD]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    assert read_trace(tmp_path / name).points_read == PointsRead(12)
    features = [json.dumps(feature) for feature in json.loads(_stamped(list(GOOD)))["features"]]
    (tmp_path / name).write_text("\r\n".join(features))
    assert read_trace(tmp_path / name).points_read == PointsRead(12)
    (tmp_path / name).write_text("\n".join(lines)[:-9])
    with pytest.raises(InputError, match=r"one a line \(line 12\)"):
        read_trace(tmp_path / name)


def test_two_stray_quotation_marks_never_swallow_rows_in_silence(tmp_path: Path) -> None:
    rows = [f"{t},{y},{x},note" for y, x, t in GOOD]
    path, head = tmp_path / "a.csv", "time,lat,lon,note\n"
    rows[2], rows[6] = rows[2].replace("note", '"note'), rows[6].replace("note", 'note"')
    path.write_text(head + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match="enclose whole rows"):
        read_trace(path)
    rows[3:7] = []
    rows[2] = rows[2].replace('"note', '"a note, of\ntwo lines, 3 words"')  # somebody's own words
    path.write_text(head + "\n".join(rows) + "\n")
    assert read_trace(path).points_read == PointsRead(8)


def test_a_bomb_in_a_kmz_is_not_unpacked(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.kmz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("doc.kml", "w") as out,
    ):
        for _ in range(100):
            out.write(b" " * (1 << 20))
    with pytest.raises(InputError, match="two hundred times"):
        read_trace(tmp_path / "a.kmz")
    with zipfile.ZipFile(tmp_path / "b.kmz", "w") as archive:
        archive.writestr("doc.kml", '<!DOCTYPE kml [<!ENTITY x SYSTEM "file:///etc/passwd">]><kml>&x;</kml>')
    with pytest.raises(InputError, match="entities"):
        read_trace(tmp_path / "b.kmz")
    with zipfile.ZipFile(tmp_path / "c.kmz", "w") as archive:
        archive.writestr("image.png", b"x")
    with pytest.raises(InputError, match="no KML"):
        read_trace(tmp_path / "c.kmz")


def test_wkt_in_hexadecimals_with_a_system_of_coordinates(tmp_path: Path) -> None:
    def hexed(x: float, y: float, srid: int) -> str:
        return struct.pack("<BIIdd", 1, 0x20000001, srid, x, y).hex()

    for srid, good in ((4326, True), (3857, False)):
        text = "time,geom\n" + "".join(f"{t},{hexed(float(x), float(y), srid)}\n" for y, x, t in GOOD)
        (tmp_path / "a.csv").write_text(text)
        if good:
            assert read_trace(tmp_path / "a.csv").lat_deg[0] == 48.85
        else:
            with pytest.raises(InputError, match="WGS84"):
                read_trace(tmp_path / "a.csv")
