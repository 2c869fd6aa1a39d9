"""GeoJSON with times (LineString, MultiLineString, points) and OGC Moving Features JSON."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.frames import bounds_texts, decimal_texts
from sfumato.base.things.traces import Trace
from sfumato.tracks.io.draft import NO_POSITION, Draft, Reading, canonical, degrees, looks_like_position, number, plain
from sfumato.tracks.io.json.json_text import at, load_json, objects
from sfumato.tracks.io.tables.columns import NAMES, PEOPLE
from sfumato.tracks.io.times import format_times

_LINE_TIMES = ("coordTimes", "coordinateProperties", "datetimes", "times", "timestamps", "time")
_KINDS = ("FeatureCollection", "Feature", "MovingPoint", "MovingGeometryCollection", "GeometryCollection")
_SIMPLE = ("LineString", "MultiLineString", "Point", "MultiPoint")
_WGS84 = ("CRS84", "EPSG:4326", "EPSG::4326", "WGS84", "WGS 84")


def read(path: Path, reading: Reading) -> list[Draft]:
    """One draft per feature with a line; a run of timed points is one, too."""
    return from_json(load_json(path, "GeoJSON"), reading)


def from_json(document: object, reading: Reading) -> list[Draft]:
    """The same from parsed JSON."""
    _check_crs(document)
    drafts: list[Draft] = []
    about = Draft(reading)  # what belongs to no track
    run: Draft | None = None  # consecutive timed points are one track
    features = _features(document)
    if not reading.one_person:
        _refuse_several_people(features)
    for place, feature in enumerate(features):
        properties = at(feature, "properties")
        properties = properties if isinstance(properties, dict) else {}
        draft = Draft(reading, str(at(feature, "id") or properties.get("id") or place + 1))
        for prism in _prisms(feature):
            _moving_point(prism, draft)
        found = feature.get("geometry") if not draft.lat else None
        geometry = found if isinstance(found, dict) else {}
        kind = geometry.get("type")
        if kind == "Point":
            run = run or draft
            if not _stamped_point(geometry, properties, run):
                about.skip("waypoints")
            elif run is draft:
                drafts.append(run)
            run = run if run.lat else None
            continue
        if kind in ("LineString", "MultiLineString", "MultiPoint"):
            _lines(geometry, properties, draft)
        elif kind is not None:
            draft.skip(f"{_kind_words(kind)} geometries")
        elif not draft.lat:
            draft.skip("features without a geometry")
        if draft.lat:
            drafts.append(draft)
            run = None
        else:
            about.dropped.update(draft.dropped)
            about.absorb(draft)
    if not drafts:
        raise InputError("The GeoJSON has no line and no point with times.", "Give a LineString with coordTimes.")
    drafts[0].dropped.update(about.dropped)
    drafts[0].absorb(about)
    return drafts


def looks_like(document: object) -> bool:
    """Whether parsed JSON says that it is GeoJSON or Moving Features JSON."""
    return at(document, "type") in (*_KINDS, *_SIMPLE) or any(
        at(document, key) is not None for key in ("features", "temporalGeometry")
    )


def _kind_words(kind: object) -> str:
    """A geometry's type as it may be printed: the file's author wrote it."""
    return kind if kind in ("Polygon", "MultiPolygon", "GeometryCollection", "MovingPolygon") else "other"


def _features(document: object) -> list[dict[str, object]]:
    document = document if isinstance(document, dict) else {}
    kind = document.get("type")
    if kind == "FeatureCollection" or "features" in document:
        return objects(at(document, "features"))
    if kind == "Feature" or at(document, "temporalGeometry") is not None:
        return [document]
    if kind in ("MovingPoint", "MovingGeometryCollection"):
        return [{"temporalGeometry": document}]
    if kind in _SIMPLE:
        return [{"geometry": document, "properties": {k: v for k, v in document.items() if k != "coordinates"}}]
    if kind == "GeometryCollection":
        return [{"geometry": geometry} for geometry in objects(at(document, "geometries"))]
    raise InputError("The JSON is not GeoJSON.", "Name the file's format with format= or --format.")


def _check_crs(document: object) -> None:
    for key in ("crs", "coordRefSys"):
        name = at(document, key, "properties", "name") or at(document, key, "Properties", "Name")
        if isinstance(name, str) and not any(known in name for known in _WGS84):
            raise InputError("The GeoJSON is not in WGS84 longitude and latitude.", "Reproject it to EPSG:4326 first.")


def _prisms(feature: object) -> list[dict[str, object]]:
    moving = at(feature, "temporalGeometry")
    if at(moving, "type") == "MovingGeometryCollection":
        return objects(at(moving, "prisms"))
    return [moving] if isinstance(moving, dict) else []


def _moving_point(moving: dict[str, object], draft: Draft) -> None:
    if moving.get("type") != "MovingPoint":
        draft.skip("moving geometries other than points")
        return
    _check_crs(moving)
    times = moving.get("datetimes")
    segment = draft.segment[-1] + 1 if draft.segment else 0
    _line(moving.get("coordinates"), times, draft, segment)
    for key in moving.keys() - {"type", "coordinates", "datetimes", "crs", "trs", "interpolation", "interpolations"}:
        draft.saw(key)


def _lines(geometry: dict[str, object], properties: dict[str, object], draft: Draft) -> None:
    times: object = None
    for key in _LINE_TIMES:
        times = properties.get(key)
        if isinstance(times, dict):
            times = times.get("times")
        if isinstance(times, list):
            break
    lines = geometry.get("coordinates")
    if geometry["type"] != "MultiLineString":
        lines, times = [lines], [times]
    if not isinstance(lines, list):
        raise InputError("A GeoJSON line has no coordinates.", "The file is damaged; export it again.")
    if isinstance(times, list) and times and not isinstance(times[0], list | type(None)):
        times = _cut_like(lines, times)
    for segment, line in enumerate(lines):
        _line(line, times[segment] if isinstance(times, list) and segment < len(times) else None, draft, segment)
    for key, value in properties.items():
        if key not in _LINE_TIMES:
            _property(key, value, lines, draft)


def _cut_like(lines: list[object], flat: list[object]) -> list[list[object]]:
    """One list of times for a MultiLineString, cut to its lines."""
    edges = np.cumsum([0, *(len(line) if isinstance(line, list) else 0 for line in lines)]).tolist()
    if edges[-1] != len(flat):
        raise InputError(f"The lines have {edges[-1]} positions and {len(flat)} times.", "Give one time per position.")
    return [flat[first:last] for first, last in pairwise(edges)]


def _property(key: str, value: object, lines: list[object], draft: Draft) -> None:
    """A property: a list with one number per position can be kept, and so can a name or description."""
    word = canonical(key)
    nested = value if isinstance(value, list) else []
    flat = [x for part in nested for x in (part if isinstance(part, list) else [part])]
    if word in draft.reading.keep and len(flat) == len(draft.lat):
        draft.kept[word] = {i: x for i, x in enumerate(map(number, flat)) if x is not None}
    else:
        draft.saw(key, value if isinstance(value, str) else None)


def _line(coordinates: object, times: object, draft: Draft, segment: int) -> None:
    if not isinstance(coordinates, list):
        raise InputError("A GeoJSON line has no coordinates.", "The file is damaged; export it again.")
    if isinstance(times, list) and len(times) != len(coordinates):
        raise InputError(
            f"A line has {len(coordinates)} positions and {len(times)} times.", "Give one time per position."
        )
    for place, position in enumerate(coordinates):
        time = times[place] if isinstance(times, list) else None
        _add(position, time, draft, segment)


def _add(position: object, time: object, draft: Draft, segment: int) -> None:
    if position is None or position == []:
        draft.skip(NO_POSITION)
        return
    if not isinstance(position, list) or len(position) < 2:
        draft.add(math.nan, math.nan, time, segment)
        return
    lat, lon = degrees(position[1]), degrees(position[0])  # some exporters write numbers as texts
    if time is None and len(position) > 3 and isinstance(position[3], int | float) and position[3] > 0:
        time = position[3]  # the fourth number as a time since 1970, as some trackers write it
    draft.add(lat, lon, time, segment)
    if len(position) > 2:
        draft.saw("elevation", position[2])


def _stamped_point(geometry: dict[str, object], properties: dict[str, object], points: Draft) -> bool:
    named = {plain(str(key)): key for key in properties}
    name = next((named[word] for word in NAMES["time"] if word in named and _is_time(properties[named[word]])), None)
    if name is None:
        return False
    mark = properties.get("segment")
    segment = int(mark) if isinstance(mark, int) and 0 <= mark < 1 << 62 else 0
    _add(geometry.get("coordinates"), properties[name], points, segment)
    for key, value in properties.items():
        if key not in (name, "segment"):
            points.saw(key, value)
    return True


def _is_time(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _refuse_several_people(features: list[dict[str, object]]) -> None:
    """Two people's points read as one would share one noise: a property that names people must have one value."""
    who: dict[str, set[object]] = {}
    for feature in features:
        properties = at(feature, "properties") if at(feature, "geometry", "type") == "Point" else None
        for key, value in properties.items() if isinstance(properties, dict) else ():
            if plain(str(key)) in PEOPLE and isinstance(value, str | int) and value != "":
                who.setdefault(str(key), set()).add(value)
    for key, values in who.items():
        if len(values) > 1 and not looks_like_position(key):
            raise InputError(
                f"The GeoJSON is of {len(values)} people or devices, told apart by '{key}'.",
                "Give a file for each, or say that all are one person's (--one-person).",
            )


def write(trace: Trace, path: Path, *, times: bool = True) -> None:
    """A FeatureCollection, one feature per segment: a LineString with coordTimes, or a Point with its time."""
    lat, lon, moments = decimal_texts(trace.lat_deg), decimal_texts(trace.lon_deg), format_times(trace.times_s)
    elevation = trace.columns.get("elevation")
    places = [f"[{x},{y}]" for x, y in zip(lon, lat, strict=True)]
    if elevation is not None:
        places = [
            f"[{x},{y}]" if np.isnan(z) else f"[{x},{y},{z:.10g}]" for x, y, z in zip(lon, lat, elevation, strict=True)
        ]
    south, west, north, east = bounds_texts(trace.lat_deg, trace.lon_deg)
    edges = [0, *(np.flatnonzero(np.diff(trace.segment)) + 1).tolist(), len(trace)]
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.write(f'{{"type":"FeatureCollection","bbox":[{west},{south},{east},{north}],"features":[\n')
        for first, last in pairwise(edges):
            properties: dict[str, object] = {**trace.texts}
            for name, column in trace.columns.items():
                if name != "elevation":
                    values = [None if np.isnan(v) else v for v in column[first:last].tolist()]
                    properties[name] = values if last - first > 1 else values[0]
            if last - first > 1:
                properties |= {"coordTimes": moments[first:last]} if times else {}
                geometry = f'{{"type":"LineString","coordinates":[{",".join(places[first:last])}]}}'
            else:
                properties |= {"time": moments[first]} if times else {}
                properties["segment"] = int(trace.segment[first])
                geometry = f'{{"type":"Point","coordinates":{places[first]}}}'
            text = json.dumps(properties, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            comma = "," if last < len(trace) else ""
            out.write(f'{{"type":"Feature","geometry":{geometry},"properties":{text}}}{comma}\n')
        out.write("]}\n")
