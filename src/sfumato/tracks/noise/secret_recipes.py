"""How noise for chosen times is found: the convex optimum where the secrets are few, an envelope where they are many.

Γ = FFᵀ + floor·I, either the least noise that keeps every secret's loss at its target (`convex`, then F is stored), or,
where the secrets cover too much for that, the prior's own shape under an envelope around the secret times,
Γ = size²·[(1-φ)·DKD + φ·D²] + floor·I, with K the prior's correlation and D_ii = exp(-½(distance to a secret/width)²).
The envelope's recipe is stored and everything is recomputed from it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.tracks.designs.convex import LARGEST_UNION, least_loss, least_noise
from sfumato.tracks.designs.noise_design import losses_of
from sfumato.tracks.noise.interface import DesignTerms, Plain
from sfumato.tracks.noise.secret_limits import longest_scale_s
from sfumato.tracks.priors.kernels import Kernel

CONVEX_TIMES, CONVEX_UNION = 400, 60
_GAP, _LARGE_GAP, _LARGE_UNION = 1e-2, 3e-2, 40  # a longer search would save less noise than it takes time
FLOOR_M2 = 1.0  # one metre of white noise at every point: keeps rank-deficient designs certain
_WIDTHS = (0.5, 1.0, 3.0, 10.0, math.inf)  # in length scales of the prior
_WHITE = (0.02, 0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """What Γ is rebuilt from: a factor F (n, rank), or an envelope's size, width (None: everywhere) and white share."""

    kind: Literal["factor", "envelope"]
    factor: FloatArray | None = None
    size_m: float = 0.0
    width_s: float | None = None
    white_share: float = 0.0
    gap: float | None = None

    def covariance_m2(self, times_s: FloatArray, prior: Kernel, secrets: Sequence[IntArray]) -> FloatArray:
        """Γ at the distinct times, (n, n)."""
        floor = FLOOR_M2 * np.eye(times_s.size)
        if self.factor is not None:
            return np.asarray(self.factor @ self.factor.T + floor)
        shaped = envelope_noise(times_s, prior, secrets, self.size_m, self.width_s, self.white_share)
        return np.asarray(shaped + floor)

    def to_dict(self) -> Plain:
        """Plain JSON; the factor as the very bytes it is drawn with."""
        if self.factor is not None:
            text = base64.b64encode(np.ascontiguousarray(self.factor, dtype="<f8").tobytes()).decode()
            return {"kind": "factor", "rank": int(self.factor.shape[1]), "factor_base64": text, "gap": self.gap}
        return {
            "kind": "envelope",
            "size_m": self.size_m,
            "width_s": self.width_s,
            "white_share": self.white_share,
            "gap": self.gap,
        }

    @classmethod
    def from_dict(cls, values: DesignTerms, times: int) -> Recipe:
        """What :meth:`to_dict` wrote, for so many distinct times."""
        gap = None if values["gap"] is None else float(values["gap"])
        if values["kind"] == "factor":
            raw = np.frombuffer(base64.b64decode(values["factor_base64"]), dtype="<f8")
            factor = read_only(raw.reshape(times, -1))
            if factor.shape[1] != values["rank"]:
                raise InputError("The design's factor has another rank than it says.", "It was changed.")
            return cls("factor", factor=factor, gap=gap)
        if values["kind"] != "envelope":
            raise InputError(f"There is no design '{values['kind']}'.", "Use what to_dict() wrote.")
        width = None if values["width_s"] is None else float(values["width_s"])
        return cls("envelope", None, float(values["size_m"]), width, float(values["white_share"]), gap)


@dataclass(frozen=True, slots=True, eq=False)
class SecretWish:
    """What noise is sought for: secrets (indices of distinct times) with their radii relative to the release's.

    ``allowed`` is the most that the weighted losses may be; where it is None, ``noise_m`` fixes the noise instead.
    """

    times_s: FloatArray
    prior: Kernel
    secrets: tuple[IntArray, ...]
    radii: tuple[float, ...]
    allowed: float | None
    noise_m: float | None

    @property
    def protected(self) -> int:
        """How many times the secrets cover."""
        return int(np.unique(np.concatenate(self.secrets)).size)

    @property
    def drawn_m2(self) -> float:
        """The variance per point that is left for the design where the noise is fixed: without the floor."""
        return max(float(self.noise_m or 0.0) ** 2 - FLOOR_M2, 1e-6)

    def worst(self, prior_m2: FloatArray, noise_m2: FloatArray) -> float:
        """The largest weighted loss of noise with the floor added."""
        return float(
            np.max(weighted_losses(prior_m2, noise_m2 + FLOOR_M2 * np.eye(len(prior_m2)), self.secrets, self.radii))
        )


def least_recipe(wish: SecretWish) -> Recipe:
    """The least noise found whose weighted losses are allowed (or the best of the noise that was fixed)."""
    if wish.times_s.size <= CONVEX_TIMES and wish.protected <= min(CONVEX_UNION, LARGEST_UNION):
        return _by_convex(wish)
    return _by_envelope(wish)


def factor_of(covariance_m2: FloatArray) -> FloatArray:
    """F (n, rank) with FFᵀ the covariance; what is a trillionth of its largest part is left out."""
    values, vectors = np.linalg.eigh(covariance_m2)
    kept = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def weighted_losses(
    prior: FloatArray, noise: FloatArray, secrets: Sequence[IntArray], radii: Sequence[float]
) -> FloatArray:
    """|S|·λ_max(J_S)·radius² of every secret."""
    sizes = np.array([len(s) for s in secrets], dtype=np.float64)
    return np.asarray(losses_of([prior], noise, secrets) * sizes * np.asarray(radii) ** 2)


def _by_convex(wish: SecretWish) -> Recipe:
    """The convex optimum against Σ + floor (the floor is part of what is released), to a gap of 1% (3% if large)."""
    prior, secrets, allowed = wish.prior.covariance(wish.times_s), wish.secrets, wish.allowed
    gap = _GAP if wish.protected <= _LARGE_UNION else _LARGE_GAP
    # Released: X + F z + floor. The floor only lowers every loss, so designing without it is safe.
    weights = [1.0 / (len(s) * r * r) for s, r in zip(secrets, wish.radii, strict=True)]
    if allowed is None:
        solved = least_loss(prior, secrets, budget=len(prior) * wish.drawn_m2, targets=weights, gap=gap)
    else:
        solved = least_noise(prior, secrets, targets=[allowed * w for w in weights], gap=gap)
    factor = factor_of(solved.value.noise_covariance)
    if allowed is not None:  # rounding toward privacy, on the very factor that is stored
        for _ in range(60):
            if wish.worst(prior, factor @ factor.T) <= allowed:
                break
            factor = factor * 1.0005
        else:
            raise NotCertified("The design does not keep what was asked for.", "Ask for larger odds.")
    return Recipe("factor", factor=read_only(factor), gap=solved.gap)


def _by_envelope(wish: SecretWish) -> Recipe:
    scale_s = longest_scale_s(wish.prior)
    some = _around_first_secret(wish)

    def worst(size_m: float, width_s: float | None, white: float, of: SecretWish = wish) -> float:
        noise = envelope_noise(of.times_s, of.prior, of.secrets, size_m, width_s, white)
        return of.worst(of.prior.covariance(of.times_s), noise)

    start = math.sqrt(1.0 / wish.allowed) if wish.allowed is not None else float(wish.noise_m or 1.0)
    least, width_s, white = math.inf, None, 0.0
    for width in _WIDTHS:
        tried_s = None if math.isinf(width) else width * scale_s
        trace = float(np.sum(envelope(wish.times_s, wish.secrets, tried_s) ** 2))
        for share in _WHITE:
            # Loss falls about as 1/size², so loss x trace at one size ranks the candidates.
            price = worst(start, tried_s, share, some) * trace
            if price < least:
                least, width_s, white = price, tried_s, share
    if wish.allowed is None:
        unit = float(np.mean(np.diag(envelope_noise(wish.times_s, wish.prior, wish.secrets, 1.0, width_s, white))))
        size = math.sqrt(wish.drawn_m2 / unit)
    else:
        size = _least_size(lambda s: worst(s, width_s, white), wish.allowed, start)
    return Recipe("envelope", size_m=size, width_s=width_s, white_share=white)


def _around_first_secret(wish: SecretWish) -> SecretWish:
    """At most 400 consecutive times with the secrets wholly among them: enough to rank candidate shapes."""
    if wish.times_s.size <= 400:
        return wish
    largest = max(wish.secrets, key=len)
    first = int(np.clip(largest[0] - 100, 0, wish.times_s.size - 400))
    stop = max(first + 400, int(largest[-1]) + 1)
    inside = [k for k, s in enumerate(wish.secrets) if s[0] >= first and s[-1] < stop]
    secrets, radii = tuple(wish.secrets[k] - first for k in inside), tuple(wish.radii[k] for k in inside)
    return replace(wish, times_s=wish.times_s[first:stop], secrets=secrets, radii=radii)


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


def envelope_noise(
    times_s: FloatArray,
    prior: Kernel,
    secrets: Sequence[IntArray],
    size_m: float,
    width_s: float | None,
    white_share: float,
) -> FloatArray:
    """size²·[(1-φ)·DKD + φ·D²]; ``width_s`` None is no envelope."""
    reach = envelope(times_s, secrets, width_s)
    shape = (1 - white_share) * prior.covariance(times_s) / prior.variance_m2
    shape.flat[:: times_s.size + 1] += white_share
    shape *= size_m**2 * reach
    shape *= reach[:, None]
    return np.asarray(shape)


def envelope(times_s: FloatArray, secrets: Sequence[IntArray], width_s: float | None) -> FloatArray:
    """exp(-½(distance to the nearest secret time/width)²), 1 everywhere for no width."""
    if width_s is None:
        return np.ones(times_s.size)
    chosen = times_s[np.unique(np.concatenate(secrets))]
    after = np.searchsorted(chosen, times_s)
    left = np.abs(times_s - chosen[np.clip(after - 1, 0, chosen.size - 1)])
    right = np.abs(chosen[np.clip(after, 0, chosen.size - 1)] - times_s)
    return np.asarray(np.exp(-0.5 * (np.minimum(left, right) / width_s) ** 2))
