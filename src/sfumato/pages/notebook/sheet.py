"""What there is to see of a value, however it is drawn: its parts, the promise, figures, and what is folded away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sfumato.base.arrays import Solved
from sfumato.base.drawing.panels import Bars, Panel
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import MOST_SAID, odds_words
from sfumato.base.shown import Shown, ShownAnswer
from sfumato.base.things.channel import Channel
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_duration, format_length
from sfumato.channels.designs.comparison import Comparison
from sfumato.channels.designs.task import DesignedChannel
from sfumato.pages.notebook.answers import ANSWERS
from sfumato.pages.notebook.contents import Part, Sheet, averaged_matrix, drawn_tracks
from sfumato.pages.report.usefulness_page import error_words
from sfumato.pages.report.words import audit_rows, cards, kept_words
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.adversary.fleet import FleetAudit
from sfumato.tracks.answers.usefulness.utility import Utility
from sfumato.tracks.certificates.document import Certificate, Sealed, thin_protection, worst_odds
from sfumato.tracks.designs.noise_design import NoiseDesign
from sfumato.tracks.people.noise import Protected
from sfumato.tracks.people.preview import Preview
from sfumato.tracks.people.results import ProtectedFleet

PRIVATE = "Private: computed from the original."
TO_NOTE = "To note"
_MOST_PEOPLE = 60


def sheet_of(value: object, *, original: bool = False) -> Sheet:
    """The sheet of whatever can be shown; ``original`` draws it beside a release."""
    for kind, made in {**_SHEETS, **ANSWERS}.items():
        if isinstance(value, kind):
            return _noted(made(value, original), value)
    raise InputError(f"There is no picture of a {type(value).__name__}.", "Show a trace, release, channel or audit.")


def _noted(sheet: Sheet, value: object) -> Sheet:
    """With what its answer says to note, unless the sheet says it already."""
    if not isinstance(value, ShownAnswer) or not value.notes or sheet.folded is not None:
        return sheet
    return replace(sheet, folded={TO_NOTE: value.notes})


def _trace(trace: Trace, original: bool) -> Sheet:
    span = float(np.ptp(trace.times_s))
    rows = [
        ("points", f"{len(trace)}"),
        ("segments", f"{trace.segments}"),
        ("from first to last", format_duration(span)),
    ]
    if kept := [*trace.columns, *trace.texts]:
        rows.append(("fields beside position and time", ", ".join(kept)))
    return Sheet("A track", (drawn_tracks("", {"track": [trace]}),), rows=tuple(rows))


def _protected(done: Protected, original: bool) -> Sheet:
    return _release([done.release], [done.original] if original else [], Certificate.of(done.body))


def _fleet(done: ProtectedFleet, original: bool) -> Sheet:
    before = [trace for _, trace in done.originals] if original else []
    return _release([trace for _, trace in done.releases], before, Certificate.of(done.certificate))


def _release(releases: Sequence[Trace], originals: Sequence[Trace], record: Certificate) -> Sheet:
    some = np.unique(np.linspace(0, len(releases) - 1, _MOST_PEOPLE).astype(int))
    drawn = {"original (private)": [originals[k] for k in some]} if originals else {}
    drawn["release"] = [releases[k] for k in some]
    title = "A protected track" if record.people == 1 else f"Protected tracks of {record.people} people"
    return _stated(title, (drawn_tracks("", drawn),), record)


def _stated(title: str, parts: tuple[Part, ...], record: Certificate) -> Sheet:
    """Pictures with the promise, its figures, its alarms, and what it does not cover."""
    words = record.words
    rows = [(words(card.label), words(f"{card.number}, {card.meaning}")) for card in cards(record, None)]
    kept = [("kept", kept_words(record.kept))] if record.kept else []
    kept += [("ids", record.ids)] if record.ids else []
    parted = {"Take care": record.warnings, "What is not covered": record.guarantee.not_covered}
    folded = {name: [words(text) for text in texts] for name, texts in parted.items()}
    return Sheet(title, parts, record.headline, (*rows, *kept), tuple(thin_protection(record)), folded)


def _certificate(document: Certificate | Sealed, original: bool) -> Sheet:
    if not isinstance(document, Certificate) and "noise" in document and "files" in document:
        if document["noise"] is None:
            return Sheet("A certificate of hidden places", (), promise=" ".join(document["withheld"] or ()))
        document = Sealed(document["noise"])
    elif not isinstance(document, Certificate) and "source" in document:
        document = Sealed(document["source"])
    record = Certificate.of(document)
    radii = np.linspace(0.05, 3.0, 60) * record.stated.numbers.radius_m
    odds = np.array([min(worst_odds(record, float(radius)) or np.nan, MOST_SAID) for radius in radii])
    title, names = "worst odds stated, by distance", ("distance of two places (m)", "odds : 1")
    radius_m = record.stated.numbers.radius_m
    panel = Panel(title, radii, {"odds to one": odds}, *names, dashed=radius_m, log_y=True)
    return _stated("A certificate", (panel,) if np.isfinite(odds).any() else (), record)


def _channel(channel: Channel, original: bool) -> Sheet:
    rows, columns = channel.shape
    named = [("cost of a wrong report", channel.distortion_name or "given")] if channel.distortion is not None else []
    figures = (("true symbols", f"{rows}"), ("reports", f"{columns}"), *named)
    part = averaged_matrix("P(report | true)", channel.matrix, "report", "true symbol")
    return Sheet("A channel", (part,), rows=figures)


def _designed(made: DesignedChannel, original: bool) -> Sheet:
    sheet, promise = _channel(made.channel, original), made.guarantee
    stated = {name: value for name, value in promise.parameters.items() if isinstance(value, float)}
    numbers = [(name.replace("_", " "), f"{value:.6g}") for name, value in stated.items()]
    gap = [] if made.gap is None else [("certified gap", f"{made.gap:.2g}")]
    folded = {"It assumes": promise.assumes, "What is not covered": promise.not_covered}
    return Sheet("A designed channel", sheet.parts, promise.notion, (*sheet.rows, *numbers, *gap), folded=folded)


def _noise(design: NoiseDesign, original: bool) -> Sheet:
    sd = np.sqrt(np.diag(design.noise_covariance))
    places = np.arange(len(sd), dtype=np.float64)
    panel = Panel("size of the noise, by time", places, {"standard deviation": sd}, "time (index)", "noise")
    numbers = [
        (name.replace("_", " "), f"{value:.5g}") for name, value in design.summary().items() if value is not None
    ]
    first = ("secrets", f"{len(design.secrets)}, by {design.method}")
    part = averaged_matrix("covariance of the noise", design.noise_covariance, "time (index)", "time (index)")
    return Sheet("A noise design", (part, panel), rows=(first, *numbers))


def _audit(found: Audit, original: bool) -> Sheet:
    sizes = {
        "as released": found.rms_error_raw_m,
        "after smoothing": found.rms_error_smoothed_m,
        "68% half-width": found.interval_68_m,
        "promised at least": found.floor_m,
    }
    bars = Bars("the adversary's error per coordinate", {k: v for k, v in sizes.items() if v is not None}, "m")
    return Sheet("An audit", (bars,), found.verdict, tuple(audit_rows(found)[:-1]), (PRIVATE,))


def _fleet_audit(found: FleetAudit, original: bool) -> Sheet:
    worst = sorted((one.audit for one in found.persons), key=lambda one: one.rms_error_raw_m)
    lines = {"as released": np.array([one.rms_error_raw_m for one in worst])}
    if all(one.rms_error_smoothed_m is not None for one in worst):
        lines["after smoothing"] = np.array([float(one.rms_error_smoothed_m or 0.0) for one in worst])
    panel = Panel(
        "error per coordinate, person by person", np.arange(1.0, len(worst) + 1), lines, "people, by error", "m"
    )
    one = found.worst
    rows = (("people", f"{found.people}"), ("attacked", f"{len(found.persons)}"), ("worst off", str(one.person or "-")))
    return Sheet("An audit of people", (panel,), one.audit.verdict, rows, (PRIVATE,), {TO_NOTE: found.notes})


def _comparison(found: Comparison, original: bool) -> Sheet:
    names = list(dict.fromkeys(row.mechanism for row in found))
    targets = np.array(sorted({row.target for row in found}))
    at = found[0].at.upper() if len(found) else ""
    if targets.size == 1:
        bars = Bars("average distortion", {row.mechanism: row.average_distortion for row in found}, "")
        return Sheet(f"Mechanisms at {at} {targets[0]:g}", (bars,))
    measures = (("average_distortion", "average distortion"), ("mutual_information_nats", "mutual information (nats)"))
    parts = [
        Panel(
            title,
            targets,
            {n: np.array([getattr(r, field) for r in found if r.mechanism == n]) for n in names},
            f"{at} (target)",
            title,
        )
        for field, title in measures
    ]
    return Sheet(f"Mechanisms at equal {at}", tuple(parts))


def _solved(found: Solved[object], original: bool) -> Sheet:
    """What was found, where it can be shown, and how far from the best it can be."""
    value = getattr(found.value, "channel", found.value)
    sheet = sheet_of(value, original=original) if isinstance(value, Shown) else Sheet("What was found", ())
    bounds = {"objective": found.objective, "proved lower bound": found.lower_bound, "certified gap": found.gap}
    numbers = [(name, f"{value:.6g}") for name, value in bounds.items() if value is not None]
    return replace(sheet, rows=(*sheet.rows, ("status", found.status), *numbers))


def _utility(found: Utility, original: bool) -> Sheet:
    rows = [row for row in found.measures if row.best is not None]
    bars = Bars("error of the better answer", {row.name: 100.0 * (row.best or 0.0) for row in rows}, "%")
    away = f"Half of the {found.points} points lie within {format_length(found.error_m)} of the truth."
    words = [(row.name, f"{error_words(row)} (naive → corrected)") for row in rows]
    notes = [*found.notes, *sorted({row.note for row in found.measures if row.note})]
    return Sheet("How useful a release is", (bars,) if rows else (), away, tuple(words), (PRIVATE,), {TO_NOTE: notes})


def _preview(found: Preview, original: bool) -> Sheet:
    choices = sorted(found.choices, key=lambda one: one.noise_m)
    measures = zip(*(one.utility.measures for one in choices), strict=True)
    errors = {
        rows[0].name: np.array([np.nan if row.best is None else 100.0 * row.best for row in rows]) for rows in measures
    }
    drawn = {name: values for name, values in errors.items() if np.isfinite(values).any()}
    noises = np.array([one.noise_m for one in choices])
    panel = Panel("error of the better answer", noises, drawn, "noise per coordinate (m)", "%")
    radius, odds = format_length(found.radius_m), found.odds
    kept = [format_length(one.radius_at_m[odds]) for one in choices]
    rows = [
        (format_length(one.noise_m), f"{odds_words(one.odds) or '-'} at {radius}; {odds:g} : 1 at {own}")
        for one, own in zip(choices, kept, strict=True)
    ]
    folded = {"What can be had together": [one.sentence for one in found.wishes], TO_NOTE: found.notes}
    promise = "Nothing was released. Each row: a size of the noise, and the odds between two places so far apart."
    return Sheet("A preview of releases", (panel,) if drawn else (), promise, tuple(rows), (PRIVATE,), folded)


_SHEETS: dict[type, Callable[..., Sheet]] = {
    Trace: _trace,
    Protected: _protected,
    ProtectedFleet: _fleet,
    Certificate: _certificate,
    Sealed: _certificate,
    Channel: _channel,
    DesignedChannel: _designed,
    NoiseDesign: _noise,
    Audit: _audit,
    FleetAudit: _fleet_audit,
    Comparison: _comparison,
    Solved: _solved,
    Utility: _utility,
    Preview: _preview,
}
