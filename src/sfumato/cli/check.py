"""The commands that look at a release again: ``audit`` and ``verify``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.output import fail, print_json
from sfumato.cli.protect import named_columns
from sfumato.errors import InputError, VerificationFailed
from sfumato.units import plain_number


def register(app: typer.Typer) -> None:
    """Add ``audit`` and ``verify`` to the app."""
    app.command("audit", help="Measure what an adversary still learns, from original and release.")(audit)
    app.command("verify", help="Is a release unchanged, clean, plausible and protected? Exit 1 if not.")(verify)


def audit(
    paths: list[Path] = typer.Argument(
        ...,
        metavar="ORIGINAL... RELEASE",
        help="The original track (stays on this machine) and the release made from it; or an archive (folders, files, "
        "patterns, .gz, .zip) and the folder that was shared.",
    ),
    certificate: Path = typer.Option(..., help="The release's certificate."),
    prior: str = typer.Option("fit", help="What the adversary believes: 'fit', 'preset' or a preset's name."),
    places: Path | None = typer.Option(None, help="For an archive with hidden places: your places file."),
    passphrase_file: Path | None = typer.Option(None, help="Open the places file with this file's passphrase."),
    report: Path | None = typer.Option(None, help="For an archive: write the private page (HTML, 0600) here."),
    time_zone: str | None = typer.Option(None, help="Time zone of the original's times that name none."),
    column: list[str] = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more."),
    one_person: bool = typer.Option(False, "--one-person", help="All rows of every table are one person's."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Errors and intervals are per coordinate, in metres."""
    if len(paths) < 2:
        raise InputError("An audit compares originals with their release.", "Name the original, then the release.")
    *originals, release = paths
    if release.is_dir():
        import_module("sfumato.cli.audited_archive").run_audit_archive(
            originals,
            release,
            certificate,
            prior,
            places,
            passphrase_file,
            report,
            (time_zone, column, one_person),
            json=json,
        )
        return
    if len(originals) > 1 or places is not None or report is not None:
        raise InputError(
            "Several originals, --places and --report are for an archive.", "Name the shared folder as the last."
        )
    _audit_track(originals[0], release, certificate, prior, (time_zone, column, one_person), json=json)


def _audit_track(
    original: Path,
    release: Path,
    certificate: Path,
    prior: str,
    reading: tuple[str | None, list[str], bool],
    *,
    json: bool,
) -> None:
    from sfumato.adversary.audit import audit as measure
    from sfumato.certificates.build import rounded_times
    from sfumato.certificates.verify import check_belongs, read_certificate
    from sfumato.io import read_trace
    from sfumato.io.archive import only_track

    time_zone, column, one_person = reading
    with only_track(original) as file:
        first = rounded_times(read_trace(file, zone=time_zone, columns=named_columns(column), one_person=one_person))
    second, document = read_trace(release, one_person=True), read_certificate(certificate)
    try:
        check_belongs(document, second)
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    found = measure(first, second, document, prior=prior)
    if json:
        print_json({**found.to_dict(), "points_read": first.points_read.to_dict()})
        if found.unprotected:
            raise SystemExit(1)
        return
    if words := first.points_read.sentence():
        typer.echo(words)
    typer.echo(f"Points compared           {found.points}")
    typer.echo(f"Adversary's prior         {_prior_words(found.prior_used)}")
    for label, value in (
        ("Error, release as it is", found.rms_error_raw_m),
        ("Error after smoothing", found.rms_error_smoothed_m),
        ("68% interval, half-width", found.interval_68_m),
    ):
        typer.echo(f"{label:<26}{'-' if value is None else f'{value:.1f} m per coordinate'}")
    if found.coverage_68 is not None:
        typer.echo(f"Truth inside it           {100 * found.coverage_68:.0f}% of the time")
    if found.held_out is not None:
        left = found.held_out
        typer.echo(
            f"Held out (prior fitted to the other half, place unknown): error {left['rms_error_smoothed_m']:.1f} m, "
            f"interval {left['interval_68_m']:.1f} m, truth inside it {100 * left['coverage_68']:.0f}% of the time"
        )
    typer.echo(found.verdict)
    if found.unprotected:
        raise SystemExit(1)


def _prior_words(prior: Mapping[str, Any]) -> str:
    """Which prior the adversary used, in a few words."""
    kernel = prior.get("kernel") or {}
    parts = kernel.get("parts", [kernel])
    words = [
        f"{part['kernel']} {plain_number(part['length_scale_s'])} s, sd {plain_number(part['sd_m'])} m"
        if "length_scale_s" in part
        else f"{part['kernel']} {plain_number(part['sd_m'])} m"
        for part in parts
        if "kernel" in part and "sd_m" in part
    ]
    return f"{prior.get('source', '')}: {' + '.join(words)}" if words else str(prior.get("source", ""))


def verify(
    certificate: Path = typer.Argument(..., help="The certificate (JSON)."),
    release: Path = typer.Option(..., help="The release it speaks about; a folder for an archive."),
    signer: str | None = typer.Option(None, help="Demand a signature by this public key (PEM file or base64)."),
    ignore_wording: bool = typer.Option(
        False, "--ignore-wording", help="Check the numbers only: for a certificate that another version worded."
    ),
    format: str | None = typer.Option(None, help="The release's format, where ending and content do not tell."),
    require: str = typer.Option("", help="Demand more, e.g. odds=5,radius=200m,class=day,no-kept,signed,releases."),
    raw: Path | None = typer.Option(None, help="For a smoothed track: the release it was made from."),
    report: Path | None = typer.Option(None, help="Write the verdict as a page (HTML) here."),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Unchanged? Clean? Plausible? Protected? Exit 0 only if all four, and all that --require names."""
    from sfumato.certificates.verdict import Verdict, judge

    if release.is_dir():
        if require or report is not None:
            raise InputError("A folder takes no --require and no --report.", "Verify its files one by one for those.")
        _verify_folder(certificate, release, signer=signer, ignore_wording=ignore_wording, json=json)
        return
    if _kind(certificate) == "sfumato smoothed track certificate":
        look = partial(import_module("sfumato.answers.smoothed").judge_smoothed, raw=raw)
    elif raw is not None:
        raise InputError("--raw is for a smoothed track's certificate.", "Leave it out.")
    else:
        look = partial(judge)
    found: Verdict = look(
        certificate, release=release, format=format, signer=signer, ignore_wording=ignore_wording, require=require
    )
    if report is not None:
        from sfumato.report.verdict_page import write_verdict

        write_verdict(found, report)
    if json:
        print_json(found.to_dict())
    else:
        for line in found.lines():
            typer.echo(line)
        for line in found.checks:
            typer.echo(f"  - checked: {line}")
        for line in found.notes:
            typer.echo(f"  note: {line}")
    if not found.unchanged:
        typer.echo(f"Error: {found.reasons['unchanged']}", err=True)
    if not found.ok:
        raise SystemExit(1)


def _kind(certificate: Path) -> object:
    """What kind of certificate it says to be; what cannot be read is judged, and said, later."""
    from sfumato.certificates.verify import read_certificate

    try:
        return read_certificate(certificate).get("kind")
    except VerificationFailed:
        return None


def _verify_folder(certificate: Path, folder: Path, *, signer: str | None, ignore_wording: bool, json: bool) -> None:
    """An archive that ``hide`` wrote: everything recomputed from its certificate and its files."""
    archive = import_module("sfumato.archives.statement")  # loads the places, which one track does not need
    try:
        found = archive.verify_archive(certificate, folder, signer=signer, ignore_wording=ignore_wording)
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    if json:
        print_json(found.to_dict())
        return
    words = "The certificate holds" if found.wording_checked else "The numbers hold; the wording was not checked"
    typer.echo(f"{words}. Recomputed and found equal:")
    for line in found.checks:
        typer.echo(f"  - {line}")
    for line in found.notes:
        typer.echo(f"  note: {line}")
