"""The command ``smooth``: a release to look at, made from a release and its certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, format_length
from sfumato.cli.output import AsJson, print_json
from sfumato.tracks.answers.answer_files import write_answer
from sfumato.tracks.answers.ways.live import live_circles
from sfumato.tracks.answers.ways.smooth_tracks import HOW, MEANING, SmoothTracks, path_by_time, smoothed_certificate
from sfumato.tracks.answers.ways.smooth_tracks import smooth as likeliest_tracks
from sfumato.tracks.certificates.document import certificate_text, find_certificate
from sfumato.tracks.certificates.verify import read_certificate, read_release

if TYPE_CHECKING:
    from sfumato.tracks.people.noise import Protected
    from sfumato.tracks.people.results import ProtectedFleet

_TABLES = (".csv", ".parquet", ".json")


def smooth_release(done: Protected | ProtectedFleet, document: Mapping[str, object], *, quiet: bool) -> SmoothTracks:
    """The likeliest tracks given a release that is drawn and never written, for ``protect --style smooth``."""
    if done.terms.kept:
        raise InputError("A smooth release holds positions and times only.", "Leave --keep out.")
    people = list(done.releases)
    with progress("Smoothing", len(people), quiet=quiet) as step:
        return likeliest_tracks(people, document, step=step)


def register(app: typer.Typer) -> None:
    """Add ``smooth`` to the app."""
    app.command("smooth", help="Make a release fit to look at: the likeliest track, with the same promise.")(smooth)


def smooth(
    release: Path = typer.Argument(..., help="The released file (a track, or a table of people)."),
    certificate: Path | None = typer.Option(
        None, "--certificate", "-c", help="The release's certificate, if not beside it."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Where the smooth track goes, in any format written here."),
    new_certificate: Path | None = typer.Option(
        None, help="Where its own certificate goes; by default beside it, ending in .certificate.json."
    ),
    format: str | None = typer.Option(None, help="The output's format, where its ending does not tell."),
    live: bool = typer.Option(
        False,
        "--live",
        help="As somebody who watched saw it: each place from what was released by then, with the radius of the circle "
        "that holds the truth with 68 % (.csv, .parquet or .json; without a certificate of its own).",
    ),
    json: AsJson = False,
) -> None:
    """The path most likely taken, given the release and the law of its noise; it needs and shows no original."""
    certificate = certificate or find_certificate(release)
    if certificate is None:
        what = "Without its certificate the noise of a release has no known law, and none lies beside it."
        raise InputError(what, "Give it: --certificate c.json.")
    if live:
        if new_certificate is not None or format is not None or output.suffix not in _TABLES:
            raise InputError(
                "Live circles are a table without a certificate of its own.",
                f"Name an output ending in {', '.join(_TABLES)}, and leave --new-certificate and --format out.",
            )
        write_live(release, certificate, output, json=json)
    else:
        write_smooth(release, certificate, output, new_certificate, format, json=json)


def write_smooth(
    release: Path, certificate: Path, output: Path, new_certificate: Path | None, format: str | None, *, json: bool
) -> None:
    """Smooth, write both files, and say what changed."""
    beside = new_certificate or output.with_name(f"{output.name}.certificate.json")
    if len({path.resolve() for path in (release, certificate, output, beside)}) < 4:
        raise InputError("A file would be written over one that is read or written.", "Name other files.")
    with progress("Smoothing", _people(certificate), quiet=json) as step:
        made = likeliest_tracks(release, certificate, step=step)
    made.write(output, format=format)
    document = smoothed_certificate(made, output)
    write_text(beside, certificate_text(document))
    raw = read_release(release, fleet=read_certificate(certificate).get("people") != 1)
    before, after = (sum(_length_m(trace) for _, trace in people) for people in (raw, made.people))
    unfitted = sum(not movement.fitted for movement in made.movements)
    if json:
        said = {"ok": True, "output": str(output), "certificate": str(beside), "people": len(made.people)}
        movements = [{**one.kernel.to_dict(), "fitted": one.fitted} for one in made.movements]
        lengths = {"length_released_m": before, "length_smooth_m": after}
        print_json({**said, **lengths, "movements": movements, "how": HOW, "meaning": MEANING})
        return
    typer.echo(f"{count_of(len(made.people), 'track')}, {HOW}.")
    typer.echo(f"Length as released {format_length(before)}, smooth {format_length(after)}.")
    if unfitted:
        typer.echo(f"{count_of(unfitted, 'track')} with too few points to fit: hardly changed.")
    typer.echo(MEANING)
    typer.echo(f"Written: {output}, {beside}")
    typer.echo(f"To check both: sfumato verify {beside} --release {output} --raw {release}")


def write_live(release: Path, certificate: Path, output: Path, *, json: bool) -> None:
    """Places as they were known at each moment, with their circles."""
    if len({path.resolve() for path in (release, certificate, output)}) < 3:
        raise InputError("A file would be written over one that is read.", "Name another file.")
    with progress("Watching", _people(certificate), quiet=json) as step:
        made = live_circles(release, certificate, step=step)
    write_answer(made, output)
    if json:
        print_json({"ok": True, "output": str(output), **made.to_dict(), "meaning": made.notes[0]})
        return
    typer.echo(f"{count_of(len(made.people), 'track')}, as known at each moment.")
    typer.echo(f"Half of the circles are wider than {format_length(made.median_radius_m)} in radius.")
    typer.echo(made.notes[0])
    typer.echo(f"Written: {output}")


def _people(certificate: Path) -> int:
    people = read_certificate(certificate).get("people")
    return people if isinstance(people, int) else 1


def _length_m(trace: Trace) -> float:
    order, _, path = path_by_time(trace)
    same = np.diff(trace.segment[order]) == 0
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1)[same].sum())
