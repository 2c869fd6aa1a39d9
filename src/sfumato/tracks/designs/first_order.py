"""A first-order method for secrets that cover very many points: descent on a factor of the noise, softly maximised.

Γ = B·LLᵀ/‖L‖², and the worst loss is replaced by T·log Σ_k tr exp(log(J_k/e_k)/T), whose gradient needs one Cholesky
factor of Σ+Γ for all secrets: with W_k the matrix weights of the soft maximum and M_k = (Σ+Γ)⁻¹Σ_{:k}V_k⁻¹ it is
-Σ M_kW_kM_kᵀ. T is annealed; the same W_k give the multipliers of the lower bound, X_k = M_kW_k^{1/2}.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

from sfumato.base.arrays import FloatArray
from sfumato.tracks.designs.lower_bound import Multipliers
from sfumato.tracks.designs.noise_design import Problem


def descend(
    problem: Problem,
    budget: float,
    report: Callable[[FloatArray, Multipliers], bool],
    temperatures: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001),
    iterations: int = 150,
) -> int:
    """Descend; ``report(noise, multipliers)`` after each temperature returns True to stop. Returns the evaluations."""
    n, priors = problem.points, problem.priors
    mean = sum(priors[1:], start=priors[0]) / len(priors)
    values, vectors = np.linalg.eigh(mean / np.trace(mean) * 0.9 + np.eye(n) * (0.1 / n))
    factor = vectors * np.sqrt(values)
    evaluations = 0
    for temperature in temperatures:

        def objective(x: FloatArray, temperature: float = temperature) -> tuple[float, FloatArray]:
            nonlocal evaluations
            evaluations += 1
            root = x.reshape(n, n)
            size = float(np.sum(root * root))
            noise = (budget / size) * (root @ root.T)
            value, pull, _ = soft_worst(problem, noise, temperature)
            slope = -2 * (budget / size) * (pull @ root)
            slope += (2 * float(np.sum(pull * noise)) / size) * root
            return value, slope.ravel()

        found = scipy.optimize.minimize(
            objective, factor.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxcor": 20}
        )
        factor = found.x.reshape(n, n)
        factor *= np.sqrt(budget / np.sum(factor * factor))
        noise = factor @ factor.T
        _, _, multipliers = soft_worst(problem, noise, temperature)
        if report(noise, multipliers):
            break
    return evaluations


def soft_worst(problem: Problem, noise: FloatArray, temperature: float) -> tuple[float, FloatArray, Multipliers]:
    """(soft maximum of log loss, Σ M_kW_kM_kᵀ = minus its gradient in Γ, the multipliers X_k)."""
    n = len(noise)
    spectra: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for prior in problem.priors:
        factor = cho_factor(prior + noise + 1e-13 * np.trace(prior) / n * np.eye(n), lower=True)
        reach = cho_solve(factor, prior)
        spread = prior - prior @ reach
        for secret, target in zip(problem.secrets, problem.targets, strict=True):
            left = np.linalg.inv(spread[np.ix_(secret, secret)])
            values, vectors = np.linalg.eigh((left - np.linalg.inv(prior[np.ix_(secret, secret)])) / target)
            spectra.append((np.maximum(values, 1e-300), vectors, reach[:, secret] @ (left @ vectors)))
    logs = [np.log(values) for values, _, _ in spectra]
    top = max(float(log[-1]) for log in logs)
    powers = [np.exp((log - top) / temperature) for log in logs]
    total = float(sum(power.sum() for power in powers))
    pull = np.zeros((n, n))
    factors: list[FloatArray] = []
    repeated = np.tile(problem.targets, len(problem.priors))
    for (values, _, arms), power, target in zip(spectra, powers, repeated, strict=True):
        x = arms * np.sqrt(power / (total * values * target))
        factors.append(x)
        pull += x @ x.T
    return top + temperature * float(np.log(total)), pull, tuple(factors)
