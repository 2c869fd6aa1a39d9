"""Exports that were taken for Google's, or lost a point without a word."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.tracks.io import read_trace


def test_overland_and_polarsteps_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    geometry = {"type": "Point", "coordinates": [2.5, 48.5]}
    feature = {"type": "Feature", "geometry": geometry, "properties": {"timestamp": "2024-05-01T12:00:00Z"}}
    path.write_text(json.dumps({"locations": [feature]}))
    assert len(read_trace(path)) == 1
    path.write_text(json.dumps({"locations": [{"lat": 48.5, "lon": 2.5, "time": 1714564800.5}]}))
    assert len(read_trace(path)) == 1


def test_a_point_of_a_multigeometry_is_not_lost_silently(tmp_path: Path) -> None:
    path = tmp_path / "a.kml"
    point = "<Point><coordinates>2.5,48.5</coordinates></Point>"
    path.write_text(
        "<kml><Placemark><TimeStamp><when>2024-05-01T12:00:00Z</when></TimeStamp>"
        f"<MultiGeometry>{point}{point}</MultiGeometry></Placemark></kml>"
    )
    assert read_trace(path).skipped == {"further points of a MultiGeometry": 1}
