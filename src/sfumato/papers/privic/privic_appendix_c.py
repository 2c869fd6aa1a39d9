"""Appendix C of [Biswas2023], run: how much the loop's pieces change when the map they start from does.

Lemma C.1 bounds the change of the rate-distortion function, Lemma C.2 inverts that bound, Corollary C.2.1 turns it into
a radius. Lemma C.3, Theorem C.4 and Lemma C.5 bound the change of the Bayesian update. What is printed and what holds:

* C.2 leaves the branch of Lambert's W open ("some integer order"). f(x) = A x ln(B/x) increases on (0, B/e), and its
  inverse there is B exp(W_-1(-y/(AB))); the principal branch gives the other preimage, above B/e.
* C.2.1's condition compares the radius with itself ("< δ/4Δ"); the smallest distance d̃ over 4Δ, from C.1, is meant.
* C.3 and C.5 replace min_y (θC)(y) by 1/n, n the number of reports. A channel does not know n: with C(0, y) = .5 and
  C(1, y) = 1e-4 one update moves 2,500 times as far as its start, where the printed constant is n² = 100 at n = 10.
  What holds is the constant from the channel itself, 2 M² Σ_y q_y / min_x C(x, y)², finite iff every output reported is
  possible from every cell. By induction the same constant to the power of the steps (C.4).
* C.6 (the whole loop is uniformly continuous) fails: see :mod:`sfumato.papers.privic.privic_chain`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw

from sfumato.base.arrays import FloatArray, finite, positive
from sfumato.base.drawing.panels import Panel
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities, checked_rows
from sfumato.channels.designs.rate_distortion import rate_distortion
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import cannot_check, check
from sfumato.papers.picture import Picture
from sfumato.papers.privic.privic_chain import channels_of, updates


def rate_distortion_change(l1_distance: float, *, cells: int, smallest: float, largest: float) -> float:
    """Lemma C.1: |RD(θ) - RD(θ')| <= (7Δ/d̃) ‖θ-θ'‖₁ ln(m²/‖θ-θ'‖₁), in nats; for ‖θ-θ'‖₁ < d̃/4Δ only."""
    if l1_distance == 0:
        return 0.0
    gap = positive(l1_distance, "l1_distance")
    if gap >= _reach(smallest, largest):
        raise InputError(
            f"The maps are {gap:g} apart; the lemma needs less than {_reach(smallest, largest):g}.",
            "It says nothing about maps that far apart.",
        )
    return 7 * largest / smallest * gap * math.log(cells**2 / gap)


def inverse_of_change(value: float, *, scale: float, size: float) -> float:
    """Lemma C.2 on the branch that is meant: the x in (0, B/e] with A x ln(B/x) = y, B exp(W_-1(-y/(AB)))."""
    a, b = positive(scale, "scale"), positive(size, "size")
    y = positive(value, "value")
    if y > a * b / math.e:
        raise InputError(f"A x ln(B/x) never reaches {y:g}.", f"Its largest value is {a * b / math.e:g}.")
    return float(b * math.exp(float(np.real(lambertw(-y / (a * b), k=-1)))))


def principal_preimage(value: float, *, scale: float, size: float) -> float:
    """What Lemma C.2 gives with the principal order of Lambert's function: the other x, above B/e."""
    return float(size * math.exp(float(np.real(lambertw(-value / (scale * size), k=0)))))


def continuity_radius(change_nats: float, *, cells: int, smallest: float, largest: float) -> float:
    """Corollary C.2.1: an L1 radius within which the rate-distortion function changes by at most ``change_nats``."""
    scale, size = 7 * largest / smallest, float(cells**2)
    reach = _reach(smallest, largest)
    if change_nats >= scale * reach * math.log(size / reach):
        return reach
    return inverse_of_change(change_nats, scale=scale, size=size)


def update_lipschitz(channel: npt.ArrayLike, shares: npt.ArrayLike, *, steps: int = 1) -> float:
    """Lemmas C.3 and C.5, Theorem C.4, corrected: L with TV(update θ, update θ') <= L TV(θ, θ') for all θ, θ'.

    2 M² Σ_y q_y / min_x C(x, y)² per step, M = max C; infinite where a reported output is impossible from some cell.
    """
    rows = checked_rows(channel)
    q = checked_probabilities(shares, rows.shape[1])
    least = rows.min(axis=0)
    if np.any(least[q > 0] == 0):
        return math.inf
    one = 2 * float(rows.max()) ** 2 * float(np.sum(q[q > 0] / least[q > 0] ** 2))
    return one**steps


def printed_lipschitz(channel: npt.ArrayLike, reports: int) -> float:
    """The constant of Lemma C.5 as printed, 2 M² n² for n reports: not a bound."""
    return 2 * float(checked_rows(channel).max()) ** 2 * reports**2


def total_variation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Half the L1 distance."""
    a, b = finite(first, "The first map"), finite(second, "The second map")
    return 0.5 * float(np.abs(a - b).sum())


def limit_of_one_cycle(theta_0: float, *, truth_0: float, beta: float) -> float:
    """The estimate of cell 0 after one cycle with infinitely many reports, two cells at distance 1, BA to its limit.

    Within 1/(1+e^β) < θ_0 < e^β/(1+e^β) the channel tells the cells apart and the estimate is the truth; outside it is
    constant and the estimate stays θ_0: a jump, so no uniform continuity (Theorem C.6).
    """
    edge = math.exp(beta) / (1 + math.exp(positive(beta, "beta")))
    return truth_0 if 1 - edge < theta_0 < edge else theta_0


def _reach(smallest: float, largest: float) -> float:
    return positive(smallest, "smallest") / (4 * positive(largest, "largest"))


def distances_of(metric: npt.ArrayLike) -> tuple[float, float]:
    """(d̃, Δ): the smallest distance above 0 and the largest."""
    d: FloatArray = finite(metric, "The distances", dimensions=2)
    apart = d[d > 0]
    if apart.size == 0:
        raise InputError("All places are one.", "Give at least two.")
    return float(apart.min()), float(apart.max())


LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
PAPER = "Biswas2023"


def run(*, quick: bool = False) -> Reproduction:
    """Every statement on small examples."""
    rng = np.random.default_rng(0)
    smallest, largest = distances_of(LINE)
    rows: list[Row] = []
    worst = 0.0
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    for _ in range(4 if quick else 20):
        other = theta + 0.03 * (rng.dirichlet(np.ones(4)) - theta)
        apart = 2 * total_variation(theta, other)
        bound = rate_distortion_change(apart, cells=4, smallest=smallest, largest=largest)
        rates = [rate_distortion(p, LINE, [0.5, 1.0, 2.0, 4.0]).rate(0.4) for p in (theta, other)]
        worst = max(worst, abs(rates[0] - rates[1]) / bound)
        rows.append({"L1 distance": apart, "change of the rate (nats)": abs(rates[0] - rates[1]), "Lemma C.1": bound})
    radius = continuity_radius(0.1, cells=4, smallest=smallest, largest=largest)
    kept = rate_distortion_change(radius, cells=4, smallest=smallest, largest=largest)
    channel, shares = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4]]), np.array([0.5, 0.5])
    near, far = np.array([1e-9, 1 - 1e-9]), np.array([2e-9, 1 - 2e-9])
    moved = [updates(start, channel, shares[None], steps=1)[0] for start in (near, far)]
    ratio = total_variation(*moved) / total_variation(near, far)
    printed, ours = printed_lipschitz(channel, 10), update_lipschitz(channel, shares)
    edge = math.e / (1 + math.e)
    jump = [limit_of_one_cycle(edge + step, truth_0=0.6, beta=1.0) for step in (-1e-9, 1e-9)]
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
            principal_preimage(2.0, scale=21.0, size=16.0) < 16 / math.e,
            whose=f"{PAPER}, Lemma C.2",
            recorded="fails",
            measured=principal_preimage(2.0, scale=21.0, size=16.0),
            expected=inverse_of_change(2.0, scale=21.0, size=16.0),
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
        cannot_check(
            "Remark 5: continuity of the rate makes Blahut-Arimoto continuous",
            whose=f"{PAPER}, Remark 5",
            because="a minimum may be continuous where its minimiser is not; no argument is given",
        ),
    )
    places = np.linspace(0.5, 0.95, 91)
    after = np.array([limit_of_one_cycle(float(x), truth_0=0.6, beta=1.0) for x in places])
    return Reproduction(
        name="privic-appendix-c",
        title="Appendix C: continuity, as printed and as it holds",
        tables={"Lemma C.1, four cells in a line": rows},
        claims=claims,
        picture=Picture(
            [
                Panel(
                    "one cycle, infinitely many reports", places, {"estimate": after, "start": places}, "θ_0", "cell 0"
                )
            ],
            title="Theorem C.6: the jump",
        ),
        notes=(
            "Theorem C.4 follows from C.3 by induction; with the corrected constant it is update_lipschitz(steps=n).",
        ),
    )
