"""How noise for chosen times is found: the convex optimum where the secrets are few, an envelope where they are many.

Γ = FFᵀ + floor·I, either the least noise that keeps every secret's loss at its target (`convex`, then F is stored), or,
where the secrets cover too much for that, the prior's own shape under an envelope around the secret times,
Γ = size²·[(1-φ)·DKD + φ·D²] + floor·I, with K the prior's correlation and D_ii = exp(-½(distance to a secret/width)²).
The envelope's recipe is stored and everything is recomputed from it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.tracks.designs.convex import LARGEST_UNION, least_loss, least_noise
from sfumato.tracks.designs.envelope import envelope, envelope_noise
from sfumato.tracks.designs.noise_design import losses_of
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.noise.secret_limits import longest_scale_s
from sfumato.tracks.plan import Target
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

    def to_dict(self) -> Json:
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
    def from_dict(cls, values: Mapping[str, Any], times: int) -> Recipe:
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


def least_recipe(
    times_s: FloatArray,
    prior: Kernel,
    secrets: tuple[IntArray, ...],
    radii: tuple[float, ...],
    allowed: float | None,
    target: Target,
) -> Recipe:
    """The least noise found whose weighted losses stay within ``allowed`` (None: within the target's noise)."""
    if times_s.size <= CONVEX_TIMES and np.unique(np.concatenate(secrets)).size <= min(CONVEX_UNION, LARGEST_UNION):
        return _by_convex(prior.covariance(times_s), secrets, radii, allowed, target)
    return _by_envelope(times_s, prior, secrets, radii, allowed, target)


def weighted_losses(
    prior: FloatArray, noise: FloatArray, secrets: Sequence[IntArray], radii: Sequence[float]
) -> FloatArray:
    """|S|·λ_max(J_S)·radius² of every secret."""
    sizes = np.array([len(s) for s in secrets], dtype=np.float64)
    return np.asarray(losses_of([prior], noise, secrets) * sizes * np.asarray(radii) ** 2)


def _by_convex(
    prior: FloatArray, secrets: tuple[IntArray, ...], radii: tuple[float, ...], allowed: float | None, target: Target
) -> Recipe:
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
    return Recipe("factor", factor=read_only(grown), gap=solved.gap)


def _by_envelope(
    times_s: FloatArray,
    prior: Kernel,
    secrets: tuple[IntArray, ...],
    radii: tuple[float, ...],
    allowed: float | None,
    target: Target,
) -> Recipe:
    scale_s = longest_scale_s(prior)
    some = _around_first_secret(times_s, secrets, radii)

    def worst(size_m: float, width_s: float | None, white: float, *, few: bool = False) -> float:
        times, chosen, their_radii = some if few else (times_s, secrets, radii)
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
            price = worst(start, width_s, white, few=True) * trace
            if price < least:
                best, least = (start, width_s, white), price
    assert best is not None
    _, width_s, white = best
    if allowed is None:
        unit = float(np.mean(np.diag(envelope_noise(times_s, prior, secrets, 1.0, width_s, white))))
        size = math.sqrt(max(float(target.noise_m or 0.0) ** 2 - FLOOR_M2, 1e-6) / unit)
    else:
        size = _least_size(lambda s: worst(s, width_s, white), allowed, start)
    return Recipe("envelope", size_m=size, width_s=width_s, white_share=white)


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
