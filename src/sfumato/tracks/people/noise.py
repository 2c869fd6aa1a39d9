"""The noise of one release, and the track it makes: the mechanism of a plan, what it is drawn from, its state.

One track is drawn from the source of randomness itself. For a table there is one key for the job, and one derived from
it for each person. So a person's noise is a function of the key, their id and their times: the same whatever else is in
the table, in how many parts it came, and on how many machines it is drawn. Such a key is made for one job and dies with
it. Under a key that somebody *keeps* more rows of the same person may come tomorrow. Noise that depended on the order
of rows would begin with the same words again, and the way between two days would be released as it is. So there the
noise is the continuing process: a function of the key, the person and the absolute time.

Whatever was drawn is measured against the law it is stated to have before anything is released
(:func:`sfumato.tracks.noise.registry.check_drawn`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from sfumato.accountant.compose import together
from sfumato.base.arrays import FloatArray, IntArray, jsonable
from sfumato.base.errors import InputError
from sfumato.base.pool import pooled_floats
from sfumato.base.randomness import (
    KEY_BYTES,
    Random,
    Randomness,
    derived_key,
    fresh_key,
    keyed_randomness,
    randomness,
    stream_words,
)
from sfumato.base.shown import Shown
from sfumato.base.things.frames import differences_m, displace, snap, unroll
from sfumato.base.things.frames_loops import move_and_snap
from sfumato.base.things.traces import PointsRead, Trace
from sfumato.base.units import count_of
from sfumato.tracks.certificates.build import NOTHING_DRAWN, Terms, certificate_body, released_of, rounded_times
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.certificates.state import NoiseState, load_state, opened_state
from sfumato.tracks.noise.interface import ContinuingNoise, MechanismTerms, TraceMechanism
from sfumato.tracks.noise.multiscale.ladder import streamed_paths
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.noise.registry import DrawnNoise, check_drawn, mechanism_for, mechanism_from_dict
from sfumato.tracks.plan import Plan, Times

if TYPE_CHECKING:
    from sfumato.tracks.adversary.audit import Audit
    from sfumato.tracks.adversary.fleet import People


class DrawnFrom(TypedDict, total=False):
    """What a release's noise is drawn from: ``rng``, or the process of a ``state`` (or its file), which goes on.

    A new state is written to its file before anything is drawn, unless ``save_state`` is False.
    """

    state: NoiseState | str | Path | None
    passphrase: str | None
    save_state: bool
    rng: Random


class PeopleRows(NamedTuple):
    """Rows by person and time: ``people`` are canonical ids, person k's rows go from ``starts[k]`` to the next."""

    lat_deg: FloatArray
    lon_deg: FloatArray
    times_ms: IntArray
    starts: IntArray
    people: Sequence[str | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Noise:
    """A mechanism with what it draws from: ``draw`` for one track, ``key`` for everybody in a table.

    A ``state`` makes it go on from earlier releases instead. ``parts`` says in how many calls at most this release is
    drawn, so that the tests of all of them together refuse an honest one once in a million times; ``new_ids`` that
    people get new ids.
    """

    plan: Plan
    mechanism: TraceMechanism
    simulation: bool
    draw: Randomness | None = None
    key: bytes | None = None
    state: NoiseState | None = None
    parts: int = 1
    new_ids: bool = False

    def __repr__(self) -> str:
        return f"<Noise, {self.mechanism.name}, its key not shown>"

    def terms(self, *, several_files: bool = False) -> Terms:
        """What a certificate is computed from."""
        plan, simulation = self.plan, self.simulation
        if not self.mechanism.draws:
            source, simulation = NOTHING_DRAWN, False
        elif self.state is not None:
            source = stream_words(simulation).removesuffix(" in counter mode")
        else:
            source = stream_words(simulation) if self.draw is None else self.draw.source
        kept, snap_m = tuple(plan.keep), float(plan.snap_m)
        return Terms(self.mechanism, plan.target, snap_m, source, simulation, kept, plan.times, several_files)

    def track(
        self,
        trace: Trace,
        person: str | None = None,
        *,
        keep: Sequence[str] | None = None,
        times: Times | None = None,
        law: bool = True,
    ) -> Trace:
        """One person's release, snapped to the public grid, with what the plan keeps (or ``keep``) and nothing else.

        ``times`` are what the caller will make of the times afterwards, where that is not the plan's. Without ``law``
        the noise's is not tested: for parts beyond a sample.
        """
        assert self.draw is not None
        shown = times or (None if self.plan.times == "keep" else Times.parse(self.plan.times))
        own = trace if shown is None or shown.same_intervals else _apart(trace)
        mechanism = self._of(person, together=False)
        lat, lon = mechanism.release(own, self.draw)
        drawn = DrawnNoise.of_one(own.times_s, differences_m(own.lat_deg, own.lon_deg, lat, lon))
        check_drawn(mechanism, drawn, parts=self.parts, law=law)  # then processed and snapped, which sees no more
        lat, lon = snap(*mechanism.post_process(lat, lon), self.plan.snap_m)
        released = trace.moved_to(lat, lon, keep=self.plan.keep if keep is None else keep)
        if self.plan.times == "keep":
            return released
        key = self.draw.words(4).tobytes() if self.state is None else self.state.key
        return Times.parse(self.plan.times).apply(released, key)

    def shift_key(self) -> bytes:
        """What the times of a table's people are shifted by."""
        return self._derived(b"shift of times")

    def id_key(self) -> bytes:
        """What new ids are made with."""
        return self._derived(b"ids")

    def _derived(self, purpose: bytes) -> bytes:
        key = self.key if self.state is None else self.state.key
        assert key is not None
        return derived_key(key, purpose)

    def key_of(self, person: str | None) -> bytes:
        """The key of a person's noise, by their canonical id; None where everything is one person's."""
        assert self.key is not None
        return derived_key(self.key, b"one person" if person is None else b"id\0" + person.encode())

    def move(self, rows: PeopleRows) -> tuple[FloatArray, FloatArray]:
        """New positions of everybody on the public grid."""
        plain = isinstance(self.mechanism, MultiscaleNoise) and self.state is None
        return self._streamed(rows) if plain else self._one_by_one(rows)

    def _of(self, person: str | None, *, together: bool) -> TraceMechanism:
        if self.state is None:
            return self.mechanism
        assert isinstance(self.mechanism, ContinuingNoise)
        return self.mechanism.with_key(self.state.key_of(person, together=together))

    def _streamed(self, rows: PeopleRows) -> tuple[FloatArray, FloatArray]:
        assert isinstance(self.mechanism, MultiscaleNoise)
        lat_deg, lon_deg, times_ms, starts, people = rows
        size_m, grid_m = self.mechanism.size_m, float(self.plan.snap_m)
        unit = streamed_paths(self.mechanism.ladder, times_ms, starts, [self.key_of(person) for person in people])
        check_drawn(self.mechanism, DrawnNoise(times_ms, unit, starts, size_m), parts=self.parts)
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
            draw = keyed_randomness(self.key_of(person), simulation=self.simulation)
            trace = Trace(lat_deg[own], lon_deg[own], times_ms[own] / 1000.0)
            lat[own], lon[own] = self._of(person, together=True).release(trace, draw)
        moved_m = differences_m(lat_deg, lon_deg, lat, lon)
        check_drawn(self.mechanism, DrawnNoise(times_ms, moved_m, starts), parts=self.parts)
        return snap(*self.mechanism.post_process(lat, lon), self.plan.snap_m)


def _apart(trace: Trace) -> Trace:
    """Points of one moment a millisecond apart: where times are not shown, each point holds white noise of its own."""
    order = np.argsort(trace.times_s, kind="stable")
    times = np.rint(trace.times_s[order] * 1000.0)
    later = np.arange(times.size)
    spread = np.empty_like(times)
    spread[order] = np.maximum.accumulate(times - later) + later
    return replace(trace, times_s=spread / 1000.0)


def choose(plan: Plan, traces: Sequence[Trace] = (), *, named: bool = False, **drawn: Unpack[DrawnFrom]) -> Noise:
    """The mechanism with the least noise that keeps the plan for these people; a state's process goes on as begun."""
    state, passphrase, draw = drawn.get("state"), drawn.get("passphrase"), randomness(drawn.get("rng"))
    kind = mechanism_for(plan, continuing=state is not None)
    if state is None:
        return Noise(plan, kind.from_plan(plan, traces, together(plan.redraws)), draw.simulation, draw)
    assert issubclass(kind, ContinuingNoise)
    if not isinstance(state, NoiseState) and Path(state).exists():
        state = load_state(state, passphrase=passphrase)
    if isinstance(state, NoiseState):
        state.check_class(plan.prior_class)
        mechanism: ContinuingNoise = kind.resume(plan, state.ladder)
    else:
        mechanism = kind.from_plan(plan, traces, together(1))
    opened = opened_state(
        state,
        mechanism,
        plan.target,
        prior_class=plan.prior_class,
        passphrase=passphrase,
        save=drawn.get("save_state", True),
        named=named,
        rng=draw,
    )
    return Noise(plan, mechanism.with_key(opened.key), opened.simulation, draw, None, opened)


def choose_for_people(
    plan: Plan,
    traces: Sequence[Trace] = (),
    *,
    named: bool = True,
    key: bytes | None = None,
    job_key: bytes | None = None,
    parts: int = 1,
    **drawn: Unpack[DrawnFrom],
) -> Noise:
    """The same for a table: everybody's noise from a fresh key (``job_key`` where the job holds it on the disk).

    Under a ``key`` that its caller keeps, noise continues: a function of the key, the person and the absolute time.
    """
    if key is not None:
        if drawn.get("state") is not None:
            raise InputError("A key and a state are two sources of one noise.", "Give one of the two.")
        drawn["state"] = _state_under(key, plan, traces, named=named, rng=drawn.get("rng"))
    one = choose(plan, traces, named=named, **drawn)
    assert one.draw is not None
    return Noise(plan, one.mechanism, one.simulation, None, job_key or fresh_key(one.draw), one.state, parts)


def _state_under(key: bytes, plan: Plan, traces: Sequence[Trace], *, named: bool, rng: Random) -> NoiseState:
    """The state of a caller's key: another process for another size or ladder, as two sizes of one give the truth."""
    kind = mechanism_for(plan)
    if not issubclass(kind, ContinuingNoise) or plan.redraws != 1 or len(key) != KEY_BYTES:
        raise InputError(
            "Under a key that its caller keeps, noise must be a function of the time: multiscale noise, not redrawn, "
            f"with a key of {KEY_BYTES} bytes.",
            "Leave the key out, or mechanism and redraws.",
        )
    mechanism = kind.from_plan(plan, traces, together(1))
    assert mechanism.noise_m is not None
    process = json.dumps([mechanism.noise_m, mechanism.process(), plan.prior_class, named], sort_keys=True)
    own, simulation = derived_key(key, b"continuing\0" + process.encode()), randomness(rng).simulation
    return NoiseState(own, mechanism.noise_m, mechanism.process(), simulation, plan.prior_class, named)


def without_key(done: object, terms: Terms) -> tuple[partial[object], tuple[()]]:
    """What is pickled of a result: everything but the state and the key, which undo the noise."""
    values = {part.name: getattr(done, part.name) for part in fields(done)}  # type: ignore[arg-type]  # a dataclass
    described: MechanismTerms = jsonable(terms.mechanism.parameters())
    values |= {"terms": replace(terms, mechanism=mechanism_from_dict(described)), "state": None}
    return partial(type(done), **values), ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected(Shown):
    """A release with what is certified about it. ``original`` and ``dropped`` are private; ``state`` undoes the noise.

    ``body`` is the certificate before it is sealed; whoever writes a file adds the file's facts and seals it once.
    A pickle of it holds neither the state nor any key, but the original.
    """

    original: Trace
    release: Trace
    body: dict[str, Any]
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None

    def __reduce__(self) -> tuple[partial[object], tuple[()]]:
        return without_key(self, self.terms)

    def __repr__(self) -> str:
        return f"<Protected, {count_of(len(self.release), 'point')}. {self.body['headline']}>"

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate of the release as it is in memory, sealed."""
        return with_seal(self.body)

    @property
    def points_read(self) -> PointsRead:
        """How many points were read and skipped, and why (private)."""
        return self.original.points_read

    def spans_m(self) -> list[float]:
        """How far the track reaches as given, corner to corner. Private."""
        return [float(np.hypot(*np.ptp(unroll(self.original.lat_deg, self.original.lon_deg), axis=0)))]

    @property
    def releases(self) -> People:
        """The released track, under no id."""
        return [(None, self.release)]

    def audit(self, *, prior: str = "fit") -> Audit:
        """What an adversary who knows the mechanism still learns from the release."""
        from sfumato.tracks.adversary.audit import audit  # fits priors, which protecting does not need

        return audit(self.original, self.release, Certificate.of(self.body), prior=prior)


def protected_track(plan: Plan, trace: Trace, *, person: str | None = None, **drawn: Unpack[DrawnFrom]) -> Trace:
    """The release alone, for who holds the certificate of another with the same plan, or asks for none."""
    original = rounded_times(trace)
    return choose(plan, [original], named=person is not None, **drawn).track(original, person)


def protect_by(plan: Plan, trace: Trace, *, person: str | None = None, **drawn: Unpack[DrawnFrom]) -> Protected:
    """One track by a plan made before."""
    original = rounded_times(trace)
    noise = choose(plan, [original], named=person is not None, **drawn)
    release = noise.track(original, person)
    terms = noise.terms()
    body = certificate_body(terms, released_of([(None, release)]))
    return Protected(original, release, body, original.dropped, terms, noise.state)
