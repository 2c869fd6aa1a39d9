"""What ``preview`` and ``utility`` do and say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import odds_words
from sfumato.base.progress import progress
from sfumato.base.things.traces import PointsRead
from sfumato.base.units import format_length, length_m
from sfumato.cli.output import print_json
from sfumato.cli.tracks.estimated import bounds_of
from sfumato.cli.tracks.protect import named_columns, read_people
from sfumato.pages.report.usefulness_page import error_words, preview_page, utility_page
from sfumato.tracks.answers.maps.window import Bounds
from sfumato.tracks.answers.received import Received, law_of, receive
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.preview import Preview, preview, simulations
from sfumato.tracks.answers.usefulness.quality import People
from sfumato.tracks.answers.usefulness.utility import PRIVATE, Utility, as_people, matched, shown_people, useful
from sfumato.tracks.answers.usefulness.wishes import parse_wish
from sfumato.tracks.certificates.build import rounded_times
from sfumato.tracks.certificates.verify import read_certificate, read_release, terms_of
from sfumato.tracks.folders.audit_archive import shared_pairs
from sfumato.tracks.folders.rides.ride_job import SourceReading
from sfumato.tracks.folders.statement import joined
from sfumato.tracks.io.archive import members, only_track
from sfumato.tracks.io.formats import is_archive

Reading = tuple[str | None, list[str], bool]
Maps = tuple[str, str, str | None]


def show_preview(
    sources: list[Path],
    noise: str,
    promise: tuple[str, float, str, str],
    wish: list[str],
    maps: Maps,
    report: Path | None,
    reading: Reading,
    *,
    json: bool,
) -> None:
    """Simulate, and say what can be had."""
    radius, odds, mechanism, prior_class = promise
    radius_m, sizes = length_m(radius), [length_m(part) for part in noise.split(",")]
    wishes = [parse_wish(text, radius_m, odds) for text in wish]
    people = originals_of(sources, reading)
    heat, flows, bounds = _maps(maps)
    with progress("Simulating releases", simulations(len(sizes), len(people)), quiet=json) as step:
        found = preview(
            people,
            noise_m=sizes,
            radius_m=radius_m,
            odds=odds,
            mechanism=mechanism,
            prior_class=prior_class,
            wishes=wishes,
            heat_cells_m=heat,
            flow_cells_m=flows,
            bounds=bounds,
            step=step,
        )
    if report is not None:
        write_text(report, preview_page(found), private=True)
    if json:
        print_json({"ok": True, **found.to_dict()})
        return
    _say_preview(found, people)
    _say_read(people)
    _written(report)


def _say_preview(found: Preview, people: People) -> None:
    typer.echo(PRIVATE)
    crowd = f"{len(people)} people" if len(people) > 1 else "one person"
    typer.echo(f"{crowd}, {found.mechanism} noise; errors are naive -> corrected. Nothing was released.\n")
    heads = [format_length(choice.noise_m) for choice in found.choices]
    rows: list[tuple[str, list[str]]] = [
        (
            f"radius at odds of {found.odds:g} : 1",
            [format_length(choice.radius_at_m[found.odds]) for choice in found.choices],
        ),
        (f"odds at {format_length(found.radius_m)}", [odds_words(choice.odds) or "-" for choice in found.choices]),
        ("median distance from the truth", [format_length(choice.utility.error_m) for choice in found.choices]),
    ]
    for k, row in enumerate(found.choices[0].utility.measures):
        if row.best is not None:
            rows.append((row.name, [error_words(choice.utility.measures[k]) for choice in found.choices]))
    _table("noise per coordinate", heads, rows)
    for one in found.wishes:
        typer.echo(f"- {one.sentence}")
    _notes(found.notes, [row.note for choice in found.choices for row in choice.utility.measures])


def show_utility(
    paths: list[Path], certificates: list[Path], maps: Maps, report: Path | None, reading: Reading, *, json: bool
) -> None:
    """Measure one release, or several of the same originals with a certificate each."""
    first = len(paths) - max(len(certificates), 1)
    if first < 1:
        raise InputError(
            "Originals and releases are compared.", "Name the original, then a release for each certificate."
        )
    sources = paths[:first]
    if len(certificates) > 1:
        received: Sequence[Received] = [receive(*pair) for pair in zip(paths[first:], certificates, strict=True)]
        others: People = [person for one in received for person in one.people]
        people = matched(as_people(originals_of(sources, reading)), others)
    else:
        certificate = certificates[0] if certificates else None
        people, others, received = _pair(sources, paths[-1], certificate, reading)
    heat, flows, bounds = _maps(maps)
    with progress("Measuring", 1 + len(shown_people(len(people))), quiet=json) as step:
        found = useful(people, others, received, MapsAsked(heat, flows, bounds), step)
    if report is not None:
        write_text(report, utility_page(found), private=True)
    if json:
        print_json({"ok": True, **found.to_dict()})
        return
    _say_utility(found)
    _say_read(people)
    _written(report)


def _say_utility(found: Utility) -> None:
    typer.echo(PRIVATE)
    crowd = f"{found.people} people, " if found.people > 1 else ""
    away = format_length(found.error_m)
    typer.echo(f"{crowd}{found.points} points; the median released point lies {away} from the truth.\n")
    there = [(row.name, [error_words(row)]) for row in found.measures if row.best is not None]
    _table("error", ["naive -> corrected"], there)
    if found.persons:
        heads = ["points", "distance", "trip length", "median speed"]
        rows = [
            (str(one.person), [str(one.points), format_length(one.error_m), *map(error_words, one.measures[:2])])
            for one in sorted(found.persons, key=lambda one: -one.error_m)[:20]
        ]
        _table("person", heads, rows)
        if len(found.persons) > len(rows):
            typer.echo(f"... and {len(found.persons) - len(rows)} more: --report or --json shows them.")
    _notes(found.notes, [row.note for row in found.measures])


def _pair(
    sources: list[Path], release: Path, certificate: Path | None, reading: Reading
) -> tuple[People, People, Sequence[Received]]:
    if release.is_dir():
        if certificate is None:
            raise InputError("A shared folder is read by its certificate.", "Give it: --certificate.")
        one, other, noise = shared_pairs(sources, release, certificate, _source_reading(reading))
        terms = terms_of(noise)
        law = law_of(terms.mechanism, terms.snap_m)
        released = ((None, other),)
        return [(None, one)], released, [Received(released, law, terms.mechanism.name, terms.mechanism.continuing)]
    people = as_people(originals_of(sources, reading))
    if certificate is None:
        return people, as_people(read_release(release, fleet=len(people) > 1)), ()
    document = read_certificate(certificate)
    inner = document.get("source")
    if isinstance(inner, dict):  # a smooth release: it is read as it is, and there is no noise to take out
        return people, as_people(read_release(release, fleet=inner.get("people") != 1)), ()
    received = receive(release, document)
    return people, received.people, [received]


def originals_of(sources: list[Path], reading: Reading) -> People:
    """The people of a track, a table, or an archive (one person, all files together)."""
    time_zone, column, one_person = reading
    packed = len(sources) == 1 and sources[0].is_file() and sources[0].suffix.lower() == ".gz"
    if not is_archive(sources) or packed:
        with only_track(sources[0]) as source:
            return read_people(
                source, format=None, zone=time_zone, columns=named_columns(column), one_person=one_person
            )
    found, how = [], _source_reading(reading)
    for member in members(sources):
        if member.skipped is None:
            with member.path() as path:
                try:
                    found.append(rounded_times(how.read(path)[1]))
                except InputError:
                    continue  # no track: protect says which
    if not found:
        raise InputError("There is no track in these files.", "Give files with positions and times.")
    return [(None, joined(sorted(found, key=lambda trace: float(trace.times_s[0]))))]


def _source_reading(reading: Reading) -> SourceReading:
    time_zone, column, one_person = reading
    return SourceReading(None, time_zone, named_columns(column), one_person=one_person)


def _maps(maps: Maps) -> tuple[tuple[float, ...], tuple[float, ...], Bounds | None]:
    heat, flows = (tuple(length_m(part) for part in text.split(",") if part) for text in maps[:2])
    return heat, flows, bounds_of(maps[2])


def _table(corner: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    first = max(len(corner), *(len(name) for name, _ in rows))
    widths = [max(len(head), *(len(row[k]) for _, row in rows)) for k, head in enumerate(heads)]
    for name, cells in [(corner, heads), *rows]:
        typer.echo(f"{name:<{first}}  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)))
    typer.echo("")


def _notes(notes: Sequence[str], measures: Sequence[str]) -> None:
    for note in dict.fromkeys([*notes, *(f"{note[0].upper()}{note[1:]}." for note in measures if note)]):
        typer.echo(f"Note: {note}" if note.endswith(".") else f"Note: {note}.")


def _say_read(people: People) -> None:
    if words := PointsRead.of(trace for _, trace in people).sentence():
        typer.echo(f"Note: {words}")


def _written(report: Path | None) -> None:
    if report is not None:
        typer.echo(f"Report (private): {report}")
