"""Random and extreme members of the class of eps-LIP channels, built without the package's own designs."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog


def vertices(p: np.ndarray, epsilon: float) -> np.ndarray:
    n, lo, hi = p.size, math.exp(-epsilon), math.exp(epsilon)
    found = []
    for free in range(n):
        for bits in itertools.product((lo, hi), repeat=n - 1):
            r = np.insert(np.array(bits), free, 0.0)
            r[free] = (1 - r @ p) / p[free]
            if lo - 1e-12 <= r[free] <= hi + 1e-12:
                found.append(np.clip(r, lo, hi))
    return np.array(found)


def random_lip_channel(
    p: np.ndarray, epsilon: float, rng: np.random.Generator, *, favour: tuple[int, int] | None = None
) -> np.ndarray:
    """A channel whose outputs are vertices of the lift polytope, mixed so that rows sum to one.

    ``favour`` = (a, b) makes the output with the largest lift ratio of a over b as likely as possible.
    """
    v = vertices(p, epsilon)
    cost = rng.random(len(v)) if favour is None else -((v[:, favour[0]] / v[:, favour[1]]) ** 3)
    weights = linprog(cost, A_eq=v.T, b_eq=np.ones(p.size), bounds=(0, None), method="highs").x
    used = weights > 1e-12
    q = (weights[used, None] * v[used]).T
    return q / q.sum(axis=1, keepdims=True)
