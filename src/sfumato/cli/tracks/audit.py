"""What ``sfumato audit`` does with a track, or with a table of people: the attack in numbers, and a private page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import odds_words
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length, plain_number
from sfumato.cli.output import fail, print_json
from sfumato.cli.tracks.protect import named_columns, read_people
from sfumato.cli.tracks.protected_pages import fleet_page, one_of
from sfumato.pages.report import render
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.adversary.audit import audit as measure
from sfumato.tracks.adversary.fleet import FleetAudit, People, attacked_people, audit_fleet
from sfumato.tracks.certificates.build import SMOOTHED, rounded_times
from sfumato.tracks.certificates.verify import Document, check_belongs, opened, read_certificate
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.archive import only_track

Reading = tuple[str | None, list[str], bool]
_MOST_LINES = 20


def run_audit(
    original: Path,
    release: Path,
    certificate: Path,
    prior: str,
    reading: Reading,
    wanted: tuple[Path | None, str | None],
    *,
    json: bool,
) -> None:
    """One track, one person of a table, or everybody in it; exit 1 where a release is its original."""
    document, (report, person) = read_certificate(certificate), wanted
    if document.get("kind") == SMOOTHED:
        raise InputError(
            "A smooth track holds no noise that could be attacked.", "Audit the noisy release it was made from."
        )
    people = originals_at(original, reading)
    try:
        if document.get("people") == 1:
            second = read_trace(release, one_person=True)
            check_belongs(document, second)
            released: People = [(None, second)]
        else:
            released = opened(document, release)[1]
    except VerificationFailed as error:
        fail(error, json=json, code=1)
    if len(released) == 1 or person is not None:
        if len(people) > 1 and len(released) == 1:
            raise InputError(f"The original holds {len(people)} people, the release one.", "Use --one-person for it.")
        if person is not None and len(released) == 1:
            raise InputError("--report-person is for a table of people.", "Leave it out.")
        first = people[0][1] if person is None else one_of(people, person)
        second = released[0][1] if person is None else one_of(released, person)
        audit_track(first, second, document, prior, report, json=json)
        return
    _audit_people(people, released, document, prior, report, json=json)


def originals_at(original: Path, reading: Reading) -> People:
    """The people of the original, times as they are released."""
    time_zone, column, one_person = reading
    with only_track(original) as file:
        columns = named_columns(column)
        people = read_people(file, format=None, zone=time_zone, columns=columns, one_person=one_person)
    return [(person, rounded_times(trace)) for person, trace in people]


def _audit_people(
    people: People, released: People, document: Document, prior: str, report: Path | None, *, json: bool
) -> None:
    with progress("Attacking every person", len(attacked_people(len(people))), quiet=json) as step:
        found = audit_fleet(people, released, document, prior=prior, step=step)
    if report is not None:
        write_text(report, fleet_page(people, released, document, found), private=True)
    if json:
        print_json({"ok": not found.unprotected, **found.to_dict()})
    else:
        _say_people(found, report)
    if found.unprotected:
        raise SystemExit(1)


def _say_people(found: FleetAudit, report: Path | None) -> None:
    rows = sorted(found.persons, key=lambda one: _left(one.audit))
    typer.echo("Private: do not share this table. Errors per coordinate; whom the adversary comes nearest to first.")
    odds = {one.person: one.odds_at_times for one in found.losses}
    typer.echo(
        f"{'person':<20}  {'points':>8}  {'as released':>12}  {'smoothed':>12}  {'promise':>8}  odds at their times"
    )
    for one in rows[:_MOST_LINES]:
        kept = {True: "kept", False: "BROKEN", None: "-"}[one.audit.holds]
        typer.echo(
            f"{str(one.person)[:20]:<20}  {one.audit.points:>8}  {format_length(one.audit.rms_error_raw_m):>12}  "
            f"{format_length(_left(one.audit)):>12}  {kept:>8}  {odds_words(odds.get(one.person)) or '-'}"
        )
    if len(rows) > _MOST_LINES:
        typer.echo(f"... and {len(rows) - _MOST_LINES} more; --report and --json show them.")
    left = [_left(one.audit) for one in rows]
    low, middle, high = (format_length(float(np.quantile(left, q))) for q in (0.0, 0.5, 1.0))
    typer.echo(f"After smoothing the adversary is off by {low} (worst person), {middle} (median), {high} (best).")
    typer.echo(f"Worst off: {found.worst.person}. {found.worst.audit.verdict}")
    for name, words in ((found.unprotected, "NOT PROTECTED, the release is the original"), (found.broken, "BROKEN")):
        if name:
            typer.echo(f"{words}: {', '.join(name)}.")
    for note in found.notes:
        typer.echo(note)
    if report is not None:
        typer.echo(f"Report (private): {report}")


def _left(found: Audit) -> float:
    return found.rms_error_raw_m if found.rms_error_smoothed_m is None else found.rms_error_smoothed_m


def audit_track(
    first: Trace, second: Trace, document: Document, prior: str, report: Path | None, *, json: bool
) -> None:
    """One person's track and its release."""
    found = measure(first, second, document, prior=prior)
    if report is not None:
        write_text(report, render(release=second, certificate=document, original=first, audit=found), private=True)
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
