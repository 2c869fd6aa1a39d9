"""Figure 3 of the supplement on local information privacy: the slope α of context-aware Laplace noise.

[Jiang2021, App. L, Fig. 3]. X = {0, 1, 2}, prior (1/3 + s/2, 1/3, 1/3 - s/2); α is the largest that the conditions of
Theorem 6 allow with β = ε. (a) against the skewness s at ε = 2; (b) against ε at s = .2. The figure prints no numbers.
The corrected conditions are used (the printed lower one may refuse plain Laplace noise), the exact calibration beside.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.drawing.panels import Panel
from sfumato.channels.designs.numbers.clamped_laplace import context_aware
from sfumato.papers import Reproduction
from sfumato.papers.claims import check, near
from sfumato.papers.picture import Picture

VALUES = np.arange(3.0)
PLACE = "Jiang2021, Fig. 3b"


def skewed_prior(skewness: float) -> np.ndarray:
    """The prior of the figure."""
    return np.array([1 / 3 + skewness / 2, 1 / 3, 1 / 3 - skewness / 2])


def run(*, quick: bool = False) -> Reproduction:
    """Both panels."""
    skews = np.linspace(0, 0.6, 4 if quick else 13)
    epsilons = np.array([0.25, 1.0, 2.0, 4.0]) if quick else np.linspace(0.25, 4, 16)
    by_skew = [_row("skewness", float(s), skewed_prior(float(s)), 2.0) for s in skews]
    by_epsilon = [_row("epsilon", float(e), skewed_prior(0.2), float(e)) for e in epsilons]
    sufficient = [row["alpha, conditions"] for row in by_skew]
    rising = [row["alpha, conditions"] for row in by_epsilon]
    claims = (
        check(
            "more skewness requires higher values of α (ε = 2)",
            sufficient[-1] > sufficient[0],
            whose="Jiang2021, Fig. 3a",
            recorded="fails",
            measured=(sufficient[0], sufficient[-1]),
            because="α at s = 0 and s = .6: the feasible α falls, and a larger α is less noise",
        ),
        check(
            "α rises with ε (s = .2)", bool(np.all(np.diff(rising) > 0)), whose=PLACE, measured=(rising[0], rising[-1])
        ),
        near("(a) α at s = 0", sufficient[0], 1.078, tolerance=1e-3),
        near("(a) α at s = .6", sufficient[-1], 0.106, tolerance=5e-3),
        near("(b) α at ε = .25", rising[0], 0.081, tolerance=5e-3),
        near("(b) α at ε = 4", rising[-1], 0.969, tolerance=1e-3),
    )
    panels = []
    for title, key, rows in (("(a) ε = 2", "skewness", by_skew), ("(b) s = .2", "epsilon", by_epsilon)):
        lines = {name: np.array([row[name] for row in rows]) for name in ("alpha, conditions", "alpha, exact")}
        panels.append(Panel(title, np.array([row[key] for row in rows]), lines, key, "α"))
    return Reproduction(
        name="lip-figure-3",
        title="Figure 3: the largest slope α of context-aware Laplace noise",
        tables={"(a) epsilon = 2": by_skew, "(b) skewness .2": by_epsilon},
        claims=claims,
        picture=Picture(panels, "Theorem 6: feasible α", columns=2),
        notes=("The figure prints no numbers; ours are those of the corrected conditions.",),
    )


def _row(name: str, value: float, prior: np.ndarray, epsilon: float) -> dict[str, float]:
    found = {kind: context_aware(VALUES, prior, epsilon, calibration=kind).alpha for kind in ("sufficient", "exact")}
    return {name: value, "alpha, conditions": found["sufficient"] or 0.0, "alpha, exact": found["exact"] or 0.0}
