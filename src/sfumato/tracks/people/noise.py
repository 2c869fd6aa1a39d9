"""The noise of everybody in a table: one key for the job, one derived from it for each person.

A person's noise is a function of the key, their id and their times. So it is the same whatever else is in the table, in
how many parts it came, and on how many cores or machines it is drawn; and a job that holds its key draws it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import NotCertified
from sfumato.base.keystream import derived_key, fresh_key, keyed_randomness
from sfumato.base.pool import pooled_floats
from sfumato.base.randomness import Random, randomness, stream_words
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.frames_loops import move_and_snap
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.build import Terms
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.noise.interface import ContinuingNoise, TraceMechanism
from sfumato.tracks.noise.multiscale.many_paths import streamed_paths
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.people.protection import choose
from sfumato.tracks.people.rows_loops import largest_of_each
from sfumato.tracks.plan import Plan

_STILL = 1e-5  # of the noise: who is moved by less at every point was not moved


class PeopleRows(NamedTuple):
    """Rows by person and time: ``people`` are canonical ids, person k's rows go from ``starts[k]`` to the next."""

    lat_deg: FloatArray
    lon_deg: FloatArray
    times_ms: IntArray
    starts: IntArray
    people: Sequence[str | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableNoise:
    """A mechanism with the key it draws from; a ``state`` makes it go on from earlier releases instead."""

    plan: Plan
    mechanism: TraceMechanism
    key: bytes
    simulation: bool
    state: NoiseState | None = None

    def __repr__(self) -> str:
        return f"<TableNoise, {self.mechanism.name}, its key not shown>"

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        traces: Sequence[Trace] = (),
        rng: Random = None,
        key: bytes | None = None,
        state: NoiseState | None = None,
    ) -> TableNoise:
        """The plan's noise under a fresh key, or ``key``; ``traces`` only for mechanisms that are fitted to them."""
        draw = randomness(rng)
        chosen = choose(plan, traces, state, named=True, rng=rng if state is None else None)
        simulation = draw.simulation if state is None else state.simulation
        return cls(plan, chosen.mechanism, fresh_key(draw) if key is None else key, simulation, state)

    def terms(self, *, several_files: bool = False) -> Terms:
        """What a certificate is computed from."""
        source = stream_words(self.simulation)
        if self.state is not None:
            source = source.removesuffix(" in counter mode")
        plan = self.plan
        return Terms(
            self.mechanism,
            plan.target,
            float(plan.snap_m),
            source,
            self.simulation,
            tuple(plan.keep),
            plan.times,
            several_files,
        )

    def key_of(self, person: str | None) -> bytes:
        """The key of a person's noise, by their canonical id; None where everything is one person's."""
        return derived_key(self.key, b"one person" if person is None else b"id\0" + person.encode())

    def moved(self, rows: PeopleRows) -> tuple[FloatArray, FloatArray]:
        """New positions on the public grid."""
        plain = isinstance(self.mechanism, MultiscaleNoise) and self.state is None
        return self._streamed(rows) if plain else self._one_by_one(rows)

    def _streamed(self, rows: PeopleRows) -> tuple[FloatArray, FloatArray]:
        assert isinstance(self.mechanism, MultiscaleNoise)
        lat_deg, lon_deg, times_ms, starts, people = rows
        size_m, grid_m = self.mechanism.size_m, float(self.plan.snap_m)
        unit = streamed_paths(self.mechanism.ladder, times_ms, starts, [self.key_of(person) for person in people])
        self._check_moved(size_m * largest_of_each(unit, starts))
        lat, lon, left = pooled_floats(len(lat_deg)), pooled_floats(len(lat_deg)), np.empty(len(lat_deg), dtype=bool)
        move_and_snap(lat_deg, lon_deg, unit, size_m, grid_m, lat, lon, left)
        if left.any():
            lat[left], lon[left] = snap(*displace(lat_deg[left], lon_deg[left], size_m * unit[left]), grid_m)
        return lat, lon

    def _one_by_one(self, rows: PeopleRows) -> tuple[FloatArray, FloatArray]:
        lat_deg, lon_deg, times_ms, starts, people = rows
        lat, lon = np.empty(len(lat_deg)), np.empty(len(lat_deg))
        for person, first, end in zip(people, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            own = slice(first, end)
            mechanism, draw = self.mechanism, keyed_randomness(self.key_of(person), simulation=self.simulation)
            if self.state is not None:
                assert isinstance(mechanism, ContinuingNoise)
                mechanism = mechanism.keyed(self.state.key_of(person, together=True))
            trace = Trace(lat_deg[own], lon_deg[own], times_ms[own] / 1000.0)
            lat[own], lon[own] = mechanism.release(trace, draw)
        moved_deg = np.column_stack((lat - lat_deg, lon - lon_deg))
        self._check_moved(111_320.0 * largest_of_each(moved_deg, starts))
        return snap(lat, lon, self.plan.snap_m)

    def _check_moved(self, moved_m: FloatArray) -> None:
        """Refuse noise, before it is snapped, that left somebody (one entry each) where they were although stated."""
        noise_m = self.mechanism.noise_m
        if noise_m is not None and moved_m.size and moved_m.min() < _STILL * noise_m:
            raise NotCertified(
                f"The mechanism '{self.mechanism.name}' states {noise_m:g} m of noise and drew none for somebody.",
                "Nothing is released; report this.",
            )
