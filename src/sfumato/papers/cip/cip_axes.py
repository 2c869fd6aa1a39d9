"""Latitude and longitude of GeoLife: are they independent, and what follows if they are not?

[Meehan2021, Sec. 5 and App. 7.4] observe a correlation of about .06 between the axes and treat them as independent, and
nearly the same length scales. Pooled over traces the correlation is indeed -.064; *within* a trace its size is .65 on
average, where independent axes as smooth as these show .37: a ride has a direction. An adversary who knows the
direction of a street uses it. For a path with one kernel and correlation ρ between axes, noise independent between them
has the exact loss of the prior scaled by 1 - |ρ| (:func:`sfumato.papers.cip.several_moments.axes_loss`); noise in the
prior's own shape is not affected, and neither is a bound over all spreads, such as that of the multiscale noise.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.drawing.panels import Panel
from sfumato.papers import Reproduction
from sfumato.papers.cip.several_moments import axes_loss
from sfumato.papers.claims import cannot_check, check, near
from sfumato.papers.l_eff import effective_length, first_minutes, thin_traces
from sfumato.papers.picture import Picture
from sfumato.tracks.priors.kernels import RBF

PLACE = "Meehan2021, Sec. 5, axes"


def run(*, quick: bool = False) -> Reproduction:
    """Correlations pooled and within traces, length scales by axis, and the loss for correlated axes."""
    traces = thin_traces(first_minutes())
    pairs = [(xy - xy.mean(axis=0)) / xy.std(axis=0) for _, xy, _ in traces if xy.std(axis=0).min() > 0]
    within = np.array([float(np.mean(pair[:, 0] * pair[:, 1])) for pair in pairs])
    together = np.concatenate(pairs)
    pooled = float(np.mean(together[:, 0] * together[:, 1]))
    size = float(np.mean(np.abs(within)))
    chosen = traces[:: 24 if quick else 4]
    scales = np.array([[effective_length(t, axis, period) for axis in xy.T] for t, xy, period in chosen])
    medians = np.nanmedian(scales, axis=0)
    prior = RBF(6.0).covariance(np.arange(50.0)) + 1e-6 * np.eye(50)
    by_chance = _chance_size(prior)
    rows: list[dict[str, float]] = []
    for rho in (abs(pooled), 0.3, size, 0.9):
        alone, exact = axes_loss(prior, 0.02 * np.eye(50), 24, correlation=rho)
        shaped = axes_loss(prior, 0.02 * prior / prior[0, 0], 24, correlation=rho)[1]
        rows.append(
            {
                "correlation": rho,
                "independent noise, axes taken apart": alone,
                "independent noise, exact": exact,
                "prior-shaped noise, exact": shaped,
            }
        )
    ratio = rows[2]["independent noise, exact"] / rows[2]["independent noise, axes taken apart"]
    shares = np.linspace(0, 1, 51)
    panel = Panel(
        "size of the correlation within a trace", np.quantile(np.abs(within), shares), {"share": shares}, "|ρ|"
    )
    return Reproduction(
        name="cip-axes",
        title="Latitude and longitude of GeoLife",
        tables={"loss of one moment, l = 6, noise .02": rows},
        claims=(
            near(
                "pooled over traces, as the paper may have computed it, the correlation is about .06 in size",
                abs(pooled),
                0.06,
                tolerance=0.02,
                relative=False,
            ),
            cannot_check(
                "the correlation between latitude and longitude is low, so each can be treated as independent",
                whose=PLACE,
                because=f"how it was computed is not said: pooled {pooled:.3f}; within a trace {size:.2f} in size, "
                f"where independent axes as smooth show {by_chance:.2f}",
            ),
            check(
                "within a trace the axes correlate more than independent ones as smooth do",
                size > by_chance + 0.1,
                measured=(size, by_chance),
            ),
            near(
                "both axes have nearly the same length scale (ratio of medians)",
                float(medians[0] / medians[1]),
                1.0,
                tolerance=0.15,
            ),
            check(
                "taking the axes apart understates the loss of independent noise, by under a tenth at that correlation",
                1 < ratio < 1.1,
                measured=ratio,
            ),
            check(
                "noise in the prior's own shape loses the same at every correlation",
                all(abs(row["prior-shaped noise, exact"] * 0.02 - 1) < 1e-3 for row in rows),
            ),
        ),
        picture=Picture([panel], "GeoLife"),
        notes=(f"{len(pairs)} traces that move along both axes.",),
        numbers={"pooled": pooled, "mean_size": size, "medians": [float(m) for m in medians]},
    )


def _chance_size(prior: np.ndarray, draws: int = 2000) -> float:
    """The mean size of the correlation within a trace between two independent axes of this prior (seeded)."""
    drawn = np.linalg.cholesky(prior) @ np.random.default_rng(0).normal(size=(draws, len(prior), 2))
    drawn = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, keepdims=True)
    return float(np.mean(np.abs(np.mean(drawn[:, :, 0] * drawn[:, :, 1], axis=1))))
