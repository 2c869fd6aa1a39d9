"""A primal-dual interior-point method made for channels whose columns are bounded by a common level.

Problem (x over n inputs, y over k outputs, weights p, cost c[x, y] = p_x d[x, y])::

    min sum c Q   s.t.  sum_y Q[x, y] = 1,   lo m_y <= Q[x, y] <= hi m_y,   [ m_y = sum_x p_x Q[x, y] ]

With the last line it is local information privacy for a known prior; without it (and lo = 1) local differential
privacy. Write u = Q - lo m, t = hi m - Q, w = hi - lo. The Newton step of the optimality conditions couples outputs
only through the n multipliers pi of the rows: per output there remains a 2 x 2 system in (mu_y, m_y), so a step costs
three n x k by k x n products and one Cholesky factor of size n, where a general solver factors a matrix of size n k.

Nothing here is trusted: whoever calls this takes pi to a lower bound valid for *any* pi and Q to a measured leakage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray
from sfumato.channels.designs.limits import NEVER, Deadline


@dataclass(frozen=True, slots=True, eq=False)
class InteriorPoint:
    """Where the method stopped: the channel, its levels m, the row multipliers pi and its own duality gap.

    ``passed``: the channel where the gap first fell below each tenth of the cost's, the same whatever the tolerance.
    """

    matrix: FloatArray
    level: FloatArray
    multipliers: FloatArray
    gap: float
    steps: int
    passed: tuple[tuple[float, FloatArray], ...] = ()


def solve(
    prior: FloatArray,
    distortion: FloatArray,
    *,
    lo: float,
    hi: float,
    balanced: bool = True,
    tolerance: float = 1e-8,
    most_steps: int = 200,
    stalled: int = 12,
    deadline: Deadline = NEVER,
) -> InteriorPoint:
    """Follow the central path from a strictly feasible pair until the gap is ``tolerance`` of the cost (Mehrotra)."""
    n, k = distortion.shape
    p = prior[:, None]
    scale = float((prior @ distortion).min())
    cost = p * (distortion / scale)
    w = hi - lo
    start = 1.0 if balanced else 2.0 / (lo + hi)
    m = np.full(k, start / k)
    u = np.tile((1.0 / k) - lo * m, (n, 1))
    t = np.tile(hi * m - (1.0 / k), (n, 1))
    pi = -prior.copy()
    mu = np.full(k, 0.5 if balanced else 0.0)
    base = cost - pi[:, None] - p * mu
    surplus = lo * (cost - pi[:, None]).sum(axis=0) + (1 - lo) * mu if balanced else lo * base.sum(axis=0)
    zt = np.tile(surplus / (w * n), (n, 1))
    zu = base + zt
    best: tuple[float, FloatArray, FloatArray, FloatArray] | None = None
    since_best = 0
    steps = 0
    passed: list[tuple[float, FloatArray]] = []
    next_mark = 1e-3
    longest, began = 0.0, time.perf_counter()
    for steps in range(1, most_steps + 1):  # noqa: B007
        longest, began = max(longest, time.perf_counter() - began), time.perf_counter()
        gap = float((u * zu).sum() + (t * zt).sum())
        value = float((cost * (u + lo * m)).sum())
        if not np.isfinite(gap):
            break
        if best is None or gap < best[0]:
            best, since_best = (gap, u + lo * m, m.copy(), pi.copy()), 0
        else:
            since_best += 1
        if gap <= next_mark * value:
            passed.append((next_mark, u + lo * m))
            while gap <= next_mark * value and next_mark > 1e-15:
                next_mark /= 10
        if gap <= tolerance * value or since_best >= stalled or deadline.left_s <= longest:
            break
        try:
            newton = _Newton.at(prior, cost, u, t, zu, zt, m, pi, mu, lo=lo, w=w, balanced=balanced)
        except np.linalg.LinAlgError:
            break
        centre = gap / (2 * n * k)
        affine = newton.direction(-u * zu, -t * zt)
        primal, dual = _steps(u, t, zu, zt, affine)
        after = float(
            ((u + primal * affine.u) * (zu + dual * affine.zu)).sum()
            + ((t + primal * affine.t) * (zt + dual * affine.zt)).sum()
        )
        target = centre * min(1.0, (after / gap) ** 3)
        move = newton.direction(target - u * zu - affine.u * affine.zu, target - t * zt - affine.t * affine.zt)
        primal, dual = (min(1.0, 0.9995 * size) for size in _steps(u, t, zu, zt, move))
        u, t, m = u + primal * move.u, t + primal * move.t, m + primal * move.m
        zu, zt, pi, mu = zu + dual * move.zu, zt + dual * move.zt, pi + dual * move.pi, mu + dual * move.mu
    assert best is not None
    return InteriorPoint(
        matrix=best[1],
        level=best[2],
        multipliers=best[3] * scale,
        gap=best[0] * scale,
        steps=steps,
        passed=tuple(passed),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    u: FloatArray
    t: FloatArray
    m: FloatArray
    pi: FloatArray
    mu: FloatArray
    zu: FloatArray
    zt: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Newton:
    direction: Callable[[FloatArray, FloatArray], _Direction]

    @classmethod
    def at(
        cls,
        prior: FloatArray,
        cost: FloatArray,
        u: FloatArray,
        t: FloatArray,
        zu: FloatArray,
        zt: FloatArray,
        m: FloatArray,
        pi: FloatArray,
        mu: FloatArray,
        *,
        lo: float,
        w: float,
        balanced: bool,
    ) -> _Newton:
        """Factor the n x n system that remains after eliminating everything that is diagonal or 2 x 2 per output."""
        p = prior[:, None]
        a, b = u / zu, t / zt
        inverse = 1.0 / (a + b)
        f, g = a * inverse, a * b * inverse
        beta = lo + w * f
        diagonal = g.sum(axis=1)
        third = w * w * inverse.sum(axis=0)
        if balanced:
            alpha = p * g
            first = (p * alpha).sum(axis=0)
            second = w * (prior @ f) - (1 - lo)
            determinant = first * third + second * second
            cross = (alpha * (second / determinant)) @ beta.T
            schur = (
                (beta * (first / determinant)) @ beta.T - (alpha * (third / determinant)) @ alpha.T - cross - cross.T
            )
        else:
            schur = (beta / third) @ beta.T
        where = np.diag_indices(prior.size)
        schur[where] += diagonal
        schur[where] *= 1 + 1e-13
        factor = cho_factor(schur, lower=True, check_finite=False)
        # Residuals are 0 in exact arithmetic; keeping them removes the drift of rounding.
        row_left = 1.0 - (u.sum(axis=1) + lo * m.sum())
        sum_left = w * m - (u + t)
        dual_left = cost - pi[:, None] - p * mu + zt - zu
        level_left = w * zt.sum(axis=0) - lo * (cost - pi[:, None]).sum(axis=0) - (1 - lo) * mu
        mass_left = (1 - lo) * m - prior @ u

        def direction(ru: FloatArray, rt: FloatArray) -> _Direction:
            rho = ru / zu + rt / zt - a * dual_left - sum_left
            e = ru / zu - a * dual_left - f * rho
            y2 = w * (rho * inverse).sum(axis=0) + level_left
            if balanced:
                y1 = mass_left - prior @ e
                c1, c2 = (third * y1 - second * y2) / determinant, (second * y1 + first * y2) / determinant
                dpi = cho_solve(factor, row_left - e.sum(axis=1) - alpha @ c1 - beta @ c2, check_finite=False)
                s1, s2 = y1 - alpha.T @ dpi, y2 + beta.T @ dpi
                dmu, dm = (third * s1 - second * s2) / determinant, (second * s1 + first * s2) / determinant
            else:
                dpi = cho_solve(factor, row_left - e.sum(axis=1) - beta @ (y2 / third), check_finite=False)
                dmu, dm = np.zeros_like(m), (y2 + beta.T @ dpi) / third
            h = dpi[:, None] + p * dmu
            dzt = (rho + a * h - w * dm) * inverse
            dzu = dzt - h + dual_left
            return _Direction((ru - u * dzu) / zu, (rt - t * dzt) / zt, dm, dpi, dmu, dzu, dzt)

        return cls(direction)


def _steps(u: FloatArray, t: FloatArray, zu: FloatArray, zt: FloatArray, move: _Direction) -> tuple[float, float]:
    return min(_longest(u, move.u), _longest(t, move.t)), min(_longest(zu, move.zu), _longest(zt, move.zt))


def _longest(values: FloatArray, change: FloatArray) -> float:
    smallest = float((change / values).min())
    return 1.0 if smallest >= -1 else -1.0 / smallest
