"""The best noise for one compound secret, in closed form: the positive part of one matrix.

By a Schur complement J_S ⪯ T holds exactly when Γ ⪰ HT⁻¹Hᵀ - P, so the least noise (in trace) that keeps J_S ⪯ T is

    Γ = (HT⁻¹Hᵀ - P)₊,   tr Γ = Σ_j c_j,   c_j its positive eigenvalues (|S| of them), g_j their eigenvectors:

Γ ⪰ N and Γ ⪰ 0 give tr Γ ≥ ⟨Γ, Π⟩ ≥ ⟨N, Π⟩ = tr N₊ for Π the projector onto the positive eigenvectors of N. With
T = t·I this is the least worst loss t at the budget Σc_j(t), so a budget is met by one root in t. (For a basic secret
N₊ has rank one and this is the design of `rank_one`; for a mirror-symmetric pair the g_j are symmetric and
antisymmetric.) The dual that proves optimality is D = Π. No symmetry, search over shapes or SDP is needed.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg import eigh

from sfumato.base.arrays import FloatArray, Solved, read_only
from sfumato.base.errors import NotConverged
from sfumato.tracks.designs.lower_bound import Multipliers, dual_terms
from sfumato.tracks.designs.noise_design import (
    NoiseDesign,
    checked_budget,
    checked_prior,
    checked_secrets,
    regression,
)


def least_noise_covering(
    slopes: FloatArray, rest: FloatArray, allowed_loss: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(c, g): positive eigenvalues, descending, and eigenvectors, (n, ·), of HT⁻¹Hᵀ - P, T = ``allowed_loss``."""
    size = slopes.shape[1]
    n = len(rest)
    needed = slopes @ np.linalg.solve(allowed_loss, slopes.T) - rest
    values, vectors = eigh((needed + needed.T) / 2, subset_by_index=[n - size, n - 1])
    kept = values > 0
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def one_compound(
    prior: npt.ArrayLike, secret: npt.ArrayLike, *, budget: float, nugget: float = 0.0
) -> Solved[NoiseDesign]:
    """The least λ_max(J_S) for one secret of any size at ``budget`` = tr Γ, over every noise covariance."""
    started = time.perf_counter()
    covariance = checked_prior(prior)
    (index,) = checked_secrets([secret], len(covariance))
    checked_budget(budget, covariance)
    slopes, rest = regression(covariance, index)
    size = len(index)
    # Newton on log t for log Σc(t) = log B: the curve is nearly a straight line of slope -1.
    t = float(np.linalg.norm(slopes, 2) ** 2) * size / budget
    low, high = 0.0, np.inf
    for step in range(1, 200):  # noqa: B007
        values, vectors = least_noise_covering(slopes, rest, t * np.eye(size))
        total = float(values.sum())
        if total > budget:
            low = t
        else:
            high = t
        if abs(total - budget) <= 1e-13 * budget or high - low <= 4e-16 * high:
            break
        slope = float(np.sum((slopes.T @ vectors) ** 2)) / (t * total) if total > 0 else 0.0
        guess = t * np.exp(np.clip(np.log(total / budget) / slope, -5, 5)) if slope > 0 else 0.0
        t = float(guess) if low < guess < high else (np.sqrt(low * high) if low > 0 and high < np.inf else t / 2)
    else:
        raise NotConverged("The loss of a compound secret was not found.", "Give the prior a nugget.")
    values = values * (budget / total)
    noise = read_only((vectors * values) @ vectors.T)
    terms = dual_terms((covariance,), (index,), (1.0,), Multipliers((vectors,)))
    bound = terms.loss_at(budget)
    design = NoiseDesign(
        noise, (covariance,), (index,), "joint", nugget, known_losses=read_only([max(t, bound)]), proof=(vectors,)
    )
    gap = max((t - bound) / t, 0.0)
    return Solved(design, "exact", step, gap, t, bound, time.perf_counter() - started)


def block_compound(
    prior: npt.ArrayLike, secret: npt.ArrayLike, *, budget: float, nugget: float = 0.0
) -> Solved[NoiseDesign]:
    """The least 1/σ_s² + α* when the noise at the secret must be white and independent of the rest, as published.

    With A, C the regression of the other points, α* ≤ α costs tr(AAᵀ/α - C)₊ elsewhere, which leaves
    σ_s² = (B - that)/|S|: one convex search over α.
    """
    started = time.perf_counter()
    covariance = checked_prior(prior)
    (index,) = checked_secrets([secret], len(covariance))
    checked_budget(budget, covariance)
    slopes, rest = regression(covariance, index)
    others = np.setdiff1d(np.arange(len(covariance)), index)
    size = len(index)
    if others.size < size:
        raise NotConverged("Fewer points lie outside the secret than in it.", "Use the joint design.")
    a, c = slopes[others], rest[np.ix_(others, others)]

    def loss_with(log_alpha: float) -> float:
        left = budget - float(least_noise_covering(a, c, np.exp(log_alpha) * np.eye(size))[0].sum())
        return size / left + float(np.exp(log_alpha)) if left > 0 else 1e150 * (1.0 - left / budget)

    if not np.any(a):  # nothing else tells of the secret: all noise where it is
        noise = np.zeros_like(covariance)
        noise[index, index] = budget / size
        known = read_only([size / budget])
        design = NoiseDesign(read_only(noise), (covariance,), (index,), "block", nugget, known_losses=known)
        return Solved(design, "exact", 0, objective=size / budget, seconds=time.perf_counter() - started)
    # The cheapest α lies above the one that eats the whole budget: bracket from there.
    low = float(np.log(np.linalg.norm(a, 2) ** 2 / budget)) - 30
    high = float(np.log(np.linalg.norm(a, 2) ** 2 * size / budget)) + 5
    grid = np.linspace(low, high, 120)
    values = [loss_with(x) for x in grid]
    best = int(np.argmin(values))
    found = scipy.optimize.minimize_scalar(
        loss_with,
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, 119)]),
        method="bounded",
        options={"xatol": 1e-12},
    )
    values_c, vectors = least_noise_covering(a, c, np.exp(found.x) * np.eye(size))
    noise = np.zeros_like(covariance)
    noise[np.ix_(others, others)] = (vectors * values_c) @ vectors.T
    noise[index, index] = (budget - float(values_c.sum())) / size
    loss = loss_with(float(found.x))
    design = NoiseDesign(read_only(noise), (covariance,), (index,), "block", nugget, known_losses=read_only([loss]))
    return Solved(design, "exact", int(found.nfev) + 120, objective=loss, seconds=time.perf_counter() - started)
