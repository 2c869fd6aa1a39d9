"""The pages that ``protect`` writes beside a release: of one track, of a table of people, or of one person in it."""

from __future__ import annotations

from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.things.traces import Trace
from sfumato.pages.report import render
from sfumato.pages.report.fleet_page import private_fleet_page, public_fleet_page
from sfumato.pages.report.line import record_of
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.adversary.fleet import FleetAudit, People, attacked_people, audit_fleet, person_losses
from sfumato.tracks.answers.received import Received, receive
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.utility import useful
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.people.protection import Protected, ProtectedFleet


def page_of(
    done: Protected | ProtectedFleet,
    document: Document,
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
            found = audit_fleet(done.originals, done.releases, document.get("source", document), step=step)
        return fleet_page(done.originals, shown, document, found)
    return public_page(shown, document)


def public_page(shown: People, document: Document) -> str:
    """From the release and its certificate; nothing of an original comes in here."""
    record, smoothed = record_of(document)
    inner = document.get("source", document)
    return public_fleet_page(shown, record, person_losses(shown, inner), _received(shown, document), smoothed=smoothed)


def fleet_page(originals: People, shown: People, document: Document, found: FleetAudit) -> str:
    """The private page of a table that was attacked."""
    record, smoothed = record_of(document)
    received = _received(shown, document)
    with progress("Measuring usefulness", len(originals) + 1) as step:
        good = useful(originals, shown, [] if received is None else [received], MapsAsked(quick=True), step)
    return private_fleet_page(shown, record, found, good, received, smoothed=smoothed)


def person_page(originals: People | None, shown: People, raw: People, document: Document, person: str) -> str:
    """One person of the table, as a track of their own."""
    original = None if originals is None else one_of(originals, person)
    attacked = None
    if original is not None:
        inner = document.get("source", document)
        attacked = audit(original, one_of(raw, person), inner)
    return render(release=one_of(shown, person), certificate=document, original=original, audit=attacked)


def one_of(people: People, person: str) -> Trace:
    """The track of the person with this id."""
    found = dict(people).get(person)
    if found is None:
        raise InputError("There is nobody of that id in this table.", "Check --report-person against the id column.")
    return found


def _received(shown: People, document: Document) -> Received | None:
    """The release with the law of its noise; None where it is smooth, or its noise has no one law."""
    if "source" in document:
        return None
    try:
        return receive(list(shown), document)
    except InputError:
        return None
