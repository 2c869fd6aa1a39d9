"""The command ``hide``: rides in, the same rides out without what happened around your places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.archive_faces import passphrase_in, progress, rows_csv, say_rows
from sfumato.cli.output import print_json
from sfumato.cli.protect import named_columns
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.archives import ArchiveResult
    from sfumato.places import PlaceLeak, Places


def register(app: typer.Typer) -> None:
    """Add ``hide`` to the app."""
    app.command("hide", help="Hide your places, keep the rides: everything around them is cut out of every track.")(
        hide
    )


def hide(
    sources: list[Path] = typer.Argument(
        ..., metavar="RIDES...", help="Folders, files, patterns, .gz, .zip, or an export of Strava, Garmin or Google."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="The folder to share. Run again to add new rides."),
    places: Path = typer.Option(..., "--places", help="Your places file (see: sfumato places)."),
    zone: str | None = typer.Option(
        None, help="Refuse unless every zone has this radius (400m, 800m or 1600m); it is set by `places add`."
    ),
    blur: str | None = typer.Option(
        None, help="Also add noise of this size per coordinate (m, km) to what remains, one process for all rides."
    ),
    times: str = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released."),
    keep: list[str] = typer.Option([], help="Keep this field where there is one, e.g. elevation; repeat for more."),
    keep_names: bool = typer.Option(False, "--keep-names", help="Keep file names; by default they tell nothing."),
    refuse_if_found: str | None = typer.Option(
        None, help="Share nothing if an attacker comes nearer to any place than this (e.g. 150m)."
    ),
    certificate: Path | None = typer.Option(None, help="Write the certificate of all files (JSON) here."),
    report: Path | None = typer.Option(None, help="Write the private report (HTML, 0600, shows your places) here."),
    public_report: Path | None = typer.Option(None, help="Write the report that may be shared here."),
    prior_class: str = typer.Option("year", "--class", help="With --blur: length scales covered: day, week or year."),
    state: Path | None = typer.Option(None, help="With --blur: the noise state, by default beside the output folder."),
    passphrase_file: Path | None = typer.Option(None, help="Open places file and state with this file's passphrase."),
    strict: bool = typer.Option(False, "--strict", help="Stop at the first file that cannot be used."),
    time_zone: str | None = typer.Option(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    format: str | None = typer.Option(None, help="The rides' format, where ending and content do not tell."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """What attackers still find is printed before anything is written; the output folder gets every ride once."""
    from sfumato.archives.job import Reading
    from sfumato.archives.runs import Faces, hide_archive
    from sfumato.certificates.document import certificate_text
    from sfumato.files import write_text
    from sfumato.io.archive import count_members
    from sfumato.io.draft import canonical
    from sfumato.places import load_places
    from sfumato.places import refuse_if_found as refuse
    from sfumato.times_released import Times
    from sfumato.units import length_m

    passphrase = passphrase_in(passphrase_file)
    mine = load_places(places, passphrase=_if_sealed(places, passphrase))
    _check_zone(mine, zone)
    limit_m = None if refuse_if_found is None else length_m(refuse_if_found)

    def tested(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
        if not json:
            _say_leaks(leaks, unvisited)
        if limit_m is not None:
            refuse(leaks, limit_m)

    with progress("Hiding", count_members(sources), quiet=json) as step:
        done = hide_archive(
            sources,
            output,
            mine,
            reading=Reading(format, time_zone, named_columns(column), tuple(canonical(name) for name in keep)),
            times=Times.parse(times),
            blur_m=None if blur is None else length_m(blur),
            prior_class=prior_class,
            state=state,
            passphrase=passphrase,
            keep_names=keep_names,
            strict=strict,
            faces=Faces(step, tested),
        )
    write_text(done.private / "summary.csv", rows_csv(done.rows), private=True)
    if certificate is not None:
        write_text(certificate, certificate_text(done.document))
    _pages(done, mine, output, report, public_report)
    outputs = {"certificate": certificate, "report": report, "public_report": public_report}
    if json:
        print_json(_as_json(done, output, outputs))
        return
    say_rows(done.rows)
    typer.echo(f"{done.shared} file(s) in {output}. {Times.parse(times).sentence()}")
    typer.echo(f"Private, beside it: {done.private} (manifest, summary). Keep it, and your places file, for next time.")
    typer.echo("What you published before without a zone cannot be taken back.")


def _if_sealed(file: Path, passphrase: str | None) -> str | None:
    """One passphrase file may be for the state alone."""
    try:
        return passphrase if passphrase is None or '"sealed"' in file.read_text("utf-8") else None
    except (OSError, UnicodeError):
        return passphrase


def _check_zone(places: Places, zone: str | None) -> None:
    from sfumato.places.zones import public_radius_m
    from sfumato.units import length_m

    if zone is None:
        return
    asked = public_radius_m(length_m(zone))
    other = [place.name for place in places.active if place.zone is not None and place.zone.radius_m != asked]
    if other:
        raise InputError(
            f"The zone of {', '.join(other)} was drawn with another radius than {asked:g} m.",
            "A place has one zone for ever: a second would intersect it. Choose the radius with `places add --zone`.",
        )


def _say_leaks(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
    typer.echo("Can I still be found? (private)")
    for leak in leaks:
        typer.echo(f"  {leak.sentence()}")
    for name in unvisited:
        typer.echo(f"  {name}: no ride comes into its zone. Check its coordinates: latitude first, then longitude.")


def _pages(done: ArchiveResult, places: Places, out: Path, report: Path | None, public_report: Path | None) -> None:
    from sfumato.files import write_text

    if report is None and public_report is None:
        return
    from sfumato.report.archive_page import private_page, public_page

    if report is not None:
        write_text(report, private_page(done, places, out), private=True)
    if public_report is not None:
        write_text(public_report, public_page(done, out))


def _as_json(done: ArchiveResult, output: Path, files: dict[str, Path | None]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "ok": True,
        "private": True,
        "rows": [asdict(row) for row in done.rows],
        "leaks": [{**asdict(leak), "sentence": leak.sentence()} for leak in done.leaks],
        "unvisited": list(done.unvisited),
        "certificate": done.document,
        "outputs": {"folder": str(output), **{name: str(path) for name, path in files.items() if path is not None}},
    }
