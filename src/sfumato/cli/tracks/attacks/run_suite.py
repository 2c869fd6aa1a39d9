"""``sfumato audit --attacks``: every attacker on a release or a file that another tool made, original at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import typer

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_text
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace, join_traces
from sfumato.base.units import count_of, length_m
from sfumato.cli.output import fail, print_json
from sfumato.pages.report.attacks_page import attacks_page
from sfumato.tracks.attacks.knows import Knows
from sfumato.tracks.attacks.outcomes import Attempt, Limit, Suite, attackers_named
from sfumato.tracks.attacks.suite import SuiteAsked, attack_people, attack_releases
from sfumato.tracks.attacks.truths import KEPT, ReleasedDigest
from sfumato.tracks.certificates.build import content_digest, milliseconds_as_s
from sfumato.tracks.certificates.person_ids import renamed_people
from sfumato.tracks.certificates.verify import check_whole, id_column, open_release, read_certificate
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.io import SourceReading, read_trace
from sfumato.tracks.io.archive import members, only_track
from sfumato.tracks.io.formats import format_of, is_archive
from sfumato.tracks.people.door import people_one_by_one, read_people
from sfumato.tracks.people.layout import TableReading

Named = dict[str | None, Trace]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """What ``--attacks`` asks for, where the page goes, and how originals are read."""

    attacks: str
    knows: str
    within: str
    fail_if: list[str]
    certificate: Path | None
    report: Path | None
    public: bool
    reading: SourceReading
    json: bool
    engine: str = "local"
    master: str | None = None


def audit_by_attacks(inputs: list[str], options: SuiteOptions) -> None:
    """Attack, write the page, say it; exit 1 where a limit of ``--fail-if`` is past. The release is the last input."""
    *originals, release = map(Path, inputs)
    limits = [Limit.parse(text) for text in options.fail_if]
    within_m = length_m(options.within)
    document = None if options.certificate is None else read_certificate(options.certificate)
    spark = options.engine == "spark"
    law = document.get("noise") if document is not None and (spark or release.is_dir()) else document
    asked = SuiteAsked(attackers_named(options.attacks), Knows.parse(options.knows), within_m, law)
    widths = {limit.within_m for limit in limits if limit.within_m is not None}
    if widths - {within_m}:
        raise InputError("A limit is for another distance than --within.", "Give all limits at one distance.")
    refused: list[str] = []
    if spark:
        _told(_found_on_spark(inputs, asked, options), limits, options)
        return
    try:
        if document is not None and release.is_dir():
            verify_folder(document, release)
        people, pairs = _pairs(originals, release, document, options.reading, refused)
    except VerificationFailed as error:
        fail(error, json=options.json, code=1)
    with progress("Attacking", people + len(asked.attackers), quiet=options.json) as step:
        found = attack_releases(pairs, asked, step)
    _told(replace(found, notes=(*found.notes, *refused_words(refused))), limits, options)


def _found_on_spark(inputs: list[str], asked: SuiteAsked, options: SuiteOptions) -> Suite:
    """Digests are made where the rows are, and attacked here."""
    if len(inputs) != 2 or options.reading.one_person:
        raise InputError("Spark audits a dataset of people.", "Give the folder of the original, then the release's.")
    job = import_module("sfumato.tracks.folders.spark.spark_job")
    attacked = import_module("sfumato.tracks.folders.spark.attacked_people")
    with job.session_on(options.master) as session:
        reading = TableReading(options.reading.columns, options.reading.zone)
        people = attacked.people_on_spark(session, *inputs, reading)
    with progress("Attacking", len(asked.attackers), quiet=options.json) as step:
        found = attack_people(people, asked, step)
    note = "The parts were not held against the certificate: sfumato verify, on a copy of the folder."
    return found if asked.certificate is None else replace(found, notes=(*found.notes, note))


def _told(found: Suite, limits: list[Limit], options: SuiteOptions) -> None:
    """The page and the lines; exit 1 where a limit is past, or more was found than is certified."""
    past = [(text, one) for text, limit in zip(options.fail_if, limits, strict=True) for one in limit.past(found)]
    if options.report is not None:
        page = attacks_page(found, public=options.public)
        write_text(options.report, page, private=not options.public)
    if options.json:
        print_json({"ok": not past, **found.to_dict(), "failed": [[text, one.sentence()] for text, one in past]})
    else:
        _say(found, past, options.report)
    if past or found.beaten:
        raise SystemExit(1)


def _say(found: Suite, past: list[tuple[str, Attempt]], report: Path | None) -> None:
    typer.echo("Private: computed from the original. Keep it to yourself.")
    typer.echo(found.headline())
    for one in found.outcomes:
        if one.after is not None:
            typer.echo(f"- {one.sentence()}")
    idle = [one.attacker for one in found.outcomes if one.after is None]
    if idle:
        typer.echo(f"Nothing to go by: {', '.join(dict.fromkeys(idle))}.")
    for note in found.notes:
        typer.echo(f"Note: {note}")
    for text, one in past:
        typer.echo(f"FAILED {text}: {one.attacker}.")
    if report is not None:
        typer.echo(f"Report: {report}")


def _pairs(
    originals: list[Path],
    release: Path,
    document: Mapping[str, object] | None,
    reading: SourceReading,
    refused: list[str],
) -> tuple[int, Iterator[tuple[str | None, Trace, ReleasedDigest | None]]]:
    """How many people, and everybody's original beside what attackers see of the release, which is not held longer."""
    if document is None or release.is_dir():
        seen = dict(_digests(each_in([release], SourceReading(keep=KEPT), refused)[1]))
    elif document.get("people") == 1 or not format_of(release).people:
        seen = dict(_digests(iter(_with_kept(open_release(document, release)[1], release, document))))
    else:
        seen = _checked_digests(release, document)
    seen = dict(renamed_people(list(seen.items()), release, given=True))
    names, first = each_in(originals, replace(reading, keep=KEPT), refused)
    if len(names) == len(seen) == 1:
        return 1, ((None, trace, next(iter(seen.values()))) for _, trace in first)
    if not set(seen) <= set(names):
        raise InputError(
            f"The original names {len(names)} people, the release {len(seen)}, and not the same.",
            "Name the columns of people alike (--column id=...), or give the private list of ids beside the release.",
        )
    return len(names), ((name, trace, seen.get(name)) for name, trace in first)


def _digests(people: Iterator[tuple[str | None, Trace]]) -> Iterator[tuple[str | None, ReleasedDigest]]:
    """What attackers see, person after person, none of whom is held longer."""
    return ((name, ReleasedDigest.of(trace)) for name, trace in people)


def _checked_digests(release: Path, document: Mapping[str, object]) -> dict[str | None, ReleasedDigest]:
    """The same of a table whose certificate must be its own, read once."""
    seen: dict[str | None, ReleasedDigest] = {}

    def digests() -> Iterator[tuple[str | None, FloatArray, FloatArray, FloatArray]]:
        reading = SourceReading(columns=id_column(document.get("ids")), keep=KEPT)
        for name, trace in each_in([release], reading, [])[1]:
            seen[name] = ReleasedDigest.of(trace)
            yield name, milliseconds_as_s(trace.times_s), trace.lat_deg, trace.lon_deg

    check_whole(document, content_digest(digests()))
    return seen


def _with_kept(
    people: list[tuple[str | None, Trace]], release: Path, document: Mapping[str, object]
) -> list[tuple[str | None, Trace]]:
    """The people of a release with the fields that it kept: its certificate's digest is of places and times alone."""
    again = people_in([release], SourceReading(columns=id_column(document.get("ids")), keep=KEPT), [])
    if len(people) == 1:
        again = {people[0][0]: next(iter(again.values()))}
    fuller = [(name, again.get(name, trace)) for name, trace in people]
    return [
        (name, more if more.columns and len(more) == len(one) else one)
        for (name, one), (_, more) in zip(people, fuller, strict=True)
    ]


def each_in(
    sources: list[Path], reading: SourceReading, refused: list[str]
) -> tuple[list[str | None], Iterator[tuple[str | None, Trace]]]:
    """Who is in files, and their tracks one by one; the rows of one table are not held as tracks all at once."""
    if len(sources) == 1 and not is_archive(sources) and format_of(sources[0]).people:
        table = TableReading(reading.columns, reading.zone, reading.one_person)
        return people_one_by_one(sources[0], table, keep_if_there=reading.keep)
    found = people_in(sources, reading, refused)
    return list(found), ((name, found.pop(name)) for name in list(found))


def people_in(sources: list[Path], reading: SourceReading, refused: list[str]) -> Named:
    """Everybody in files, folders and archives: by id in tables, else one person, whose files are put together.

    ``refused`` gets the names of files that hold no track that can be read.
    """
    found: dict[str | None, list[Trace]] = {}
    if not is_archive(sources):
        with only_track(sources[0]) as path:
            _take(path, reading, found)
    else:
        for member in members(sources):
            if member.skipped is None:
                with member.path() as path:
                    try:
                        _take(path, reading, found)
                    except InputError:
                        refused.append(member.name)
    if not found:
        raise InputError("There is no track in these files.", "Give files with positions and times.")
    return {name: _joined(parts) for name, parts in found.items()}


def refused_words(refused: list[str]) -> list[str]:
    """A note about files that nobody could read."""
    some = f"{count_of(len(refused), 'file')} could not be read as tracks and left out: {', '.join(refused[:3])}"
    return [f"{some}{' ...' if refused[3:] else ''}."] if refused else []


def _take(path: Path, reading: SourceReading, found: dict[str | None, list[Trace]]) -> None:
    if format_of(path).people:
        table = TableReading(reading.columns, reading.zone, reading.one_person)
        people = read_people(path, table, keep_if_there=reading.keep)
    else:
        people = [(None, read_trace(path, zone=reading.zone, keep=reading.keep, keep_if_there=True))]
    for name, trace in people:
        found.setdefault(name, []).append(trace)


def _joined(parts: list[Trace]) -> Trace:
    return parts[0] if len(parts) == 1 else join_traces(sorted(parts, key=lambda trace: float(trace.times_s[0])))
