"""Write page.json, which the browser page's code reproduces: python tests/golden/make_page_golden.py

Everything the page computes beside Python: zones from words, margins, cuts (also at borders, over the date line and
through a zone without a fix in it), files byte for byte, names, noise from words, and what attackers guess.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.base.randomness import Randomness, Words, randomness
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.places import ATTACKERS, look
from sfumato.tracks.certificates.build import released_of
from sfumato.tracks.folders.manifest import keyed_name
from sfumato.tracks.io import read_trace, write_trace
from sfumato.tracks.noise.multiscale.ladder import sample_path, shipped_ladder
from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.leak_test import stretches
from sfumato.tracks.places.places_file import Place, Places, save_places
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import draw_zone

HERE = Path(__file__).resolve().parent


class _Given:
    """Words that were written down, given out in their order; not a simulation as far as the law is concerned."""

    def __init__(self, words: Words) -> None:
        self.words, self.used = words, 0

    def __call__(self, count: int) -> Words:
        self.used += count
        assert self.used <= len(self.words)
        return self.words[self.used - count : self.used].copy()

    @property
    def randomness(self) -> Randomness:
        return Randomness(self, simulation=False, source="golden")


def _hex(words: Words) -> str:
    return words.astype(">u8").tobytes().hex()


def _zones() -> list[dict[str, Any]]:
    entropy, out = randomness(16), []
    spots = ((48.85, 2.35, 1600.0), (-33.9, 151.2, 800.0), (-16.8, 179.999, 400.0), (89.99, 10.0, 800.0))
    for lat, lon, radius_m in spots:
        words = entropy.words(6)
        zone = draw_zone(lat, lon, radius_m=radius_m, rng=_Given(words).randomness)
        out.append(
            {
                "place": [lat, lon],
                "radius_m": radius_m,
                "words": _hex(words),
                "lat": zone.lat_deg,
                "lon": zone.lon_deg,
                "key": zone.key.hex(),
                "margins_m": zone.margins_m().tolist(),
            }
        )
    return out


def _ride(around: Around, metres: list[tuple[float, float]], start_s: float, step_s: float, digits: int) -> Trace:
    lat, lon = around.to_degrees(metres)
    times = start_s + step_s * np.arange(len(lat))
    return Trace(np.round(lat, digits), np.round(lon, digits), times)


def _gpx(trace: Trace, breaks: tuple[int, ...] = ()) -> str:
    rows = []
    for i, (lat, lon, time) in enumerate(zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)):
        stamp = np.datetime64(round(time * 1e6), "us")
        mark = "</trkseg><trkseg>" if i in breaks else ""
        where = f'lat="{np.format_float_positional(lat)}" lon="{np.format_float_positional(lon)}"'
        rows.append(f"{mark}<trkpt {where}><ele>31.4</ele><time>{stamp}Z</time></trkpt>")
    return (
        '<?xml version="1.0"?>\n<!-- a comment with <tags> --><gpx version="1.1" creator="a &amp; b">'
        '<wpt lat="1" lon="2"><time>2020-01-01T00:00:00Z</time></wpt><trk><name><![CDATA[home <3]]></name><trkseg>'
        + "\n".join(rows)
        + "</trkseg></trk><trk></trk></gpx>\n"
    )


def _geojson(trace: Trace) -> str:
    half = len(trace) // 2
    line = [[float(x), float(y), 12.5] for x, y in zip(trace.lon_deg, trace.lat_deg, strict=True)]
    millis = [round(time * 1000) for time in trace.times_s]
    feature = {
        "type": "Feature",
        "properties": {"name": "x", "coordTimes": [millis[:half], millis[half:]]},
        "geometry": {"type": "MultiLineString", "coordinates": [line[:half], line[half:]]},
    }
    point = {
        "type": "Feature",
        "properties": {"Time": millis[-1] + 5000},
        "geometry": {"type": "Point", "coordinates": line[-1]},
    }
    return json.dumps({"type": "FeatureCollection", "features": [feature, point]})


def _commute(zone_m: float) -> list[tuple[float, float]]:
    """Out of the zone, along its border (flicker), back through it, and a jump over it without a fix inside."""
    out = [(25.0 * i, 0.3 * i * math.sin(i)) for i in range(int(3.2 * zone_m / 25))]
    turns = np.linspace(0, 1.2, 25)
    along = [((zone_m + 60) * math.cos(a), (zone_m + 60) * math.sin(a)) for a in turns]
    back = [(x, 40.0) for x in np.arange(2.2 * zone_m, -2.2 * zone_m, -90.0)]
    jump = [(-2.5 * zone_m, 100.0), (-2.4 * zone_m, 20.0), (2.4 * zone_m, 30.0), (2.5 * zone_m, 30.0)]
    return out + along + back + jump


def _at_the_border(places: Places) -> Trace:
    """Points a millimetre inside and outside of the border with its margin, in every direction, two of each."""
    zone = places.zones[0]
    margins, metres = zone.margins_m(), []
    for k, margin in enumerate(margins[::7]):
        turn = (7 * k + 0.5) / len(margins) * 2 * math.pi
        for off in (0.3, 0.001, -0.001, -0.3):
            reach = zone.radius_m + margin + off
            metres += [(reach * math.cos(turn), reach * math.sin(turn))] * 2
    lat, lon = zone.around.to_degrees(metres)
    return Trace(lat, lon, 1.7e9 + np.arange(len(lat)))


def _cut(name: str, text: str, ending: str, places: Places, folder: Path) -> dict[str, Any]:
    source, target = folder / f"in{ending}", folder / f"out{ending}"
    source.write_text(text, encoding="utf-8")
    trace = read_trace(source)
    left = withhold(trace, places.zones)
    out: dict[str, Any] = {
        "name": name, "ending": ending, "input": text, "read": len(trace), "skipped": dict(trace.skipped),
        "kept": left.kept.tolist(), "by_zone": list(left.by_zone), "output": None,
    }  # fmt: skip
    if left.trace is not None:
        write_trace(left.trace, target)
        out["output"] = target.read_text("utf-8")
        out["content_sha256"] = released_of([(None, left.trace)]).digest()
        out["guesses"] = [_guesses(zone, left.trace) for zone in places.zones]
    return out


def _guesses(zone: Any, trace: Trace) -> dict[str, list[float]]:
    view = look(stretches(zone, trace), radius_m=zone.radius_m, inner_radius_m=zone.inner_radius_m)
    asked = {name: one for name, one in ATTACKERS.items() if view.seen and not one.learned_from}
    found = {name: attacker.attack(view.thin()) for name, attacker in asked.items()}
    return {name: guess.tolist() for name, guess in found.items() if guess is not None}


def _places(spots: list[tuple[str, float, float, float]], seed: int) -> Places:
    entropy = randomness(seed)
    given = _Given(entropy.words(10 + 6 * len(spots))).randomness
    places = Places.none(given)
    for name, lat, lon, radius_m in spots:
        places = places.add(Place(name, lat, lon, draw_zone(lat, lon, radius_m=radius_m, rng=given)))
    return places


def _cuts(folder: Path) -> list[dict[str, Any]]:
    out = []
    worlds = [
        ("Paris", [("home é", 48.85, 2.35, 800.0), ("work", 48.862, 2.352, 400.0)], 5, 30.0),
        ("the date line", [("home", -16.8, 179.9995, 400.0)], 10, 0.25),
        ("the equator", [("home", 0.0, 0.0, 400.0)], 7, 1.0),
    ]
    for seed, (world, spots, digits, step_s) in enumerate(worlds):
        places = _places(spots, seed)
        file = folder / f"{seed}.places"
        save_places(file, places)
        around = Around(spots[0][1], spots[0][2])
        ride = _ride(around, _commute(spots[0][3]), 1.7e9 + 0.125 * seed, step_s, digits)
        inside = _ride(around, [(3.0 * i, 2.0 * i) for i in range(8)], 1.7e9, 1.0, 6)
        texts = [
            ("commute", _gpx(ride, (len(ride) // 3,)), ".gpx"),
            ("lines", _geojson(ride), ".geojson"),
            ("never leaves", _gpx(inside), ".gpx"),
            ("at the border", _gpx(_at_the_border(places), (9, 21)), ".gpx"),
        ]
        cases = [_cut(name, text, ending, places, folder) for name, text, ending in texts]
        key = places.derive("names")
        names = [keyed_name(key, bytes.fromhex(case["content_sha256"]), ".gpx") for case in cases if case["output"]]
        out.append({"world": world, "places": file.read_text(), "names": names, "cases": cases})
    return out


def _noise() -> dict[str, Any]:
    """Unsorted times with one twice; released degrees are those of displace and snap."""
    ladder, times = shipped_ladder("year"), [60.0, 0.0, 0.25, 3600.0, 60.0, 86_400.0 * 40]
    words = randomness(5).words(2 + (4 * ladder.length_scales_s.size + 2) * 5)
    path = 700.0 * sample_path(ladder, np.array(times), _Given(words).randomness)
    lat, lon = (
        np.array([60.2, 60.2, 60.21, 59.9999, 60.0, 60.0]),
        np.array([24.9, 24.91, 24.9, 24.9, 24.999, -179.9999]),
    )
    return {
        "ladder": ladder.to_dict(), "times_s": times, "words": _hex(words), "noise_m": 700.0, "path_m": path.tolist(),
        "lat": lat.tolist(), "lon": lon.tolist(),
        "released": [column.tolist() for column in snap(*displace(lat, lon, path), 0.1)],
    }  # fmt: skip


def _texts() -> dict[str, Any]:
    numbers = [48.0, 1600.0, 0.1 + 0.2, 1e-5, -0.0, 1e16, 123456789.125, 2.5e-7, 9007199254740993.0]
    fixed = [2.0**-11, 48 + 2.0**-11, 48 + 3 * 2.0**-11, -(7 + 5 * 2.0**-11), 2.35, -1e-12, -0.0, 179.99999999995]
    return {
        "floats": [[value, repr(value)] for value in numbers],
        "fixed": [[value, f"{value:.10f}", f"{value:.7f}"] for value in fixed],
        "json": json.dumps({"b": [1.0, 2e-07, None], "a": {"é\u2028": "x\ty\x7f😀", "c": True}}, sort_keys=True),
    }


def golden() -> dict[str, Any]:
    """All of page.json."""
    with tempfile.TemporaryDirectory() as folder:
        return {"zones": _zones(), "cuts": _cuts(Path(folder)), "noise": _noise(), "texts": _texts()}


if __name__ == "__main__":
    (HERE / "page.json").write_text(json.dumps(golden(), indent=None, ensure_ascii=False) + "\n", encoding="utf-8")
