"""Could these positions hold the noise that is stated? A one-sided test that a true release fails once in 10,000.

A release is y = x + z with the path x, whatever it is, and noise z of a stated law. A path that was never protected, or
was smoothed afterwards, moves less from point to point than noise alone would.

*Gaussian noise.* The path is unknown, so only directions in which it cannot hide noise are of use, and in each of them
it can only add. Three looks, each a p-value; the smallest, times three, is the answer (Bonferroni):

* as a whole: with Γ the covariance at the released times and the mean left free, S = min_m (y-m)ᵀΓ⁻¹(y-m) summed
  over both coordinates is noncentral χ² with 2(n-1) degrees of freedom, stochastically larger than the central one
  whatever x is, so F(S) with the central F is a p-value. A fast path hides the noise from it;
* from point to point: in windows of five moments or a few more, what is left of y after the best straight line of each
  window. Where people go straight or stand, nothing of the path is in it. With C the rows of these contrasts and
  LLᵀ = CΓCᵀ, e = L⁻¹Cy has independent coordinates N(c, 1), and |N(c, 1)| is stochastically larger than |N(0, 1)|. So
  T = -Σ log P(|N(0, 1)| ≤ |e|) is stochastically smaller than a gamma variable of as many degrees as coordinates
  (Fisher's sum). A coordinate that the path dominates adds nothing to T, and so takes nothing from it: a stop at a
  light speaks however fast the ride is. In up to sixteen stretches of a hundred moments, p times their number; and
  again of the means of four, of every fourth moment, every sixteenth ...: noise that is white only is missed there;
* by the white share alone, in *every* window, in stretches of 2, 4, 8 ... windows, of all points and of every second,
  third and fourth: z holds w ~ N(0, ψo I) independent of all else, so e = Cy/√(ψo) is N(c, I) given the rest, and the
  same sum holds whatever the times are. A few points without noise among many are found here, and points whose times
  are not shown: released as coarse, every point of a slot holds fresh white noise.

Snapping to a grid of step s moves e_i by at most (s/2) Σ_j |L⁻¹C|_ij, and √S by at most √(2n) (s/2)/√λ, λ the least
eigenvalue of Γ: both are added before a p-value is taken, toward letting it pass.

*Planar Laplace noise.* One coordinate of the difference of two draws is the sum of three Laplace variables of scale
1/ε: P(|D| > u/ε) = e^{-u}(8+5u+u²)/8. It is symmetric and unimodal, so |D + c| is stochastically larger than |D|
[Anderson1955]; -Σ log P(|D| ≤ |d|) over disjoint pairs, in stretches as above, is stochastically smaller than a gamma
variable.

*Power.* A test that would let the original pass says nothing. So it is also held against somebody who drives through a
town (:func:`town_drive`: 8 m/s, turning every half minute) at the released times with no noise, and with half of it;
where the first would pass, nothing can be told.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, IntArray, distinct, evenly, whitening
from sfumato.base.numbers.planar_laplace_noise import planar_laplace_noise
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import innovations, is_markov, markov_form

REFUSED_BELOW = 1e-4
ENOUGH_POWER = 0.95
PLANE_SLACK = 0.01  # metres of a path laid out in a plane, relative
DENSE_TIMES = 300
WINDOW, STRETCH, MOST_STRETCHES = 5, 100, 16
STEP, STRIDES = 4, (1, 2, 3, 4)
FINEST_GRID_M = 1e-3  # positions are written no finer
TOWN_SPEED_M_S, TOWN_TURN_S = 8.0, 30.0
_COARSEST = 0.5  # half a step of the grid, in units of the least standard deviation tested
_TRIED, _RUN = 100, 100  # reference paths, and moments of each of three runs on which power is found


class Roughness(ABC):
    """A test of released positions at given times: how often would true noise look as smooth as they do?"""

    times_s: FloatArray

    @abstractmethod
    def p_values(self, paths_m: FloatArray) -> FloatArray | None:
        """A bound on that for each of (n, 2, paths), at all times in order; None: cannot be told."""

    @abstractmethod
    def noise(self, count: int, rng: np.random.Generator) -> FloatArray:
        """(n, 2, count) of the noise that is stated."""

    @abstractmethod
    def among(self, chosen: IntArray) -> Roughness:
        """The same test at some of the times."""

    def power(self, refused_below: float) -> tuple[float, float]:
        """How often it would refuse a drive through a town without noise, and with half of it, at these times."""
        n = self.times_s.size
        runs = [np.arange(first, min(first + _RUN, n)) for first in {0, max(0, (n - _RUN) // 2), max(0, n - _RUN)}]
        chosen = np.unique(np.concatenate(runs))
        some, rng = self.among(chosen), np.random.default_rng(20)
        drives = town_drive(some.times_s, _TRIED, rng)
        without = some.p_values(drives)
        if without is None:
            return 0.0, 0.0
        half = some.p_values(drives + 0.5 * some.noise(_TRIED, rng))
        limit = refused_below * chosen.size / n  # there are n/chosen times as many tests of everything
        return float(np.mean(without < limit)), 0.0 if half is None else float(np.mean(half < limit))


def town_drive(times_s: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """(n, 2, count) paths whose velocity is an Ornstein-Uhlenbeck process of 8 m/s in all and 30 s, integrated."""
    speed, turn = TOWN_SPEED_M_S / math.sqrt(2.0), TOWN_TURN_S
    velocity, out = speed * rng.standard_normal((2, count)), np.zeros((times_s.size, 2, count))
    for i, step in enumerate(np.diff(times_s), 1):
        a = math.exp(-step / turn)
        vv, xv = speed**2 * (1 - a * a), speed**2 * turn * (1 - a) ** 2
        xx = speed**2 * turn * (2 * step - turn * (3 - 4 * a + a * a))
        first, second = rng.standard_normal((2, 2, count))
        moved = math.sqrt(max(xx, 0.0)) * first
        turned = xv / math.sqrt(xx) * first + math.sqrt(max(vv - xv * xv / xx, 0.0)) * second if xx > 0 else 0.0
        out[i] = out[i - 1] + turn * (1 - a) * velocity + moved
        velocity = a * velocity + turned
    return out


@dataclass(frozen=True, slots=True, eq=False)
class GaussianRoughness(Roughness):
    """Of noise with this kernel at sorted times; by its white share alone where they are not ``shown`` as they were."""

    kernel: Kernel
    times_s: FloatArray
    snap_m: float
    shown: bool = True

    @property
    def white_m2(self) -> float:
        """The white share's variance; 0 where there is none."""
        return markov_form(self.kernel).white_m2 if is_markov(self.kernel) else 0.0

    def p_values(self, paths_m: FloatArray) -> FloatArray | None:
        paths = paths_m - paths_m.mean(axis=0)
        looks = [self._by_white_share(paths)]
        if self.shown:
            looks += [self._as_a_whole(paths), self._from_point_to_point(paths)]
        told = [look for look in looks if look is not None]
        return np.minimum(1.0, len(told) * np.min(told, axis=0)) if told else None

    def noise(self, count: int, rng: np.random.Generator) -> FloatArray:
        covariance = self.kernel.covariance(self.times_s)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.tensordot(root, rng.standard_normal((self.times_s.size, 2, count)), axes=1)

    def among(self, chosen: IntArray) -> Roughness:
        return replace(self, times_s=self.times_s[chosen])

    def _as_a_whole(self, paths: FloatArray) -> FloatArray | None:
        """F(S) of every path."""
        n, _, count = paths.shape
        if n < 2:
            return None
        if self.white_m2 > 0 and _fine(self.snap_m, self.white_m2):
            known = innovations(self.times_s, np.hstack([paths.reshape(n, -1), np.ones((n, 1))]), self.kernel)
            ones = known[:, -1]
            each = np.sum(known[:, :-1] ** 2, axis=0) - (known[:, :-1].T @ ones) ** 2 / (ones @ ones)
            squares, freedom, least, points = each.reshape(2, count).sum(axis=0), n - 1, self.white_m2, n
        else:
            found = _dense(self.kernel, self.times_s, paths, self.snap_m)
            if found is None:
                return None
            squares, freedom, least, points = found
        if not np.all(np.isfinite(squares)):
            return None
        grid = math.sqrt(2 * points / least) * self.snap_m / 2
        reach = (1 + PLANE_SLACK) * np.sqrt(np.maximum(squares, 0.0)) + grid
        return np.asarray(scipy.special.chdtr(2 * freedom, reach**2))

    def _from_point_to_point(self, paths: FloatArray) -> FloatArray | None:
        """Fisher's sum of what is left after a straight line in each window, in every stretch; p times their number."""
        found = []
        for stretch in _stretches(self.times_s.size):
            covariance = self.kernel.covariance(self.times_s[stretch])
            for looks in _looks(self.times_s[stretch]):
                root = whitening(looks @ covariance @ looks.T)
                if root is None:
                    continue
                whitened = root @ looks
                moved = np.sum(np.abs(whitened), axis=1)[:, None, None] * max(self.snap_m, FINEST_GRID_M) / 2
                sizes = (1 + PLANE_SLACK) * np.abs(np.tensordot(whitened, paths[stretch], axes=1)) + moved
                found.append(scipy.special.gammaincc(2 * len(whitened), _surprise(sizes).sum(axis=(0, 1))))
        return np.minimum(1.0, len(found) * np.min(found, axis=0)) if found else None

    def _by_white_share(self, paths: FloatArray) -> FloatArray | None:
        """The same sum over the white share, in stretches of windows of all points and of every second to fourth."""
        if not (self.white_m2 > 0 and _fine(self.snap_m, self.white_m2)):
            return None
        terms = [
            _windows(self.times_s[first::stride], paths[first::stride], math.sqrt(self.white_m2), self.snap_m)
            for stride in STRIDES
            for first in range(stride)
        ]
        return _least_of_stretches([one for one in terms if one is not None])


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceRoughness(Roughness):
    """Of independent planar Laplace noise, over disjoint pairs of neighbours, one coordinate of each."""

    epsilon_per_m: float
    times_s: FloatArray
    snap_m: float

    def p_values(self, paths_m: FloatArray) -> FloatArray | None:
        pairs = self.times_s.size // 2
        if pairs == 0 or self.snap_m * self.epsilon_per_m > _COARSEST:
            return None
        path = paths_m[: 2 * pairs]
        step = np.abs(path[1::2] - path[::2])[np.arange(pairs), np.arange(pairs) % 2]
        u = self.epsilon_per_m * ((1 + PLANE_SLACK) * step + self.snap_m)
        below = -np.expm1(-u) - np.exp(-u) * (5 * u + u**2) / 8
        return _least_of_stretches([(-np.log(np.maximum(below, 1e-300)), 1)])

    def noise(self, count: int, rng: np.random.Generator) -> FloatArray:
        n = self.times_s.size
        drawn = planar_laplace_noise(n * count, self.epsilon_per_m, rng)
        return np.asarray(drawn.reshape(n, count, 2).transpose(0, 2, 1))

    def among(self, chosen: IntArray) -> Roughness:
        return replace(self, times_s=self.times_s[chosen])


def _surprise(sizes: FloatArray) -> FloatArray:
    """-log P(|N(0, 1)| ≤ size)."""
    return np.asarray(-np.log(np.maximum(scipy.special.erf(sizes / math.sqrt(2)), 1e-300)))


def _windows(times: FloatArray, paths: FloatArray, sd_m: float, snap_m: float) -> tuple[FloatArray, int] | None:
    """(windows, paths): Fisher's sum of what is left after a straight line in each window of five; and its degrees."""
    size = min(WINDOW, times.size)
    if size < 3:
        return None
    skipped, (_, axes, count) = times.size % size, paths.shape
    spans = times[skipped:].reshape(-1, size)
    spans = spans - spans.mean(axis=1, keepdims=True)
    spans = spans / np.maximum(np.abs(spans).max(axis=1, keepdims=True), 1e-9)
    still = np.abs(spans).max(axis=1) < 0.5  # one moment: nothing but the mean is taken away
    spans[still] = np.linspace(-1.0, 1.0, size)
    basis, _ = np.linalg.qr(np.stack([np.ones_like(spans), spans], axis=2), mode="complete")
    rows = basis[:, :, 2:].transpose(0, 2, 1)
    left = np.abs(rows @ paths[skipped:].reshape(len(spans), size, axes * count)).reshape(-1, size - 2, axes, count)
    moved = np.abs(rows).sum(axis=2)[:, :, None, None] * max(snap_m, FINEST_GRID_M) / 2
    return _surprise(((1 + PLANE_SLACK) * left + moved) / sd_m).sum(axis=(1, 2)), axes * (size - 2)


def _least_of_stretches(terms: list[tuple[FloatArray, int]]) -> FloatArray | None:
    """The least p-value of sums over 2, 4, 8 ... windows in a row, half overlapping, and of all; times their number."""
    least, tests = [], 0
    for each, degrees in terms:
        total = np.concatenate([np.zeros((1, each.shape[1])), np.cumsum(each, axis=0)])
        length = min(2, len(each))
        while True:
            starts = np.arange(0, len(each) - length + 1, max(1, length // 2))
            starts = np.append(starts, len(each) - length) if starts[-1] + length < len(each) else starts
            sums = (total[starts + length] - total[starts]).max(axis=0)
            least.append(scipy.special.gammaincc(degrees * length, np.maximum(sums, 0.0)))
            tests += len(starts)
            if length == len(each):
                break
            length = min(2 * length, len(each))
    return np.minimum(1.0, tests * np.min(least, axis=0)) if least else None


def moments_of(times_s: FloatArray, positions_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct times in order, and the first position at each: points of one moment share their noise."""
    times, back = distinct(times_s)
    first = np.zeros(times.size, dtype=np.int64)
    first[back[::-1]] = np.arange(len(back))[::-1]
    return times, positions_m[first]


def spread_out(times_s: FloatArray, slot_s: float) -> FloatArray:
    """Sorted coarse times, the points of each slot spread evenly over it."""
    _, back, counts = np.unique(times_s, return_inverse=True, return_counts=True)
    within = np.arange(times_s.size) - np.searchsorted(times_s, times_s)
    return np.asarray(times_s + slot_s * within / counts[back])


def _stretches(points: int) -> Iterator[IntArray]:
    """At most sixteen runs of a hundred moments, from the first to the last; of all, every fourth, sixteenth ..."""
    step = 1
    while points // step >= 3:
        moments = np.arange(0, points, step)
        if moments.size <= STRETCH:
            yield moments
        else:
            wanted = min(MOST_STRETCHES, -(-moments.size // STRETCH))
            for start in np.linspace(0, moments.size - STRETCH, wanted).astype(np.int64):
                yield moments[start : start + STRETCH]
        step *= STEP


def _looks(times: FloatArray) -> Iterator[FloatArray]:
    """Rows of contrasts of a stretch's moments, and of the means of every four of them, which hold less white noise."""
    if times.size >= 3:
        yield _contrasts(times)
    blocks = times.size // STEP
    if blocks >= 3:
        means = np.zeros((blocks, times.size))
        means[:, : blocks * STEP] = np.kron(np.eye(blocks), np.full(STEP, 1.0 / STEP))
        yield _contrasts(means @ times) @ means


def _contrasts(times: FloatArray) -> FloatArray:
    """Orthonormal rows, (rows, n), that no straight line in any window of five moments or a few more is seen by."""
    rows, last = np.zeros((times.size, times.size)), 0
    for window in np.array_split(np.arange(times.size), max(1, times.size // WINDOW)):
        span = times[window] - times[window].mean()
        basis, _ = np.linalg.qr(np.stack([np.ones(window.size), span / np.abs(span).max()], axis=1), mode="complete")
        rows[last : last + window.size - 2, window] = basis[:, 2:].T
        last += window.size - 2
    return rows[:last]


def _fine(snap_m: float, least_m2: float) -> bool:
    return snap_m / 2 <= _COARSEST * math.sqrt(least_m2)


def _dense(
    kernel: Kernel, times_s: FloatArray, paths_m: FloatArray, snap_m: float
) -> tuple[FloatArray, int, float, int] | None:
    """(S, directions, least variance, points) in directions of at most 300 points that the grid does not drown."""
    covariance_of_each = np.diag(kernel.covariance(times_s)) if times_s.size <= DENSE_TIMES else None
    if covariance_of_each is None:
        chosen = evenly(times_s.size, DENSE_TIMES)
    else:
        chosen = np.flatnonzero(covariance_of_each > 0)
    if chosen.size < 2:
        return None
    covariance = kernel.covariance(times_s[chosen])
    centre = np.eye(chosen.size) - 1.0 / chosen.size
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    least = (snap_m / 2 / (0.1 * _COARSEST)) ** 2 + 1e-10 * float(values[-1])
    used = values > least
    if not used.any():
        return None
    along = np.tensordot(vectors[:, used].T, paths_m[chosen], axes=1)
    return np.sum(along**2 / values[used][:, None, None], axis=(0, 1)), int(np.count_nonzero(used)), least, chosen.size
