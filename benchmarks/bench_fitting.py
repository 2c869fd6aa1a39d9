"""Fitting 5,000 traces of 50 points against scikit-learn's GaussianProcessRegressor, in the same run.

    python benchmarks/bench_fitting.py [--quick]

Same model (variance × Matérn-3/2 + white, around the same mean), same bounds, no restarts. Required: at least 50 times
faster per trace, and on every trace compared a log-likelihood no worse than 1e-3 below.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings

import numpy as np

from needs import need

REQUIRED_RATIO = 50.0
REQUIRED_LIKELIHOOD = 1e-3


def traces(count: int, points: int = 50, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Irregular times over about five minutes, paths drawn from Matérn-3/2 + nugget over wide ranges."""
    from sfumato.tracks.priors.kernels import Matern32, White
    from sfumato.tracks.priors.statespace import sample

    rng = np.random.default_rng(seed)
    times, values = [], []
    for _ in range(count):
        moments = np.sort(rng.uniform(0, 320, points))
        length_scale, sd, nugget = np.exp(rng.uniform(np.log([8, 5, 0.3]), np.log([400, 1500, 10])))
        times.append(moments)
        values.append(sample(moments, Matern32(length_scale, sd) + White(nugget), rng=rng)[:, 0])
    return times, values


def by_sklearn(times: np.ndarray, values: np.ndarray, bounds: tuple[tuple[float, float], tuple[float, float]]) -> float:
    """The log-likelihood that scikit-learn reaches, started where its users would: at the data's own scales."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    low, high = bounds
    variance = float(np.var(values))
    kernel = ConstantKernel(variance, (variance * 1e-6, variance * 1e6)) * Matern(
        50.0, (math.exp(low[0]), math.exp(high[0])), nu=1.5
    ) + WhiteKernel(0.01 * variance, (variance * 1e-10, variance * 1e2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, alpha=0.0).fit(times[:, None], values - values.mean())
    return float(model.log_marginal_likelihood_value_)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="500 traces, 10 of them by scikit-learn")
    options = parser.parse_args()
    from sfumato.tracks.priors.fit_prior import _box, fit_many

    need("sklearn")
    count, compared = (500, 10) if options.quick else (5000, 60)
    times, values = traces(count)
    fit_many(times[:2], values[:2])  # compiled or loaded from the cache before the clock starts
    started = time.perf_counter()
    fitted = fit_many(times, values)
    ours = (time.perf_counter() - started) / count
    by_sklearn(times[0], values[0], _box(times[0], None))
    started = time.perf_counter()
    theirs = [by_sklearn(times[i], values[i], _box(times[i], None)) for i in range(compared)]
    per_trace = (time.perf_counter() - started) / compared
    differences = np.array([fitted[i].log_likelihood - theirs[i] for i in range(compared)])
    ratio, least = per_trace / ours, float(differences.min())
    print(f"{count} traces of 50 points: {1e6 * ours:.0f} us per trace")
    print(f"scikit-learn on {compared} of them: {1e3 * per_trace:.1f} ms per trace")
    print(f"ratio {ratio:.0f} (required {REQUIRED_RATIO:g})")
    print(
        f"log-likelihood, ours - theirs: least {least:.1e}, median {np.median(differences):.1e}, "
        f"most {differences.max():.1e} (required >= -{REQUIRED_LIKELIHOOD:g})"
    )
    good = ratio >= REQUIRED_RATIO and least >= -REQUIRED_LIKELIHOOD
    print("ok" if good else "FAILED")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
