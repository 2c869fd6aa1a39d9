"""What comes out of the door for a table: everybody in it, released and certified, and who travels together.

Only the released table and the certificate are for others; what is read, counted and measured beside is private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.progress import progress
from sfumato.base.shown import Shown
from sfumato.base.things.traces import PointsRead, Trace
from sfumato.base.units import count_of
from sfumato.tracks.adversary.companions import WorstGroup, group_words, meetings, worst_of
from sfumato.tracks.adversary.fleet import FleetAudit, People, attacked_people, audit_fleet
from sfumato.tracks.answers.received import received_as
from sfumato.tracks.answers.usefulness.measures import MapsAsked
from sfumato.tracks.answers.usefulness.utility import Utility, shown_people, useful
from sfumato.tracks.certificates.build import Terms
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.engine import ProtectedRows, segments_of
from sfumato.tracks.people.layout import Layout
from sfumato.tracks.people.noise import without_key
from sfumato.tracks.people.rows import Rows, count_faults

DEGREE_M = 111_195.0  # of a great circle
NEAR_M, MOST_CHAINED = 50.0, 5000  # ids that begin where another ended


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedFleet(Shown):
    """Several people's releases under one certificate, whose promise holds for each of them.

    ``source`` is the table as it was given and ``rows`` how it was read, ``done`` the rows as released. ``dropped``
    names the columns that were left behind, ``unread`` counts what a file held that never came to be rows.
    """

    source: pa.Table
    layout: Layout
    rows: Rows
    done: ProtectedRows
    body: Json
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None
    unread: Mapping[str, int] = field(default_factory=dict)

    def __reduce__(self) -> tuple[partial[object], tuple[()]]:
        return without_key(self, self.terms)

    def __repr__(self) -> str:
        points = count_of(len(self.done.lat_deg), "point")
        return (
            f"<{type(self).__name__}, {len(self.done.labels)} people, {points}. {Certificate.of(self.body).headline}>"
        )

    def parts(self) -> dict[str, object]:
        """Its fields by name, to make another kind of result of."""
        return {part.name: getattr(self, part.name) for part in fields(ProtectedFleet)}

    @property
    def certificate(self) -> Json:
        """The certificate of the releases as they are in memory, sealed."""
        return with_seal(self.body)

    @property
    def skipped(self) -> Mapping[str, int]:
        """How many rows could not be used, by reason."""
        return count_faults(self.done.faults)

    @property
    def points_read(self) -> PointsRead:
        """How many points of all people were read and skipped, and why (private)."""
        return PointsRead(len(self.done.lat_deg), {**self.unread, **self.skipped})

    @property
    def releases(self) -> People:
        """(id, track) of each person as released, each in order of time."""
        return self._people(self.done.lat_deg, self.done.lon_deg, self.done.times_ms)

    @property
    def originals(self) -> People:
        """(id, track) of each person as given, row for row beside the released ones. Private."""
        at = self._places
        return self._people(self.rows.lat_deg[at], self.rows.lon_deg[at], self.rows.times_ms[at])

    @property
    def _places(self) -> IntArray:
        """The rows of the source that were released, person after person, as they are in ``done``."""
        return np.arange(self.source.num_rows) if self.done.places is None else self.done.places

    def _people(self, lat_deg: FloatArray, lon_deg: FloatArray, times_ms: IntArray) -> People:
        names = self.done.labels if len(self.done.labels) != 1 else (None,)
        segment = segments_of(self.source, self.layout, self._places, self.done.starts)
        people = []
        for name, (first, end) in zip(names, pairwise(self.done.starts.tolist()), strict=True):
            at = first + np.argsort(times_ms[first:end], kind="stable")
            part = np.cumsum(np.append(0, np.diff(segment[at]) != 0))
            people.append((name, Trace(lat_deg[at], lon_deg[at], times_ms[at] / 1000.0, part)))
        return people

    def spans_m(self) -> list[float]:
        """How far each person's track reaches as given, corner to corner. Private."""
        at, starts = self._places, self.done.starts[:-1]
        lat, lon = self.rows.lat_deg[at], self.rows.lon_deg[at]
        north = np.maximum.reduceat(lat, starts) - np.minimum.reduceat(lat, starts)
        east = np.maximum.reduceat(lon, starts) - np.minimum.reduceat(lon, starts)
        east = np.minimum(east, 360.0 - east) * np.cos(np.radians(lat[starts]))
        return [float(size) for size in DEGREE_M * np.hypot(east, north)]

    def worst_group(self) -> WorstGroup:
        """The largest group that travels together, searched for in the rows as given. Private."""
        if len(self.done.labels) < 2:
            return WorstGroup(len(self.done.labels), 0.0)
        at = self._places
        rows = self.rows
        return worst_of(meetings(rows.lat_deg[at], rows.lon_deg[at], rows.times_ms[at], rows.codes[at]))

    def chain_words(self) -> str:
        """Whether ids look like trips of fewer people: most begin where another ended before; nothing where not.

        Where many people are about, somebody will have ended nearby: so as many are counted for beginnings that are
        moved by 300 m, and only three times as many and half of all ids are told of.
        """
        at, starts = self._places, self.done.starts
        if self.layout.person is None or not 4 <= len(starts) - 1 <= MOST_CHAINED:
            return ""
        lat, lon, times = self.rows.lat_deg[at], self.rows.lon_deg[at], self.rows.times_ms[at]
        begin, end = (
            np.array([a + edge(times[a:b]) for a, b in pairwise(starts.tolist())]) for edge in (np.argmin, np.argmax)
        )
        metres = DEGREE_M * np.column_stack((lon * np.cos(np.radians(lat[0])), lat))
        ends, moved = cKDTree(metres[end]), np.array([(0.0, 0.0), (300.0, 0.0), (-300.0, 0.0), (0.0, 300.0)])
        before = times[end]
        found = [
            sum(bool((before[near] <= times[place]).any()) for near, place in zip(lists, begin, strict=True))
            for lists in (ends.query_ball_point(metres[begin] + step, NEAR_M) for step in moved)
        ]
        ids = len(begin)
        if 2 * found[0] < ids or found[0] < 3.0 * (1 + np.mean(found[1:])):
            return ""
        return (
            f"{found[0]} of {ids} ids in '{self.layout.person}' begin within {NEAR_M:g} m of where another ended "
            "before: they may be trips, and several of them one person's. Noise that is drawn anew for every trip "
            "averages away: name the column of people, or use --redraws."
        )

    def group_words(self, group: WorstGroup) -> str:
        """What a group that travels together gives away, and what to do; for whoever releases, not the release."""
        return group_words(group, self.body)

    def audit(self, *, prior: str = "fit") -> FleetAudit:
        """What an adversary who knows the mechanism still learns, person by person (``.worst``). Private."""
        originals = self.originals
        with progress("Attacking every person", len(attacked_people(len(originals)))) as step:
            return audit_fleet(originals, self.releases, self.certificate, prior=prior, step=step)

    def utility(self) -> Utility:
        """How far answers from the release are from the truth, as they are and with the noise taken out. Private."""
        releases = self.releases
        try:
            received = [received_as(releases, self.terms)]
        except InputError:  # a noise without one law: nothing can be taken out
            received = []
        with progress("Measuring usefulness", len(shown_people(len(releases))) + 1) as step:
            return useful(self.originals, releases, received, MapsAsked(), step)
