"""Pages about a folder of files: private and public ones of a shared archive, of places found, and of its audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.base.arrays import BoolArray, FloatArray
from sfumato.base.drawing.svg import (
    bullets,
    drawn_places,
    element,
    label,
    path_data,
    picture,
    scale_bar,
    sheet_around,
    short,
)
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, format_length
from sfumato.pages.report.parts import page, section, table
from sfumato.pages.report.words import alarm, kept_words, public_banner
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.audit_archive import ArchiveAudit
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.staging import NOT_COVERED
from sfumato.tracks.io import read_trace
from sfumato.tracks.places.find import FoundPlace, day
from sfumato.tracks.places.globe import surface
from sfumato.tracks.places.places_file import SAME_PLACE_M, Place, Places

WIDTH, HEIGHT, MARGIN = 960.0, 600.0, 30.0
_STYLE = (
    ".track,.mark{vector-effect:non-scaling-stroke}.track{fill:none;stroke-width:1.6;stroke:#1f6feb;opacity:.7}"
    ".track.original{stroke:#999}.mark.zone{fill:#d97706;fill-opacity:.15;stroke:#d97706}.mark.place{fill:#b91c1c}"
    ".mark.gate{fill:#d97706}.mark-words{font:13px sans-serif;fill:#333;paint-order:stroke;stroke:#fff;"
    "stroke-width:3px;stroke-linejoin:round}.sea{fill:#f6f8fa}.picked{stroke:#15803d;stroke-width:3px;"
    "vector-effect:non-scaling-stroke}.scale path{vector-effect:non-scaling-stroke}"
    ".map[tabindex]{touch-action:none;cursor:crosshair}"
)
_BUTTONS = (
    '<p id="map-buttons" hidden><button data-view="nearer" aria-label="Zoom in">+</button> '
    '<button data-view="further" aria-label="Zoom out">−</button> '
    '<button data-view="usual">Where most rides are</button> '
    '<button data-view="all">Everything</button></p><p><code id="picked"></code></p>'
)
_EVIDENCE = ("guess", "visits", "nights", "stayed", "ends", "first", "last", "where")
_MOST_RIDES, _MOST_POINTS, _MOST_PLACES = 300, 400, 50
_USUAL, _LEAST_USUAL_M = 4.0, 3000.0  # medians of rides' distances; metres


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Something drawn at a place: a disc of ``radius_m``, a dot where that is 0, with words beside it.

    ``name`` is what a command would call it.
    """

    lat_deg: float
    lon_deg: float
    kind: str
    radius_m: float = 0.0
    words: str = ""
    name: str = ""


def archive_map(lines: Iterable[tuple[str, Trace]], marks: Sequence[Mark], title: str) -> str:
    """Lines are (kind, trace): ``release`` or ``original``; marks are drawn over them. North is up.

    Shown at first is where most rides are: those beyond some times the median distance (a holiday) are drawn outside
    the picture, and ``map.js`` leads there. Nothing to draw (files without times are no tracks) is no picture.
    """
    ways = []
    for kind, trace in lines:
        shown = drawn_places(trace, _MOST_POINTS)
        ways.append((kind, trace.lat_deg[shown], trace.lon_deg[shown], trace.segment[shown]))
    if not ways and not marks:
        return ""
    lat, lon = (
        np.concatenate([*(way[k] for way in ways), [getattr(mark, name) for mark in marks]])
        for k, name in ((1, "lat_deg"), (2, "lon_deg"))
    )
    often = _often(lat, lon, [len(way[1]) for way in ways] + [1] * len(marks))
    sheet = sheet_around(
        lat[often],
        lon[often],
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        room_m=max([2.4 * mark.radius_m for mark in marks], default=0.0),
        least_m=200.0,
        rare=0.002,
        even=True,
    )
    pixels = sheet.pixels(lat, lon)
    pieces = [element("style", _STYLE), element("rect", class_="sea", x=-1e6, y=-1e6, width=2e6, height=2e6)]
    begin = 0
    for kind, _, _, segment in ways:
        way = pixels[begin : begin + len(segment)]
        pieces.append(element("path", class_=f"track {kind}", d=path_data(way, segment)))
        begin += len(segment)
    taken: list[tuple[float, float, float, float]] = []
    for mark, (x, y) in zip(marks, pixels[begin:].tolist(), strict=True):
        radius, dot = max(mark.radius_m / sheet.metres_per_px, 3.0), "" if mark.radius_m else " dot"
        where = {"data_lat": f"{mark.lat_deg:.5f}", "data_lon": f"{mark.lon_deg:.5f}", "data_name": mark.name}
        told = where if mark.name else {}
        pieces.append(element("circle", class_=f"mark {mark.kind}{dot}", cx=x, cy=y, r=radius, **told))
        if mark.words:
            pieces.append(_words(mark.words, x, y, taken))
    low, high = pixels.min(axis=0).tolist(), pixels.max(axis=0).tolist()
    pieces.append(scale_bar(MARGIN, HEIGHT - 16, sheet.metres_per_px, 260))
    turned = {"lat": sheet.lat0, "lon": sheet.lon0, "east": sheet.centre[0], "north": sheet.centre[1]}
    said = {f"data_{name}": repr(value) for name, value in (*turned.items(), ("mpp", sheet.metres_per_px))}
    extent = " ".join(short(value) for value in (*low, *high))
    return picture(WIDTH, HEIGHT, *pieces, title=title, class_="map", data_all=extent, **said)


def _often(lat: FloatArray, lon: FloatArray, sizes: Sequence[int]) -> BoolArray:
    """Which points belong to rides that go where most of them go."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    first = np.searchsorted(number, np.arange(len(sizes)))
    middle = surface(lat[first], lon[first])
    away = np.linalg.norm(middle - np.median(middle, axis=0), axis=1)
    near = away <= max(_USUAL * float(np.median(away)), _LEAST_USUAL_M)
    points = surface(lat, lon) - np.median(middle, axis=0)
    within = np.linalg.norm(points, axis=1) <= 2 * max(_USUAL * float(np.median(away)), _LEAST_USUAL_M)
    often: BoolArray = near[number] & within
    return often


def _words(words: str, x: float, y: float, taken: list[tuple[float, float, float, float]]) -> str:
    """A label beside its dot where it covers no other one; without room it is left to the list below the map."""
    long = 7.0 * len(words)
    for right, lower in ((x + 6, y - 6), (x + 6, y + 14), (x - 6 - long, y - 6), (x - 6 - long, y + 14)):
        box = (right, lower - 13, right + long, lower + 4)
        if not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
            taken.append(box)
            return label(right, lower, words, class_="mark-words", data_x=x, data_y=y)
    return label(x + 6, y - 6, words, class_="mark-words", data_x=x, data_y=y, display="none")


def private_page(done: ArchiveResult, places: Places, out: Path) -> str:
    """Map with places, zones, gates and what is left; one line per place; every source."""
    rows = [
        (row.source, row.points_in, row.points_out, row.refused or row.output or "nothing is left")
        for row in done.rows
        if not row.no_track
    ]
    kept = done.document["kept"]
    near = [f"{name}: no ride comes into its zone. Check its coordinates." for name in done.unvisited]
    return page(
        "A shared archive (private)",
        "<strong>Private.</strong> This page shows your places. Keep it to yourself.",
        f"{private_map(done, places, out)}{_BUTTONS}",
        section("Can I still be found?", bullets([*(leak.sentence() for leak in done.leaks), *near])),
        section("Places found in your tracks", table(_EVIDENCE, _found_rows(done, places))),
        section("What was kept", bullets([kept_words(kept)] if kept else [])),
        section("What is not covered", bullets(NOT_COVERED)),
        section("Every file", table(("file", "points in", "out", "what"), rows)),
        script="map.js",
    )


def private_map(done: ArchiveResult, places: Places, out: Path) -> str:
    """What is shared, with zones, gates and the places themselves."""
    rides = list(rides_of(done.document, out))
    marks = [mark for place in places.active for mark in _place_marks(place.name, place, rides)]
    others = [(one, name) for one, name in _called(done.found) if _named(one, places) is None]
    marks += [Mark(one.lat_deg, one.lon_deg, "place", 0.0, f"{one.label} (not named)", name) for one, name in others]
    return archive_map([("release", ride) for ride in rides], marks, "What is shared, zones, gates and places")


def public_page(done: ArchiveResult, out: Path) -> str:
    """What was withheld, in words that say neither where nor how often; made from the output alone."""
    document = done.document
    hidden, noise = document["withheld"] is not None, document["noise"]
    promised = list(document["withheld"] or ())
    by_noise: Sequence[str] = ()
    if noise is not None:
        said = Certificate.of(noise)
        size = "" if said.noise_m is None else f" of {format_length(said.noise_m)} per coordinate"
        promised.append(f"Noise{size} was added to {'what remains' if hidden else 'every point'}. {said.headline}")
        by_noise = said.guarantee.not_covered
    promised += [str(document["times"]["meaning"]), *([kept_words(document["kept"])] if document["kept"] else [])]
    simulation = ["SIMULATION: a seed was used, so this protects nothing."] if document["simulation"] else []
    return page(
        "A shared archive",
        public_banner("files"),
        archive_map([("release", ride) for ride in rides_of(document, out)], (), "What is shared"),
        "" if noise is None else alarm(noise),
        section("What was withheld" if hidden else "What was done", bullets([*simulation, *promised])),
        section("What is not covered", bullets(NOT_COVERED if hidden else ())),
        section("What the noise does not cover", bullets(by_noise)),
        section("Files", f"<p>{count_of(done.shared, 'file')}, each listed with its hash in the certificate.</p>"),
    )


def places_page(found: list[FoundPlace], rides: list[Trace]) -> str:
    """Where somebody was found to stay: for their eyes only. A click on the map writes the command that names it."""
    marks = [
        Mark(place.lat_deg, place.lon_deg, "place", 0.0, f"{number} {place.label}", name)
        for number, (place, name) in enumerate(_called(found), start=1)
    ]
    rows = [_evidence(f"{number} {one.label}", one) for number, one in enumerate(found, start=1)]
    return page(
        "Places found (private)",
        "<strong>Private.</strong> This page shows where you stay. Keep it to yourself.",
        archive_map([("original", ride) for ride in rides[:_MOST_RIDES]], marks, "Rides and places") + _BUTTONS,
        section("Places", table(_EVIDENCE, rows)),
        script="map.js",
    )


def _called(found: Sequence[FoundPlace]) -> list[tuple[FoundPlace, str]]:
    """The places that a map shows, and what a command would call them."""
    numbers = enumerate(found[:_MOST_PLACES], start=1)
    return [(one, one.label if one.label != "place" else f"place-{number}") for number, one in numbers]


def _named(one: FoundPlace, places: Places) -> str | None:
    away = [(place.distance_m(one.lat_deg, one.lon_deg) - place.extent_m, place.name) for place in places.active]
    return next((name for metres, name in sorted(away) if metres < SAME_PLACE_M), None)


def _found_rows(done: ArchiveResult, places: Places) -> list[tuple[object, ...]]:
    """Every place found, the named ones first."""
    named = sorted(((_named(one, places), one) for one in done.found), key=lambda item: item[0] is None)
    return [_evidence(name or f"{one.label} (not named)", one) for name, one in named]


def _evidence(words: str, one: FoundPlace) -> tuple[object, ...]:
    seen, at = (day(one.first_seen_s), day(one.last_seen_s)), f"{one.lat_deg:.5f},{one.lon_deg:.5f}"
    return (words, one.visits, one.nights, f"{one.stayed_s / 3600:.1f} h", one.track_ends, *seen, at)


def rides_of(document: Document, out: Path) -> Iterator[Trace]:
    """What is shared, for a map: a few hundred files at most, evenly chosen."""
    names = [file["name"] for file in document["files"]]
    if document["times"]["released"] == "drop":
        return
    for place in np.linspace(0, len(names) - 1, min(len(names), _MOST_RIDES)).astype(int):
        yield read_trace(out / names[place], keep=tuple(document["kept"]), keep_if_there=True)


def _place_marks(name: str, place: Place, rides: list[Trace]) -> list[Mark]:
    marks = [Mark(place.lat_deg, place.lon_deg, "place", 0.0, name)]
    zone = place.zone
    if zone is None:
        return marks
    marks.insert(0, Mark(zone.lat_deg, zone.lon_deg, "zone", zone.radius_m))
    for ride in rides:
        ends = np.flatnonzero(np.diff(ride.segment, prepend=ride.segment[0] - 1, append=ride.segment[-1] + 1))
        both = np.unique(np.concatenate([ends[:-1], ends[1:] - 1]))
        away = np.hypot(*zone.around.to_metres(ride.lat_deg[both], ride.lon_deg[both]).T)
        for point in both[away < zone.reach_m + 150.0]:
            marks.append(Mark(float(ride.lat_deg[point]), float(ride.lon_deg[point]), "gate"))
    return marks


def audit_page(found: ArchiveAudit, document: Document, out: Path) -> str:
    """For the owner's eyes only: it names their files."""
    rows = [
        (row.source, row.points_in, row.points_out, row.refused or _off(row.error_m))
        for row in found.rows
        if not row.no_track
    ]
    return page(
        "An archive audited (private)",
        "<strong>Private.</strong> This page was made from your originals. Keep it to yourself.",
        archive_map([("release", ride) for ride in rides_of(document, out)], (), "What is shared"),
        section("Can I still be found?", bullets([leak.sentence() for leak in found.leaks])),
        section("What the noise leaves", bullets(noise_lines(found))),
        section("To note", bullets(found.notes)),
        section("Every file", table(("file", "points in", "out", "error, per coordinate"), rows)),
    )


def noise_lines(found: ArchiveAudit) -> list[str]:
    """The attack on the noise, in a few lines."""
    noise = found.noise
    if noise is None:
        return []
    lines = [f"{noise.points} points of {count_of(found.attacked, 'file')}, attacked together."]
    for words, value in (
        ("as it is, the release is off by", noise.rms_error_raw_m),
        ("after smoothing, by", noise.rms_error_smoothed_m),
        ("the attacker's 68% interval has a half-width of", noise.interval_68_m),
    ):
        if value is not None:
            lines.append(f"Per coordinate, {words} {value:.1f} m.")
    if noise.coverage_68 is not None:
        lines.append(f"The truth lies inside that interval {noise.coverage_68:.0%} of the time.")
    return [*lines, noise.verdict]


def _off(error_m: float | None) -> str:
    return "nothing is left" if error_m is None else f"{error_m:.1f} m"
