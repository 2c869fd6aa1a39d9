"""Promise against usefulness as a page: a table, curves, wishes and people. Private: it was made from the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.drawing.scales import Scale, y_axis
from sfumato.base.drawing.svg import bullets, element, label, line_data, picture
from sfumato.base.numbers.odds import odds_words
from sfumato.base.units import format_length
from sfumato.pages.report.parts import PRIVATE, page, section, table
from sfumato.tracks.answers.usefulness.measures import Quality
from sfumato.tracks.answers.usefulness.utility import PersonUtility, Utility
from sfumato.tracks.people.preview import Choice, Preview

WIDTH, HEIGHT = 470.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 30.0, 54.0
TICKS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
INKS = ("east", "north", "third")
STYLE = (
    ".curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:.6rem}"
    ".curves svg{font:12px system-ui,sans-serif}.curves .rule,.curves .zero{stroke:var(--line);fill:none}"
    ".curves path.east,.curves path.north,.curves path.third{fill:none;stroke-width:2.2}"
    ".curves path.east{stroke:var(--east)}.curves path.north{stroke:var(--north)}"
    ".curves path.third{stroke:var(--original)}.curves path.naive{stroke-dasharray:5 4;stroke-width:1.6}"
    ".curves text{fill:var(--soft)}.curves text.east{fill:var(--east);stroke:none}"
    ".curves text.north{fill:var(--north);stroke:none}.curves text.third{fill:var(--original);stroke:none}"
    ".curves .title{fill:var(--ink);font-weight:600}.sheet th{width:auto}.sheet td{overflow-wrap:normal}"
    ".sheet td+td,.sheet th+th{white-space:nowrap;text-align:right}"
)
_PANELS = {"length": "Trip length", "speed": "Median speed", "heatmap": "Heat map", "flows": "Flows"}
HOW_TO_READ = (
    "Errors are shares: of the true length or speed, or of the people (trips) that would have to be moved to make two "
    "maps alike. Naive reads the release as if it were the truth; corrected takes the noise out by the law that is on "
    "its certificate."
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One answer's errors at each size of the noise, as shares; None where there is none."""

    label: str
    naive: Sequence[float | None]
    corrected: Sequence[float | None]


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
        PRIVATE,
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
        PRIVATE,
        "",
        section(
            "How far answers are from the truth",
            f"<p>{found.points} points of {found.people} people; the median one lies {away} from the truth. "
            f"{HOW_TO_READ}</p>" + usefulness_table(found.measures),
        ),
        section("Person by person", persons_table(found.persons)),
        section("To note", bullets([*found.notes, *sorted({row.note for row in found.measures if row.note})])),
    )


def usefulness_table(measures: Sequence[Quality]) -> str:
    """Naive and corrected errors of every answer."""
    rows = [(row.name, percent(row.naive), percent(row.corrected), row.note) for row in measures]
    return table(("answer", "naive", "corrected", ""), rows)


def persons_table(persons: Sequence[PersonUtility]) -> str:
    """Every person's errors, the farthest off first; nothing where people were not told apart."""
    if not persons:
        return ""
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
            out[kind] = curves_panel(title, noises, radii, curves)
    return out


def curves_panel(title: str, noises_m: Sequence[float], radii_m: Sequence[float], curves: Sequence[Curve]) -> str:
    """One chart, corrected answers as lines, naive ones dashed; errors over 100 % are drawn at the upper edge."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    x = Scale(noises_m[0], noises_m[-1], LEFT + 12, right - 12, np.log)
    y = Scale(0.0, 1.0, bottom, TOP, np.sqrt)
    pieces = [label(LEFT, 18, title, class_="title"), y_axis(y, TICKS, "{:.0%}".format, LEFT, right)]
    last = -100.0
    for at, noise_m, radius_m in zip(x(noises_m).tolist(), noises_m, radii_m, strict=True):
        if at - last >= 52:
            last = at
            pieces.append(label(at, bottom + 18, format_length(noise_m), anchor="middle"))
            pieces.append(label(at, bottom + 34, f"r {format_length(radius_m)}", anchor="middle"))
    for k, (ink, curve) in enumerate(zip(INKS, curves, strict=False)):
        for kind, values in (("naive", curve.naive), ("corrected", curve.corrected)):
            errors = np.array([np.nan if value is None else min(value, 1.0) for value in values])
            points = np.column_stack([x(noises_m), y(errors)])[np.isfinite(errors)]
            if len(points):
                pieces.append(element("path", class_=f"{ink} {kind}", d=line_data(points)))
        if curve.label:
            pieces.append(label(LEFT + k * (WIDTH - LEFT) / 3, HEIGHT - 4, curve.label, class_=ink))
    words = f"{title}: error of naive answers (dashed) and corrected ones (lines) by noise"
    return picture(WIDTH, HEIGHT, *pieces, title=words)
