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
from sfumato.tracks.priors.kernels import Kernel
from sfumato.tracks.priors.statespace import markov_form


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
    from sfumato.tracks.priors.markov_steps import sweep  # compiled: numba is slow to load

    times = finite(times_s, "times_s", dimensions=1)
    steps = np.diff(times)
    if np.any(steps < 0):
        raise InputError("The times go backwards.", "Sort the points by time.")
    form, (_, moment) = markov_form(kernel), np.unique(times, return_inverse=True)

    def times_vector(x: FloatArray) -> FloatArray:
        out = form.white_m2 * np.bincount(moment, weights=x)[moment]  # equal times are one moment and share their value
        for states, rate, variance in zip(form.states, form.rates_per_s, form.variances_m2, strict=True):
            poly = np.array([1.0, rate, rate * rate / 3])[:states]
            forward, backward = np.empty_like(x), np.empty_like(x)
            sweep(steps, rate, poly, x, forward)
            sweep(steps[::-1].copy(), rate, poly, x[::-1].copy(), backward)
            out += variance * (forward + backward[::-1] + x)
        return np.asarray(out)

    def column(index: int) -> FloatArray:
        return kernel(times - times[index])

    return CovarianceProduct(times.size, kernel.variance_m2, times_vector, column)
