"""What ``hide`` asks before it writes: places that no zone covers though rides begin and end there. Private."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from sfumato.base.errors import InputError, NotCertified
from sfumato.base.files import write_text
from sfumato.base.units import count_of
from sfumato.tracks.folders.manifest import private_folder
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.given_places import point_deg
from sfumato.tracks.places.globe import distances_m
from sfumato.tracks.places.places_file import SAME_PLACE_M

_ADVICE = "Name them: sfumato places add NAME LAT,LON; or say --not-mine LAT,LON, or --unnamed warn."
_MOST = 10


class Unnamed:
    """Says which places are not covered, and asks for a word: on a terminal, or by ``--unnamed`` in scripts.

    What is not the owner's (``--not-mine``) is remembered beside the shared folder.
    """

    def __init__(self, out: Path, word: str | None, not_mine: Sequence[str], *, quiet: bool) -> None:
        if word not in (None, "refuse", "warn"):
            raise InputError(f"There is no --unnamed {word}.", "Say refuse, or warn.")
        self.file, self.word, self.quiet = private_folder(out) / "not_mine.json", word, quiet
        known = json.loads(self.file.read_text("utf-8")) if self.file.exists() else []
        self.not_mine = [(float(lat), float(lon)) for lat, lon in known] + [point_deg(text) for text in not_mine]
        self.found: list[FoundPlace] = []

    def __call__(self, found: Sequence[FoundPlace]) -> None:
        """Called with the places before anything is in place; raises where nothing should be."""
        self.found = [one for one in found if all(_apart_m(one, *at) >= SAME_PLACE_M for at in self.not_mine)]
        if not self.found:
            return
        if not self.quiet:
            typer.echo("Not covered by any zone, and in what you share (private):")
            for one in self.found[:_MOST]:
                typer.echo(f"  {_words(one)}")
            if len(self.found) > _MOST:
                typer.echo(f"  ... and {len(self.found) - _MOST} more: sfumato places find lists them.")
        count = count_of(len(self.found), "place")
        ask = self.word is None and not self.quiet and sys.stdin.isatty()
        if self.word == "refuse" or (ask and not typer.confirm(f"Share rides that show {count} without a zone?")):
            raise NotCertified(
                f"{count} where rides begin or end, or you slept, not named.", f"Nothing was written. {_ADVICE}"
            )
        if not self.quiet:
            typer.echo(f"  {_ADVICE}")

    def remember(self) -> None:
        """Keep what is not the owner's, for the next run."""
        if self.not_mine:
            write_text(self.file, json.dumps(self.not_mine), private=True)


def _apart_m(one: FoundPlace, lat_deg: float, lon_deg: float) -> float:
    return float(distances_m(one.lat_deg, one.lon_deg, lat_deg, lon_deg)[0])


def _words(one: FoundPlace) -> str:
    nights = f", {one.night_h:.0f} hours at night" if one.night_h >= 1 else ""
    ends = count_of(one.track_ends, "ride begins or ends", "rides begin or end")
    return f"{one.lat_deg:.5f},{one.lon_deg:.5f}: {ends} here{nights}, {count_of(one.visits, 'visit')}"
