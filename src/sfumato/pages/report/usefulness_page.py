"""Promise against usefulness as a page: a table, curves, wishes and people. Private: it was made from the original."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.base.drawing.drawing import bullets
from sfumato.base.numbers.odds import odds_words
from sfumato.base.units import format_length
from sfumato.pages.report.archive_page import page, section, table
from sfumato.pages.report.curves import STYLE, Curve, panel
from sfumato.tracks.answers.usefulness.measures import Quality
from sfumato.tracks.answers.usefulness.preview import Choice, Preview
from sfumato.tracks.answers.usefulness.utility import PersonUtility, Utility

_BANNER = "<strong>Private.</strong> This page was computed from the original. Keep it to yourself."
_PANELS = {"length": "Trip length", "speed": "Median speed", "heatmap": "Heat map", "flows": "Flows"}
HOW_TO_READ = (
    "Errors are shares: of the true length or speed, or of the people (trips) that would have to be moved to make two "
    "maps alike. Naive reads the release as if it were the truth; corrected takes the noise out by the law that is on "
    "its certificate."
)


def preview_page(found: Preview) -> str:
    """Sizes of the noise side by side, before anything is released."""
    choices = found.choices
    heads = ["noise per coordinate", *(format_length(choice.noise_m) for choice in choices)]
    rows: list[Sequence[object]] = [
        [
            f"radius kept at odds of {found.odds:g} : 1",
            *(format_length(one.radius_at_m[found.odds]) for one in choices),
        ],
        [f"odds at {format_length(found.radius_m)}", *(odds_words(one.odds) or "-" for one in choices)],
        ["median distance from the truth", *(format_length(one.utility.error_m) for one in choices)],
    ]
    for k, row in enumerate(choices[0].utility.measures):
        if row.best is not None:
            rows.append([row.name, *(error_words(one.utility.measures[k]) for one in choices)])
    people = choices[0].utility.persons
    persons = [[one.person, one.points, *_lengths(choices, k)] for k, one in enumerate(people)]
    each = "<p>Trip length of each person, naive → corrected.</p>" + table(["person", "points", *heads[1:]], persons)
    return page(
        "A preview of releases (private)",
        _BANNER,
        f'<style>{STYLE}</style><div class="curves">{"".join(preview_panels(found).values())}</div>',
        section("What can be had together", bullets([one.sentence for one in found.wishes])),
        section("Promise and usefulness", f"<p>{HOW_TO_READ} Here: naive → corrected.</p>{table(heads, rows)}"),
        section("Person by person", each) if people else "",
        section("To note", bullets([*found.notes, *_measure_notes(choices), "Nothing was released."])),
    )


def utility_page(found: Utility) -> str:
    """One release beside its original."""
    away = format_length(found.error_m)
    return page(
        "The usefulness of a release (private)",
        _BANNER,
        "",
        section(
            "How far answers are from the truth",
            f"<p>{found.points} points of {found.people} people; the median one lies {away} from the truth. "
            f"{HOW_TO_READ}</p>" + usefulness_table(found.measures),
        ),
        section("Person by person", persons_table(found.persons)) if found.persons else "",
        section("To note", bullets([*found.notes, *sorted({row.note for row in found.measures if row.note})])),
    )


def usefulness_table(measures: Sequence[Quality]) -> str:
    """Naive and corrected errors of every answer."""
    rows = [(row.name, percent(row.naive), percent(row.corrected), row.note) for row in measures]
    return table(("answer", "naive", "corrected", ""), rows)


def persons_table(persons: Sequence[PersonUtility]) -> str:
    """Every person's errors, the farthest off first."""
    names = [row.name for row in persons[0].measures]
    rows = [
        (one.person, one.points, format_length(one.error_m), *map(error_words, one.measures))
        for one in sorted(persons, key=lambda one: -one.error_m)
    ]
    return table(("person", "points", "median distance", *names), rows)


def percent(share: float | None) -> str:
    """A share in words; a dash where there is none."""
    if share is None:
        return "-"
    return f"{100 * share:,.{0 if share >= 0.0995 else 1}f} %".replace(",", " ")


def error_words(row: Quality) -> str:
    """Naive → corrected, or what there is of it."""
    return f"{percent(row.naive)} → {percent(row.corrected)}"


def _lengths(choices: Sequence[Choice], person: int) -> list[str]:
    return [error_words(choice.utility.persons[person].measures[0]) for choice in choices]


def _measure_notes(choices: Sequence[Choice]) -> list[str]:
    return sorted({row.note for choice in choices for row in choice.utility.measures if row.note})


def preview_panels(found: Preview) -> dict[str, str]:
    """The curves of each kind of answer, as SVG."""
    noises = [choice.noise_m for choice in found.choices]
    radii = [choice.radius_at_m[found.odds] for choice in found.choices]
    out: dict[str, str] = {}
    for kind, title in _PANELS.items():
        chosen = [k for k, row in enumerate(found.choices[0].utility.measures) if row.kind == kind]
        rows = [[choice.utility.measures[k] for choice in found.choices] for k in chosen]
        curves = [
            Curve(
                "" if row[0].cell_m is None else format_length(row[0].cell_m),
                [one.naive for one in row],
                [one.corrected for one in row],
            )
            for row in rows
            if any(one.best is not None for one in row)
        ]
        if curves:
            out[kind] = panel(title, noises, radii, curves)
    return out
