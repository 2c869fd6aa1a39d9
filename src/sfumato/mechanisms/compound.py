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

from sfumato.arrays import FloatArray, Solved, positive, read_only
from sfumato.errors import NotConverged
from sfumato.mechanisms.certificates import Multipliers, dual_terms
from sfumato.mechanisms.noise_design import NoiseDesign, checked_prior, checked_secrets, regression


def least_noise_covering(
    slopes: FloatArray, rest: FloatArray, allowed_loss: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(c, g): positive eigenvalues, descending, and eigenvectors, (n, ·), of HT⁻¹Hᵀ - P, T = ``allowed_loss``."""
    from scipy.linalg import eigh

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
    positive(budget, "budget")
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
    design = NoiseDesign(noise, (covariance,), (index,), "joint", nugget, known_losses=read_only([max(t, bound)]))
    gap = max((t - bound) / t, 0.0)
    return Solved(design, "exact", step, gap, t, bound, time.perf_counter() - started)
