"""The certificate of a smooth track, and the verdict on it: the release's own certificate inside, and what was done.

Smoothing looks at the release and its certificate only, so the promise is the release's (post-processing). A smooth
track holds no noise of its own that could be looked for: from it alone nobody can tell whether it was made from the
release that the certificate speaks of, or is an original under a borrowed certificate. So the verdict on the track
alone is never "good", unless the reader names a key (``signer``) whose holder signed the track itself. With the release
beside it everything is checked: the release itself, and every position, by smoothing again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.base.errors import VerificationFailed
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace
from sfumato.base.version import __version__
from sfumato.tracks.answers.ways.smooth import SmoothTracks, smooth
from sfumato.tracks.certificates.build import FORMAT, SMOOTHED, released_of
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, certificate_text, file_facts, sealed, worst_odds
from sfumato.tracks.certificates.sign import check_signer
from sfumato.tracks.certificates.verdict import Verdict, judge, refusal, stated_verdict, unmet
from sfumato.tracks.certificates.verify import check_opening, check_recomputed, read_certificate, read_release, terms_of

HOW = "smoothed from the release; prior fitted to the release"
MEANING = (
    "Computed from the release and its certificate alone, so what is promised about the release holds for this track "
    "(post-processing). It is not the true track: it lies off it by about as much as the release does."
)
SAME_M = 1.0  # the fit is repeated, perhaps on another machine
_TWO_POSITIONS = re.compile(r"\d+ moment\(s\) have more than one position")
_ALONE = (
    "A smooth track holds no noise that could be looked for: whether it was made from the certified release cannot be "
    "told from it. Give the release, too (--raw), or a key you trust (--signer) where the track is signed."
)


_VOUCHED = (
    "It cannot be told from the track; the holder of the key you named signed that it was made from the certified "
    "release."
)


def smoothed_certificate(
    tracks: SmoothTracks,
    path: str | Path | None = None,
    sign: Callable[[Mapping[str, object]], Mapping[str, str]] | None = None,
) -> dict[str, object]:
    """The sealed certificate of the tracks, and of their file where there is one; ``sign`` signs the whole of it."""
    released = released_of(tracks.people)
    facts = {} if path is None else file_facts(path)
    return sealed(
        {
            "format": FORMAT,
            "kind": SMOOTHED,
            "sfumato": __version__,
            "points": released.points,
            "people": len(released.people),
            "derived": {"how": HOW, "meaning": MEANING},
            "release": {"content_sha256": released.digest(), **facts},
            "source": tracks.source,
        },
        sign,
    )


def judge_smoothed(
    source: str | Path | Mapping[str, object],
    *,
    release: str | Path,
    raw: str | Path | None = None,
    format: str | None = None,
    signer: str | Path | None = None,
    ignore_wording: bool = False,
    require: str = "",
) -> Verdict:
    """The four answers about a smooth track's file; ``raw`` is the release it was made from."""
    try:
        inner, people, checks, notes, signed_by = _unchanged(source, release, format, signer, ignore_wording)
    except VerificationFailed as error:
        return refusal(error)
    verdict = stated_verdict(inner)
    more = more_than_certified(Path(release), people=len(people), kept=(), format=format)
    reasons = {**verdict.reasons, **({} if more is None else {"clean": more})}
    alone: tuple[bool | None, str] = (True, _VOUCHED) if signer is not None and signed_by else (None, _ALONE)
    plausible, why = alone if raw is None else _from_release(raw, inner, people, ignore_wording)
    if why:
        reasons["plausible"] = why
    if plausible and raw is not None:
        checks.append("the release it was made from, and every position by smoothing again")
    verdict = replace(
        verdict,
        clean=more is None,
        plausible=plausible,
        reasons=reasons,
        exact=(),
        signed_by=signed_by,
        wording_checked=not ignore_wording,
        checks=tuple(checks),
        notes=(*notes, MEANING),
    )
    if not require:
        return verdict
    stated = {**inner, SIGNATURE: signed_by}
    return replace(verdict, unmet=unmet(require, stated, worst=lambda at: worst_odds(inner, at)))


def _unchanged(
    source: str | Path | Mapping[str, object],
    release: str | Path,
    format: str | None,
    signer: str | Path | None,
    ignore_wording: bool,
) -> tuple[dict[str, object], list[tuple[str | None, Trace]], list[str], list[str], str | None]:
    """The certificate inside, the people, what was checked and should be noted, and who signed the track."""
    document = read_certificate(source)
    inner, recorded = document.get("source"), document.get("release")
    if document.get("kind") != SMOOTHED or not isinstance(inner, dict) or not isinstance(recorded, dict):
        raise VerificationFailed("This is not the certificate of a smooth track.", "Check the file.")
    if document.get(SEAL) != sealed(document)[SEAL]:
        raise VerificationFailed("The certificate's own hash does not fit its content.", "It was changed.")
    if isinstance(source, str | Path) and Path(source).read_bytes() != certificate_text(document).encode():
        raise VerificationFailed("The certificate's text is not what was written.", "A byte of it was changed.")
    if file_facts(release)["file_sha256"] != recorded.get("file_sha256", file_facts(release)["file_sha256"]):
        raise VerificationFailed("The track is not the file that was certified: its bytes differ.", "Use that file.")
    people = read_release(release, fleet=inner.get("people") != 1, format=format)
    released = released_of(people)
    checks, notes = check_opening(inner, signer, ignore_wording)
    signed_by = check_signer(document, signer) if SIGNATURE in document else None
    if signed_by is None and inner.get(SIGNATURE):
        notes.append("The release's certificate inside is signed; the smooth track itself is not.")
    expected = {
        "format": FORMAT,
        "kind": SMOOTHED,
        "sfumato": inner["sfumato"] if ignore_wording else __version__,
        "points": released.points,
        "people": len(people),
        "derived": document.get("derived") if ignore_wording else {"how": HOW, "meaning": MEANING},
        "release": {**recorded, "content_sha256": released.digest()},
        "source": inner,
    }
    wrong = sorted(
        name for name in {*expected, *document} - {SEAL, SIGNATURE} if document.get(name) != expected.get(name)
    )
    if wrong:
        raise VerificationFailed(f"The field '{wrong[0]}' is not what it should be.", "One of the files was changed.")
    # The release's positions are not here: its hash is taken as stated, everything else is recomputed at its times.
    stated = {**inner, "warnings": [words for words in inner["warnings"] if not _TWO_POSITIONS.match(str(words))]}
    checks += ["every byte, position and time of the track", "the certificate of the release inside"]
    checks.append(
        check_recomputed(stated, terms_of(inner), released, inner["release"], notes, words=not ignore_wording)
    )
    return inner, people, checks, notes, signed_by


def _from_release(
    raw: str | Path, inner: Mapping[str, object], people: Sequence[tuple[str | None, Trace]], ignore_wording: bool
) -> tuple[bool | None, str]:
    """Whether the release is what its certificate says, and smoothing it gives this track."""
    found = judge(inner, release=raw, ignore_wording=ignore_wording)
    if not (found.unchanged and found.clean and found.plausible):
        said = [found.reasons[name] for name in ("unchanged", "clean", "plausible") if name in found.reasons]
        return found.plausible if found.unchanged and found.clean else False, f"The release: {' '.join(said)}"
    again = smooth(raw, inner)
    for (_, one), (_, other) in zip(people, again.people, strict=True):
        apart = differences_m(one.lat_deg, one.lon_deg, other.lat_deg, other.lon_deg)
        if float(np.abs(apart).max()) > SAME_M:
            return False, "Smoothing the release again gives another track."
    return True, ""
