"""Designs in closed form: the best noise for one time and for one compound secret.

*One time.* One random number moves the whole trace along one shape. With h = Σ_{:s}/Σ_ss and P = Σ - hΣ_{s:}, among all
Γ ⪰ 0 with tr Γ = B the loss hᵀ(P+Γ)⁻¹h is least at

    Γ = B vvᵀ/‖v‖²,   v = (P + B·I)⁻¹h,   loss hᵀv.

Proof: for every v, hᵀ(P+Γ)⁻¹h ≥ 2hᵀv - vᵀPv - vᵀΓv ≥ 2hᵀv - vᵀPv - B‖v‖², and the right side is hᵀ(P+B·I)⁻¹h at
this v; the Γ above attains it, because (P+Γ)v = Pv + Bv = h. It is what independent noise of variance B at *every*
point would give, at 1/n of its cost. [Meehan2021, App. 7.3.1] takes the noise at s independent of the rest (`block`):
then Γ_uu = γ vvᵀ/‖v‖² with v = (C+γI)⁻¹a, a = Σ_us/Σ_ss, C = Σ_{u|s}, noise B-γ at s, and γ by a convex search.

*One compound secret.* By a Schur complement J_S ⪯ T holds exactly when Γ ⪰ HT⁻¹Hᵀ - P, so the least noise (in trace)
that keeps J_S ⪯ T is the positive part of one matrix:

    Γ = (HT⁻¹Hᵀ - P)₊,   tr Γ = Σ_j c_j,   c_j its positive eigenvalues (|S| of them), g_j their eigenvectors:

Γ ⪰ N and Γ ⪰ 0 give tr Γ ≥ ⟨Γ, Π⟩ ≥ ⟨N, Π⟩ = tr N₊ for Π the projector onto the positive eigenvectors of N. With
T = t·I this is the least worst loss t at the budget Σc_j(t), so a budget is met by one root in t. (For one time N₊ has
rank one and this is the design above; for a mirror-symmetric pair the g_j are symmetric and antisymmetric.) The dual
that proves optimality is D = Π. No symmetry, search over shapes or SDP is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from sfumato.base.arrays import FloatArray, IntArray, Solved, positive, read_only
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.randomness import randomness
from sfumato.tracks.designs.covariance_products import CovarianceProduct
from sfumato.tracks.designs.lower_bound import dual_terms
from sfumato.tracks.designs.noise_design import (
    NoiseDesign,
    Problem,
    checked_budget,
    checked_secrets,
    regression,
)
from sfumato.tracks.losses.gaussian_loss import checked_prior


def joint(prior: npt.ArrayLike, secret: int, *, budget: float, nugget: float = 0.0) -> Solved[NoiseDesign]:
    """The least loss for one time at ``budget`` = tr Γ, over every noise covariance."""
    started = time.perf_counter()
    covariance, index, slopes, rest = _one(prior, secret, budget)
    h = slopes[:, 0]
    v = np.linalg.solve(rest + budget * np.eye(len(h)), h)
    loss = float(h @ v)
    noise = read_only(budget * np.outer(v, v) / (v @ v))
    known = read_only([loss])
    design = NoiseDesign(
        noise, (covariance,), (index,), "joint", nugget, known_losses=known, proof=(read_only(v[:, None]),)
    )
    return Solved(design, "exact", 1, 0.0, objective=loss, lower_bound=loss, seconds=time.perf_counter() - started)


def block(prior: npt.ArrayLike, secret: int, *, budget: float, nugget: float = 0.0) -> Solved[NoiseDesign]:
    """The least loss when the noise at the secret must be independent of the rest, as published."""
    started = time.perf_counter()
    covariance, index, slopes, rest = _one(prior, secret, budget)
    others = np.setdiff1d(np.arange(len(covariance)), index)
    if others.size == 0:
        return joint(covariance, secret, budget=budget, nugget=nugget)
    spectrum, vectors = np.linalg.eigh(rest[np.ix_(others, others)])
    spectrum = np.maximum(spectrum, 0.0)
    a = vectors.T @ slopes[others, 0]
    squares = a * a

    def loss_with(share: float) -> float:
        told = np.where(squares > 0, squares, 0.0) / np.where(squares > 0, spectrum + budget * share, 1.0)
        return float(1.0 / (budget * (1 - share)) + np.sum(told))

    found = minimize_scalar(loss_with, bounds=(1e-12, 1 - 1e-12), method="bounded", options={"xatol": 1e-13})
    gamma = budget * float(found.x)
    v = vectors @ (a / (spectrum + gamma))
    noise = np.zeros_like(covariance)
    if v @ v > 0:
        noise[np.ix_(others, others)] = gamma * np.outer(v, v) / (v @ v)
    else:  # nothing else tells of the secret: all noise where it is
        gamma = 0.0
    noise[index[0], index[0]] = budget - gamma
    loss = loss_with(gamma / budget)
    design = NoiseDesign(read_only(noise), (covariance,), (index,), "block", nugget, known_losses=read_only([loss]))
    return Solved(design, "exact", int(found.nfev), objective=loss, seconds=time.perf_counter() - started)


def _one(
    prior: npt.ArrayLike, secret: npt.ArrayLike, budget: float
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Σ, the indices S of one secret, H and P, all checked."""
    covariance = checked_prior(prior)
    (index,) = checked_secrets([secret], len(covariance))
    checked_budget(budget, covariance)
    return covariance, index, *regression(covariance, index)


@dataclass(frozen=True, slots=True, eq=False)
class LongRankOne:
    """Rank-one noise plus a white floor for a trace too long for matrices: Γ = weight·vvᵀ + floor·I."""

    direction: FloatArray
    weight: float
    floor: float
    secret: int
    loss: float

    @property
    def trace(self) -> float:
        """tr Γ."""
        return self.weight + self.floor * self.direction.size

    def release(self, positions: npt.ArrayLike, *, rng: int | np.random.Generator | None = None) -> FloatArray:
        """``positions``, (n,), with one draw of the noise added."""
        source = randomness(rng)
        shared = float(source.normals(1)[0])
        own = source.normals(self.direction.size)
        noise = np.sqrt(self.weight) * shared * self.direction + np.sqrt(self.floor) * own
        return np.asarray(np.asarray(positions, dtype=np.float64) + noise)


def joint_long(
    prior: CovarianceProduct,
    secret: int,
    *,
    budget: float,
    tolerance: float = 1e-9,
    floor_share: float = 1e-6,
    max_steps: int = 2000,
) -> Solved[LongRankOne]:
    """:func:`joint` by conjugate gradients on products Σx; a share ``floor_share`` of the budget is white.

    The white floor f makes the loss certain: with (P+Γ)v = h - r for the v actually used, the true loss J satisfies
    |J - hᵀv| ≤ √J·‖r‖/√f. The lower bound is 2hᵀv - vᵀPv - B‖v‖², valid for every v (whole budget B, no floor).
    """
    started = time.perf_counter()
    positive(budget, "budget")
    if not 0 <= secret < prior.count:
        raise InputError(f"The secret index {secret} lies outside 0 .. {prior.count - 1}.", "Indices count from 0.")
    column = prior.column(secret)
    h = column / column[secret]

    def rest_times(x: FloatArray) -> FloatArray:
        return np.asarray(prior.times_vector(x) - h * float(column @ x))

    floor = floor_share * budget / prior.count
    weight = budget - floor * prior.count
    v, steps = conjugate_gradients(lambda x: rest_times(x) + (floor + weight) * x, h, tolerance, max_steps)
    shape = v / np.linalg.norm(v)
    residual = h - (rest_times(v) + floor * v + weight * shape * float(shape @ v))
    slack = float(np.linalg.norm(residual)) / np.sqrt(floor)
    value = float(h @ v)
    root = (slack + np.sqrt(slack * slack + 4 * value)) / 2
    loss = float(root * root)
    bound = 2 * value - float(v @ rest_times(v)) - budget * float(v @ v)
    gap = (loss - bound) / loss
    design = LongRankOne(read_only(shape), weight, floor, secret, loss)
    status: Literal["converged", "stopped"] = "converged" if gap < 1e-3 else "stopped"
    return Solved(design, status, steps, gap, loss, bound, time.perf_counter() - started)


def conjugate_gradients(
    times_vector: Callable[[FloatArray], FloatArray], right: FloatArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, int]:
    """x with ‖right - Ax‖ ≤ tolerance·‖right‖ for a positive definite A; fails loudly."""
    x = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    size = float(residual @ residual)
    target = tolerance * tolerance * size
    for step in range(1, max_steps + 1):
        image = times_vector(direction)
        along = size / float(direction @ image)
        x += along * direction
        residual -= along * image
        new_size = float(residual @ residual)
        if new_size <= target:
            return x, step
        direction = residual + (new_size / size) * direction
        size = new_size
    raise NotConverged(
        f"Conjugate gradients stopped after {max_steps} steps.", "Raise the budget, the nugget or the number of steps."
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
    covariance, index, slopes, rest = _one(prior, secret, budget)
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
    terms = dual_terms(Problem((covariance,), (index,), np.ones(1)), (vectors,))
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
    covariance, index, slopes, rest = _one(prior, secret, budget)
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
