"""Maps refitted to resampled people, with four times the steps: what the bootstrap's intervals are read off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.accountant.compose import Reporting
from sfumato.base.arrays import FloatArray
from sfumato.base.randomness import Random, randomness
from sfumato.collect.estimation.joint import Estimate, joint
from sfumato.collect.estimation.likelihood import Likelihood
from sfumato.collect.estimation.linear import Target
from sfumato.collect.estimation.tally import Tally
from sfumato.collect.grids.sampling import draw_reports

UNDERSMOOTHING = 4


def refitted(
    tallies: Sequence[Tally], estimate: Estimate, target: Target, reporting: Reporting, count: int, rng: Random
) -> tuple[FloatArray, FloatArray]:
    """The undersmoothed map, and ``count`` maps (cells, count) refitted to people resampled from it."""
    source = randomness(rng)
    steps = UNDERSMOOTHING * max(1, estimate.iterations)
    centre = joint(tallies, stop=steps).probabilities
    cells = centre.size
    cumulative = np.cumsum(centre)
    cumulative /= cumulative[-1]

    def fixed(size: int) -> npt.NDArray:
        # As near to size * centre as whole people come; the rest by chance.
        whole = np.floor(size * centre).astype(np.int64)
        short = size - int(whole.sum())
        extra = (
            np.searchsorted(cumulative, source.uniforms(short), side="right") if short else np.zeros(0, dtype=np.int64)
        )
        return np.concatenate([np.repeat(np.arange(cells), whole), extra])

    def sampled(size: int) -> npt.NDArray:
        return np.searchsorted(cumulative, source.uniforms(size), side="right")

    people_of = fixed if target == "reporters" else sampled
    weights = np.empty((cells, len(tallies), count))
    for b in range(count):
        if reporting == "once":
            everyone = people_of(sum(tally.total for tally in tallies))
            everyone = everyone[source.permutation(everyone.size)]
            ends = np.cumsum([tally.total for tally in tallies])
            groups = np.split(everyone, ends[:-1])
        else:
            everyone = people_of(max(tally.total for tally in tallies))
            groups = [
                everyone if tally.total == everyone.size else everyone[source.permutation(everyone.size)[: tally.total]]
                for tally in tallies
            ]
        for s, (tally, group) in enumerate(zip(tallies, groups, strict=True)):
            weights[:, s, b] = np.bincount(draw_reports(tally.channel, group, rng=source), minlength=cells)
    weights /= weights.sum(axis=(0, 1))
    model = Likelihood.of(tallies)
    theta = np.full((cells, count), 1.0 / cells)
    for _ in range(steps):
        theta *= model.step(theta, weights)[0]
    return centre, theta
