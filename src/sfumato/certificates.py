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

from sfumato import __version__
from sfumato.arrays import FloatArray, jsonable
from sfumato.errors import NotCertified
from sfumato.guarantees import IDEALISED, Guarantee
from sfumato.mechanisms.calibration import ODDS_DELTA, Target, fulfilled
from sfumato.mechanisms.exact_losses import stated_grid
from sfumato.mechanisms.laplace_noise import LaplaceNoise
from sfumato.mechanisms.multiscale_noise import MultiscaleNoise
from sfumato.mechanisms.secret_noise import SecretNoise
from sfumato.mechanisms.trace_noise import Losses, TraceNoise
from sfumato.mechanisms.universal_bound import restart_multiplier
from sfumato.priors.classes import PRIOR_CLASSES, PriorClass
from sfumato.secret import TIMES_ARE_PUBLIC

FORMAT = 1
GAP_LONGEST_SCALES = 5.0
SEAL = "certificate_sha256"

NOT_COVERED = (
    "The odds and delta average over traces that move like the prior class says; one fixed or atypical trace may fare "
    "worse.",
    "An adversary with a menu of known routes, roads or places (a mixture of means) can learn more.",
    "An adversary who knows where you truly were at a nearby time: knowing one point 10 s or 60 s away has been "
    "measured to give 13.3 or 2.0 times the floor.",
    "Questions about several moments together (direction, speed, the shape of the path) beyond the losses stated.",
    "The times themselves, the gaps between them, the number of points and of segments: they are released as they are.",
    "The whole-degree cell (about 100 km) the path lies in.",
    "Anything you asked to keep, and what you tell or publish elsewhere.",
    "Noise state, seed and private report: whoever reads one of them can undo the protection.",
)
STAYS_NOT_COVERED = (
    "A place returned to on many days, or stayed at for longer than the longest length scale: this mechanism has no "
    "constant share, so an unknown place is learned from a long stay."
)


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
    class_name: str | None = None
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
    from sfumato.leakage.gaussian import delta_at, mu_of, odds_after_coarsening, odds_at

    radius_m, order = target.radius_m, target.order
    out: dict[str, Any] = {"radius_m": radius_m, "order": order}
    if isinstance(mechanism, LaplaceNoise):
        epsilon = mechanism.epsilon_per_m * radius_m * mechanism.redraws
        odds = math.exp(epsilon) if epsilon < 700 else None
        return {
            **out, "epsilon": epsilon, "mu": None, "odds_99": odds, "odds_99_either_way": odds,
            "odds_99_after_coarsening": odds, "delta_at_epsilon": 0.0, "stay_odds_99": None,
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
    statement = _guarantee(terms, losses, promised)
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
        "loss_at_times_grid": stated_grid(most) if losses.loss_at_times is not None and prior_class else None,
        "floor_loss": losses.floor_loss,
        "loss_over_floor": None if losses.worst_loss is None else losses.worst_loss / losses.floor_loss,
        "epsilon_follows_from": losses.basis_name,
        "simulation": terms.simulation,
        "guarantee": statement.to_dict(),
        "warnings": list(losses.warnings),
        "noise": mechanism.law(),
        "parameters": mechanism.parameters(),
        "target": target.to_dict(),
        "releases": _releases(mechanism),
        "randomness": terms.randomness_source,
        "snap_m": terms.snap_m,
        "kept": list(terms.kept),
        "release": {"content_sha256": released.digest(), **(file or {})},
        **terms.extra,
    }
    if isinstance(mechanism, MultiscaleNoise):
        body["bound"] = mechanism.bound().to_dict()
    return sealed(body)


def class_name(prior_class: PriorClass) -> str:
    """``day``, ``week``, ``year``, or ``custom``."""
    wanted = prior_class.to_dict()
    return next((name for name, known in PRIOR_CLASSES.items() if known.to_dict() == wanted), "custom")


def _check_target(mechanism: TraceNoise, losses: Losses, target: Target) -> None:
    if isinstance(mechanism, LaplaceNoise):
        epsilon = mechanism.epsilon_per_m * target.radius_m * mechanism.redraws
        kept = laplace_fulfils(target, epsilon)
    else:
        kept = losses.basis is not None and fulfilled(target, losses.basis)
    if not kept:
        raise NotCertified("The noise does not fulfil what was asked for.", "Nothing is released; report this.")


def laplace_fulfils(target: Target, epsilon: float) -> bool:
    """Whether geo-indistinguishability of ``epsilon`` at the radius keeps the wish, as it will be printed."""
    if target.odds is not None:
        return epsilon < 700 and math.exp(epsilon) <= target.odds
    return target.epsilon is None or epsilon <= target.epsilon


def _releases(mechanism: TraceNoise) -> dict[str, Any]:
    redraws = int(getattr(mechanism, "redraws", 1))
    if isinstance(mechanism, MultiscaleNoise):
        longest = mechanism.ladder.longest_s
        gap = GAP_LONGEST_SCALES * longest
        if mechanism.key is not None:
            return {
                "mode": "continuing",
                "meaning": "The noise is one process per person: any number of releases made with the same state, in "
                "any order, together keep the losses stated.",
            }
        return {
            "mode": "redrawn",
            "redraws": redraws,
            "loss_multiplier": redraws,
            "meaning": f"This release's noise was drawn for it alone, as one of {redraws}. The losses stated hold for "
            f"{redraws} such release(s) of one person together; every further one adds as much again.",
            "gap_s": gap,
            "gap_rule": f"Releases that lie at least {GAP_LONGEST_SCALES:g} longest length scales apart count as one "
            f"for worst_loss, up to a factor of {restart_multiplier(gap, longest):.4f}; for stay_loss they never do.",
        }
    return {
        "mode": "redrawn",
        "redraws": redraws,
        "loss_multiplier": redraws,
        "meaning": f"The losses stated hold for {redraws} release(s) of one person; every further one adds as much.",
    }


def _guarantee(terms: Terms, losses: Losses, promised: Mapping[str, Any]) -> Guarantee:
    mechanism = terms.mechanism
    radius, order = terms.target.radius_m, terms.target.order
    not_covered = NOT_COVERED if losses.stay_loss is not None else (*NOT_COVERED, STAYS_NOT_COVERED)
    numerics = f"{IDEALISED}; released positions are snapped after the noise to a public grid of {terms.snap_m:g} m"
    if isinstance(mechanism, LaplaceNoise):
        return Guarantee(
            notion="geo-indistinguishability of each point",
            parameters={"epsilon_per_m": mechanism.epsilon_per_m},
            assumes=("nothing about where you might be, for one report on its own",),
            covers=("where you were at any one released moment, against an adversary who sees that report only",),
            not_covered=not_covered,
            numerics=numerics,
            simulation=terms.simulation,
        )
    if isinstance(mechanism, SecretNoise):
        notion, secret_assumes, secret_covers = mechanism.statement()
        return Guarantee(
            notion=notion,
            parameters={name: promised[name] for name in ("epsilon", "order", "radius_m", "mu", "odds_99")},
            assumes=(*secret_assumes, "the adversary may know the mean path exactly"),
            covers=secret_covers,
            not_covered=("Every moment that is not listed under 'secrets'.", TIMES_ARE_PUBLIC, *not_covered),
            numerics=numerics,
            simulation=terms.simulation,
        )
    covers = [
        "where you were at any one moment, released or not: two places at most "
        f"{radius:g} m apart stay indistinguishable (Rényi divergence of order {order:g} at most epsilon)"
    ]
    if isinstance(mechanism, MultiscaleNoise):
        bound = mechanism.bound()
        assumes = [_class_words(mechanism.prior_class)]
        if bound.free_offset_sd is not None:
            share = bound.free_offset_share
            covers.append(
                "an unknown constant offset of the whole path: inside worst_loss while the path's own sd is at least "
                f"{bound.free_offset_sd * mechanism.noise_m:.3g} m"
                + (f" or the offset's at most {share:.3g} times it" if share and math.isfinite(share) else "")
                + ", and never beyond stay_loss"
            )
            covers.append(
                "one unknown place, stayed at for any time or any number of nights: at most stay_loss (stay_odds_99)"
            )
        covers.append("any timestamps, sampling rate and duration")
    elif losses.worst_loss is not None:
        assumes = ["the path moves like the kernel under 'prior', with any sd"]
    else:
        assumes = [_class_words(getattr(mechanism, "prior_class"))]  # noqa: B009
        covers.append("this release at its own times only")
    parameters = {name: promised[name] for name in ("epsilon", "order", "radius_m", "mu", "odds_99")}
    return Guarantee(
        notion="conditional inferential privacy (Gaussian priors, basic secrets at every moment)",
        parameters=parameters,
        assumes=(*assumes, "the adversary may know the mean path exactly; the noise is independent of the path"),
        covers=tuple(covers),
        not_covered=not_covered,
        numerics=numerics,
        simulation=terms.simulation,
    )


def _class_words(members: PriorClass) -> str:
    low, high = members.length_scales_s
    sd = "any sd" if math.isinf(members.sd_m[1]) and members.sd_m[0] == 0 else f"sd in {members.sd_m} m"
    return (
        "around a mean the adversary may know, the path is Gaussian with one of the kernels "
        f"{', '.join(members.kernels)}, "
        f"a length scale from {low:g} s to {high:g} s, {sd}, a nugget of at most {members.nugget_share:g} of the sd"
        + (", and an unknown offset" if members.offset else "")
    )


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
