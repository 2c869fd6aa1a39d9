"""Appendix C of PRIVIC: how much the loop's pieces move when their start does, as printed and as it holds.

[Biswas2023, App. C]; the functions and what is wrong with the statements are in
:mod:`sfumato.papers.privic.continuity`.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.drawing.panels import Panel, svg
from sfumato.channels.designs.rate_distortion import rate_distortion
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, unchecked
from sfumato.papers.privic import continuity
from sfumato.papers.privic.chain import channels_of, updates

LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
PAPER = "Biswas2023"


def run(*, quick: bool = False) -> Reproduction:
    """Every statement on small examples."""
    rng = np.random.default_rng(0)
    smallest, largest = continuity.distances_of(LINE)
    rows: list[Row] = []
    worst = 0.0
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    for _ in range(4 if quick else 20):
        other = theta + 0.03 * (rng.dirichlet(np.ones(4)) - theta)
        apart = 2 * continuity.total_variation(theta, other)
        bound = continuity.rate_distortion_change(apart, cells=4, smallest=smallest, largest=largest)
        rates = [rate_distortion(p, LINE, [0.5, 1.0, 2.0, 4.0]).rate(0.4) for p in (theta, other)]
        worst = max(worst, abs(rates[0] - rates[1]) / bound)
        rows.append({"L1 distance": apart, "change of the rate (nats)": abs(rates[0] - rates[1]), "Lemma C.1": bound})
    radius = continuity.continuity_radius(0.1, cells=4, smallest=smallest, largest=largest)
    kept = continuity.rate_distortion_change(radius, cells=4, smallest=smallest, largest=largest)
    channel, shares = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4]]), np.array([0.5, 0.5])
    near, far = np.array([1e-9, 1 - 1e-9]), np.array([2e-9, 1 - 2e-9])
    moved = [updates(start, channel, shares[None], steps=1)[0] for start in (near, far)]
    ratio = continuity.total_variation(*moved) / continuity.total_variation(near, far)
    printed, ours = continuity.printed_lipschitz(channel, 10), continuity.update_lipschitz(channel, shares)
    edge = math.e / (1 + math.e)
    jump = [continuity.limit_of_one_cycle(edge + step, truth_0=0.6, beta=1.0) for step in (-1e-9, 1e-9)]
    constant = channels_of(np.array([[edge + 1e-3, 1 - edge - 1e-3]]), TWO, beta=1.0, steps=None)[0]
    claims = (
        check(
            "Lemma C.1 bounds the change of the rate (largest ratio of the change to the bound)",
            worst <= 1,
            whose=f"{PAPER}, Lemma C.1",
            measured=worst,
        ),
        check(
            "Lemma C.2: the inverse is B exp(W_r(-y/(AB))) for any order r of Lambert's function",
            continuity.principal_preimage(2.0, scale=21.0, size=16.0) < 16 / math.e,
            whose=f"{PAPER}, Lemma C.2",
            recorded="fails",
            measured=continuity.principal_preimage(2.0, scale=21.0, size=16.0),
            expected=continuity.inverse_of_change(2.0, scale=21.0, size=16.0),
            because="the order must be -1: the principal one gives the other preimage",
        ),
        check(
            "Corollary C.2.1 gives a radius that keeps the change (order -1)",
            kept <= 0.1 * (1 + 1e-9),
            whose=f"{PAPER}, Cor. C.2.1",
            measured=kept,
            expected=0.1,
            because="its condition compares the radius with itself; d̃/4Δ is meant",
        ),
        check(
            "Lemmas C.3 and C.5: one update moves at most 2 M² n² times as far as its start (n = 10 reports)",
            ratio <= printed,
            whose=f"{PAPER}, Lemma C.3, Lemma C.5",
            recorded="fails",
            measured=ratio,
            expected=printed,
            because="the smallest reported probability is not 1/n: a channel does not know n",
        ),
        check(
            "corrected: 2 M² Σ q / min C², from the channel itself",
            ratio <= ours,
            measured=ratio,
            expected=ours,
        ),
        check(
            "Theorem C.6: the loop is uniformly continuous (infinitely many reports, two cells, beta = 1)",
            abs(jump[0] - jump[1]) < 1e-3,
            whose=f"{PAPER}, Thm C.6",
            recorded="fails",
            measured=(jump[0], jump[1]),
            because="the estimate 1e-9 below and above θ_0 = e/(1+e), truth .6: above it the channel is constant",
        ),
        check("just above that threshold every report is cell 0", bool(constant[:, 0].min() == 1.0)),
        unchecked(
            "Remark 5: continuity of the rate makes Blahut-Arimoto continuous",
            whose=f"{PAPER}, Remark 5",
            because="a minimum may be continuous where its minimiser is not; no argument is given",
        ),
    )
    places = np.linspace(0.5, 0.95, 91)
    after = np.array([continuity.limit_of_one_cycle(float(x), truth_0=0.6, beta=1.0) for x in places])
    return Reproduction(
        name="privic-appendix-c",
        title="Appendix C: continuity, as printed and as it holds",
        tables={"Lemma C.1, four cells in a line": rows},
        claims=claims,
        picture_svg=svg(
            [
                Panel(
                    "one cycle, infinitely many reports", places, {"estimate": after, "start": places}, "θ_0", "cell 0"
                )
            ],
            columns=1,
            title="Theorem C.6: the jump",
        ),
        notes=(
            "Theorem C.4 follows from C.3 by induction; with the corrected constant it is update_lipschitz(steps=n).",
        ),
    )
