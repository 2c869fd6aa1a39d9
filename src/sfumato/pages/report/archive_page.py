"""Two pages about a shared archive: a private one with zones, gates and leak test, and one that may be shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.base.drawing.drawing import bullets, escape
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, format_length
from sfumato.pages.report.archive_map import Mark, archive_map
from sfumato.pages.report.words import alarm, kept_words, public_banner
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.statement import NOT_COVERED, WITHHELD
from sfumato.tracks.io import read_trace
from sfumato.tracks.places import FoundPlace, Place, Places
from sfumato.tracks.places.globe import Around

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MAP_STYLE = (
    ".track{fill:none;stroke-width:1.6;stroke:#1f6feb;opacity:.7}.track.original{stroke:#999}"
    ".mark.zone{fill:#d97706;fill-opacity:.15;stroke:#d97706}.mark.place{fill:#b91c1c}.mark.gate{fill:#d97706}"
    ".mark-words,.bar-words{font:13px sans-serif;fill:#333}.bar{stroke:#333;stroke-width:2;fill:none}.sea{fill:#f6f8fa}"
)
_MOST_RIDES = 300


def private_page(done: ArchiveResult, places: Places, out: Path) -> str:
    """Map with places, zones, gates and what is left; one line per place; every source."""
    rows = [
        (row.source, row.points_in, row.points_out, row.refused or row.output or "nothing is left")
        for row in done.rows
        if not row.no_track
    ]
    near = [f"{name}: no ride comes into its zone. Check its coordinates." for name in done.unvisited]
    return page(
        "A shared archive (private)",
        "<strong>Private.</strong> This page shows your places. Keep it to yourself.",
        private_map(done, places, out),
        section("Can I still be found?", bullets([*(leak.sentence() for leak in done.leaks), *near])),
        section("What was kept", bullets([kept_words(done.document["kept"])])) if done.document["kept"] else "",
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
    promised = list(WITHHELD) if hidden else []
    limits = list(NOT_COVERED) if hidden else []
    if noise is not None:
        said = Certificate.of(noise)
        size = "" if said.noise_m is None else f" of {format_length(said.noise_m)} per coordinate"
        promised.append(f"Noise{size} was added to {'what remains' if hidden else 'every point'}. {said.headline}")
        limits += [f"The noise does not cover: {words}" for words in said.guarantee.not_covered]
    promised += [str(document["times"]["meaning"]), *([kept_words(document["kept"])] if document["kept"] else [])]
    simulation = ["SIMULATION: a seed was used, so this protects nothing."] if document["simulation"] else []
    return page(
        "A shared archive",
        public_banner("files"),
        archive_map([("release", ride) for ride in rides_of(document, out)], (), "What is shared"),
        "" if noise is None else alarm(noise),
        section("What was withheld" if hidden else "What was done", bullets([*simulation, *promised])),
        section("What is not covered", bullets(limits)),
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


def rides_of(document: Mapping[str, Any], out: Path) -> Iterator[Trace]:
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
    around: Around = zone.around
    marks.insert(0, Mark(zone.lat_deg, zone.lon_deg, "zone", zone.radius_m))
    for ride in rides:
        ends = np.flatnonzero(np.diff(ride.segment, prepend=ride.segment[0] - 1, append=ride.segment[-1] + 1))
        both = np.unique(np.concatenate([ends[:-1], ends[1:] - 1]))
        away = np.hypot(*around.to_metres(ride.lat_deg[both], ride.lon_deg[both]).T)
        for point in both[away < zone.reach_m + 150.0]:
            marks.append(Mark(float(ride.lat_deg[point]), float(ride.lon_deg[point]), "gate"))
    return marks


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that scrolls."""
    lines = (f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return (
        '<div class="sheet" tabindex="0" role="region" aria-label="Table"><table class="list">'
        f"<tr>{head}</tr>{''.join(lines)}</table></div>"
    )


def section(title: str, body: str) -> str:
    """A titled part of a page."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def page(title: str, banner: str, picture: str, *sections: str) -> str:
    """A whole page that asks nothing of any server."""
    style = resources.files("sfumato.pages.report").joinpath("page.css").read_text(encoding="utf-8")
    kind = "private" if "(private)" in title else "public"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
        'content="no-referrer"><meta name="robots" content="noindex">'
        f"<title>{escape(title)}</title><style>{style}{MAP_STYLE}</style></head><body><main>"
        f'<p class="banner {kind}" role="note">{banner}</p><header><h1>sfumato</h1></header>'
        f"{f'<figure>{picture}</figure>' if picture else ''}{''.join(sections)}"
        "<footer><p>This page asks nothing of any server.</p></footer></main></body></html>\n"
    )
