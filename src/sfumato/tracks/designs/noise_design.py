"""A noise covariance designed for some secrets, with the exact loss it leaves them and the way to draw from it.

Everything is computed from the very covariance that is sampled. Notation of [Meehan2021] and docs/notation.md:
prior Σ (``prior_covariance``), noise Γ (``noise_covariance``), secret S, H = Σ_{:S}Σ_SS⁻¹, P = Σ - HΣ_{S:},
J_S = Hᵀ(P+Γ)⁻¹H; the loss of S is λ_max(J_S), the largest over priors and secrets is the loss of the design.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from sfumato.accountant.compose import Guarantee
from sfumato.base.arrays import FloatArray, IntArray, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import delta_at, mu_of, odds_at, renyi_epsilon
from sfumato.base.randomness import Randomness, randomness
from sfumato.base.shown import Shown
from sfumato.tracks.losses.certain_loss import losses_at_most
from sfumato.tracks.losses.gaussian_loss import loss_matrix, stated_jitter

MOST_RATIO = 1e15


def checked_budget(budget: float, prior: FloatArray) -> float:
    """A total squared error between 1e-15 and 1e15 of the prior variance a point, or an :class:`InputError`."""
    value = positive(budget, "budget")
    share = value / float(np.trace(prior))
    if not 1 / MOST_RATIO <= share <= MOST_RATIO:
        raise InputError(
            f"The noise asked for has {share:.3g} of the prior variance.",
            f"Between {1 / MOST_RATIO:g} and {MOST_RATIO:g} of it is something that doubles can tell from none or all.",
        )
    return value


def checked_target(loss: float, prior: FloatArray) -> float:
    """A loss between 1e-15 and 1e15 times the inverse prior variance, or an :class:`InputError`."""
    value = positive(float(loss), "A target loss")
    share = value * float(np.mean(np.diag(prior)))
    if not 1 / MOST_RATIO <= share <= MOST_RATIO:
        raise InputError(
            f"A target loss is {share:.3g} over the prior variance.",
            f"Between {1 / MOST_RATIO:g} and {MOST_RATIO:g} over it doubles can tell it from none and all.",
        )
    return value


def checked_secrets(secrets: Sequence[npt.ArrayLike], count: int) -> tuple[IntArray, ...]:
    """Each secret as sorted distinct indices within 0 .. count - 1, or an :class:`InputError`."""
    if len(secrets) == 0:
        raise InputError("No secret was given.", "Name at least one time to protect.")
    found: list[IntArray] = []
    for secret in secrets:
        indices = np.unique(np.atleast_1d(np.asarray(secret)))
        if indices.size == 0 or not np.issubdtype(indices.dtype, np.integer):
            raise InputError("A secret is not a list of indices.", f"Give whole numbers in 0 .. {count - 1}.")
        if indices[0] < 0 or indices[-1] >= count:
            raise InputError(f"A secret index lies outside 0 .. {count - 1}.", "Indices count the trace's own points.")
        found.append(read_only(indices, np.int64))
    return tuple(found)


def regression(prior: FloatArray, secret: IntArray) -> tuple[FloatArray, FloatArray]:
    """H = Σ_{:S}Σ_SS⁻¹, (n, |S|), and P = Σ - HΣ_{S:}, (n, n), with their exact entries at S (identity and zero)."""
    own = prior[np.ix_(secret, secret)]
    try:
        slopes: FloatArray = np.ascontiguousarray(np.linalg.solve(own, prior[secret, :]).T, dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise InputError(
            "The prior makes two points of a secret the same place.", "Leave one out, or give the prior a nugget."
        ) from error
    slopes[secret] = np.eye(len(secret))
    rest = prior - slopes @ prior[secret, :]
    rest = (rest + rest.T) / 2
    rest[secret, :] = 0.0
    rest[:, secret] = 0.0
    return slopes, rest


@dataclass(frozen=True, slots=True, eq=False)
class NoiseDesign(Shown):
    """Noise for one coordinate: its covariance, and what it was designed for.

    ``priors`` are the covariances an adversary may believe (several = a class), ``secrets`` index sets,
    ``jitter`` the white variance already inside ``noise_covariance`` that keeps ill-conditioned kernels certifiable.
    ``proof`` holds the dual factors X, priors x secrets, from which anyone recomputes the lower bound (`lower_bound`).
    """

    noise_covariance: FloatArray
    priors: tuple[FloatArray, ...]
    secrets: tuple[IntArray, ...]
    method: str
    nugget: float = 0.0
    jitter: float = 0.0
    known_losses: FloatArray | None = field(default=None)
    proof: tuple[FloatArray, ...] = ()
    radii: tuple[float, ...] = ()  # each secret's own; empty = the one asked about
    axes: int = 1  # 2: the coordinates are stacked, so a time is a pair of indices

    def __post_init__(self) -> None:
        for name in ("nugget", "jitter"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"The {name} is {getattr(self, name):g}.", "It is a finite number of at least 0.")

    @property
    def trace(self) -> float:
        """tr Γ, the total squared error."""
        return float(np.trace(self.noise_covariance))

    def loss_matrices(self, secret: int) -> list[FloatArray]:
        """J_S of one secret, under each prior."""
        return [loss_matrix(prior, self.noise_covariance, self.secrets[secret]) for prior in self.priors]

    def losses(self) -> FloatArray:
        """λ_max(J_S) of every secret, the worst over the priors, (secrets,); exact closed-form values where known."""
        if self.known_losses is not None:
            return self.known_losses
        return losses_of(self.priors, self.noise_covariance, self.secrets)

    def summary(self) -> dict[str, float | None]:
        """``loss``, ``direct`` (of Z_S alone), ``inferential`` (the rest), ``two_sigma`` and ``trace``.

        All belong to the worst secret. ``two_sigma`` is 2√V_ss, for a compound secret 2√λ_min(V_SS), and where every
        point is a secret 2√ of the mean variance (the width [Meehan2021, Sec. 7.4] draws: ±1σ, the 68% interval).
        """
        losses = self.losses()
        worst = int(np.argmax(losses))
        loss = float(losses[worst])
        own_noise = self.noise_covariance[np.ix_(self.secrets[worst], self.secrets[worst])]
        direct = _top_of_inverse(own_noise)
        n = len(self.noise_covariance)
        every_point = len(self.secrets) == n and all(len(s) == 1 for s in self.secrets)
        left = [self._least_variance(k, float(losses[k])) for k in range(len(self.secrets))]
        two_sigma = 2 * math.sqrt(sum(left) / n) if every_point else 2 * math.sqrt(min(left))
        return {
            "loss": loss if math.isfinite(loss) else None,
            "direct": direct if math.isfinite(direct) else None,
            "inferential": max(loss - direct, 0.0) if math.isfinite(loss) and math.isfinite(direct) else None,
            "two_sigma": two_sigma,
            "trace": self.trace,
        }

    def _least_variance(self, secret: int, loss: float) -> float:
        """λ_min(V_SS), the least over the priors, from V_SS⁻¹ = J_S + Σ_SS⁻¹."""
        index = self.secrets[secret]
        if not math.isfinite(loss):
            return 0.0
        if len(index) == 1:
            return min(1.0 / (loss + 1.0 / float(prior[index[0], index[0]])) for prior in self.priors)
        found = []
        for prior, matrix in zip(self.priors, self.loss_matrices(secret), strict=True):
            own = np.linalg.inv(prior[np.ix_(index, index)])
            found.append(1.0 / _top(matrix + own) if np.all(np.isfinite(matrix)) else 0.0)
        return min(found)

    def release(
        self, positions: npt.ArrayLike, *, rng: int | np.random.Generator | Randomness | None = None
    ) -> FloatArray:
        """``positions``, (n,) or (n, axes), with one independent draw of the noise added to each axis."""
        values = finite(positions, "positions")
        if values.shape[0] != len(self.noise_covariance):
            raise InputError(f"The design is for {len(self.noise_covariance)} points, not {values.shape[0]}.")
        spectrum, vectors = np.linalg.eigh(self.noise_covariance)
        factor = vectors * np.sqrt(np.maximum(spectrum, 0.0))
        return np.asarray(values + factor @ randomness(rng).normals(values.shape))

    def certify(self, *, digits: int = 6) -> NoiseDesign:
        """The same design with the white jitter that makes its losses certain to about ``digits`` digits.

        The jitter is added to the noise that is drawn, so it only lowers the loss; 0 where none is needed. The losses
        are then upper bounds for the doubles that are drawn with (:mod:`sfumato.tracks.losses.certain_loss`).
        """
        jitter = max(stated_jitter(prior, self.noise_covariance, digits=digits) for prior in self.priors)
        covered = read_only(self.noise_covariance + jitter * np.eye(len(self.noise_covariance)))
        certain = losses_at_most(self.priors, covered, self.secrets)
        known = read_only(certain) if np.all(np.isfinite(certain)) else None
        return replace(self, noise_covariance=covered, jitter=self.jitter + jitter, known_losses=known, proof=())

    def guarantee(
        self, *, radius_m: float | None = None, order: float = 5.0, delta: float = 0.01, simulation: bool = False
    ) -> Guarantee:
        """What the worst secret is promised, for hypotheses that differ by at most ``radius_m`` at each time.

        Secrets designed with radii of their own keep them; ``radius_m`` is then left out.
        """
        if (radius_m is None) != bool(self.radii):
            raise InputError(
                "The secrets have radii of their own." if self.radii else "No radius was given.",
                "Leave radius_m out." if self.radii else "Give radius_m.",
            )
        own = self.radii or tuple(positive(float(radius_m or 0.0), "radius_m") for _ in self.secrets)
        sizes = np.array([len(s) // self.axes for s in self.secrets])
        losses = self.losses()
        mu = float(np.max([mu_of(loss * size, r) for loss, size, r in zip(losses, sizes, own, strict=True)]))
        epsilon = renyi_epsilon(mu, order)
        parameters: dict[str, object] = {
            "radius_m": radius_m if radius_m is not None else list(own),
            "mu": mu,
            "order": order,
            "epsilon": epsilon,
            "delta_at_epsilon": delta_at(epsilon, mu),
            "odds_99": odds_at(mu, delta),
            "worst_loss": float(np.max(losses)),
            "trace_m2": self.trace,
            "jitter_m2": self.jitter,
        }
        return Guarantee(
            notion="conditional inferential privacy, Rényi",
            parameters=parameters,
            assumes=(f"a Gaussian prior, one of {len(self.priors)} covariance(s), any mean",),
            covers=(f"{len(self.secrets)} secret(s), the largest of {int(sizes.max())} time(s) together",),
            not_covered=("the protected times themselves: the mechanism shows them", "other priors and other secrets"),
            simulation=simulation,
        )


def losses_of(priors: Sequence[FloatArray], noise: FloatArray, secrets: Sequence[IntArray]) -> FloatArray:
    """λ_max(J_S) of every secret, the worst over the priors, from one factorisation of Σ+Γ per prior, (secrets,)."""
    worst = np.zeros(len(secrets))
    union = np.unique(np.concatenate(secrets))
    for prior in priors:
        seen = _seen(prior, noise, union)
        for k, index in enumerate(secrets):
            own = prior[np.ix_(index, index)]
            if seen is not None:
                mine = seen[:, np.searchsorted(union, index)]
                left = own - mine.T @ mine
                values = np.linalg.eigvalsh(left)
                if values[0] > 1e4 * len(prior) * np.finfo(np.float64).eps * float(np.max(np.diag(own))):
                    inside = np.linalg.solve(left, mine.T @ mine) @ np.linalg.inv(own)
                    worst[k] = max(worst[k], float(np.linalg.eigvalsh((inside + inside.T) / 2)[-1]))
                    continue
            worst[k] = max(worst[k], _top(loss_matrix(prior, noise, index)))
    return worst


def _seen(prior: FloatArray, noise: FloatArray, union: IntArray) -> FloatArray | None:
    """L⁻¹Σ_{:U} with LLᵀ = Σ+Γ, so that V_SS = Σ_SS - its columns' products; None where Σ+Γ is singular."""
    try:
        factor = cholesky(prior + noise, lower=True)
    except LinAlgError:
        return None
    if float(np.min(np.diag(factor))) ** 2 <= 10 * len(prior) * np.finfo(np.float64).eps * float(np.max(prior)):
        return None
    return np.asarray(solve_triangular(factor, prior[:, union], lower=True, check_finite=False))


def _top(matrix: FloatArray) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1]) if np.all(np.isfinite(matrix)) else math.inf


def _top_of_inverse(matrix: FloatArray) -> float:
    least = float(np.linalg.eigvalsh(matrix)[0])
    floor = 1e-14 * max(float(np.max(np.diag(matrix))), 1e-300)
    return 1.0 / least if least > floor else math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a design is sought for: priors an adversary may believe, secrets, and a target e_k for each of them."""

    priors: tuple[FloatArray, ...]
    secrets: tuple[IntArray, ...]
    targets: FloatArray

    @property
    def points(self) -> int:
        """How many points the trace has."""
        return len(self.priors[0])

    def losses(self, noise: FloatArray) -> FloatArray:
        """λ_max(J_k) of every secret, the worst over the priors."""
        return losses_of(self.priors, noise, self.secrets)

    def worst(self, noise: FloatArray) -> float:
        """max_k λ_max(J_k)/e_k."""
        return float(np.max(self.losses(noise) / self.targets))


def just_enough(noise: FloatArray, problem: Problem) -> tuple[FloatArray, float]:
    """``noise`` scaled to meet the targets exactly, rounded toward privacy, and its trace."""

    def excess(log_scale: float) -> float:
        return float(np.log(problem.worst(noise * np.exp(log_scale))))

    low, high = -1e-6, 1e-6
    while excess(high) > 0:
        high = high * 8 + 1e-9
    while excess(low) < 0 and low > -20:
        low *= 8
    root = scipy.optimize.brentq(excess, low, high, xtol=1e-13)
    while excess(root) > 0:  # round toward privacy
        root += 1e-12 + 1e-9 * abs(root)
    scaled = noise * np.exp(root)
    return scaled, float(np.trace(scaled))


def meet_targets(noise: FloatArray, problem: Problem) -> tuple[FloatArray, FloatArray | None]:
    """The noise as it will be drawn, enlarged until its losses certainly meet the targets, and those losses.

    The last operation on the noise is here, and the check after it. None where no loss is certain (a prior without
    nugget): the closed form then stands, and what is drawn gets a jitter (``NoiseDesign.certify``).
    """
    scale = 1.0
    for _ in range(60):
        drawn = read_only(scale * (noise + noise.T) / 2)
        losses = losses_at_most(problem.priors, drawn, problem.secrets)
        over = float(np.max(losses / problem.targets))
        if over <= 1:
            return drawn, read_only(losses)
        if not over < 1.5:
            break
        scale *= 1 + 2 * (over - 1) + 1e-15
    return read_only((noise + noise.T) / 2), None
