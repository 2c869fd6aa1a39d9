"""What ``sfumato hide`` does once its options are read: load the places, run the archive, print, write the pages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.units import count_of, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import passphrase_in, points_read, rows_csv, say_rows, write_certificate
from sfumato.cli.tracks.hidden_dataset import run_hide_dataset
from sfumato.cli.tracks.protect import named_columns
from sfumato.pages.report.archive_page import private_page, public_page
from sfumato.tracks.certificates.sign import signer_with
from sfumato.tracks.folders.rides.hide import hide_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult, Faces, Sharing, SourceReading
from sfumato.tracks.folders.staging import SUMMARY_NAME
from sfumato.tracks.io.archive import count_members
from sfumato.tracks.io.draft import canonical
from sfumato.tracks.io.formats import is_dataset
from sfumato.tracks.places import PlaceLeak, Places, load_places, refuse_if_found
from sfumato.tracks.places.zones import public_radius_m
from sfumato.tracks.plan import Plan
from sfumato.tracks.times_released import Times


@dataclass(frozen=True, slots=True)
class HideOptions:
    """The options of ``sfumato hide``, as typed."""

    sources: list[Path]
    output: Path
    places: Path
    zone: str | None
    blur: str | None
    times: str
    keep: list[str]
    keep_names: bool
    to: str | None
    sign: Path | None
    refuse_if_found: str | None
    certificate: Path | None
    report: Path | None
    public_report: Path | None
    prior_class: str
    state: Path | None
    passphrase_file: Path | None
    strict: bool
    time_zone: str | None
    column: list[str]
    one_person: bool
    format: str | None
    json: bool


def run_hide(asked: HideOptions) -> None:
    """Every ride hidden, or nothing; what attackers find is said before anything is in place."""
    passphrase = passphrase_in(asked.passphrase_file)
    if is_dataset(asked.sources) and (asked.places.is_dir() or asked.one_person or _has_people(asked)):
        _run_dataset(asked, passphrase)
        return
    mine = load_places(asked.places, passphrase=_if_sealed(asked.places, passphrase))
    _check_zone(mine, asked.zone)
    limit_m = None if asked.refuse_if_found is None else length_m(asked.refuse_if_found)

    def tested(leaks: tuple[PlaceLeak, ...], unvisited: tuple[str, ...]) -> None:
        if not asked.json:
            _say_leaks(leaks, unvisited)
        if limit_m is not None:
            refuse_if_found(leaks, limit_m)

    with progress("Hiding", count_members(asked.sources), quiet=asked.json) as step:
        keep = tuple(canonical(name) for name in asked.keep)
        reading = SourceReading(asked.format, asked.time_zone, named_columns(asked.column), keep, asked.one_person)
        faces = Faces(
            step,
            tested,
            sign=None if asked.sign is None else signer_with(asked.sign),
            certified=lambda document: write_certificate(asked.certificate, document),
        )
        how = Sharing(reading, asked.state, passphrase, asked.keep_names, asked.to, asked.strict, faces)
        blur = None if asked.blur is None else Plan(noise_m=length_m(asked.blur), prior_class=asked.prior_class)
        done = hide_archive(asked.sources, asked.output, mine, how, times=Times.parse(asked.times), blur=blur)
    write_text(done.private / SUMMARY_NAME, rows_csv(done.rows), private=True)
    _pages(done, mine, asked.output, asked.report, asked.public_report)
    outputs = {"certificate": asked.certificate, "report": asked.report, "public_report": asked.public_report}
    if asked.json:
        print_json(_as_json(done, asked.output, outputs))
        return
    say_rows(done.rows)
    typer.echo(f"{count_of(done.shared, 'file')} in {asked.output}. {Times.parse(asked.times).sentence()}")
    if done.document["kept"]:
        typer.echo(f"Kept as recorded: {', '.join(done.document['kept'])}.")
    typer.echo(f"Private, beside it: {done.private} (manifest, summary). Keep it and your places file, for next time.")
    typer.echo("What you published before without a zone cannot be taken back.")


def _has_people(asked: HideOptions) -> bool:
    return "id" in (named_columns(asked.column) or {})


def _run_dataset(asked: HideOptions, passphrase: str | None) -> None:
    run_hide_dataset(
        asked.sources[0],
        asked.output,
        asked.places,
        named_columns(asked.column),
        zone=asked.zone,
        times=asked.times,
        keep=asked.keep,
        sign=asked.sign,
        refuse_within=asked.refuse_if_found,
        certificate=asked.certificate,
        passphrase=passphrase,
        strict=asked.strict,
        time_zone=asked.time_zone,
        one_person=asked.one_person,
        unused={
            "blur": asked.blur,
            "state": asked.state,
            "to": asked.to,
            "keep-names": asked.keep_names,
            "format": asked.format,
            "report": asked.report,
            "public-report": asked.public_report,
        },
        json=asked.json,
    )


def _if_sealed(file: Path, passphrase: str | None) -> str | None:
    """One passphrase file may be for the state alone."""
    try:
        return passphrase if passphrase is None or '"sealed"' in file.read_text("utf-8") else None
    except (OSError, UnicodeError):
        return passphrase


def _check_zone(places: Places, zone: str | None) -> None:
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
    if report is not None:
        write_text(report, private_page(done, places, out), private=True)
    if public_report is not None:
        write_text(public_report, public_page(done, out))


def _as_json(done: ArchiveResult, output: Path, files: dict[str, Path | None]) -> dict[str, Any]:
    return {
        "ok": True,
        "private": True,
        "rows": [asdict(row) for row in done.rows],
        "points_read": points_read(done.rows).to_dict(),
        "leaks": [{**asdict(leak), "sentence": leak.sentence()} for leak in done.leaks],
        "unvisited": list(done.unvisited),
        "certificate": done.document,
        "outputs": {"folder": str(output), **{name: str(path) for name, path in files.items() if path is not None}},
    }
