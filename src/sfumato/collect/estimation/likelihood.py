"""The likelihood of places given reports through several channels, and one step of its expectation maximisation.

    l(theta) = sum_s sum_y n_s(y) log (theta C_s)(y),      C_s = diag(1/Z_s) K diag(c_s)

c_s cancels from the step (reports of cells with c_s = 0 were refused): it costs two products with K per channel,

    theta <- theta . g(theta),     g = sum_s (1/Z_s) K [ w_s / K(theta / Z_s) ],     w_s = n_s / n

l is concave, and l(best) - l(theta) <= n (max g - 1): a certificate at any theta. The product over cycles is the exact
likelihood for disjoint cohorts, adaptive channels included; with the same people in every cycle it is a composite
likelihood whose target is the distribution of those reporters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import NotCertified
from sfumato.base.numbers.em_step import em_factor
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids.distance_kernel import GridKernel
from sfumato.collect.grids.grid_channel import GridChannel

_SMALLEST_LOG_Z = -700.0


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The channels that share one beta: their kernel, 1/Z as (cells, channels)."""

    kernel: GridKernel
    inverse_z: FloatArray
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Channels grouped by beta; counts come separately, so that many thinned sets can be run at once."""

    groups: tuple[_Group, ...]
    cells: int

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Likelihood:
        """Precompute 1/Z of every channel."""
        by_beta: dict[float, list[int]] = {}
        for index, tally in enumerate(tallies):
            by_beta.setdefault(tally.channel.beta, []).append(index)
        groups = tuple(
            _Group(
                tallies[members[0]].channel.kernel,
                np.stack([inverse_normaliser(tallies[index].channel) for index in members], axis=1),
                tuple(members),
            )
            for members in by_beta.values()
        )
        return cls(groups, tallies[0].channel.cells)

    def step(
        self, theta: FloatArray, weights: FloatArray, *, scored: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """g for every column of ``theta`` (cells, k) under ``weights`` (cells, channels, k), and a log-likelihood.

        The log-likelihood is sum weights log(theta C / c), of ``scored`` instead of ``weights`` where given; it is
        computed only then or when k = 1.
        """
        columns = theta.shape[1]
        g = np.zeros_like(theta)
        level = np.zeros(columns)
        score = scored if scored is not None else (weights if columns == 1 else None)
        for group in self.groups:
            inverse_z = group.inverse_z[:, :, None]
            channels = len(group.members)
            whole = len(self.groups) == 1
            used = weights if whole else weights[:, list(group.members), :]
            shares = (theta[:, None, :] * inverse_z).reshape(self.cells, channels * columns)
            used = used.reshape(self.cells, channels * columns)
            dense = group.kernel.form == "dense"
            # On large grids only what was reported must be accurate; far from everyone, theta is negligible.
            reported = group.kernel.product(shares, needed=True if dense or score is not None else used > 0)
            if score is not None:
                judged = (score if whole else score[:, list(group.members), :]).reshape(self.cells, -1)
                terms = np.where(judged > 0, judged * np.log(np.where(judged > 0, reported, 1.0)), 0.0)
                level += terms.reshape(self.cells, channels, columns).sum(axis=(0, 1))
            product = partial(group.kernel.product, needed=dense)
            back = em_factor(used, reported, product).reshape(self.cells, channels, columns)
            back *= inverse_z
            g += back.sum(axis=1)
        return g, level


def inverse_normaliser(channel: GridChannel) -> FloatArray:
    """1/Z for every cell; refused where it is no double, because every product with it would be noise or NaN."""
    log_z = channel.log_normaliser()
    lost = int(np.count_nonzero(log_z < _SMALLEST_LOG_Z))
    if lost:
        raise NotCertified(
            f"{lost} cells are so far from every weight of a channel that nothing can be estimated through it.",
            "Mix a floor into the output weights (floor=0.01, --floor 0.01), or take a smaller beta.",
        )
    out: FloatArray = np.exp(-log_z)
    return out


def stacked_weights(tallies: Sequence[Tally]) -> FloatArray:
    """(cells, channels, 1): counts over the number of all reports."""
    counts = np.stack([tally.counts for tally in tallies], axis=1).astype(np.float64)
    counts /= counts.sum()
    return counts[:, :, None]
