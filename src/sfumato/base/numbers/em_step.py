"""One step of expectation maximisation for a mixture seen through noise: the step that five methods share.

    c  <-  c . g,      g = Kᵀ (p / K c)

K c is how the places c would be seen, p how they were seen. With a channel's rows for K it is the iterative Bayesian
update [Biswas2023, Def. 2.5]; with counts p and the spread of a noise it deconvolves [Vardi1985]; with p a prior and
K = exp(-beta d) it is Blahut-Arimoto's. Σ p log K c never falls, and is within Σp · (max g - 1) of the best there is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.base.arrays import FloatArray


def em_factor(seen: FloatArray, expected: FloatArray, back: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """g from p = ``seen`` and K c = ``expected``; ``back`` multiplies by Kᵀ. What nobody saw, and may be 0/0, is 0."""
    return back(np.divide(seen, expected, out=np.zeros_like(seen), where=seen > 0))


def dense_em_steps(
    c: FloatArray, seen: FloatArray, matrix: FloatArray, steps: int, *, scale: FloatArray | None = None
) -> None:
    """So many steps in place, where K = ``matrix`` diag(``scale``) is symmetric but for the scale and nowhere 0.

    Small matrices spend their time in calls: no masks and no new arrays.
    """
    spread, expected, factor = (np.empty_like(c) for _ in range(3))
    for _ in range(steps):
        np.dot(matrix, c if scale is None else np.multiply(c, scale, out=spread), out=expected)
        np.divide(seen, expected, out=expected)
        np.dot(matrix, expected, out=factor)
        if scale is not None:
            factor *= scale
        c *= factor
