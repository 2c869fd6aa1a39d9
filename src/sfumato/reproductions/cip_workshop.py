"""Figure 2 of [Meehan2020]: how much dependence between points adds to the loss of a subsequence.

A ten-point trace, S = every other point, independent noise of variance σ² everywhere: the loss is (1 + σ²α*)/σ², and
1 + σ²α* is its ratio to independent data. The text reads "50%" for l = 1; it is 76% to 87% (and Σ_eff under eq. 3 has
σ_z where σ_z² is meant, erratum 1). Our line: the least loss of S at the same trace.
"""

from __future__ import annotations

import numpy as np

from sfumato.leakage.loss import loss_matrix, worst_direction
from sfumato.leakage.theorems import gp_loss_bound
from sfumato.mechanisms.designs.one_compound import one_compound
from sfumato.priors.kernels import RBF
from sfumato.reproductions import Reproduction
from sfumato.reproductions.picture import Panel, svg

POINTS = 10
SECRET = np.arange(0, POINTS, 2)
GOLDEN = {0.5: 1.764, 1.0: 1.834, 2.0: 1.874}


def run(*, quick: bool = False) -> Reproduction:
    """Both panels and the table of ratios."""
    variances = np.array([0.25, 0.5, 1.0, 2.0, 4.0]) if quick else np.geomspace(0.1, 5, 40)
    variances = np.unique(np.concatenate([variances, [0.5, 1.0, 2.0]]))
    lengths = (1.0, 2.0, 3.0)
    rows: list[dict[str, float]] = []
    for variance in variances:
        row: dict[str, float] = {"noise_variance": float(variance), "independent data": 1 / variance}
        for length in lengths:
            prior = RBF(length).covariance(np.arange(float(POINTS)))
            row[f"l={length:g}"] = gp_loss_bound(prior, variance * np.eye(POINTS), SECRET).total
        prior = RBF(1.0).covariance(np.arange(float(POINTS)))
        row["ours, l=1"] = float(one_compound(prior, SECRET, budget=POINTS * variance).objective or 0.0)
        rows.append(row)
    ratios = [
        {"noise_variance": v, "ratio": next(r for r in rows if r["noise_variance"] == v)["l=1"] * v, "published": g}
        for v, g in GOLDEN.items()
    ]
    prior = RBF(2.0).covariance(np.arange(float(POINTS)))
    worst, direction = worst_direction(loss_matrix(prior, np.eye(POINTS), SECRET))
    hypothesis = np.zeros(POINTS)
    hypothesis[SECRET] = direction * np.sqrt(len(SECRET))
    followed = prior[:, SECRET] @ np.linalg.solve(prior[np.ix_(SECRET, SECRET)], hypothesis[SECRET])
    claims = {
        "dependence raises the loss at every noise level, and longer length scales more": all(
            row["independent data"] < row["l=1"] < row["l=2"] < row["l=3"] for row in rows
        ),
        "even l = 1 adds at least 50%": all(r["ratio"] > 1.5 for r in ratios),
        "the ratios are 1.764, 1.834, 1.874": all(abs(r["ratio"] / r["published"] - 1) < 5e-4 for r in ratios),
        "our optimum for S is below independent noise of the same trace": all(
            row["ours, l=1"] <= row["l=1"] * (1 + 1e-9) for row in rows
        ),
    }
    lines = {k: np.array([row[k] for row in rows]) for k in rows[0] if k != "noise_variance"}
    panels = [
        Panel("(a) loss of every other point", variances, lines, "noise variance", "loss", log_y=True),
        Panel(
            f"(b) worst hypothesis, l=2 (loss {worst:.2f} at variance 1)",
            np.arange(float(POINTS)),
            {"Δs (0 elsewhere)": hypothesis, "how the rest follows": followed},
            "time",
            "Δ",
        ),
    ]
    return Reproduction(
        name="cip-workshop-figure-2",
        title="Workshop Figure 2: loss of every other point of ten, against noise variance",
        tables={"loss (λ_max of J, per squared unit)": rows, "ratio to independent data at l = 1": ratios},
        claims=claims,
        picture_svg=svg(panels, columns=2, title="What dependence adds"),
        notes=(
            "The workshop's text says a 50% increase at l = 1; the figure's own numbers are 76% to 87%.",
            "Σ_eff under its eq. 3 is written with σ_z where σ_z² is meant (erratum 1).",
        ),
    )
