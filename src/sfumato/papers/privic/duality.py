"""Blahut-Arimoto and the iterative Bayesian update are one iteration with the roles of input and output exchanged.

[Biswas2023, Sec. 4, Thm 4.1, Fig. 4]. With K = e^(-β d) the output weights of Blahut-Arimoto follow

    c(y) <- c(y) Σ_x p(x) K(x, y) / Σ_z c(z) K(x, z),

which is the Bayesian update θ <- θ Σ q C / (θ C) with θ = c, q = p and C(y, x) = K(x, y). The paper calls that C a
mechanism; its rows need not sum to 1 (on a finite grid they do not, so "immediate from the duality" proves Theorem 4.1
only where Σ_x K(x, y) is the same for all y). Scaling C changes nothing, so let C = K / max_y Σ_x K(x, y) and let a
person whose row leaves something over stay *silent* with the rest [ours]: then C is a channel, nobody having been
silent is an observation, and the two iterations are equal step by step, on every grid and for every distortion. The
certified gaps agree too: log max g of one is log(1 + gap) of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.numbers.em_step import em_factor
from sfumato.base.things.channel import Channel, checked_probabilities

SILENT = "silent"


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """The estimation problem that is a given Blahut-Arimoto problem: a channel and the shares of its outputs."""

    channel: Channel
    shares: FloatArray
    constant_rows: bool
    """Whether nobody is ever silent, so that the paper's own mechanism is already a channel."""

    def steps(self, count: int) -> FloatArray:
        """The estimate after so many updates from uniform: equal to the Blahut-Arimoto weights after as many."""
        matrix, q = self.channel.matrix, self.shares
        theta = np.full(matrix.shape[0], 1.0 / matrix.shape[0])
        for _ in range(count):
            theta = theta * (em_factor(q, theta @ matrix, matrix.dot))
        return theta

    def gap(self, theta: npt.ArrayLike) -> float:
        """max_x Σ_y q C / (θ C) - 1: how far θ can be from the largest likelihood, in nats per report."""
        weights = checked_probabilities(theta, self.channel.shape[0])
        matrix, q = self.channel.matrix, self.shares
        return float((em_factor(q, weights @ matrix, matrix.dot)).max() - 1)


def dual_problem(prior: npt.ArrayLike, distortion: npt.ArrayLike, *, beta: float) -> Dual:
    """The dual of Blahut-Arimoto for this prior, distortion (inputs, outputs) and rate β."""
    d = finite(distortion, "The distortion", dimensions=2)
    p = checked_probabilities(prior, d.shape[0])
    kernel = np.exp(-positive(beta, "beta") * d).T  # outputs of one are inputs of the other
    totals = kernel.sum(axis=1)
    if totals.min() <= 0:
        raise InputError("A row of exp(-beta d) underflows.", "Take a smaller beta.")
    scaled = kernel / totals.max()
    silent = np.maximum(1.0 - scaled.sum(axis=1), 0.0)
    constant = bool(np.ptp(totals) <= 1e-12 * totals.max())
    rows = np.concatenate([scaled, silent[:, None]], axis=1)
    names = (*(str(x) for x in range(d.shape[0])), SILENT)
    return Dual(
        Channel(rows / rows.sum(axis=1, keepdims=True), outputs=names),
        read_only(np.append(p, 0.0)),
        constant,
    )


def weights_after(prior: npt.ArrayLike, distortion: npt.ArrayLike, *, beta: float, updates: int) -> FloatArray:
    """The output weights of Blahut-Arimoto after so many updates from uniform [Biswas2023, eq. 5]."""
    d = finite(distortion, "The distortion", dimensions=2)
    p = checked_probabilities(prior, d.shape[0])
    kernel = np.exp(-positive(beta, "beta") * d)
    c = np.full(d.shape[1], 1.0 / d.shape[1])
    for _ in range(updates):
        c = c * (kernel.T @ (p / (kernel @ c)))
    return c
