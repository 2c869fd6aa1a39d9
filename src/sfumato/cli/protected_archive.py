"""What ``sfumato protect`` does with an archive: one noise over all files, one certificate, one private summary."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from sfumato.archives.job import SourceReading
from sfumato.archives.runs import Faces, protect_archive
from sfumato.certificates.document import Certificate, certificate_text
from sfumato.cli.archive_faces import progress, rows_csv, say_rows
from sfumato.cli.output import print_json
from sfumato.files import write_text
from sfumato.io.archive import count_members
from sfumato.plan import Plan


def run_protect_archive(
    sources: list[Path],
    output: Path,
    plan: Plan,
    reading: tuple[str | None, str | None, dict[str, str] | None, tuple[str, ...]],
    state: Path | None,
    passphrase: str | None,
    certificate: Path | None,
    keep_names: bool,
    strict: bool,
    seed: int | None,
    *,
    json: bool,
) -> None:
    """Fill the output folder, and say what is promised over all of it."""
    with progress("Protecting", count_members(sources), quiet=json) as step:
        done = protect_archive(
            sources,
            output,
            plan,
            reading=SourceReading(*reading),
            state=state,
            passphrase=passphrase,
            keep_names=keep_names,
            strict=strict,
            faces=Faces(step),
            rng=seed,
        )
    write_text(done.private / "summary.csv", rows_csv(done.rows), private=True)
    if certificate is not None:
        write_text(certificate, certificate_text(done.document))
    if json:
        rows = [asdict(row) for row in done.rows]
        print_json({"ok": True, "private": True, "rows": rows, "certificate": done.document, "outputs": str(output)})
        return
    say_rows(done.rows)
    typer.echo(f"{done.shared} file(s) in {output}, one noise over all of them. {done.document['times']['meaning']}")
    if done.document["noise"] is not None:
        said = Certificate.of(done.document["noise"])
        typer.echo(said.headline)
        for line in said.mechanism.figures(said.stated):
            typer.echo(line)
    if done.document["simulation"]:
        typer.echo("SIMULATION: a seed was given, so this release protects nothing.")
    typer.echo(f"Private, beside it: {done.private} (noise state, manifest, summary). Keep it for next time.")
