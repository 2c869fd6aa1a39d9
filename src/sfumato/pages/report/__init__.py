"""One page about one release: a map, the promise in plain words, the error by time, and what is not covered.

The map draws the likeliest track given the release, for the release itself is a scribble, and the released points as
dots. That track is computed from release and certificate alone, so a public page may show it.

The page is one file that asks nothing of any host. With the original it is private and says so on top; without it
(``original=None``) it is made from the release and the certificate alone and can be published with them. A certificate
whose mechanism is not registered has no page: nobody else can say what it promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.base.drawing.map_sheet import drawn_places
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.pages.report.chart import error_chart
from sfumato.pages.report.map import draw_map
from sfumato.pages.report.page import assemble
from sfumato.pages.report.routine import routine_rows
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.answers.received import law_of
from sfumato.tracks.answers.ways.smooth_tracks import smooth_track
from sfumato.tracks.certificates.build import SMOOTHED
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.times_released import Times

__all__ = ["render"]


def render(
    *,
    release: Trace,
    certificate: Document | Certificate,
    original: Trace | None = None,
    audit: Audit | None = None,
    dropped: Sequence[str] = (),
) -> str:
    """The page as HTML. ``original`` None makes the public page; ``audit`` and ``dropped`` are then refused."""
    if original is None:
        if audit is not None or dropped:
            raise InputError(
                "A public report cannot show an audit or what was dropped: both come from the original.",
                "Leave them out, or give the original for a private report.",
            )
    elif len(original) != len(release):
        raise InputError("The original and the release differ in their number of points.", "Give those of one release.")
    record, smoothed = record_of(certificate)
    shown = drawn_places(release)
    line = None if smoothed else smooth_line(release, record)
    return assemble(
        release,
        record,
        track_map=draw_map(release, original, record, audit, shown, line=line),
        chart=None if original is None else error_chart(original, release, record, shown),
        audit=audit,
        dropped=dropped,
        private=original is not None,
        smoothed=smoothed,
        routine=[] if original is None else routine_rows(original, record),
    )


def smooth_line(release: Trace, certificate: Certificate) -> Trace | None:
    """The likeliest track at the release's own times; None where the noise has no law, or the times show none."""
    if len(release) < 2 or (certificate.times != "keep" and not Times.parse(certificate.times).same_intervals):
        return None
    try:
        return smooth_track(release, law_of(certificate.mechanism, certificate.snap_m))[0]
    except InputError:
        return None


def record_of(certificate: Document | Certificate) -> tuple[Certificate, bool]:
    """What is certified, and whether of a smooth track: then the promise is that of the release inside."""
    if isinstance(certificate, Certificate) or certificate.get("kind") != SMOOTHED:
        return Certificate.of(certificate), False
    inner = Certificate.of(certificate["source"])
    return replace(inner, content_sha256=str(certificate["release"]["content_sha256"])), True
