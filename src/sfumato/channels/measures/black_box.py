"""Leakage of a mechanism known only by samples (x, y): intervals that hold, and warnings where samples cannot tell.

For finitely many outputs and a gain in [0, 1], with V the vulnerability of the empirical joint: its mean is at least
the true one (a maximum of averages) and one sample moves it by at most its weight, so by McDiarmid's inequality

    V_true <= V + sqrt(ln(1 / beta) / 2 * sum of squared weights)          with probability 1 - beta,

whatever the mechanism. From below: a strategy chosen on one half of the samples and scored on the other (Hoeffding): no
strategy beats V_true. With outputs that are points, the strategy is that of the nearest neighbours [Cherubin2019]; from
below nothing can be proved for points without assumptions ("no free lunch"), and the single neighbour's error gives an
asymptotic bound, marked as such [Cover1967]. Ratios (LIP, LDP) need every probability bounded away from 0:
Clopper-Pearson for each, all at once. An output never seen may still exist: unless the outputs are declared to be all
there are, the upper end of those intervals is infinite.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import betaincinv

from sfumato.base.arrays import FloatArray, IntArray, finite, inside_one
from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, randomness
from sfumato.base.things.channel import checked_probabilities
from sfumato.channels.measures.g_leakage import Gain, identity_gain

FEW = 5
"""Fewer samples than this per cell of the table of inputs and outputs are too few to see what is in it."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """A measure known from samples: the plug-in value and an interval that holds with probability 1 - beta."""

    value: float
    lower: float
    upper: float
    proved: bool = True
    """False where the interval holds only for ever more samples."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """``x`` and ``y`` as indexes (``inputs`` and ``outputs`` of them), and what the prior is taken to be.

    ``prior`` None: the pairs are drawn together, and the frequencies of x are part of the sample. Otherwise the tester
    chose x, and only P(y | x) is estimated, under that prior.
    """

    x: IntArray
    y: IntArray
    inputs: int
    outputs: int
    prior: FloatArray | None = None
    all_outputs_declared: bool = False

    def __post_init__(self) -> None:
        for name, count in (("x", self.inputs), ("y", self.outputs)):
            values = np.asarray(getattr(self, name))
            if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
                raise InputError(f"The samples' {name} are none, or not whole numbers.", "Give one index per sample.")
            if values.min() < 0 or values.max() >= count:
                raise InputError(f"A sample's {name} lies outside 0 .. {count - 1}.", "Give indexes.")
            object.__setattr__(self, name, values.astype(np.int64))
        if self.inputs * self.outputs > 25_000_000:
            raise InputError(
                f"{self.inputs} inputs and {self.outputs} outputs are too many for a table.",
                "Coarsen the outputs, or give them as points for the nearest-neighbour estimate.",
            )
        if self.x.size != self.y.size:
            raise InputError(f"There are {self.x.size} inputs and {self.y.size} outputs.", "Give pairs.")
        if self.prior is not None:
            p = checked_probabilities(self.prior, self.inputs)
            missing = np.flatnonzero((p > 0) & (np.bincount(self.x, minlength=self.inputs) == 0))
            if missing.size:
                raise InputError(
                    f"{missing.size} input(s) of positive prior have no sample.", "Sample every input of the prior."
                )
            object.__setattr__(self, "prior", p)

    @property
    def counts(self) -> IntArray:
        """(inputs, outputs): how often each pair was seen."""
        flat = np.bincount(self.x * self.outputs + self.y, minlength=self.inputs * self.outputs)
        return flat.reshape(self.inputs, self.outputs).astype(np.int64)

    @property
    def weights(self) -> FloatArray:
        """What each sample weighs in the joint distribution: 1/n, or p(x) / n_x."""
        if self.prior is None:
            return np.full(self.x.size, 1.0 / self.x.size)
        own = np.bincount(self.x, minlength=self.inputs)
        used = self.prior[self.x] / own[self.x]
        return np.asarray(used)

    def joint(self, chosen: npt.NDArray[np.bool_] | None = None) -> FloatArray:
        """The empirical joint distribution of (a part of) the samples, under the prior."""
        part = np.ones(self.x.size, dtype=bool) if chosen is None else chosen
        flat = np.bincount(
            self.x[part] * self.outputs + self.y[part], self.weights[part], minlength=self.inputs * self.outputs
        )
        return np.asarray(flat.reshape(self.inputs, self.outputs), dtype=np.float64)

    def warnings(self) -> list[str]:
        """Where the samples cannot support an estimate, in words."""
        counts, said = self.counts, []
        cells = int(np.count_nonzero(counts.sum(axis=1))) * self.outputs
        if self.x.size < FEW * cells:
            said.append(
                f"{self.x.size} samples for a table of {cells} cells: plug-in values are too high; trust the intervals"
            )
        once = int(np.count_nonzero(counts.sum(axis=0) == 1))
        if once > 0.01 * self.x.size:
            said.append(
                f"{once} outputs were seen once: about {once / self.x.size:.1%} of reports will be new ones; outputs "
                "this many need the nearest-neighbour estimate, or coarser outputs"
            )
        rare = int(np.count_nonzero(counts.sum(axis=1) < 20))
        if rare:
            said.append(f"{rare} input(s) have fewer than 20 samples: nothing can be said about them")
        return said


def vulnerability(samples: Samples, gain: Gain | None = None, *, beta: float = 0.05, rng: Random = None) -> Estimated:
    """The posterior vulnerability of a gain in [0, 1] (one guess by default), with a proved interval.

    ``rng`` splits the samples into halves; None: by a digest of the samples themselves, the same every time.
    """
    wanted = identity_gain(samples.inputs) if gain is None else gain
    low, high = wanted.range
    if low < 0 or high > 1:
        raise InputError(f"The gain lies in [{low:g}, {high:g}].", "Scale it into [0, 1].")
    share = inside_one(beta, "The error probability") / 2
    value = min(1.0, float(wanted.best(samples.joint()).sum()))
    upper = min(1.0, value + math.sqrt(math.log(1 / share) / 2 * float(samples.weights @ samples.weights)))
    return Estimated(value, _held_out(samples, wanted, share, rng), upper)


def bayes_risk(samples: Samples, *, beta: float = 0.05, rng: Random = None) -> Estimated:
    """How often the best guess is wrong: 1 - vulnerability."""
    found = vulnerability(samples, beta=beta, rng=rng)
    return Estimated(1 - found.value, 1 - found.upper, 1 - found.lower)


def min_entropy_leakage(samples: Samples, *, beta: float = 0.05, rng: Random = None) -> Estimated:
    """ln(posterior / prior vulnerability); the prior's is known, or bounded by the same inequality at half of beta."""
    if samples.prior is not None:
        known = float(samples.prior.max())
        before = (known, known, known)
        found = vulnerability(samples, beta=beta, rng=rng)
    else:
        n = samples.x.size
        plug = float(np.bincount(samples.x).max()) / n
        above = math.sqrt(math.log(4 / inside_one(beta, "The error probability")) / (2 * n))
        below = math.sqrt(math.log(4 * samples.inputs / beta) / (2 * n))  # for every symbol at once: one was picked
        before = (plug, max(plug - below, 1 / samples.inputs), min(1.0, plug + above))
        found = vulnerability(samples, beta=beta / 2, rng=rng)
    return Estimated(
        max(0.0, math.log(found.value / before[0])),
        max(0.0, math.log(max(found.lower, before[1]) / before[2])),
        max(0.0, math.log(found.upper / before[1])),
    )


@dataclass(frozen=True, slots=True)
class Ratios:
    """LIP and LDP from samples."""

    lip: Estimated
    ldp: Estimated
    warnings: tuple[str, ...] = field(default=())


def ratios(samples: Samples, *, beta: float = 0.05) -> Ratios:
    """LIP (under the prior) and LDP with joint Clopper-Pearson intervals for every P(y | x).

    The lower ends are audits: a mechanism that claims less is refuted at this level. The upper ends are finite only if
    every output was seen often from every input *and* the outputs are declared to be all there are.
    """
    counts = samples.counts
    rows = np.flatnonzero(counts.sum(axis=1) > 0)
    k, n = counts[rows].astype(float), counts[rows].sum(axis=1, keepdims=True).astype(float)
    tail = inside_one(beta, "The error probability") / (2 * k.size)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1e-300), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-300), 1 - tail), 1.0)
    plug = k / n
    weights = (samples.prior[rows] if samples.prior is not None else n[:, 0] / n.sum())[:, None]
    weights = weights / weights.sum()
    lip, lip_low, lip_high = (
        _log_extremes(top, bottom, weights) for top, bottom in ((plug, plug), (low, high), (high, low))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ldp = _finite_or_inf(np.log(plug.max(axis=0)) - np.log(plug.min(axis=0)))
        ldp_low = max(0.0, float(np.nanmax(np.log(low.max(axis=0)) - np.log(high.min(axis=0)))))
        ldp_high = _finite_or_inf(np.log(high.max(axis=0)) - np.log(low.min(axis=0)))
    said = list(samples.warnings())
    if rows.size < samples.inputs:
        lip_high = ldp_high = math.inf
        said.append(f"{samples.inputs - rows.size} input(s) were never sampled: no upper end")
    if not samples.all_outputs_declared:
        lip_high = ldp_high = math.inf
        said.append("outputs never seen may exist: no upper end without a declared list of outputs")
    elif not (math.isfinite(ldp_high) and math.isfinite(lip_high)):
        said.append("some output was never seen from some input: no finite upper end; more samples are needed")
    if samples.prior is None:
        said.append("LIP is measured for the frequencies of the sample as prior")
    return Ratios(Estimated(lip, lip_low, lip_high), Estimated(ldp, ldp_low, ldp_high), tuple(said))


def _log_extremes(top: FloatArray, bottom: FloatArray, p: FloatArray) -> float:
    """max |ln lift|: of x's own P(y|x) from ``top`` over the mean with others from ``bottom``, and the reverse."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed_low = (p * bottom).sum(axis=0) - p * bottom + p * top  # x itself at top, the others at bottom
        up = np.log(top) - np.log(mixed_low)
        mixed_high = (p * top).sum(axis=0) - p * top + p * bottom
        down = np.log(mixed_high) - np.log(bottom)
    values = np.concatenate([up[np.isfinite(up) | (up > 0)], down[np.isfinite(down) | (down > 0)]])
    return max(0.0, float(values.max(initial=0.0)))


def _finite_or_inf(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return max(0.0, float(known.max(initial=0.0)))


def _held_out(samples: Samples, gain: Gain, beta: float, rng: Random) -> float:
    """The score on one half of the best answers learned from the other half, less Hoeffding's allowance."""
    half = _halves(samples, rng)
    if half is None:
        return 0.0 if samples.prior is None else float(gain.best(samples.prior[:, None])[0])
    scored = ~half
    joint = samples.joint(half)
    if gain.values is not None:
        guess = (gain.values @ joint).argmax(axis=0)
        worth = gain.values[guess[samples.y], samples.x]
    else:
        top = np.argsort(-joint, axis=0, kind="stable")[: gain.tries]
        worth = (top[:, samples.y] == samples.x).any(axis=0).astype(np.float64)
    weights = np.where(scored, samples.weights, 0.0)
    if samples.prior is None:
        weights = weights / weights.sum()
    else:
        own = np.bincount(samples.x[scored], minlength=samples.inputs)
        weights = np.where(scored, samples.prior[samples.x] / np.maximum(own[samples.x], 1), 0.0)
    allowance = math.sqrt(math.log(1 / beta) / 2 * float(weights @ weights))
    return max(0.0, float(weights @ worth) - allowance)


def _halves(samples: Samples, rng: Random) -> npt.NDArray[np.bool_] | None:
    """A random half of each input's samples; None when some input of positive prior has fewer than two."""
    order = randomness(own_seed(samples.x, samples.y) if rng is None else rng).permutation(samples.x.size)
    half = np.zeros(samples.x.size, dtype=np.bool_)
    if samples.prior is None:
        half[order[: samples.x.size // 2]] = True
        return half if samples.x.size >= 2 else None
    for symbol in np.flatnonzero(samples.prior > 0):
        mine = order[samples.x[order] == symbol]
        if mine.size < 2:
            return None
        half[mine[: mine.size // 2]] = True
    return half


def own_seed(*arrays: npt.NDArray[np.generic]) -> int:
    """A seed from the samples' digest: a fixed one may be the one that drew them, and halves must not know them."""
    digest = hashlib.sha256(b"halves of these samples")
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return int.from_bytes(digest.digest()[:16], "big")


def samples_of_labels(
    x: Sequence[str], y: Sequence[str], *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None,
    prior: npt.ArrayLike | None = None,
) -> Samples:  # fmt: skip
    """Samples from labels; ``inputs`` fixes the order (and the prior's), ``outputs`` declares all there are."""
    names = list(dict.fromkeys(x)) if inputs is None else list(inputs)
    reports = list(dict.fromkeys(y)) if outputs is None else list(outputs)
    where, what = {n: i for i, n in enumerate(names)}, {n: i for i, n in enumerate(reports)}
    strangers = {v for v in x if v not in where} | {v for v in y if v not in what}
    if strangers:
        raise InputError(
            f"{len(strangers)} label(s) of the samples are not among those declared.", "Use the same labels."
        )
    return Samples(
        np.array([where[v] for v in x], dtype=np.int64), np.array([what[v] for v in y], dtype=np.int64), len(names),
        len(reports), prior=None if prior is None else checked_probabilities(prior, len(names)),
        all_outputs_declared=outputs is not None,
    )  # fmt: skip


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
    share = inside_one(beta, "The error probability") / 2
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
