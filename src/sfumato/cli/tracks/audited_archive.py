"""What ``sfumato audit`` does with an archive: originals beside the shared folder, one table, one private page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from sfumato.base.errors import VerificationFailed
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.cli.output import fail, print_json
from sfumato.cli.tracks.archive_faces import passphrase_in, points_read
from sfumato.cli.tracks.protect import named_columns
from sfumato.pages.report.audit_page import audit_page, noise_lines
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.folders.audit_archive import ArchiveAudit, AuditRow, audit_archive
from sfumato.tracks.folders.rides.ride_job import SourceReading
from sfumato.tracks.io.archive import count_members
from sfumato.tracks.places import load_places

_MOST_LINES = 20


def run_audit_archive(
    originals: list[Path],
    folder: Path,
    certificate: Path,
    prior: str,
    places: Path | None,
    passphrase_file: Path | None,
    report: Path | None,
    reading: tuple[str | None, list[str], bool],
    *,
    json: bool,
) -> None:
    """Attack the shared folder with the originals at hand; exit 1 where it is the original, or not as certified."""
    time_zone, column, one_person = reading
    mine = None if places is None else load_places(places, passphrase=passphrase_in(passphrase_file))
    try:
        with progress("Auditing", count_members(originals), quiet=json) as step:
            found = audit_archive(
                originals,
                folder,
                certificate,
                places=mine,
                reading=SourceReading(None, time_zone, named_columns(column), one_person=one_person),
                prior=prior,
                step=step,
            )
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    if report is not None:
        write_text(report, audit_page(found, read_certificate(certificate), folder), private=True)
    if json:
        print_json(_as_json(found))
    else:
        _say(found, report)
    if found.inside or found.unprotected:
        raise SystemExit(1)


def _say(found: ArchiveAudit, report: Path | None) -> None:
    shown = [row for row in found.rows if not row.no_track]
    few = shown if len(shown) <= _MOST_LINES else [row for row in shown if row.refused][:_MOST_LINES]
    if few:
        width = min(max(len(row.source) for row in few), 48)
        typer.echo(f"{'file':<{width}}  {'in':>8}  {'out':>8}  error per coordinate (private: do not share this table)")
        for row in few:
            typer.echo(f"{row.source[-width:]:<{width}}  {row.points_in:>8}  {row.points_out:>8}  {_words(row)}")
    if len(few) < len(shown):
        typer.echo(f"... and {len(shown) - len(few)} more; --report writes all of them.")
    if words := points_read(found.rows).sentence():
        typer.echo(words)
    for leak in found.leaks:
        typer.echo(leak.sentence())
    if found.inside:
        typer.echo(f"WRONG: {found.inside} published point(s) lie inside a zone. Do not share this; report it.")
    elif found.leaks:
        typer.echo("No published point lies inside a zone.")
    for line in (*noise_lines(found), *found.notes):
        typer.echo(line)
    if found.unprotected:
        typer.echo("NOT PROTECTED: what was shared is the original; nothing was withheld or moved by a metre.")
    if report is not None:
        typer.echo(f"Report (private): {report}")


def _words(row: AuditRow) -> str:
    if row.refused:
        return row.refused
    return "nothing is left" if row.error_m is None else f"{row.error_m:.1f} m"


def _as_json(found: ArchiveAudit) -> dict[str, object]:
    return {
        "ok": not (found.inside or found.unprotected),
        "unprotected": found.unprotected,
        "private": True,
        "rows": [asdict(row) for row in found.rows],
        "points_read": points_read(found.rows).to_dict(),
        "noise": None if found.noise is None else found.noise.to_dict(),
        "files_attacked": found.attacked,
        "leaks": [{**asdict(leak), "sentence": leak.sentence()} for leak in found.leaks],
        "inside": found.inside,
        "notes": list(found.notes),
    }
