"""Appendix 7.1.2 of [Meehan2021]: the noise covariances the mechanisms choose, a draw from each, and ours."""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import Claim, cannot_check, check
from sfumato.papers.picture import NoiseMap, Picture
from sfumato.tracks.designs.exact_designs import joint, one_compound
from sfumato.tracks.designs.noise_design import NoiseDesign
from sfumato.tracks.designs.published import concentrated_noise, multiple_secrets, sdp_a, sdp_a_basic, uniform
from sfumato.tracks.priors.kernels import RBF, Periodic

NUGGET = 1e-6
BASELINES, SMOOTH, PERIODIC = (f"Meehan2021, App. 7.1.2 ({letter})" for letter in "abc")


def run(*, quick: bool = False) -> Reproduction:
    """Baselines, then RBF (l = 6) and periodic (l = 1.1): basic, compound, every point, published and ours."""
    designs: dict[str, NoiseDesign] = {}
    rbf = RBF(6.0).covariance(np.arange(50.0)) + NUGGET * np.eye(50)
    every = [np.array([i]) for i in range(50)]
    designs["uniform"] = uniform(rbf, [[24]], budget=1.0)
    designs["concentrated, basic"] = concentrated_noise(rbf, [[24]], budget=1.0)
    designs["concentrated, compound"] = concentrated_noise(rbf, [[12, 24, 36]], budget=1.0)
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
    parts = [NoiseMap(name, design.noise_covariance, sample=draws[name]) for name, design in designs.items()]
    return Reproduction(
        name="cip-covariances",
        title="Appendix 7.1.2: noise covariances and a draw from each",
        tables={"designs": rows},
        claims=_claims(designs, quick),
        picture=Picture(parts, "Noise covariances (red +, blue -) and one draw", columns=4),
        notes=("Draws are simulations with a fixed seed.", f"Nugget {NUGGET:g} in the priors, budget .02 per point.")
        + (("--quick leaves out the every-point designs.",) if quick else ()),
    )


def _add(
    designs: dict[str, NoiseDesign], name: str, prior: FloatArray, pair: list[int], every: list[IntArray] | None
) -> None:
    budget = 0.02 * len(prior)
    designs[f"{name}: SDP_A, basic"] = sdp_a_basic(prior, 24, budget=budget)
    designs[f"{name}: ours, basic"] = joint(prior, 24, budget=budget).value
    designs[f"{name}: SDP_A, compound"] = sdp_a(prior, pair, budget=budget).value
    designs[f"{name}: ours, compound"] = one_compound(prior, pair, budget=budget).value
    if every is not None:
        published = multiple_secrets(prior, every, budget=budget).value
        designs[f"{name}: Multiple Secrets"] = published
        noise = prior * (published.trace / np.trace(prior))
        designs[f"{name}: ours, every point"] = NoiseDesign(noise, (prior,), tuple(every), "prior-shaped")


def _claims(designs: dict[str, NoiseDesign], quick: bool) -> list[Claim]:
    basic = designs["RBF: SDP_A, basic"].noise_covariance
    pair = designs["RBF: SDP_A, compound"].noise_covariance
    others = np.setdiff1d(np.arange(50), [24])
    elsewhere = np.diag(basic)[others]
    losses = {name: float(design.losses().max()) for name, design in designs.items()}
    most = int(others[np.argmax(elsewhere)])
    even, there = (np.diag(designs[name].noise_covariance) for name in ("uniform", "concentrated, compound"))
    claims = [
        check(
            "one baseline spreads the noise evenly, the other allots it to the sensitive times only",
            bool(np.ptp(even) == 0) and np.flatnonzero(there).tolist() == [12, 24, 36],
            whose=BASELINES,
        ),
        check(
            "SDP_A, basic: the noise at the secret is independent of the rest",
            bool(np.all(basic[24, others] == 0)),
            whose=SMOOTH,
        ),
        check(
            "SDP_A, basic: the rest is positively correlated",
            bool(np.min(basic[np.ix_(others, others)]) > -1e-9),
            whose=SMOOTH,
        ),
        check("SDP_A, basic: most variance next to the secret", most in (23, 25), whose=SMOOTH, measured=most),
        check(
            "SDP_A, compound: noise before and after the pair is negatively correlated",
            bool(np.min(pair[:24, 26:]) < -1e-4 * pair.max()),
            whose=SMOOTH,
        ),
        check(
            "ours, basic: rank one, and its loss is below half of SDP_A's",
            losses["RBF: ours, basic"] < 0.5 * losses["RBF: SDP_A, basic"],
            measured=(losses["RBF: ours, basic"], losses["RBF: SDP_A, basic"]),
        ),
        check(
            "ours, compound: its loss is below SDP_A's",
            losses["RBF: ours, compound"] < losses["RBF: SDP_A, compound"],
            measured=(losses["RBF: ours, compound"], losses["RBF: SDP_A, compound"]),
        ),
        check(
            "periodic: the noise one period from the secret follows it in ours",
            bool(designs["periodic: ours, basic"].noise_covariance[24, 0] > 0),
        ),
    ]
    return [*claims, *(_every_point_claims(designs, losses) if not quick else _left_out())]


def _left_out() -> list[Claim]:
    words = {
        SMOOTH: "Multiple Secrets, RBF: more noise towards both ends",
        PERIODIC: "Multiple Secrets, periodic: less noise towards the middle and ends",
    }
    because = "--quick leaves out the every-point designs"
    return [cannot_check(text, whose=place, because=because) for place, text in words.items()]


def _every_point_claims(designs: dict[str, NoiseDesign], losses: dict[str, float]) -> list[Claim]:
    every = designs["RBF: Multiple Secrets"].noise_covariance
    diagonal = np.diag(every)
    ends = float(min(diagonal[0], diagonal[-1]) / np.median(diagonal))
    flat = np.diag(designs["periodic: Multiple Secrets"].noise_covariance)
    half = Periodic(23.5, 1.1).covariance(np.arange(48.0)) + NUGGET * np.eye(48)
    repeating = np.diag(multiple_secrets(half, [np.array([i]) for i in range(48)], budget=0.96).value.noise_covariance)
    dips = [max(v[0], v[-1], v[23:25].max()) / np.median(v) for v in (repeating, flat)]
    return [
        check("Multiple Secrets, RBF: more noise towards both ends", ends > 1, whose=SMOOTH, measured=ends),
        check(
            "Multiple Secrets, RBF: a subtle degree of correlation between neighbours",
            bool(np.min(np.diag(every, 1)) > 0),
            whose=SMOOTH,
        ),
        check(
            "Multiple Secrets, periodic: noise power is mitigated towards the middle and ends",
            dips[0] < 0.99,
            whose=PERIODIC,
            measured=(float(dips[0]), float(dips[1])),
            because="largest variance there over the median, for a period of half the span (23.5) and of exactly 24",
        ),
        check(
            "every point: ours at the same trace loses at least 2.4 x less",
            losses["RBF: Multiple Secrets"] > 2.4 * losses["RBF: ours, every point"],
            measured=losses["RBF: Multiple Secrets"] / losses["RBF: ours, every point"],
        ),
    ]
