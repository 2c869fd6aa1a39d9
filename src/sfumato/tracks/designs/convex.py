"""The best noise for any set of secrets, basic and compound, with a certified gap, in both directions.

``least_loss``: the least worst loss max_k λ_max(J_k)/e_k at a budget tr Γ = B. ``least_noise``: the least tr Γ with
λ_max(J_k) ≤ e_k. Both are convex in Γ (J_k is matrix-convex). One secret is closed form (`exact_designs`);
every point under a constant prior variance is closed form (Γ ∝ Σ, the floor 1/o [docs/derivations/tracks.md]);
otherwise `barrier`, or `first_order` where the secrets together cover too many points for it. Whatever found
the design, its losses are recomputed from the very covariance returned and the gap is to a proved lower bound
(`lower_bound`). Several priors at once make it minimax over a class.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, Solved, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.tracks.designs.barrier import Program, centre, union_size
from sfumato.tracks.designs.exact_designs import least_noise_covering, one_compound
from sfumato.tracks.designs.first_order import descend
from sfumato.tracks.designs.lower_bound import Multipliers, dual_terms
from sfumato.tracks.designs.noise_design import (
    NoiseDesign,
    Problem,
    checked_budget,
    checked_secrets,
    checked_target,
    just_enough,
    meet_targets,
    regression,
)
from sfumato.tracks.losses.certain_loss import losses_at_most
from sfumato.tracks.losses.gaussian_loss import checked_prior

LARGEST_UNION = 90
NUGGET = 1e-6


class _Best:
    """The best design and the best proof so far; a gap is between the two."""

    def __init__(self, problem: Problem, form: Literal["loss", "noise"], budget: float | None) -> None:
        self.problem, self.form, self.budget = problem, form, budget
        self.noise: FloatArray | None = None
        self.upper, self.lower = np.inf, 0.0
        self.multipliers: Multipliers = ()

    def offer(self, noise: FloatArray, upper: float) -> None:
        if upper < self.upper:
            self.noise, self.upper = noise, upper

    def prove(self, multipliers: Multipliers) -> None:
        terms = dual_terms(self.problem, multipliers)
        bound = terms.loss_at(self.budget) if self.budget is not None else terms.budget_for()
        if bound > self.lower:
            self.lower, self.multipliers = bound, multipliers

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.upper if np.isfinite(self.upper) else np.inf


def least_loss(
    priors: npt.ArrayLike | Sequence[npt.ArrayLike],
    secrets: Sequence[npt.ArrayLike],
    *,
    budget: float,
    targets: Sequence[float] | None = None,
    gap: float = 1e-6,
    nugget: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Solved[NoiseDesign]:
    """The noise of trace ``budget`` with the least max_k λ_max(J_k)/e_k; ``targets`` e_k weigh them (default 1)."""
    started = time.perf_counter()
    problem = _checked(priors, secrets, targets)
    prior, n = problem.priors[0], problem.points
    checked_budget(budget, prior)
    if _is_one_secret(problem):
        found = one_compound(prior, problem.secrets[0], budget=budget, nugget=nugget)
        return _over_target(found, float(problem.targets[0]), started)
    if _floor_applies(problem):
        floor = n / budget / float(problem.targets[0])
        noise, known = read_only(budget / n * prior / prior[0, 0]), read_only(np.full(n, n / budget))
        design = NoiseDesign(noise, problem.priors, problem.secrets, "prior-shaped", nugget, known_losses=known)
        return Solved(design, "exact", 0, 0.0, floor, floor, time.perf_counter() - started)
    best = _Best(problem, "loss", budget)
    search = _by_first_order if union_size(problem) > LARGEST_UNION else _by_interior_point
    return _finished(best, nugget, gap=gap, steps=search(best, gap, progress), started=started)


def least_noise(
    priors: npt.ArrayLike | Sequence[npt.ArrayLike],
    secrets: Sequence[npt.ArrayLike],
    *,
    targets: Sequence[float],
    gap: float = 1e-6,
    nugget: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Solved[NoiseDesign]:
    """The noise of least trace with λ_max(J_k) ≤ ``targets``[k] for every secret; the objective is its trace."""
    started = time.perf_counter()
    problem = _checked(priors, secrets, targets)
    prior, wanted = problem.priors[0], problem.targets
    for target in wanted:
        checked_target(float(target), prior)
    if _is_one_secret(problem):
        (secret,) = problem.secrets
        values, vectors = least_noise_covering(*regression(prior, secret), float(wanted[0]) * np.eye(len(secret)))
        noise, losses = meet_targets((vectors * values) @ vectors.T, problem)
        bound = dual_terms(problem, (vectors,)).budget_for()
        known = read_only(wanted) if losses is None else losses
        design = NoiseDesign(
            noise, problem.priors, problem.secrets, "convex", nugget, known_losses=known, proof=(vectors,)
        )
        gap = max((design.trace - bound) / design.trace, 0.0)
        return Solved(design, "exact", 1, gap, design.trace, bound, time.perf_counter() - started)
    if _floor_applies(problem):
        budget = problem.points / float(wanted[0])
        shaped = least_loss(prior, problem.secrets, budget=budget * (1 + 1e-15), nugget=nugget).value
        noise, losses = meet_targets(shaped.noise_covariance, problem)
        shaped = replace(shaped, noise_covariance=noise, known_losses=shaped.losses() if losses is None else losses)
        # Every Γ_ii ≥ 1/e, since Z_i alone reveals 1/Γ_ii: the trace n/e is the least there is.
        gap = max((shaped.trace - budget) / shaped.trace, 0.0)
        return Solved(shaped, "exact", 0, gap, shaped.trace, budget, time.perf_counter() - started)
    if union_size(problem) > LARGEST_UNION:
        raise InputError(
            f"The secrets cover {union_size(problem)} points; least noise for targets takes at most {LARGEST_UNION}.",
            "Give a budget instead of targets, or fewer secrets.",
        )
    best = _Best(problem, "noise", None)
    return _finished(best, nugget, gap=gap, steps=_by_interior_point(best, gap, progress), started=started)


def design_within(
    prior: npt.ArrayLike | Sequence[npt.ArrayLike],
    secrets: Sequence[npt.ArrayLike],
    *,
    budget: float,
    targets: Sequence[float],
    gap: float = 1e-4,
    nugget: float = 0.0,
) -> Solved[NoiseDesign]:
    """A design of trace at most ``budget`` meeting every target, or an error saying the least budget that works."""
    found = least_noise(prior, secrets, targets=targets, gap=gap, nugget=nugget)
    assert found.objective is not None
    if found.objective > budget * (1 + 1e-9):
        raise InputError(
            f"The targets cannot be met with a budget of {budget:.6g}.",
            f"The least budget that works is {found.objective:.6g} (at least {found.lower_bound or 0:.6g} is proved); "
            "raise the budget or the targets.",
        )
    return found


def _checked(
    priors: npt.ArrayLike | Sequence[npt.ArrayLike], secrets: Sequence[npt.ArrayLike], targets: Sequence[float] | None
) -> Problem:
    if isinstance(priors, list | tuple) and not priors:
        raise InputError("No prior was given.", "Give a covariance, or several at the same times.")
    several = isinstance(priors, list | tuple) and np.ndim(priors[0]) == 2
    covariances = tuple(checked_prior(p) for p in (priors if several else (priors,)))  # type: ignore[union-attr]
    if len({c.shape for c in covariances}) != 1:
        raise InputError("The priors have different numbers of points.", "Give covariances at the same times.")
    indices = checked_secrets(secrets, len(covariances[0]))
    wanted = np.ones(len(indices)) if targets is None else finite(targets, "The targets", dimensions=1)
    if wanted.shape != (len(indices),):
        raise InputError(f"{wanted.size} targets were given for {len(indices)} secrets.", "Give one per secret.")
    for target in wanted:
        positive(float(target), "A target loss")
    return Problem(covariances, indices, read_only(wanted))


def _is_one_secret(problem: Problem) -> bool:
    return len(problem.priors) == 1 and len(problem.secrets) == 1


def _floor_applies(problem: Problem) -> bool:
    """Every point alone, one prior variance, one target: noise shaped like the prior attains the floor exactly."""
    secrets, diagonal = problem.secrets, np.diag(problem.priors[0])
    every = len(problem.priors) == 1 and len(secrets) == problem.points and all(len(s) == 1 for s in secrets)
    every = every and np.unique(np.concatenate(secrets)).size == problem.points
    return bool(every and np.ptp(diagonal) <= 1e-12 * diagonal[0] and np.ptp(problem.targets) == 0)


def _by_interior_point(best: _Best, gap: float, progress: Callable[[float], None] | None) -> int:
    priors, n = best.problem.priors, best.problem.points
    unit = float(np.mean([np.mean(np.diag(p)) for p in priors]))  # work in units of the prior variance
    scaled = tuple(p / unit for p in priors)
    budget = None if best.budget is None else best.budget / unit
    program = Program(scaled, best.problem.secrets, best.problem.targets * unit, budget)
    if budget is None:
        spread = 1.0
        while program.start(spread * np.eye(n))[1] > 0.5:
            spread *= 2.0
        while spread > 1e-12 and program.start(spread / 2 * np.eye(n))[1] <= 0.5:
            spread /= 2.0
        m, _ = program.start(spread * np.eye(n))
        t, tau = 1.0, program.degree / (program.trace(m))
    else:
        shapes = [np.eye(n) * (budget / (2 * n)), sum(scaled) * (budget / (2 * np.trace(sum(scaled))))]
        m, t = min(
            (program.start(np.asarray(shape) + 1e-9 * budget / n * np.eye(n)) for shape in shapes), key=lambda s: s[1]
        )
        t *= 1.2
        tau = program.degree / t
    steps, idle = 0, 0
    while idle < 2:
        before = best.gap
        try:
            m, t, used = centre(program, m, t, tau)
        except np.linalg.LinAlgError:
            break
        steps += used
        _collect(best, program, m, t, tau, unit)
        if progress is not None:
            progress(best.gap)
        if best.gap <= gap:
            break
        # Early stages may prove nothing yet; later ones stop improving at the rounding of the barrier.
        idle = idle + 1 if best.gap > 0.9 * before and before < 0.5 else 0
        if tau > 1e30:
            break
        tau *= 10.0
    return steps


def _collect(best: _Best, program: Program, m: FloatArray, t: float, tau: float, unit: float) -> None:
    noise = program.noise(m) * unit
    try:
        if best.budget is not None:
            noise *= best.budget / float(np.trace(noise))
            best.offer(noise, best.problem.worst(noise))
        else:
            best.offer(*just_enough(noise, best.problem))
        step, step_t, _ = program.step(m, t, tau)
        for multipliers in (program.multipliers(m, t), program.multipliers(m, t, step, step_t)):
            best.prove(multipliers)
    except np.linalg.LinAlgError:
        return


def _by_first_order(best: _Best, gap: float, progress: Callable[[float], None] | None) -> int:
    assert best.budget is not None
    problem = best.problem
    for prior in problem.priors:  # noise shaped like a prior is a good design where most points are secrets
        shaped = prior * (best.budget / float(np.trace(prior)))
        best.offer(shaped, problem.worst(shaped))
    best.prove(_floor_multipliers(problem))

    def report(noise: FloatArray, multipliers: Multipliers) -> bool:
        best.offer(noise, best.problem.worst(noise))
        best.prove(multipliers)
        if progress is not None:
            progress(best.gap)
        return best.gap <= gap

    return descend(problem, best.budget, report)


def _floor_multipliers(problem: Problem) -> Multipliers:
    """X = e_i for every single time i (once, at its least target): the bound is then the floor Σ 1/e_i over B."""
    least: dict[int, int] = {}
    targets = problem.targets
    for k, secret in enumerate(problem.secrets):
        if len(secret) == 1 and (int(secret[0]) not in least or targets[k] < targets[least[int(secret[0])]]):
            least[int(secret[0])] = k
    chosen = {k: i for i, k in least.items()}
    factors = []
    for k in range(len(problem.priors) * len(problem.secrets)):
        x = np.zeros((problem.points, 1))
        if k in chosen:  # the first prior alone suffices
            x[chosen[k], 0] = 1.0
        factors.append(x)
    return tuple(factors)


def _finished(best: _Best, nugget: float, *, gap: float, steps: int, started: float) -> Solved[NoiseDesign]:
    problem = best.problem
    priors, secrets, targets = problem.priors, problem.secrets, problem.targets
    method = "convex" if len(priors) == 1 else "minimax"
    if best.noise is None:
        raise InputError(
            "No design could be computed for these secrets.",
            f"The prior is too ill-conditioned: add a nugget (the convex designs use {NUGGET:g} of the variance).",
        )
    if best.form == "noise":
        noise, losses = meet_targets(best.noise, problem)
        upper = float(np.trace(noise))
    else:
        noise = read_only((best.noise + best.noise.T) / 2)
        certain = losses_at_most(priors, noise, secrets)
        losses = read_only(certain) if np.all(certain <= problem.losses(noise) * (1 + 1e-6)) else None
        upper = best.upper if losses is None else float(np.max(losses / targets))
    design = NoiseDesign(noise, priors, secrets, method, nugget, known_losses=losses, proof=best.multipliers)
    reached = max((upper - best.lower) / upper, 0.0)
    status: Literal["converged", "stopped"] = "converged" if reached <= gap else "stopped"
    return Solved(design, status, steps, reached, upper, best.lower, time.perf_counter() - started)


def _over_target(found: Solved[NoiseDesign], target: float, started: float) -> Solved[NoiseDesign]:
    """A closed form as the answer of the convex program: its objective is over the target."""
    assert found.objective is not None
    assert found.lower_bound is not None
    return replace(
        found,
        value=replace(found.value, method="convex"),
        objective=found.objective / target,
        lower_bound=found.lower_bound / target,
        seconds=time.perf_counter() - started,
    )
