"""Protect a trace: choose the mechanism by the plan, let it make the release, and say exactly what that promises.

One page: the mathematics is in :mod:`sfumato.mechanisms` and :mod:`sfumato.leakage`, the statement in
:mod:`sfumato.tracks.certificates`. Nothing here looks at where the trace is, except to hand it to the mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.accountant.compose import together
from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import Random, Randomness, randomness
from sfumato.base.shown import Shown
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import PointsRead, Trace
from sfumato.base.units import count_of, format_length
from sfumato.tracks.certificates.build import NOTHING_DRAWN, Terms, certificate_body, released_of, rounded_times
from sfumato.tracks.certificates.document import Certificate, with_seal
from sfumato.tracks.certificates.person_ids import distinct_ids
from sfumato.tracks.certificates.state import NoiseState, load_state, opened_state
from sfumato.tracks.noise.interface import ContinuingNoise, TraceMechanism
from sfumato.tracks.noise.lookup import mechanism_for
from sfumato.tracks.plan import DEFAULT_MECHANISM, SNAP_M, Plan
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.secret import SecretRule
from sfumato.tracks.times_released import Times

if TYPE_CHECKING:
    from sfumato.tracks.adversary.audit import Audit


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected(Shown):
    """A release with what is certified about it. ``original`` and ``dropped`` are private; ``state`` undoes the noise.

    ``body`` is the certificate before it is sealed; whoever writes a file adds the file's facts and seals it once.
    """

    original: Trace
    release: Trace
    body: dict[str, Any]
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None

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

    def audit(self, *, prior: str = "fit") -> Audit:
        """What an adversary who knows the mechanism still learns from the release."""
        from sfumato.tracks.adversary.audit import audit  # fits priors, which protecting does not need

        return audit(self.original, self.release, Certificate.of(self.body), prior=prior)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProtectedFleet(Shown):
    """Several people's releases under one certificate, whose promise holds for each of them."""

    originals: tuple[tuple[str, Trace], ...]
    releases: tuple[tuple[str, Trace], ...]
    body: dict[str, Any]
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None

    def __repr__(self) -> str:
        points = count_of(sum(len(trace) for _, trace in self.releases), "point")
        return f"<ProtectedFleet, {len(self.releases)} people, {points}. {self.body['headline']}>"

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate of the releases as they are in memory, sealed."""
        return with_seal(self.body)

    @property
    def points_read(self) -> PointsRead:
        """How many points of all people were read and skipped, and why (private)."""
        return PointsRead.of(trace for _, trace in self.originals)


def protect(
    trace: Trace,
    *,
    radius_m: float = 200.0,
    odds: float | None = None,
    epsilon: float | None = None,
    noise_m: float | None = None,
    level: str | None = None,
    mechanism: str = DEFAULT_MECHANISM,
    prior_class: str = "day",
    prior: str | Kernel | None = None,
    order: float = 5.0,
    redraws: int = 1,
    white_share: float | None = None,
    constant_share: float | None = None,
    snap_m: float = SNAP_M,
    keep: Sequence[str] = (),
    times: str = "keep",
    secrets: str | SecretRule | Sequence[str | SecretRule] | None = None,
    state: NoiseState | str | Path | None = None,
    person: str | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
) -> Protected:
    """A trace that can be shared, and a certificate of what it still gives away.

    Ask with one of ``odds`` (posterior odds between two places at most ``radius_m`` apart, at any one moment, relative
    to prior odds, are at most this 99 times in 100), ``epsilon`` (Rényi, of order ``order``), ``noise_m`` or ``level``;
    nothing means odds of 5. A ``state`` (or its file) makes the noise continue over releases; a new one is written to
    its file before this returns, unless ``save_state`` is False (then write ``Protected.state`` with
    :func:`sfumato.tracks.certificates.state.create_state` before the release). ``person`` is the id that a state which
    knows several people keeps this person's noise under. ``rng`` is for simulations only: the release says so.
    """
    plan = Plan(
        radius_m=radius_m,
        odds=odds,
        epsilon=epsilon,
        noise_m=noise_m,
        order=order,
        mechanism=mechanism,
        prior_class=prior_class,
        prior=prior,
        white_share=white_share,
        constant_share=constant_share,
        redraws=redraws,
        secrets=secrets,
        snap_m=snap_m,
        keep=keep,
        times=times,
        level=level,
    )
    return protect_by(plan, trace, state=state, person=person, passphrase=passphrase, save_state=save_state, rng=rng)


def protect_by(
    plan: Plan,
    trace: Trace,
    *,
    state: NoiseState | str | Path | None = None,
    person: str | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
) -> Protected:
    """:func:`protect` by a plan made before."""
    original = rounded_times(trace)
    named = person is not None
    chosen = choose(plan, [original], state, named=named, passphrase=passphrase, save_state=save_state, rng=rng)
    release = chosen.released(original, person, plan)
    terms = chosen.terms(plan)
    body = certificate_body(terms, released_of([(None, release)]))
    return Protected(original, release, body, original.dropped, terms, chosen.state)


def protect_fleet(
    plan: Plan,
    people: Sequence[tuple[str, Trace]],
    *,
    state: NoiseState | str | Path | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
) -> ProtectedFleet:
    """Every person of a fleet by one plan, each with noise of their own."""
    names = [str(person) for person, _ in people]
    if len(set(names)) != len(names) or not names:
        raise InputError("A fleet needs at least one person, and each id once.", "Check the id column.")
    distinct_ids(names)
    originals = [rounded_times(trace) for _, trace in people]
    chosen = choose(plan, originals, state, named=True, passphrase=passphrase, save_state=save_state, rng=rng)
    releases = tuple(
        (person, chosen.released(trace, person, plan, together=True))
        for person, trace in zip(names, originals, strict=True)
    )
    terms = chosen.terms(plan)
    body = certificate_body(terms, released_of(releases))
    dropped = tuple(dict.fromkeys(name for trace in originals for name in trace.dropped))
    return ProtectedFleet(tuple(zip(names, originals, strict=True)), releases, body, dropped, terms, chosen.state)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The mechanism of one release, the randomness it draws from, and the state it continues."""

    mechanism: TraceMechanism
    draw: Randomness
    state: NoiseState | None = None

    def released(self, trace: Trace, person: str | None, plan: Plan, *, together: bool = False) -> Trace:
        """One person's release, snapped to the public grid, with what the plan keeps and nothing else."""
        mechanism = self.mechanism
        if self.state is not None:
            assert isinstance(mechanism, ContinuingNoise)
            mechanism = mechanism.keyed(self.state.key_of(person, together=together))
        lat, lon = mechanism.release(trace, self.draw)
        _check_moved(mechanism, trace, lat, lon)
        released = trace.moved_to(*snap(lat, lon, plan.snap_m), keep=plan.keep)
        if plan.times == "keep":
            return released
        key = self.draw.words(4).tobytes() if self.state is None else self.state.key
        return Times.parse(plan.times).apply(released, key)

    def terms(self, plan: Plan) -> Terms:
        """What the certificate is computed from."""
        source, simulation = self.draw.source, self.draw.simulation
        if not self.mechanism.draws:
            source, simulation = NOTHING_DRAWN, False
        elif self.state is not None:
            simulation = self.state.simulation
            key = "seeded key (simulation)" if simulation else "key from the operating system CSPRNG"
            source = f"{key}, AES-256"
        return Terms(self.mechanism, plan.target, float(plan.snap_m), source, simulation, tuple(plan.keep), plan.times)


def _check_moved(mechanism: TraceMechanism, trace: Trace, lat_deg: FloatArray, lon_deg: FloatArray) -> None:
    """Refuse a release that is the trace itself although noise is stated: honest noise does so once in 10^10 times."""
    if mechanism.noise_m is None:
        return
    still_deg = 1e-5 * mechanism.noise_m / 111_320.0
    if max(np.abs(lat_deg - trace.lat_deg).max(), np.abs(lon_deg - trace.lon_deg).max()) < still_deg:
        raise NotCertified(
            f"The mechanism '{mechanism.name}' states {format_length(mechanism.noise_m)} of noise and drew none.",
            "Nothing is released; report this.",
        )


def choose(
    plan: Plan,
    traces: Sequence[Trace],
    state: NoiseState | str | Path | None = None,
    *,
    named: bool = False,
    passphrase: str | None = None,
    save_state: bool = True,
    rng: Random = None,
) -> Chosen:
    """The mechanism with the least noise that keeps the plan for these people; a state's process goes on as begun."""
    kind = mechanism_for(plan, continuing=state is not None)
    draw = randomness(rng)
    if state is None:
        return Chosen(kind.from_plan(plan, traces, together(plan.redraws)), draw)
    assert issubclass(kind, ContinuingNoise)
    if not isinstance(state, NoiseState) and Path(state).exists():
        state = load_state(state, passphrase=passphrase)
    if isinstance(state, NoiseState):
        state.check_class(plan.prior_class)
        mechanism: ContinuingNoise = kind.continued(plan, state.ladder)
    else:
        mechanism = kind.from_plan(plan, traces, together(1))
    opened = opened_state(
        state,
        mechanism,
        plan.target,
        prior_class=plan.prior_class,
        passphrase=passphrase,
        save=save_state,
        named=named,
        rng=draw,
    )
    return Chosen(mechanism.keyed(opened.key), draw, opened)
