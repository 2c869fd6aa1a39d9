"""Mutual information as questions saved: how many yes/no questions find the place, before and after a report.

[Biswas2023, Sec. 3.2] reads H(X) as the expected number of questions of the best strategy and H(X|Y) as what is left
after the report, so that I(X; Y) is what the report saves. The best strategy is Huffman's tree (Huffman, 1952), whose
mean depth L obeys H <= L < H + 1 bits: "equal or approximately equal" is right to within one question, with equality
iff every probability is a power of 1/2. (Questions that halve the mass as well as they can, Fano's, are not always the
best.) So what a report *saves* is I only to within one question either way: three
equal places and a report that tells whether it is the first save exactly 1 question, where I = .918 bits.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.discrete import ChannelLike, matrix_of


@dataclass(frozen=True, slots=True)
class Questions:
    """The expected questions before and after a report, and the entropies they are read as, in bits."""

    before: float
    after: float
    entropy_bits: float
    residual_bits: float

    @property
    def saved(self) -> float:
        """Questions that the report saves the attacker, on average."""
        return self.before - self.after

    @property
    def information_bits(self) -> float:
        """I(X; Y) = H(X) - H(X|Y)."""
        return self.entropy_bits - self.residual_bits


def expected_questions(prior: npt.ArrayLike) -> float:
    """The least expected number of yes/no questions that find X: the mean depth of Huffman's tree."""
    p = checked_probabilities(prior)
    heap = sorted(float(value) for value in p[p > 0])
    total = 0.0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total


def questions_by_halves(prior: npt.ArrayLike) -> float:
    """The expected number if every question splits the mass as equally as any set of places allows; at most 15."""
    p = [float(value) for value in checked_probabilities(prior) if value > 0]
    if len(p) > (most := 15):
        raise InputError(f"{len(p)} places have too many sets.", f"Give at most {most}.")
    return _by_halves(p)


def _by_halves(p: list[float]) -> float:
    if len(p) == 1:
        return 0.0
    sets = range(1, 1 << (len(p) - 1))
    halves = [[[v for k, v in enumerate(p) if (s >> k) & 1 == side] for side in (0, 1)] for s in sets]
    first, second = min(halves, key=lambda half: round(abs(sum(half[0]) - sum(half[1])), 12))
    return sum(p) + _by_halves(first) + _by_halves(second)


def questions(channel: ChannelLike, prior: npt.ArrayLike) -> Questions:
    """Before and after one report, with the entropies."""
    rows = matrix_of(channel)
    p = checked_probabilities(prior, rows.shape[0])
    joint = p[:, None] * rows
    reported = joint.sum(axis=0)
    after = residual = 0.0
    for y in np.flatnonzero(reported > 0):
        posterior = joint[:, y] / reported[y]
        after += float(reported[y]) * expected_questions(posterior)
        residual += float(reported[y]) * _entropy(posterior)
    return Questions(expected_questions(p), after, _entropy(p), residual)


def _entropy(p: npt.NDArray[np.float64]) -> float:
    seen = p[p > 0]
    return float(-(seen @ np.log2(seen)))
