"""Capacities: the most a channel can tell about any prior, each with a certified gap.

Shannon's capacity max_p I(X; Y) [Shannon1948; Arimoto1972; Blahut1972] bounds what reports tell on average whatever the
prior; Sibson's of order alpha is maximal alpha-leakage [Liao2019]; order infinity is ln sum_y max_x Q(y | x), exact.

Each is the largest value of a concave function over all priors: maximise F(p) = c.p + sum_y phi(y, (p A)_y) over the
simplex, phi concave. A logarithmic barrier and Newton's method find p; the certificate does not trust them: by
concavity max F <= F(p) + max_x dF/dp_x - p.grad F at *any* p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, positive
from sfumato.base.errors import NotConverged
from sfumato.channels.measures.alpha_leakage import checked_order, sibson_information
from sfumato.channels.measures.discrete import ChannelLike, matrix_and_prior, mutual_information, used_outputs

Pieces = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""p -> (F, its gradient, d2phi/dm2 for each output: the Hessian is A diag(.) A')."""


def shannon_capacity(channel: ChannelLike, *, gap: float = 1e-12, most_steps: int = 400) -> Solved[FloatArray]:
    """max_p I(X; Y) in nats, with the prior that attains it.

    ``objective`` is what that prior attains, ``lower_bound`` the same, and ``gap`` the certified *absolute* distance in
    nats to max_x D(Q_x || m), which no prior can exceed.
    """
    q = used_outputs(channel)
    own = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0).sum(axis=1)

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        m = p @ q
        divergence = own - q @ np.log(m)
        return float(p @ divergence), divergence, -1.0 / m

    return _solved(pieces, q, positive(gap, "gap"), most_steps)


def sibson_capacity(
    channel: ChannelLike, order: float, *, gap: float = 1e-12, most_steps: int = 400
) -> Solved[FloatArray]:
    """max_p of Sibson's information of an order above 1: maximal alpha-leakage [Liao2019]; 1 is Shannon's capacity.

    exp((alpha - 1) / alpha * it) = max_p sum_y (sum_x p(x) Q(y | x)^alpha)^(1 / alpha), concave in p.
    """
    alpha = float(order)
    q = used_outputs(channel)
    if alpha == math.inf:
        value = max(0.0, math.log(float(q.max(axis=0).sum())))
        return Solved(np.full(q.shape[0], 1.0 / q.shape[0]), "exact", 0, None, value, value)
    if alpha == 1:
        return shannon_capacity(q, gap=gap, most_steps=most_steps)
    positive(alpha - 1, "order - 1", at_most=1e9)
    find = _near_order_one if alpha <= 2 else _far_from_order_one
    return find(q, alpha, positive(gap, "gap"), most_steps)


def maximal_alpha_leakage(channel: ChannelLike, prior: npt.ArrayLike, order: float) -> float:
    """Maximal alpha-leakage [Liao2019, Thm 2]: what an adversary of that order gains about *any* function of x.

    Order 1 is mutual information (of this prior); above 1 it is Sibson's capacity over the support of the prior.
    """
    alpha = checked_order(order, at_least=1.0)
    q, p = matrix_and_prior(channel, prior)
    if alpha == 1:
        return mutual_information(q, p)
    solved = sibson_capacity(q[p > 0], alpha, gap=1e-11)
    assert solved.objective is not None
    return solved.objective


def _far_from_order_one(q: FloatArray, alpha: float, gap: float, most_steps: int) -> Solved[FloatArray]:
    top = q.max(axis=0)
    with np.errstate(divide="ignore", under="ignore"):
        powered = np.exp(alpha * (np.log(q) - np.log(top)))  # (Q / max_x Q)^alpha: at most 1, no overflow

    found = largest_on_simplex(sums_of_powers(powered, top, 1 / alpha), powered, gap=0.5 * gap, most_steps=most_steps)
    low = sibson_information(q, found.prior, alpha)
    apart = alpha / (alpha - 1) * math.log1p(max(0.0, found.gap) / found.value)
    return Solved(found.prior, "converged", found.steps, apart, low, low)


def sums_of_powers(powered: FloatArray, weights: FloatArray, power: float) -> Pieces:
    """F(p) = sum_y w_y (p A)_y^power, concave for a power of at most 1."""

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        inner = p @ powered
        outer = weights * inner**power
        slope = power * outer / inner
        return float(outer.sum()), powered @ slope, (power - 1) * slope / inner

    return pieces


def _near_order_one(q: FloatArray, alpha: float, gap: float, most_steps: int) -> Solved[FloatArray]:
    """The same programme as alpha / (alpha - 1) (F - 1), summed with expm1 so that nothing cancels as alpha -> 1.

    With r = Q / m and A_y = ln(sum_x p r^alpha) / alpha the gradient is sum_y Q expm1((alpha - 1)(ln r - A)) /
    (alpha - 1), up to a constant that does not matter on the simplex; at alpha = 1 it is D(Q_x || m).
    """
    away = alpha - 1
    with np.errstate(divide="ignore"):
        log_q = np.log(q)
    top = q.max(axis=0)
    with np.errstate(under="ignore"):
        powered = np.exp(alpha * (log_q - np.log(top)))

    def pieces(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        m = p @ q
        log_lift = log_q - np.log(m)
        inner = np.log1p((p[:, None] * q * np.expm1(away * log_lift)).sum(axis=0) / m) / alpha
        value = alpha / away * float(m @ np.expm1(inner))
        gradient = (q * np.expm1(away * (log_lift - inner))).sum(axis=1) / away
        scaled = np.exp(alpha * (np.log(m) + inner - np.log(top)))  # sum_x p (Q / top)^alpha
        return value, gradient, -top * scaled ** (1 / alpha - 2) / alpha

    found = largest_on_simplex(pieces, powered, gap=gap, most_steps=most_steps)
    low = alpha / away * math.log1p(max(0.0, found.value) * away / alpha)
    return Solved(found.prior, "converged", found.steps, max(0.0, found.gap), low, low)


def _solved(pieces: Pieces, q: FloatArray, gap: float, most_steps: int) -> Solved[FloatArray]:
    found = largest_on_simplex(pieces, q, gap=gap, most_steps=most_steps)
    value = max(0.0, found.value)
    return Solved(found.prior, "converged", found.steps, max(0.0, found.gap), value, value)


class Maximum(NamedTuple):
    """A prior, the value it attains, and by how much any other's may be larger, proved."""

    prior: FloatArray
    value: float
    gap: float
    steps: int


def largest_on_simplex(pieces: Pieces, directions: FloatArray, *, gap: float = 1e-12, most_steps: int = 400) -> Maximum:
    """Maximise F until the certified gap is at most ``gap`` (absolute); the best point found if rounding stops it.

    Raises :class:`NotConverged` when the gap stays above 1e-6.
    """
    n = directions.shape[0]
    p: FloatArray = np.full(n, 1.0 / n)
    best = _judged(pieces, p, 0)
    if n == 1:
        return Maximum(p, best.value, 0.0, 0)
    barrier = max(best.gap, 1e-12) / n
    steps = 0
    while steps < most_steps and best.gap > gap and barrier * n > 1e-3 * gap:
        for _ in range(30):
            steps += 1
            value, gradient, curvature = pieces(p)
            step, decrement = _newton(p, gradient, curvature, directions, barrier)
            p = _moved(pieces, p, step, value, barrier, decrement)
            if decrement < 0.02 * barrier * n or decrement < 1e-18:
                break
        here = _judged(pieces, p, steps)
        if here.gap < best.gap:
            best = here
        barrier *= 0.05
    if best.gap > max(gap, 1e-6):
        raise NotConverged(
            f"The capacity is known only to within {best.gap:.3g} nats after {best.steps} steps.",
            "Allow a larger gap, or merge inputs whose rows are almost the same.",
        )
    return best


def _judged(pieces: Pieces, p: FloatArray, steps: int) -> Maximum:
    value, gradient, _ = pieces(p)
    bound = value + max(0.0, float(gradient.max() - p @ gradient))
    return Maximum(p, value, bound - value, steps)


def _newton(
    p: FloatArray, gradient: FloatArray, curvature: FloatArray, directions: FloatArray, barrier: float
) -> tuple[FloatArray, float]:
    """The step in p / p (scaled), from (barrier I - P A diag(curvature) A' P) z = P grad + barrier 1 - multiplier p."""
    scaled = p[:, None] * directions
    matrix = -(scaled * curvature) @ scaled.T
    matrix[np.diag_indices(p.size)] += barrier
    right = np.stack([p * gradient + barrier, p], axis=1)
    try:
        solved = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    multiplier = (p @ solved[:, 0]) / (p @ solved[:, 1])
    step: FloatArray = solved[:, 0] - multiplier * solved[:, 1]
    return step, max(0.0, float(step @ (matrix @ step)))


def _moved(
    pieces: Pieces, p: FloatArray, step: FloatArray, value: float, barrier: float, decrement: float
) -> FloatArray:
    length = min(1.0, 0.95 / max(1e-300, float(-step.min()))) if step.min() < 0 else 1.0
    start = value + barrier * float(np.log(p).sum())
    for _ in range(40):
        trial: FloatArray = p * (1.0 + length * step)
        trial = trial / trial.sum()
        if trial.min() > 0:
            there = pieces(trial)[0] + barrier * float(np.log(trial).sum())
            if there >= start + 1e-4 * length * decrement - 1e-15 * (1.0 + abs(start)) and math.isfinite(there):
                return trial
        length *= 0.5
    return p
