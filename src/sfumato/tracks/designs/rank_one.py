"""The best noise for one time alone, in closed form: one random number moves the whole trace along one shape.

With h = Σ_{:s}/Σ_ss and P = Σ - hΣ_{s:}, among all Γ ⪰ 0 with tr Γ = B the loss hᵀ(P+Γ)⁻¹h is least at

    Γ = B vvᵀ/‖v‖²,   v = (P + B·I)⁻¹h,   loss hᵀv.

Proof: for every v, hᵀ(P+Γ)⁻¹h ≥ 2hᵀv - vᵀPv - vᵀΓv ≥ 2hᵀv - vᵀPv - B‖v‖², and the right side is hᵀ(P+B·I)⁻¹h at
this v; the Γ above attains it, because (P+Γ)v = Pv + Bv = h. It is what independent noise of variance B at *every*
point would give, at 1/n of its cost. [Meehan2021, App. 7.3.1] takes the noise at s independent of the rest (`block`):
then Γ_uu = γ vvᵀ/‖v‖² with v = (C+γI)⁻¹a, a = Σ_us/Σ_ss, C = Σ_{u|s}, noise B-γ at s, and γ by a convex search.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import minimize_scalar

from sfumato.base.arrays import FloatArray, Solved, positive, read_only
from sfumato.base.errors import InputError, NotConverged
from sfumato.base.randomness import randomness
from sfumato.tracks.designs.covariance_products import CovarianceProduct
from sfumato.tracks.designs.noise_design import (
    NoiseDesign,
    checked_budget,
    checked_prior,
    checked_secrets,
    regression,
)


def joint(prior: npt.ArrayLike, secret: int, *, budget: float, nugget: float = 0.0) -> Solved[NoiseDesign]:
    """The least loss for one time at ``budget`` = tr Γ, over every noise covariance."""
    started = time.perf_counter()
    covariance, index = _one(prior, secret, budget)
    slopes, rest = regression(covariance, index)
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
    covariance, index = _one(prior, secret, budget)
    slopes, rest = regression(covariance, index)
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


def _one(prior: npt.ArrayLike, secret: int, budget: float) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    covariance = checked_prior(prior)
    (index,) = checked_secrets([np.array([secret])], len(covariance))
    checked_budget(budget, covariance)
    return covariance, index


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


def block_long(
    prior: CovarianceProduct,
    secret: int,
    *,
    budget: float,
    lanczos_steps: int = 60,
    tolerance: float = 1e-10,
) -> tuple[float, float]:
    """The published block form's (loss, γ) for a long trace: one Lanczos run from a gives aᵀ(C+γI)⁻¹a for every γ."""
    column = prior.column(secret)
    h = column / column[secret]
    a = h.copy()
    a[secret] = 0.0

    def inner_times(x: FloatArray) -> FloatArray:
        image = prior.times_vector(x) - h * float(column @ x)
        image[secret] = 0.0
        return np.asarray(image)

    size = float(np.linalg.norm(a))
    basis = [a / size]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(lanczos_steps, prior.count - 1)):
        image = inner_times(basis[-1])
        diagonal.append(float(basis[-1] @ image))
        image -= diagonal[-1] * basis[-1]
        for q in basis:  # full reorthogonalisation: the basis is short
            image -= q * float(q @ image)
        length = float(np.linalg.norm(image))
        if length <= tolerance * abs(diagonal[0]):
            break
        beside.append(length)
        basis.append(image / length)
    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    weights = (size * vectors[0]) ** 2
    values = np.maximum(values, 0.0)

    def loss_with(share: float) -> float:
        return 1.0 / (budget * (1 - share)) + float(np.sum(weights / (values + budget * share)))

    found = minimize_scalar(loss_with, bounds=(1e-12, 1 - 1e-12), method="bounded", options={"xatol": 1e-13})
    return loss_with(float(found.x)), budget * float(found.x)
