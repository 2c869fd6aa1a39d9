"""The commands ``preview`` and ``utility``: promise against usefulness, before a release and after it. Private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import typer

from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.numbers.odds import odds_words
from sfumato.base.progress import progress
from sfumato.base.things.traces import PointsRead, join_traces
from sfumato.base.units import bounds_deg, format_length, length_m
from sfumato.cli import command_of
from sfumato.cli.output import print_json
from sfumato.cli.tracks.archive_faces import named_columns
from sfumato.pages.report.usefulness_page import error_words, preview_page, utility_page
from sfumato.tracks.answers.received import Received, law_of, receive
from sfumato.tracks.answers.usefulness.measures import MapsAsked, People
from sfumato.tracks.answers.usefulness.utility import PRIVATE, Utility, as_people, in_order_of, shown_people, useful
from sfumato.tracks.certificates.build import rounded_times
from sfumato.tracks.certificates.person_ids import renamed_people
from sfumato.tracks.certificates.verify import read_certificate, read_release, terms_of
from sfumato.tracks.folders.audit_archive import shared_pairs
from sfumato.tracks.io import SourceReading
from sfumato.tracks.io.archive import members, only_track
from sfumato.tracks.io.formats import is_archive
from sfumato.tracks.people.door import read_people
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.preview import Preview, parse_wish, simulations
from sfumato.tracks.people.preview import preview as simulate_releases

Found = TypeVar("Found", Preview, Utility)
_ORIGINAL = "The original: a track, a table of people, or one person's archive (folders, files, .gz, .zip)."
_read = partial(typer.Option, rich_help_panel="How the original is read")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Which answers are measured, how originals are read, and where the result goes."""

    cells: str = typer.Option("500m,1km,2km", help="Sides of the cells of heat maps.")
    flow_cells: str = typer.Option(
        "1500m,3km,6km", help="Sides of the cells of flows; a trip is one segment of a track."
    )
    bounds: str | None = typer.Option(
        None, help="south,west,north,east of the maps in degrees; by default where the points are."
    )
    report: Path | None = typer.Option(
        None, help="Write a page with the table and a picture (HTML, 0600, private) here."
    )
    time_zone: str | None = _read(None, help="Time zone of the original's times that name none.")
    column: list[str] = _read([], help="Name a table's column by role, e.g. lat=Y; repeat for more.")
    one_person: bool = _read(False, "--one-person", help="All rows of every table are one person's.")
    json: bool = typer.Option(False, "--json", help="Print one JSON object and nothing else (private).")

    def maps(self) -> MapsAsked:
        """The maps to be compared."""
        heat, flows = (
            tuple(length_m(part) for part in text.split(",") if part) for text in (self.cells, self.flow_cells)
        )
        return MapsAsked(heat, flows, bounds_deg(self.bounds) if self.bounds else None)

    def of_sources(self) -> SourceReading:
        """How the files of an archive are read."""
        return SourceReading(None, self.time_zone, named_columns(self.column), one_person=self.one_person)

    def originals(self, sources: list[Path]) -> People:
        """The people of a track, a table, or an archive (one person, all files together)."""
        packed = len(sources) == 1 and sources[0].is_file() and sources[0].suffix.lower() == ".gz"
        if not is_archive(sources) or packed:
            with only_track(sources[0]) as source:
                return read_people(source, TableReading(named_columns(self.column), self.time_zone, self.one_person))
        found, how = [], self.of_sources()
        for member in members(sources):
            if member.skipped is None:
                with member.path() as path:
                    try:
                        found.append(rounded_times(how.read(path)[1]))
                    except InputError:
                        continue  # no track: protect says which
        if not found:
            raise InputError("There is no track in these files.", "Give files with positions and times.")
        return [(None, join_traces(sorted(found, key=lambda trace: float(trace.times_s[0]))))]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(MeasureOptions):
    """What sizes of noise are tried, and for which promise."""

    original: list[Path] = typer.Argument(..., metavar="ORIGINAL...", help=_ORIGINAL)
    noise: str = typer.Option("100m,200m,400m,800m", help="Sizes of the noise per coordinate to try (m, km).")
    radius: str = typer.Option("200m", help="The radius of the promise (m, km, ft, mi).")
    odds: float = typer.Option(5.0, help="The odds of the promise, 99 times in 100.")
    mechanism: str = typer.Option("multiscale", help="The mechanism, as for protect.")
    prior_class: str = typer.Option("day", "--class", help="Length scales covered: day, week or year.")
    wish: list[str] = typer.Option(
        [],
        help="What you want together, e.g. length=10%,radius=500m or heatmap@1km=10% or flows@3km=15%,odds=5; repeat "
        "for more. By default everything within 10 % at --radius and --odds.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityOptions(MeasureOptions):
    """What is compared."""

    paths: list[Path] = typer.Argument(
        ..., metavar="ORIGINAL... RELEASE", help=_ORIGINAL + " Then the release made from it, or the shared folder."
    )
    certificate: list[Path] = typer.Option(
        [],
        "--certificate",
        "-c",
        help="The release's certificate: without it no answer can be corrected. With several, the last files are as "
        "many releases, each with its own law.",
    )


def register(app: typer.Typer) -> None:
    """Add ``preview`` and ``utility`` to the app."""
    app.command("preview", help="Before a release: what each size of noise promises, and what it leaves.")(
        command_of(PreviewOptions, preview)
    )
    app.command("utility", help="After a release: how far its answers are from the truth. Private.")(
        command_of(UtilityOptions, utility)
    )


def preview(asked: PreviewOptions) -> None:
    """Releases are simulated from fresh randomness and thrown away; nothing of a real release is touched.

    What is shown was computed from the original: keep it to yourself.
    """
    radius_m, sizes, maps = length_m(asked.radius), [length_m(part) for part in asked.noise.split(",")], asked.maps()
    wishes = [parse_wish(text, radius_m, asked.odds) for text in asked.wish]
    named = {name: getattr(asked, name) for name in ("odds", "mechanism", "prior_class")}
    named |= {name: getattr(maps, name) for name in ("heat_cells_m", "flow_cells_m", "bounds")}
    people = asked.originals(asked.original)
    with progress("Simulating releases", simulations(len(sizes), len(people)), quiet=asked.json) as step:
        found = simulate_releases(people, noise_m=sizes, radius_m=radius_m, wishes=wishes, step=step, **named)
    _tell(found, people, preview_page, _say_preview, asked)


def utility(asked: UtilityOptions) -> None:
    """Naive reads the release as if it were the truth; corrected is what a receiver gets with the certificate."""
    first = len(asked.paths) - max(len(asked.certificate), 1)
    if first < 1:
        raise InputError(
            "Originals and releases are compared.", "Name the original, then a release for each certificate."
        )
    sources, releases = asked.paths[:first], asked.paths[first:]
    if len(asked.certificate) > 1:
        received: Sequence[Received] = [receive(*pair) for pair in zip(releases, asked.certificate, strict=True)]
        others: People = [person for one in received for person in one.people]
        people = as_people(asked.originals(sources))
        for path in releases:
            people = renamed_people(people, path, given=False)
        people = in_order_of(people, others)
    else:
        people, others, received = _pair(asked, sources, releases[0])
    with progress("Measuring", 1 + len(shown_people(len(people))), quiet=asked.json) as step:
        found = useful(people, others, received, asked.maps(), step)
    _tell(found, people, utility_page, _say_utility, asked)


def _tell(
    found: Found,
    people: People,
    page: Callable[[Found], str],
    say: Callable[[Found], None],
    asked: MeasureOptions,
) -> None:
    """The page if it was asked for, then one JSON object or words."""
    if asked.report is not None:
        write_text(asked.report, page(found), private=True)
    if asked.json:
        print_json({"ok": True, **found.to_dict()})
        return
    say(found)
    if words := PointsRead.of(trace for _, trace in people).sentence():
        typer.echo(f"Note: {words}")
    if asked.report is not None:
        typer.echo(f"Report (private): {asked.report}")


def _say_preview(found: Preview) -> None:
    typer.echo(PRIVATE)
    count = found.choices[0].utility.people
    crowd = f"{count} people" if count > 1 else "one person"
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


def _pair(asked: UtilityOptions, sources: list[Path], release: Path) -> tuple[People, People, Sequence[Received]]:
    certificate = next(iter(asked.certificate), None)
    if release.is_dir():
        if certificate is None:
            raise InputError("A shared folder is read by its certificate.", "Give it: --certificate.")
        one, other, noise = shared_pairs(sources, release, certificate, asked.of_sources())
        terms = terms_of(noise)
        law = law_of(terms.mechanism, terms.snap_m)
        released = ((None, other),)
        return [(None, one)], released, [Received(released, law, terms.mechanism.name, terms.mechanism.continuing)]
    people = renamed_people(as_people(asked.originals(sources)), release, given=False)
    if certificate is None:
        return people, as_people(read_release(release, fleet=len(people) > 1)), ()
    document = read_certificate(certificate)
    inner = document.get("source")
    if isinstance(inner, dict):  # a smooth release: it is read as it is, and there is no noise to take out
        return people, as_people(read_release(release, fleet=inner.get("people") != 1)), ()
    received = receive(release, document)
    return people, received.people, [received]


def _table(corner: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    first = max(len(corner), *(len(name) for name, _ in rows))
    widths = [max(len(head), *(len(row[k]) for _, row in rows)) for k, head in enumerate(heads)]
    for name, cells in [(corner, heads), *rows]:
        typer.echo(f"{name:<{first}}  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)))
    typer.echo("")


def _notes(notes: Sequence[str], measures: Sequence[str]) -> None:
    for note in dict.fromkeys([*notes, *(f"{note[0].upper()}{note[1:]}." for note in measures if note)]):
        typer.echo(f"Note: {note}" if note.endswith(".") else f"Note: {note}.")
