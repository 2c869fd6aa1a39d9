"""Noise for chosen times of one trace: designed for its own timestamps, certified there, for one prior.

Γ = FFᵀ + floor·I, either the least noise that keeps every secret's loss at its target (`convex`, then F is stored), or,
where the secrets cover too much for that, the prior's own shape under an envelope around the secret times,
Γ = size²·[(1-φ)·DKD + φ·D²] + floor·I, with K the prior's correlation and D_ii = exp(-½(distance to a secret/width)²).
The envelope's recipe is stored and everything is recomputed from it. Hypotheses about a secret S differ by at most r at
each of its times, in the plane: μ² ≤ r²·|S|·λ_max(J_S), exactly r²·J for one time.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, IntArray, distinct, read_only
from sfumato.errors import InputError, NotCertified
from sfumato.leakage.loss import mu_of, odds_at
from sfumato.mechanisms.designs.convex import LARGEST_UNION, least_loss, least_noise
from sfumato.mechanisms.designs.envelope import envelope, envelope_noise
from sfumato.mechanisms.designs.noise_design import losses_of
from sfumato.mechanisms.traces.calibration import Target
from sfumato.mechanisms.traces.interface import Losses, TraceNoise
from sfumato.mechanisms.traces.prior_shaped import FITTED_WARNING
from sfumato.mechanisms.traces.secret_limits import (
    class_called,
    from_runs,
    grid_words,
    kernel_words,
    labels_of,
    limit_words,
    longest_scale_s,
    loss_over_class,
    one_place_loss,
    runs,
)
from sfumato.priors.classes import DAY, PriorClass
from sfumato.priors.kernels import Kernel, kernel_from_dict
from sfumato.randomness import Random, randomness
from sfumato.secret import TIMES_ARE_PUBLIC, Secret

MOST_TIMES = 3000
CONVEX_TIMES, CONVEX_UNION = 400, 60
_GAP, _LARGE_GAP, _LARGE_UNION = 1e-2, 3e-2, 40  # a longer search would save less noise than it takes time
FLOOR_M2 = 1.0  # one metre of white noise at every point: keeps rank-deficient designs certain
_WIDTHS = (0.5, 1.0, 3.0, 10.0, math.inf)  # in length scales of the prior
_WHITE = (0.02, 0.1, 0.3, 0.6)
_ONE_PRIOR = (
    "Certified for exactly the kernel named under 'prior', or all of it (nugget included) times one factor above 1. "
    "Not for a larger sd at the same nugget, another length scale or kernel (secrets.loss_over_class says how much "
    "those can give away), nor for an unknown place stayed at (stay_loss)."
)
_OWN_TIMES = "Certified for this release's own times only: releasing more points of the same trace voids it."


@dataclass(frozen=True, slots=True, eq=False)
class DesignedKernel(Kernel):
    """A covariance known at given times only, in the shape the adversary's tools expect."""

    times_s: FloatArray
    matrix_m2: FloatArray

    def __call__(self, lags_s: npt.ArrayLike) -> FloatArray:
        raise InputError("Noise designed for chosen times is not a function of the lag.", "Use covariance(times_s).")

    @property
    def variance_m2(self) -> float:
        return float(np.mean(np.diag(self.matrix_m2)))

    def spectral_density(self, omega: npt.ArrayLike) -> FloatArray:
        raise InputError("Noise designed for chosen times has no spectrum.", "It is not stationary.")

    def covariance(self, times_s: npt.ArrayLike, other_times_s: npt.ArrayLike | None = None) -> FloatArray:
        """The covariance between any of its own times."""
        rows = self.places(times_s)
        columns = rows if other_times_s is None else self.places(other_times_s)
        return self.matrix_m2[np.ix_(rows, columns)]

    def places(self, times_s: npt.ArrayLike) -> IntArray:
        """Where these times are among its own."""
        wanted = np.asarray(times_s, dtype=np.float64)
        places = np.clip(np.searchsorted(self.times_s, wanted), 0, self.times_s.size - 1)
        if np.any(np.abs(self.times_s[places] - wanted) > 5e-4):
            raise InputError("The noise was designed for other times.", "Use the times of its own release.")
        return places.astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {"kernel": "designed", "times": int(self.times_s.size)}


@dataclass(frozen=True, slots=True, eq=False)
class SecretNoise(TraceNoise):
    """The noise of one release: ``design`` is its recipe, ``secrets`` index its distinct times in order."""

    prior: Kernel
    times_s: FloatArray
    secrets: tuple[IntArray, ...]
    radii: tuple[float, ...]  # each secret's radius relative to the release's
    design: Mapping[str, Any]
    fitted: bool = False
    redraws: int = 1
    checked_class: PriorClass = DAY  # not what is promised: what `loss_over_class` is about
    _built: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    name: ClassVar[str] = "secrets"

    def covariance_m2(self) -> FloatArray:
        """Γ at the distinct times, (n, n), rebuilt from the recipe once."""
        if "noise" not in self._built:
            self._built["noise"] = read_only(self._rebuilt())
        return self._built["noise"]

    def _rebuilt(self) -> FloatArray:
        n = self.times_s.size
        floor = FLOOR_M2 * np.eye(n)
        if self.design["kind"] == "factor":
            raw = np.frombuffer(base64.b64decode(self.design["factor_base64"]), dtype="<f8")
            factor = raw.reshape(n, -1)
            return np.asarray(factor @ factor.T + floor)
        return envelope_noise(
            self.times_s, self.prior, self.secrets, float(self.design["size_m"]), self.design["width_s"],
            float(self.design["white_share"]),
        ) + floor  # fmt: skip

    @property
    def noise_m(self) -> float:
        return math.sqrt(float(np.mean(np.diag(self.covariance_m2()))))

    def kernel(self) -> DesignedKernel:
        """The noise as the adversary's tools take it."""
        return DesignedKernel(self.times_s, self.covariance_m2())

    def law(self) -> dict[str, Any]:
        return {"kernel": "designed", "times": int(self.times_s.size), "rebuilt_from": "parameters"}

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "noise_m": self.noise_m,
            "redraws": self.redraws,
            "prior": self.prior.to_dict(),
            "fitted": self.fitted,
            "times_ms": [round(t * 1000) for t in self.times_s.tolist()],
            "secrets": [runs(s) for s in self.secrets],
            "relative_radii": list(self.radii),
            "design": dict(self.design),
            "checked_class": self.checked_class.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SecretNoise:
        """What :meth:`parameters` described."""
        return cls(
            kernel_from_dict(values["prior"]),
            read_only(np.asarray(values["times_ms"], dtype=np.float64) / 1000.0),
            tuple(from_runs(runs) for runs in values["secrets"]),
            tuple(float(r) for r in values["relative_radii"]),
            dict(values["design"]),
            bool(values["fitted"]),
            int(values["redraws"]),
            PriorClass.from_dict(values["checked_class"]),
        )

    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        times, back = distinct(times_s)
        covariance = self.kernel().covariance(times)
        root = np.linalg.cholesky(covariance)  # positive definite: the floor is in it
        return np.asarray((root @ randomness(rng).normals((times.size, 2)))[back])

    def secret_losses(self) -> FloatArray:
        """|S|·λ_max(J_S)·(its radius/the release's)² of every secret: μ² over the squared radius."""
        prior = self.prior.covariance(self.times_s)
        return weighted_losses(prior, self.covariance_m2(), self.secrets, self.radii)

    def stay_loss(self) -> float:
        """The loss if all protected points are one unknown place, and no other point is there."""
        return self.redraws * one_place_loss(self.covariance_m2(), self.secrets, self.radii)

    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        for times in times_s:
            self.kernel().places(distinct(times)[0])  # refuses other times
        loss = self.redraws * float(np.max(self.secret_losses()))
        return Losses(
            worst_loss=None,
            stay_loss=self.stay_loss(),
            loss_at_times=loss,
            floor_loss=1.0 / self.noise_m**2,
            basis=loss,
            basis_name="loss_at_times",
            warnings=(
                *(() if self.every_point() else (TIMES_ARE_PUBLIC,)),
                _OWN_TIMES,
                _ONE_PRIOR,
                *((FITTED_WARNING,) if self.fitted else ()),
            ),
        )  # fmt: skip

    def every_point(self) -> bool:
        """Whether no point is left unprotected."""
        return int(np.unique(np.concatenate(self.secrets)).size) == self.times_s.size

    def statement(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """(notion, assumes, covers) of its guarantee, in words."""
        basic = sum(len(s) == 1 for s in self.secrets)
        return (
            "conditional inferential privacy (one Gaussian prior, chosen secrets)",
            (
                "the path moves like exactly the kernel under 'prior', or all of it (nugget included) times one factor "
                "above 1, which only lowers the loss; any other kernel, length scale or share of the nugget is outside",
            ),
            (
                f"{basic} moment(s) each on its own and {len(self.secrets) - basic} group(s) of moments together, "
                "listed under 'secrets'",
                *(("each secret at its own radius, secrets.own_radii_m",) if any(r != 1.0 for r in self.radii) else ()),
                "this release at its own times only",
            ),
        )

    def block(self, radius_m: float) -> dict[str, Any]:
        """The certificate's ``secrets`` block, all of it from the mechanism, so that verification writes it again.

        ``own_radii_m`` where a secret's radius is not the release's; ``limits`` says what the same release allows
        adversaries that the promise does not speak about.
        """
        covered = np.unique(np.concatenate(self.secrets))
        own = [r * radius_m for r in self.radii]
        noise = self.covariance_m2()
        over = self.redraws * loss_over_class(self.times_s, noise, self.secrets, self.radii, self.checked_class)
        stay_odds = odds_at(mu_of(max(self.stay_loss(), self.redraws * float(np.max(self.secret_losses()))), radius_m))
        over_odds = odds_at(mu_of(over, radius_m))
        return {
            "checked_class": class_called(self.checked_class),
            "loss_over_class": over,
            "odds_99_over_class": over_odds if math.isfinite(over_odds) else None,
            "loss_over_class_grid": grid_words(self.times_s.size),
            "limits": self._limits(stay_odds, over_odds),
            "own_radii_m": own if any(r != 1.0 for r in self.radii) else None,
            "count": len(self.secrets),
            "compound": sum(len(s) > 1 for s in self.secrets),
            "points_protected": int(covered.size),
            "points": int(self.times_s.size),
            "labels": labels_of(self.secrets)[:100],
            "statement": "Every point is protected." if self.every_point() else TIMES_ARE_PUBLIC,
        }

    def _limits(self, stay_odds: float, over_odds: float) -> str:
        groups = "; for groups of points together without limit" if any(len(s) > 1 for s in self.secrets) else ""
        elsewhere = "" if self.every_point() else " A place where you also were at unprotected points is not hidden."
        return (
            f"This holds for one way of moving only ({kernel_words(self.prior)}) and at these times only. It does not "
            "cover a place you stay at: if all protected points are one unknown place, odds can reach "
            f"{limit_words(stay_odds)} here.{elsewhere} Under other ways of moving (class "
            f"{class_called(self.checked_class)}) odds at a protected point can reach {limit_words(over_odds)}{groups}."
        )


def weighted_losses(
    prior: FloatArray, noise: FloatArray, secrets: Sequence[IntArray], radii: Sequence[float]
) -> FloatArray:
    """|S|·λ_max(J_S)·radius² of every secret."""
    sizes = np.array([len(s) for s in secrets], dtype=np.float64)
    return np.asarray(losses_of([prior], noise, secrets) * sizes * np.asarray(radii) ** 2)


def secret_noise(
    times_s: FloatArray, secrets: Sequence[Secret], prior: Kernel, target: Target, *, fitted: bool, redraws: int = 1,
    checked_class: PriorClass = DAY,
) -> SecretNoise:  # fmt: skip
    """The least noise found that keeps ``target`` for every secret of a trace with these (all) times.

    ``checked_class`` is not promised anything: it is what ``loss_over_class`` of the certificate is computed for.
    """
    times, back = distinct(times_s)
    if times.size > MOST_TIMES:
        raise InputError(
            f"The trace has {times.size} times; noise for chosen secrets is designed for at most {MOST_TIMES}.",
            "Cut the trace, thin it, or protect every point (leave --secrets out).",
        )
    if any(s.target_loss is not None for s in secrets):
        raise InputError("A release takes odds or epsilon for its secrets, not target losses.", "Use their radius_m.")
    indices = tuple(read_only(np.unique(back[s.indices]), np.int64) for s in secrets)
    radii = tuple(float(s.radius_m or target.radius_m) / target.radius_m for s in secrets)
    covariance = prior.covariance(times)
    allowed = None if target.mu is None else (target.mu / target.radius_m) ** 2 / redraws * (1 - 1e-9)
    if times.size <= CONVEX_TIMES and np.unique(np.concatenate(indices)).size <= min(CONVEX_UNION, LARGEST_UNION):
        recipe = _by_convex(covariance, indices, radii, allowed, target)
    else:
        recipe = _by_envelope(times, prior, indices, radii, allowed, target)
    return SecretNoise(prior, read_only(times), indices, radii, recipe, fitted, redraws, checked_class)


def _by_convex(
    prior: FloatArray, secrets: tuple[IntArray, ...], radii: tuple[float, ...], allowed: float | None, target: Target
) -> dict[str, Any]:
    """The convex optimum against Σ + floor (the floor is part of what is released), to a gap of 1% (3% if large)."""
    gap = _GAP if np.unique(np.concatenate(secrets)).size <= _LARGE_UNION else _LARGE_GAP
    # Released: X + F z + floor. The floor only lowers every loss, so designing without it is safe.
    weights = [1.0 / (len(s) * r * r) for s, r in zip(secrets, radii, strict=True)]
    if allowed is None:
        assert target.noise_m is not None
        budget = len(prior) * max(target.noise_m**2 - FLOOR_M2, 1e-6)
        solved = least_loss(prior, secrets, budget=budget, targets=weights, gap=gap)
    else:
        solved = least_noise(prior, secrets, targets=[allowed * w for w in weights], gap=gap)
    noise = solved.value.noise_covariance
    values, vectors = np.linalg.eigh(noise)
    kept = values > 1e-12 * values[-1]
    factor = vectors[:, kept] * np.sqrt(values[kept])
    grown = factor
    if allowed is not None:  # rounding toward privacy, on the very factor that is stored
        for _ in range(60):
            found = weighted_losses(prior, grown @ grown.T + FLOOR_M2 * np.eye(len(prior)), secrets, radii)
            if float(np.max(found)) <= allowed:
                break
            grown = grown * 1.0005
        else:
            raise NotCertified("The design does not keep what was asked for.", "Ask for larger odds.")
    text = base64.b64encode(np.ascontiguousarray(grown, dtype="<f8").tobytes()).decode()
    return {"kind": "factor", "rank": int(grown.shape[1]), "factor_base64": text, "gap": solved.gap}


def _by_envelope(
    times_s: FloatArray, prior: Kernel, secrets: tuple[IntArray, ...], radii: tuple[float, ...],
    allowed: float | None, target: Target,
) -> dict[str, Any]:  # fmt: skip
    scale_s = longest_scale_s(prior)
    few, few_secrets, few_radii = _around_first_secret(times_s, secrets, radii)

    def worst(
        size_m: float, width_s: float | None, white: float, times: FloatArray = times_s,
        chosen: tuple[IntArray, ...] = secrets, their_radii: tuple[float, ...] = radii,
    ) -> float:  # fmt: skip
        noise = envelope_noise(times, prior, chosen, size_m, width_s, white) + FLOOR_M2 * np.eye(times.size)
        return float(np.max(weighted_losses(prior.covariance(times), noise, chosen, their_radii)))

    start = math.sqrt(1.0 / allowed) if allowed is not None else float(target.noise_m or 1.0)
    best: tuple[float, float | None, float] | None = None
    least = math.inf
    for width in _WIDTHS:
        width_s = None if math.isinf(width) else width * scale_s
        for white in _WHITE:
            # Loss falls about as 1/size², so loss x trace at one size ranks the candidates.
            trace = float(np.sum(envelope(times_s, secrets, width_s) ** 2))
            price = worst(start, width_s, white, few, few_secrets, few_radii) * trace
            if price < least:
                best, least = (start, width_s, white), price
    assert best is not None
    _, width_s, white = best
    if allowed is None:
        unit = float(np.mean(np.diag(envelope_noise(times_s, prior, secrets, 1.0, width_s, white))))
        size = math.sqrt(max(float(target.noise_m or 0.0) ** 2 - FLOOR_M2, 1e-6) / unit)
    else:
        size = _least_size(lambda s: worst(s, width_s, white), allowed, start)
    return {"kind": "envelope", "size_m": size, "width_s": width_s, "white_share": white, "gap": None}


def _around_first_secret(
    times_s: FloatArray, secrets: tuple[IntArray, ...], radii: tuple[float, ...]
) -> tuple[FloatArray, tuple[IntArray, ...], tuple[float, ...]]:
    """At most 400 consecutive times with the secrets wholly among them: enough to rank candidate shapes."""
    if times_s.size <= 400:
        return times_s, secrets, radii
    largest = max(secrets, key=len)
    first = int(np.clip(largest[0] - 100, 0, times_s.size - 400))
    stop = max(first + 400, int(largest[-1]) + 1)
    inside = [k for k, s in enumerate(secrets) if s[0] >= first and s[-1] < stop]
    return times_s[first:stop], tuple(secrets[k] - first for k in inside), tuple(radii[k] for k in inside)


def _least_size(worst: Callable[[float], float], allowed: float, start: float) -> float:
    """The least size (to 0.1%, in whole centimetres, rounded toward privacy) with worst(size) ≤ allowed."""
    size, loss = start, worst(start)
    for _ in range(60):
        guess = math.ceil(size * math.sqrt(loss / allowed) * 1.0003 * 100) / 100
        if guess > 1e7:
            raise InputError("No amount of noise keeps what was asked for.", "Ask for larger odds.")
        if loss <= allowed and abs(guess / size - 1) < 1e-3:
            return size
        size, loss = guess, worst(guess)
    raise NotCertified("The size of the noise was not found.", "Ask for larger odds.")
