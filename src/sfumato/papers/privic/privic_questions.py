"""Mutual information as questions saved: how many yes/no questions find the place, before and after a report.

[Biswas2023, Sec. 3.2] reads H(X) as the expected number of questions of the best strategy and H(X|Y) as what is left
after the report, so that I(X; Y) is what the report saves. The best strategy is Huffman's tree (Huffman, 1952), whose
mean depth L obeys H <= L < H + 1 bits: "equal or approximately equal" is right to within one question, with equality
iff every probability is a power of 1/2. So what a report *saves* is I only to within one question either way: three
equal places and a report that tells whether it is the first save exactly 1 question, where I = .918 bits.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
