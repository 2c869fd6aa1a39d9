"""Noise that leaves an adversary the largest weighted variance tr(WV): closed form when it is inside the cone.

Maximising tr(WV) = tr(WΣ) - tr(WΣ(Σ+Γ)⁻¹Σ) at tr Γ = B asks, with K = Σ+Γ, for K⁻¹ΣWΣK⁻¹ = μI, hence
K = (ΣWΣ)^{1/2}/√μ with √μ = tr(ΣWΣ)^{1/2}/(B + tr Σ), and Γ = K - Σ. It is the optimum exactly when that Γ ⪰ 0: the
problem is concave in Γ and the stationary point is then feasible.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import Solved, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.designs.noise_design import NoiseDesign, checked_prior


def most_weighted_variance(
    prior: npt.ArrayLike, weights: npt.ArrayLike, *, budget: float, nugget: float = 0.0
) -> Solved[NoiseDesign]:
    """The noise of trace ``budget`` with the largest tr(WV), W = ``weights`` positive definite; objective = tr(WV).

    Below the least budget at which Γ = (ΣWΣ)^{1/2}/√μ - Σ is a covariance, the error says that budget.
    """
    started = time.perf_counter()
    covariance = checked_prior(prior)
    weight = finite(weights, "weights", dimensions=2)
    positive(budget, "budget")
    if weight.shape != covariance.shape or not np.allclose(weight, weight.T):
        raise InputError("The weights are not a symmetric matrix of the prior's size.", "Give W as (n, n).")
    values, vectors = np.linalg.eigh(covariance @ weight @ covariance)
    if values[0] <= 1e-14 * values[-1]:
        raise InputError("The weights leave some direction without weight.", "Give a positive definite W.")
    root = (vectors * np.sqrt(values)) @ vectors.T
    half = vectors / values**0.25
    least = float(np.linalg.eigvalsh(half.T @ covariance @ half)[-1])
    least_budget = least * float(np.trace(root)) - float(np.trace(covariance))
    if budget < least_budget:
        raise InputError(
            f"At a budget of {budget:.6g} the closed form is not a covariance.",
            f"It is one from a budget of {least_budget:.6g}; below that use the convex designs.",
        )
    total = root * ((budget + float(np.trace(covariance))) / float(np.trace(root)))
    noise = read_only((total - covariance + (total - covariance).T) / 2)
    left = covariance - covariance @ np.linalg.solve(total, covariance)
    objective = float(np.sum(weight * left))
    secrets = tuple(np.array([i]) for i in range(len(covariance)))
    design = NoiseDesign(noise, (covariance,), secrets, "weighted-variance", nugget)
    return Solved(design, "exact", 1, 0.0, objective, objective, time.perf_counter() - started)
