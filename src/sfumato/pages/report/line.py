"""The line of a release on a map: the likeliest track given the release, for the release itself is a scribble.

It is computed from the release and its certificate alone (:mod:`sfumato.tracks.answers.ways.smooth_tracks`), so a
public page may show it.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import law_of
from sfumato.tracks.answers.ways.smooth_tracks import smooth_track
from sfumato.tracks.certificates.build import SMOOTHED
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.times_released import Times


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
