"""What a certificate says, and nothing else: built in one place, so that it can be rebuilt and compared field by field.

A certificate states the promise and everything needed to recompute it. It never holds the seed, the noise state, a
hash of the input, or anything chosen from the private trace (unless the user asked for that and it says so).
The seal is a SHA-256 of the certificate's own canonical text: it finds accidents and careless edits. It is not a
signature; whoever can rewrite the file can seal it again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.arrays import FloatArray, jsonable
from sfumato.certificates.words import class_name, guarantee, releases
from sfumato.errors import NotCertified
from sfumato.leakage.exact_losses import stated_grid, stated_independent
from sfumato.mechanisms.traces.calibration import NOISE_STEP_M, ODDS_DELTA, Target, calibrated_noise_m, fulfilled
from sfumato.mechanisms.traces.chosen_secrets import SecretNoise
from sfumato.mechanisms.traces.independent import IndependentNoise
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.multiscale.noise import MultiscaleNoise
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.version import __version__

FORMAT = 1
SEAL = "certificate_sha256"
SAME_DEG = 1.5e-7  # released degrees have seven decimals
DESIGN_SLACK = 0.02  # noise designed for chosen secrets meets its budget to the solver's gap
SOURCES = {  # what randomness may say: (simulation, continuing)
    "operating system CSPRNG (os.urandom)": (False, False),
    "seeded generator (simulation)": (True, False),
    "key from the operating system CSPRNG, AES-256": (False, True),
    "seeded key (simulation), AES-256": (True, True),
}


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What verification sees of a release: ids, times and positions of each person, in the file's order."""

    people: tuple[str | None, ...]
    times_s: tuple[FloatArray, ...]
    lat_deg: tuple[FloatArray, ...]
    lon_deg: tuple[FloatArray, ...]

    @property
    def points(self) -> int:
        """All people's points together."""
        return sum(len(times) for times in self.times_s)

    def digest(self) -> str:
        """SHA-256 over ids, milliseconds and 1e-7 degrees: the same for every file format."""
        digest = hashlib.sha256(b"sfumato release 1\0")
        for person, times, lat, lon in zip(self.people, self.times_s, self.lat_deg, self.lon_deg, strict=True):
            digest.update(json.dumps([person, len(times)]).encode())
            digest.update(np.rint(np.asarray(times) * 1000.0).astype("<i8").tobytes())
            digest.update(np.rint(np.asarray(lat) * 1e7).astype("<i8").tobytes())
            digest.update(np.rint(np.asarray(lon) * 1e7).astype("<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Everything a certificate is computed from, beside the release itself."""

    mechanism: TraceNoise
    target: Target
    snap_m: float
    randomness_source: str
    simulation: bool
    kept: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)  # e.g. what protected secrets add; part of the seal


def canonical(value: Mapping[str, Any]) -> bytes:
    """One text for one meaning: sorted keys, no spaces, shortest floats, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sealed(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the hash of its canonical text."""
    plain = {key: value for key, value in jsonable(dict(body)).items() if key != SEAL}
    return {**plain, SEAL: hashlib.sha256(canonical(plain)).hexdigest()}


def numbers(mechanism: TraceNoise, losses: Losses, target: Target) -> dict[str, Any]:
    """μ, ε, δ and odds, from the one loss they all follow from."""
    from sfumato.leakage.loss import delta_at, mu_of, odds_after_coarsening, odds_at

    radius_m, order = target.radius_m, target.order
    out: dict[str, Any] = {"radius_m": radius_m, "order": order}
    if isinstance(mechanism, LaplaceNoise):
        epsilon = mechanism.epsilon_per_m * radius_m * mechanism.redraws
        odds = math.exp(epsilon) if epsilon < 700 else None
        return {
            **out, "epsilon": epsilon, "mu": None, "odds_99": None, "odds_99_either_way": None,
            "odds_99_after_coarsening": None, "odds_per_point": odds, "delta_at_epsilon": 0.0, "stay_odds_99": None,
            "geo_indistinguishability_per_m": mechanism.epsilon_per_m,
        }  # fmt: skip
    assert losses.basis is not None
    mu = mu_of(losses.basis, radius_m)
    epsilon = order / 2.0 * radius_m**2 * losses.basis
    stay = None if losses.stay_loss is None else mu_of(max(losses.stay_loss, losses.basis), radius_m)
    return {
        **out,
        "epsilon": epsilon,
        "mu": mu,
        "odds_99": odds_at(mu, ODDS_DELTA),
        "odds_99_either_way": odds_at(mu, ODDS_DELTA, two_sided=True),
        "odds_per_point": None,
        "odds_99_after_coarsening": odds_after_coarsening(mu, ODDS_DELTA),
        "delta_at_epsilon": delta_at(epsilon, mu),
        "stay_odds_99": None if stay is None else odds_at(stay, ODDS_DELTA),
    }


def certificate(terms: Terms, released: Released, *, file: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The sealed certificate of one release; ``file`` adds the name-free facts of the file it was written to."""
    mechanism, target = terms.mechanism, terms.target
    losses = mechanism.losses(released.times_s)
    promised = numbers(mechanism, losses, target)
    _check_target(mechanism, losses, target)
    _check_source(terms)
    statement = guarantee(mechanism, losses, promised, snap_m=terms.snap_m, simulation=terms.simulation)
    prior_class = getattr(mechanism, "prior_class", None)
    most = max((len(np.unique(times)) for times in released.times_s), default=0)
    body: dict[str, Any] = {
        "format": FORMAT,
        "sfumato": __version__,
        "kind": "sfumato trace certificate",
        "points": released.points,
        "people": len(released.people),
        **promised,
        "rms_noise_m": mechanism.noise_m,
        "mechanism": mechanism.name,
        "prior_class": None if prior_class is None else {"name": class_name(prior_class), **prior_class.to_dict()},
        "prior": mechanism.parameters().get("prior"),
        "worst_loss": losses.worst_loss,
        "stay_loss": losses.stay_loss,
        "loss_at_times": losses.loss_at_times,
        "loss_at_times_grid": _grid(mechanism, most) if losses.loss_at_times is not None and prior_class else None,
        "floor_loss": losses.floor_loss,
        "loss_over_floor": None if losses.worst_loss is None else losses.worst_loss / losses.floor_loss,
        "epsilon_follows_from": losses.basis_name,
        "simulation": terms.simulation,
        "guarantee": statement.to_dict(),
        "warnings": [*losses.warnings, *_double_positions(released)],
        "noise": mechanism.law(),
        "parameters": mechanism.parameters(),
        "target": target.to_dict(),
        "releases": releases(mechanism),
        "randomness": terms.randomness_source,
        "snap_m": terms.snap_m,
        "kept": list(terms.kept),
        "release": {"content_sha256": released.digest(), **(file or {})},
        **terms.extra,
    }
    if isinstance(mechanism, MultiscaleNoise):
        body["bound"] = mechanism.bound().to_dict()
    return sealed(body)


def _grid(mechanism: TraceNoise, points: int) -> str | None:
    return stated_independent(points) if isinstance(mechanism, IndependentNoise) else stated_grid(points)


def _double_positions(released: Released) -> tuple[str, ...]:
    """A warning where one moment has two positions: both get the same noise, so their difference is the true one."""
    moments = 0
    for times, lat, lon in zip(released.times_s, released.lat_deg, released.lon_deg, strict=True):
        order = np.argsort(times, kind="stable")
        again = np.diff(times[order]) == 0
        apart = (np.abs(np.diff(lat[order])) > SAME_DEG) | (np.abs(np.diff(lon[order])) > SAME_DEG)
        moments += int(np.unique(times[order][1:][again & apart]).size)
    if not moments:
        return ()
    return (
        f"{moments} moment(s) have more than one position. Positions of one moment get the same noise, so the way "
        "from one to the other is released exactly: keep one position for each moment.",
    )


def _check_source(terms: Terms) -> None:
    known = SOURCES.get(terms.randomness_source)
    continuing = isinstance(terms.mechanism, MultiscaleNoise) and terms.mechanism.key is not None
    if known != (terms.simulation, continuing):
        raise NotCertified(
            "The source of the randomness is not one that is known, or does not fit the release.",
            "Use the operating system's (no rng), or a seed for a simulation.",
        )


def _check_target(mechanism: TraceNoise, losses: Losses, target: Target) -> None:
    """The noise keeps the wish, and is the noise that this wish (not a weaker one) leads to."""
    if isinstance(mechanism, LaplaceNoise):
        epsilon = mechanism.epsilon_per_m * target.radius_m * mechanism.redraws
        kept = laplace_fulfils(target, epsilon)
        wanted = math.log(target.odds) if target.odds is not None else target.epsilon
        own = wanted is None or epsilon >= wanted * (1 - 1e-9)
    else:
        kept = losses.basis is not None and fulfilled(target, losses.basis)
        own = True
        if kept and target.noise_m is None and not isinstance(mechanism, SecretNoise):
            least = calibrated_noise_m(target, float(losses.basis or 0.0) * mechanism.noise_m**2)
            own = mechanism.noise_m <= least * (1 + 1e-6) + NOISE_STEP_M
    if target.noise_m is not None:
        slack = DESIGN_SLACK if isinstance(mechanism, SecretNoise) else 1e-12
        own = abs(mechanism.noise_m - target.noise_m) <= slack * target.noise_m
    if not kept:
        raise NotCertified("The noise does not fulfil what was asked for.", "Nothing is released; report this.")
    if not own:
        raise NotCertified("The noise is not the one that was asked for.", "Nothing is released; report this.")


def laplace_fulfils(target: Target, epsilon: float) -> bool:
    """Whether geo-indistinguishability of ``epsilon`` at the radius keeps the wish, as it will be printed."""
    if target.odds is not None:
        return epsilon < 700 and math.exp(epsilon) <= target.odds
    return target.epsilon is None or epsilon <= target.epsilon


def released_of(people: Sequence[tuple[str | None, Any]]) -> Released:
    """The released view of (id, Trace) pairs."""
    return Released(
        people=tuple(person for person, _ in people),
        times_s=tuple(milliseconds_as_s(trace.times_s) for _, trace in people),
        lat_deg=tuple(trace.lat_deg for _, trace in people),
        lon_deg=tuple(trace.lon_deg for _, trace in people),
    )


def milliseconds_as_s(times_s: FloatArray) -> FloatArray:
    """Times as they are released: whole milliseconds."""
    return np.asarray(np.rint(np.asarray(times_s, dtype=np.float64) * 1000.0) / 1000.0)
