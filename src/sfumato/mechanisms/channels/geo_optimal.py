"""The geo-indistinguishable channel of least average distortion, for any places and any distortion [Bordenabe2014].

    min sum p_x d[x, y] Q[x, y]   s.t.  sum_y Q[x, y] = 1,   Q[x, y] <= e^(g dist(x, x')) Q[x', y]  for all x, x', y

has n^2 k constraints, of which those implied through a place exactly between x and x' are left out. The interior-point
step separates: with W = z/s the weights of the constraints, output y contributes an n x n matrix H_y, and the row
multipliers solve (sum_y H_y^-1) dpi = rhs. The lower bound is the dual objective after shifting pi to exact dual
feasibility, so it does not depend on the solver having converged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve

from sfumato.arrays import BoolArray, FloatArray, IntArray, Solved, finite, positive
from sfumato.channel import Channel
from sfumato.errors import InputError, NotCertified
from sfumato.guarantees import Guarantee
from sfumato.leakage.discrete import average_distortion, geo_epsilon
from sfumato.mechanisms.channels.certified import NUMERICS, bound_below, merged
from sfumato.mechanisms.channels.named_design import ChannelTask, DesignedChannel
from sfumato.priors.cells import positive_prior
from sfumato.randomness import Random

LARGEST_PROBLEM = 12_000_000


@dataclass(frozen=True, slots=True, eq=False)
class GeoChannel:
    """A channel with its geo-indistinguishability measured on the shipped matrix, per unit of the distances."""

    channel: Channel
    epsilon: float
    measured_epsilon: float
    guarantee: Guarantee

    def release(self, x: int | npt.ArrayLike, rng: Random = None) -> IntArray:
        """One report for every true symbol in ``x``."""
        return self.channel.sample(x, rng)


MOST_PLANE_ERROR = 0.02


def checked_plane_error(error: float) -> float:
    """The relative error of the plane distances are measured in; refused above 2 %."""
    if not 0 <= error <= MOST_PLANE_ERROR:
        raise InputError(
            f"Distances in the plane of these cells are off by up to {error:.0%} of those on the ground.",
            "A promise per metre needs at most 2 %: make the area smaller, or cut it into several grids.",
        )
    return error


def geo_guarantee(epsilon: float, measured: float, *, unit: str = "m", plane_error: float = 0.0) -> Guarantee:
    """The statement of geo-indistinguishability, with the measured value beside the nominal one.

    ``plane_error``: how far the metres of the distances may be from metres on the ground, as a share.
    """
    parameters = {f"epsilon_per_{unit}": epsilon, f"measured_epsilon_per_{unit}": measured}
    assumes: tuple[str, ...] = ("nothing about the adversary's prior",)
    if checked_plane_error(plane_error) > 0:
        parameters |= {"plane_error": plane_error, "epsilon_per_ground_m": epsilon / (1 - plane_error)}
        assumes += (
            f"metres are those of the plane of the cells, off by at most {plane_error:.2g} of a distance on the "
            "ground: per metre on the ground epsilon_per_ground_m holds",
        )
    return Guarantee(
        notion="geo-indistinguishability",
        parameters=parameters,
        assumes=assumes,
        covers=(f"one report: places d {unit} apart are told apart with odds of at most e^(epsilon d)",),
        not_covered=("several reports about the same place: their epsilons add", "places far apart are told apart"),
        numerics=NUMERICS,
    )


def certified_geo(
    matrix: FloatArray,
    distances: FloatArray,
    epsilon: float,
    *,
    unit: str = "m",
    plane_error: float = 0.0,
    **labels: object,
) -> GeoChannel:
    """Mix with a constant channel until the *measured* epsilon is at most the nominal one, and state it."""
    checked_plane_error(plane_error)
    raw = np.maximum(np.asarray(matrix, dtype=np.float64), 0)
    raw = raw / raw.sum(axis=1, keepdims=True)
    mean = raw.mean(axis=0)
    share = 0.0
    for _ in range(60):
        mixed = (1 - share) * raw + share * mean
        channel = Channel(mixed / mixed.sum(axis=1, keepdims=True), **labels)  # type: ignore[arg-type]
        measured = geo_epsilon(channel, distances)
        if measured <= epsilon * (1 - 1e-13):
            promise = geo_guarantee(epsilon, measured, unit=unit, plane_error=plane_error)
            return GeoChannel(channel, epsilon, measured, promise)
        share = 1e-15 if share == 0 else 4 * share
        if share > 1e-2:
            break
    raise NotCertified(
        f"The channel's epsilon is {measured:.9g}; {epsilon:.9g} was asked for.", "Ask for a larger epsilon."
    )


def irreducible_pairs(distances: FloatArray) -> BoolArray:
    """Ordered pairs with no place exactly between them; the constraints of the other pairs follow from these."""
    n = distances.shape[0]
    keep = ~np.eye(n, dtype=bool)
    for middle in range(n):
        through = distances[:, middle, None] + distances[None, middle, :]
        implied = through <= distances * (1 - 1e-12)
        exactly = np.abs(through - distances) <= 1e-12 * distances
        implied |= exactly
        implied[middle, :] = False
        implied[:, middle] = False
        keep &= ~implied
    return keep


def optimal_geo_channel(
    prior: npt.ArrayLike,
    distances: npt.ArrayLike,
    epsilon: float,
    *,
    distortion: npt.ArrayLike | None = None,
    gap: float = 5e-5,
    most_steps: int = 120,
    unit: str = "m",
    plane_error: float = 0.0,
    distortion_name: str | None = None,
    inputs: Sequence[str] = (),
    positions_m: npt.ArrayLike | None = None,
) -> Solved[GeoChannel]:
    """The optimum for ``epsilon`` per unit of ``distances``; distortion is the distance itself unless given."""
    began = time.perf_counter()
    g = positive(epsilon, "epsilon")
    positive(gap, "gap")
    far = finite(distances, "The distances", dimensions=2)
    p = positive_prior(prior, far.shape[0])
    if far.shape != (p.size, p.size) or np.any(far[~np.eye(p.size, dtype=bool)] <= 0) or not np.allclose(far, far.T):
        raise InputError(
            "The distances are not positive and symmetric between different places.", "Merge equal places."
        )
    d = far if distortion is None else finite(distortion, "The distortion", dimensions=2)
    if d.shape[0] != p.size or d.min() < 0:
        raise InputError(f"The distortion has {d.shape[0]} rows for {p.size} places.", "Give d(x, y) >= 0.")
    if p.size < 2 or p.size**2 * d.shape[1] > LARGEST_PROBLEM:
        raise InputError(
            f"{p.size} places with {d.shape[1]} outputs are too many (or too few) for this program.",
            "Use fewer cells, or planar Laplace with Bayesian remapping.",
        )
    found, bound, steps = _interior_point(p, d, np.exp(-g * far), irreducible_pairs(far), gap, most_steps)
    place = merged(found, d, p, allowance=0.1 * gap * float((p[:, None] * found * d).sum()))
    kept = np.unique(place)
    gathered = np.zeros((p.size, kept.size))
    np.add.at(gathered.T, np.searchsorted(kept, place), found.T)
    names = tuple(inputs)
    shipped = certified_geo(
        gathered,
        far,
        g,
        unit=unit,
        plane_error=plane_error,
        inputs=names,
        outputs=tuple(names[y] for y in kept) if names and d.shape[1] == p.size else tuple(str(y) for y in kept),
        distortion=d[:, kept],
        distortion_name="euclidean" if distortion is None else distortion_name,
        positions_m=None if positions_m is None else finite(positions_m, "positions_m", dimensions=2),
    )
    cost = average_distortion(shipped.channel, p, d[:, kept])
    bound = bound_below(bound, cost)
    reached = (cost - bound) / cost if cost > 0 else 0.0
    return Solved(
        value=shipped,
        status="converged" if reached <= gap else "stopped",
        steps=steps,
        gap=reached,
        objective=cost,
        lower_bound=bound,
        seconds=time.perf_counter() - began,
    )


def _interior_point(
    p: FloatArray, d: FloatArray, decay: FloatArray, pairs: BoolArray, gap: float, most_steps: int
) -> tuple[FloatArray, float, int]:
    """The best channel found, the best proved bound and the steps (Mehrotra with Gondzio's centrality correctors).

    s[y, x, x'] = q[x', y] - decay[x, x'] q[x, y] >= 0 with multiplier z, for the ordered pairs that count.
    """
    scale = float((p @ d).min())
    if scale <= 0:
        constant = np.zeros(d.shape)
        constant[:, int(np.argmin(p @ d))] = 1.0
        return constant, 0.0, 0
    cost = (p[:, None] * d / scale).T
    k, n = cost.shape
    count = float(pairs.sum() * k)
    q = np.full((k, n), 1.0 / k)
    s = _slacks(q, decay, pairs, outside=1.0)
    z = np.where(pairs, 1.0 / (count * s), 0.0)
    pi = np.zeros(n)
    best_value, best_bound, best = np.inf, -np.inf, q
    since, steps = 0, 0
    for steps in range(1, most_steps + 1):  # noqa: B007
        dual_left = cost - pi - _adjoint(z, decay)
        row_left = 1.0 - q.sum(axis=0)
        mean = float((s * z)[:, pairs].sum()) / count
        value = float((cost * q).sum())
        # Shifting pi makes cost - pi - A'z >= 0: a feasible dual point whatever happened before.
        bound = float((pi + np.minimum(0.0, dual_left.min(axis=0))).sum())
        better = False
        if np.abs(row_left).max() < 1e-9 and value < best_value:
            best_value, best, better = value, q.copy(), True
        if bound > best_bound:
            best_bound, better = bound, True
        since = 0 if better else since + 1
        if best_value - best_bound <= 0.2 * gap * best_value or since > 6:
            break
        try:
            newton = _Newton.at(s, z, decay, pairs, dual_left, row_left)
            _, _, ds, dz = newton.direction(-s * z)
            primal, dual = _longest(s, ds, pairs), _longest(z, dz, pairs)
            after = float(((s + primal * ds) * (z + dual * dz))[:, pairs].sum()) / count
            target = mean * min(1.0, (after / mean) ** 3)
            dq, dpi, ds, dz = newton.centred(target - s * z - ds * dz, target)
        except np.linalg.LinAlgError:
            break
        primal, dual = (min(1.0, 0.999 * length) for length in (_longest(s, ds, pairs), _longest(z, dz, pairs)))
        # s is carried along rather than recomputed, which would lose it by cancellation near the optimum.
        q, pi, z, s = q + primal * dq, pi + dual * dpi, z + dual * dz, s + primal * ds
    return best.T, best_bound * scale, steps


@dataclass(frozen=True, slots=True, eq=False)
class _Newton:
    s: FloatArray
    z: FloatArray
    decay: FloatArray
    pairs: BoolArray
    dual_left: FloatArray
    row_left: FloatArray
    normal: FloatArray
    inverse: FloatArray
    total_factor: FloatArray
    total_scale: FloatArray

    @classmethod
    def at(
        cls,
        s: FloatArray,
        z: FloatArray,
        decay: FloatArray,
        pairs: BoolArray,
        dual_left: FloatArray,
        row_left: FloatArray,
    ) -> _Newton:
        normal = _normal(np.where(pairs, z / s, 0.0), decay)
        where = np.arange(normal.shape[1])
        size = 1.0 / np.sqrt(normal[:, where, where])
        scaled = np.linalg.inv(normal * size[:, :, None] * size[:, None, :])
        inverse = (0.5 * (scaled + scaled.transpose(0, 2, 1))) * size[:, :, None] * size[:, None, :]
        total = inverse.sum(axis=0)
        diagonal = np.diag(total)
        if not np.all(diagonal > 0):
            raise np.linalg.LinAlgError("no longer positive definite")
        total_scale = 1.0 / np.sqrt(diagonal)
        factor = np.linalg.cholesky(total * total_scale[:, None] * total_scale)
        return cls(
            s,
            z,
            decay,
            pairs,
            dual_left,
            row_left,
            normal,
            np.asarray(inverse),
            np.asarray(factor),
            np.asarray(total_scale),
        )

    def _rows(self, right: FloatArray) -> FloatArray:
        return np.asarray(self.total_scale * cho_solve((self.total_factor, True), self.total_scale * right))

    def direction(self, right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """H_y dq_y = dpi + pull_y and sum_y dq_y = row_left, refined twice because H is very badly scaled."""
        pull = _adjoint(np.where(self.pairs, right / self.s, 0.0), self.decay) - self.dual_left
        dpi, dq = np.zeros(pull.shape[1]), np.zeros_like(pull)
        for _ in range(3):
            left = pull + dpi - np.einsum("yij,yj->yi", self.normal, dq)
            moved = np.einsum("yij,yj->yi", self.inverse, left)
            change = self._rows(self.row_left - dq.sum(axis=0) - moved.sum(axis=0))
            dpi, dq = dpi + change, dq + moved + self.inverse @ change
        ds = _slacks(dq, self.decay, self.pairs, outside=0.0)
        dz = np.where(self.pairs, (right - self.z * ds) / self.s, 0.0)
        return dq, dpi, ds, dz

    def centred(self, right: FloatArray, target: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The direction, corrected up to three times towards products s z near ``target`` while steps lengthen."""
        move = self.direction(right)
        for _ in range(3):
            primal, dual = _longest(self.s, move[2], self.pairs), _longest(self.z, move[3], self.pairs)
            further = min(1.0, 1.2 * primal + 0.15), min(1.0, 1.2 * dual + 0.15)
            product = (self.s + further[0] * move[2]) * (self.z + further[1] * move[3])
            low, high = 0.1 * target, 10 * target
            correction = np.where(
                product < low, low - product, np.where(product > high, np.maximum(high - product, -high), 0.0)
            )
            tried = self.direction(right + correction)
            gained = _longest(self.s, tried[2], self.pairs) + _longest(self.z, tried[3], self.pairs)
            if gained < primal + dual + 0.05:
                break
            right, move = right + correction, tried
        return move


def _slacks(q: FloatArray, a: FloatArray, pairs: BoolArray, *, outside: float) -> FloatArray:
    out = q[:, None, :] - a * q[:, :, None]
    out[:, ~pairs] = outside
    return out


def _adjoint(z: FloatArray, a: FloatArray) -> FloatArray:
    out: FloatArray = z.sum(axis=1) - (a * z).sum(axis=2)
    return out


def _normal(w: FloatArray, a: FloatArray) -> FloatArray:
    cross = a * w
    out: FloatArray = -(cross + cross.transpose(0, 2, 1))
    where = np.arange(w.shape[1])
    out[:, where, where] += w.sum(axis=1) + (a * cross).sum(axis=2)
    return out


def _longest(values: FloatArray, change: FloatArray, pairs: BoolArray) -> float:
    ratio = float((change[:, pairs] / values[:, pairs]).min())
    return 1.0 if ratio >= -1 else -1.0 / ratio


def build(task: ChannelTask) -> DesignedChannel:
    """The registry's geo-optimal; its duals are certified to 5e-5 at best."""
    solved = optimal_geo_channel(
        task.prior.probabilities,
        task.prior.distances_m(),
        task.level,
        distortion=task.distortion,
        gap=max(task.gap, 5e-5),
        unit=task.unit,
        inputs=task.prior.labels,
        positions_m=task.positions_m,
        plane_error=task.plane_error,
        distortion_name=task.distortion_name,
    )
    return DesignedChannel.solved(solved)
