"""How noise spreads a map: from the density on a fine grid to where released points fall on the same grid.

A latent cell's people are spread evenly over it. Their released points fall into the cell (i, j) steps away with the
probability of a uniform step within the cell plus the noise plus where in the bin they land, i.e. of the noise plus a
triangle of the cell's width. For Gaussian noise this splits into the two axes and has a closed form,

    P(j) = H(j + 1) - 2 H(j) + H(j - 1),    H(j) = ∫ Φ = r [z Φ(z) + φ(z)],  z = j / r,  r = noise / cell,

so one spread is two small matrix products. Planar Laplace noise does not split: its cells are integrated on a finer
lattice and spread by FFT. What leaves the window is lost there and accounted for by ``kept``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.special import ndtr

from sfumato.base.arrays import FloatArray
from sfumato.tracks.answers.received import NoiseLaw

_FINE = 16  # points per cell and axis when a density is integrated numerically


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The spread on a window of ``rows`` x ``columns`` cells; maps may be stacked along leading axes."""

    rows: int
    columns: int
    down: FloatArray
    across: FloatArray
    spectrum: npt.NDArray[np.complex128] | None
    padded: tuple[int, int]

    @classmethod
    def of(cls, law: NoiseLaw, rows: int, columns: int, height_m: float, width_m: float) -> Spread:
        """The spread of one law on one window."""
        if law.epsilon_per_m is None:
            down = _toeplitz(_steps(law.noise_m / height_m, rows))
            across = _toeplitz(_steps(law.noise_m / width_m, columns))
            return cls(rows, columns, down, across, None, (0, 0))
        padded = (next_fast_len(2 * rows - 1, real=True), next_fast_len(2 * columns - 1, real=True))
        kernel = _laplace_steps(law.epsilon_per_m, rows, columns, height_m, width_m)
        wrapped = np.zeros(padded)
        wrapped[np.ix_(np.arange(-rows + 1, rows), np.arange(-columns + 1, columns))] = kernel
        return cls(rows, columns, np.empty(0), np.empty(0), rfft2(wrapped), padded)

    def spread(self, density: FloatArray) -> FloatArray:
        """Where the released points of this density fall. The spread is symmetric, so it is its own transpose."""
        if self.spectrum is None:
            out: FloatArray = self.down @ density @ self.across
            return out
        full: FloatArray = irfft2(rfft2(density, s=self.padded) * self.spectrum, s=self.padded)
        kept = full[..., : self.rows, : self.columns]
        return np.maximum(kept, 1e-15 * float(kept.max()))  # below that it is the transform's rounding

    def kept(self) -> FloatArray:
        """The share of each cell's released points that stay in the window."""
        return self.spread(np.ones((self.rows, self.columns)))


def _steps(ratio: float, count: int) -> FloatArray:
    """P(j), j = 0 .. count - 1, for noise of ``ratio`` cells."""
    places = np.arange(-1, count + 1, dtype=np.float64)
    z = places / ratio
    h = ratio * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))
    out: FloatArray = np.maximum(h[2:] - 2 * h[1:-1] + h[:-2], 0.0)
    return out


def _toeplitz(steps: FloatArray) -> FloatArray:
    index = np.arange(len(steps))
    out: FloatArray = steps[np.abs(index[:, None] - index[None, :])]
    return out


def _laplace_steps(epsilon: float, rows: int, columns: int, height_m: float, width_m: float) -> FloatArray:
    """Masses of all steps (2 rows - 1, 2 columns - 1) of planar Laplace noise plus a triangle on each axis."""
    offsets = (np.arange(-_FINE + 1, _FINE) / _FINE, np.arange(-_FINE + 1, _FINE) / _FINE)
    weight = (1 - np.abs(offsets[0])) / _FINE
    out = np.zeros((2 * rows - 1, 2 * columns - 1))
    north = np.arange(-rows + 1, rows)[:, None] * height_m
    east = np.arange(-columns + 1, columns)[None, :] * width_m
    for a, up in zip(weight, offsets[0] * height_m, strict=True):
        for b, right in zip(weight, offsets[1] * width_m, strict=True):
            out += a * b * np.exp(-epsilon * np.hypot(north + up, east + right))
    out *= epsilon**2 / (2 * math.pi) * height_m * width_m
    return out
