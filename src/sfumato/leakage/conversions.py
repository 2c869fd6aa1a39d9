"""From one privacy notion to another, with the tight constants; every result says when it holds.

Throughout ``smallest`` is the smallest prior probability p_min, and tau = 1 / (1 + e^eps). The statements are those of
[Jiang2021] after correction (see docs/errata.md); tightness was checked against vertex enumeration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray, finite
from sfumato.channel import checked_probabilities
from sfumato.errors import InputError
from sfumato.leakage.discrete import ChannelLike, epsilon_checked, ldp, lip, matrix_of


@dataclass(frozen=True, slots=True)
class Converted:
    """A leakage in nats, when the conversion holds, and whether some channel attains it."""

    nats: float
    holds: str
    tight: bool

    def __float__(self) -> float:
        return self.nats


def threshold(epsilon: float) -> float:
    """tau = 1 / (1 + e^eps), the prior probability below which a symbol makes everything harder."""
    return 1.0 / (1.0 + math.exp(epsilon_checked(epsilon)))


def lip_to_ldp(epsilon: float, smallest: float) -> Converted:
    """eps-LIP gives c-LDP, c = min{2 eps, ln((e^eps - 1 + p_min) / p_min)}; the second is smaller iff p_min >= tau.

    Exact supremum over all eps-LIP channels of three or more symbols. (The source's ``min{2 eps, ...}`` compares a
    logarithm with a ratio: erratum E2.)
    """
    eps, p = epsilon_checked(epsilon), _smallest(smallest)
    if p > 0.5:
        raise InputError(f"The smallest of several probabilities is {p}.", "It is at most 1/2.")
    value = min(2 * eps, _log_expm1_plus(eps, p) - math.log(p))
    return Converted(
        value,
        "for the prior the channel was designed for, x in its support; attained with three symbols or more "
        "(two symbols: largest_likelihood_ratio)",
        p <= 1 / 3,  # three symbols need a smallest probability of at most 1/3
    )


def binary_likelihood_ratio(p: float, epsilon: float) -> float:
    """F(p): the largest Q(y | 1) / Q(y | 0) of an eps-LIP channel on two symbols with P(X = 1) = p."""
    if not 0 < p < 1:
        raise InputError(f"p is {p}.", "A binary prior lies strictly between 0 and 1.")
    e = math.exp(epsilon_checked(epsilon))
    return (e - 1 + p) / p if p >= 1 / (1 + e) else e * (1 - p) / (1 - p * e)


def largest_likelihood_ratio(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """ln of the exact supremum of Q(y | x') / Q(y | x) over every eps-LIP channel for this prior.

    Three symbols or more: :func:`lip_to_ldp`. Two symbols: ln max(F(p0), F(p1)), strictly smaller below tau.
    """
    p = _support(prior)
    if p.size == 1:
        return Converted(0.0, "a single symbol has nothing to hide", True)
    if p.size == 2:
        value = math.log(
            max(binary_likelihood_ratio(float(p[0]), epsilon), binary_likelihood_ratio(float(p[1]), epsilon))
        )
        return Converted(value, "two symbols, this prior", True)
    return lip_to_ldp(epsilon, float(p.min()))


def ldp_to_lip(epsilon: float, smallest: float) -> Converted:
    """eps-LDP gives ln(p_min + e^eps (1 - p_min))-LIP."""
    eps, p = epsilon_checked(epsilon), _smallest(smallest)
    return Converted(
        math.log(p + math.exp(eps) * (1 - p)), "for any prior whose smallest probability is at least p_min", True
    )


def ldp_budget_for_lip(epsilon: float, smallest: float) -> Converted:
    """The eps_LDP >= eps whose every channel is eps-LIP: ln((e^eps - p_min) / (1 - p_min))."""
    eps, p = epsilon_checked(epsilon), _smallest(smallest)
    return Converted(
        math.log((math.exp(eps) - p) / (1 - p)), "for any prior whose smallest probability is at least p_min", True
    )


def bounded_lip_to_ldp(epsilon: float, largest_smallest: float) -> Converted:
    """eps-LIP for every prior of a set gives min{2 eps, ln((e^eps - 1 + Q) / Q)}-LDP, Q the largest p_min in the set.

    Take Q over the convex hull (``PriorSet.max_min_prob``); a value over the vertices alone is valid but looser (E3).
    """
    nats = 2 * epsilon_checked(epsilon) if largest_smallest == 0 else lip_to_ldp(epsilon, largest_smallest).nats
    return Converted(
        nats,
        "the channel is eps-LIP at every prior of the set (all x, all y)",
        False,
    )


def lip_to_identifiability(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """eps-LIP gives (c(eps, p_min) + D_inf)-differential identifiability, D_inf = ln(p_max / p_min)."""
    p = _support(prior)
    spread = math.log(float(p.max() / p.min()))
    return Converted(largest_likelihood_ratio(epsilon, prior).nats + spread, "this prior, x in its support", False)


def identifiability_to_lip(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """eps-DI gives ln max{p_max (1 + (n-1) e^eps), 1 / (p_min (1 + (n-1) e^-eps))}-LIP; eps < D_inf is impossible."""
    eps, p = epsilon_checked(epsilon), _support(prior)
    spread = math.log(float(p.max() / p.min()))
    if eps < spread:
        raise InputError(
            f"No channel has differential identifiability {eps:g} here: even a constant one has {spread:g}.",
            "Ask for at least ln(p_max / p_min).",
        )
    others = p.size - 1
    value = max(math.log(p.max() * (1 + others * math.exp(eps))), -math.log(p.min() * (1 + others * math.exp(-eps))))
    return Converted(value, "this prior, eps at least ln(p_max / p_min)", eps > spread)


def lip_to_mutual_information(up: float, low: float | None = None) -> Converted:
    """The largest I(X; Y) of an (up, low)-LIP channel; eps tanh(eps / 2) when both sides are eps.

    ``[(1 - e^-l) e^u u - (e^u - 1) e^-l l] / (e^u - e^-l)``: the two-point lift is extremal.
    """
    u = epsilon_checked(up)
    l = u if low is None else epsilon_checked(low, "low")
    value = (-math.expm1(-l) * math.exp(u) * u - math.expm1(u) * math.exp(-l) * l) / (math.exp(u) - math.exp(-l))
    return Converted(value, "the prior for which the channel has these leakages", True)


def geo_to_lip(epsilon_per_m: float, prior: npt.ArrayLike, distances_m: npt.ArrayLike) -> Converted:
    """g-geo-indistinguishability gives max_x ln sum_x' p_x' e^(g d(x, x'))-LIP."""
    g = epsilon_checked(epsilon_per_m, "epsilon_per_m")
    p = checked_probabilities(prior)
    d = _distances(distances_m, p.size)
    exponents = g * d[p > 0]
    top = exponents.max(axis=1, keepdims=True)
    value = float((top[:, 0] + np.log((p * np.exp(exponents - top)).sum(axis=1))).max())
    return Converted(value, "this prior; the channel is g-geo-indistinguishable for these distances", False)


def lip_to_geo(epsilon: float, prior: npt.ArrayLike, distances_m: npt.ArrayLike) -> Converted:
    """eps-LIP gives only c(eps, p_min) / d_min per metre: LIP has no notion of distance.

    About symbols of prior probability 0 it says nothing at all: their rows may be anything, so with one of them (and
    another symbol to tell it from) no finite epsilon per metre follows.
    """
    p = checked_probabilities(prior)
    d = _distances(distances_m, p.size)
    if p.size == 1:
        return Converted(0.0, "a single symbol has nothing to hide", True)
    apart = d[~np.eye(d.shape[0], dtype=bool)]
    if apart.min() <= 0:
        raise InputError("Two symbols share a place.", "Merge symbols at the same place first.")
    if np.any(p == 0):
        return Converted(
            math.inf, "never: some symbols have prior probability 0, and nothing is promised for them", True
        )
    value = largest_likelihood_ratio(epsilon, p).nats / float(apart.min())
    return Converted(value, "this prior; distances between different symbols", False)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What a channel designed for one prior still promises under another, in nats."""

    overhead_tv: float
    overhead_ratio: float
    cap: float
    bound: float
    holds: str


def mismatch_overhead(designed_for: npt.ArrayLike, truth: npt.ArrayLike) -> tuple[float, float]:
    """(ln(1 + TV / min(p1_min, p2_min)), max |ln p1 / p2|): the second is never larger. Needs equal supports."""
    p1, p2 = checked_probabilities(designed_for), checked_probabilities(truth)
    if p1.size != p2.size or not np.array_equal(p1 > 0, p2 > 0):
        raise InputError(
            "The two priors do not have the same support, so no overhead bounds the difference.",
            "Floor both priors, or use the LDP leakage of the channel over all rows.",
        )
    inside = p1 > 0
    p1, p2 = p1[inside], p2[inside]
    variation = 0.5 * float(np.abs(p1 - p2).sum())
    return math.log1p(variation / float(min(p1.min(), p2.min()))), float(np.abs(np.log(p1 / p2)).max())


def prior_free_cap(channel: ChannelLike, designed_for: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """ln(p2_min + e^c (1 - p2_min)), c = min(LDP leakage, c(eps, p1_min)), for supp(p2) inside supp(p1).

    Outside that support only the LDP leakage of the channel over all rows is valid, and that is what is returned.
    """
    q = matrix_of(channel)
    p1, p2 = checked_probabilities(designed_for, q.shape[0]), checked_probabilities(truth, q.shape[0])
    if np.any((p2 > 0) & (p1 == 0)):
        return ldp(q)
    c = ldp(q, rows=p1 > 0)
    leakage = lip(q, p1).max
    if 0 < leakage < 700:
        c = min(c, largest_likelihood_ratio(leakage, p1).nats)
    smallest = float(p2[p2 > 0].min())
    if not math.isfinite(c):
        return math.inf
    return c + math.log(smallest * math.exp(-c) + (1 - smallest))


def mismatch(channel: ChannelLike, designed_for: npt.ArrayLike, truth: npt.ArrayLike) -> Mismatch:
    """The proved bound on the LIP leakage under ``truth`` of a channel designed for ``designed_for``."""
    cap = prior_free_cap(channel, designed_for, truth)
    leakage = lip(channel, designed_for).max
    p1, p2 = checked_probabilities(designed_for), checked_probabilities(truth)
    if not np.array_equal(p1 > 0, p2 > 0):
        inside = not np.any((p2 > 0) & (p1 == 0))
        words = "support of the truth inside that of the design: prior-free cap" if inside else "LDP over all rows only"
        return Mismatch(math.inf, math.inf, cap, cap, words)
    tv, ratio = mismatch_overhead(p1, p2)
    return Mismatch(tv, ratio, cap, min(leakage + ratio, cap), "equal supports")


def largest_useful_variation(epsilon: float, smallest_1: float, smallest_2: float) -> float:
    """Corollary 6 with logarithms: eps + overhead <= c(eps, p1_min) iff TV <= this (the source's form is E15).

    ``min(p1, p2) * min{e^eps - 1, (e^eps - 1)(1 - p1) / (p1 e^eps)}``.
    """
    e = math.exp(epsilon_checked(epsilon))
    p1, p2 = _smallest(smallest_1), _smallest(smallest_2)
    return min(p1, p2) * min(e - 1, (e - 1) * (1 - p1) / (p1 * e))


def _log_expm1_plus(eps: float, p: float) -> float:
    return math.log(math.expm1(eps) + p)


def _distances(distances_m: npt.ArrayLike, count: int) -> FloatArray:
    d: FloatArray = finite(distances_m, "The distances", dimensions=2)
    if d.shape != (count, count) or d.min(initial=0.0) < 0:
        raise InputError(
            f"The distances have shape {d.shape} for {count} symbols, or are negative.", "Give one per pair."
        )
    return d


def _smallest(p: float) -> float:
    if not 0 < p < 1:
        raise InputError(f"The smallest prior probability is {p}.", "It lies strictly between 0 and 1.")
    return float(p)


def _support(prior: npt.ArrayLike) -> FloatArray:
    p = checked_probabilities(prior)
    out: FloatArray = p[p > 0]
    return out
