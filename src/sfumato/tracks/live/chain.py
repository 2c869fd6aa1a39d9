"""What several audiences see: the finest blurred one a process of its own, each coarser one that and more.

Audiences with sizes s_1 < s_2 < ... are given

    Z_1 = X + G_1,   Z_{k+1} = Z_k + D_k,   Var G_1 = s_1²,   Var D_k = s_{k+1}² − s_k²   per coordinate,

all G and D independent unit processes of one ladder (:class:`~sfumato.tracks.noise.multiscale.ladder.Ladder`) times
their size. So each Z_k alone is X with the whole ladder's noise of size s_k, which the universal bound prices; and
whoever has them all, at any times of each, has a function of Z_1 at the union of the times and of D that are
independent of X. Hence together they lose no more than Z_1 does at those times, which the bound of s_1 covers. White
noise in place of D would average out: of a person who stands still the coarser audience would learn what the finer one
does.

Every process is a function of (key, person, step, time) alone (:mod:`sfumato.tracks.noise.multiscale.continuing`): a
late point takes its place in it, a point sent again gets its noise again, and nothing has to be remembered. The name of
a step holds the two sizes, so that no process is ever used at two sizes: other sizes are other processes, whose losses
add to those of the old ones.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from sfumato.base.arrays import FloatArray, IntArray, positive
from sfumato.base.errors import InputError
from sfumato.base.randomness import derived_key
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.frames_loops import move_and_snap
from sfumato.tracks.losses.exact_losses import DENSE_SCALES, scales_grid
from sfumato.tracks.noise.multiscale.continuing import KeptPath, continuing_path
from sfumato.tracks.noise.multiscale.ladder import Ladder, noise_covariance, shipped_ladder
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.plan import SNAP_M
from sfumato.tracks.priors.classes import prior_class_named
from sfumato.tracks.priors.kernels import kernel_named

PRIOR_CLASS = "year"
_PATHS_KEPT = 1024  # people whose last halvings are remembered: 14 kB each and step
_FEW = 3  # points of one person that are drawn one at a time


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The sizes of all blurred audiences, in metres per coordinate, finest first; one chain for every person."""

    sizes_m: tuple[float, ...]
    prior_class: str = PRIOR_CLASS
    ladder: Ladder = field(init=False)

    def __post_init__(self) -> None:
        sizes = tuple(sorted({round(positive(size, "The noise in metres"), 2) for size in self.sizes_m}))
        object.__setattr__(self, "sizes_m", sizes)
        object.__setattr__(self, "ladder", shipped_ladder(self.prior_class))

    @property
    def steps_m(self) -> tuple[float, ...]:
        """The size of each independent process: s_1, then √(s_{k+1}² − s_k²)."""
        squares = [0.0, *(size * size for size in self.sizes_m)]
        return tuple(math.sqrt(after - before) for before, after in pairwise(squares))

    def key_of(self, key: bytes, person: str, step: int) -> bytes:
        """The key of one person's process of one step."""
        before = self.sizes_m[step - 1] if step else 0.0
        name = f"live\0{self.prior_class}\0{before:.2f}\0{self.sizes_m[step]:.2f}\0{person}"
        return derived_key(key, name.encode())

    def mechanism(self, size_m: float) -> MultiscaleNoise:
        """What an audience's certificate is about; the finest one's is that of all of them together."""
        return MultiscaleNoise(self.ladder, size_m, prior_class_named(self.prior_class), key=bytes(32))

    def covariance_m2(self, times_s: Mapping[float, FloatArray]) -> FloatArray:
        """Of everything that audiences saw, each at its own times (by size, finest first), per coordinate.

        Cov(Z_j(t), Z_k(u)) − Cov(X(t), X(u)) = s²_{min(j, k)} ρ(t − u): what two audiences share is the finer's noise.
        """
        sizes = self._sizes(times_s)
        whole = np.concatenate([times_s[size] for size in sizes])
        of = np.repeat(sizes, [times_s[size].size for size in sizes])
        covariance: FloatArray = np.zeros((whole.size, whole.size))
        # step k's process is in every audience from size k on
        before = 0.0
        for size in self.sizes_m:
            own = of >= size
            step = noise_covariance(self.ladder, whole, size * size - before * before)
            covariance += step * np.outer(own, own)
            before = size
        return covariance

    def loss_together(self, times_s: Mapping[float, FloatArray]) -> float:
        """The largest exact loss per m² of any of these moments, for who sees all of this: every sd, a grid of members.

        sup over σ is kᵀ Γ⁻¹ k with k the prior correlations (:mod:`sfumato.tracks.losses.exact_losses`), Γ the
        covariance of :meth:`covariance_m2`, which is the one sampled.
        """
        sizes = self._sizes(times_s)
        whole = np.concatenate([times_s[size] for size in sizes])
        factor = cholesky(self.covariance_m2(times_s), lower=True)
        asked, members = np.unique(whole), prior_class_named(self.prior_class)
        worst = 0.0
        for scale in scales_grid(members, DENSE_SCALES):
            for name in members.kernels:
                kernel = kernel_named(name, length_scale_s=float(scale), sd_m=1.0)
                seen = solve_triangular(factor, kernel(whole[:, None] - asked[None, :]), lower=True)
                worst = max(worst, float(np.einsum("ij,ij->j", seen, seen).max()))
        return worst

    def _sizes(self, times_s: Mapping[float, FloatArray]) -> list[float]:
        if unknown := set(times_s) - set(self.sizes_m):
            raise InputError(f"No audience is blurred by {min(unknown):g} m.", "Ask for sizes of the chain.")
        return sorted(times_s)


class LiveNoise:
    """The releases of everybody's positions under one key; what it remembers saves work and changes nothing."""

    def __init__(self, chain: Chain, key: bytes) -> None:
        self.chain, self._key = chain, key
        self._paths: OrderedDict[str, list[KeptPath]] = OrderedDict()

    def release(
        self, people: Sequence[str], times_ms: IntArray, lat_deg: FloatArray, lon_deg: FloatArray
    ) -> dict[float, tuple[FloatArray, FloatArray]]:
        """Latitudes and longitudes to share, by size, of positions that may belong to many people, in any order."""
        moves = np.empty((len(self.chain.sizes_m), times_ms.size, 2))
        rows: dict[str, list[int]] = {}
        for row, person in enumerate(people):
            rows.setdefault(person, []).append(row)
        for person, own in rows.items():
            self._draw(person, times_ms, own, moves)
        lat, lon, out = lat_deg, lon_deg, {}
        for step, (size, step_m) in enumerate(zip(self.chain.sizes_m, self.chain.steps_m, strict=True)):
            lat, lon = _moved(lat, lon, moves[step], step_m)
            out[size] = lat, lon
        return out

    def _draw(self, person: str, times_ms: IntArray, own: list[int], moves: FloatArray) -> None:
        if len(own) > _FEW:
            for step in range(len(moves)):
                key = self.chain.key_of(self._key, person, step)
                moves[step, own] = continuing_path(self.chain.ladder, times_ms[own] / 1000.0, key)
            return
        for row in own:
            for step, path in enumerate(self._kept(person)):
                moves[step, row] = path.at(int(times_ms[row]))

    def _kept(self, person: str) -> list[KeptPath]:
        found = self._paths.get(person)
        if found is None:
            steps = range(len(self.chain.sizes_m))
            found = [KeptPath(self.chain.ladder, self.chain.key_of(self._key, person, step)) for step in steps]
            self._paths[person] = found
            if len(self._paths) > _PATHS_KEPT:
                self._paths.popitem(last=False)
        else:
            self._paths.move_to_end(person)
        return found


def _moved(lat_deg: FloatArray, lon_deg: FloatArray, unit: FloatArray, size_m: float) -> tuple[FloatArray, FloatArray]:
    lat, lon, far = np.empty_like(lat_deg), np.empty_like(lon_deg), np.zeros(len(lat_deg), dtype=np.bool_)
    move_and_snap(lat_deg, lon_deg, unit, size_m, SNAP_M, lat, lon, far)
    if far.any():  # beside a pole
        lat[far], lon[far] = snap(*displace(lat_deg[far], lon_deg[far], size_m * unit[far]), SNAP_M)
    return lat, lon
