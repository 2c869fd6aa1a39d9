"""Products of a long trace's covariance with a vector, without forming the matrix.

Regular times make Σ a Toeplitz matrix: embedded in a circulant one, a product is three FFTs, O(n log n).
Irregular times under a sum of Matérn kernels, white and constant make Σ semi-separable: a product is one sweep
forward and one backward through the state space [Sarkka2019], O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import Kernel, Sum


@dataclass(frozen=True, slots=True, eq=False)
class CovarianceProduct:
    """A covariance known by what it does: ``times_vector(x)`` = Σx, ``column(i)``, and its constant ``variance``."""

    count: int
    variance: float
    times_vector: Callable[[FloatArray], FloatArray]
    column: Callable[[int], FloatArray]


def toeplitz_product(first_column: npt.ArrayLike) -> CovarianceProduct:
    """Σ with Σ_ij = first_column[|i - j|], by FFT."""
    lags = finite(first_column, "first_column", dimensions=1)
    n = lags.size
    if n == 0:
        raise InputError("The first column is empty.", "Give one covariance per lag.")
    size = next_fast_len(2 * n, real=True)
    circle = np.zeros(size)
    circle[:n] = lags
    circle[size - n + 1 :] = lags[1:][::-1]
    spectrum = rfft(circle)

    def times_vector(x: FloatArray) -> FloatArray:
        return np.asarray(irfft(spectrum * rfft(x, size), size)[:n])

    def column(index: int) -> FloatArray:
        return lags[np.abs(np.arange(n) - index)]

    return CovarianceProduct(n, float(lags[0]), times_vector, column)


def kernel_product(times_s: npt.ArrayLike, kernel: Kernel) -> CovarianceProduct:
    """The covariance of ``kernel`` at ``times_s``: Toeplitz where the times are regular, state-space otherwise."""
    times = finite(times_s, "times_s", dimensions=1)
    if times.size == 0:
        raise InputError("There are no times.", "Give at least one.")
    steps = np.diff(times)
    if times.size < 3 or np.allclose(steps, steps[0], rtol=1e-9, atol=0):
        return toeplitz_product(kernel(times - times[0]))
    return statespace_product(times, kernel)


def statespace_product(times_s: npt.ArrayLike, kernel: Kernel) -> CovarianceProduct:
    """Σx at irregular times for a sum of Matérn kernels, white and constant, in O(n)."""
    times = finite(times_s, "times_s", dimensions=1)
    steps = np.diff(times)
    if np.any(steps < 0):
        raise InputError("The times go backwards.", "Sort the points by time.")
    parts = [_Markov.of(part) for part in _terms(kernel)]
    _, moment = np.unique(times, return_inverse=True)

    def times_vector(x: FloatArray) -> FloatArray:
        out = np.zeros(times.size)
        for part in parts:
            part.add_product(steps, moment, x, out)
        return out

    def column(index: int) -> FloatArray:
        return kernel(times - times[index])

    return CovarianceProduct(times.size, kernel.variance_m2, times_vector, column)


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, Sum) else (kernel,)


@dataclass(frozen=True, slots=True, eq=False)
class _Markov:
    """One term: exp(-rate d) times a polynomial in d of these coefficients, or white, or constant."""

    kind: str
    variance: float
    rate: float = 0.0
    coefficients: tuple[float, ...] = ()

    @classmethod
    def of(cls, term: Kernel) -> _Markov:
        name, variance = type(term).__name__, float(term.variance_m2)
        length = float(getattr(term, "length_scale_s", 1.0))
        if name == "Matern12":
            return cls("matern", variance, 1 / length, (1.0,))
        if name == "Matern32":
            rate = 3**0.5 / length
            return cls("matern", variance, rate, (1.0, rate))
        if name == "Matern52":
            rate = 5**0.5 / length
            return cls("matern", variance, rate, (1.0, rate, rate * rate / 3))
        if name in ("White", "Constant"):
            return cls(name.lower(), variance)
        raise InputError(
            f"The kernel {name} has no state-space product at irregular times.",
            "Use Matérn kernels, or resample the trace to regular times.",
        )

    def add_product(self, steps: FloatArray, moment: npt.NDArray[np.int64], x: FloatArray, out: FloatArray) -> None:
        """Add Σx of this term to ``out``."""
        from sfumato.tracks.designs.covariance_loops import sweep  # compiled: numba is slow to load

        if self.kind == "constant":
            out += self.variance * x.sum()
            return
        if self.kind == "white":  # equal times are one moment and share their value
            out += self.variance * np.bincount(moment, weights=x)[moment]
            return
        coefficients = np.array(self.coefficients)
        forward, backward = np.empty_like(x), np.empty_like(x)
        sweep(steps, self.rate, coefficients, x, forward)
        sweep(steps[::-1].copy(), self.rate, coefficients, x[::-1].copy(), backward)
        out += self.variance * (forward + backward[::-1] + x)
