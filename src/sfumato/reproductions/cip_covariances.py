"""Appendix 7.1.2 of [Meehan2021]: the noise covariances the mechanisms choose, a draw from each, and ours."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import FloatArray, IntArray
from sfumato.mechanisms.designs.noise_design import NoiseDesign
from sfumato.mechanisms.designs.one_compound import one_compound
from sfumato.mechanisms.designs.published import concentrated, multiple_secrets, sdp_a, uniform
from sfumato.mechanisms.designs.rank_one import joint
from sfumato.priors.kernels import RBF, Periodic
from sfumato.reproductions import Reproduction, Row
from sfumato.reproductions.picture import HeatMap, svg

NUGGET = 1e-6


def run(*, quick: bool = False) -> Reproduction:
    """Baselines, then RBF (l = 6) and periodic (l = 1.1): basic, compound, every point, published and ours."""
    designs: dict[str, NoiseDesign] = {}
    rbf = RBF(6.0).covariance(np.arange(50.0)) + NUGGET * np.eye(50)
    every = [np.array([i]) for i in range(50)]
    designs["uniform"] = uniform(rbf, [[24]], budget=1.0)
    designs["concentrated, basic"] = concentrated(rbf, [[24]], budget=1.0)
    designs["concentrated, compound"] = concentrated(rbf, [[12, 24, 36]], budget=1.0)
    _add(designs, "RBF", rbf, [24, 25], None if quick else every)
    periodic = Periodic(24, 1.1).covariance(np.arange(48.0)) + NUGGET * np.eye(48)
    _add(designs, "periodic", periodic, [16, 32], None if quick else every[:48])
    draws = {name: design.release(np.zeros(len(design.noise_covariance)), rng=7) for name, design in designs.items()}
    rows: list[Row] = []
    for name, design in designs.items():
        summary = design.summary()
        diagonal = np.diag(design.noise_covariance)
        rows.append(
            {
                "mechanism": name,
                "loss": summary["loss"] if summary["loss"] is not None else float("inf"),
                "trace": design.trace,
                "rank": int(np.linalg.matrix_rank(design.noise_covariance, tol=1e-7 * diagonal.max())),
                "largest variance at": int(np.argmax(diagonal)),
            }
        )
    parts = [HeatMap(name, design.noise_covariance, draws[name]) for name, design in designs.items()]
    return Reproduction(
        name="cip-covariances",
        title="Appendix 7.1.2: noise covariances and a draw from each",
        tables={"designs": rows},
        claims=_claims(designs, quick),
        picture_svg=svg(parts, columns=4, title="Noise covariances (red +, blue -) and one draw"),
        notes=("Draws are simulations with a fixed seed.", f"Nugget {NUGGET:g} in the priors, budget .02 per point.")
        + (("--quick leaves out the every-point designs.",) if quick else ()),
    )


def _add(
    designs: dict[str, NoiseDesign], name: str, prior: FloatArray, pair: list[int], every: list[IntArray] | None
) -> None:
    budget = 0.02 * len(prior)
    designs[f"{name}: SDP_A, basic"] = sdp_a(prior, [24], budget=budget).value
    designs[f"{name}: ours, basic"] = joint(prior, 24, budget=budget).value
    designs[f"{name}: SDP_A, compound"] = sdp_a(prior, pair, budget=budget).value
    designs[f"{name}: ours, compound"] = one_compound(prior, pair, budget=budget).value
    if every is not None:
        published = multiple_secrets(prior, every, budget=budget).value
        designs[f"{name}: Multiple Secrets"] = published
        noise = prior * (published.trace / np.trace(prior))
        designs[f"{name}: ours, every point"] = NoiseDesign(noise, (prior,), tuple(every), "prior-shaped")


def _claims(designs: dict[str, NoiseDesign], quick: bool) -> dict[str, bool]:
    basic = designs["RBF: SDP_A, basic"].noise_covariance
    pair = designs["RBF: SDP_A, compound"].noise_covariance
    others = np.setdiff1d(np.arange(50), [24])
    near = np.diag(basic)[others]
    claims = {
        "SDP_A, basic: the noise at the secret is independent of the rest": bool(np.all(basic[24, others] == 0)),
        "SDP_A, basic: the rest is positively correlated": bool(np.min(basic[np.ix_(others, others)]) > -1e-9),
        "SDP_A, basic: the most variance elsewhere is next to the secret": int(others[np.argmax(near)]) in (23, 25),
        "SDP_A, compound: noise before and after the pair is negatively correlated": bool(
            np.min(pair[:24, 26:]) < -1e-4 * pair.max()
        ),
        "ours, basic: rank one, and its loss is below half of SDP_A's": bool(
            designs["RBF: ours, basic"].losses()[0] < 0.5 * designs["RBF: SDP_A, basic"].losses()[0]
        ),
        "ours, compound: its loss is below SDP_A's": bool(
            designs["RBF: ours, compound"].losses()[0] < designs["RBF: SDP_A, compound"].losses()[0]
        ),
        "periodic: the noise one period from the secret follows it in ours": bool(
            designs["periodic: ours, basic"].noise_covariance[24, 0] > 0
        ),
    }
    if not quick:
        every = designs["RBF: Multiple Secrets"].noise_covariance
        diagonal = np.diag(every)
        claims["Multiple Secrets: more noise towards both ends than in the middle"] = bool(
            min(diagonal[0], diagonal[-1]) > float(np.median(diagonal))
        )
        claims["Multiple Secrets: neighbours are positively correlated"] = bool(np.min(np.diag(every, 1)) > 0)
        claims["every point: ours at the same trace loses at least 2.4 x less"] = bool(
            designs["RBF: Multiple Secrets"].losses().max() > 2.4 * designs["RBF: ours, every point"].losses().max()
        )
    return claims
