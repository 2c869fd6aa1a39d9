"""What ``sfumato protect`` does with an archive: one noise over all files, one certificate, one private summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.units import count_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import points_read, rows_csv, say_rows, write_certificate
from sfumato.cli.tracks.protect import enter
from sfumato.pages.report.archive_page import public_page
from sfumato.pages.report.audit_page import audit_page
from sfumato.tracks.certificates.document import promise_lines
from sfumato.tracks.folders.audit_archive import audit_archive
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.folders.rides.ride_job import ArchiveResult, Faces, Sharing, SourceReading
from sfumato.tracks.folders.staging import SUMMARY_NAME
from sfumato.tracks.io.archive import count_members
from sfumato.tracks.plan import Plan


def run_protect_archive(
    sources: list[Path],
    paths: Mapping[str, Path],
    plan: Plan,
    reading: tuple[str | None, str | None, dict[str, str] | None, tuple[str, ...], bool],
    kept: tuple[Path | None, str | None],
    accounted: tuple[Path | None, str | None, float | None],
    sign: Callable[[Mapping[str, Any]], Mapping[str, str]] | None,
    named: tuple[bool, bool, str | None],
    seed: int | None,
    *,
    json: bool,
) -> None:
    """Fill the output folder, and say what is promised over all of it."""
    output, (state, passphrase), (ledger, person, cap) = paths["release"], kept, accounted
    keep_names, strict, to = named
    if ledger is not None and not person:
        raise InputError("A ledger entry is for one person.", "Name them with --ledger-person.")
    if "report" in paths and plan.times == "drop":
        raise InputError(
            "The private report reads the shared files again, and without times they are no tracks.",
            "Leave --report out, or use --times relative or coarse:5min.",
        )
    read = SourceReading(*reading)
    with progress("Protecting", count_members(sources), quiet=json) as step:
        faces = Faces(
            step,
            priced=None if ledger is None else lambda noise, process: enter(noise, process, ledger, person, cap),
            sign=sign,
            certified=lambda document: write_certificate(paths.get("certificate"), document),
        )
        how = Sharing(read, state, passphrase, keep_names, to, strict, faces, seed)
        done = protect_archive(sources, output, plan, how)
    write_text(done.private / SUMMARY_NAME, rows_csv(done.rows), private=True)
    if "report" in paths:
        found = audit_archive(sources, output, done.document, reading=read)
        write_text(paths["report"], audit_page(found, done.document, output), private=True)
    if "public_report" in paths:
        write_text(paths["public_report"], public_page(done, output))
    if json:
        rows, written = [asdict(row) for row in done.rows], {name: str(path) for name, path in paths.items()}
        counted = points_read(done.rows).to_dict()
        said = {"ok": True, "private": True, "rows": rows, "points_read": counted}
        print_json({**said, "certificate": done.document, "outputs": written})
        return
    _say(done, output)


def _say(done: ArchiveResult, output: Path) -> None:
    say_rows(done.rows)
    typer.echo(
        f"{count_of(done.shared, 'file')} in {output}, one noise over all of them. {done.document['times']['meaning']}"
    )
    if done.document["noise"] is not None:
        for line in promise_lines(done.document["noise"]):
            typer.echo(line)
    typer.echo(f"Private, beside it: {done.private} (noise state, manifest, summary). Keep it for next time.")
