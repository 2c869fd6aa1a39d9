"""Any bytes at all give a trace or an InputError, in every reader, and nothing else ever."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import export_files as make
import numpy as np
import pyarrow as pa
import pytest
import sample_files as samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.io import read_trace, read_traces, write_trace
from sfumato.tracks.io.formats import FORMATS

FUZZ = settings(
    max_examples=int(os.environ.get("SFUMATO_FUZZ_EXAMPLES", "120")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=False,
)
ENDINGS = sorted({ending for format in FORMATS.values() for ending in format.endings})


def _seeds() -> dict[str, list[bytes]]:
    """Good files of every ending, to be damaged."""
    seeds: dict[str, list[bytes]] = {ending: [] for ending in ENDINGS}
    for name, text in samples.TEXT_SAMPLES.items():
        seeds[Path(name).suffix].append(text.encode())
    seeds[".fit"].append(samples.fit_file())
    exported: list[object] = [
        make.photos(),
        [make.states("person.me")],
        make.rows(make.traccar),
        {"timelineEdits": make.edits(1)},
    ]
    texts = [json.dumps(one) for one in exported]
    texts.append(make.semantic(make.journey(0, 9, waypointPath=make.waypoints(0, 9)), make.visit(make.e7(1, 2))))
    seeds[".json"] += [text.encode() for text in texts]
    seeds[".jsonl"] = seeds[".ndjson"] = ["\n".join(map(json.dumps, make.rows(make.traccar))).encode()]
    trace = Trace([5.1, 5.2, 5.3], [-1.1, -1.2, -1.3], [0.0, 1.5, 3.0], [0, 0, 1], {"elevation": [1.0, 2.0, 3.0]})  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".parquet", ".geoparquet", ".gpkg", ".csv", ".gpx", ".kml", ".geojson"):
            write_trace(trace, Path(folder) / f"a{ending}")
            seeds[ending].append((Path(folder) / f"a{ending}").read_bytes())
    seeds[".mfjson"] = [samples.MFJSON.encode(), samples.MFJSON_COLLECTION.encode()]
    seeds[".kmz"] = [samples.kmz_file()]
    seeds[".pq"] = seeds[".parquet"]
    seeds[".tsv"] = seeds[".txt"] = [text.replace(b",", b"\t") for text in seeds[".csv"]]
    return seeds


SEEDS = _seeds()


def _read(content: bytes, ending: str) -> None:
    if ending == ".fit" and len(content) > 16:
        # With the right checksum, so that the damage reaches the decoder.
        content = content[:-2] + struct.pack("<H", samples.fit_crc(content[:-2]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"fuzz{ending}"
        path.write_bytes(content)
        for read in (read_trace, read_traces):
            for zone in (None, "UTC"):
                try:
                    found = read(path, zone=zone)
                except InputError:
                    continue
                traces = [found] if isinstance(found, Trace) else [trace for _, trace in found]
                for trace in traces:
                    assert np.isfinite(trace.lat_deg).all()
                    assert (np.abs(trace.lat_deg) <= 90).all()


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A good file with a few bytes changed, runs cut out, repeated or swapped for tricky text."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(("byte", "cut", "repeat", "insert", "truncate", "number")))
        if kind == "byte" and content:
            content[place] = draw(st.integers(0, 255))
        elif kind == "cut":
            del content[place : place + length]
        elif kind == "repeat":
            content[place:place] = content[place : place + length]
        elif kind == "truncate":
            del content[place:]
        elif kind == "insert":
            content[place:place] = draw(st.binary(max_size=12))
        else:
            odd = (b"1e400", b"-0", b"NaN", b"null", b"[]", b"{}", b'""', b"true", b"9" * 30, b"\xff", b"<a>", b"&x;")
            content[place : place + length] = draw(st.sampled_from(odd))
    return bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_a_trace_or_an_input_error(ending: str) -> None:
    @FUZZ
    @given(damaged(SEEDS[ending]))
    def run(content: bytes) -> None:
        _read(content, ending)

    run()


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_bytes_are_a_trace_or_an_input_error(ending: str) -> None:
    @settings(FUZZ, max_examples=30)
    @given(st.binary(max_size=200))
    def run(content: bytes) -> None:
        _read(content, ending)

    run()


_WORDS = [
    "type", "features", "geometry", "coordinates", "properties", "coordTimes", "temporalGeometry", "datetimes",
    "prisms", "crs", "id", "name", "locations", "latitudeE7", "longitudeE7", "timestamp", "timestampMs",
    "timelineObjects", "activitySegment", "placeVisit", "duration", "location", "semanticSegments", "timelinePath",
    "point", "time", "visit", "activity", "topCandidate", "placeLocation", "latLng", "start", "startTime",
    "endTime", "rawSignals", "position", "LatLng", "durationMinutesOffsetFromStartTime", "lat", "lon", "segment",
]  # fmt: skip
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(samples.TIMES)


def _grown(children: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(children, max_size=4) | st.dictionaries(st.sampled_from(_WORDS), children, max_size=6)


_JSON = st.recursive(_LEAVES, _grown, max_leaves=25)


@pytest.mark.slow
@FUZZ
@given(_JSON)
def test_json_with_the_right_words_in_wrong_places_is_a_trace_or_an_input_error(document: object) -> None:
    import json

    content = json.dumps(document).encode()
    for ending in (".json", ".geojson"):
        _read(content, ending)


_GEOMETRY_TYPES = ("LineString", "MultiLineString", "Point", "MultiPoint", "Polygon", "MovingPoint", None)


@pytest.mark.slow
@FUZZ
@given(
    st.sampled_from(_GEOMETRY_TYPES), _JSON | st.lists(st.lists(st.floats(-400, 400), max_size=4), max_size=4),
    _JSON | st.lists(st.sampled_from([*samples.TIMES, None, 5, "x"]), max_size=4),
)  # fmt: skip
def test_almost_right_geojson_is_a_trace_or_an_input_error(kind: object, coordinates: object, times: object) -> None:
    import json

    geometry = {"type": kind, "coordinates": coordinates}
    feature = {"type": "Feature", "geometry": geometry, "properties": {"coordTimes": times, "time": times}}
    moving = {"type": "Feature", "temporalGeometry": {**geometry, "datetimes": times}}
    for document in (feature, moving, {"type": "FeatureCollection", "features": [feature, moving, feature]}):
        _read(json.dumps(document).encode(), ".geojson")


@FUZZ
@given(
    st.lists(st.sampled_from(["time", "lat", "lon", "id", "segment", "date", "speed", "geometry", ""]), max_size=6),
    st.lists(
        st.lists(st.sampled_from(["5.1", "-1.2", "2024-05-01T12:00:00Z", "x", "", "nan", '"', "1e999"]), max_size=6),
        max_size=5,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_any_table_of_texts_is_a_trace_or_an_input_error(header: list[str], rows: list[list[str]], mark: str) -> None:
    content = "\n".join(mark.join(row) for row in (header, *rows)).encode()
    _read(content, ".csv")


def _columns() -> list[pa.Array]:
    """Two rows of almost every kind that Arrow has."""
    day = datetime(2024, 5, 1, 12, tzinfo=UTC)
    return [
        pa.nulls(2),
        pa.array([True, False]),
        pa.array([5, None]),
        pa.array([5, 6], pa.uint64()),
        pa.array([5.1, float("nan")]),
        pa.array([5.1, 5.2]),
        pa.array([1, 2], pa.float16()) if hasattr(pa, "float16") else pa.array([1.0, 2.0]),
        pa.array(["5.1", "5.2"]),
        pa.array(["5.1", None], pa.large_string()),
        pa.array(["x", "y"]).dictionary_encode(),
        pa.array([b"ab", b"\x01" * 21]),
        pa.array([[1.0, 2.0], [3.0]]),
        pa.array([{"x": 1.0, "y": 2.0}, {"x": 1.0, "y": None}]),
        pa.array([{"z": 1.0}, None]),
        pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2)),
        pa.array([Decimal("5.1"), Decimal("5.2")]),
        pa.array([day, day], pa.timestamp("ns", tz="UTC")),
        pa.array([day, None], pa.timestamp("ms", tz="Europe/Vienna")),
        pa.array([0, 1]).cast(pa.timestamp("s")),
        pa.array([2**62, -(2**62)]).cast(pa.timestamp("s", tz="UTC")),
        pa.array([day.date(), day.date()]),
        pa.array([day.time(), day.time()]),
        pa.array([5, 6], pa.duration("s")),
        pa.array(samples.TIMES[:2]),
    ]


_COLUMNS = _columns()


@settings(FUZZ, max_examples=400)
@given(
    st.fixed_dictionaries(
        {name: st.integers(0, len(_COLUMNS) - 1) for name in ("lat", "lon", "time")},
        optional={name: st.integers(0, len(_COLUMNS) - 1) for name in ("id", "segment", "geometry", "date", "speed")},
    )
)
def test_any_arrow_table_is_a_trace_or_an_input_error(chosen: dict[str, int]) -> None:
    table = pa.table({name: _COLUMNS[place] for name, place in chosen.items()})
    for zone in (None, "Europe/Vienna"):
        for keep in ((), ("speed",)):
            try:
                found = read_traces(table, zone=zone, keep=keep)
            except InputError:
                continue
            assert sum(trace.points_read.total for _, trace in found) == 2


@FUZZ
@given(
    st.lists(
        st.tuples(st.floats(-90, 90), st.floats(-180, 180, exclude_max=True), st.integers(-(10**9), 10**10)),
        min_size=1, max_size=8,
    ),
    st.sampled_from([".gpx", ".csv", ".geojson", ".kml", ".parquet", ".geoparquet", ".gpkg"]),
)  # fmt: skip
def test_every_trace_survives_being_written_and_read(points: list[tuple[float, float, int]], ending: str) -> None:
    values = np.array(sorted(points, key=lambda point: point[2]), dtype=np.float64)
    trace = Trace(np.round(values[:, 0], 7), np.round(values[:, 1], 7), values[:, 2], np.arange(len(values)) // 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        write_trace(trace, path)
        back = read_trace(path)
    assert np.array_equal(back.lat_deg, trace.lat_deg)
    assert np.array_equal(back.lon_deg, trace.lon_deg)
    assert np.array_equal(back.times_s, trace.times_s)
    assert back.segments == trace.segments
