"""The mechanisms of [Meehan2021] as published: baselines for ours, with their own bounds beside the exact loss.

SDP_A (Sec. 4, App. 7.3.1) takes the noise at the secret white and independent of the rest, G_S ~ N(0, σ_s²I), and
replaces the inverse of ÃᵀB̃Ã by Ã⁺B̃⁻¹Ã⁺ᵀ with the left inverse of Ã = [I; Σ_usΣ_ss⁻¹]:

    max β  s.t.  Ã⁺(Γ + diag(0, Σ_u|s))Ã⁺ᵀ ⪰ βI,  Γ ⪰ 0,  tr Γ ≤ B.

SDP_B (App. 7.3.2): least tr Γ with Γ ⪰ Γ_i for every given Γ_i. Multiple Secrets (Alg. 1): SDP_B of the SDP_A designs,
each with the whole budget, so the trace that results varies. The authors solved scaled problems for the solver's sake
and divided back; so do we (``scale``). Independence at the
secret has 1.6 to 1.8 x the loss of the optimum, SDP_A as coded 2.0 to 3.5 x (``sfumato reproduce cip-programs``).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, positive, read_only
from sfumato.base.errors import MissingExtra, NotConverged
from sfumato.tracks.designs.noise_design import (
    NoiseDesign,
    checked_budget,
    checked_secrets,
    regression,
)
from sfumato.tracks.losses.gaussian_loss import checked_prior

Status = Literal["exact", "converged", "stopped"]
TOLERANCE = 1e-8
"""Of the solver for SDP_A: at its usual one (1e-4) a change of 1e-5 in l moves a smooth design by a third."""


def uniform(
    prior: npt.ArrayLike, secrets: Sequence[npt.ArrayLike], *, budget: float, nugget: float = 0.0
) -> NoiseDesign:
    """Independent noise, the same everywhere."""
    covariance = checked_prior(prior)
    n = len(covariance)
    noise = read_only(checked_budget(budget, covariance) / n * np.eye(n))
    return NoiseDesign(noise, (covariance,), checked_secrets(secrets, n), "uniform", nugget)


def concentrated_noise(
    prior: npt.ArrayLike, secrets: Sequence[npt.ArrayLike], *, budget: float, nugget: float = 0.0
) -> NoiseDesign:
    """Independent noise at the secret times only, the whole budget shared equally among them."""
    covariance = checked_prior(prior)
    indices = checked_secrets(secrets, len(covariance))
    noise = np.zeros_like(covariance)
    protected = np.unique(np.concatenate(indices))
    noise[protected, protected] = checked_budget(budget, covariance) / protected.size
    return NoiseDesign(read_only(noise), (covariance,), indices, "concentrated", nugget)


def sdp_a(
    prior: npt.ArrayLike,
    secret: npt.ArrayLike,
    *,
    budget: float,
    nugget: float = 0.0,
    scale: float | None = None,
    tolerance: float | None = TOLERANCE,
) -> Solved[NoiseDesign]:
    """SDP_A for one secret, basic or compound, by cvxpy and SCS; the trace is rescaled to ``budget`` exactly.

    ``scale``: the authors' stabiliser; they used 10 for basic secrets and 1000 for compound ones. ``tolerance``: the
    solver's; None is its usual one, as published, with which a smooth compound secret's design is solver noise. The
    status is the solver's: ``stopped`` where it calls its own answer inaccurate.
    """
    cvxpy = _cvxpy()
    started = time.perf_counter()
    covariance = checked_prior(prior)
    (index,) = checked_secrets([secret], len(covariance))
    checked_budget(budget, covariance)
    if tolerance is not None:
        positive(tolerance, "tolerance", at_most=1.0)
    if scale is not None:
        positive(scale, "scale", at_most=1e12)
    times = scale or (10.0 if len(index) == 1 else 1000.0)
    slopes, rest = regression(covariance, index)
    order = np.concatenate([index, np.setdiff1d(np.arange(len(covariance)), index)])
    left_inverse = np.linalg.lstsq(slopes[order], np.eye(len(covariance)), rcond=None)[0]
    inner = rest[np.ix_(order, order)]
    total = cvxpy.Variable(covariance.shape, symmetric=True)
    worst = cvxpy.Variable()
    problem = cvxpy.Problem(
        cvxpy.Maximize(worst),
        [
            worst >= 0,
            left_inverse @ total @ left_inverse.T >> worst * np.eye(len(index)),
            total >> inner,
            cvxpy.trace(total) <= np.trace(inner) + budget * times,
        ],
    )
    status, steps = _run(problem, cvxpy, tolerance)
    found = (np.asarray(total.value) - inner) / times
    noise = np.zeros_like(covariance)
    size = len(index)
    noise[np.ix_(order[size:], order[size:])] = _semidefinite(found[size:, size:])
    noise[index, index] = max(float(np.mean(np.diag(found)[:size])), 0.0)
    noise *= budget / np.trace(noise)
    design = NoiseDesign(read_only((noise + noise.T) / 2), (covariance,), (index,), "published", nugget)
    return Solved(design, status, steps, seconds=time.perf_counter() - started)


def sdp_a_basic(prior: npt.ArrayLike, secret: int, *, budget: float, nugget: float = 0.0) -> NoiseDesign:
    """What SDP_A returns for one time, in closed form: with ã = [1; a], a = Σ_us/Σ_ss, its optimum is B·ããᵀ/‖ã‖²,
    and dropping the correlation with the secret leaves B/‖ã‖² there and B·aaᵀ/‖ã‖² elsewhere."""
    covariance = checked_prior(prior)
    (index,) = checked_secrets([np.array([secret])], len(covariance))
    slopes, _ = regression(covariance, index)
    a = slopes[:, 0].copy()
    noise = checked_budget(budget, covariance) / float(a @ a) * np.outer(a, a)
    noise[secret, :] = 0.0
    noise[:, secret] = 0.0
    noise[secret, secret] = budget / float(a @ a)
    return NoiseDesign(read_only(noise), (covariance,), (index,), "published", nugget)


def sdp_a_printed(prior: npt.ArrayLike, secret: int, *, budget: float, nugget: float = 0.0) -> NoiseDesign:
    """SDP_A for one time as [Meehan2021, App. 7.3.1] prints it, in closed form: the optimum is at a corner.

    With the block-diagonal B̃⁻¹ = diag(σ_s², Σ_u|s + Γ_uu) the objective is (σ_s² + aᵀ(Σ_u|s + Γ_uu)a)/‖ã‖⁴, linear in
    the noise: the whole budget goes to the secret where ‖a‖² < 1, and to aaᵀ elsewhere, nothing to the secret, where
    ‖a‖² > 1. The authors' code, :func:`sdp_a`, takes B̃⁻¹ unstructured instead.
    """
    covariance = checked_prior(prior)
    (index,) = checked_secrets([np.array([secret])], len(covariance))
    slopes, _ = regression(covariance, index)
    a = slopes[:, 0].copy()
    a[secret] = 0.0
    size = float(a @ a)
    noise = np.outer(a, a) / size if size > 1 else np.zeros_like(covariance)
    noise[secret, secret] = 0.0 if size > 1 else 1.0
    noise *= checked_budget(budget, covariance)
    return NoiseDesign(read_only(noise), (covariance,), (index,), "published", nugget)


def sdp_b(covariances: Sequence[FloatArray], *, scale: float = 1.0) -> Solved[FloatArray]:
    """The covariance of least trace that is ⪰ each of ``covariances``, by cvxpy and SCS."""
    cvxpy = _cvxpy()
    above = cvxpy.Variable(covariances[0].shape, symmetric=True)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(above)), [above >> scale * c for c in covariances])
    status, steps = _run(problem, cvxpy, None)
    found = _semidefinite(np.asarray(above.value) / scale)
    # SCS meets constraints to its tolerance only; the published code shipped that. Lift it so that they truly hold.
    lack = max(float(np.linalg.eigvalsh(c - found)[-1]) for c in covariances)
    return Solved(found + max(lack, 0.0) * np.eye(len(found)), status, steps)


def multiple_secrets(
    prior: npt.ArrayLike, secrets: Sequence[npt.ArrayLike], *, budget: float, nugget: float = 0.0
) -> Solved[NoiseDesign]:
    """Algorithm 1: SDP_A for each secret with the whole ``budget``, then SDP_B; the resulting trace is larger."""
    started = time.perf_counter()
    covariance = checked_prior(prior)
    indices = checked_secrets(secrets, len(covariance))
    parts: list[FloatArray] = []
    stopped = False
    for s in indices:
        if len(s) == 1:
            parts.append(sdp_a_basic(covariance, int(s[0]), budget=budget).noise_covariance)
        else:
            one = sdp_a(covariance, s, budget=budget)
            stopped |= one.status == "stopped"
            parts.append(one.value.noise_covariance)
    above = sdp_b(parts)
    design = NoiseDesign(read_only(above.value), (covariance,), indices, "published", nugget)
    status: Status = "stopped" if stopped else above.status
    return Solved(design, status, above.steps, seconds=time.perf_counter() - started)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise MissingExtra("cvxpy", "design") from error
    return cvxpy


def _run(problem: Any, cvxpy: Any, tolerance: float | None) -> tuple[Status, int]:
    """The solver's own word on its answer, and its iterations."""
    options: dict[str, float] = {}
    if tolerance is not None:
        options = {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": 50_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns of what the status already says
        problem.solve(solver=cvxpy.SCS, **options)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise NotConverged(f"The published SDP ended as '{problem.status}'.", "Add a nugget or change the scale.")
    return ("converged" if problem.status == "optimal" else "stopped"), int(problem.solver_stats.num_iters or 0)


def _semidefinite(matrix: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
