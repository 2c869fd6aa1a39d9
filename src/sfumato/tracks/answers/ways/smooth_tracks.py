"""A release to look at: the path somebody most likely took, its certificate, and the verdict on it.

E[X | Z] under the kernel that fits the release best (:mod:`sfumato.tracks.answers.ways.movement`): as near to the truth
as the release, mostly nearer, and without its absurd lengths and speeds. It is computed from the release and its
certificate and from nothing else, so whatever was promised about the release holds for the smooth track
(post-processing): its certificate holds the release's own, and says what was done.

A smooth track holds no noise of its own that could be looked for: from it alone nobody can tell whether it was made
from the release that the certificate speaks of, or is an original under a borrowed certificate. So the verdict on the
track alone is never "good", unless the reader names a key (``signer``) whose holder signed the track itself. With the
release beside it everything is checked: the release itself, and every position, by smoothing again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.files import write_whole
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.frames import differences_m, displace, snap, unroll
from sfumato.base.things.traces import Trace
from sfumato.base.version import __version__
from sfumato.tracks.answers.received import NoiseLaw, Received, receive
from sfumato.tracks.answers.ways.movement import Movement, fit_movement, likeliest_path
from sfumato.tracks.certificates.build import FORMAT, SMOOTHED, released_of
from sfumato.tracks.certificates.clean import more_than_certified
from sfumato.tracks.certificates.document import SEAL, SIGNATURE, certificate_text, file_facts, with_seal, worst_odds
from sfumato.tracks.certificates.sign import check_signer
from sfumato.tracks.certificates.verdict import Verdict, judge, refusal, stated_verdict, unmet, unmet_parts
from sfumato.tracks.certificates.verify import check_opening, check_recomputed, read_certificate, read_release, terms_of
from sfumato.tracks.io import output_format, write_trace
from sfumato.tracks.io.tables.point_table import write_fleet
from sfumato.tracks.plan import Times

Found = TypeVar("Found")
GRID_M = 0.1  # so that every format holds the same positions


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SmoothTracks(ShownAnswer):
    """The smooth track of each person with the movement fitted to them; ``source`` is the release's certificate."""

    people: tuple[tuple[str | None, Trace], ...]
    movements: tuple[Movement, ...]
    source: Mapping[str, object]

    @property
    def trace(self) -> Trace:
        """The one person's track."""
        if len(self.people) != 1:
            raise InputError(f"There are {len(self.people)} people.", "Use people: (id, track) of each.")
        return self.people[0][1]

    def to_table(self) -> pa.Table:
        """``lat, lon, time, segment``, and ``id`` where people have one."""
        return people_table(self.people)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a smooth track is."""
        return (MEANING,)

    def to_dict(self) -> dict[str, object]:
        """How much there is."""
        return {"people": len(self.people), "points": sum(len(trace) for _, trace in self.people)}

    def write(self, path: str | Path, *, format: str | None = None) -> None:
        """Write the tracks in any format that tracks (or tables of people) are written in."""
        if len(self.people) == 1 and self.people[0][0] is None:
            write_trace(self.trace, path, format=format)
            return
        people = [(str(name), trace) for name, trace in self.people]
        chosen = output_format(path, format).name
        write_whole(path, lambda beside: write_fleet(people, beside, format=chosen))


def smooth(
    release: str | Path | Trace | Sequence[tuple[str | None, Trace]],
    certificate: str | Path | Mapping[str, object],
    *,
    format: str | None = None,
    step: Callable[[], None] = lambda: None,
) -> SmoothTracks:
    """The likeliest track of each person of a release, times and segments as released; ``step`` after each person."""
    document = read_certificate(certificate)
    people, movements = each_track(receive(release, document, format=format), smooth_track, step)
    return SmoothTracks(people, movements, document)


def people_table(people: Sequence[tuple[str | None, Trace]]) -> pa.Table:
    """The tracks of all people, one below the other."""
    tables = [(name, trace.to_table()) for name, trace in people]
    return pa.concat_tables(
        [one if name is None else one.add_column(0, "id", pa.array([name] * len(one))) for name, one in tables]
    )


def each_track(
    received: Received, tracked: Callable[[Trace, NoiseLaw], tuple[Trace, Found]], step: Callable[[], None]
) -> tuple[tuple[tuple[str | None, Trace], ...], tuple[Found, ...]]:
    """What ``tracked`` makes of each person's track: the new tracks, and what else it found."""
    with_intervals(received)
    people: list[tuple[str | None, Trace]] = []
    found: list[Found] = []
    for name, trace in received.people:
        track, more = tracked(trace, received.law)
        people.append((name, track))
        found.append(more)
        step()
    return tuple(people), tuple(found)


def with_intervals(received: Received) -> None:
    """Refuse releases whose times do not show the true intervals: the noise's correlation is then not known."""
    if received.times != "keep" and not Times.parse(received.times).same_intervals:
        raise InputError(
            "The release does not show how long it took from one point to the next.",
            "Paths are told from releases with their times, or with all times shifted alike.",
        )


def smooth_track(trace: Trace, law: NoiseLaw) -> tuple[Trace, Movement]:
    """One track, and the movement fitted to it."""
    order, times, path = path_by_time(trace)
    movement = fit_movement(times, path, law.kernel)
    moves: FloatArray = np.empty_like(path)
    moves[order] = likeliest_path(times, path, movement, law.kernel) - path
    lat, lon = snap(*displace(trace.lat_deg, trace.lon_deg, moves), GRID_M)
    return trace.moved_to(lat, lon), movement


def path_by_time(trace: Trace) -> tuple[IntArray, FloatArray, FloatArray]:
    """The order by time, the sorted times from 0 on, and the path in metres along them."""
    order = np.argsort(trace.times_s, kind="stable").astype(np.int64)
    times: FloatArray = trace.times_s[order] - trace.times_s[order[0]]
    return order, times, unroll(trace.lat_deg[order], trace.lon_deg[order])


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
    return with_seal(
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
    plausible, why, unnoticed = (
        (*alone, ("any part of it, which only the release can show (--raw)",))
        if raw is None
        else _from_release(raw, inner, people, ignore_wording)
    )
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
        unnoticed=unnoticed,
    )
    stated = {**inner, SIGNATURE: signed_by}
    missed = (*unmet(require, stated, worst=lambda at: worst_odds(inner, at)), *unmet_parts(require, unnoticed))
    return replace(verdict, unmet=missed)


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
    if document.get(SEAL) != with_seal(document)[SEAL]:
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
        "sfumato": inner["sfumato"],
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
) -> tuple[bool | None, str, tuple[str, ...]]:
    """Whether the release is what its certificate says, and smoothing it gives this track; and parts not noticed."""
    found = judge(inner, release=raw, ignore_wording=ignore_wording)
    if not (found.unchanged and found.clean and found.plausible):
        said = [found.reasons[name] for name in ("unchanged", "clean", "plausible") if name in found.reasons]
        return found.plausible if found.unchanged and found.clean else False, f"The release: {' '.join(said)}", ()
    again = smooth(raw, inner)
    for (_, one), (_, other) in zip(people, again.people, strict=True):
        apart = differences_m(one.lat_deg, one.lon_deg, other.lat_deg, other.lon_deg)
        if float(np.abs(apart).max()) > SAME_M:
            return False, "Smoothing the release again gives another track.", ()
    return True, f"The release: {found.reasons['plausible']}", found.unnoticed
