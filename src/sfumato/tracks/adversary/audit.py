"""What an adversary still learns from a release, measured against the truth and against what the certificate implies.

The adversary of an audit is strong on purpose: they know the mechanism, the mean around which the person moves, and
(with ``fit``) the kernel that fits the *original* best. With ``place="unknown"`` they know how the person moves but not
where. Each coordinate is treated alike.

The mean they know is not the average of this trace, which would tell them more than any prior: it is the mean of the
law the trace was drawn from. The trace says where that is only up to N(m̂, s²) (generalised least squares), so errors
and coverage are averaged over it, in closed form: with the error e at m̂ and c = 1 - (smoother applied to ones), the
error at m̂ + s z is e + c s z.

For a prior in the certificate's class,

    √V ≥ (worst_loss + 1/σ²)^{-1/2}        at every moment,

because 1/V = J + 1/σ² and J ≤ worst_loss: that is the *floor*. An audit is private: it is computed from the original.

*In sample and held out.* A kernel fitted to the original and then scored on it flatters the adversary: nobody has it.
``held_out`` says what is left when nothing of what is scored was fitted: the trace is cut in two, each half is scored
with the kernel fitted to the other one, at an unknown place (None for short traces, and noise without an O(n) form).
``preset`` was fitted to other people altogether.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np
from scipy.special import ndtr

from sfumato.base.arrays import FloatArray, jsonable
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.frames import differences_m, displace, unroll
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.adversary.misfit import misfits
from sfumato.tracks.adversary.posterior import believe
from sfumato.tracks.adversary.turning import Turning, fitted_turning, turning_words
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.noise.multiscale.universal_bound import TURNING
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Constant, Kernel
from sfumato.tracks.priors.presets import DEFAULT_PRESET, PRESETS, preset_named
from sfumato.tracks.priors.statespace import is_markov

FEWEST_IN_HALF = 30
WITHIN_M = 1.0  # nearer than that to where they were, points have not been moved
_ANYWHERE = 1e4  # sd of an unknown place, in units of the noise: flat for every purpose, yet well conditioned


class PriorUsed(TypedDict, total=False):
    """Where the adversary's prior comes from, the kernel, and what is known of the place."""

    source: str
    kernel: dict[str, Any]
    mean: str | None
    best_linear_estimate_only: bool


class HeldOut(TypedDict):
    """What is left where nothing of what is scored was fitted."""

    fitted_to: str
    rms_error_smoothed_m: float
    interval_68_m: float
    coverage_68: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Audit(ShownAnswer):
    """Errors and intervals are per coordinate, in metres; ``interval_68_m`` is the root mean square half-width √V.

    ``smallest_interval_68_m`` is the least √V of any moment. ``floor_m`` is what the certificate promises it stays
    above: None where the certificate has no universal bound, or the prior lies outside its class. ``in_class`` says
    whether the kernel used is a member; ``moves_otherwise`` says what speaks against the person moving like it.
    ``within_a_metre`` is the share of points that lie where they were: if it is all of them, the release is the
    original, and ``holds`` is False whatever the certificate says. A mechanism that states no law of its noise leaves
    the adversary nothing to compute with: then errors after smoothing, intervals and coverage are None. ``turning``
    says how much the track itself turns one way round. ``guess`` is where the adversary believes the trace was
    (latitudes, longitudes); it is for the private report and never part of the JSON. ``verdict`` is one sentence.
    """

    points: int
    rms_error_raw_m: float
    rms_error_smoothed_m: float | None = None
    interval_68_m: float | None = None
    smallest_interval_68_m: float | None = None
    coverage_68: float | None = None
    floor_m: float | None = None
    in_class: bool | None = None
    outside_because: tuple[str, ...] = ()
    prior_used: PriorUsed
    mechanism: str
    verdict: str
    holds: bool | None
    moves_otherwise: tuple[str, ...] = ()
    within_a_metre: float = 0.0
    held_out: HeldOut | None = None
    turning: Turning | None = None
    guess: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False)

    @property
    def unprotected(self) -> bool:
        """Whether the release is the original, to the metre."""
        return self.within_a_metre == 1.0

    @property
    def left_m(self) -> float:
        """The error that smoothing leaves; as released, where there is no law to smooth by."""
        return self.rms_error_raw_m if self.rms_error_smoothed_m is None else self.rms_error_smoothed_m

    def to_dict(self) -> dict[str, object]:
        """Plain JSON: the fields of ``sfumato audit --json``."""
        return {name: jsonable(getattr(self, name)) for name in self.__dataclass_fields__ if name != "guess"}


def audit(
    original: Trace,
    release: Trace,
    certificate: Mapping[str, object] | Certificate,
    *,
    prior: str | Kernel = "fit",
    place: Literal["known", "unknown"] = "known",
    held_out: bool = True,
) -> Audit:
    """Attack the release with the mechanism's own law and a prior: ``fit``, ``certificate``, a preset, or a kernel.

    ``held_out=False`` leaves the two further fits out, where many traces are audited.
    """
    if place not in ("known", "unknown"):
        raise InputError(f"The place is '{place}'.", "Choose known or unknown.")
    if len(original) != len(release):
        raise InputError(
            f"The original has {len(original)} points and the release {len(release)}.",
            "Give the trace that this release was made from.",
        )
    if np.max(np.abs(original.times_s - release.times_s)) > 0.001:
        raise InputError(
            "The times of the original and the release differ.", "Give the trace that this release was made from."
        )
    stated = Certificate.of(certificate)
    noise = stated.mechanism.kernel()
    order = np.argsort(original.times_s, kind="stable")
    lat, lon = original.lat_deg[order], original.lon_deg[order]
    moved = differences_m(lat, lon, release.lat_deg[order], release.lon_deg[order])
    raw = float(np.sqrt(np.mean(moved**2)))
    near = float(np.mean(np.hypot(moved[:, 0], moved[:, 1]) <= WITHIN_M))
    if noise is None:
        return _without_a_law(stated, len(original), raw, near)
    times = original.times_s[order]
    truth = unroll(lat, lon)
    truth -= truth.mean(axis=0)
    kernel, source = _prior(prior, times, truth, stated)
    errors, slack, sd = _attacked(times, truth, moved, kernel, noise, place)
    judged = _judged(kernel, stated, float(np.min(sd)))
    own = source.startswith("fitted")
    used: PriorUsed = {"source": source, "kernel": kernel.to_dict(), "mean": place}
    otherwise = tuple(misfits(times, truth, kernel)) if own else ()
    turning = fitted_turning(times, truth, kernel, _mu_alone(stated)) if own and held_out else None
    back = np.argsort(order, kind="stable")
    guess_lat, guess_lon = displace(lat, lon, errors)
    return Audit(
        points=len(original),
        rms_error_raw_m=raw,
        rms_error_smoothed_m=float(np.sqrt(np.mean(errors**2) + np.mean(slack**2))),
        interval_68_m=float(np.sqrt(np.mean(sd**2))),
        smallest_interval_68_m=float(np.min(sd)),
        coverage_68=_coverage(errors, slack, sd),
        floor_m=judged.floor_m,
        in_class=judged.in_class,
        outside_because=judged.outside_because,
        prior_used={**used, "best_linear_estimate_only": not stated.mechanism.gaussian},
        mechanism=stated.mechanism.name,
        verdict=_near_words(near) + judged.verdict + _otherwise_words(otherwise) + turning_words(turning),
        holds=False if near == 1.0 else judged.holds,
        moves_otherwise=otherwise,
        within_a_metre=near,
        held_out=_held_out(times, truth, moved, noise) if held_out and own and is_markov(noise) else None,
        turning=turning,
        guess=(guess_lat[back], guess_lon[back]),
    )


def _mu_alone(stated: Certificate) -> float | None:
    """μ for independent coordinates: a promise that covers turning is made for twice that loss."""
    mu, factor = stated.stated.numbers.mu, stated.mechanism.turning_factor()
    return None if mu is None or factor is None else mu * math.sqrt(factor / TURNING)


def _near_words(near: float) -> str:
    """What to say first where points lie where they were."""
    if near < 0.5:
        return ""
    if near == 1.0:
        return "NOT PROTECTED: every point of the release lies within a metre of the original. "
    return f"HARDLY PROTECTED: {100 * near:.0f}% of the points lie within a metre of the original. "


def _held_out(times: FloatArray, truth: FloatArray, moved: FloatArray, noise: Kernel) -> HeldOut | None:
    """Errors, intervals and coverage of each half of the trace, attacked with the kernel fitted to the other half."""
    half = len(times) // 2
    parts = (slice(0, half), slice(half, len(times)))
    if min(len(np.unique(times[part])) for part in parts) < FEWEST_IN_HALF or parts[0].stop == 0:
        return None
    squares, widths, inside = [], [], []
    for scored, other in (parts, parts[::-1]):
        kernel = fit(times[other], truth[other] - truth[other].mean(axis=0), unknown_mean=True).prior
        errors, _, sd = _attacked(times, truth, moved, kernel, noise, "unknown")
        squares.append(errors[scored] ** 2)
        widths.append(sd[scored] ** 2)
        inside.append(np.abs(errors[scored]) <= sd[scored][:, None])
    return {
        "fitted_to": "the other half of the trace, scored on this one; place unknown",
        "rms_error_smoothed_m": float(np.sqrt(np.mean(np.concatenate(squares)))),
        "interval_68_m": float(np.sqrt(np.mean(np.concatenate(widths)))),
        "coverage_68": float(np.mean(np.concatenate(inside))),
    }


def _without_a_law(stated: Certificate, points: int, raw_m: float, near: float) -> Audit:
    """All that can be said of a release whose mechanism states no law: how far off it is as it stands."""
    return Audit(
        points=points,
        rms_error_raw_m=raw_m,
        prior_used={"source": "none: the mechanism states no law to compute with", "mean": None},
        mechanism=stated.mechanism.name,
        verdict=_near_words(near) + "This mechanism promises nothing about places: no posterior can be computed from "
        "it, and an adversary who knows more than the release may learn the whole trace.",
        holds=False if near == 1.0 else None,
        within_a_metre=near,
    )


def _attacked(
    times: FloatArray, truth: FloatArray, moved: FloatArray, kernel: Kernel, noise: Kernel, place: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Errors (n, 2) of the smoothed positions, their slack (n,) from the mean we do not know, and √V (n,)."""
    if place == "unknown":
        anywhere = Constant(_ANYWHERE * math.sqrt(noise.variance_m2))
        belief = believe(times, truth + moved, prior=kernel + anywhere, noise=noise)
        return belief.errors_m(truth), np.zeros(len(times)), belief.sd_m
    centre = believe(times, truth, prior=Constant(1e3 * math.sqrt(kernel.variance_m2)), noise=kernel)
    mean, mean_sd = centre.mean_m[0], float(centre.sd_m[0])
    ones = np.ones((len(times), 1))
    belief = believe(times, np.hstack([truth - mean + moved, ones]), prior=kernel, noise=noise)
    errors = belief.mean_m[:, :2] - (truth - mean)
    return errors, np.abs(1.0 - belief.mean_m[:, 2]) * mean_sd, belief.sd_m


def _coverage(errors: FloatArray, slack: FloatArray, sd: FloatArray) -> float:
    """The mean probability that |e + slack z| ≤ √V, z standard normal."""
    width, half = np.maximum(slack, 1e-9)[:, None], sd[:, None]
    return float(np.mean(ndtr((half - errors) / width) - ndtr((-half - errors) / width)))


def _prior(prior: str | Kernel, times: FloatArray, truth: FloatArray, stated: Certificate) -> tuple[Kernel, str]:
    """The adversary's prior, and where it comes from."""
    if isinstance(prior, Kernel):
        return prior, "given"
    if prior == "fit":
        if len(np.unique(times)) < 3:
            return preset_named(DEFAULT_PRESET).prior, f"preset {DEFAULT_PRESET} (too few moments to fit)"
        return fit(times, truth, unknown_mean=True).prior, "fitted to the original (in sample)"
    if prior == "certificate":
        kernel = stated.mechanism.holds_for()
        if kernel is None:
            raise InputError("The certificate names no prior.", "Use --prior fit or a preset.")
        return kernel, "certificate"
    name = DEFAULT_PRESET if prior == "preset" else prior
    if name in PRESETS:
        return preset_named(name).prior, f"preset {name}"
    raise InputError(f"There is no prior '{prior}'.", f"Choose fit, certificate, preset, {', '.join(PRESETS)}.")


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    in_class: bool | None
    outside_because: tuple[str, ...]
    verdict: str
    floor_m: float | None = None
    holds: bool | None = None


def _judged(kernel: Kernel, stated: Certificate, smallest_m: float) -> _Judged:
    """What the certificate promises about this prior, and whether the posterior keeps it."""
    worst = stated.stated.losses.worst_loss
    members, shape = stated.mechanism.holds_over(), stated.mechanism.holds_for()
    reasons: list[str] = []
    in_class: bool | None = None
    if members is not None:
        reasons = members.reasons_outside(kernel)
        in_class = not reasons
    elif shape is not None:
        in_class = _same_shape(kernel, shape)
        reasons = [] if in_class else ["it is not the prior the noise was shaped for"]
    if worst is None:
        verdict = (
            "This mechanism has no bound that holds at any sampling rate; what the adversary reaches is above, and "
            "denser sampling would reach more."
        )
        return _Judged(in_class, tuple(reasons), verdict)
    if not in_class:
        verdict = "The prior used lies outside what the certificate covers: nothing was promised for it."
        return _Judged(in_class, tuple(reasons), verdict)
    floor = 1.0 / math.sqrt(worst + 1.0 / kernel.variance_m2) if kernel.variance_m2 > 0 else 0.0
    holds = smallest_m >= floor * (1 - 1e-9)
    verdict = (
        f"The adversary's 68% half-width is never below {format_length(smallest_m)}; the certificate promises at least "
        f"{format_length(floor)}: " + ("kept." if holds else "BROKEN. Please report this.")
    )
    return _Judged(in_class, (), verdict, floor, holds)


def _otherwise_words(reasons: tuple[str, ...]) -> str:
    """What the verdict must add where the trace does not move like any Gaussian prior."""
    if not reasons:
        return ""
    return (
        f" But this trace does not move like the kernel that fits it best ({'; '.join(reasons)}): the promise averages "
        "over paths that do."
    )


def _same_shape(kernel: Kernel, shape: Kernel) -> bool:
    """Whether two kernels are proportional (prior-shaped noise covers every sd)."""
    if kernel.variance_m2 == 0 or shape.variance_m2 == 0:
        return False
    lags = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 200)])
    return bool(np.allclose(kernel(lags) / kernel.variance_m2, shape(lags) / shape.variance_m2, atol=1e-9))
