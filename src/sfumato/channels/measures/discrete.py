"""How much a report over finitely many symbols tells: every leakage of a channel, in nats.

With prior p, channel Q[x, y] and m = p Q, the lift is r[x, y] = Q[x, y] / m[y]. For a single prior x ranges over the
support of p, and y over the outputs with m[y] > 0. For a *set* of priors x ranges over the union of their supports, and
y over every output that some such x can give. Both ranges are the same at every prior of the set, also where it gives x
or y no mass: so it is enough to look at vertices, and the leakage over the whole simplex is local differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, from_zero, positive
from sfumato.base.errors import InputError
from sfumato.base.numbers.geo import geo_epsilon as geo_epsilon
from sfumato.base.things.channel import Channel, checked_probabilities, checked_rows
from sfumato.channels.priors.excess import excess
from sfumato.channels.priors.prior_sets import PriorSet

ChannelLike = Channel | npt.ArrayLike


MOST_ENTRIES = 400_000_000
MOST_OUTPUTS = 4_000_000
_AT_ONCE = 1 << 14
_FEW = 1 << 14
"""Up to this many entries a compiled loop that takes logarithms, or compares all pairs, is quicker than NumPy."""


@dataclass(frozen=True, slots=True)
class Leakage:
    """Local information privacy leakage in nats, each side with the (input, output) pair that attains it.

    ``up`` = max ln r, ``low`` = max -ln r, ``max`` the larger; infinite when some report rules a symbol out.
    """

    up: float
    low: float
    up_pair: tuple[int, int]
    low_pair: tuple[int, int]

    @property
    def max(self) -> float:
        """The leakage: the larger of the two sides."""
        return max(self.up, self.low)

    @property
    def pair(self) -> tuple[int, int]:
        """The (input, output) pair that attains :attr:`max`."""
        return self.up_pair if self.up >= self.low else self.low_pair


def matrix_of(channel: ChannelLike) -> FloatArray:
    """The checked matrix of a channel, or of an array of rows."""
    return channel.matrix if isinstance(channel, Channel) else checked_rows(channel)


def used_outputs(channel: ChannelLike) -> FloatArray:
    """The checked matrix without the outputs that no input gives."""
    q = matrix_of(channel)
    return q[:, q.max(axis=0) > 0]


def lift(channel: ChannelLike, prior: npt.ArrayLike) -> FloatArray:
    """r[x, y] = P(y | x) / P(y); NaN in the columns of outputs that never occur under the prior."""
    q, p = matrix_and_prior(channel, prior)
    m = p @ q
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(m > 0, q / m, np.nan)


def lip(channel: ChannelLike, prior: npt.ArrayLike) -> Leakage:
    """Local information privacy: how far any report can move the belief in any symbol, up or down.

    ``e^-low <= P(x | y) / P(x) <= e^up`` for every x of positive prior and every possible y [Jiang2021, eq. (1)].
    """
    q, p = matrix_and_prior(channel, prior)
    m = p @ q
    rows, columns = np.flatnonzero(p > 0), np.flatnonzero(m > 0)
    if rows.size < p.size or columns.size < m.size:
        q, m = q[np.ix_(rows, columns)], m[columns]
    high, low = (_attained(q, m, side) for side in (np.argmax, np.argmin))
    return Leakage(
        up=max(0.0, high[0]),
        low=max(0.0, -low[0]),
        up_pair=(int(rows[high[1]]), int(columns[high[2]])),
        low_pair=(int(rows[low[1]]), int(columns[low[2]])),
    )


def _attained(q: FloatArray, m: FloatArray, side: Callable[..., IntArray]) -> tuple[float, int, int]:
    """The largest or smallest ln Q / m and where: in every column the extreme entry, of those the extreme lift."""
    x = side(q, axis=0)
    with np.errstate(divide="ignore"):
        log_lift = np.log(q[x, np.arange(m.size)]) - np.log(m)
    y = int(side(log_lift))
    return float(log_lift[y]), int(x[y]), y


def lip_over_set(channel: ChannelLike, priors: PriorSet) -> Leakage:
    """The same for every prior of a set: max over y of ln(max_x Q / inf_P m) and ln(sup_P m / min_x Q).

    x ranges over the union of the supports, so this is never the maximum of leakages that each dropped rows: for
    Q = [[.9, .1], [.1, .9]] both point masses leak 0 and their mixture 1.609.
    """
    q = matrix_of(channel)
    rows = np.flatnonzero(priors.supported)
    if priors.supported.size != q.shape[0]:
        raise InputError(
            f"The prior set has {priors.supported.size} symbols and the channel {q.shape[0]} inputs.",
            "They must match.",
        )
    columns = np.flatnonzero(q[rows].max(axis=0) > 0)
    inside = q[np.ix_(rows, columns)]
    least, most = priors.support_min(q[:, columns]), priors.support_max(q[:, columns])
    with np.errstate(divide="ignore"):
        up = np.log(inside.max(axis=0)) - np.log(np.maximum(least, 0.0))
        low = np.log(most) - np.log(inside.min(axis=0))
    high, deep = int(np.argmax(up)), int(np.argmax(low))
    return Leakage(
        up=max(0.0, float(up[high])),
        low=max(0.0, float(low[deep])),
        up_pair=(int(rows[inside[:, high].argmax()]), int(columns[high])),
        low_pair=(int(rows[inside[:, deep].argmin()]), int(columns[deep])),
    )


def epsilon_delta(channel: ChannelLike, prior: npt.ArrayLike, epsilon: float) -> tuple[float, float]:
    """The smallest (delta_low, delta_up) of additive (epsilon, delta)-LIP, exact for a discrete channel.

    ``delta_low = max_x sum_y (m_y - e^eps Q_xy)^+``, ``delta_up = max_x sum_y (Q_xy - e^eps m_y)^+``: the supremum over
    sets of x is attained at single symbols, because E_gamma is convex. epsilon = 0 gives total variation.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InputError(f"epsilon is {epsilon}.", "It must be a finite number of at least 0.")
    q, p = matrix_and_prior(channel, prior)
    m, rows = p @ q, p > 0
    with np.errstate(divide="ignore", over="ignore"):  # e^eps alone may be no number where e^eps q is one
        raised, above = np.exp(epsilon + np.log(q[rows])), np.exp(epsilon + np.log(m))
    low = np.maximum(m - raised, 0).sum(axis=1).max()
    up = np.maximum(q[rows] - above, 0).sum(axis=1).max()
    return float(low), float(up)


def ldp(channel: ChannelLike, *, rows: npt.ArrayLike | None = None) -> float:
    """Local differential privacy: max over y and pairs of inputs of ln Q(y | x') / Q(y | x), no prior needed.

    ``rows`` restricts the inputs (for example to the support of a prior); by default every row counts.
    """
    q = matrix_of(channel)
    if rows is not None:
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_ and chosen.shape == q.shape[:1] and chosen.any():
            chosen = np.flatnonzero(chosen)
        whole = chosen.ndim == 1 and chosen.size > 0 and np.issubdtype(chosen.dtype, np.integer)
        if not whole or chosen.min() < 0 or chosen.max() >= q.shape[0]:
            raise InputError("The rows are no inputs of the channel.", "Give indexes, or one truth value per input.")
        q = q[chosen]
    q = q[:, q.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(q.max(axis=0)) - np.log(q.min(axis=0))))


def differential_identifiability(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """max over y and pairs of ln [Q(y | x) p(x)] / [Q(y | x') p(x')]: how unequal the posterior can be."""
    q, p = matrix_and_prior(channel, prior)
    joint = (p[:, None] * q)[p > 0]
    joint = joint[:, joint.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(joint.max(axis=0)) - np.log(joint.min(axis=0))))


def mutual_information(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """I(X; Y) = sum p Q ln(Q / m): what a report tells on average.

    With Q = m (1 + v) it is the sum of p m [(1 + v) ln(1 + v) - v], because the mean of v is 0: no term is negative and
    nothing cancels, however little is told.
    """
    if told := by_loop("information", channel, prior, most=_FEW):
        return told[1]
    q, p = matrix_and_prior(channel, prior)
    if p.min() <= 0:
        q, p = q[p > 0], p[p > 0]
    m = p @ q
    if m.min() <= 0:
        q, m = q[:, m > 0], m[m > 0]
    some = max(1, _AT_ONCE // m.size)  # few rows at a time: the tables in between stay in the cache
    with np.errstate(over="ignore"):
        parts = [p[at : at + some] @ (excess((q[at : at + some] - m) / m) @ m) for at in range(0, p.size, some)]
    return math.fsum(parts)


def maximal_leakage(channel: ChannelLike, prior: npt.ArrayLike | None = None) -> float:
    """ln sum_y max_x Q(y | x), x over the support: the gain in guessing *any* function of x [Issa2020]."""
    if prior is None and isinstance(channel, Channel) and (loops := compiled_loops()):
        return max(0.0, math.log(loops.column_maxima(channel.matrix)))
    q = matrix_of(channel)
    if prior is not None:
        q, p = matrix_and_prior(channel, prior)
        q = q[p > 0]
    return max(0.0, math.log(float(q.max(axis=0).sum())))


def pointwise_maximal_leakage(channel: ChannelLike, prior: npt.ArrayLike) -> FloatArray:
    """l(X -> y) = ln max_x r[x, y] for each output y (NaN where y never occurs) [Saeidian2023, Thm 1].

    The most that one report can multiply the chance of guessing *any* function of x; its maximum is the upper side of
    LIP, its mean after e^(.) maximal leakage. Reports compose by the chain rule l(y1, y2) <= l(y1) + l(y2 | y1), the
    second measured from the belief the first left [Saeidian2023, Thm 4]; adding leakages both measured from the *first*
    belief is not a bound.
    """
    _, p = matrix_and_prior(channel, prior)
    r = lift(channel, p)[p > 0]
    never = np.isnan(r).any(axis=0)
    return np.where(never, np.nan, np.log(np.where(never, 1.0, r.max(axis=0))))


def bayes_vulnerability(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """sum_y max_x p(x) Q(y | x): how often the best guess is right; 1 minus it is the Bayes risk."""
    return _one_guess(channel, prior)[0]


def min_entropy_leakage(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """ln(V(p, Q) / max p): the factor by which one report helps one guess [Smith2009]; Sibson's order infinity at the
    uniform prior.
    """
    after, before = _one_guess(channel, prior)
    return max(0.0, math.log(after) - math.log(before))


def bayes_error(channel: ChannelLike, prior: npt.ArrayLike) -> float:
    """1 - sum_y max_x p(x) Q(y | x): how often the best guess of the symbol is wrong."""
    return max(0.0, 1.0 - _one_guess(channel, prior)[0])


def adversary_error(channel: ChannelLike, prior: npt.ArrayLike, distortion: npt.ArrayLike) -> float:
    """sum_y min_z sum_x p(x) Q(y | x) d(x, z): the expected distance of the best guess z after seeing the report."""
    q, p = matrix_and_prior(channel, prior)
    d = finite(distortion, "The distortion", dimensions=2)
    if d.shape[0] != q.shape[0] or d.shape[1] == 0:
        raise InputError(f"The distortion is {d.shape} for {q.shape[0]} inputs.", "Give d(x, guess).")
    return float(((p[:, None] * q).T @ d).min(axis=1).sum())


def average_distortion(channel: ChannelLike, prior: npt.ArrayLike, distortion: npt.ArrayLike) -> float:
    """sum p(x) Q(y | x) d(x, y): what the report itself costs."""
    q, p = matrix_and_prior(channel, prior)
    d = finite(distortion, "The distortion", dimensions=2)
    if d.shape != q.shape:
        raise InputError(f"The distortion has shape {d.shape} and the channel {q.shape}.", "They must match.")
    return float((p[:, None] * q * d).sum())


def product_matrix(channels: Sequence[ChannelLike]) -> FloatArray:
    """P(y_1, ..., y_n | x) of reports that are independent given x, the outputs in row-major order."""
    if not channels:
        raise InputError("There are no channels to compose.", "Give at least one.")
    matrices = [matrix_of(channel) for channel in channels]
    if len({matrix.shape[0] for matrix in matrices}) != 1:
        raise InputError("The channels have different inputs.", "They must be about the same symbol.")
    if math.prod(matrix.shape[1] for matrix in matrices) * matrices[0].shape[0] > MOST_OUTPUTS:
        raise InputError(
            "The product has too many outputs.", "Use composed_bound or the posterior-adaptive accountant."
        )
    out = matrices[0]
    for matrix in matrices[1:]:
        out = (out[:, :, None] * matrix[:, None, :]).reshape(out.shape[0], -1)
    return out


def hamming(inputs: int, outputs: int | None = None) -> FloatArray:
    """0 where the report is the truth, 1 elsewhere."""
    size = inputs if outputs is None else outputs
    if inputs < 1 or size < 1 or inputs * size > MOST_ENTRIES:
        raise InputError(f"There is no table of {inputs} x {size} symbols.", f"It has 1 .. {MOST_ENTRIES:,} entries.")
    return 1.0 - np.eye(inputs, size)


def epsilon_checked(epsilon: float, name: str = "epsilon") -> float:
    """A finite epsilon > 0, small enough that e^epsilon is a number."""
    return positive(epsilon, name, at_most=700.0)


@cache
def compiled_loops() -> ModuleType | None:
    """The compiled loops of this room; None without numba, where NumPy is quicker."""
    if find_spec("numba") is None:
        return None
    from sfumato.channels.measures import guess_loops

    return guess_loops


def by_loop(
    loop: str, channel: ChannelLike, prior: npt.ArrayLike, *tables: FloatArray, most: int = MOST_ENTRIES
) -> tuple[bool, float, float, float, int] | None:
    """True and what a compiled loop finds for a channel of at most so many entries that is held.

    None where NumPy must do, or the prior be refused.
    """
    if not isinstance(channel, Channel) or channel.matrix.size > most or (loops := compiled_loops()) is None:
        return None
    known = loops.plain_prior(prior, channel)
    found = None if known is None else getattr(loops, loop)(*tables, channel.matrix, known)
    return found if found and found[0] else None


def _one_guess(channel: ChannelLike, prior: npt.ArrayLike) -> tuple[float, float]:
    """How often the best guess is right after a report, and before."""
    if found := by_loop("one_guess", channel, prior):
        return found[1], found[2]
    q, p = matrix_and_prior(channel, prior)
    return float(np.add.reduce(np.maximum.reduce(p[:, None] * q))), float(np.maximum.reduce(p))


def matrix_and_prior(channel: ChannelLike, prior: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The checked matrix of a channel and a prior of its inputs."""
    q = matrix_of(channel)
    return q, checked_probabilities(prior, q.shape[0])


def quantile(channel: ChannelLike, prior: npt.ArrayLike, delta: float) -> float:
    """The least epsilon with P(l(X -> Y) > epsilon) <= delta; delta 0 gives the maximum."""
    if not 0 <= delta < 1:
        raise InputError(f"delta is {delta}.", "It lies in [0, 1).")
    q, p = matrix_and_prior(channel, prior)
    leakage, m = pointwise_maximal_leakage(q, p), p @ q
    leakage, m = leakage[~np.isnan(leakage)], m[~np.isnan(leakage)]
    order = np.argsort(-leakage, kind="stable")
    above = np.cumsum(m[order])  # the mass at this leakage or more
    kept = int(np.searchsorted(above, delta, side="right"))
    return float(max(0.0, leakage[order[min(kept, order.size - 1)]]))


def posterior_composed(leakages: Sequence[float]) -> float:
    """The sum, which holds when each report's channel has that leakage *at the belief so far* (posterior-adaptive)."""
    values = [from_zero(value, "A leakage") for value in leakages]
    return math.inf if math.isinf(sum(values)) else math.fsum(values)
