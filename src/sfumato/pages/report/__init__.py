"""One page about one release: a map, the promise in plain words, the error by time, and what is not covered.

The map draws the likeliest track given the release (:mod:`sfumato.pages.report.line`), and the released points as dots.

The page is one file that asks nothing of any host. With the original it is private and says so on top; without it
(``original=None``) it is made from the release and the certificate alone and can be published with them. A certificate
whose mechanism is not registered has no page: nobody else can say what it promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.base.drawing.drawing import drawn_places
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.pages.report.chart import error_chart
from sfumato.pages.report.line import record_of, smooth_line
from sfumato.pages.report.map import draw_map
from sfumato.pages.report.page import assemble
from sfumato.pages.report.routine import routine_rows
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.certificates.document import Certificate

__all__ = ["render"]


def render(
    *,
    release: Trace,
    certificate: Mapping[str, Any] | Certificate,
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
    picture = draw_map(release, original, record, audit, shown, line=line)
    chart = None if original is None else error_chart(original, release, record, shown)
    private = original is not None
    return assemble(
        release,
        record,
        picture=picture,
        chart=chart,
        audit=audit,
        dropped=dropped,
        private=private,
        smoothed=smoothed,
        routine=[] if original is None else routine_rows(original, record),
    )
