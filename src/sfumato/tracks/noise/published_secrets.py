"""The published noise for chosen times, on a real track: SDP_A for one secret, Multiple Secrets for several.

[Meehan2021, Sec. 4]. Its shape is computed once, then scaled to the least size at which the *exact* loss keeps the
wish; the published bound is not relied on. (Any multiple of a covariance is a covariance, and more noise never loses
more.) It needs more noise than ``secrets``, which is optimal: it is here as a baseline.

Sizes: one moment is a closed form, up to 3,000 times; a compound secret or several need a semidefinite program, up to
120 times and 60 secrets (minutes there), and the extra ``design``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.tracks.designs.published import multiple_secrets, sdp_a, sdp_a_basic
from sfumato.tracks.noise.chosen_secrets import SecretNoise
from sfumato.tracks.noise.secret_recipes import Recipe, SecretWish, factor_of

MOST_SOLVED_TIMES, MOST_SECRETS = 120, 60


@dataclass(frozen=True, slots=True, eq=False)
class PublishedNoise(SecretNoise):
    """SDP_A or Multiple Secrets, scaled until the exact loss keeps the wish."""

    name: ClassVar[str] = "published"
    summary: ClassVar[str] = "the published noise for chosen times (SDP_A, Multiple Secrets), certified by exact loss"

    @classmethod
    def recipe(cls, wish: SecretWish) -> Recipe:
        """The published shape at the least size that is allowed, or at the noise asked for."""
        prior = wish.prior.covariance(wish.times_s)
        factor = factor_of(_shape(prior, wish.secrets))
        factor = factor / np.sqrt(np.mean(np.sum(factor**2, axis=1)))  # one metre per point, root mean square
        size = math.sqrt(wish.drawn_m2) if wish.allowed is None else _least_size(prior, factor, wish, wish.allowed)
        return Recipe("factor", factor=read_only(factor * size))


def _shape(prior: FloatArray, secrets: tuple[IntArray, ...]) -> FloatArray:
    """The published covariance at a budget of the prior's own size; only its shape is used."""
    if len(secrets) == 1 and len(secrets[0]) == 1:
        return sdp_a_basic(prior, int(secrets[0][0]), budget=float(np.trace(prior))).noise_covariance
    if len(prior) > MOST_SOLVED_TIMES or len(secrets) > MOST_SECRETS:
        raise InputError(
            f"The published programs were asked for {len(prior)} times and {len(secrets)} secrets; they can do "
            f"{MOST_SOLVED_TIMES} and {MOST_SECRETS}.",
            "Cut or thin the track, name fewer secrets, or use --mechanism secrets, which is optimal and can do more.",
        )
    unit = prior / float(np.mean(np.diag(prior)))
    budget = 0.02 * len(prior)  # the size the paper works at
    if len(secrets) == 1:
        return sdp_a(unit, secrets[0], budget=budget).value.noise_covariance
    return multiple_secrets(unit, list(secrets), budget=budget).value.noise_covariance


def _least_size(prior: FloatArray, factor: FloatArray, wish: SecretWish, allowed: float) -> float:
    """The least size in metres (to .1 %) whose exact loss, with the floor, is at most ``allowed``."""

    def worst(size: float) -> float:
        scaled = size * factor
        return wish.worst(prior, scaled @ scaled.T)

    low, high = 0.0, 1.0
    while worst(high) > allowed:
        low, high = high, 2 * high
        if high > 1e7:
            raise NotCertified(
                "No size of the published noise keeps what was asked for.", "Use --mechanism secrets, or larger odds."
            )
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if worst(middle) <= allowed else (middle, high)
    return high
