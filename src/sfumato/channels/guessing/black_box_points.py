"""Bayes risk of a mechanism whose reports are points, from samples alone: nearest neighbours on a held-out half.

No rule guesses better than the best one, so the error of *any* rule on fresh samples bounds the Bayes risk from
above, proved for any number of samples. From below nothing can be proved for points without assumptions ("no free
lunch"); the single neighbour's error gives the asymptotic bound of [Cover1967], marked as such [Cherubin2019].
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import betaincinv

from sfumato.base.arrays import finite
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.channels.guessing.black_box import Estimated, checked_beta, own_seed


def neighbour_risk(
    x: npt.ArrayLike, points: npt.ArrayLike, *, neighbours: int | None = None, beta: float = 0.05, rng: Random = None
) -> Estimated:
    """Bayes risk for outputs that are points (metres, say), by k nearest neighbours on a held-out half.

    ``upper`` is proved (no rule beats the best one; Clopper-Pearson on the held-out half). ``lower`` inverts
    R_NN <= R (2 - n/(n-1) R) for the single neighbour [Cover1967]: true as samples grow, not for any fixed number.
    """
    truth = np.asarray(x)
    where = finite(points, "The points", dimensions=2)
    if truth.ndim != 1 or truth.size != len(where) or truth.size < 4 or not np.issubdtype(truth.dtype, np.integer):
        raise InputError("There are fewer than 4 samples, or not one input per point.", "Give pairs of samples.")
    share = checked_beta(beta) / 2
    order = randomness(own_seed(truth, where) if rng is None else rng).permutation(truth.size)
    learn, test = order[: truth.size // 2], order[truth.size // 2 :]
    count = neighbours if neighbours is not None else max(1, round(math.log(learn.size) ** 2 / 4))
    if not 1 <= count <= learn.size:
        raise InputError(f"{count} neighbours among {learn.size} samples.", "Ask for fewer.")
    tree = cKDTree(where[learn])
    classes = int(truth.max()) + 1
    near = tree.query(where[test], k=count)[1].reshape(test.size, count)
    votes = np.zeros((test.size, classes), dtype=np.int32)
    np.add.at(votes, (np.arange(test.size)[:, None], truth[learn][near]), 1)
    wrong = int(np.count_nonzero(votes.argmax(axis=1) != truth[test]))
    single = int(np.count_nonzero(truth[learn][near[:, 0]] != truth[test])) / test.size
    upper = 1.0 if wrong == test.size else float(betaincinv(wrong + 1, test.size - wrong, 1 - share))
    seen = np.unique(truth).size
    if seen < 2:
        return Estimated(0.0, 0.0, upper, proved=False)
    room = seen / (seen - 1)
    slack = max(0.0, single - math.sqrt(math.log(1 / share) / (2 * test.size)))
    lower = (1 - math.sqrt(max(0.0, 1 - room * slack))) / room
    return Estimated(wrong / test.size, min(lower, upper), upper, proved=False)
