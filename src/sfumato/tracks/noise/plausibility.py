"""Could these positions hold the noise that is stated? A one-sided test that a true release fails once in 10,000.

A release is y = x + z with the path x, whatever it is, and noise z of a stated law. A path that was never protected, or
was smoothed afterwards, moves less from point to point than noise alone would.

*Gaussian noise.* The path is unknown, so only directions in which it cannot hide noise are of use, and in each of them
it can only add. Three looks, each a p-value; the smallest, times three, is the answer (Bonferroni):

* as a whole: with Γ the covariance at the released times and k slow functions of time X left free (the mean, and
  cosines), S = min_b (y-Xb)ᵀΓ⁻¹(y-Xb) summed over both coordinates is noncentral χ² with 2(n-k) degrees of freedom,
  stochastically larger than the central one whatever x is, so F(S) with the central F is a p-value. For k of 2, 6,
  18 and 54: where a path goes is in the slow functions, and no longer hides that there is no noise;
* from point to point: in windows of five moments, what is left of y after the best straight line of each window. Where
  people go straight or stand, nothing of the path is in it. With C the rows of these contrasts and LLᵀ = CΓCᵀ,
  e = L⁻¹Cy has independent coordinates N(c, 1), and |N(c, 1)| is stochastically larger than |N(0, 1)|. So
  T = -Σ log P(|N(0, 1)| ≤ |e|), over any windows in a row, is stochastically smaller than a gamma variable of as many
  degrees as coordinates (Fisher's sum). A coordinate that the path dominates adds nothing to T, and so takes nothing
  from it: a stop at a light speaks however fast the ride is. Of each window the rows are polynomials of time from the
  highest degree down: a path that turns slowly is in the last ones. The same of the means of four, eight and sixteen
  points, in which white noise is averaged away and slow noise is not; and of every second, fourth, sixteenth ...
  moment. Noise that is a Markov process is whitened in one pass (:mod:`sfumato.tracks.priors.markov_windows`), other
  noise in stretches of four hundred moments;
* by the white share alone, in *every* window, of all points and of every second, third and fourth: z holds
  w ~ N(0, ψo I) independent of all else, so e = Cy/√(ψo) is N(c, I) given the rest, and the same sum holds whatever
  the times are. Points whose times are not shown are found by it: released as coarse, every point of a slot holds
  fresh white noise.

Both scan: the sums are taken over 1, 4, 16 ... windows in a row, half overlapping, and over all. Every length has the
same share of the error, so that a stretch without noise is found however short or long it is.

Snapping to a grid of step s moves e_i by at most (s/2) Σ_j |L⁻¹C|_ij, and √S by at most √(2n) (s/2)/√λ, λ the least
eigenvalue of Γ: both are added before a p-value is taken, toward letting it pass.

*Planar Laplace noise.* One coordinate of the difference of two draws is the sum of three Laplace variables of scale
1/ε: P(|D| > u/ε) = e^{-u}(8+5u+u²)/8. It is symmetric and unimodal, so |D + c| is stochastically larger than |D|
[Anderson1955]; -Σ log P(|D| ≤ |d|) over disjoint pairs, in stretches as above, is stochastically smaller than a gamma
variable.

*Power.* A test that would let an original pass says nothing. So it is held against forgeries made of drives through a
town (:func:`town_drive`: 8 m/s, turning every half minute) at the released times. Where one without noise, or with the
white share alone, would pass, nothing can be told. Whether every second point, or the last fifteen, could be as they
were, and half the noise, is said beside: where points are a minute apart, so few say nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from sfumato.base.arrays import FloatArray, IntArray, distinct, evenly, whitening
from sfumato.base.numbers.planar_laplace_noise import planar_laplace_noise
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.markov_windows import WINDOW, whiten_windows
from sfumato.tracks.priors.statespace import Markov, innovations, is_markov, markov_form, sample

REFUSED_BELOW = 1e-4
ENOUGH_POWER = 0.9
PLANE_SLACK = 0.01  # metres of a path laid out in a plane, relative
DENSE_TIMES = 300
STRETCH, MOST_STRETCHES, MEANS, STRIDES = 400, 16, (1, 4, 8, 16), (1, 2, 3, 4)
_LEAST_WHITE = 1e-3  # of the variance: with less, what rounding does is bounded too roughly in one pass
SLOW, SLOW_WORK = (2, 6, 18, 54), 50_000  # functions of time left free; and times moments, at most
FINEST_GRID_M = 1e-3  # positions are written no finer
TOWN_SPEED_M_S, TOWN_TURN_S = 8.0, 30.0
ORIGINAL, WHITE_ONLY, HALF = "an original", "one with the white share of the noise only", "half the noise"
SECOND, LAST = "every second point as it was", "the last 15 points as they were"
WHOLE, PARTS = (ORIGINAL, WHITE_ONLY), (SECOND, LAST)
_COARSEST = 0.5  # half a step of the grid, in units of the least standard deviation tested
_TRIED, _RUN = 100, 400  # reference paths, and moments of each of three runs on which power is found


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

    def white_share(self, count: int, rng: np.random.Generator) -> FloatArray | None:
        """(n, 2, count) of the white part of the noise alone; None where it has no other part, or none."""
        return None

    def power(self, refused_below: float) -> dict[str, float]:
        """How often it would refuse each forgery of a drive through a town at these times."""
        n = self.times_s.size
        runs = [np.arange(first, min(first + _RUN, n)) for first in {0, max(0, (n - _RUN) // 2), max(0, n - _RUN)}]
        chosen = np.unique(np.concatenate(runs))
        some, rng = self.among(chosen), np.random.default_rng(20)
        drives, drawn = town_drive(some.times_s, _TRIED, rng), some.noise(_TRIED, rng)
        moments, white = np.arange(chosen.size)[:, None, None], some.white_share(_TRIED, rng)
        forged = {
            ORIGINAL: drives,
            HALF: drives + 0.5 * drawn,
            SECOND: drives + np.where(moments % 2 == 0, 0.0, drawn),
            LAST: drives + np.where(moments >= chosen.size - 15, 0.0, drawn),
        }
        forged |= {} if white is None else {WHITE_ONLY: drives + white}
        found = some.p_values(np.concatenate(list(forged.values()), axis=2))
        if found is None:
            return dict.fromkeys(forged, 0.0)
        limit = refused_below * chosen.size / n  # there are n/chosen times as many tests of everything
        return dict(zip(forged, np.mean(found.reshape(-1, _TRIED) < limit, axis=1).tolist(), strict=True))


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
        if is_markov(self.kernel):
            drawn = sample(self.times_s, self.kernel, coordinates=2 * count, rng=rng)
            return drawn.reshape(self.times_s.size, 2, count)
        covariance = self.kernel.covariance(self.times_s)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.tensordot(root, rng.standard_normal((self.times_s.size, 2, count)), axes=1)

    def white_share(self, count: int, rng: np.random.Generator) -> FloatArray | None:
        white = self.white_m2
        if white == 0:
            return None
        far = self.kernel.covariance(np.array([0.0, 1e9]))
        if far[0, 0] - far[0, 1] <= white * (1 + 1e-9):  # independent noise is white
            return None
        return np.asarray(math.sqrt(white) * rng.standard_normal((self.times_s.size, 2, count)))

    def among(self, chosen: IntArray) -> Roughness:
        return replace(self, times_s=self.times_s[chosen])

    def _as_a_whole(self, paths: FloatArray) -> FloatArray | None:
        """F(S) of every path."""
        n, _, count = paths.shape
        if n < 2:
            return None
        if self.white_m2 > 0 and _fine(self.snap_m, self.white_m2):
            slow = _slow(self.times_s)
            known = innovations(self.times_s, np.hstack([paths.reshape(n, -1), slow]), self.kernel)
            own, others = known[:, : 2 * count], known[:, 2 * count :]
            within = np.cumsum((np.linalg.qr(others)[0].T @ own) ** 2, axis=0)
            numbers = [k for k in SLOW if k <= slow.shape[1]] or [1]
            left = np.sum(own**2, axis=0) - within[[number - 1 for number in numbers]]
            squares = left.reshape(-1, 2, count).sum(axis=1)
            freedom, least, points = n - np.array(numbers), self.white_m2, n
        else:
            found = _dense(self.kernel, self.times_s, paths, self.snap_m)
            if found is None:
                return None
            squares, freedom, least, points = found[0][None], np.array([found[1]]), found[2], found[3]
        if not np.all(np.isfinite(squares)):
            return None
        grid = math.sqrt(2 * points / least) * self.snap_m / 2
        reach = (1 + PLANE_SLACK) * np.sqrt(np.maximum(squares, 0.0)) + grid
        values = scipy.special.chdtr(2.0 * freedom[:, None], reach**2)
        return np.asarray(len(values) * values.min(axis=0))

    def _from_point_to_point(self, paths: FloatArray) -> FloatArray | None:
        """Fisher's sum of what is left after a straight line in each window, in every stretch."""
        form = markov_form(self.kernel) if is_markov(self.kernel) else None
        if form is None or form.white_m2 <= _LEAST_WHITE * self.kernel.variance_m2:
            return _least_of_runs(self._from_point_to_point_densely(paths))
        looks = [(first, stride, among) for first, stride in _strides(self.times_s.size) for among in MEANS]
        return self._windows(paths, form, looks)

    def _by_white_share(self, paths: FloatArray) -> FloatArray | None:
        """The same sum over the white share, in windows of all points and of every second to fourth."""
        if not (self.white_m2 > 0 and _fine(self.snap_m, self.white_m2)):
            return None
        alone = Markov(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), self.white_m2)
        return self._windows(paths, alone, [(first, stride, 1) for stride in STRIDES for first in range(stride)])

    def _windows(self, paths: FloatArray, form: Markov, looks: list[tuple[int, int, int]]) -> FloatArray | None:
        """Fisher's sums over the windows of moments from a first one on, by strides, in means of so many."""
        n, axes, count = paths.shape
        columns = np.ascontiguousarray(paths.reshape(n, -1))
        form = form.moving()  # straight lines see no constants
        half_step, terms = max(self.snap_m, FINEST_GRID_M) / 2, []
        for first, stride, among in looks:
            if len(range(first, n, stride)) < 3 * among:
                continue
            left, moved = whiten_windows(self.times_s, first, stride, columns, form, among, half_step)
            each = _surprise((1 + PLANE_SLACK) * np.abs(left) + moved[:, :, None])
            kept = each.shape[1]
            terms.append((each.reshape(len(each), kept * axes, count).sum(axis=1), kept * axes))
        return _least_of_runs(terms)

    def _from_point_to_point_densely(self, paths: FloatArray) -> Iterator[tuple[FloatArray, int]]:
        """The same terms where the noise is no Markov process with a white share, by factors of its covariance."""
        for stretch in _stretches(self.times_s.size):
            covariance = self.kernel.covariance(self.times_s[stretch])
            for looks, rows in _looks(self.times_s[stretch]):
                root = whitening(looks @ covariance @ looks.T)
                if root is None:
                    continue
                whitened = root @ looks
                moved = np.sum(np.abs(whitened), axis=1)[:, None, None] * max(self.snap_m, FINEST_GRID_M) / 2
                sizes = (1 + PLANE_SLACK) * np.abs(np.tensordot(whitened, paths[stretch], axes=1)) + moved
                window = rows if len(whitened) == len(looks) else len(whitened)  # directions without noise are left out
                each = _surprise(sizes).reshape(-1, window, *sizes.shape[1:])
                yield each.sum(axis=(1, 2)), each.shape[1] * each.shape[2]


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceRoughness(Roughness):
    """Of independent planar Laplace noise, over disjoint pairs of neighbours, one coordinate of each."""

    epsilon_per_m: float
    times_s: FloatArray
    snap_m: float

    def p_values(self, paths_m: FloatArray) -> FloatArray | None:
        if self.times_s.size < 2 or self.snap_m * self.epsilon_per_m > _COARSEST:
            return None
        runs = [paths_m[first::stride] for stride in STRIDES for first in range(stride)]
        return _least_of_runs([(self._surprise_of_pairs(run), 1) for run in runs if len(run) > 1])

    def _surprise_of_pairs(self, path: FloatArray) -> FloatArray:
        pairs = len(path) // 2
        step = np.abs(path[1 : 2 * pairs : 2] - path[: 2 * pairs : 2])[np.arange(pairs), np.arange(pairs) % 2]
        u = self.epsilon_per_m * ((1 + PLANE_SLACK) * step + self.snap_m)
        below = -np.expm1(-u) - np.exp(-u) * (5 * u + u**2) / 8
        return np.asarray(-np.log(np.maximum(below, 1e-300)))

    def noise(self, count: int, rng: np.random.Generator) -> FloatArray:
        n = self.times_s.size
        drawn = planar_laplace_noise(n * count, self.epsilon_per_m, rng)
        return np.asarray(drawn.reshape(n, count, 2).transpose(0, 2, 1))

    def among(self, chosen: IntArray) -> Roughness:
        return replace(self, times_s=self.times_s[chosen])


def _surprise(sizes: FloatArray) -> FloatArray:
    """-log P(|N(0, 1)| ≤ size)."""
    return np.asarray(-np.log(np.maximum(scipy.special.erf(sizes / math.sqrt(2)), 1e-300)))


def _left_of_lines(times: FloatArray) -> FloatArray:
    """(windows, rows, moments): orthonormal rows that see no straight line in any window of five, up to the last."""
    size = min(WINDOW, times.size)
    spans = times[times.size % size :].reshape(-1, size)
    spans = spans - spans.mean(axis=1, keepdims=True)
    spans = spans / np.maximum(np.abs(spans).max(axis=1, keepdims=True), 1e-9)
    still = np.abs(spans).max(axis=1) < 0.5  # one moment: nothing but the mean is taken away
    spans[still] = np.linspace(-1.0, 1.0, size)
    basis, _ = np.linalg.qr(np.stack([np.ones_like(spans), spans], axis=2), mode="complete")
    return np.asarray(basis[:, :, 2:].transpose(0, 2, 1))


def _least_of_runs(terms: Iterable[tuple[FloatArray, int]]) -> FloatArray | None:
    """The least p-value of sums over 1, 4, 16 ... windows in a row, half overlapping, and of all.

    Lengths between powers of two have the same share of the error, and each of their runs the same share of that
    (Bonferroni).
    """
    lengths: dict[int, tuple[int, FloatArray]] = {}
    for each, degrees in terms:
        total = np.concatenate([np.zeros((1, each.shape[1])), np.cumsum(each, axis=0)])
        length = 1
        while True:
            starts = np.arange(0, len(each) - length + 1, max(1, length // 2))
            starts = np.append(starts, len(each) - length) if starts[-1] + length < len(each) else starts
            sums = (total[starts + length] - total[starts]).max(axis=0)
            found = scipy.special.gammaincc(degrees * length, np.maximum(sums, 0.0))
            kind = (length - 1).bit_length()
            tests, least = lengths.get(kind, (0, found))
            lengths[kind] = (tests + len(starts), np.minimum(least, found))
            if length == len(each):
                break
            length = min(4 * length, len(each))
    if not lengths:
        return None
    least_of_all = np.min([tests * least for tests, least in lengths.values()], axis=0)
    return np.asarray(np.minimum(1.0, len(lengths) * least_of_all))


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


def _strides(points: int) -> list[tuple[int, int]]:
    """First moments and steps: all moments, every second from both, every fourth, sixteenth ..."""
    return [(0, 1), (0, 2), (1, 2), *((0, 4**power) for power in range(1, max(1, points).bit_length() // 2 + 1))]


def _stretches(points: int) -> Iterator[IntArray]:
    """Runs of at most 400 moments, at most sixteen from first to last, of each stride."""
    for first, step in _strides(points):
        moments = np.arange(first, points, step)
        wanted = min(MOST_STRETCHES, -(-moments.size // STRETCH))
        for start in np.linspace(0, max(0, moments.size - STRETCH), wanted).astype(np.int64):
            yield moments[start : start + STRETCH]


def _looks(times: FloatArray) -> Iterator[tuple[FloatArray, int]]:
    """Contrasts of a stretch's moments, and of means of 4, 8 and 16 of them; and how many of them a window has."""
    for among in MEANS:
        blocks = times.size // among
        if blocks < 3:
            return
        means = np.zeros((blocks, times.size))
        means[:, times.size - blocks * among :] = np.kron(np.eye(blocks), np.full(among, 1.0 / among))
        rows = _left_of_lines(means @ times)
        windows, kept, size = rows.shape
        contrasts = np.zeros((windows, kept, blocks))
        for window, its in enumerate(rows):
            contrasts[window, :, blocks - (windows - window) * size :][:, :size] = its
        yield contrasts.reshape(-1, blocks) @ means, kept


def _slow(times: FloatArray) -> FloatArray:
    """(n, k) slow functions of time, along which the path may do what it likes: the mean and cosines, at most n/3."""
    since = (times - times[0]) / max(float(times[-1] - times[0]), 1e-9)
    most = max(1, min(SLOW[-1], times.size // 3, SLOW_WORK // times.size))
    return np.asarray(np.cos(np.pi * np.outer(since, np.arange(most))))


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
