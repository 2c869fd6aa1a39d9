"""Files that grow: what came to a source since it was shared is a part of its own; earlier files stay byte for byte.

A log appended to, a newer export, next month under the same name: points are told apart by their times, each part by
the span that it took. What lies in the span of an earlier part is published again in memory and must come to the same:
else the source was changed, not only grown, which its owner is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.base.arrays import BoolArray
from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.manifest import SourceRecord, segment_name

_SLACK_S = 1e-3  # formats round times to a millisecond
Span = tuple[float, float]
SHORTER = "shorter than when it was shared (cut off, or begun anew): left as shared"
Still = Literal["same", "shorter", "changed"]  # what a piece is today, beside what was shared of it


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """The pieces of a source that were shared before, as (record, piece, what is published of it), and the new one."""

    kept: tuple[tuple[SourceRecord, Trace, Trace | None], ...]
    fresh: Trace | None
    changed: bool
    shorter: bool = False


def told_apart(
    trace: Trace,
    family: Sequence[tuple[SourceRecord, Span]],
    shared: Callable[[SourceRecord, Trace], tuple[Trace | None, Still]],
) -> Grown:
    """What of a source was shared before, and what is new: nothing, where an older ride replaced it.

    ``shared`` says what was shared of a piece, and whether that is still so.
    """
    left: BoolArray = np.ones(len(trace), dtype=np.bool_)
    kept, found = [], set[Still]()
    for record, (first_s, last_s) in family:
        old = left & (trace.times_s >= first_s - _SLACK_S) & (trace.times_s <= last_s + _SLACK_S)
        left &= ~old
        if not old.any():
            if trace.times_s.min() < first_s:  # not a log that begins anew: another ride under its name
                return Grown((), None, True)
            continue
        piece = piece_of(trace, old)
        published, still = shared(record, piece)
        found.add(still)
        if still != "changed":
            kept.append((record, piece, published))
    fresh = piece_of(trace, left) if left.any() else None
    return Grown(tuple(kept), fresh, "changed" in found, "shorter" in found)


def is_part(published: Trace | None, shared: Trace | None) -> bool:
    """Whether nothing would be published that was not shared; by time and position, as files write them."""
    return _rows(published) < _rows(shared)


def _rows(trace: Trace | None) -> set[tuple[float, ...]]:
    if trace is None:
        return set()
    rows = np.stack([trace.times_s * 1e3, trace.lat_deg * 1e7, trace.lon_deg * 1e7], axis=1)
    return set(map(tuple, np.rint(rows).tolist()))


def alone_by_segment(record: SourceRecord, trace: Trace) -> list[tuple[SourceRecord, Trace, str]]:
    """Every segment as a track of its own: its record, its points, and what its name adds to the ride's."""
    found = []
    for number, segment in enumerate(np.unique(trace.segment), 1):
        piece, name = piece_of(trace, trace.segment == segment), segment_name(number)
        source, sha = f"{record.source}{name}", f"{record.source_sha256}{name}"
        one = replace(record, source=source, source_sha256=sha, points_in=record.points_in if number == 1 else 0)
        found.append((one, replace(piece, segment=np.zeros(len(piece), dtype=np.int64)), name))
    return found


def piece_of(trace: Trace, mask: BoolArray) -> Trace:
    """The points that are marked, with all that is kept of them."""
    columns = {name: values[mask] for name, values in trace.columns.items()}
    points = (trace.lat_deg[mask], trace.lon_deg[mask], trace.times_s[mask], trace.segment[mask])
    return Trace(*points, columns, trace.dropped, trace.texts, trace.skipped)
