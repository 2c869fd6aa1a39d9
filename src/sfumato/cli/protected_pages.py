"""The pages that ``protect`` writes beside a release: of one track, of a table of people, or of one person in it."""

from __future__ import annotations

from sfumato.answers.smooth import SmoothTracks
from sfumato.certificates.verify import Document
from sfumato.errors import InputError
from sfumato.protection import Protected, ProtectedFleet
from sfumato.report import render


def page_of(
    done: Protected | ProtectedFleet,
    document: Document,
    smoothed: SmoothTracks | None,
    *,
    private: bool,
    person: str | None = None,
) -> str:
    """The private or the public page; ``smoothed`` is what is released where the style is smooth."""
    if not isinstance(done, Protected):
        raise InputError("A report shows one person.", "Leave the reports out for a table of several people.")
    return render(
        release=done.release if smoothed is None else smoothed.trace,
        certificate=document,
        original=done.original if private else None,
        audit=done.audit() if private else None,
        dropped=done.dropped if private else (),
    )
