"""Choose the ladder's weights: the least worst universal loss over a class of priors, with a certified gap.

    minimise over w ≥ 0, Σ w = 1   max over members j of  J_j(w) = ∫ k_j² / g_w dω/2π,   g_w = Σ_m w_m k_{l_m}.

J_j is convex in w, so a log-barrier Newton method finds the optimum in milliseconds. Any weights p on the members
prove a lower bound: φ(w) = Σ_j p_j J_j(w) is convex and homogeneous of degree −1, so linearising it at c·w and
choosing the best c gives, for every w' on the simplex,

    max_j J_j(w') ≥ φ(w') ≥ φ(w)² / max_m D_m,    D_m = ∫ (Σ_j p_j k_j²) k_{l_m} / g_w² dω/2π.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, Solved
from sfumato.base.errors import InputError
from sfumato.tracks.noise.multiscale.universal_bound import frequencies, unit_density

DICTIONARY_RATIO = 2.0**0.25
MERGE_RATIO = 1.3
LEAST_WEIGHT, MEMBER_STEP = 1e-3, 0.05
GAP, MOST_STEPS = 1e-6, 2000


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    squares: FloatArray  # members × frequencies: k_j² × quadrature weight
    scales: FloatArray  # scales × frequencies: k_{l_m}

    def losses(self, w: FloatArray) -> FloatArray:
        return np.asarray(self.squares @ (1.0 / (w @ self.scales)))

    def lower_bound(self, w: FloatArray, p: FloatArray) -> float:
        """φ² / max D: valid for any w in the simplex and any probabilities p."""
        g = w @ self.scales
        q = p @ self.squares
        return float((q / g).sum() ** 2 / (self.scales @ (q / g**2)).max())


def _members(kernels: Sequence[str], low: float, high: float, omega: FloatArray) -> FloatArray:
    count = max(3, math.ceil(math.log(high / low) / MEMBER_STEP) + 1)
    grid = np.geomspace(low, high, count)
    return np.concatenate([unit_density(kernel, omega[None, :], grid[:, None]) for kernel in kernels])


def _centre(losses: FloatArray, mu: float) -> float:
    """The t that solves Σ_j μ / (t − J_j) = 1: the best level for these weights."""
    top = float(losses.max())
    low, high = mu, mu * losses.size  # t − top lies between them
    for _ in range(60):
        middle = math.sqrt(low * high)
        if float((mu / (middle + (top - losses))).sum()) > 1.0:
            low = middle
        else:
            high = middle
    return top + high


def _barrier(problem: _Problem) -> tuple[FloatArray, FloatArray, int]:
    """Newton on min_t t − μ Σ log(t − J_j) − μ Σ log w_m over Σ w = 1, μ falling; duals p_j = μ / (t − J_j)."""
    size = problem.scales.shape[0]
    w = np.full(size, 1.0 / size)
    mu, steps = 1e-2, 0

    def value(weights: FloatArray) -> tuple[float, float, FloatArray]:
        losses = problem.losses(weights)
        t = _centre(losses, mu)
        return t - mu * float(np.log(t - losses).sum() + np.log(weights).sum()), t, losses

    while True:
        for _ in range(100):
            steps += 1
            before, t, losses = value(w)
            g = w @ problem.scales
            slack = t - losses
            dual = mu / slack
            gradients = -(problem.squares / g**2) @ problem.scales.T
            curvature = 2.0 * (problem.scales * ((dual @ problem.squares) / g**3)) @ problem.scales.T
            pull = (dual / slack) @ gradients
            hessian = np.zeros((size + 1, size + 1))
            hessian[:size, :size] = curvature + (gradients * (dual / slack)[:, None]).T @ gradients
            hessian[:size, :size] -= np.outer(pull, pull) / float((dual / slack).sum())  # t follows w
            hessian[np.arange(size), np.arange(size)] += mu / w**2
            hessian[:size, size] = hessian[size, :size] = 1.0
            slope = dual @ gradients - mu / w
            move = np.linalg.solve(hessian, np.append(-slope, 0.0))[:size]
            decrement = -float(slope @ move)
            shrink = float(np.min(np.where(move < 0, -w / np.minimum(move, -1e-300), np.inf)))
            fraction = min(1.0, 0.95 * shrink)
            while fraction > 1e-10 and value(w + fraction * move)[0] > before - 1e-4 * fraction * decrement:
                fraction /= 2
            if fraction > 1e-10:
                w = w + fraction * move
                w /= w.sum()
            if decrement < 1e-4 * mu or fraction <= 1e-10 or steps >= MOST_STEPS:
                break
        _, t, losses = value(w)
        dual = mu / (t - losses)
        p = dual / dual.sum()
        reached = 1.0 - problem.lower_bound(w, p) / float(losses.max())
        if reached <= GAP or steps >= MOST_STEPS or mu < 1e-11:
            return w, p, steps
        mu *= 0.2


def dictionary(low_s: float, high_s: float) -> FloatArray:
    """Candidate length scales, from a quarter of the class's shortest to sixteen times its longest."""
    count = math.ceil(math.log(high_s * 64.0 / low_s) / math.log(DICTIONARY_RATIO)) + 1
    return np.asarray(low_s / 4.0 * DICTIONARY_RATIO ** np.arange(count))


def _merged(scales: FloatArray, weights: FloatArray) -> FloatArray:
    """Neighbours that stand for one scale between them, replaced by it (four digits)."""
    groups = np.split(np.arange(scales.size), np.flatnonzero(scales[1:] > MERGE_RATIO * scales[:-1]) + 1)
    centres = [math.exp(float(weights[g] @ np.log(scales[g]) / weights[g].sum())) for g in groups]
    return np.array([float(f"{centre:.4g}") for centre in centres])


def _continuous_bound(
    squares: FloatArray, omega: FloatArray, low: float, high: float, g: FloatArray, p: FloatArray
) -> float:
    """φ² / sup D with the supremum over *every* length scale in [low, high]: −D'' ≤ 2D in log l."""
    q = p @ squares
    step = 0.01
    count = math.ceil(math.log(high / low) / step) + 1
    every = np.geomspace(low, high, count)
    steepest = max(
        float((unit_density("matern32", omega[None, :], part[:, None]) @ (q / g**2)).max())
        for part in np.array_split(every, max(1, count // 256))
    )
    return float((q / g).sum() ** 2 / (steepest / (1.0 - step**2 / 4.0)))


def design_ladder(kernels: Sequence[str], low_s: float, high_s: float) -> Solved[tuple[FloatArray, FloatArray]]:
    """Length scales and weights (six decimals, summing to 1) of the best ladder for a class.

    A fine dictionary is solved, neighbours are merged, the rest is solved again; ``lower_bound`` holds for every
    mixture of Matérn-3/2 scales from a quarter of the class's shortest to sixteen times its longest, and ``gap`` says
    what the short ladder and the rounding cost.
    """
    if not 0 < low_s < high_s < math.inf:
        raise InputError(f"The class runs from {low_s:g} s to {high_s:g} s.", "Give two increasing length scales.")
    start = time.perf_counter()
    candidates = dictionary(low_s, high_s)
    omega, weight = frequencies(float(candidates.min()), float(candidates.max()))
    squares = _members(kernels, low_s, high_s, omega) ** 2 * weight
    full = _Problem(squares, unit_density("matern32", omega[None, :], candidates[:, None]))
    w, p, steps = _barrier(full)
    bound = _continuous_bound(squares, omega, float(candidates[0]), float(candidates[-1]), w @ full.scales, p)
    heavy = w >= LEAST_WEIGHT
    kept = _merged(candidates[heavy], w[heavy])
    short = _Problem(squares, unit_density("matern32", omega[None, :], kept[:, None]))
    w, _, more = _barrier(short)
    w = np.round(w, 6)
    w[w.argmax()] += 1.0 - w.sum()
    w = np.round(w, 6)
    objective = float(short.losses(w).max())
    return Solved(
        value=(kept, w),
        status="converged" if (objective - bound) <= 0.01 * objective else "stopped",
        steps=steps + more,
        gap=(objective - bound) / objective,
        objective=objective,
        lower_bound=bound,
        seconds=time.perf_counter() - start,
    )
