"""How a person moves, learned from a trace: one kernel and a nugget, by maximum likelihood.

Model, per coordinate around its mean: σ² k_l(d) + τ² (d = 0), the same kernel for all coordinates. The variance is
profiled out, so two numbers are searched: the length scale l and the ratio τ²/σ². One likelihood is one O(n) walk
(:mod:`sfumato.tracks.priors.fitting_loops`), so thousands of short traces and one long one cost the same per point. A
repeated time is a new look with its own nugget. RBF has no exact O(n) form and is fitted densely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg import cho_solve, cholesky

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.tracks.priors.kernels import Kernel, White, kernel_named

_STATES = {"matern12": 1, "matern32": 2, "matern52": 3}
_DENSE_LIMIT = 1500
WHITE_RATIO = (1e-10, 1e4)
"""The range of τ²/σ²; without a nugget the lower end is the stated jitter."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The best kernel found, the nugget (m), the mean removed, the log-likelihood, and the number of points.

    With an unknown mean the likelihood is the restricted one (REML), which does not take the mean for known.
    """

    kernel: Kernel
    nugget_m: float
    mean_m: tuple[float, ...]
    log_likelihood: float
    points: int
    evaluations: int

    @property
    def prior(self) -> Kernel:
        """Kernel and nugget together: what the adversary believes about each coordinate around its mean."""
        return self.kernel + White(self.nugget_m) if self.nugget_m > 0 else self.kernel

    def to_dict(self) -> dict[str, object]:
        """Plain JSON. It holds no mean: the mean of a trace is a true place."""
        return {
            **self.kernel.to_dict(),
            "nugget_m": self.nugget_m,
            "log_likelihood": self.log_likelihood,
            "points": self.points,
        }


def fit(
    times_s: npt.ArrayLike,
    values_m: npt.ArrayLike,
    *,
    kernel: str = "matern32",
    nugget: bool = True,
    centre: bool = True,
    unknown_mean: bool = False,
    length_scales_s: tuple[float, float] | None = None,
) -> Fitted:
    """The maximum likelihood prior of one trace; ``values_m`` is (n,) or (n, coordinates).

    ``centre`` subtracts each coordinate's mean and takes it for known; ``unknown_mean`` integrates over it instead,
    so that a path much shorter than its length scale is not taken for a small movement.
    """
    scales = None if length_scales_s is None else [length_scales_s]
    if kernel == "rbf":
        if unknown_mean:
            raise InputError(f"An unknown mean is not fitted with {kernel}.", "Use a Matérn kernel.")
        times, values = _checked(times_s, values_m, 0)
        low, high = _box(times, None if scales is None else scales[0])
        return _fit_dense(times, values, kernel, nugget, centre, low, high)
    return fit_many(
        [times_s],
        [values_m],
        kernel=kernel,
        nugget=nugget,
        centre=centre,
        unknown_mean=unknown_mean,
        length_scales_s=scales,
    )[0]


def fit_many(
    times_s: Sequence[npt.ArrayLike],
    values_m: Sequence[npt.ArrayLike],
    *,
    kernel: str = "matern32",
    nugget: bool = True,
    centre: bool = True,
    unknown_mean: bool = False,
    length_scales_s: Sequence[tuple[float, float]] | None = None,
) -> list[Fitted]:
    """One fit per trace, all in one compiled call; every trace has the same number of coordinates."""
    from sfumato.tracks.priors import fitting_loops

    scales: Sequence[tuple[float, float] | None] = length_scales_s or [None] * len(times_s)

    if kernel not in _STATES:
        if kernel == "rbf":
            return [
                fit(t, v, kernel=kernel, nugget=nugget, centre=centre, length_scales_s=scale)
                for t, v, scale in zip(times_s, values_m, scales, strict=True)
            ]
        raise InputError(f"'{kernel}' cannot be fitted.", f"Choose from {', '.join((*_STATES, 'rbf'))}.")
    if len(times_s) != len(values_m):
        raise InputError(f"{len(times_s)} lists of times, {len(values_m)} of values.", "Give one of each per trace.")
    if not len(times_s):
        return []
    checked = [_checked(t, v, i) for i, (t, v) in enumerate(zip(times_s, values_m, strict=True))]
    if len({values.shape[1] for _, values in checked}) > 1:
        raise InputError("The traces differ in their number of coordinates.", "Fit them apart.")
    means = [values.mean(axis=0) if centre or unknown_mean else np.zeros(values.shape[1]) for _, values in checked]
    moved = [values - mean for (_, values), mean in zip(checked, means, strict=True)]
    if unknown_mean:
        moved = [np.column_stack([path, np.ones(len(path))]) for path in moved]
    boxes = [_box(times, scale) for (times, _), scale in zip(checked, scales, strict=True)]
    out = np.zeros((len(checked), 5))
    fitting_loops.maximise_many(
        np.concatenate([times for times, _ in checked]),
        np.concatenate(moved),
        np.cumsum([0, *(len(times) for times, _ in checked)]),
        _STATES[kernel],
        np.array([low for low, _ in boxes]),
        np.array([high for _, high in boxes]),
        not nugget,
        unknown_mean,
        1e-7,
        out,
    )
    return [
        _fitted(kernel, row, nugget, mean, len(times))
        for row, mean, (times, _) in zip(out, means, checked, strict=True)
    ]


def _fitted(kernel: str, row: FloatArray, nugget: bool, mean: FloatArray, points: int) -> Fitted:
    sd = math.sqrt(float(row[2]))
    ratio = math.sqrt(math.exp(float(row[1]))) if nugget else 0.0
    return Fitted(
        kernel_named(kernel, length_scale_s=math.exp(float(row[0])), sd_m=sd),
        ratio * sd,
        tuple(float(m) for m in mean),
        float(row[3]),
        points,
        int(row[4]),
    )


def _checked(times_s: npt.ArrayLike, values_m: npt.ArrayLike, i: int) -> tuple[FloatArray, FloatArray]:
    times, values = finite(times_s, "times_s", dimensions=1), finite(values_m, "values_m")
    if np.abs(values).max(initial=0.0) > 1e150:
        raise InputError(f"Trace {i} has values too large for doubles.", "Use another unit.")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(times):
        raise InputError(f"Trace {i} has {len(times)} times and {len(values)} values.", "Give one value per time.")
    if len(times) < 3:
        raise InputError(f"Trace {i} has {len(times)} point(s).", "A prior is fitted to at least 3 points.")
    if np.any(np.diff(times) < 0):
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    if times[-1] == times[0]:
        raise InputError(f"Trace {i} has one moment only.", "A prior is fitted to points at different times.")
    return times, values


def _box(times: FloatArray, scales: tuple[float, float] | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bounds of (log length scale, log τ²/σ²): from a tenth of the typical gap to a hundred times the duration."""
    if scales is None:
        gaps = np.diff(times)
        scales = (0.1 * float(np.median(gaps[gaps > 0])), 100 * float(times[-1] - times[0]))
    if not 0 < scales[0] < scales[1]:
        raise InputError(f"Length scales from {scales[0]:g} to {scales[1]:g} s.", "Give a range, shortest first.")
    return (math.log(scales[0]), math.log(WHITE_RATIO[0])), (math.log(scales[1]), math.log(WHITE_RATIO[1]))


def _fit_dense(
    times: FloatArray,
    values: FloatArray,
    kernel: str,
    nugget: bool,
    centre: bool,
    low: tuple[float, float],
    high: tuple[float, float],
) -> Fitted:
    if len(times) > _DENSE_LIMIT:
        raise InputError(
            f"The trace has {len(times)} points; {kernel} is fitted densely up to {_DENSE_LIMIT}.",
            "Fit matern32 (any length), or thin the trace first.",
        )
    mean = values.mean(axis=0) if centre else np.zeros(values.shape[1])
    moved = values - mean
    squares, count = (times[:, None] - times[None, :]) ** 2, moved.size

    def objective(theta: FloatArray) -> tuple[float, float]:
        shape = np.exp(-0.5 * squares * math.exp(-2 * theta[0]))
        shape[np.diag_indices_from(shape)] += math.exp(theta[1])
        try:
            factor = cholesky(shape, lower=True)
        except np.linalg.LinAlgError:
            return math.inf, 1.0
        variance = max(float(np.sum(moved * cho_solve((factor, True), moved))) / count, 1e-12)
        log_sum = 2 * float(np.sum(np.log(np.diag(factor)))) * moved.shape[1]
        return 0.5 * (count * (math.log(2 * math.pi * variance) + 1) + log_sum), variance

    whites = [low[1]] if not nugget else list(np.linspace(low[1], high[1], 6)[:-1])
    starts = [(x, y) for x in np.linspace(low[0], high[0], 10)[1:-1] for y in whites]
    scores = [objective(np.array(start))[0] for start in starts]
    bounds = [(low[0], high[0]), (low[1], high[1] if nugget else low[1])]
    found = [
        scipy.optimize.minimize(
            lambda theta: objective(theta)[0],
            np.array(starts[index], dtype=np.float64),
            method="Nelder-Mead",
            bounds=bounds,
            options={"xatol": 1e-5, "fatol": 1e-7, "maxiter": 400},  # type: ignore[call-overload]  # those of this method
        )
        for index in np.argsort(scores)[:2]
    ]
    best = min(found, key=lambda one: float(one.fun))
    value, variance = objective(best.x)
    row = np.array([best.x[0], best.x[1], variance, -value, len(starts) + best.nfev])
    return _fitted(kernel, row, nugget, mean, len(times))
