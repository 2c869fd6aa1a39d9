"""What ``protect --style smooth`` releases: the likeliest track given a release that is drawn and never written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sfumato.base.errors import InputError
from sfumato.base.files import Staged
from sfumato.base.progress import progress
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks, smooth, smoothed_certificate
from sfumato.tracks.certificates.document import with_seal
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.people.protection import Protected, ProtectedFleet

Signer = Callable[[Document], Mapping[str, str]]


def checked_style(style: str, done: Protected | ProtectedFleet) -> None:
    """Refuse what no smooth release can be made of, before anything is drawn on it."""
    if style != "smooth":
        raise InputError(f"There is no style '{style}'.", "Use noisy (the default) or smooth.")
    if done.terms.kept:
        raise InputError("A smooth release holds positions and times only.", "Leave --keep out.")


def stage_smooth(
    done: Protected | ProtectedFleet, staged: Staged, path: Path, format: str, sign: Signer | None, *, quiet: bool
) -> tuple[dict[str, object], SmoothTracks]:
    """Fill the smooth release beside ``path``; its certificate (that of the raw release inside), and the tracks."""
    checked_style("smooth", done)
    document = with_seal(done.body, sign)
    people = [(None, done.release)] if isinstance(done, Protected) else list(done.releases)
    with progress("Smoothing", len(people), quiet=quiet) as step:
        tracks = smooth(people, document, step=step)
    written = staged.add(path, lambda beside: tracks.write(beside, format=format))
    return smoothed_certificate(tracks, written, sign), tracks
