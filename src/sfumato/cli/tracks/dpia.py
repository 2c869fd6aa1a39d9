"""The command ``dpia``: a pre-filled draft of a data protection impact assessment, from a certificate."""

from __future__ import annotations

from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.cli.output import AsJson, print_json
from sfumato.cli.tracks.verify import judge_any
from sfumato.pages.dpia import dpia_draft, dpia_page, facts_of
from sfumato.tracks.certificates.document import CERTIFICATE_NAME, find_certificate
from sfumato.tracks.certificates.verify import read_certificate


def register(app: typer.Typer) -> None:
    """Add ``dpia`` to the app."""
    app.command("dpia", help="Draft an impact assessment from a certificate: what is computed, and what to decide.")(
        dpia
    )


def dpia(
    certificate: Path = typer.Argument(..., help="The certificate (JSON), or a released dataset, which holds its own."),
    output: Path = typer.Option(..., "--output", "-o", help="Where the draft goes: .html or .md."),
    release: Path | None = typer.Option(None, help="The release, to be verified; the draft says what was found."),
    raw: Path | None = typer.Option(None, help="For a smoothed track: the release it was made from."),
    language: str = typer.Option("en", help="The draft's language: en, fr, de or es."),
    json: AsJson = False,
) -> None:
    """Adversaries in and out of scope, singling out, linkability, inference, the cost of a month, residual risk.

    Every number is the certificate's own or computed from it, with its source; what a person must decide is left open.
    """
    if output.suffix not in (".html", ".md"):
        raise InputError(f"A draft is not written as '{output.suffix}'.", "Name a file ending in .html or .md.")
    if certificate.is_dir():
        certificate, release = find_certificate(certificate) or certificate / CERTIFICATE_NAME, release or certificate
    document = read_certificate(certificate)
    verdict = None if release is None else judge_any(certificate, release, raw=raw)
    draft = dpia_draft(document, language=language, verdict=verdict, name=certificate.name)
    write_text(output, draft if output.suffix == ".md" else dpia_page(draft, language))
    if json:
        facts = facts_of(document, verdict, certificate.name)
        good = None if verdict is None else verdict.ok
        print_json({"ok": True, "output": str(output), "language": language, "release_good": good, **facts.values})
        return
    typer.echo(f"Written: {output}. Complete what stands in [square brackets]; it is a draft, not legal advice.")
    if verdict is not None and not verdict.ok:
        typer.echo(f"{verdict.head()} The draft says why.", err=True)
