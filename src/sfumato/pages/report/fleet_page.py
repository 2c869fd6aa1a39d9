"""The pages that ``protect`` writes beside a release: of one track, of a table of people, or of one person in it.

A public page is made from the release and its certificate by functions that are given no original; a private one has
the attack. Ids are those of the released table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.base.drawing.scales import nice_step
from sfumato.base.drawing.svg import bullets, element, escape, label, picture
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_words
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.pages.report import record_of, render, source_of
from sfumato.pages.report.heat_picture import STYLE, heat_picture
from sfumato.pages.report.parts import PRIVATE, page, section, table
from sfumato.pages.report.usefulness_page import HOW_TO_READ, persons_table, usefulness_table
from sfumato.pages.report.usefulness_page import STYLE as TABLE_STYLE
from sfumato.pages.report.words import alarm, kept_words, numbers, public_banner
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.adversary.fleet import (
    FleetAudit,
    People,
    PersonAudit,
    PersonLoss,
    attacked_people,
    audit_fleet,
    person_losses,
)
from sfumato.tracks.answers.received import Received, receive
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.utility import useful
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.people.noise import Protected
from sfumato.tracks.people.results import ProtectedFleet

_QUANTILES = ((0.0, "least"), (0.5, "median"), (0.9, "nine in ten"), (1.0, "worst person"))
_MOST_ROWS = 100


def public_fleet_page(
    releases: People,
    certificate: Certificate,
    losses: Sequence[PersonLoss],
    received: Received | None,
    *,
    smoothed: bool,
    more: Sequence[str] = (),
) -> str:
    """For everybody who gets the release; ``more`` sections after the losses."""
    return page(
        "A protected fleet",
        public_banner("tracks"),
        _map(releases, received),
        _promise(certificate, smoothed=smoothed),
        _losses(certificate, losses),
        *more,
        section("What a receiver can do", bullets(_answers(received))),
        *_statement(certificate),
    )


def _map(releases: People, received: Received | None) -> str:
    made = heat_picture([trace for _, trace in releases], received)
    words = f"<figcaption>{escape(made.caption)}</figcaption>" if made.caption else ""
    return f"<style>{TABLE_STYLE}{STYLE}</style>{made.svg}{words}"


def _promise(certificate: Certificate, *, smoothed: bool) -> str:
    size = "" if certificate.noise_m is None else f" Noise of {format_length(certificate.noise_m)} per coordinate."
    people = f"{certificate.people} people, {certificate.points} points, each person with noise of their own.{size}"
    smooth = "<p>Every track was smoothed from a noisy release that is not published; prior fitted to it.</p>"
    kept = f"<p>{escape(kept_words(certificate.kept))}</p>" if certificate.kept else ""
    return (
        f'{alarm(certificate)}<p class="promise">{escape(certificate.headline)}</p><p>{escape(people)}</p>'
        f"{smooth if smoothed else ''}{kept}"
    )


def _losses(certificate: Certificate, losses: Sequence[PersonLoss]) -> str:
    """How the exact losses at people's own times are distributed, and who is worst off."""
    there = [one for one in losses if one.odds_at_times is not None]
    if not there:
        return section(
            "How losses are distributed over people",
            "<p>This release states no loss at people's own times: what is promised holds at any times, for all.</p>",
        )
    odds = np.array([one.odds_at_times for one in there])
    rows = [(words, odds_words(float(np.quantile(odds, q, method="lower"))) or "-") for q, words in _QUANTILES]
    worst = max(there, key=lambda one: one.odds_at_times or 0.0)
    radius = format_length(certificate.stated.numbers.radius_m)
    who = f"Worst off: {worst.person or 'the one person'}, with {worst.points} points."
    if len(there) > 1 and float(np.ptp(odds)) <= 1e-6 * float(odds.max()):
        who = "Everybody's times give away the same."
    said = (
        f"<p>Odds between two places {escape(radius)} apart at one moment, 99 times in 100, exactly at each person's "
        f"own times (the promise is for any times). {escape(who)}</p>"
    )
    return section("How losses are distributed over people", said + _histogram(odds) + table(("", "odds"), rows))


def _histogram(odds: np.ndarray) -> str:
    if len(odds) < 5 or float(np.ptp(odds)) < 1e-9:
        return ""
    step = nice_step(float(np.ptp(odds)), 12)
    low = float(np.floor(odds.min() / step) * step)
    bins = np.arange(low, odds.max() + step, step)
    counts, _ = np.histogram(odds, np.append(bins, bins[-1] + step))
    wide, high, most = 900.0 / len(counts), 120.0, float(counts.max())
    bars = []
    for k, count in enumerate(counts.tolist()):
        x, tall = 30 + k * wide, high * count / most
        bars.append(element("rect", class_="cell", x=x, y=10 + high - tall, width=wide - 2, height=tall))
        bars.append(label(x, 148, f"{bins[k]:.4g}"))
    words = f"Histogram of odds over {len(odds)} people, from {odds.min():.3g} to {odds.max():.3g} to one"
    return picture(960, 156, *bars, title=words, class_="heat")


def _attacked(found: FleetAudit) -> str:
    worst = found.worst
    rows = []
    for one in sorted(found.persons, key=_error_m)[:_MOST_ROWS]:
        sizes = (one.audit.rms_error_raw_m, one.audit.rms_error_smoothed_m, one.audit.interval_68_m)
        held = {True: "kept", False: "BROKEN", None: "-"}[one.audit.holds]
        rows.append((one.person, one.audit.points, *("-" if m is None else format_length(m) for m in sizes), held))
    lines = [f"Worst off: {worst.person}. {worst.audit.verdict}"]
    if found.unprotected:
        lines.insert(0, f"NOT PROTECTED: the release of {', '.join(found.unprotected)} is the original, to the metre.")
    heads = ("person", "points", "error as released", "after smoothing", "68 % half-width", "promise")
    words = "<p>Errors per coordinate; the adversary fits how each moves to the original.</p>"
    return f"{bullets(lines)}{words}{table(heads, rows)}"


def _answers(received: Received | None) -> list[str]:
    if received is None:
        return [
            "Look at the tracks. No law of the noise is published with them, so sums over people cannot be corrected."
        ]
    return [
        "Heat maps, flows, lengths, speeds and stays with the noise taken out: sfumato estimate, with the certificate.",
        "Tracks to look at: sfumato smooth, with the certificate.",
        "Check the promise: sfumato verify certificate.json --release release.parquet.",
    ]


def _statement(certificate: Certificate) -> list[str]:
    words = certificate.words
    return [
        section("What this means", bullets(map(words, certificate.mechanism.explanations(certificate.stated)))),
        section("Take care", bullets(map(words, certificate.warnings))),
        section("Whose ids these are", bullets([certificate.ids])) if certificate.ids else "",
        section("What is not covered", bullets(map(words, certificate.guarantee.not_covered))),
        section(
            "The certificate in numbers", table(("", ""), [(words(name), row) for name, row in numbers(certificate)])
        ),
    ]


def _error_m(one: PersonAudit) -> float:
    smoothed = one.audit.rms_error_smoothed_m
    return one.audit.rms_error_raw_m if smoothed is None else smoothed


def page_of(
    done: Protected | ProtectedFleet,
    document: Mapping[str, object],
    smoothed: SmoothTracks | None,
    *,
    private: bool,
    person: str | None = None,
) -> str:
    """The private or the public page; ``smoothed`` is what is released where the style is smooth."""
    if isinstance(done, Protected):
        return render(
            release=done.release if smoothed is None else smoothed.trace,
            certificate=document,
            original=done.original if private else None,
            audit=done.audit() if private else None,
            dropped=done.dropped if private else (),
        )
    shown: People = done.releases if smoothed is None else smoothed.people
    if person is not None:
        return person_page(done.originals if private else None, shown, done.releases, document, person)
    if private:
        with progress("Attacking every person", len(attacked_people(len(done.originals)))) as step:
            found = audit_fleet(done.originals, done.releases, source_of(document), step=step)
        return fleet_page(done.originals, shown, document, found)
    return public_page(shown, document)


def public_page(shown: People, document: Mapping[str, object]) -> str:
    """From the release and its certificate; nothing of an original comes in here."""
    record, smoothed = record_of(document)
    losses = person_losses(shown, source_of(document))
    return public_fleet_page(shown, record, losses, _received(shown, document), smoothed=smoothed)


def fleet_page(originals: People, shown: People, document: Mapping[str, object], found: FleetAudit) -> str:
    """For the steward: who is worst off, what the attack reaches, and what the release is still good for."""
    certificate, smoothed = record_of(document)
    received = _received(shown, document)
    with progress("Measuring usefulness", len(originals) + 1) as step:
        good = useful(originals, shown, [] if received is None else [received], MapsAsked(quick=True), step)
    return page(
        "A protected fleet (private)",
        f"{PRIVATE} Share only the release and its certificate, or the public report.",
        _map(shown, received),
        _promise(certificate, smoothed=smoothed),
        section("What an adversary still learns", _attacked(found)),
        _losses(certificate, found.losses),
        section("What it is good for", f"<p>{HOW_TO_READ}</p>{usefulness_table(good.measures)}"),
        section("Usefulness, person by person", persons_table(good.persons)),
        section(
            "To note",
            bullets([*found.notes, *good.notes, *sorted({r.note for r in good.measures if r.note})]),
        ),
        *_statement(certificate),
    )


def person_page(
    originals: People | None, shown: People, raw: People, document: Mapping[str, object], person: str
) -> str:
    """One person of the table, as a track of their own."""
    original = None if originals is None else one_of(originals, person)
    attacked = None
    if original is not None:
        attacked = audit(original, one_of(raw, person), source_of(document))
    return render(release=one_of(shown, person), certificate=document, original=original, audit=attacked)


def one_of(people: People, person: str) -> Trace:
    """The track of the person with this id."""
    found = dict(people).get(person)
    if found is None:
        raise InputError("There is nobody of that id in this table.", "Check --report-person against the id column.")
    return found


def _received(shown: People, document: Mapping[str, object]) -> Received | None:
    """The release with the law of its noise; None where it is smooth, or its noise has no one law."""
    if "source" in document:
        return None
    try:
        return receive(list(shown), document)
    except InputError:
        return None
