"""The loop's estimates as a Markov chain, exactly, for a few cells and reports [Biswas2023, Sec. 6].

A state is an estimate θ whose shares are whole multiples of 1/k, none of them 0 (the paper's P_{X,k}). One cycle: the
channel is Blahut-Arimoto of θ, everybody reports through it, and the iterative Bayesian update from θ gives the next
estimate, rounded to the nearest state. The law of the tally is a sum of multinomials, computed by adding one person at
a time, so the transition matrix is exact: nothing is sampled.

Lemma 6.1 says that every transition has positive probability. It has not:

* n reports of m cells make C(n+m-1, m-1) tallies, so at most so many states follow a state; with more states than
  tallies some transition is impossible.
* With the *limit* of Blahut-Arimoto, which the lemma uses, the weight of an output may be exactly 0. Two cells at
  distance 1: the limit reports cell 0 always iff θ_0 >= e^β / (1 + e^β) (the optimality condition
  θ_0 e^-β + θ_1 e^β <= 1). Such reports say nothing, every θ is a maximum of their likelihood, and the update leaves θ
  where it is: the state is absorbing. There are such states on both sides, so the chain is not irreducible and its
  stationary law is not unique (Theorem 6.2 fails), and the map from θ to the estimate jumps there even with infinitely
  many reports (Theorem C.6 fails).

With finitely many steps the weights stay positive; :func:`chain_of_estimates` then shows which states are left for
ever and whether one closed class, and so one stationary law, remains.

The reproduction enumerates two or three cells and up to twenty reports per cycle: Figure 5, Lemma 6.1 (it fails in
every case), Theorems 6.2 and 6.3. With the published finite steps one law remains in every case enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from sfumato.base.arrays import BoolArray, FloatArray, IntArray, finite, positive, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import em_factor
from sfumato.papers import Reproduction, Row
from sfumato.papers.claims import check, near
from sfumato.papers.picture import Picture, Simplex


@dataclass(frozen=True, slots=True, eq=False)
class EstimateChain:
    """States (k, cells), their transition matrix, and the communicating class of each; ``closed`` are never left."""

    states: FloatArray
    transition: FloatArray
    class_of: IntArray
    closed: tuple[int, ...]
    tallies: int

    @property
    def irreducible(self) -> bool:
        """Whether every state can be reached from every other."""
        return int(self.class_of.max()) == 0

    @property
    def everywhere_positive(self) -> bool:
        """Whether every transition has positive probability, as Lemma 6.1 says."""
        return bool(self.transition.min() > 0)

    @property
    def absorbing(self) -> BoolArray:
        """The states that are never left once entered."""
        return np.asarray(np.diag(self.transition) >= 1 - 1e-12)

    def members(self, number: int) -> IntArray:
        """The states of one communicating class."""
        return np.flatnonzero(self.class_of == number)

    def period(self, number: int) -> int:
        """The period of a closed class: 1 means aperiodic."""
        inside = self.members(number)
        arcs = self.transition[np.ix_(inside, inside)] > 0
        level = np.full(inside.size, -1)
        level[0], frontier = 0, [0]
        gaps: list[int] = []
        while frontier:
            here = frontier.pop()
            for there in np.flatnonzero(arcs[here]):
                if level[there] < 0:
                    level[there] = level[here] + 1
                    frontier.append(int(there))
                else:
                    gaps.append(abs(int(level[here] + 1 - level[there])))
        return reduce(math.gcd, gaps, 0) or 1

    def stationary_laws(self) -> list[FloatArray]:
        """One stationary law per closed class; the chain has a unique one iff there is one such class."""
        laws = []
        for number in self.closed:
            inside = self.members(number)
            part = self.transition[np.ix_(inside, inside)]
            system = np.concatenate([part.T - np.eye(inside.size), np.ones((1, inside.size))])
            wanted = np.zeros(inside.size + 1)
            wanted[-1] = 1.0
            found, *_ = np.linalg.lstsq(system, wanted, rcond=None)
            law = np.zeros(len(self.states))
            law[inside] = np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()
            laws.append(read_only(law))
        return laws

    def mean_return_time(self, state: int) -> float:
        """E τ, the mean number of cycles until a state is seen again; infinite where it may never be."""
        if self.class_of[state] not in self.closed:
            return math.inf
        inside = self.members(int(self.class_of[state]))
        others = inside[inside != state]
        waits = np.zeros(len(self.states))
        if others.size:
            part = self.transition[np.ix_(others, others)]
            waits[others] = np.linalg.solve(np.eye(others.size) - part, np.ones(others.size))
        return 1.0 + float(self.transition[state] @ waits)

    def mixing_time(self, *, level: float = 0.25, most: int = 2**20) -> int | None:
        """The first cycle after which every start is within ``level`` of the stationary law in total variation.

        None where there is none: several closed classes, a period, or more than ``most`` cycles.
        """
        positive(level, "level", at_most=1.0)
        if len(self.closed) != 1 or self.period(self.closed[0]) != 1:
            return None
        (law,) = self.stationary_laws()

        def far(power: FloatArray) -> bool:
            return bool(0.5 * np.abs(power - law).sum(axis=1).max() > level)

        powers = [self.transition]
        while far(powers[-1]):
            if 2 ** len(powers) > most:
                return None
            powers.append(powers[-1] @ powers[-1])
        cycles, reached = 0, np.eye(len(self.states))
        for exponent in range(len(powers) - 1, -1, -1):
            further = reached @ powers[exponent]
            if far(further):
                cycles, reached = cycles + 2**exponent, further
        return cycles + 1

    def after(self, cycles: int, start: int) -> FloatArray:
        """The law of the estimate after so many cycles from one state."""
        law = np.zeros(len(self.states))
        law[start] = 1.0
        for _ in range(cycles):
            law = law @ self.transition
        return law


def simplex_states(cells: int, parts: int) -> FloatArray:
    """Every θ with shares in {1/k, ..., 1}: the discretised simplex of [Biswas2023, Fig. 5], (states, cells)."""
    if cells < 2 or parts < cells:
        raise InputError(f"{cells} cells in {parts} parts.", "Take at least 2 cells and as many parts as cells.")
    if math.comb(parts - 1, cells - 1) > (most := 2000):
        raise InputError("The simplex has too many states to enumerate.", f"At most {most}: take fewer parts.")
    cuts = np.array(list(combinations(range(1, parts), cells - 1)), dtype=np.float64)
    edges = np.concatenate([np.zeros((len(cuts), 1)), cuts, np.full((len(cuts), 1), float(parts))], axis=1)
    return np.asarray(np.diff(edges, axis=1) / parts)


def channels_of(states: FloatArray, distances: FloatArray, *, beta: float, steps: int | None) -> FloatArray:
    """The Blahut-Arimoto channel of every state, (states, x, y); ``steps=None`` is the limit, with exact zeros."""
    kernel = np.exp(-positive(beta, "beta") * distances)
    c = np.full(states.shape, 1.0 / states.shape[1])
    for _ in range((20_000 if steps is None else steps) - 1):
        c = c * ((states / (c @ kernel.T)) @ kernel)
    if steps is None:
        gains = (states / (c @ kernel.T)) @ kernel
        c = np.where((c < 1e-9) | ((gains < 1 - 1e-6) & (c < 1e-3)), 0.0, c)
    rows = c[:, None, :] * kernel[None]
    return np.asarray(rows / rows.sum(axis=2, keepdims=True))


def tally_law(rows: FloatArray) -> FloatArray:
    """The law of the counts of all outputs but the last, for people whose reports have these rows, (people, m).

    Adding a person shifts the law by one count along the output reported: n people cost n m shifts.
    """
    people, outputs = rows.shape
    law = np.zeros((people + 1,) * (outputs - 1))
    law[(0,) * (outputs - 1)] = 1.0
    for row in rows:
        fresh = row[-1] * law
        for axis in range(outputs - 1):
            moved = np.roll(law, 1, axis=axis)
            moved[(slice(None),) * axis + (0,)] = 0.0
            fresh = fresh + row[axis] * moved
        law = fresh
    return law


def chain_of_estimates(
    people: Sequence[int] | IntArray,
    distances: npt.ArrayLike,
    *,
    beta: float,
    parts: int,
    ba_steps: int | None = 8,
    ibu_steps: int = 10,
) -> EstimateChain:
    """The exact chain for so many people in each cell, who report in every cycle; ``ba_steps=None`` is the limit."""
    d = finite(distances, "The distances", dimensions=2)
    counts = np.asarray(people, dtype=np.int64)
    cells = counts.size
    if d.shape != (cells, cells) or counts.min(initial=0) < 0 or counts.sum() == 0:
        raise InputError("People and distances do not fit.", "Give a count per cell and a distance per pair of cells.")
    total = int(counts.sum())
    if math.comb(total + cells - 1, cells - 1) > 5000:
        raise InputError(f"{total} reports of {cells} cells make too many tallies.", "Take fewer people or cells.")
    if (ba_steps is not None and ba_steps < 1) or ibu_steps < 1:
        raise InputError("Steps start at 1.", "For example 8 and 10, as published; or ba_steps=None for the limit.")
    states = simplex_states(cells, parts)
    channels = channels_of(states, d, beta=beta, steps=ba_steps)
    shown = np.array([t for t in np.ndindex(*(total + 1,) * (cells - 1)) if sum(t) <= total])
    shares = np.concatenate([shown, total - shown.sum(axis=1, keepdims=True)], axis=1) / total
    where = tuple(shown.T)
    persons = np.repeat(np.arange(cells), counts)
    transition = np.zeros((len(states), len(states)))
    for number, (theta, channel) in enumerate(zip(states, channels, strict=True)):
        law = tally_law(channel[persons])[where]
        possible = law > 0
        estimates = updates(theta, channel, shares[possible], steps=ibu_steps)
        nearest = np.argmin(((estimates[:, None, :] - states[None]) ** 2).sum(axis=2), axis=1)
        np.add.at(transition[number], nearest, law[possible])
    transition /= transition.sum(axis=1, keepdims=True)
    return _classified(states, transition, len(shown))


def updates(theta: FloatArray, channel: FloatArray, shares: FloatArray, *, steps: int) -> FloatArray:
    """The iterative Bayesian update from θ for many tallies at once, (tallies, cells) [Biswas2023, Def. 2.5]."""
    found = np.tile(theta, (len(shares), 1))
    for _ in range(steps):
        found = found * em_factor(shares, found @ channel, lambda ratio: ratio @ channel.T)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _classified(states: FloatArray, transition: FloatArray, tallies: int) -> EstimateChain:
    count, class_of = connected_components(
        csr_matrix((transition > 0).astype(np.int64)), directed=True, connection="strong"
    )
    leaves = np.zeros(count, dtype=bool)
    rows, columns = np.nonzero(transition)
    leaves[class_of[rows[class_of[rows] != class_of[columns]]]] = True
    closed = tuple(int(number) for number in np.flatnonzero(~leaves))
    return EstimateChain(read_only(states), read_only(transition), read_only(class_of, np.int64), closed, tallies)


TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
BETAS = (0.5, 1.0, 2.0)
PAPER = "Biswas2023"


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
    parts_drawn = 9 if quick else 15
    figure = chain_of_estimates([10, 6, 4], LINE, beta=1.0, parts=parts_drawn)
    (law,) = figure.stationary_laws()
    best = int(np.argmax(law))
    mixed = figure.mixing_time()
    claims = (
        check(
            "with the limit of Blahut-Arimoto the chain is irreducible",
            all(chain.irreducible for chain in limits),
            whose=f"{PAPER}, Lemma 6.1",
            measured=sum(chain.irreducible for chain in limits),
            expected=len(limits),
            because="irreducible chains among those enumerated; with two cells no estimate with more than "
            f"e^β/(1 + e^β) in one is ever left ({math.e / (1 + math.e):.2f} at β = 1)",
        ),
        check(
            "with the limit of Blahut-Arimoto the chain has a unique stationary law",
            all(len(chain.closed) == 1 for chain in limits),
            whose=f"{PAPER}, Thm 6.2",
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
            whose=f"{PAPER}, Thm 6.2, ψ",
        ),
        check(
            "the estimate's law tends to ψ from every start (published steps)",
            mixed is not None,
            whose=f"{PAPER}, Thm 6.3",
            measured=mixed,
            because="cycles until every start is within .25 in total variation",
        ),
        check(
            "with the limit every start is forgotten (two cells, β = 1)",
            not any(chain.absorbing.any() for chain in limits[:9]),
            whose=f"{PAPER}, Sec. 6, start",
            measured=int(limits[1].absorbing.sum()),
            expected=0,
            because=f"estimates of {len(limits[1].states)} that are never left once they are the start",
        ),
        check(
            "with the published steps not every transition is possible either: fewer tallies than states",
            not any(chain.everywhere_positive for chain in finite),
            measured=sum(chain.everywhere_positive for chain in finite),
        ),
        near(
            "the mesh of three cells in k parts has C(k-1, 2) points, fewer than k²",
            float(len(figure.states)),
            float(math.comb(parts_drawn - 1, 2)),
            tolerance=1e-12,
            whose=f"{PAPER}, Remark 4, Fig. 5",
        ),
        check(
            "irreducible, period, stationary law and hitting time are computed for every chain",
            all(chain.period(number) >= 1 for chain in finite for number in chain.closed),
            whose=f"{PAPER}, Def. 6.1",
            measured=len(finite),
        ),
    )
    return Reproduction(
        name="privic-chain",
        title="Section 6: the chain of estimates, exactly",
        tables={"chains": rows},
        claims=claims,
        picture=Picture([Simplex("Figure 5: the discretised simplex, with its stationary law", figure.states, law)]),
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
