"""A release to look at: the path somebody most likely took, given the release and the law of its noise.

E[X | Z] under the kernel that fits the release best (:mod:`sfumato.tracks.answers.ways.movement`): as near to the truth
as the release, mostly nearer, and without its absurd lengths and speeds. It is computed from the release and its
certificate and from nothing else, so whatever was promised about the release holds for the smooth track.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.files import write_whole
from sfumato.base.things.frames import displace, snap, unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Received, receive
from sfumato.tracks.answers.ways.movement import Movement, fit_movement, likeliest_path
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.io import output_format, write_trace
from sfumato.tracks.io.tables.fleet_file import write_fleet
from sfumato.tracks.times_released import Times

Found = TypeVar("Found")
GRID_M = 0.1  # so that every format holds the same positions


@dataclass(frozen=True, slots=True, eq=False)
class SmoothTracks:
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
    order, times, path = walked(trace)
    movement = fit_movement(times, path, law.kernel)
    moves: FloatArray = np.empty_like(path)
    moves[order] = likeliest_path(times, path, movement, law.kernel) - path
    lat, lon = snap(*displace(trace.lat_deg, trace.lon_deg, moves), GRID_M)
    return trace.moved_to(lat, lon), movement


def walked(trace: Trace) -> tuple[IntArray, FloatArray, FloatArray]:
    """The order by time, the sorted times from 0 on, and the path in metres along them."""
    order = np.argsort(trace.times_s, kind="stable").astype(np.int64)
    times: FloatArray = trace.times_s[order] - trace.times_s[order[0]]
    return order, times, unroll(trace.lat_deg[order], trace.lon_deg[order])
