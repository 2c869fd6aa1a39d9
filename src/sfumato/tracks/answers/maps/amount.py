"""How much of the noise to take out, so that the answer is not worse than counting; and how far it may lie off.

The answer is a mixture λ E_k + (1 - λ) N of the map after k steps and of counting released points, held against the
truth of releases that might have been (:mod:`~sfumato.tracks.answers.maps.simulated`). Of all (k, λ) that are nearer to
it than counting in every draw the one nearest on average is taken; where there is none, λ is 0: it counts, and says so.
Its errors in the draws make its interval (:func:`~sfumato.tracks.answers.intervals.interval_of_released`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.tracks.answers.maps.deconvolution import Spread, Walk
from sfumato.tracks.answers.maps.simulated import Drawn

TRIED_STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 90, 150)
TRIED_PARTS = (0.25, 0.5, 0.75, 1.0)
_PATIENCE = 2  # numbers of steps in a row that came no nearer
Shares = Callable[[FloatArray], FloatArray]  # latent cells to shares of cells


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """Steps and λ; the answer's errors (draws, cells) and how far it and counting are off in the draws on average.

    ``in_empty`` is the squared error where nobody was, for each unit of share that was released there.
    """

    steps: int
    part: float
    errors: FloatArray
    in_empty: float
    off: float
    counting_off: float

    def mix(self, corrected: FloatArray, counted: FloatArray) -> FloatArray:
        """λ E + (1 - λ) N."""
        return self.part * corrected + (1 - self.part) * counted


def choose_amounts(
    spreads: Sequence[Spread],
    drawn: Drawn,
    answers: Sequence[Shares],
    on_step: Callable[[], None] | None = None,
) -> list[Amount]:
    """The amount for each kind of answer, all from one walk over all draws at once."""
    counting = [answer(np.asarray(sum(drawn.seen))) for answer in answers]
    truth = [answer(drawn.true) for answer in answers]
    best = [
        Amount(TRIED_STEPS[0], 0.0, n - t, _in_empty(n - t, n, t), *[float(_apart(n, t).mean())] * 2)
        for n, t in zip(counting, truth, strict=True)
    ]
    walk, taken, worse = Walk(spreads, drawn.seen), 0, 0
    for steps in TRIED_STEPS:
        while taken < steps:
            walk.step()
            taken += 1
            if on_step is not None:
                on_step()
        tried = [
            _better(old, steps, answer(walk.density), n, t)
            for old, answer, n, t in zip(best, answers, counting, truth, strict=True)
        ]
        worse = worse + 1 if all(one is None for one in tried) else 0
        best = [old if new is None else new for old, new in zip(best, tried, strict=True)]
        if worse == _PATIENCE:
            break
    return best


def _better(old: Amount, steps: int, found: FloatArray, counted: FloatArray, truth: FloatArray) -> Amount | None:
    """What so many steps are best for, where that is nearer than before and never farther than counting."""
    least, counting = old, _apart(counted, truth)
    for part in TRIED_PARTS:
        errors = part * found + (1 - part) * counted - truth
        off = 0.5 * np.abs(errors).sum(axis=-1)
        if off.mean() < least.off and (off <= counting).all():
            empty = _in_empty(errors, counted, truth)
            least = Amount(steps, part, errors, empty, float(off.mean()), old.counting_off)
    return None if least is old else least


def _in_empty(errors: FloatArray, counted: FloatArray, truth: FloatArray) -> float:
    empty = truth <= 0
    return float(np.sum(errors[empty] ** 2) / max(float(counted[empty].sum()), 1e-300))


def _apart(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.abs(one - other).sum(axis=-1))
