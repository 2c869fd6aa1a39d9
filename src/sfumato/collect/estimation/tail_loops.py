"""The compiled loops of :mod:`.tails`: one row's characteristic function, and the shares that its law cannot refuse.

Frequencies are (k + 1/2) ticks, k = 0, 1, ...: every exp(iuL) follows from that at the first by its own square. What
has died away (below exp(-37), the rounding of a number near 1) is not turned.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import ComplexArray, FloatArray, IntArray
from sfumato.base.compiled import compiled

_DEAD = -37.0


@compiled()
def nearest(loadings: FloatArray, chosen: IntArray) -> None:
    """``chosen`` becomes where the largest absolute loadings are."""
    count = chosen.size
    for place in range(count):
        chosen[place] = place
    smallest = 0
    for place in range(1, count):
        if abs(loadings[place]) < abs(loadings[chosen[smallest]]):
            smallest = place
    least = abs(loadings[chosen[smallest]])
    for cell in range(count, loadings.size):
        if abs(loadings[cell]) > least:
            chosen[smallest] = cell
            smallest = 0
            for place in range(1, count):
                if abs(loadings[chosen[place]]) < abs(loadings[chosen[smallest]]):
                    smallest = place
            least = abs(loadings[chosen[smallest]])


@compiled()
def waves(
    first: float,
    loadings: FloatArray,
    reported: FloatArray,
    inside: FloatArray,
    share: float,
    most: int,
    outer: ComplexArray,
    inner: ComplexArray,
    moments: FloatArray,
) -> None:
    """sum_y w(y) exp(iuL(y)) at u = first (1, 3, 5, ...), for w = ``reported`` - ``inside`` (at least 0) in ``outer``
    and ``inside`` / ``share`` in ``inner``: exact for the ``most`` largest loadings, of the others mean and variance.

    ``moments``: the sum of the outer weights, of them times L, the same of the inner, and the inner's sums of w^2 and
    of w^2 L^2.
    """
    cells = loadings.size
    chosen = np.empty(min(most, cells), dtype=np.int64)
    nearest(loadings, chosen)
    near = np.zeros(cells, dtype=np.bool_)
    for place in range(chosen.size):
        near[chosen[place]] = True
    far = np.zeros((2, 3))
    moments[:] = 0.0
    for cell in range(cells):
        value = loadings[cell]
        out, here = max(reported[cell] - inside[cell], 0.0), inside[cell] / share
        moments[0] += out
        moments[1] += out * value
        moments[2] += here * value
        moments[3] += here * here
        moments[4] += here * here * value * value
        if not near[cell]:
            far[0, 0] += out
            far[0, 1] += out * value
            far[0, 2] += out * value * value
            far[1, 0] += here
            far[1, 1] += here * value
            far[1, 2] += here * value * value
    turn = np.exp(1j * first * loadings[chosen])
    step = turn * turn
    weights = np.empty((2, chosen.size))
    for place in range(chosen.size):
        cell = chosen[place]
        weights[0, place] = max(reported[cell] - inside[cell], 0.0)
        weights[1, place] = inside[cell] / share
    for side in range(2):
        mass = max(far[side, 0], 1e-300)
        far[side, 0] = mass
        far[side, 1] /= mass
        far[side, 2] = max(far[side, 2] / mass - far[side, 1] ** 2, 0.0)
    for k in range(outer.size):
        outer_sum, inner_sum = 0.0 + 0.0j, 0.0 + 0.0j
        for place in range(chosen.size):
            outer_sum += weights[0, place] * turn[place]
            inner_sum += weights[1, place] * turn[place]
            turn[place] *= step[place]
        u = first * (2 * k + 1)
        if 0.5 * u * u * far[0, 2] < -_DEAD:
            outer_sum += far[0, 0] * np.exp(1j * u * far[0, 1] - 0.5 * u * u * far[0, 2])
        if 0.5 * u * u * far[1, 2] < -_DEAD:
            inner_sum += far[1, 0] * np.exp(1j * u * far[1, 1] - 0.5 * u * u * far[1, 2])
        outer[k], inner[k] = outer_sum, inner_sum


@compiled()
def law_waves(
    first: FloatArray,
    loadings: FloatArray,
    reported: FloatArray,
    inside: FloatArray,
    share: FloatArray,
    most: int,
    outer: ComplexArray,
    inner: ComplexArray,
    moments: FloatArray,
) -> None:
    """:func:`waves` of every row."""
    for row in range(first.size):
        waves(first[row], loadings[row], reported, inside[row], share[row], most, outer[row], inner[row], moments[row])


@compiled()
def _below(
    others: ComplexArray,
    inside: ComplexArray,
    steps: FloatArray,
    first: float,
    scale: float,
    share: float,
    error: float,
) -> float:
    """P(D <= error) of one row by Gil-Pelaez's integral; ``steps``: what the uniform does, over the frequency."""
    total = 0.0
    for k in range(others.size):
        size = scale * others[k].real + share * inside[k].real
        if size > _DEAD:
            angle = scale * others[k].imag + share * inside[k].imag - first * (2 * k + 1) * error
            total += steps[k] * np.exp(size) * np.sin(angle)
    return 0.5 - total / np.pi


@compiled()
def reached(
    others: ComplexArray,
    inside: ComplexArray,
    steps: FloatArray,
    first: FloatArray,
    left: FloatArray,
    limits: FloatArray,
    expected: FloatArray,
    moved: FloatArray,
    share: FloatArray,
    out: FloatArray,
) -> None:
    """out[row] = P(D <= moved - share) if the share were ``share``."""
    for row in range(out.size):
        scale = min(max(1 + left[row] * (share[row] - expected[row]), limits[0]), limits[1])
        at, error = max(share[row], 0.0), moved[row] - share[row]
        out[row] = _below(others[row], inside[row], steps[row], first[row], scale, at, error)


@compiled()
def ends(
    others: ComplexArray,
    inside: ComplexArray,
    steps: FloatArray,
    first: FloatArray,
    left: FloatArray,
    limits: FloatArray,
    expected: FloatArray,
    moved: FloatArray,
    low: FloatArray,
    high: FloatArray,
    probability: float,
    halvings: int,
    out: FloatArray,
) -> None:
    """out[row] = the share R with P(D <= moved - R) = ``probability``, by halving between low and high."""
    least, most, middle, found = low.copy(), high.copy(), np.empty(out.size), np.empty(out.size)
    for _ in range(halvings):
        middle[:] = 0.5 * (least + most)
        reached(others, inside, steps, first, left, limits, expected, moved, middle, found)
        for row in range(out.size):
            if found[row] > probability:
                least[row] = middle[row]
            else:
                most[row] = middle[row]
    out[:] = 0.5 * (least + most)
