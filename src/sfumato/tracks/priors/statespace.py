"""Gaussian processes walked through once: likelihood, posterior and samples in O(n), at any timestamps.

A sum of Matérn 1/2, 3/2, 5/2 kernels, White and Constant is a Markov process with a few states [Sarkka2019]. The
adversary's exact posterior under multiscale noise is one too: the state holds the movement's components *and* the
noise's, the release observes their sum, and the smoother gives the movement's part. With H the observation of all
components, h that of the movement's, τ² and w² the two white variances, κ = τ²/(τ²+w²), m and P the smoothed state:

    E[X | Z] = (h - κH)m + κz,      Var(X | Z) = (h - κH)P(h - κH)ᵀ + κw².

Repeated times are one moment (same position, same noise); where a file gives a moment two positions their mean is
used. In :func:`log_likelihood` alone a repeated time is a new look with its own nugget.

Numerics: an observation without any white part is given one of 1e-12 of its variance (:data:`WHITE_FLOOR`): a smooth
path sampled twice within a microsecond could otherwise not be resolved in double precision. It is the stated jitter of
every number computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray, finite, read_only
from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness, randomness
from sfumato.tracks.priors.kernels import Constant, Kernel, Matern12, Matern32, Matern52, Sum, White

WHITE_FLOOR = 1e-12
_ORDERS: dict[type[Kernel], tuple[int, float]] = {Matern12: (1, 1.0), Matern32: (2, 3.0), Matern52: (3, 5.0)}


class Markov(NamedTuple):
    """A kernel as components: states per component, rate λ (per s, 0 for a constant) and variance; and white.

    A named tuple, because the compiled loops take it whole.
    """

    states: IntArray
    rates_per_s: FloatArray
    variances_m2: FloatArray
    white_m2: float

    @property
    def offsets(self) -> IntArray:
        """Where each component's states begin; nowhere for white noise, which has none."""
        return (np.cumsum(self.states) - self.states).astype(np.int64)

    @property
    def dimension(self) -> int:
        """The number of states."""
        return int(np.sum(self.states))

    def moving(self) -> Markov:
        """The same without its constants; of arrays that nobody can write to, for which the loops are compiled."""
        at = self.rates_per_s > 0
        states, rates = read_only(self.states[at], np.int64), read_only(self.rates_per_s[at])
        return Markov(states, rates, read_only(self.variances_m2[at]), self.white_m2)


def is_markov(kernel: Kernel) -> bool:
    """Whether the O(n) form exists."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    return all(type(part) in _ORDERS or isinstance(part, White | Constant) for part in parts)


def markov_form(kernel: Kernel) -> Markov:
    """The components of a sum of Matérn kernels, White and Constant; parts with sd 0 are left out."""
    states, rates, variances, white = [], [], [], 0.0
    for part in kernel.parts if isinstance(kernel, Sum) else (kernel,):
        if isinstance(part, White):
            white += part.variance_m2
        elif isinstance(part, Matern12 | Matern32 | Matern52 | Constant):
            if part.variance_m2 == 0:
                continue
            count, squared_rate = _ORDERS.get(type(part), (1, 0.0))
            states.append(count)
            rates.append(0.0 if isinstance(part, Constant) else math.sqrt(squared_rate) / part.length_scale_s)
            variances.append(part.variance_m2)
        else:
            raise InputError(
                f"A {part.to_dict()['kernel']} kernel has no exact state-space form.",
                "Use Matérn kernels with White and Constant, or the dense functions (up to a few thousand points).",
            )
    return Markov(read_only(states, np.int64), read_only(rates), read_only(variances), white)


def _joined(prior: Markov, noise: Markov) -> Markov:
    return Markov(
        read_only(np.concatenate([prior.states, noise.states]), np.int64),
        read_only(np.concatenate([prior.rates_per_s, noise.rates_per_s])),
        read_only(np.concatenate([prior.variances_m2, noise.variances_m2])),
        prior.white_m2 + noise.white_m2,
    )


def _columns(values: npt.ArrayLike, n: int, name: str) -> tuple[FloatArray, bool]:
    array = finite(values, name)
    if array.ndim not in (1, 2) or len(array) != n:
        raise InputError(f"{name} does not have one row per time.", f"Give ({n},) or ({n}, coordinates).")
    return (array[:, None] if array.ndim == 1 else array), array.ndim == 1


def log_likelihood(times_s: npt.ArrayLike, values_m: npt.ArrayLike, kernel: Kernel) -> float:
    """log p(values) under N(0, Σ), summed over coordinates, in O(n)."""
    times = finite(times_s, "times_s", dimensions=1)
    columns, _ = _columns(values_m, len(times), "values_m")
    order = np.argsort(times, kind="stable")
    return sorted_log_likelihood(times[order], columns[order], markov_form(kernel))


def sorted_log_likelihood(times: FloatArray, columns: FloatArray, form: Markov) -> float:
    """The same of sorted times, (n, coordinates) and a kernel's :func:`markov_form`, unchecked: for many tries."""
    new, variances = _new_and_variances(times, columns, form)
    width = columns.shape[1]
    with np.errstate(divide="ignore", over="ignore"):
        log_sum = float(np.sum(np.log(variances)))
        return float(-0.5 * (width * log_sum + np.sum(new**2) + width * len(times) * math.log(2 * math.pi)))


def whitened_products(times_s: npt.ArrayLike, columns: npt.ArrayLike, kernel: Kernel) -> FloatArray:
    """AᵀΣ⁻¹A for the columns A (n, m) at distinct sorted times, in O(n m²): what they tell apart in Gaussian noise."""
    times = finite(times_s, "times_s", dimensions=1)
    if np.any(np.diff(times) <= 0):
        raise InputError("The times are not sorted and distinct.", "Sort them, and take each once.")
    white = innovations(times, columns, kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        products = white.T @ white
    if not np.all(np.isfinite(products)):
        raise InputError("The columns are too large for doubles.", "Use another unit.")
    return np.asarray(products)


def innovations(times_s: npt.ArrayLike, columns: npt.ArrayLike, kernel: Kernel) -> FloatArray:
    """What each value adds to those before it, in standard deviations, (n, m): independent N(0, 1) under the kernel."""
    times = finite(times_s, "times_s", dimensions=1)
    values, _ = _columns(columns, len(times), "columns")
    return _new_and_variances(times, values, _floored(markov_form(kernel)))[0]


def _new_and_variances(times: FloatArray, columns: FloatArray, form: Markov) -> tuple[FloatArray, FloatArray]:
    from sfumato.tracks.priors.markov_loops import forward

    # Copies, because for arrays that nobody can write to the loop would be compiled a second time.
    new, variances, _, _ = forward(np.array(times), np.array(columns, order="C"), form, np.empty(0))
    return np.asarray(new), np.asarray(variances)


def _floored(form: Markov) -> Markov:
    """The same with at least the stated jitter as its white part."""
    return form._replace(white_m2=max(form.white_m2, WHITE_FLOOR * float(np.sum(form.variances_m2))))


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """The posterior of the movement per point: mean (n,) or (n, coordinates) and variance (n,) of each coordinate."""

    mean_m: FloatArray
    variance_m2: FloatArray

    @property
    def sd_m(self) -> FloatArray:
        """The half-width of the 68% interval."""
        return np.sqrt(np.maximum(self.variance_m2, 0.0))


def smooth(
    times_s: npt.ArrayLike, release_m: npt.ArrayLike, *, prior: Kernel, noise: Kernel, causal: bool = False
) -> Smoothed:
    """The exact posterior of X given Z = X + G at all times, in O(n), for a prior of mean 0.

    With ``causal`` each moment is given only what was released by then: what somebody knows who watches.
    """
    times = finite(times_s, "times_s", dimensions=1)
    columns, flat = _columns(release_m, len(times), "release_m")
    moments, which, counts = np.unique(times, return_inverse=True, return_counts=True)
    merged = np.zeros((len(moments), columns.shape[1]))
    np.add.at(merged, which, columns)
    merged /= counts[:, None]
    mean, variance = _smooth_moments(moments, merged, prior, noise, causal)
    spread = mean[which]
    return Smoothed(read_only(spread[:, 0] if flat else spread), read_only(variance[which]))


def posterior_variances(times_s: npt.ArrayLike, *, prior: Kernel, noise: Kernel) -> tuple[FloatArray, FloatArray]:
    """(what is learned σ² - V, what is left V) in m² at every time; the values released do not matter."""
    times = finite(times_s, "times_s", dimensions=1)
    moments, which = np.unique(times, return_inverse=True)
    _, left = _smooth_moments(moments, np.zeros((len(moments), 0)), prior, noise)
    return np.maximum(prior.variance_m2 - left, 0.0)[which], left[which]


def _smooth_moments(
    moments: FloatArray, values: FloatArray, prior: Kernel, noise: Kernel, causal: bool = False
) -> tuple[FloatArray, FloatArray]:
    from sfumato.tracks.priors import markov_loops

    if moments.size and float(np.abs(moments).max()) > 1e50:
        raise InputError("The times are too far apart for doubles.", "Give seconds.")
    own, other = markov_form(prior), markov_form(noise)
    both = _joined(own, other)
    share = own.white_m2 / both.white_m2 if both.white_m2 > 0 else 0.0
    if both.dimension == 0:  # white on white: every moment stands alone
        return share * values, np.full(len(moments), share * other.white_m2)
    pick = np.zeros(both.dimension)
    pick[both.offsets] = -share
    pick[own.offsets[: len(own.states)]] += 1.0
    walk = markov_loops.forward if causal else markov_loops.smooth
    *_, mean, variance = walk(moments, np.ascontiguousarray(values), _floored(both), pick)
    return mean + share * values, np.maximum(variance + share * other.white_m2, 0.0)


def sample(
    times_s: npt.ArrayLike,
    kernel: Kernel,
    *,
    coordinates: int = 1,
    rng: int | np.random.Generator | Randomness | None = None,
) -> FloatArray:
    """Exact draws of the process, (n, coordinates), in O(n); times in any order, repeated times get one value."""
    from sfumato.tracks.priors import markov_steps

    times = finite(times_s, "times_s", dimensions=1)
    if not 1 <= coordinates * max(times.size, 1) <= 10**9 or coordinates < 1:
        raise InputError(f"{coordinates} coordinates were asked for.", "Give at least 1, and no more than fit.")
    draw = randomness(rng)
    moments, which = np.unique(times, return_inverse=True)
    form = markov_form(kernel)
    out = np.zeros((len(moments), coordinates))
    for states, rate, variance in zip(form.states, form.rates_per_s, form.variances_m2, strict=True):
        if rate == 0.0:  # a constant
            out += math.sqrt(variance) * draw.normals((1, coordinates))
            continue
        normals = draw.normals((len(moments), int(states), coordinates))
        markov_steps.sample_component(moments, states, rate, variance, normals, out)
    if form.white_m2 > 0:
        out += math.sqrt(form.white_m2) * draw.normals(out.shape)
    return out[which]
