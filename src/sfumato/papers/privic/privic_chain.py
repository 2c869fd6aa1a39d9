"""Section 6 of PRIVIC: the loop as a Markov chain, enumerated; Figure 5, Lemma 6.1, Theorems 6.2 and 6.3.

[Biswas2023, Sec. 6]. Every number is exact (no sampling): two or three cells, up to twenty reports per cycle. Lemma 6.1
fails in every case; with the limit of Blahut-Arimoto, which it uses, states beyond θ = e^β/(1 + e^β) absorb: the
stationary law is not unique. With the published finite steps one law remains in every case enumerated.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, near
from sfumato.papers.privic.chain import EstimateChain, chain_of_estimates
from sfumato.papers.simplex_picture import simplex_svg

TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
BETAS = (0.5, 1.0, 2.0)
LEMMA, UNIQUE, LIMIT = (f"Biswas2023, {name}" for name in ("Lemma 6.1", "Thm 6.2", "Thm 6.3"))


def run(*, quick: bool = False) -> Reproduction:
    """All cases, with the published steps and with the limit."""
    rows: list[Row] = []
    finite: list[EstimateChain] = []
    limits: list[EstimateChain] = []
    thresholds_agree = True
    cases = [([2, 1], TWO, 20), ([5, 5], TWO, 20), ([14, 6], TWO, 40), ([10, 6, 4], LINE, 9 if quick else 15)]
    for people, distances, parts in cases:
        for beta in BETAS:
            for steps in (8, None):
                chain = chain_of_estimates(people, distances, beta=beta, parts=parts, ba_steps=steps)
                (limits if steps is None else finite).append(chain)
                if steps is None and len(people) == 2:
                    beyond = chain.states.max(axis=1) >= math.exp(beta) / (1 + math.exp(beta))
                    thresholds_agree &= bool(np.array_equal(beyond, chain.absorbing))
                rows.append(_row(people, beta, steps, chain))
    figure = chain_of_estimates([10, 6, 4], LINE, beta=1.0, parts=9 if quick else 15)
    (law,) = figure.stationary_laws()
    best = int(np.argmax(law))
    mixed = figure.mixing_time()
    claims = (
        check(
            "every transition has positive probability, so the chain is irreducible",
            all(chain.everywhere_positive for chain in [*finite, *limits]),
            whose=LEMMA,
            recorded="fails",
            measured=sum(chain.everywhere_positive for chain in [*finite, *limits]),
            expected=len(finite) + len(limits),
            because="chains with only positive transitions; n reports make too few tallies, and a limit absorbs",
        ),
        check(
            "with the limit of Blahut-Arimoto the chain has a unique stationary law",
            all(len(chain.closed) == 1 for chain in limits),
            whose=UNIQUE,
            recorded="fails",
            measured=tuple(float(len(chain.closed)) for chain in limits[:3]),
            expected=1,
            because="closed classes: every estimate beyond e^β/(1 + e^β) is absorbing",
        ),
        check(
            "with the published 8 steps exactly one stationary law remains, in every case enumerated",
            all(len(chain.closed) == 1 for chain in finite),
            measured=len(finite),
        ),
        check("the absorbing estimates of two cells are exactly those beyond e^β/(1 + e^β)", thresholds_agree),
        near(
            "ψ(θ) is one over the mean return time (published steps)",
            float(law[best] * figure.mean_return_time(best)),
            1.0,
            tolerance=1e-8,
            whose=UNIQUE,
        ),
        check(
            "the estimate's law tends to ψ from every start (published steps)",
            mixed is not None,
            whose=LIMIT,
            measured=mixed,
            because="cycles until every start is within .25 in total variation",
        ),
    )
    return Reproduction(
        name="privic-chain",
        title="Section 6: the chain of estimates, exactly",
        tables={"chains": rows},
        claims=claims,
        picture_svg=simplex_svg(figure.states, law, title="Figure 5: the discretised simplex, with its stationary law"),
        notes=(
            "A state is an estimate in multiples of 1/k without zeros, as in the paper; estimates are rounded to it.",
            "Cells at distance 1 on a line; everybody reports in every cycle; the law of the tally is exact.",
            "That one law remains with finitely many steps is enumerated, not proved.",
        ),
        numbers={"stationary_mean": [float(v) for v in law @ figure.states], "people": [0.5, 0.3, 0.2]},
    )


def _row(people: list[int], beta: float, steps: int | None, chain: EstimateChain) -> Row:
    (first, *more) = chain.stationary_laws()
    return {
        "people": " + ".join(map(str, people)),
        "beta": beta,
        "BA steps": "limit" if steps is None else steps,
        "states": len(chain.states),
        "tallies": chain.tallies,
        "all positive": chain.everywhere_positive,
        "irreducible": chain.irreducible,
        "closed classes": len(chain.closed),
        "absorbing": int(chain.absorbing.sum()),
        "mean estimate of cell 0": float(first @ chain.states[:, 0]) if not more else None,
        "mixing time": chain.mixing_time(),
    }
