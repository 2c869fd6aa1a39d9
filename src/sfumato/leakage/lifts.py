"""The lifts an eps-LIP report may have: a polytope, and its vertices for few symbols."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import compress, product

import numpy as np
import numpy.typing as npt

from sfumato.arrays import BoolArray, FloatArray
from sfumato.errors import InputError
from sfumato.leakage.discrete import epsilon_checked
from sfumato.priors.cells import positive_prior

MOST_SYMBOLS = 12


def lift_vertices(prior: npt.ArrayLike, epsilon: float, *, epsilon_low: float | None = None) -> FloatArray:
    """Vertices of {r : p.r = 1, e^-low <= r <= e^eps}: all but one coordinate at a bound (at most n 2^(n-1))."""
    eps, p = epsilon_checked(epsilon), positive_prior(prior)
    low = eps if epsilon_low is None else epsilon_checked(epsilon_low, "epsilon_low")
    n = p.size
    if n > MOST_SYMBOLS:
        raise InputError(f"{n} symbols have too many vertices.", f"At most {MOST_SYMBOLS} are enumerated.")
    if n == 1:
        return np.ones((1, 1))
    lo, hi = math.exp(-low), math.exp(eps)
    bits = np.array(list(product((lo, hi), repeat=n - 1)))
    high = bits == hi
    found = []
    for free in range(n):
        others = np.delete(np.arange(n), free)
        with np.errstate(over="ignore"):
            value = _remaining(p[others], high, lo, hi) / p[free]
        keep = (value >= lo * (1 - 1e-12)) & (value <= hi * (1 + 1e-12))
        vertices = np.empty((int(keep.sum()), n))
        vertices[:, others] = bits[keep]
        vertices[:, free] = np.clip(value[keep], lo, hi)
        found.append(vertices)
    everything = np.concatenate(found)
    _, first = np.unique(np.round(np.log(everything), 11), axis=0, return_index=True)
    out: FloatArray = everything[np.sort(first)]
    return out


def _remaining(p: FloatArray, high: BoolArray, lo: float, hi: float) -> FloatArray:
    """1 - sum p r for every choice of r in {lo, hi}^n, exact before the one rounding at the end.

    In doubles the difference would be off by 1e-16 e^eps, which is much compared with a lift as small as e^-eps.
    """
    shares = [Fraction(float(value)) for value in p]
    at_lo, at_hi, one = Fraction(lo), Fraction(hi), Fraction(1)
    bottom = one - at_lo * sum(shares)
    steps = [(at_hi - at_lo) * share for share in shares]
    common = math.lcm(bottom.denominator, *(step.denominator for step in steps))
    start = bottom.numerator * (common // bottom.denominator)
    whole = [step.numerator * (common // step.denominator) for step in steps]
    return np.array([(start - sum(compress(whole, row))) / common for row in high.tolist()])
