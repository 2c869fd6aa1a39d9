"""Several reports about the same symbol: what they tell together. Leakages of local information privacy do not add.

If the same output comes twice with its lower side tight, the pair leaks 2 eps + ln(1 + Var_p r) > 2 eps: adding is
refused, and so is any composition of (epsilon, delta)-LIP, for which no rule is known. What holds is Theorem 4 and
Corollary 5 of [Jiang2021] (typos: E4, E22), the exact product of given channels, and the exact worst case for a few
symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import compress, product

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.numbers.rounding import rounded_up
from sfumato.base.things.cell_prior import positive_prior
from sfumato.base.things.channel import checked_probabilities, checked_rows
from sfumato.channels.conversions.lip_constants import largest_likelihood_ratio, lip_to_ldp, soften
from sfumato.channels.measures.discrete import (
    MOST_OUTPUTS,
    ChannelLike,
    Leakage,
    epsilon_checked,
    lip,
    matrix_of,
    product_matrix,
)

MOST_SYMBOLS = 12


def together(channels: Sequence[ChannelLike], prior: npt.ArrayLike) -> Leakage:
    """The exact leakage of conditionally independent reports about the same symbol: that of the product channel."""
    return lip(product_matrix(channels), prior)


def composed_bound(epsilons: Sequence[float], prior: npt.ArrayLike) -> float:
    """Theorem 4: ln(p_min + e^(sum_k c_k) (1 - p_min)), c_k the largest likelihood ratio of an eps_k-LIP channel.

    Holds for conditionally independent reports about the same symbol, and also when channel k is chosen from the
    earlier reports, provided each is eps_k-LIP for the *original* prior. With two symbols c_k is the binary ratio.
    """
    p = checked_probabilities(prior)
    p = p[p > 0]
    total = sum(largest_likelihood_ratio(epsilon, p).nats for epsilon in epsilons)
    return soften(rounded_up(total, len(epsilons) + 1.0), float(p.min()))


def source_theorem_4(epsilons: Sequence[float], smallest: float) -> float:
    """Theorem 4 with c(eps, p_min) as printed, without the sharper ratio for two symbols."""
    total = sum(lip_to_ldp(epsilon, smallest).nats for epsilon in epsilons)
    return soften(rounded_up(total, len(epsilons) + 1.0), smallest)


def sequence_bound(epsilons: Sequence[float], smallest_each: Sequence[float], smallest_sequence: float) -> float:
    """Corollary 5 for one report about each X_k of a sequence: the same with the smallest *supported* sequence.

    ``smallest_sequence`` is the least probability of a sequence in the support; 0 is valid and gives the sum of c_k.
    """
    if len(epsilons) != len(smallest_each) or not epsilons:
        raise InputError("Give one smallest probability per report.", "They belong to X_1, X_2, ...")
    if not 0 <= smallest_sequence < 1:
        raise InputError(f"The smallest sequence probability is {smallest_sequence}.", "It lies in [0, 1).")
    total = sum(lip_to_ldp(e, p).nats for e, p in zip(epsilons, smallest_each, strict=True))
    return soften(rounded_up(total, len(epsilons) + 1.0), smallest_sequence)


def sequence_leakage(
    channels: Sequence[ChannelLike], first: npt.ArrayLike, transition: npt.ArrayLike
) -> tuple[float, float]:
    """(exact leakage, smallest supported sequence probability) for a Markov chain, one report per step.

    Enumerates symbol and output sequences: short chains of few symbols only. The lift of a sequence is
    prod_k Q_k(y_k | x_k) / P(y_1, ..., y_n).
    """
    p0 = checked_probabilities(first)
    moves = checked_rows(transition)
    matrices = [matrix_of(channel) for channel in channels]
    n = p0.size
    if not matrices:
        raise InputError("There are no channels: nothing was reported.", "Give one channel per step.")
    if moves.shape != (n, n) or any(matrix.shape[0] != n for matrix in matrices):
        raise InputError("The chain and the channels do not have the same symbols.", "They must match.")
    size = (n * max(matrix.shape[1] for matrix in matrices)) ** len(matrices)
    if size > MOST_OUTPUTS:
        raise InputError("The chain is too long to enumerate.", "Use sequence_bound.")
    weight, joint = p0, matrices[0]
    last = np.arange(n)
    for matrix in matrices[1:]:
        weight = (weight[:, None] * moves[last]).ravel()
        joint = (joint[:, None, :, None] * matrix[None, :, None, :]).reshape(weight.size, -1)
        last = np.tile(np.arange(n), weight.size // n)
    leakage = lip(joint / joint.sum(axis=1, keepdims=True), weight / weight.sum())
    return leakage.max, float(weight[weight > 0].min())


def worst_together(epsilons: Sequence[float], prior: npt.ArrayLike, *, most_symbols: int = 6) -> float:
    """The supremum over *all* eps_k-LIP channels of the leakage of the joint report, rounded up by 2e-11 a report.

    A report multiplies the belief by a lift; lifts form the polytope V, and the composite leakage is linear-fractional
    in each factor, so its maximum is at a tuple of vertices. Tuples whose logarithms agree to 1e-11 are followed once,
    which the rounding up covers; the result is never above Theorem 4 (:func:`composed_bound`).
    """
    p = checked_probabilities(prior)
    if p.size > most_symbols or np.any(p == 0):
        raise InputError(f"{p.size} symbols are too many, or some have probability 0.", "Use composed_bound.")
    current = np.zeros((1, p.size))  # logarithms: a product of many lifts spans more than a double's exponents
    for epsilon in epsilons:
        vertices = np.log(lift_vertices(p, epsilon))
        if current.shape[0] * vertices.shape[0] > 3_000_000:
            raise InputError("There are too many tuples of vertices.", "Use composed_bound.")
        current = (current[:, None, :] + vertices[None, :, :]).reshape(-1, p.size)
        current -= current.max(axis=1, keepdims=True)
        _, first = np.unique(np.round(current, 11), axis=0, return_index=True)
        current = current[first]
    log_lifts = current - np.log(np.exp(current) @ p)[:, None]
    return min(float(np.abs(log_lifts).max()) + 2e-11 * len(epsilons), composed_bound(epsilons, p))


def lift_vertices(prior: npt.ArrayLike, epsilon: float, *, epsilon_low: float | None = None) -> FloatArray:
    """Vertices of {r : p.r = 1, e^-low <= r <= e^eps}: all but one coordinate at a bound (at most n 2^(n-1))."""
    eps, p = epsilon_checked(epsilon), _few(prior)
    low = eps if epsilon_low is None else epsilon_checked(epsilon_low, "epsilon_low")
    lo, hi = math.exp(-low), math.exp(eps)
    return _vertices(p, (lo, hi), (Fraction(lo) - 1, Fraction(hi) - 1), from_one=1)


def lift_moves(prior: npt.ArrayLike, epsilon: float) -> FloatArray:
    """The same as moves v = r - 1 of mean 0: at small epsilon they keep the digits that 1 + v would lose."""
    eps, p = epsilon_checked(epsilon), _few(prior)
    low, high = math.expm1(-eps), math.expm1(eps)
    return _vertices(p, (low, high), (Fraction(low), Fraction(high)), from_one=0)


def _few(prior: npt.ArrayLike) -> FloatArray:
    p = positive_prior(prior)
    if p.size > MOST_SYMBOLS:
        raise InputError(f"{p.size} symbols have too many vertices.", f"At most {MOST_SYMBOLS} are enumerated.")
    return p


def _vertices(
    p: FloatArray, bounds: tuple[float, float], moves: tuple[Fraction, Fraction], *, from_one: int
) -> FloatArray:
    """Every choice of a bound for all coordinates but one whose remaining one lies between them, decided exactly.

    Two vertices may differ by the square of epsilon only, and what lies as little outside is none: to keep it in the
    place of its neighbours lost the optimum. ``moves`` are the bounds less 1, ``from_one`` what is added at the end.
    """
    n = p.size
    if n == 1:
        return np.full((1, 1), float(from_one))
    shares = [Fraction(float(value)) for value in p]
    steps = [(moves[1] - moves[0]) * share for share in shares]
    lows = [moves[0] * share for share in shares]
    common = math.lcm(*(part.denominator for part in (*steps, *lows, *shares)))
    step, low, share = ([part.numerator * (common // part.denominator) for part in parts]
                        for parts in (steps, lows, shares))  # fmt: skip
    bottom = -sum(low)
    found = []
    for high in product((False, True), repeat=n - 1):
        for free in range(n):
            others = step[:free] + step[free + 1 :]
            left = bottom + low[free] - sum(compress(others, high))
            if low[free] <= left <= low[free] + step[free]:
                at = [bounds[bit] for bit in high]
                found.append([*at[:free], (left + from_one * share[free]) / share[free], *at[free:]])
    out: FloatArray = np.unique(np.array(found), axis=0)
    return out
