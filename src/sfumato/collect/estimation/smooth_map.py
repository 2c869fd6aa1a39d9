"""A map that is smooth in logarithms: maximum a posteriori under independent steps of log density between neighbours.

    maximise   sum_s sum_y n_s(y) log (theta C_s)(y)  -  (strength / 2) sum_{i ~ j} (log theta_i - log theta_j)^2

over neighbouring cells i ~ j. Densities of a city vary by factors, not by amounts, so a step between neighbours is
Gaussian in the logarithm, with standard deviation 1 / sqrt(strength): 0.3 allows a factor of six either way. Nothing is
tuned to the data at hand. It helps where reports are few; :func:`blended_map` averages it with the early-stopped one.

*Maps that change from cycle to cycle* (:func:`changed_map`): each is shrunk towards the average of all, as far as its
reports do not object.

    maximise   sum_y n_k(y) log (theta_k C_k)(y)
               -  (stiffness / 2) [ sum_x delta(x)^2 + sum_{i ~ j} (delta_i - delta_j)^2 ]

over delta = log theta_k - log theta_average, for every class k of cycles: each cycle by itself, or what the campaign
declared (weekday and weekend, hours). How stiff is not tuned but measured: if delta varied with variance 1/stiffness,
the counts of class k would miss the average's prediction q by

    sum_y (n_k - n q)^2 / (n q)  ~  cells - 1  +  (n / stiffness) sum_x theta(x)^2 B(x, x),      B = C diag(1/q) C',

so the excess over cells - 1 says it. Without excess the class shows the average; a pooled map is an *average over
time* and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sfumato.base.arrays import FloatArray, positive, read_only
from sfumato.base.errors import InputError
from sfumato.collect.estimation.joint import Estimate, joint, with_certificate
from sfumato.collect.estimation.tally import Likelihood, Tally, alike, checked_tallies, merge, stacked_weights
from sfumato.collect.grids.distance_kernel import grid_kernel
from sfumato.collect.grids.grid_channel import GridChannel

DEFAULT_STRENGTH = 0.3
_FROM_GROUPS_ABOVE, _GROUPS, _ROUNDS, _STEPS_A_ROUND = 20_000, 6, 8, 60
"""Cells times distinct channels above which the search starts from the map of so few groups of channels."""
_WORTH_NATS = 1e-4
Objective = Callable[[FloatArray], tuple[float, FloatArray]]
_STIFFEST = 1e6


def log_smooth(
    tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]],
    *,
    strength: float = DEFAULT_STRENGTH,
    most_steps: int = 3_000,
) -> Estimate:
    """The map with the largest penalised likelihood, by limited-memory quasi-Newton steps in log density."""
    began = time.perf_counter()
    filled = merge(checked_tallies(tallies))
    positive(strength, "strength")
    if most_steps < 1:
        raise InputError(f"most_steps is {most_steps}.", "Allow at least one step.")
    start = np.zeros(filled[0].channel.cells)
    if len(filled) * start.size > _FROM_GROUPS_ABOVE:
        start = _by_groups(filled, start, strength, most_steps)
    log_density, steps = _climbed(_objective(filled, strength), start, most_steps)
    theta = to_map(log_density)[:, None]
    return with_certificate(
        Likelihood.of(filled), theta, stacked_weights(filled), filled, steps, f"smooth {strength:g}", began
    )


def _by_groups(tallies: Sequence[Tally], start: FloatArray, strength: float, most_steps: int) -> FloatArray:
    """Nearly the log density of all these channels, by climbing with a few groups of them.

    The mean channels of the groups bend the likelihood alike but slope differently: their slope is put right at where
    the last climb ended, and they climb again. It ends when that no longer helps.
    """
    exact, rough = _objective(tallies, strength), _objective(alike(tallies, most=_GROUPS), strength)
    best, lowest = start, np.inf
    correction = np.zeros_like(start)
    for round_ in range(_ROUNDS):
        moved, _ = _climbed(rough, best, most_steps if round_ == 0 else _STEPS_A_ROUND, correction)
        value, slope = exact(moved)
        if not value < lowest:
            break
        correction = slope - rough(moved)[1]
        best, lowest, gained = moved, value, lowest - value
        if gained < _WORTH_NATS:
            break
    return best


def _objective(tallies: Sequence[Tally], strength: float) -> Objective:
    """Minus the penalised likelihood of a log density, and its slope."""
    model, weights = Likelihood.of(tallies), stacked_weights(tallies)
    reports = sum(tally.total for tally in tallies)
    shape = tallies[0].channel.grid.shape

    def objective(log_density: FloatArray) -> tuple[float, FloatArray]:
        theta = to_map(log_density)
        g, level = model.step(theta[:, None], weights)
        penalty, slope = roughness(log_density.reshape(shape))
        value = -reports * float(level[0]) + 0.5 * strength * penalty
        return value, -reports * theta * (g[:, 0] - 1.0) + strength * slope.ravel()

    return objective


def _climbed(
    objective: Objective, start: FloatArray, most_steps: int, correction: FloatArray | None = None
) -> tuple[FloatArray, int]:
    """Where ``objective`` (plus a slope) is least, and how many steps it took from ``start``."""

    def with_correction(log_density: FloatArray) -> tuple[float, FloatArray]:
        value, slope = objective(log_density)
        return (value, slope) if correction is None else (value + float(correction @ log_density), slope + correction)

    found = minimize(
        with_correction,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most_steps, "maxfun": 2 * most_steps, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-6},
    )
    return np.asarray(found.x), int(found.nit)


def blended_map(tallies: Iterable[Tally | tuple[GridChannel, npt.ArrayLike]]) -> Estimate:
    """The average of the early-stopped joint estimate and :func:`log_smooth`."""
    filled = merge(checked_tallies(tallies))
    return blend(filled, joint(filled), log_smooth(filled))


def blend(tallies: Iterable[Tally], early: Estimate, smooth: Estimate) -> Estimate:
    """The same from two estimates of these tallies that are known already."""
    began = time.perf_counter()
    filled = merge(checked_tallies(tallies))
    theta = read_only(0.5 * (early.probabilities + smooth.probabilities))
    model, weights = Likelihood.of(filled), stacked_weights(filled)
    return with_certificate(model, theta[:, None], weights, filled, early.iterations, "blended", began)


def to_map(log_density: FloatArray) -> FloatArray:
    """The map of a log density, which may be off by a constant."""
    theta: FloatArray = np.exp(log_density - log_density.max())
    theta /= theta.sum()
    return theta


def roughness(field: FloatArray) -> tuple[float, FloatArray]:
    """Sum of squared steps between neighbours, and half its gradient."""
    down, right = np.diff(field, axis=0), np.diff(field, axis=1)
    slope = np.zeros_like(field)
    slope[1:] += down
    slope[:-1] -= down
    slope[:, 1:] += right
    slope[:, :-1] -= right
    return float(np.sum(down**2) + np.sum(right**2)), slope


def changed_map(tallies: Sequence[Tally], average: Estimate) -> Estimate:
    """The map of these reports, of one class of cycles, held to the ``average`` as far as they do not object."""
    filled = merge([tally for tally in tallies if tally.total])
    if not filled:
        return average
    return held_to(filled, average.probabilities, measured_stiffness(filled, average.probabilities))


def measured_stiffness(tallies: Sequence[Tally], average: FloatArray) -> float:
    """1 / the variance of the change of log density that the excess of Pearson's statistic asks for."""
    excess, rate = 0.0, 0.0
    for tally in tallies:
        channel, n = tally.channel, float(tally.total)
        q = channel.report_distribution(average)
        enough = n * q >= 1.0  # rarer reports tell nothing of the variance and have heavy tails
        if not enough.any():
            continue
        excess += float(np.sum((tally.counts[enough] - n * q[enough]) ** 2 / (n * q[enough]))) - int(enough.sum()) + 1
        squared = grid_kernel(channel.grid, 2 * channel.beta)  # (exp(-beta d))^2
        by_place = squared.product(np.where(enough, channel.output_weights**2 / np.maximum(q, 1e-300), 0.0))
        rate += n * float(np.sum((average / channel.normaliser()) ** 2 * by_place))
    if excess <= 0 or rate / excess >= _STIFFEST:
        return _STIFFEST
    return rate / excess


def held_to(tallies: Sequence[Tally], average: FloatArray, stiffness: float) -> Estimate:
    """The map of these reports, its log density held to that of ``average``."""
    began = time.perf_counter()
    model, weights = Likelihood.of(tallies), stacked_weights(tallies)
    if stiffness >= _STIFFEST:
        return with_certificate(model, average[:, None], weights, tallies, 0, "average", began)
    reports = sum(tally.total for tally in tallies)
    shape = tallies[0].channel.grid.shape
    base = np.log(np.maximum(average, 1e-12 / average.size))

    def objective(delta: FloatArray) -> tuple[float, FloatArray]:
        theta = to_map(base + delta)
        g, level = model.step(theta[:, None], weights)
        penalty, slope = roughness(delta.reshape(shape))
        value = -reports * float(level[0]) + 0.5 * stiffness * (float(delta @ delta) + penalty)
        return value, -reports * theta * (g[:, 0] - 1.0) + stiffness * (delta + slope.ravel())

    found = minimize(
        objective,
        np.zeros(base.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 1000, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-5},
    )
    theta = to_map(base + np.asarray(found.x))
    return with_certificate(model, theta[:, None], weights, tallies, int(found.nit), f"held {stiffness:.3g}", began)
