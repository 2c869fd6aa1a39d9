"""From one privacy notion to another, with the tight constants; every result says when it holds.

Throughout ``smallest`` is the smallest prior probability p_min, and tau = 1 / (1 + e^eps). The statements are those of
[Jiang2021] (E1 and E2 are typos, E15 is corrected: docs/errata.md); tightness was checked against vertex enumeration.

Each formula is written so that nothing cancels at small epsilon (log1p, expm1), and rounded once in the direction of
privacy: a leakage up, a budget down (:mod:`.rounding`). With u = 2^-53, log1p(a expm1(eps)) is within 4 units of the
last place: expm1 within 1, the product within 1, and log1p (whose condition number is at most 1) within 1 more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, inside_one
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import UNIT, rounded_down, rounded_up
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.discrete import ChannelLike, epsilon_checked, ldp, lip, matrix_of
from sfumato.channels.priors.excess import excess_of_log
from sfumato.channels.priors.prior_sets import PriorSet

_LEAST = "The smallest prior probability"


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

    Exact supremum over all eps-LIP channels of three or more symbols. (The proof of Theorem 2 prints 2 eps
    where e^(2 eps) is meant: erratum E2.)
    """
    eps, p = epsilon_checked(epsilon), inside_one(smallest, _LEAST)
    if p > 0.5:
        raise InputError(f"The smallest of several probabilities is {p}.", "It is at most 1/2.")
    return Converted(
        min(2 * eps, rounded_up(math.log1p(math.expm1(eps) / p))),
        "for the prior the channel was designed for, x in its support; attained with three symbols or more "
        "(two symbols: largest_likelihood_ratio)",
        p <= 1 / 3,  # three symbols need a smallest probability of at most 1/3
    )


def binary_likelihood_ratio(p: float, epsilon: float) -> float:
    """F(p): the largest Q(y | 1) / Q(y | 0) of an eps-LIP channel on two symbols with P(X = 1) = p, rounded up."""
    return rounded_up(1 + binary_excess(p, epsilon))


def binary_excess(p: float, epsilon: float) -> float:
    """F(p) - 1 = min{(e^eps - 1) / p, (e^eps - 1) / (1 - p e^eps)}, rounded up; the second where p e^eps < 1.

    The two meet at tau. 1 - p e^eps cancels just below it, by a factor of up to e^eps, so it is taken in decimals.
    """
    inside_one(p, "p")
    eps = epsilon_checked(epsilon)
    above = math.expm1(eps)
    value = above / p
    with localcontext(prec=80):
        left = float(1 - Decimal(p) * Decimal(eps).exp())
    return rounded_up(min(value, above / left) if left > 0 else value)


def largest_likelihood_ratio(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """ln of the exact supremum of Q(y | x') / Q(y | x) over every eps-LIP channel for this prior.

    Three symbols or more: :func:`lip_to_ldp`. Two symbols: ln max(F(p0), F(p1)), strictly smaller below tau.
    """
    p = _support(prior)
    if p.size == 1:
        return Converted(0.0, "a single symbol has nothing to hide", True)
    if p.size == 2:
        more = max(binary_excess(float(p[0]), epsilon), binary_excess(float(p[1]), epsilon))
        return Converted(rounded_up(math.log1p(more)), "two symbols, this prior", True)
    return lip_to_ldp(epsilon, float(p.min()))


def ldp_to_lip(epsilon: float, smallest: float) -> Converted:
    """eps-LDP gives ln(p_min + e^eps (1 - p_min))-LIP."""
    eps, p = epsilon_checked(epsilon), inside_one(smallest, _LEAST)
    return Converted(soften(eps, p), "for any prior whose smallest probability is at least p_min", True)


def ldp_budget_for_lip(epsilon: float, smallest: float) -> Converted:
    """The eps_LDP >= eps whose every channel is eps-LIP: ln((e^eps - p_min) / (1 - p_min))."""
    eps, p = epsilon_checked(epsilon), inside_one(smallest, _LEAST)
    value = rounded_down(math.log1p(math.expm1(eps) / (1 - p)))
    return Converted(value, "for any prior whose smallest probability is at least p_min", True)


def bounded_lip_to_ldp(epsilon: float, priors: PriorSet) -> Converted:
    """eps-LIP for every prior of a set gives min{2 eps, ln((e^eps - 1 + Q) / Q)}-LDP, Q the largest p_min in the set.

    Q is taken over the convex hull; over the vertices alone it would be valid but looser.
    """
    largest = priors.max_min_prob()
    nats = 2 * epsilon_checked(epsilon) if largest == 0 else lip_to_ldp(epsilon, largest).nats
    return Converted(nats, "the channel is eps-LIP at every prior of the set (all x, all y)", False)


def lip_to_identifiability(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """eps-LIP gives (c(eps, p_min) + D_inf)-differential identifiability, D_inf = ln(p_max / p_min)."""
    value = largest_likelihood_ratio(epsilon, prior).nats + spread(prior)
    return Converted(rounded_up(value), "this prior, x in its support", False)


def identifiability_to_lip(epsilon: float, prior: npt.ArrayLike) -> Converted:
    """eps-DI gives ln max{p_max (1 + (n-1) e^eps), 1 / (p_min (1 + (n-1) e^-eps))}-LIP; eps < D_inf is impossible."""
    eps, p = epsilon_checked(epsilon), _support(prior)
    least_possible = spread(p)
    if eps < least_possible * (1 - 1e-12):
        raise InputError(
            f"No channel has differential identifiability {eps:g} here: even a constant one has {least_possible:g}.",
            "Ask for at least ln(p_max / p_min).",
        )
    # p (1 + (n-1) e^x) = 1 + (n p - 1) + p (n-1) (e^x - 1), the first bracket exact; the prior's own sum is 1 to n u.
    others, n = p.size - 1, p.size
    top, least = float(p.max()), float(p.min())
    more = float(Fraction(top) * n - 1) + top * others * math.expm1(eps)
    less = float(Fraction(least) * n - 1) + least * others * math.expm1(-eps)
    down = -math.log1p(less) if less > -0.5 else -math.log(least) - math.log1p(others * math.exp(-eps))
    value = rounded_up(max(math.log1p(more), down)) + 4 * (n + 4) * UNIT
    return Converted(value, "this prior, eps at least ln(p_max / p_min)", eps > least_possible)


def lip_to_mutual_information(up: float, low: float | None = None) -> Converted:
    """The largest I(X; Y) of an (up, low)-LIP channel; eps tanh(eps / 2) when both sides are eps.

    ``[(1 - e^-l) e^u u - (e^u - 1) e^-l l] / (e^u - e^-l)``: the two-point lift is extremal.
    """
    u = epsilon_checked(up)
    l = u if low is None else epsilon_checked(low, "low")
    # With r = 1 + v the mean of v is 0, so the information is that of (1 + v) ln(1 + v) - v: no term is negative.
    high, deep = math.expm1(u), math.expm1(-l)
    share = -deep / (high - deep)
    value = share * excess_of_log(u) + (1 - share) * excess_of_log(-l)
    return Converted(rounded_up(value, 64), "the prior for which the channel has these leakages", True)


def geo_to_lip(epsilon_per_m: float, prior: npt.ArrayLike, distances_m: npt.ArrayLike) -> Converted:
    """g-geo-indistinguishability gives max_x ln sum_x' p_x' e^(g d(x, x'))-LIP."""
    g = epsilon_checked(epsilon_per_m, "epsilon_per_m")
    p = checked_probabilities(prior)
    d = _distances(distances_m, p.size)
    with np.errstate(over="ignore"):
        exponents = g * d[np.ix_(p > 0, p > 0)]
    p = p[p > 0]
    top = exponents.max(axis=1)
    if not np.all(np.isfinite(top)):
        return Converted(math.inf, "never: the distances are beyond the range of numbers", False)
    near = top < 1
    value = 0.0
    if near.any():
        value = float(np.log1p((p * np.expm1(exponents[near])).sum(axis=1)).max())
    if not near.all():
        far, most = exponents[~near], top[~near]
        value = max(value, float((most + np.log((p * np.exp(far - most[:, None])).sum(axis=1))).max()))
    # The sum of n positive terms, the rounding of g d in the exponent, and that of the prior's own sum.
    value = rounded_up(value, 16 + p.size + float(top.max())) + (4 * p.size * UNIT if value > 1 else 0.0)
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
    value = rounded_up(largest_likelihood_ratio(epsilon, p).nats / float(apart.min()))
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
    variation = 0.5 * math.fsum(np.abs(p1 - p2).tolist())
    far = np.abs(p1 - p2) > 0.5 * p2
    # ln(p1/p2) = log1p((p1 - p2)/p2), whose difference is exact where the two are near.
    ratios = np.where(far, np.log(p1) - np.log(p2), np.log1p(np.where(far, 0.0, p1 - p2) / p2))
    smallest = float(min(p1.min(), p2.min()))
    return rounded_up(math.log1p(variation / smallest)), rounded_up(float(np.abs(ratios).max()))


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
    return soften(rounded_up(c, 64), smallest)


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
    return Mismatch(tv, ratio, cap, min(rounded_up(leakage + ratio), cap), "equal supports")


def largest_useful_variation(epsilon: float, smallest_1: float, smallest_2: float) -> float:
    """Corollary 6 with logarithms: eps + overhead <= c(eps, p1_min) iff TV <= this (the source's form is E15).

    ``min(p1, p2) * min{e^eps - 1, (e^eps - 1)(1 - p1) / (p1 e^eps)}``.
    """
    eps = epsilon_checked(epsilon)
    p1, p2 = inside_one(smallest_1, _LEAST), inside_one(smallest_2, _LEAST)
    return rounded_down(min(p1, p2) * min(math.expm1(eps), -math.expm1(-eps) * (1 - p1) / p1))


def soften(epsilon: float, smallest: float) -> float:
    """ln(p + e^eps (1 - p)) = log1p((1 - p)(e^eps - 1)), rounded up: what eps-LDP leaks under a prior of this p_min."""
    if not epsilon >= 0 or not 0 <= smallest <= 1:
        raise InputError(f"There is no leakage {epsilon} at p_min = {smallest}.", "Give eps >= 0 and p_min in 0 .. 1.")
    if epsilon == 0 or smallest == 1:
        return 0.0
    if epsilon < 1:
        return rounded_up(math.log1p((1 - smallest) * math.expm1(epsilon)))
    if math.isinf(epsilon):
        return math.inf
    return rounded_up(epsilon + math.log1p(-smallest * -math.expm1(-epsilon)), 16)


def spread(prior: npt.ArrayLike) -> float:
    """D_inf = ln(p_max / p_min) over the support, rounded up."""
    p = _support(prior)
    return rounded_up(math.log1p(float((p.max() - p.min()) / p.min())))


def _distances(distances_m: npt.ArrayLike, count: int) -> FloatArray:
    d: FloatArray = finite(distances_m, "The distances", dimensions=2)
    if d.shape != (count, count) or d.min(initial=0.0) < 0:
        raise InputError(
            f"The distances have shape {d.shape} for {count} symbols, or are negative.", "Give one per pair."
        )
    return d


def _support(prior: npt.ArrayLike) -> FloatArray:
    p = checked_probabilities(prior)
    out: FloatArray = p[p > 0]
    return out
