"""``sfumato places``: find, add, list and remove the places that ``hide`` withholds. All of it is private."""

from __future__ import annotations

import json as json_module
import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.things.traces import PointsRead
from sfumato.base.units import count_of, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import named_columns, passphrase_in
from sfumato.pages.report.archive_page import places_page
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import count_members, members
from sfumato.tracks.places import area_left, find_places
from sfumato.tracks.places.find import FoundPlace, day
from sfumato.tracks.places.given_places import places_from_geojson, point_deg
from sfumato.tracks.places.places_file import (
    REMOVAL_MEANS,
    SAME_PLACE_M,
    Place,
    Places,
    change_places,
    load_places,
    place_at,
)

_NEGATIVE = re.compile(r"^-[0-9.]+([,;°\s]|$)")
_LINE = "{:>3}  {:<6} {:>6} {:>6} {:>9} {:>5}  {:<10}  {:<10}  {}"
_HALF = re.compile(r"""^[-+]?\d+\.?\d*(°[\d.'′"″]*)?[NSEW]?$""", re.IGNORECASE)
_PLACES = typer.Option(..., "--places", help="Your places file (0600, made if absent). Keep it, and keep a copy.")
_PASSPHRASE = typer.Option(None, help="Seal or open the places file with the passphrase in this file.")


class _Coordinates(TyperCommand):
    """A command that takes ``-33.9,151.2`` and ``-33.9 151.2`` for what they are: places in the south, not options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {word}" if _NEGATIVE.match(word) else word for word in args])


def register(app: typer.Typer) -> None:
    """Add ``places`` to the app."""
    places = typer.Typer(help="Find and name the places that `hide` cuts out. Everything here is private.")
    places.command("find", help="Find home, work and every place stayed at or returned to.")(find)
    places.command("add", cls=_Coordinates, help="Name a place; its zone is drawn once, for ever.")(add)
    places.command("list", help="List the named places.")(list_places)
    places.command("remove", help="Stop withholding what is around a place.")(remove)
    app.add_typer(places, name="places", no_args_is_help=True)


def find(
    sources: list[Path] = typer.Argument(..., metavar="RIDES...", help="Folders, files, patterns, .gz, .zip, exports."),
    page: Path | None = typer.Option(None, "--map", help="Write a map of them (HTML, 0600, private) here."),
    most: int = typer.Option(20, help="List at most this many."),
    places: Path | None = typer.Option(
        None, "--places", help="Remember the numbers beside this places file, for `places add home 1 work 3`."
    ),
    time_zone: str | None = typer.Option(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    one_person: bool = typer.Option(False, "--one-person", help="All rows of every table are one person's."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """Labels are guesses by the hours you were there. Places that you do not name stay in what you share."""
    rides, refused = [], []
    with progress("Reading", count_members(sources), quiet=json) as step:
        for member in members(sources):
            step()
            if member.skipped is not None:
                continue
            try:
                with member.path() as path:
                    rides.append(read_trace(path, zone=time_zone, columns=named_columns(column), one_person=one_person))
            except SfumatoError as error:
                refused.append((member.name, f"{error.what} {error.advice}".strip()))
            except OSError as error:
                refused.append((member.name, f"it cannot be read: {error.strerror}"))
    if not rides:
        why = f" ({refused[0][0]}: {refused[0][1]})" if refused else ""
        raise InputError(f"There is no track in what was given{why}.", "Give a folder, files or an archive of tracks.")
    found, read = find_places(rides), PointsRead.of(rides)
    if page is not None:
        write_text(page, places_page(found, rides), private=True)
    if places is not None:
        _remember(places, found)
    if json:
        listed = [_as_json(place) for place in found[:most]]
        not_read = [{"file": name, "why": why} for name, why in refused]
        print_json({"ok": True, "private": True, "places": listed, "points_read": read.to_dict(), "not_read": not_read})
        return
    what = f"{count_of(len(found), 'place')} in {count_of(len(rides), 'track')}"
    typer.echo(f"{what}. Private: keep this to yourself.")
    if found:
        typer.echo(_LINE.format("", "guess", "visits", "nights", "stayed", "ends", "first", "last", "where"))
    for number, place in enumerate(found[:most], start=1):
        stayed, at = f"{place.stayed_s / 3600:.1f} h", f"{place.lat_deg:.5f},{place.lon_deg:.5f}"
        first, last = day(place.first_seen_s), day(place.last_seen_s)
        visits = (place.visits, place.nights, stayed, place.track_ends)
        typer.echo(_LINE.format(number, place.label, *visits, first, last, at))
    if words := read.sentence():
        typer.echo(words)
    for name, why in refused:
        typer.echo(f"Not read: {name}: {why}")
    if page is not None:
        typer.echo(f"Map (private): {page}")
    if found:
        where = "1" if places is not None else f"{found[0].lat_deg:.5f},{found[0].lon_deg:.5f}"
        typer.echo("Name those to hide, for instance:")
        typer.echo(f"  sfumato places add {found[0].label} {where} --places {places or 'me.places'}")


def add(
    words: list[str] = typer.Argument(
        ...,
        metavar="NAME WHERE...",
        help="Names, each with latitude and longitude (48.85,2.35) or its number of `places find --places`; or a "
        "GeoJSON file of points and outlines.",
    ),
    places: Path = _PLACES,
    zone: str = typer.Option("1600m", help="Radius of its zone: 400m, 800m or 1600m. Choose before you look."),
    as_drawn: bool = typer.Option(
        False, "--as-drawn", help="Withhold outlines of a GeoJSON exactly as drawn: shows where they are."
    ),
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """The zone is a disc around a random centre, from the operating system's entropy; a second is never drawn."""
    new = _named(words, places, zone, as_drawn)

    def with_them(before: Places) -> Places:
        for place in new:
            before = before.add(place)
        return before

    after = change_places(places, with_them, passphrase=passphrase_in(passphrase_file))
    kept, every = [after.place_named(place.name) for place in new], after.places
    if json:
        zones = {place.name: _zone_words(place) for place in kept}
        print_json({"ok": True, "added": [place.name for place in new], "zones": zones, "places": str(places)})
        return
    for place, drawn in zip(kept, new, strict=True):
        once = "It was drawn once and stays for ever."
        if place.withheld is not drawn.withheld:
            once = f"It was drawn before and is kept; --zone {zone} was not used: a second zone would intersect it."
        elif any(
            other is not place and place.distance_m(other.lat_deg, other.lon_deg) < SAME_PLACE_M for other in every
        ):
            once = f"{once} A zone drawn near by does not reach it."
        typer.echo(f"Added {place.name}: {_zone_words(place)}. {once}")
    typer.echo(
        f"{places} says where you live: keep it to yourself, and keep a copy. Housemates should share it: two zones "
        f"drawn for one place leave {area_left(2):.0%} of either to look in."
    )


def list_places(
    places: Path = _PLACES,
    where: bool = typer.Option(False, "--where", help="Also show where they are."),
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """Where they are is shown only when asked for: somebody may look over your shoulder."""
    mine = load_places(places, passphrase=passphrase_in(passphrase_file))
    if json:
        rows = [{"name": place.name, "zone": _zone_words(place)} for place in mine.active]
        print_json({"ok": True, "private": True, "places": rows})
        return
    if not mine.active:
        typer.echo("No place is named yet.")
    for place in mine.active:
        at = f"  {place.lat_deg:.5f},{place.lon_deg:.5f}" if where else ""
        typer.echo(f"{place.name:<20} {_zone_words(place)}{at}")
    if mine.simulation:
        typer.echo("SIMULATION: a zone was drawn from a seed, which protects nothing.")


def remove(
    name: str = typer.Argument(..., help="The place's name."),
    places: Path = _PLACES,
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Its zone is remembered, so that naming the place again does not draw a second one."""
    if not places.exists():
        raise InputError(f"There is no places file {places}.", "Check its name.")
    change_places(places, lambda before: before.remove(name), passphrase=passphrase_in(passphrase_file))
    if json:
        print_json({"ok": True, "removed": name, "means": REMOVAL_MEANS})
        return
    typer.echo(f"Removed {name}. {REMOVAL_MEANS}")


def _named(words: list[str], places: Path, zone: str, as_drawn: bool) -> tuple[Place, ...]:
    """``home 48.85,2.35``, ``home 1 work 3``, ``home 48.85 2.35``, or the places of one GeoJSON file."""
    radius_m, left = length_m(zone), [word.strip() for word in words]
    if len(left) == 1:
        return _of_geojson(Path(left[0]), radius_m, as_drawn)
    new = list[Place]()
    while left:
        name = left.pop(0)
        if not left:
            raise InputError(f"Where is {name}?", "Write: sfumato places add home 48.85,2.35 --places me.places.")
        where = left.pop(0)
        if left and _HALF.match(where) and _HALF.match(left[0]):  # latitude and longitude as two words
            where = f"{where} {left.pop(0)}"
        at = _remembered(places, int(where)) if where.isdigit() else point_deg(where)
        new.append(place_at(name, *at, radius_m=radius_m))
    return tuple(new)


def _found_file(places: Path) -> Path:
    return places.with_name(f"{places.name}.found")


def _remember(places: Path, found: list[FoundPlace]) -> None:
    """The numbers that were printed, for `places add`; as private as the places file, so not beside a sealed one."""
    if places.exists() and '"sealed"' in places.read_text("utf-8"):
        raise InputError(f"{places} is sealed, and numbers would be remembered openly.", "Leave --places out.")
    rows = [[place.lat_deg, place.lon_deg] for place in found]
    write_text(_found_file(places), json_module.dumps(rows), private=True)


def _remembered(places: Path, number: int) -> tuple[float, float]:
    file = _found_file(places)
    if not file.exists():
        raise InputError(
            f"No list of places was remembered beside {places}, so number {number} is not known.",
            f"First: sfumato places find RIDES --places {places}; or write latitude,longitude.",
        )
    rows = json_module.loads(file.read_text("utf-8"))
    if not 1 <= number <= len(rows):
        raise InputError(f"There is no place number {number}.", f"The last list has 1 to {len(rows)}.")
    lat, lon = rows[number - 1]
    return float(lat), float(lon)


def _of_geojson(file: Path, radius_m: float, as_drawn: bool) -> tuple[Place, ...]:
    if not file.exists():
        raise InputError(
            f"Where is {file}? There is no file of that name either.",
            "Write: sfumato places add home 48.85,2.35 --places me.places, or name a GeoJSON file.",
        )
    try:
        value = json_module.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} is not readable GeoJSON.", "Export the places as GeoJSON.") from error
    if not isinstance(value, dict):
        raise InputError(f"{file} is not GeoJSON.", "Export the places as GeoJSON.")
    return places_from_geojson(file.stem, value, radius_m=radius_m, as_drawn=as_drawn)


def _zone_words(place: Place) -> str:
    return "an area as drawn" if place.zone is None else f"a zone of {place.zone.radius_m:g} m"


def _as_json(place: FoundPlace) -> dict[str, object]:
    return {
        "label": place.label,
        "lat": place.lat_deg,
        "lon": place.lon_deg,
        "visits": place.visits,
        "nights": place.nights,
        "stayed_s": place.stayed_s,
        "first_seen_s": place.first_seen_s,
        "last_seen_s": place.last_seen_s,
        "track_ends": place.track_ends,
        "scatter_m": place.scatter_m,
    }
