"""A proof that no noise of the same budget does much better: a lower bound that anyone can recompute.

For any D_k ⪰ 0 (one per secret k, given by a factor D_k = X_kX_kᵀ), any Γ ⪰ 0 with tr Γ ≤ B and targets e_k,

    max_k λ_max(J_k(Γ))/e_k  ≥  Σ_k ⟨H_kH_kᵀ, D_k⟩/e_k  /  ( Σ_k ⟨P_k, D_k⟩ + B·λ_max(Σ_k D_k) ).

Proof: for R_k with Σ e_k‖R_k‖² = 1, max_k λ_max(J_k)/e_k ≥ Σ_k tr R_kᵀJ_kR_k, and H'(P+Γ)⁻¹H ⪰ Y'H + H'Y - Y'(P+Γ)Y for
every Y; put X_k = Y_kR_k, bound Σ⟨Γ, X_kX_kᵀ⟩ by B·λ_max(ΣX_kX_kᵀ), take the best R and the best common scale of X.
The same D bounds the least budget that meets max_k λ_max(J_k)/e_k ≤ 1:
B ≥ (Σ⟨H_kH_kᵀ,D_k⟩/e_k - Σ⟨P_k,D_k⟩)/λ_max(ΣD_k).
The bound needs products only, no inverse beyond Σ_SS, so it is believable where the design itself is ill-conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.numbers.rounding import UNIT
from sfumato.tracks.designs.noise_design import Problem

Multipliers = tuple[FloatArray, ...]  # the dual factors X, (n, ·) each, in the order priors × secrets


@dataclass(frozen=True, slots=True, eq=False)
class DualTerms:
    """N = Σ⟨HHᵀ,D⟩/e, Q = Σ⟨P,D⟩ and λ_max(ΣD): both lower bounds are made of them."""

    gain: float
    cost: float
    top: float

    def loss_at(self, budget: float) -> float:
        """No noise with trace ``budget`` has a smaller worst loss (over targets) than this."""
        below = self.cost + budget * self.top
        return self.gain / below if below > 0 else 0.0

    def budget_for(self, loss: float = 1.0) -> float:
        """No noise with worst loss (over targets) at most ``loss`` has a smaller trace than this."""
        return max((self.gain / loss - self.cost) / self.top, 0.0) if self.top > 0 else 0.0


def dual_terms(problem: Problem, multipliers: Multipliers) -> DualTerms:
    """The three numbers of the lower bounds, from the priors and the factors alone, each rounded against the bound."""
    gain = cost = error = 0.0
    factors = iter(multipliers)
    stacked = []
    for prior in problem.priors:
        for secret, target in zip(problem.secrets, problem.targets, strict=True):
            x = next(factors)
            own = prior[np.ix_(secret, secret)]
            slopes_x = np.linalg.solve(own, prior[secret] @ x)  # H'X
            gain += float(np.sum(slopes_x * slopes_x)) / float(target)
            # X'PX = X'ΣX - (Σ_S: X)' Σ_SS⁻¹ (Σ_S: X), with the rounding of a product only.
            cost += float(np.sum(x * (prior @ x))) - float(np.sum((prior[secret] @ x) * slopes_x))
            # |Σ_ij| ≤ √Σ_ii√Σ_jj, so what rounding can take from this difference is at most this:
            error += 8 * (len(prior) + 8) * UNIT * float(np.sum((np.sqrt(np.diag(prior)) @ np.abs(x)) ** 2))
            stacked.append(x)
    together = np.concatenate(stacked, axis=1)
    gram = together.T @ together if together.shape[1] <= together.shape[0] else together @ together.T
    size = len(together) + together.shape[1]
    top = float(np.linalg.eigvalsh(gram)[-1]) + 4 * size * UNIT * float(np.trace(gram))
    return DualTerms(gain * (1 - 4 * size * UNIT), max(cost, 0.0) + error, top)
