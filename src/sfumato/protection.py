"""Protect a trace: choose the noise, add it, and say exactly what it promises.

One page: the mathematics is in :mod:`sfumato.mechanisms` and :mod:`sfumato.leakage`, the statement in
:mod:`sfumato.certificates`. Nothing here looks at where the trace is, except to add the noise to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.certificates.build import Terms, certificate, laplace_fulfils, milliseconds_as_s, released_of
from sfumato.certificates.state import NoiseState, create_state, load_state
from sfumato.certificates.words import class_name
from sfumato.errors import InputError
from sfumato.frames import displace, snap
from sfumato.mechanisms.traces.calibration import ODDS_DELTA, Target, calibrated_noise_m, target_of
from sfumato.mechanisms.traces.independent import IndependentNoise
from sfumato.mechanisms.traces.interface import TraceNoise
from sfumato.mechanisms.traces.mixed import WHITE_SHARE, MixedNoise
from sfumato.mechanisms.traces.multiscale.continuing import person_key
from sfumato.mechanisms.traces.multiscale.ladder import Ladder, shipped_ladder
from sfumato.mechanisms.traces.multiscale.noise import MultiscaleNoise
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.mechanisms.traces.prior_shaped import PriorShapedNoise
from sfumato.mechanisms.traces.trace_registry import NEED_PRIOR, TRACE_MECHANISMS
from sfumato.priors.classes import PRIOR_CLASSES, prior_class_named
from sfumato.priors.kernels import Kernel
from sfumato.randomness import Random, randomness
from sfumato.traces import Trace

if TYPE_CHECKING:
    from sfumato.adversary.audit import Audit

SNAP_M = 0.1
UNIT_TIMES = 1.0  # noise of one metre, to read off losses × o


@dataclass(frozen=True, slots=True, eq=False)
class Protected:
    """A release with its certificate. ``original`` and ``dropped`` are private; ``state`` undoes the noise."""

    original: Trace
    release: Trace
    certificate: Mapping[str, Any]
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None

    def audit(self, *, prior: str = "fit") -> Audit:
        """What an adversary who knows the mechanism still learns from the release."""
        from sfumato.adversary.audit import audit

        return audit(self.original, self.release, self.certificate, prior=prior)


@dataclass(frozen=True, slots=True, eq=False)
class ProtectedFleet:
    """Several people's releases under one certificate, whose promise holds for each of them."""

    originals: tuple[tuple[str, Trace], ...]
    releases: tuple[tuple[str, Trace], ...]
    certificate: Mapping[str, Any]
    dropped: tuple[str, ...]
    terms: Terms
    state: NoiseState | None = None


def protect(
    trace: Trace,
    *,
    radius_m: float = 200.0,
    odds: float | None = None,
    epsilon: float | None = None,
    noise_m: float | None = None,
    level: str | None = None,
    mechanism: str = "multiscale",
    prior_class: str = "day",
    prior: str | Kernel | None = None,
    order: float = 5.0,
    state: NoiseState | str | Path | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    redraws: int = 1,
    white_share: float | None = None,
    constant_share: float | None = None,
    snap_m: float = SNAP_M,
    keep: Sequence[str] = (),
    secrets: Any | None = None,
    rng: Random = None,
) -> Protected:
    """A trace that can be shared, and a certificate of what it still gives away.

    Ask with one of ``odds`` (posterior odds between two places at most ``radius_m`` apart, at any one moment, relative
    to prior odds, are at most this 99 times in 100), ``epsilon`` (Rényi, of order ``order``), ``noise_m`` or
    ``level``; nothing means odds of 5. A ``state`` (or its file) makes the noise continue over releases; a new one
    is written to its file before this returns, unless ``save_state`` is False (then write ``Protected.state`` with
    :func:`sfumato.certificates.state.create_state` before the release). ``rng`` is for simulations
    only: the release says so.
    """
    fleet = _protect_all(
        [(None, trace)], radius_m=radius_m, odds=odds, epsilon=epsilon, noise_m=noise_m, level=level,
        mechanism=mechanism, prior_class=prior_class, prior=prior, order=order, state=state, passphrase=passphrase,
        save_state=save_state, redraws=redraws, white_share=white_share, constant_share=constant_share,
        snap_m=snap_m, keep=keep, secrets=secrets, rng=rng,
    )  # fmt: skip
    originals, releases, document, terms, used = fleet
    return Protected(originals[0][1], releases[0][1], document, originals[0][1].dropped, terms, used)


def protect_fleet(people: Sequence[tuple[str, Trace]], **options: Any) -> ProtectedFleet:
    """Every person of a fleet, each with noise of their own; options as in :func:`protect`."""
    names = [person for person, _ in people]
    if len(set(names)) != len(names) or not names:
        raise InputError("A fleet needs at least one person, and each id once.", "Check the id column.")
    originals, releases, document, terms, used = _protect_all(people, **options)
    dropped = tuple(dict.fromkeys(name for _, trace in originals for name in trace.dropped))
    return ProtectedFleet(
        tuple((str(person), trace) for person, trace in originals),
        tuple((str(person), trace) for person, trace in releases),
        document, dropped, terms, used,
    )  # fmt: skip


def _protect_all(
    people: Sequence[tuple[str | None, Trace]],
    *,
    state: NoiseState | str | Path | None = None,
    passphrase: str | None = None,
    save_state: bool = True,
    snap_m: float = SNAP_M,
    keep: Sequence[str] = (),
    secrets: Any | None = None,
    rng: Random = None,
    **wish: Any,
) -> tuple[Any, Any, Any, Terms, NoiseState | None]:
    if not (math.isfinite(snap_m) and 0.01 <= snap_m <= 1000):
        raise InputError(f"The snapping grid is {snap_m:g} m.", "It must lie between 0.01 m and 1000 m.")
    originals = [(person, rounded_times(trace)) for person, trace in people]
    draw = randomness(rng)
    extra: dict[str, Any] = {}
    if state is not None and not isinstance(state, NoiseState) and Path(state).exists():
        state = load_state(state, passphrase=passphrase)
    if isinstance(state, NoiseState) and secrets is None and wish.get("mechanism", "multiscale") == "multiscale":
        state.check_class(wish.get("prior_class", "day"))
        wish["ladder"] = Ladder.from_dict(state.ladder)  # a process goes on as it began, whatever is shipped now
    if secrets is None:
        chosen, target = choose([trace for _, trace in originals], continuing=state is not None, **wish)
    else:
        chosen, target, extra = choose_for_secrets(originals, secrets, continuing=state is not None, **wish)
    noise_state = None
    if state is not None:
        noise_state = opened_state(state, chosen, target, passphrase=passphrase, save=save_state, rng=draw)
        assert isinstance(chosen, MultiscaleNoise)
        chosen = chosen.keyed(noise_state.key)
    releases = []
    for person, trace in originals:
        mechanism = chosen
        if noise_state is not None and person is not None:
            assert isinstance(chosen, MultiscaleNoise)
            mechanism = chosen.keyed(person_key(noise_state.key, person))
        lat, lon = displace(trace.lat_deg, trace.lon_deg, mechanism.draw(trace.times_s, draw))
        releases.append((person, trace.moved_to(*snap(lat, lon, snap_m), keep=keep)))
    source, simulation = draw.source, draw.simulation
    if noise_state is not None:
        simulation = noise_state.simulation
        source = ("seeded key (simulation)" if simulation else "key from the operating system CSPRNG") + ", AES-256"
    terms = Terms(
        mechanism=chosen,
        target=target,
        snap_m=float(snap_m),
        randomness_source=source,
        simulation=simulation,
        kept=tuple(keep),
        extra=extra,
    )
    return originals, releases, certificate(terms, released_of(releases)), terms, noise_state


def rounded_times(trace: Trace) -> Trace:
    """The same trace at whole milliseconds, which is how times are released."""
    times = milliseconds_as_s(trace.times_s)
    return trace if np.array_equal(times, trace.times_s) else replace(trace, times_s=times)


def choose(
    traces: Sequence[Trace],
    *,
    radius_m: float = 200.0,
    odds: float | None = None,
    epsilon: float | None = None,
    noise_m: float | None = None,
    level: str | None = None,
    mechanism: str = "multiscale",
    prior_class: str = "day",
    prior: str | Kernel | None = None,
    order: float = 5.0,
    redraws: int = 1,
    white_share: float | None = None,
    constant_share: float | None = None,
    ladder: Ladder | None = None,
    continuing: bool = False,
) -> tuple[TraceNoise, Target]:
    """The mechanism with the least noise that keeps what was asked for; a given ``ladder`` is certified as it is."""
    target = target_of(radius_m=radius_m, odds=odds, epsilon=epsilon, noise_m=noise_m, level=level, order=order)
    _check_fit(mechanism, prior, redraws, white_share, constant_share, continuing)
    unit: TraceNoise
    if mechanism == "multiscale":
        shipped = shipped_ladder(prior_class, white_share=white_share, constant_share=constant_share)
        ladder = ladder or shipped
        if (white_share is not None and ladder.white_share != shipped.white_share) or (
            constant_share is not None and ladder.constant_share != shipped.constant_share
        ):
            raise InputError("The state's noise has other shares.", "Leave the shares out, or use a new state.")
        unit = MultiscaleNoise(ladder, UNIT_TIMES, PRIOR_CLASSES[prior_class], redraws)
        return unit.sized(calibrated_noise_m(target, unit.bound().worst_loss * redraws)), target
    times = [trace.times_s for trace in traces]
    if mechanism == "independent":
        unit = IndependentNoise(UNIT_TIMES, prior_class_named(prior_class), redraws)
        return unit.sized(calibrated_noise_m(target, unit.losses(times).basis or math.inf)), target
    if mechanism == "planar-laplace":
        return LaplaceNoise(_laplace_epsilon(target, redraws), redraws), target
    kernel, fitted = _prior_of(prior, traces)
    if mechanism == "prior-shaped":
        unit = PriorShapedNoise(kernel, UNIT_TIMES, fitted, redraws)
    else:
        unit = MixedNoise(kernel, UNIT_TIMES, WHITE_SHARE if white_share is None else white_share, fitted, redraws)
    # These attain their bound whatever the times are, so none are needed to calibrate.
    return unit.sized(calibrated_noise_m(target, unit.losses([np.zeros(1)]).worst_loss or math.inf)), target


def choose_for_secrets(
    people: Sequence[tuple[str | None, Trace]],
    secrets: Any,
    *,
    continuing: bool,
    radius_m: float = 200.0,
    odds: float | None = None,
    epsilon: float | None = None,
    noise_m: float | None = None,
    level: str | None = None,
    mechanism: str = "multiscale",
    prior_class: str = "day",
    prior: str | Kernel | None = None,
    order: float = 5.0,
    redraws: int = 1,
    **others: Any,
) -> tuple[TraceNoise, Target, dict[str, Any]]:
    """Noise for chosen times of one trace: designed for its timestamps and one prior (default: the shipped preset).

    ``prior_class`` is only what the certificate's ``loss_over_class`` is computed for: nothing is promised over it.
    """
    from sfumato.mechanisms.traces.chosen_secrets import secret_noise
    from sfumato.secret import parse, resolve

    if len(people) != 1:
        raise InputError("Chosen secrets are for one trace.", "Protect the people of a fleet one by one.")
    if continuing:
        raise InputError("Noise for chosen secrets cannot continue over releases.", "Leave --state or --secrets out.")
    if mechanism not in ("multiscale", "secrets"):
        raise InputError(f"The mechanism {mechanism} does not take secrets.", "Leave --mechanism out.")
    if any(value is not None for value in others.values()):
        raise InputError("Noise for chosen secrets has no white or constant share to set.", "Leave the option out.")
    target = target_of(radius_m=radius_m, odds=odds, epsilon=epsilon, noise_m=noise_m, level=level, order=order)
    trace = people[0][1]
    listed = [secrets] if isinstance(secrets, str) or not isinstance(secrets, Sequence) else secrets
    rules = [parse(rule, radius_m=radius_m) if isinstance(rule, str) else rule for rule in listed]
    found = resolve(rules, trace.times_s, lat_deg=trace.lat_deg, lon_deg=trace.lon_deg)
    kernel, fitted = _prior_of("preset" if prior is None else prior, [trace])
    chosen = secret_noise(
        trace.times_s, found, kernel, target, fitted=fitted, redraws=redraws,
        checked_class=prior_class_named(prior_class),
    )  # fmt: skip
    return chosen, target, {"secrets": chosen.block(target.radius_m)}


def _check_fit(
    mechanism: str,
    prior: str | Kernel | None,
    redraws: int,
    white_share: float | None,
    constant_share: float | None,
    continuing: bool,
) -> None:
    if mechanism not in TRACE_MECHANISMS:
        raise InputError(f"There is no mechanism '{mechanism}'.", f"Choose from {', '.join(TRACE_MECHANISMS)}.")
    if not (isinstance(redraws, int | np.integer) and 1 <= redraws <= 1_000_000):
        raise InputError(f"redraws is {redraws}.", "It must be a whole number from 1.")
    if mechanism in NEED_PRIOR and prior is None:
        raise InputError(f"The mechanism {mechanism} is shaped by a prior.", "Give --prior with a preset, or 'fit'.")
    if mechanism not in NEED_PRIOR and prior is not None:
        raise InputError(f"The mechanism {mechanism} takes no prior.", f"A prior shapes {' and '.join(NEED_PRIOR)}.")
    if white_share is not None and mechanism not in ("multiscale", "mixed"):
        raise InputError(f"The mechanism {mechanism} has no white share.", "Leave the option out.")
    if constant_share is not None and mechanism != "multiscale":
        raise InputError(f"The mechanism {mechanism} has no constant share.", "Leave the option out.")
    if continuing and mechanism != "multiscale":
        raise InputError("Only multiscale noise continues over releases.", "Leave --state out, or use multiscale.")
    if continuing and redraws != 1:
        raise InputError("Continuing noise is never redrawn.", "Leave out --redraws or --state.")


def _laplace_epsilon(target: Target, redraws: int) -> float:
    """ε per metre: e^{ε r} = odds surely, or ε r = epsilon, or √3/ε = noise; rounded down (toward privacy)."""
    if target.noise_m is not None:
        return math.sqrt(3.0) / target.noise_m
    wanted = math.log(target.odds) if target.odds is not None else float(target.epsilon or 0.0)
    per_metre = wanted / target.radius_m / redraws
    while not laplace_fulfils(target, per_metre * target.radius_m * redraws):
        per_metre = math.nextafter(per_metre, 0.0)
    return per_metre


def _prior_of(prior: str | Kernel | None, traces: Sequence[Trace]) -> tuple[Kernel, bool]:
    if isinstance(prior, Kernel):
        return prior, False
    if prior != "fit":
        from sfumato.priors.presets import DEFAULT_PRESET, preset_named

        return preset_named(DEFAULT_PRESET if prior == "preset" else str(prior)).prior, False
    if len(traces) != 1:
        raise InputError("A prior is fitted to one person's trace.", "Use a preset for several people.")
    from sfumato.frames import unroll
    from sfumato.priors.fitting import fit

    trace = traces[0]
    order = np.argsort(trace.times_s, kind="stable")
    positions = unroll(trace.lat_deg[order], trace.lon_deg[order])
    return fit(trace.times_s[order], positions).prior, True


def opened_state(
    state: NoiseState | str | Path,
    mechanism: TraceNoise,
    target: Target,
    *,
    passphrase: str | None = None,
    save: bool = True,
    rng: Random = None,
) -> NoiseState:
    """The person's state: as given, or created in its file before anything is released with it."""
    assert isinstance(mechanism, MultiscaleNoise)
    ladder = mechanism.ladder.to_dict()
    if not isinstance(state, NoiseState):
        fresh = NoiseState.fresh(mechanism.noise_m, ladder, rng, prior_class=class_name(mechanism.prior_class))
        if save:
            create_state(state, fresh, passphrase=passphrase)
        state = fresh
    state.check_use(mechanism.noise_m, ladder, _what_it_gives(mechanism.sized(state.noise_m), target))
    draw = randomness(rng)
    if draw.simulation and not state.simulation:
        raise InputError("A seed cannot be used with a real state.", "Leave the seed out, or use another state.")
    return state


def _what_it_gives(mechanism: MultiscaleNoise, target: Target) -> str:
    """The odds or ε of noise of another size than the wish needs, in words."""
    from sfumato.leakage.loss import mu_of, odds_at, renyi_epsilon

    mu = mu_of(mechanism.bound().worst_loss / mechanism.noise_m**2, target.radius_m)
    if target.odds is not None:
        return f" (which gives odds of {odds_at(mu, ODDS_DELTA):.3g} : 1 at {target.radius_m:g} m, not {target.odds:g})"
    if target.epsilon is not None:
        return f" (which gives epsilon {renyi_epsilon(mu, target.order):.3g}, not {target.epsilon:g})"
    return ""
