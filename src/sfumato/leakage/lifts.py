"""The lifts an eps-LIP report may have: a polytope, and its vertices for few symbols."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray
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
    found = []
    for free in range(n):
        others = np.delete(np.arange(n), free)
        value = (1 - bits @ p[others]) / p[free]
        keep = (value >= lo * (1 - 1e-12)) & (value <= hi * (1 + 1e-12))
        vertices = np.empty((int(keep.sum()), n))
        vertices[:, others] = bits[keep]
        vertices[:, free] = np.clip(value[keep], lo, hi)
        found.append(vertices)
    everything = np.concatenate(found)
    _, first = np.unique(np.round(everything, 11), axis=0, return_index=True)
    out: FloatArray = everything[np.sort(first)]
    return out
