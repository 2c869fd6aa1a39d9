"""``sfumato audit``: what an adversary still learns from a release, in numbers and on a private page.

One track, one person of a table, everybody in it, or an archive beside the folder that was shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from typer.core import TyperCommand

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import odds_words
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace
from sfumato.base.units import count_of, format_length, plain_number
from sfumato.cli import command_of
from sfumato.cli.output import fail, print_json
from sfumato.cli.tracks.archive_faces import named_columns, passphrase_in, points_read, runs_on_spark, say_table
from sfumato.cli.tracks.attacks.compare_mechanisms import CompareOptions, compare
from sfumato.cli.tracks.attacks.run_suite import SuiteOptions, audit_by_attacks
from sfumato.pages.report import render
from sfumato.pages.report.archive_page import audit_page, noise_lines
from sfumato.pages.report.fleet_page import fleet_page, one_of
from sfumato.tracks.adversary.audit import Audit, PriorUsed
from sfumato.tracks.adversary.audit import audit as measure
from sfumato.tracks.adversary.fleet import FleetAudit, People, attacked_people, audit_fleet
from sfumato.tracks.certificates.build import SMOOTHED, rounded_times
from sfumato.tracks.certificates.person_ids import renamed_people
from sfumato.tracks.certificates.verify import check_belongs, open_release, read_certificate
from sfumato.tracks.folders.audit_archive import ArchiveAudit, AuditRow, audit_archive
from sfumato.tracks.io import SourceReading, read_trace
from sfumato.tracks.io.archive import count_members, only_track
from sfumato.tracks.people.door import read_people
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.places.places_file import load_places

if TYPE_CHECKING:
    from typer._click.core import Context

_MOST_LINES = 20
_READING, _SUITE = "How the original is read", "The attack suite (needs no certificate)"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What every audit is told: the certificate, the adversary's prior, the page, and how the original is read."""

    certificate: Path
    prior: str
    report: Path | None
    reading: SourceReading
    json: bool


def register(app: typer.Typer) -> None:
    """Add ``audit`` to the app."""
    app.command(
        "audit",
        cls=_OrCompare,
        help="Measure what an adversary still learns, from original and release. `sfumato audit compare ORIGINAL...` "
        "holds mechanisms against attacks on your own data.",
    )(audit)


class _OrCompare(TyperCommand):
    """``audit compare`` is a command of its own; a file called compare is ``./compare``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: object
    ) -> Context:
        """The other command's, where its name is the first word."""
        if args[:1] != ["compare"]:
            return super().make_context(info_name, args, parent, **extra)
        other = typer.Typer()
        other.command("compare")(command_of(CompareOptions, compare))
        return typer.main.get_command(other).make_context("compare", args[1:], parent, **extra)


def audit(
    paths: list[str] = typer.Argument(
        ...,
        metavar="ORIGINAL... RELEASE",
        help="The original track or table of people (stays on this machine) and the release made from it; or an "
        "archive (folders, files, patterns, .gz, .zip) and the folder that was shared.",
    ),
    certificate: Path | None = typer.Option(None, help="The release's certificate; --attacks needs none."),
    prior: str = typer.Option("fit", help="What the adversary believes: 'fit', 'preset' or a preset's name."),
    places: Path | None = typer.Option(None, help="For an archive with hidden places: your places file."),
    passphrase_file: Path | None = typer.Option(None, help="Open the places file with this file's passphrase."),
    report: Path | None = typer.Option(None, help="Write the private page (HTML, 0600) here."),
    report_person: str | None = typer.Option(None, help="For a table of people: audit this one person (an id)."),
    time_zone: str | None = typer.Option(
        None, help="Time zone of the original's times that name none.", rich_help_panel=_READING
    ),
    column: list[str] = typer.Option(
        [], help="Name a table's column by role, e.g. lat=Y; repeat for more.", rich_help_panel=_READING
    ),
    one_person: bool = typer.Option(
        False, "--one-person", help="All rows of every table are one person's.", rich_help_panel=_READING
    ),
    attacks: str | None = typer.Option(
        None, help="Run the attack suite: 'all', names, or module:object, separated by commas.", rich_help_panel=_SUITE
    ),
    knows: str = typer.Option(
        "", help="What attackers know: place=work,day=2024-03-01,roads=map.geojson.", rich_help_panel=_SUITE
    ),
    within: str = typer.Option("200m", help="A guess at most so far off is a success.", rich_help_panel=_SUITE),
    fail_if: list[str] = typer.Option(
        [],
        help="Exit 1 if so much is found, e.g. home<200m (more often than by luck), home<200m:5%, identity:10%.",
        rich_help_panel=_SUITE,
    ),
    public: bool = typer.Option(
        False, "--public", help="Write --report for everybody: shares of all people alone.", rich_help_panel=_SUITE
    ),
    engine: str = typer.Option(
        "local", help="For --attacks on a dataset: local or spark (any address of Hadoop's).", rich_help_panel=_SUITE
    ),
    master: str | None = typer.Option(
        None, help="With --engine spark: the cluster, e.g. local[2] or spark://host:7077.", rich_help_panel=_SUITE
    ),
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else."),
) -> None:
    """Errors and intervals are per coordinate, in metres."""
    if len(paths) < 2:
        raise InputError("An audit compares originals with their release.", "Name the original, then the release.")
    if runs_on_spark(engine, master, paths) and attacks is None:
        raise InputError("Spark is for the attacks on a dataset.", "Add --attacks all.")
    *originals, release = map(Path, paths)
    reading = SourceReading(None, time_zone, named_columns(column), one_person=one_person)
    if attacks is not None:
        if places is not None or report_person is not None or prior != "fit":
            raise InputError("--attacks takes no --places, --report-person or --prior.", "Leave them out.")
        audit_by_attacks(
            paths,
            SuiteOptions(
                attacks=attacks,
                knows=knows,
                within=within,
                fail_if=fail_if,
                certificate=certificate,
                report=report,
                public=public,
                reading=reading,
                json=json,
                engine=engine,
                master=master,
            ),
        )
        return
    if knows or fail_if or public:
        raise InputError("--knows, --fail-if and --public go with --attacks.", "Add --attacks all.")
    if certificate is None:
        raise InputError("Without a certificate only attacks can be tried.", "Give --certificate, or --attacks all.")
    asked = _Asked(certificate, prior, report, reading, json)
    if release.is_dir():
        if report_person is not None:
            raise InputError("--report-person is for a table of people.", "An archive is one person's.")
        _audit_archive(originals, release, places, passphrase_file, asked)
        return
    if len(originals) > 1 or places is not None:
        raise InputError("Several originals and --places are for an archive.", "Name the shared folder as the last.")
    _audit_file(originals[0], release, report_person, asked)


def _audit_file(original: Path, release: Path, person: str | None, asked: _Asked) -> None:
    """One track, one person of a table, or everybody in it; exit 1 where a release is its original."""
    document = read_certificate(asked.certificate)
    if document.get("kind") == SMOOTHED:
        raise InputError(
            "A smooth track holds no noise that could be attacked.", "Audit the noisy release it was made from."
        )
    people = _originals_at(original, asked.reading)
    try:
        if document.get("people") == 1:
            second = read_trace(release, one_person=True)
            check_belongs(document, second)
            released: People = [(None, second)]
        else:
            released = renamed_people(open_release(document, release)[1], release, given=True)
    except VerificationFailed as error:
        fail(error, json=asked.json, code=1)
    if len(released) == 1 or person is not None:
        if len(people) > 1 and len(released) == 1:
            raise InputError(f"The original holds {len(people)} people, the release one.", "Use --one-person for it.")
        if person is not None and len(released) == 1:
            raise InputError("--report-person is for a table of people.", "Leave it out.")
        first = people[0][1] if person is None else one_of(people, person)
        second = released[0][1] if person is None else one_of(released, person)
        _audit_track(first, second, document, asked)
        return
    _audit_people(people, released, document, asked)


def _originals_at(original: Path, reading: SourceReading) -> People:
    """The people of the original, times as they are released."""
    with only_track(original) as file:
        people = read_people(file, TableReading(reading.columns, reading.zone, reading.one_person))
    return [(person, rounded_times(trace)) for person, trace in people]


def _audit_people(people: People, released: People, document: Mapping[str, object], asked: _Asked) -> None:
    with progress("Attacking every person", len(attacked_people(len(people))), quiet=asked.json) as step:
        found = audit_fleet(people, released, document, prior=asked.prior, step=step)
    if asked.report is not None:
        write_text(asked.report, fleet_page(people, released, document, found), private=True)
    if asked.json:
        print_json({"ok": not found.unprotected, **found.to_dict()})
    else:
        _say_people(found, asked.report)
    if found.unprotected:
        raise SystemExit(1)


def _say_people(found: FleetAudit, report: Path | None) -> None:
    rows = sorted(found.persons, key=lambda one: one.audit.left_m)
    typer.echo("Private: do not share this table. Errors per coordinate; whom the adversary comes nearest to first.")
    odds = {one.person: one.odds_at_times for one in found.losses}
    typer.echo(
        f"{'person':<20}  {'points':>8}  {'as released':>12}  {'smoothed':>12}  {'promise':>8}  odds at their times"
    )
    for one in rows[:_MOST_LINES]:
        kept = {True: "kept", False: "BROKEN", None: "-"}[one.audit.holds]
        typer.echo(
            f"{str(one.person)[:20]:<20}  {one.audit.points:>8}  {format_length(one.audit.rms_error_raw_m):>12}  "
            f"{format_length(one.audit.left_m):>12}  {kept:>8}  {odds_words(odds.get(one.person)) or '-'}"
        )
    if len(rows) > _MOST_LINES:
        typer.echo(f"... and {len(rows) - _MOST_LINES} more; --report and --json show them.")
    left = [one.audit.left_m for one in rows]
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


def _audit_track(first: Trace, second: Trace, document: Mapping[str, object], asked: _Asked) -> None:
    """One person's track and its release."""
    found = measure(first, second, document, prior=asked.prior)
    if asked.report is not None:
        page = render(release=second, certificate=document, original=first, audit=found)
        write_text(asked.report, page, private=True)
    if asked.json:
        print_json({**found.to_dict(), "points_read": first.points_read.to_dict()})
    else:
        _say_track(found, first)
    if found.unprotected:
        raise SystemExit(1)


def _say_track(found: Audit, first: Trace) -> None:
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


def _prior_words(prior: PriorUsed) -> str:
    """Which prior the adversary used, in a few words."""
    kernel = prior.get("kernel", {})
    parts = kernel.get("parts", [kernel])
    words = [
        f"{part['kernel']} {plain_number(part['length_scale_s'])} s, sd {plain_number(part['sd_m'])} m"
        if "length_scale_s" in part
        else f"{part['kernel']} {plain_number(part['sd_m'])} m"
        for part in parts
        if "kernel" in part and "sd_m" in part
    ]
    return f"{prior.get('source', '')}: {' + '.join(words)}" if words else str(prior.get("source", ""))


def _audit_archive(
    originals: list[Path], folder: Path, places: Path | None, passphrase_file: Path | None, asked: _Asked
) -> None:
    """Attack the shared folder with the originals at hand; exit 1 where it is the original, or not as certified."""
    mine = None if places is None else load_places(places, passphrase=passphrase_in(passphrase_file))
    try:
        with progress("Auditing", count_members(originals), quiet=asked.json) as step:
            found = audit_archive(
                originals,
                folder,
                asked.certificate,
                places=mine,
                reading=asked.reading,
                prior=asked.prior,
                step=step,
            )
    except VerificationFailed as error:
        fail(error, json=asked.json, code=1)
    if asked.report is not None:
        write_text(asked.report, audit_page(found, read_certificate(asked.certificate), folder), private=True)
    if asked.json:
        print_json(_archive_json(found))
    else:
        _say_archive(found, asked.report)
    if found.still_found or found.unprotected:
        raise SystemExit(1)


def _say_archive(found: ArchiveAudit, report: Path | None) -> None:
    if found.still_found:
        names = ", ".join(leak.name for leak in found.leaks if leak.found)
        typer.echo(f"STILL FOUND: {names}. {count_of(found.inside, 'shared point')} inside a zone.")
    if left := say_table(found.rows, "error per coordinate", _row_words):
        typer.echo(f"... and {left} more; --report writes all of them.")
    if words := points_read(found.rows).sentence():
        typer.echo(words)
    for leak in found.leaks:
        typer.echo(leak.sentence())
    if found.leaks and not found.inside:
        typer.echo("No published point lies inside a zone.")
    for line in (*noise_lines(found), *found.notes):
        typer.echo(line)
    if found.unprotected:
        typer.echo("NOT PROTECTED: what was shared is the original; nothing was withheld or moved by a metre.")
    if report is not None:
        typer.echo(f"Report (private): {report}")


def _row_words(row: AuditRow) -> str:
    if row.refused:
        return row.refused
    return "nothing is left" if row.error_m is None else f"{row.error_m:.1f} m"


def _archive_json(found: ArchiveAudit) -> dict[str, object]:
    return {
        "ok": not (found.still_found or found.unprotected),
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
