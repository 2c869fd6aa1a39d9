"""``sfumato places``: find, add, list and remove the places that ``hide`` withholds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

_NEGATIVE = re.compile(r"^-[0-9.]+,")
_PLACES = typer.Option(..., "--places", help="Your places file (0600, made if absent). Keep it, and keep a copy.")
_PASSPHRASE = typer.Option(None, help="Seal or open the places file with the passphrase in this file.")


class _Coordinates(TyperCommand):
    """A command that takes ``-33.9,151.2`` for what it is: a place in the south, not options."""

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


def _kept() -> Any:
    """What the commands do, loaded when one is called."""
    return import_module("sfumato.cli.tracks.places_kept")


def find(
    sources: list[Path] = typer.Argument(..., metavar="RIDES...", help="Folders, files, patterns, .gz, .zip, exports."),
    page: Path | None = typer.Option(None, "--map", help="Write a map of them (HTML, 0600, private) here."),
    most: int = typer.Option(20, help="List at most this many."),
    time_zone: str | None = typer.Option(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    one_person: bool = typer.Option(False, "--one-person", help="All rows of every table are one person's."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """Labels are guesses by the hours you were there. Places that you do not name stay in what you share."""
    _kept().run_find(
        sources=sources,
        page=page,
        most=most,
        time_zone=time_zone,
        column=column,
        one_person=one_person,
        json=json,
    )


def add(
    name: str = typer.Argument(..., help="What you call it, e.g. home; or a GeoJSON file of points and outlines."),
    where: str | None = typer.Argument(None, metavar="[LAT,LON]", help="Latitude and longitude, e.g. -33.9,151.2."),
    places: Path = _PLACES,
    zone: str = typer.Option("1600m", help="Radius of its zone: 400m, 800m or 1600m. Choose before you look."),
    as_drawn: bool = typer.Option(
        False, "--as-drawn", help="Withhold outlines of a GeoJSON exactly as drawn: shows where they are."
    ),
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """The zone is a disc around a random centre, from the operating system's entropy; a second is never drawn."""
    _kept().run_add(
        name=name, where=where, places=places, zone=zone, as_drawn=as_drawn, passphrase_file=passphrase_file, json=json
    )


def list_places(
    places: Path = _PLACES,
    where: bool = typer.Option(False, "--where", help="Also show where they are."),
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """Where they are is shown only when asked for: somebody may look over your shoulder."""
    _kept().run_list_places(places=places, where=where, passphrase_file=passphrase_file, json=json)


def remove(
    name: str = typer.Argument(..., help="The place's name."),
    places: Path = _PLACES,
    passphrase_file: Path | None = _PASSPHRASE,
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Its zone is remembered, so that naming the place again does not draw a second one."""
    _kept().run_remove(name=name, places=places, passphrase_file=passphrase_file, json=json)
