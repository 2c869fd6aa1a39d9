"""The command ``hide``: rides in, the same rides out without what happened around your places."""

from __future__ import annotations

from pathlib import Path

import typer


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
    output: Path = typer.Option(..., "--output", "-o", help="The folder to share. Run again to add new rides."),
    places: Path = typer.Option(
        ..., "--places", help="Your places file (see: sfumato places); of a dataset, a folder with one for each person."
    ),
    zone: str | None = typer.Option(
        None, help="Refuse unless every zone has this radius (400m, 800m or 1600m); it is set by `places add`."
    ),
    blur: str | None = typer.Option(
        None, help="Also add noise of this size per coordinate (m, km) to what remains, one process for all rides."
    ),
    times: str = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released."),
    keep: list[str] = typer.Option([], help="Keep this field where there is one, e.g. elevation; repeat for more."),
    keep_names: bool = typer.Option(False, "--keep-names", help="Keep file names; by default they tell nothing."),
    to: str | None = typer.Option(None, help="Write every ride as this format (csv, geojson, gpx, parquet ...)."),
    sign: Path | None = typer.Option(None, help="Sign the certificate with the Ed25519 key in this PEM file."),
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
    user_column: str | None = typer.Option(None, help="A dataset's column of people; the same as --column id=..."),
    one_person: bool = typer.Option(False, "--one-person", help="All rows of every table are one person's."),
    format: str | None = typer.Option(None, help="The rides' format, where ending and content do not tell."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object (private) and nothing else."),
) -> None:
    """What attackers still find is printed before anything is written; the output folder gets every ride once."""
    from sfumato.cli.tracks.hidden import HideOptions, run_hide

    run_hide(
        HideOptions(
            sources=sources,
            output=output,
            places=places,
            zone=zone,
            blur=blur,
            times=times,
            keep=keep,
            keep_names=keep_names,
            to=to,
            sign=sign,
            refuse_if_found=refuse_if_found,
            certificate=certificate,
            report=report,
            public_report=public_report,
            prior_class=prior_class,
            state=state,
            passphrase_file=passphrase_file,
            strict=strict,
            time_zone=time_zone,
            column=column if user_column is None else [*column, f"id={user_column}"],
            one_person=one_person,
            format=format,
            json=json,
        )
    )
