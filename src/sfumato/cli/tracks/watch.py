"""The command ``watch``: a folder into which rides come, each finished one released once by the job of ``hide``."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import typer

from sfumato.base.errors import InputError, SfumatoError
from sfumato.base.files import write_text
from sfumato.base.units import count_of, duration_s, length_m
from sfumato.cli.tracks.archive_faces import passphrase_in, rows_csv, write_certificate
from sfumato.cli.tracks.unnamed import Unnamed
from sfumato.tracks.certificates.document import certificate_beside
from sfumato.tracks.folders.rides.hide import ends_asked, hide_archive
from sfumato.tracks.folders.rides.inbox import Doorbell, files_ready, stamp_of
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.rides.sharing import Faces, Sharing
from sfumato.tracks.folders.staging import SUMMARY_NAME
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.draft import canonical
from sfumato.tracks.places.ends import RideEnds
from sfumato.tracks.places.leak_test import PlaceLeak, refuse_if_found
from sfumato.tracks.places.places_file import load_places
from sfumato.tracks.plan import Plan, Times

_READ, _WHEN = "How rides are read", "When"
_LONGEST_S = 3600.0  # between two tries where one fails again and again


def register(app: typer.Typer) -> None:
    """Add ``watch`` to the app."""
    app.command("watch", help="Watch a folder, and release each finished file once, without your places.")(watch)


def watch(
    inbox: Path = typer.Argument(..., metavar="INBOX", help="The folder into which rides come. Nothing in it changes."),
    output: Path = typer.Option(..., "--output", "-o", help="The folder to share."),
    places: Path | None = typer.Option(None, help="Hide the places of this file, as `sfumato hide` does."),
    state: Path | None = typer.Option(None, help="Instead: noise that goes on from this state, as `sfumato protect`."),
    noise: str | None = typer.Option(None, help="With --state: the size of the noise per coordinate, e.g. 30m."),
    times: str = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released."),
    keep: list[str] = typer.Option([], help="Keep this field where there is one, e.g. elevation; repeat for more."),
    refuse_found: str | None = typer.Option(
        None, "--refuse-if-found", help="Share nothing if an attacker comes nearer to any place than this (e.g. 150m)."
    ),
    unnamed: str = typer.Option(
        "warn", help="Rides begin or end repeatedly outside every zone, or somebody slept: refuse, or warn."
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object a line and nothing else."),
    certificate: Path | None = typer.Option(None, help="Where the certificate goes (JSON); else beside the folder."),
    once: bool = typer.Option(
        False, "--once", help="Release what is finished, and end: for timers and cron.", rich_help_panel=_WHEN
    ),
    settle: str = typer.Option(
        "20s", help="A file is finished when nothing touched it for so long.", rich_help_panel=_WHEN
    ),
    every: str = typer.Option(
        "60s", help="Look at least so often (at once, where the system says that files came).", rich_help_panel=_WHEN
    ),
    time_zone: str | None = typer.Option(
        None, help="Time zone of times that name none, e.g. Europe/Paris or UTC.", rich_help_panel=_READ
    ),
    one_person: bool = typer.Option(
        False, "--one-person", help="All rows of every table are one person's.", rich_help_panel=_READ
    ),
    passphrase_file: Path | None = typer.Option(
        None, help="Open places file or state with this file's passphrase.", rich_help_panel=_READ
    ),
) -> None:
    """Killed at any moment, it goes on where it was. What is printed holds no place, no name of a file and no time of a
    ride; the private folder beside the output has a summary of every file."""
    if (places is None) == (state is None):
        raise InputError("What shall be done with a file?", "Give --places to hide places, or --state to add noise.")
    if (state is None) != (noise is None):
        raise InputError("--state and --noise belong together.", "Say --state me.state --noise 30m.")
    if not inbox.is_dir():
        raise InputError(f"There is no folder {inbox}.", "Make it first: a name that is mistyped would wait for ever.")
    settle_s, every_s, passphrase = duration_s(settle), duration_s(every), passphrase_in(passphrase_file)
    reading = SourceReading(None, time_zone, None, tuple(canonical(name) for name in keep), one_person)
    shown, file = Times.parse(times), certificate or certificate_beside(output)
    limit_m = None if refuse_found is None else length_m(refuse_found)
    plan = None if noise is None else Plan(noise_m=length_m(noise), prior_class="year", times=times, keep=tuple(keep))
    bell, before, pause_s, said = Doorbell(inbox), None, every_s, ""
    while True:
        bell.listen()
        ready, soonest_s = files_ready(inbox, settle_s)
        now, code = (ready, None if places is None else stamp_of(places)), 0
        if ready and now != before:
            asked = Unnamed(output, unnamed, [], quiet=True)

            how = Sharing(reading, state, passphrase, ready=frozenset(ready).__contains__)
            try:
                if plan is not None:
                    faces = Faces(certified=lambda document: write_certificate(file, document), unnamed=asked)
                    done = protect_archive([inbox], output, plan, replace(how, faces=faces))
                else:
                    assert places is not None
                    owner = load_places(places, passphrase=passphrase)
                    ends = ends_asked(output, owner, None)
                    faces = _faces(limit_m, file, places, ends, passphrase, asked)
                    done = hide_archive([inbox], output, owner, replace(how, faces=faces), times=shown, ends=ends)
            except SfumatoError as error:
                if once:
                    raise
                words, pause_s = f"{error.what} {error.advice}", min(2 * pause_s, _LONGEST_S)
                counts = {"ok": False, "error": words}
            else:
                write_text(done.private / SUMMARY_NAME, rows_csv(done.rows), private=True)
                counts = _counts(done, len(asked.found))
                words, code = _said(counts, done), 0 if counts["ok"] else 1
                before, pause_s = now, every_s
            if words != said:
                at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
                typer.echo(json_module.dumps({"at": at, **counts}) if json else f"{at} {words}")
            said = words
        if once:
            raise typer.Exit(code)
        bell.wait(pause_s if soonest_s is None else min(pause_s, soonest_s + 0.1))


def _faces(
    limit_m: float | None, file: Path, places: Path, ends: RideEnds | None, passphrase: str | None, asked: Unnamed
) -> Faces:
    def hear(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
        if limit_m is not None:
            refuse_if_found(leaks, limit_m)

    def write_down(document: Mapping[str, object]) -> None:
        write_certificate(file, document)
        if ends is not None:
            ends.keep(places, passphrase=passphrase)

    return Faces(tested=hear, certified=write_down, unnamed=asked)


def _counts(done: ArchiveResult, unnamed: int) -> dict[str, object]:
    unreleased, strangers = sum(row.unreleased for row in done.rows), len(done.strangers)
    counts = {"new": sum(row.new for row in done.rows), "shared": done.shared, "unreleased": unreleased}
    found = sum(leak.found and not leak.lies_open for leak in done.leaks)
    ok = not (done.still_found or strangers or unreleased)
    return {"ok": ok, **counts, "strangers": strangers, "lies_open": done.lies_open, "found": found, "unnamed": unnamed}


def _said(counts: dict[str, object], done: ArchiveResult) -> str:
    """One line without a place, a name or a time."""
    words = {
        "unreleased": f"NOT RELEASED: {{}}, see {done.private / SUMMARY_NAME}.",
        "strangers": "NOT COVERED: {}, in the folder though not from here.",
        "found": "STILL FOUND: roads lead to {}; sfumato hide says to which.",
        "unnamed": "No zone covers {} where rides end or nights were spent; sfumato hide lists them.",
    }
    parts = [f"{count_of(int(str(counts['new'])), 'new file')}, {done.shared} in {done.private.stem}."]
    for name, said in words.items():
        if count := int(str(counts[name])):
            parts.append(said.format(count_of(count, "file" if name in ("unreleased", "strangers") else "place")))
    if done.lies_open:
        parts.append("STILL FOUND: a place lies open in files shared before; sfumato hide --again says what to do.")
    return " ".join(parts)
