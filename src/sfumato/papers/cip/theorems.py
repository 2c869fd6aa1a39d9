"""The theorems of [Meehan2021] as functions, each beside the exact number for Gaussian noise that it bounds.

Notation: prior Σ, noise Γ, secret S, the other points U; A = Σ_USΣ_SS⁻¹, C = Σ_UU - AΣ_SU. Losses are per squared unit
of the positions: multiply by the squared radius and by λ/2 for a Rényi divergence of order λ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from sfumato.base.arrays import FloatArray, finite, from_zero, positive
from sfumato.base.errors import InputError
from sfumato.papers.cip.several_moments import compound_loss_bound
from sfumato.tracks.losses.gaussian_loss import checked_indices, checked_pair, loss_matrix

# --------------------------------------------------------------------------- Theorem 3.1


def prior_posterior_gap(epsilon: float, *, order: float, delta: float) -> float:
    """ε' = ε + log(1/δ)/(λ-1) [Meehan2021, Thm 3.1]: log odds move up, or down, by more than ε': δ at most for each."""
    if not order > 1 or not 0 < delta < 1:
        raise InputError(f"order is {order:g} and delta {delta:g}.", "They need order > 1 and 0 < delta < 1.")
    return from_zero(epsilon, "epsilon") - math.log(delta) / (order - 1)


def two_sided_mechanism(epsilon: float, *, order: float, delta: float) -> FloatArray:
    """Reports of two secrets, (2, 3): Rényi divergence ε either way, log odds beyond ε' either way (erratum 23).

    Each side has nearly δ, as Lemma 7.1 allows; both together have nearly δ(1 + e^-ε').
    """
    beyond = prior_posterior_gap(positive(epsilon, "epsilon"), order=order, delta=delta) * (1 + 1e-12)
    if not order * beyond <= 700:
        raise InputError(
            f"Odds of e^{beyond:g} to the power {order:g} are beyond a double.", "Take less epsilon or order."
        )
    odds = math.exp(-beyond)
    tail = math.expm1((order - 1) * epsilon) / (math.expm1((order - 1) * beyond) + odds**order - odds)
    rest = 1 - tail - tail * odds
    return np.array([[tail, tail * odds, rest], [tail * odds, tail, rest]])


def expected_gaps(mu: float) -> tuple[float, float]:
    """The expected gap of log odds for Gaussian noise, Z drawn under s_j and under s_i: -D_KL and +D_KL, μ²/2 in size.

    [Meehan2020, Cor. 1] bounds the first, which is never positive; the second is what the same ε also bounds.
    """
    size = positive(mu, "mu", at_most=1e100) ** 2 / 2
    return -size, size


def _checked_order(order: float) -> None:
    if not order > 1 or math.isinf(order):
        raise InputError(f"The Rényi order is {order:g}.", "It must be finite and greater than 1.")


# --------------------------------------------------------------------------- Lemma 3.2 and Theorem 3.4


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """J_S = direct + inferential: what Z_S tells by itself and what Z_U adds [Meehan2021, Lemma 3.2]."""

    direct: FloatArray
    inferential: FloatArray


def _parts(
    prior: npt.ArrayLike, noise: npt.ArrayLike, secret: Sequence[int] | npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray, FloatArray]:
    sigma, gamma = checked_pair(prior, noise)
    own = np.unique(checked_indices(secret, len(sigma)))
    others = np.setdiff1d(np.arange(len(sigma)), own).astype(np.int64)
    slopes = np.asarray(np.linalg.solve(sigma[np.ix_(own, own)], sigma[np.ix_(own, others)]).T, dtype=np.float64)
    inner = sigma[np.ix_(others, others)] - slopes @ sigma[np.ix_(own, others)]
    return sigma, gamma, own, others, slopes, (inner + inner.T) / 2


def _refuse_correlated(gamma: FloatArray, own: npt.NDArray[np.int64], others: npt.NDArray[np.int64]) -> None:
    if np.any(np.abs(gamma[np.ix_(own, others)]) > 1e-12 * np.max(np.diag(gamma))):
        raise InputError(
            "The noise at the secret is correlated with the rest, so the loss does not split.",
            "Use the exact loss matrix; Lemma 3.2 and Theorem 3.4 assume independent noise.",
        )


def additive_decomposition(
    prior: npt.ArrayLike, noise: npt.ArrayLike, secret: Sequence[int] | npt.NDArray[np.int64]
) -> Decomposition:
    """Lemma 3.2 for Gaussian noise; it needs the noise at S independent of the rest (checked)."""
    _, gamma, own, others, slopes, inner = _parts(prior, noise, secret)
    _refuse_correlated(gamma, own, others)
    try:
        direct = np.asarray(np.linalg.inv(gamma[np.ix_(own, own)]), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise InputError("Some direction of the secret has no noise.", "It is given away as it is.") from error
    inferential = slopes.T @ np.linalg.solve(inner + gamma[np.ix_(others, others)], slopes)
    return Decomposition(direct, np.asarray((inferential + inferential.T) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class LossBound:
    """1/σ_s² + α* of [Meehan2021, Thm 3.4], and the size |S| it multiplies."""

    direct: float
    inferential: float
    size: int

    @property
    def total(self) -> float:
        """1/σ_s² + α*, to compare with λ_max(J_S)."""
        return self.direct + self.inferential

    def epsilon(self, *, order: float, radius: float) -> float:
        """(λ/2)|S|r²(1/σ_s² + α*)."""
        return order / 2 * self.size * radius**2 * self.total


def gp_loss_bound(
    prior: npt.ArrayLike, noise: npt.ArrayLike, secret: Sequence[int] | npt.NDArray[np.int64]
) -> LossBound:
    """Theorem 3.4 for noise at the secret that is independent of the rest (checked): tight for basic secrets.

    The theorem takes Γ_SS = σ_s²I; for any other Γ_SS, σ_s² is its least eigenvalue, with which the bound still holds.
    """
    _, gamma, own, others, slopes, inner = _parts(prior, noise, secret)
    _refuse_correlated(gamma, own, others)
    alpha = 0.0
    if others.size:
        effective = slopes.T @ np.linalg.solve(inner + gamma[np.ix_(others, others)], slopes)
        alpha = float(np.linalg.eigvalsh((effective + effective.T) / 2)[-1])
    spectrum = np.linalg.eigvalsh(gamma[np.ix_(own, own)])
    if spectrum[0] < -1e-10 * max(float(spectrum[-1]), 0.0) or spectrum[-1] < 0:
        raise InputError("The noise covariance is indefinite.", "A covariance has no negative eigenvalue.")
    least = float(spectrum[0])
    known = least <= 1e-14 * float(spectrum[-1])
    return LossBound(math.inf if known else 1 / least, alpha, own.size)


# --------------------------------------------------------------------------- Theorem 3.3


def gaussian_renyi_divergence(mean_gap: FloatArray, first: FloatArray, second: FloatArray, *, order: float) -> float:
    """D_λ(N(m+gap, first) ‖ N(m, second)); infinite where λ·second + (1-λ)·first is not positive definite."""
    mixed = order * second + (1 - order) * first
    try:
        np.linalg.cholesky(mixed)
    except np.linalg.LinAlgError:
        return math.inf
    quadratic = order / 2 * float(mean_gap @ np.linalg.solve(mixed, mean_gap))
    logs = [float(np.linalg.slogdet(m)[1]) for m in (mixed, first, second)]
    return quadratic - (logs[0] - (1 - order) * logs[1] - order * logs[2]) / (2 * (order - 1))


def prior_divergence(
    designed: npt.ArrayLike,
    true: npt.ArrayLike,
    secret: Sequence[int] | npt.NDArray[np.int64],
    *,
    order: float,
    region: float = math.inf,
) -> float:
    """Δ(λ) of [Meehan2021, Thm 3.3] between two Gaussian priors, for secrets within ``region`` of a known centre.

    Over an unbounded region it is infinite as soon as the slopes Σ_USΣ_SS⁻¹ differ (erratum 3): the means of X_U then
    drift apart without limit. Within ‖s - centre‖ ≤ region·√|S| it is the divergence at the worst direction. The best
    mean offset of the designed class agrees at the centre, by symmetry.
    """
    _checked_order(order)
    from_zero(region, "region")
    sigma, _, own, others, slopes, inner = _parts(designed, designed, secret)
    other, _, _, _, true_slopes, true_inner = _parts(true, true, secret)
    if sigma.shape != other.shape:
        raise InputError("The priors have different numbers of points.", "Give covariances at the same times.")
    if others.size == 0:
        return 0.0
    gap = slopes - true_slopes
    same = float(np.max(np.abs(gap))) <= 1e-12
    if math.isinf(region) and not same:
        return math.inf
    worst = 0.0
    for first, second in ((inner, true_inner), (true_inner, inner)):
        mixed = order * second + (1 - order) * first
        try:
            np.linalg.cholesky(mixed)
        except np.linalg.LinAlgError:
            return math.inf
        drift = 0.0
        if not same:
            drift = float(np.linalg.eigvalsh(gap.T @ np.linalg.solve(mixed, gap))[-1]) * own.size * region**2
        still = gaussian_renyi_divergence(np.zeros(others.size), first, second, order=order)
        worst = max(worst, still + order / 2 * drift)
    return worst


def misspecified_epsilon(
    designed: npt.ArrayLike,
    true: npt.ArrayLike,
    noise: npt.ArrayLike,
    secret: Sequence[int],
    *,
    order: float,
    radius: float,
    region: float,
) -> float:
    """ε'(λ) of Theorem 3.3 when the noise was designed for one prior and another is true, secrets within ``region``.

    Usually far above :func:`exact_epsilon_under`, which needs no bound; infinite where an order has no divergence.
    """
    _checked_order(order)
    positive(radius, "radius", at_most=1e100)
    bound = gp_loss_bound(designed, noise, secret)
    first = prior_divergence(designed, true, secret, order=2 * order, region=region)
    second = prior_divergence(designed, true, secret, order=4 * order - 3, region=region)
    epsilon = bound.epsilon(order=4 * order - 2, radius=radius)
    return (order - 0.5) / (order - 1) * first + second + (2 * order - 1.5) / (2 * order - 2) * epsilon


def exact_epsilon_under(
    true: npt.ArrayLike, noise: npt.ArrayLike, secret: Sequence[int], *, order: float, radius: float
) -> float:
    """The exact (λ/2)|S|r²λ_max(J_S) of the noise when the prior ``true`` holds, whatever it was designed for."""
    matrix = loss_matrix(true, noise, list(secret))
    _checked_order(order)
    positive(radius, "radius", at_most=1e100)
    top = float(np.linalg.eigvalsh(matrix)[-1]) if np.all(np.isfinite(matrix)) else math.inf
    return order / 2 * len(matrix) * radius**2 * top


# --------------------------------------------------------------------------- Corollaries 3.4.1 and 7.2.1


def redrawn_noise(noises: Sequence[npt.ArrayLike]) -> FloatArray:
    """The joint noise of several releases whose noise was drawn anew each time: block-diagonal."""
    if len(noises) == 0:
        raise InputError("No noise was given.", "Give one covariance per release.")
    return np.asarray(block_diag(*[finite(noise, "The noise covariance", dimensions=2) for noise in noises]))


def composed_loss(
    joint_prior: npt.ArrayLike, joint_noise: npt.ArrayLike, secret: Sequence[int] | npt.NDArray[np.int64]
) -> float:
    """λ_max(J_S) when all releases are seen together [Meehan2021, Cor. 3.4.1, exact]; see :func:`redrawn_noise`."""
    matrix = loss_matrix(joint_prior, joint_noise, np.atleast_1d(np.asarray(secret)))
    return float(np.linalg.eigvalsh(matrix)[-1]) if np.all(np.isfinite(matrix)) else math.inf


def independent_dimensions(
    priors: tuple[npt.ArrayLike, npt.ArrayLike], noises: tuple[npt.ArrayLike, npt.ArrayLike], secret: Sequence[int]
) -> tuple[float, float]:
    """Two independent axes: |S|(1/σ_s² + α_x* + α_y*) as in [Meehan2021, Cor. 7.2.1], and |S| times the larger loss.

    The second is the exact maximum over ‖Δ_k‖ ≤ 1 for one moment, and above it for several.
    """
    axes = list(zip(priors, noises, strict=True))
    bounds = [gp_loss_bound(prior, noise, secret) for prior, noise in axes]
    published = max(bound.direct for bound in bounds) + sum(bound.inferential for bound in bounds)
    larger = max(compound_loss_bound(loss_matrix(prior, noise, list(secret))) for prior, noise in axes)
    return len(secret) * published, larger
