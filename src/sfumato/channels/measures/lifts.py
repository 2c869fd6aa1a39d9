"""The lifts an eps-LIP report may have: a polytope, and its vertices for few symbols."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import compress, product

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import positive_prior
from sfumato.channels.measures.discrete import epsilon_checked

MOST_SYMBOLS = 12


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
