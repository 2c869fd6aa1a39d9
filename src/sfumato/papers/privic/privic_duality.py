"""Blahut-Arimoto and the iterative Bayesian update are one iteration with the roles of input and output exchanged.

[Biswas2023, Sec. 4, Thm 4.1, Fig. 4]. With K = e^(-β d) the output weights of Blahut-Arimoto follow

    c(y) <- c(y) Σ_x p(x) K(x, y) / Σ_z c(z) K(x, z),

which is the Bayesian update θ <- θ Σ q C / (θ C) with θ = c, q = p and C(y, x) = K(x, y). The paper calls that C a
mechanism; its rows need not sum to 1 (on a finite grid they do not, so "immediate from the duality" proves Theorem 4.1
only where Σ_x K(x, y) is the same for all y). Scaling C changes nothing, so let C = K / max_y Σ_x K(x, y) and let a
person whose row leaves something over stay *silent* with the rest [ours]: then C is a channel, nobody having been
silent is an observation, and the two iterations are equal step by step, on every grid and for every distortion. The
certified gaps agree too: log max g of one is log(1 + gap) of the other.

The reproduction goes step by step on Paris, with the rate-distortion curve that both climb.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, finite, positive, read_only
from sfumato.base.drawing.panels import Panel
from sfumato.base.errors import InputError
from sfumato.base.things.channel import Channel, checked_probabilities
from sfumato.base.things.estimated_map import em_factor
from sfumato.channels.designs.rate_distortion import rate_distortion
from sfumato.collect.cities import city
from sfumato.collect.estimation.joint import ibu
from sfumato.papers import Reproduction
from sfumato.papers.claims import check, near
from sfumato.papers.picture import Picture


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
            theta = theta * em_factor(q, theta @ matrix, matrix.dot)
        return theta

    def gap(self, theta: npt.ArrayLike) -> float:
        """max_x Σ_y q C / (θ C) - 1: how far θ can be from the largest likelihood, in nats per report."""
        weights = checked_probabilities(theta, self.channel.shape[0])
        matrix, q = self.channel.matrix, self.shares
        return float(em_factor(q, weights @ matrix, matrix.dot).max() - 1)


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
    names = (*(str(x) for x in range(d.shape[0])), "silent")
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


PLACE = "Biswas2023, Sec. 4, Fig. 4"


def run(*, quick: bool = False) -> Reproduction:
    """Paris at beta = 1, and the curve of a line of cells."""
    place = city("paris")
    distances, prior = place.plain_grid.distance_matrix(), place.probabilities
    dual = dual_problem(prior, distances, beta=1.0)
    rows: list[dict[str, float]] = []
    for updates in (1, 2, 7, 20, 100) if quick else (1, 2, 7, 20, 100, 500):
        ba, ibu_weights = weights_after(prior, distances, beta=1.0, updates=updates), dual.steps(updates)
        kernel = np.exp(-distances)
        gap = math.log(float((kernel.T @ (prior / (kernel @ ba))).max()))
        rows.append(
            {
                "updates": float(updates),
                "largest difference of the weights": float(np.abs(ba - ibu_weights).max()),
                "certified gap, Blahut-Arimoto (nats)": gap,
                "certified gap, Bayesian update (nats)": math.log1p(dual.gap(ibu_weights / ibu_weights.sum())),
                "weights above 1e-6": float((ba > 1e-6).sum()),
            }
        )
    silent = float(dual.channel.matrix[:, -1].max())
    line = np.abs(np.subtract.outer(np.arange(7.0), np.arange(7.0)))
    geometric = Channel(np.exp(-line) / np.exp(-line).sum(axis=1, keepdims=True))
    reports = np.array([40, 10, 5, 5, 10, 20, 60])
    climbing = [ibu(geometric, reports, steps=steps).gap for steps in (10, 100, 1000, 10_000)]
    weights = np.arange(1.0, 8.0) / 28
    curve = rate_distortion(weights, line, [float(beta) for beta in np.geomspace(0.3, 6, 8 if quick else 16)])
    worst = max(row["largest difference of the weights"] for row in rows)
    claims = (
        near(
            "flipping inputs and outputs turns one iteration into the other: largest difference of the weights",
            worst,
            0.0,
            tolerance=1e-12,
            relative=False,
            whose=PLACE,
        ),
        check(
            "as printed the mechanism of the flipped problem is no channel on a finite grid: rows lack a share",
            not dual.constant_rows,
            measured=silent,
            because="largest share missing on the grid of Paris; staying silent with it makes the duality exact",
        ),
        check(
            "the update through a planar geometric channel converges to the largest likelihood",
            climbing[-1] < 1e-6 < climbing[0],
            whose="Biswas2023, Thm 4.1",
            measured=tuple(climbing),
            because="certified gap in nats per report after 10, 100, 1,000 and 10,000 steps; true as expectation "
            "maximisation, not by the printed argument",
        ),
        check(
            "the two certified gaps are the same number at every step",
            all(
                abs(row["certified gap, Blahut-Arimoto (nats)"] - row["certified gap, Bayesian update (nats)"]) < 1e-9
                for row in rows
            ),
        ),
        check(
            "the rate-distortion curve found lies within .02 nats of its certified lower bound",
            max(p.rate_nats - curve.lower_bound(p.distortion) for p in curve.points) < 0.02,
            measured=max(p.rate_nats - curve.lower_bound(p.distortion) for p in curve.points),
        ),
    )
    steps = np.log10([row["updates"] for row in rows])
    gaps = {
        "Blahut-Arimoto": np.array([row["certified gap, Blahut-Arimoto (nats)"] for row in rows]),
        "Bayesian update": np.array([row["certified gap, Bayesian update (nats)"] for row in rows]),
    }
    places = np.array([p.distortion for p in curve.points])
    rates = {
        "channels found": np.array([p.rate_nats for p in curve.points]),
        "no channel below": np.array([curve.lower_bound(p.distortion) for p in curve.points]),
    }
    return Reproduction(
        name="privic-duality",
        title="Section 4: Blahut-Arimoto and the Bayesian update are one iteration",
        tables={"Paris, beta = 1": rows},
        claims=claims,
        picture=Picture(
            [
                Panel("Figure 4: one iteration, two names", steps, gaps, "log10 of the updates", "gap", log_y=True),
                Panel("rate against distortion, seven cells", places, rates, "average distance", "nats"),
            ],
            columns=2,
            title="Duality",
        ),
        notes=("Figure 4 of the paper is a diagram of the exchange; here it is run.",),
        numbers={"silent": silent},
    )
