"""Pages about a folder of files: private and public ones of a shared archive, of places found, and of its audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.base.drawing.elements import bullets, element, label, path_data, picture
from sfumato.base.drawing.map_sheet import drawn_places, scale_bar, sheet_around
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
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.places_file import Place, Places

WIDTH, HEIGHT, MARGIN = 960.0, 600.0, 30.0
_STYLE = (
    ".track{fill:none;stroke-width:1.6;stroke:#1f6feb;opacity:.7}.track.original{stroke:#999}"
    ".mark.zone{fill:#d97706;fill-opacity:.15;stroke:#d97706}.mark.place{fill:#b91c1c}.mark.gate{fill:#d97706}"
    ".mark-words{font:13px sans-serif;fill:#333}.sea{fill:#f6f8fa}"
)
_MOST_RIDES, _MOST_POINTS = 300, 400


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Something drawn at a place: a disc of ``radius_m``, a dot where that is 0, with words beside it."""

    lat_deg: float
    lon_deg: float
    kind: str
    radius_m: float = 0.0
    words: str = ""


def archive_map(lines: Iterable[tuple[str, Trace]], marks: Sequence[Mark], title: str) -> str:
    """Lines are (kind, trace): ``release`` or ``original``; marks are drawn over them. North is up.

    Nothing to draw (files without times are no tracks) is no picture.
    """
    ways = []
    for kind, trace in lines:
        shown = drawn_places(trace, _MOST_POINTS)
        ways.append((kind, trace.lat_deg[shown], trace.lon_deg[shown], trace.segment[shown]))
    if not ways and not marks:
        return ""
    sheet = sheet_around(
        np.concatenate([*(way[1] for way in ways), [mark.lat_deg for mark in marks]]),
        np.concatenate([*(way[2] for way in ways), [mark.lon_deg for mark in marks]]),
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        room_m=max([2.4 * mark.radius_m for mark in marks], default=0.0),
        least_m=200.0,
        rare=0.002,
    )
    pieces = [element("style", _STYLE), element("rect", class_="sea", width=WIDTH, height=HEIGHT)]
    for kind, lat, lon, segment in ways:
        pieces.append(element("path", class_=f"track {kind}", d=path_data(sheet.pixels(lat, lon), segment)))
    for mark in marks:
        x, y = sheet.pixels(np.array([mark.lat_deg]), np.array([mark.lon_deg]))[0].tolist()
        radius = max(mark.radius_m / sheet.metres_per_px, 3.0)
        pieces.append(element("circle", class_=f"mark {mark.kind}", cx=x, cy=y, r=radius))
        if mark.words:
            pieces.append(label(x + 6, y - 6, mark.words, class_="mark-words"))
    pieces.append(scale_bar(MARGIN, HEIGHT - 16, sheet.metres_per_px, 260))
    return picture(WIDTH, HEIGHT, *pieces, title=title, class_="map")


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
        private_map(done, places, out),
        section("Can I still be found?", bullets([*(leak.sentence() for leak in done.leaks), *near])),
        section("What was kept", bullets([kept_words(kept)] if kept else [])),
        section("What is not covered", bullets(NOT_COVERED)),
        section("Every file", table(("file", "points in", "out", "what"), rows)),
    )


def private_map(done: ArchiveResult, places: Places, out: Path) -> str:
    """What is shared, with zones, gates and the places themselves."""
    rides = list(rides_of(done.document, out))
    marks = [mark for place in places.active for mark in _place_marks(place.name, place, rides)]
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
    """Where somebody was found to stay: for their eyes only."""
    marks = [
        Mark(place.lat_deg, place.lon_deg, "place", 0.0, f"{number} {place.label}")
        for number, place in enumerate(found[:50], start=1)
    ]
    lines = [
        f"{number} {place.label}: {count_of(place.visits, 'visit')}, {place.stayed_s / 3600:.1f} h, "
        f"{place.lat_deg:.5f},{place.lon_deg:.5f}"
        for number, place in enumerate(found, start=1)
    ]
    return page(
        "Places found (private)",
        "<strong>Private.</strong> This page shows where you stay. Keep it to yourself.",
        archive_map([("original", ride) for ride in rides[:_MOST_RIDES]], marks, "Rides and places"),
        section("Places", bullets(lines)),
    )


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
