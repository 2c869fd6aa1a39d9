"""The command ``verify``: is a release unchanged, clean, plausible and protected?"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import typer

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_text
from sfumato.cli.output import AsJson, print_json
from sfumato.pages.report.verdict_page import Looked, record_text
from sfumato.tracks.certificates.document import CERTIFICATE_NAME, find_certificate
from sfumato.tracks.certificates.verdict import Verdict, judge
from sfumato.tracks.certificates.verify import read_certificate

SMOOTHED = "sfumato smoothed track certificate"
PUBLISHED = "sfumato published table certificate"
_FOLDERS = ("sfumato archive certificate", "sfumato dataset certificate")


def register(app: typer.Typer) -> None:
    """Add ``verify`` to the app."""
    app.command("verify", help="Is a release unchanged, clean, plausible and protected? Exit 1 if not.")(verify)


def verify(
    certificate: Path = typer.Argument(
        ..., help="The certificate (JSON), or the release, with its certificate beside or in it."
    ),
    release: Path | None = typer.Option(None, help="The release it speaks about; a folder for an archive."),
    signer: str | None = typer.Option(None, help="Demand a signature by this key: a PEM file, base64, or its words."),
    ignore_wording: bool = typer.Option(
        False, "--ignore-wording", help="Check the numbers only: for a certificate that another version worded."
    ),
    format: str | None = typer.Option(None, help="The release's format, where ending and content do not tell."),
    require: str = typer.Option("", help="Demand more: odds=5,radius=200m,class=day,no-kept,signed,releases,parts."),
    raw: Path | None = typer.Option(None, help="For a smoothed track: the release it was made from."),
    report: Path | None = typer.Option(
        None, help="Write the verdict here, with names and hashes of all files: a page (HTML, prints), or JSON."
    ),
    json: AsJson = False,
) -> None:
    """Unchanged? Clean? Plausible? Protected? Exit 0 only if all four, and all that --require names.

    Of a collection's map (campaign export -o map.json): are the odds it states those of its channel and reports?
    """
    if _is_map(certificate) and import_module("sfumato.cli.collect.map_export").verify_map(certificate, json=json):
        return
    certificate, release = _pair(certificate, release)
    asked = {"signer": signer, "ignore_wording": ignore_wording, "require": require}
    found = judge_any(certificate, release, raw=raw, format=format, **asked)
    if report is not None:
        looked = Looked.at(certificate, release, require=require, signer=signer)
        write_text(report, record_text(found, looked, as_json=report.suffix.lower() == ".json"))
    if json:
        print_json(found.to_dict())
    else:
        _say(found.lines(), found.checks, found.notes)
    if not found.unchanged:
        typer.echo(f"Error: {found.reasons['unchanged']}", err=True)
    if not found.ok:
        raise SystemExit(1)


def judge_any(
    certificate: Path, release: Path, *, raw: Path | None = None, format: str | None = None, **asked: object
) -> Verdict:
    """The verdict by the judge of what the certificate is of: a track or table, a folder, a smooth track, an answer."""
    of_folder = _kind(certificate) in _FOLDERS
    if of_folder and not (release.is_dir() or (release.is_file() and release.suffix.lower() != ".zip")):
        raise InputError(
            f"This certificate is of a folder of files, and {release} is none.",
            "Name the folder with --release; unpack a .zip first.",
        )
    if raw is not None and _kind(certificate) != SMOOTHED:
        raise InputError("--raw is for a smoothed track's certificate.", "Leave it out.")
    if of_folder or release.is_dir():  # loads the places, which one track does not need
        look = partial(import_module("sfumato.tracks.folders.verify_folder").judge_folder, folder=release)
    elif _kind(certificate) == PUBLISHED:
        look = partial(import_module("sfumato.tracks.aggregates.check_table").judge_table, release=release)
    elif _kind(certificate) == SMOOTHED:
        ways = import_module("sfumato.tracks.answers.ways.smooth_tracks")
        look = partial(ways.judge_smoothed, release=release, format=format, raw=raw)
    else:
        look = partial(judge, release=release, format=format)
    found: Verdict = look(certificate, **asked)
    return found


def _say(lines: Sequence[str], checks: Sequence[str], notes: Sequence[str]) -> None:
    try:
        for line in (*lines, *(f"  - checked: {one}" for one in checks), *(f"  note: {one}" for one in notes)):
            typer.echo(line)
    except BrokenPipeError:  # whoever reads has read enough; the exit code is the verdict's all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_map(path: Path) -> bool:
    """Whether this may be a collection's map, exported as JSON; what it is said to hold is looked at elsewhere."""
    return path.suffix.lower() == ".json" and path.is_file() and b'"output_weights"' in path.read_bytes()


def _pair(named: Path, release: Path | None) -> tuple[Path, Path]:
    """The certificate and the release of which one or both were named."""
    if release is not None:
        return (named / CERTIFICATE_NAME if named.is_dir() else named), release
    if (found := find_certificate(named)) is not None:
        return found, named
    if not named.exists():
        raise InputError(f"There is no {named}.", "Name a release, or its certificate.")
    stem = named.with_name(named.name.removesuffix(".certificate.json"))
    if stem != named and stem.exists():
        return named, stem
    if _kind(named) is None:
        raise InputError(f"There is no certificate beside {named}.", "Name it, and the release with --release.")
    raise InputError("A certificate is checked against its release.", "Name it with --release.")


def _kind(certificate: Path) -> object:
    """What kind of certificate it says to be; what cannot be read is judged, and said, later."""
    try:
        return read_certificate(certificate).get("kind")
    except VerificationFailed:
        return None
