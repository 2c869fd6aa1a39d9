"""The command ``hide``: rides in, the same rides out without what happened around your places.

Of a dataset, everybody's zones are cut out of their rows, in a folder that opens as a dataset. What attackers find is
said before anything is in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np
import typer

from sfumato.base.errors import InputError, NotCertified
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.units import count_of, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import (
    dataset_progress,
    named_columns,
    passphrase_in,
    points_read,
    rows_csv,
    say_left_out,
    say_rows,
    write_certificate,
)
from sfumato.cli.tracks.unnamed import Unnamed
from sfumato.pages.report.archive_page import private_page, public_page
from sfumato.tracks.certificates.document import certificate_beside, thin_protection
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.folders.rides.again import hide_again
from sfumato.tracks.folders.rides.hide import ends_asked, hide_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult
from sfumato.tracks.folders.rides.sharing import ALONE, Faces, Sharing, filled_beside
from sfumato.tracks.folders.rows.dataset import open_dataset
from sfumato.tracks.folders.rows.hide_dataset import DatasetLeaks, hide_dataset, places_in
from sfumato.tracks.folders.staging import SUMMARY_NAME
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.archive import count_members
from sfumato.tracks.io.draft import canonical
from sfumato.tracks.io.formats import is_dataset, names_a_file
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.places.find import FoundPlace
from sfumato.tracks.places.leak_test import PlaceLeak
from sfumato.tracks.places.leak_test import refuse_if_found as refuse_if_near
from sfumato.tracks.places.places_file import Places, load_places
from sfumato.tracks.places.zones import public_radius_m
from sfumato.tracks.plan import Plan, Times

_NEAR_M = 150.0
_ONE_ZONE = "A place has one zone for ever: a second would intersect it. Choose the radius with `places add --zone`."
_LATER = "Places named later"
_READ, _NOISE, _FILES = "How rides are read", "Noise on what remains", "Files and seals"


def register(app: typer.Typer) -> None:
    """Add ``hide`` to the app."""
    app.command("hide", help="Hide your places, keep the rides: everything around them is cut out of every track.")(
        hide
    )


def hide(
    sources: list[Path] = typer.Argument(
        ...,
        metavar="RIDES...",
        help="Folders, files, patterns, .gz, .zip, an export of Strava, Garmin or Google, or a Parquet dataset.",
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="The folder to share; run again to add new rides. A file for one ride."
    ),
    places: Path = typer.Option(
        ..., "--places", help="Your places file (see: sfumato places); of a dataset, a folder with one for each person."
    ),
    times: str = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released."),
    keep: list[str] = typer.Option([], help="Keep this field where there is one, e.g. elevation; repeat for more."),
    ends: str | None = typer.Option(
        None,
        help="Also cut around the first and last point of every ride: 400m, 800m or 1600m, off-centre, for ever; "
        "remembered with the folder, none ends it.",
    ),
    to: str | None = typer.Option(None, help="Write every ride as this format (csv, geojson, gpx, parquet ...)."),
    refuse_if_found: str | None = typer.Option(
        None, help="Share nothing if an attacker comes nearer to any place than this (e.g. 150m)."
    ),
    certificate: Path | None = typer.Option(None, help="Where the certificate goes (JSON); else beside the folder."),
    report: Path | None = typer.Option(None, help="Write the private report (HTML, 0600, shows your places) here."),
    public_report: Path | None = typer.Option(None, help="Write the report that may be shared here."),
    unnamed: str | None = typer.Option(
        None,
        help="Rides begin or end repeatedly, or you slept, outside every zone: refuse, or warn (asked if unsaid).",
        rich_help_panel=_LATER,
    ),
    not_mine: list[str] = typer.Option(
        [], help="LAT,LON of such a place that need not be hidden; remembered. Repeat for more.", rich_help_panel=_LATER
    ),
    again: bool = typer.Option(
        False,
        "--again",
        help="I moved, I forgot a place: build the shared folder anew, and say which files to delete where.",
        rich_help_panel=_LATER,
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="With --again: show it first; nothing is put in place.", rich_help_panel=_LATER
    ),
    lenient: bool = typer.Option(
        False, "--lenient", help="Exit with 0 although files could not be used or released.", rich_help_panel=_FILES
    ),
    force: bool = typer.Option(
        False, "--force", help="Write over the file named with -o, for one ride.", rich_help_panel=_FILES
    ),
    strict: bool = typer.Option(False, "--strict", help="Stop at the first file that cannot be used."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
    blur: str | None = typer.Option(
        None,
        help="Also add noise of this size per coordinate (m, km) to what remains, one process for all rides.",
        rich_help_panel=_NOISE,
    ),
    prior_class: str = typer.Option(
        "year", "--class", help="With --blur: length scales covered: day, week or year.", rich_help_panel=_NOISE
    ),
    state: Path | None = typer.Option(
        None, help="With --blur: the noise state, by default beside the output folder.", rich_help_panel=_NOISE
    ),
    zone: str | None = typer.Option(
        None,
        help="Refuse unless every zone has this radius (400m, 800m or 1600m); it is set by `places add`.",
        rich_help_panel=_FILES,
    ),
    keep_names: bool = typer.Option(
        False, "--keep-names", help="Keep file names; by default they tell nothing.", rich_help_panel=_FILES
    ),
    sign: Path | None = typer.Option(
        None, help="Sign the certificate with the Ed25519 key in this PEM file.", rich_help_panel=_FILES
    ),
    passphrase_file: Path | None = typer.Option(
        None, help="Open places file and state with this file's passphrase.", rich_help_panel=_FILES
    ),
    time_zone: str | None = typer.Option(
        None, help="Time zone of times that name none, e.g. Europe/Paris or UTC.", rich_help_panel=_READ
    ),
    column: list[str] = typer.Option(
        [], help="Name a table's column by role, e.g. lat=Y; repeat for more.", rich_help_panel=_READ
    ),
    user_column: str | None = typer.Option(
        None, help="A dataset's column of people; the same as --column id=...", rich_help_panel=_READ
    ),
    one_person: bool = typer.Option(
        False, "--one-person", help="All rows of every table are one person's.", rich_help_panel=_READ
    ),
    ids: str = typer.Option(
        "random", help="Of a dataset: new ids, with a private list that leads back; or keep.", rich_help_panel=_READ
    ),
    format: str | None = typer.Option(
        None, help="The rides' format, where ending and content do not tell.", rich_help_panel=_READ
    ),
) -> None:
    """What attackers still find is printed before anything is written; the output folder gets every ride once."""
    passphrase, limit_m = passphrase_in(passphrase_file), None if refuse_if_found is None else length_m(refuse_if_found)
    columns = named_columns([*column, *([] if user_column is None else [f"id={user_column}"])])
    signer, shown = None if sign is None else signer_with(sign), Times.parse(times)
    if is_dataset(sources) and (places.is_dir() or one_person or "id" in (columns or {})):
        unused = {"blur": blur, "state": state, "to": to, "keep-names": keep_names, "format": format}
        _refuse_unused({**unused, "report": report, "public-report": public_report, "again": again, "ends": ends})
        everybody = places_in(places, passphrase=passphrase) if not one_person else {}
        mine = load_places(places, passphrase=passphrase) if one_person else None
        _check_zones([mine] if mine is not None else list(everybody.values()), zone)
        heard = _Heard(limit_m, quiet=json)
        with dataset_progress(open_dataset(sources[0]).rows, quiet=json) as rows_read:
            hidden = hide_dataset(
                sources[0],
                output,
                mine or everybody,
                times=shown,
                keep=keep,
                ids=ids,
                reading=TableReading(columns, time_zone, one_person),
                strict=strict,
                step=rows_read,
                sign=signer,
                tested=heard,
            )
        write_certificate(certificate, hidden.document)
        if json:
            said = {"rows": hidden.rows, "released": hidden.released, "people": hidden.people}
            found = {"rejected": hidden.skipped, "leaks": [asdict(leaks) for leaks in heard.leaks]}
            print_json({"ok": True, "private": True, **said, **found, "certificate": hidden.document})
            return
        typer.echo(f"{hidden.released} rows of {hidden.people} people in {count_of(hidden.parts, 'part')} in {output}.")
        meaning, left = hidden.document["times"]["meaning"], hidden.rows - hidden.released
        typer.echo(f"{meaning} {left} of {hidden.rows} rows are left out.")
        say_left_out(hidden.skipped, None)
        typer.echo(f"Certificate: {output}/_certificate.json; check it with: sfumato verify {output}")
        return
    owner = load_places(places, passphrase=_if_sealed(places, passphrase))
    _check_zones([owner], zone)
    reading = SourceReading(format, time_zone, columns, tuple(canonical(name) for name in keep), one_person)
    plan = None if blur is None else Plan(noise_m=length_m(blur), prior_class=prior_class)

    def hear(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
        if not json:
            _say_leaks(leaks, unvisited)
            stop = "" if ends else " (As in this folder before; --ends none ends it.)"
            typer.echo("" if around is None else f"  {around.sentence()}{stop}", nl=around is not None)
        if limit_m is not None:
            refuse_if_near(leaks, limit_m)

    def write_down(document: Mapping[str, object]) -> None:
        write_certificate(certificate, document)
        if around is not None:
            around.keep(places, passphrase=_if_sealed(places, passphrase))

    asked = Unnamed(output, unnamed, not_mine, quiet=json)
    if dry_run and not again:
        raise InputError("--dry-run is for --again.", "`hide` says what attackers find before anything is in place.")
    rebuilt, certificate = None, certificate or certificate_beside(output)
    alone = names_a_file(sources, output, remembers=blur is not None or again or state is not None)
    around = ends_asked(output, owner, ends, noise_m=(plan and plan.noise_m) or 0.0)
    with progress("Hiding", count_members(sources), quiet=json) as step, ExitStack() as stack:
        faces = Faces(step, hear, sign=signer, certified=write_down, unnamed=asked)
        how = Sharing(reading, state, passphrase, keep_names, to, strict, faces)
        folder, how = stack.enter_context(filled_beside(sources, output, how, force=force)) if alone else (output, how)
        if again:
            rebuilt = hide_again(sources, output, owner, how, times=shown, blur=plan, ends=around, dry_run=dry_run)
            done = rebuilt.done
        else:
            done = hide_archive(sources, folder, owner, how, times=shown, blur=plan, ends=around)
    for line in () if rebuilt is None or json else rebuilt.sentences(output):
        typer.echo(line)
    if dry_run:
        if json and rebuilt is not None:
            print_json(rebuilt.to_dict())
        return
    folder = output.parent if alone else output
    if not alone:
        write_text(done.private / SUMMARY_NAME, rows_csv(done.rows), private=True)
    if report is not None:
        write_text(report, private_page(done, owner, folder), private=True)
    if public_report is not None:
        write_text(public_report, public_page(done, folder))
    asked.remember()
    code = int(bool(done.still_found or done.strangers or (not lenient and any(row.unreleased for row in done.rows))))
    where = str(output) if alone else f"{count_of(done.shared, 'file')} in {output}"
    if json:
        files = {"folder": output, "certificate": certificate, "report": report, "public_report": public_report}
        outputs = {name: str(path) for name, path in files.items() if path is not None}
        print_json({**_as_json(done, outputs, asked.found), **({} if rebuilt is None else rebuilt.to_dict())})
        raise typer.Exit(code)
    say_rows(done.rows)
    typer.echo(
        " Of the noise on the rest: ".join([f"{where}. {shown.sentence()}", *thin_protection(done.document["noise"])])
    )
    if done.document["kept"]:
        typer.echo(f"Kept as recorded: {', '.join(done.document['kept'])}.")
    beside = f"Private, beside it: {done.private} (manifest, summary). Keep it and your places file, next time."
    typer.echo(ALONE if alone else beside)
    typer.echo("What you published before without a zone cannot be taken back.")
    _say_folder(done, output)
    raise typer.Exit(code)


def _say_folder(done: ArchiveResult, output: Path) -> None:
    """What is no longer in the folder, what should not be in it, and what its certificate cannot say."""
    if gone := [row.source for row in done.rows if row.gone]:
        typer.echo(
            f"Taken out of {output} since they were shared, and left out: {', '.join(gone)}. Whoever has them keeps "
            "them; rename a ride to share it again."
        )
    if done.strangers:
        typer.echo(
            f"NOT COVERED: {', '.join(done.strangers)} in {output} did not come from here or changed since; while they "
            "are there the certificate does not hold. Take them out."
        )
    if done.lies_open:
        typer.echo("The certificate covers the zones that each file had when it was first shared, not later ones.")


def _refuse_unused(options: dict[str, object]) -> None:
    if given := [f"--{name}" for name, value in options.items() if value]:
        raise InputError(
            f"A dataset that is hidden takes no {', '.join(given)}.",
            "For noise on what is left: sfumato protect of the hidden folder. To look at one person, hide that "
            "person's rows as a track.",
        )


def _if_sealed(file: Path, passphrase: str | None) -> str | None:
    """One passphrase file may be for the state alone."""
    try:
        return passphrase if passphrase is None or '"sealed"' in file.read_text("utf-8") else None
    except (OSError, UnicodeError):
        return passphrase


def _check_zones(every: Sequence[Places], zone: str | None) -> None:
    if zone is None:
        return
    asked, drawn = public_radius_m(length_m(zone)), [place for places in every for place in places.active]
    other = [place.name for place in drawn if place.zone is not None and place.zone.radius_m != asked]
    if other:
        whose = f"The zone of {', '.join(other)} was" if len(every) == 1 else f"{len(other)} zones were"
        raise InputError(f"{whose} drawn with another radius than {asked:g} m.", _ONE_ZONE)


def _say_leaks(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
    found = ", ".join(dict.fromkeys("ends of rides" if leak.ride_end else leak.name for leak in leaks if leak.found))
    typer.echo(f"Can I still be found? {f'STILL FOUND: {found} ' if found else ''}(private)")
    for leak in sorted((one for one in leaks if not one.ride_end), key=lambda leak: not leak.found):
        typer.echo(f"  {leak.sentence()}")
    for name in unvisited:
        typer.echo(f"  {name}: no ride comes into its zone. Check its coordinates: latitude first, then longitude.")


class _Heard:
    """What attackers find over all people of a dataset: said, and refused where one comes too near."""

    def __init__(self, limit_m: float | None, *, quiet: bool) -> None:
        self.limit_m, self.quiet = limit_m, quiet
        self.leaks: list[DatasetLeaks] = []

    def __call__(self, leaks: DatasetLeaks) -> None:
        self.leaks.append(leaks)
        if not self.quiet:
            self._say(leaks)
        if self.limit_m is not None and leaks.nearest_m and leaks.nearest_m[0] < self.limit_m:
            near = sum(value < self.limit_m for value in leaks.nearest_m)
            raise NotCertified(
                f"An attacker comes nearer than {self.limit_m:g} m to {near} of {leaks.places} places.",
                "Nothing was written. Leave those people's rides out; do not draw a zone again, two zones of one "
                "place intersect.",
            )

    def _say(self, leaks: DatasetLeaks) -> None:
        typer.echo("Can people still be found? (private)")
        if leaks.left_out:
            typer.echo(f"  {leaks.left_out} people have no places file and are left out.")
        typer.echo(f"  {leaks.places} places of {leaks.people} people; nothing points to {leaks.unvisited} of them.")
        if leaks.nearest_m:
            lower, middle = np.quantile(leaks.nearest_m, (0.05, 0.5))
            typer.echo(
                f"  The best attacker misses the others by {middle:.0f} m (median), {lower:.0f} m (one in twenty), "
                f"{leaks.nearest_m[0]:.0f} m (nearest); {sum(m < _NEAR_M for m in leaks.nearest_m)} are found to "
                f"{_NEAR_M:g} m."
            )


def _as_json(done: ArchiveResult, files: dict[str, str], unnamed: Sequence[FoundPlace]) -> dict[str, object]:
    return {
        "ok": not (done.still_found or done.strangers),
        "private": True,
        "rows": [asdict(row) for row in done.rows],
        "points_read": points_read(done.rows).to_dict(),
        "leaks": [{**asdict(leak), "sentence": leak.sentence()} for leak in done.leaks],
        "unvisited": list(done.unvisited),
        "unnamed": [asdict(place) for place in unnamed],
        "lies_open": done.lies_open,
        "strangers": list(done.strangers),
        "certificate": done.document,
        "outputs": files,
    }
