"""Fitting: finds the truth, is no worse than others, one long or many short traces, and never crashes on odd ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.base.errors import InputError
from sfumato.tracks.priors.fit_prior import fit, fit_many
from sfumato.tracks.priors.kernels import RBF, Matern12, Matern32, Matern52, White
from sfumato.tracks.priors.statespace import log_likelihood, sample

KERNELS = {"matern12": Matern12, "matern32": Matern32, "matern52": Matern52}


@pytest.mark.parametrize("name", KERNELS)
def test_the_truth_is_found_from_a_long_trace(name: str) -> None:
    times = np.cumsum(np.random.default_rng(0).uniform(1, 10, 4000))
    values = sample(times, KERNELS[name](66, 123) + White(4), coordinates=2, rng=1)
    fitted = fit(times, values, kernel=name)
    found = fitted.kernel.to_dict()
    assert found["length_scale_s"] == pytest.approx(66, rel=0.2)
    assert found["sd_m"] == pytest.approx(123, rel=0.15)
    assert fitted.nugget_m == pytest.approx(4, rel=0.25)
    assert fitted.log_likelihood >= log_likelihood(
        times, values - values.mean(axis=0), KERNELS[name](66, 123) + White(4)
    )


@pytest.mark.parametrize("name", KERNELS)
def test_the_stated_likelihood_is_the_likelihood_of_the_stated_prior(name: str) -> None:
    times = np.sort(np.random.default_rng(2).uniform(0, 320, 50))
    values = sample(times, Matern32(60, 100) + White(2), rng=3)[:, 0]
    fitted = fit(times, values, kernel=name)
    assert log_likelihood(times, values - values.mean(), fitted.prior) == pytest.approx(fitted.log_likelihood, abs=1e-4)


def test_no_local_search_from_anywhere_finds_a_better_prior() -> None:
    rng = np.random.default_rng(4)
    for k in range(12):
        times = np.sort(rng.uniform(0, 320, 50))
        truth = Matern32(float(rng.uniform(10, 300)), 100) + White(float(rng.uniform(0.5, 20)))
        values = sample(times, truth, rng=k)[:, 0]
        values = values - values.mean()
        fitted = fit(times, values)

        def cost(theta: np.ndarray, times: np.ndarray = times, values: np.ndarray = values) -> float:
            l, sd, nugget = np.exp(np.clip(theta, -9, 12))
            return -log_likelihood(times, values, Matern32(l, sd) + White(nugget))

        start = np.log([rng.uniform(5, 200), np.std(values), rng.uniform(0.1, 10)])
        other = minimize(cost, start, method="Nelder-Mead", options={"maxiter": 400, "fatol": 1e-8})
        assert fitted.log_likelihood >= -other.fun - 1e-3


@pytest.mark.parametrize("name", KERNELS)
def test_an_unknown_mean_is_integrated_over(name: str) -> None:
    times = np.sort(np.random.default_rng(7).uniform(0, 300, 40))
    values = sample(times, Matern32(100, 50) + White(1), coordinates=2, rng=8)
    fitted = fit(times, values, kernel=name, unknown_mean=True)
    inverse = np.linalg.inv(fitted.kernel.covariance(times) + fitted.nugget_m**2 * np.eye(40))
    ones = inverse.sum(axis=0)
    restricted = inverse - np.outer(ones, ones) / ones.sum()
    moved = values - values.mean(axis=0)
    determinants = -np.linalg.slogdet(inverse)[1] + np.log(ones.sum())
    dense = -0.5 * (2 * determinants + np.sum(moved * (restricted @ moved)) + 2 * 39 * np.log(2 * np.pi))
    assert fitted.log_likelihood == pytest.approx(dense, abs=1e-4)
    assert fitted.kernel.variance_m2 >= fit(times, values, kernel=name).kernel.variance_m2


def test_many_traces_at_once_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(5)
    times = [np.sort(rng.uniform(0, 300, n)) for n in (20, 50, 7, 120)]
    values = [sample(t, Matern32(40, 30) + White(1), coordinates=2, rng=i) for i, t in enumerate(times)]
    together = fit_many(times, values)
    for t, v, one in zip(times, values, together, strict=True):
        alone = fit(t, v)
        assert (alone.kernel, alone.nugget_m, alone.log_likelihood) == (one.kernel, one.nugget_m, one.log_likelihood)


def test_the_rbf_is_fitted_densely_and_refused_when_too_long() -> None:
    times = np.arange(60.0) * 5
    values = np.linalg.cholesky(RBF(40, 50).covariance(times) + np.eye(60)) @ np.random.default_rng(6).normal(size=60)
    fitted = fit(times, values, kernel="rbf")
    assert fitted.kernel.to_dict()["length_scale_s"] == pytest.approx(40, rel=0.4)
    covariance = fitted.kernel.covariance(times) + fitted.nugget_m**2 * np.eye(60)
    moved = values - values.mean()
    dense = -0.5 * (
        np.linalg.slogdet(covariance)[1] + moved @ np.linalg.solve(covariance, moved) + 60 * np.log(2 * np.pi)
    )
    assert fitted.log_likelihood == pytest.approx(dense, abs=1e-6)
    with pytest.raises(InputError, match="fitted densely"):
        fit(np.arange(2000.0), np.zeros(2000), kernel="rbf")


@pytest.mark.parametrize(
    ("times", "values"),
    [
        ([0, 1, 2, 3], [5, 5, 5, 5]),  # never moves
        ([0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4, 5]),  # repeated times with different places
        ([0, 1e-6, 1, 1e9], [0, 1, 2, 3]),
        (np.arange(30), np.arange(30) * 1e6),  # an aeroplane in a straight line
        ([0, 1, 2], [0, 1e-9, 0]),
    ],
)
def test_odd_traces_get_some_finite_prior(times: object, values: object) -> None:
    fitted = fit(times, values)
    assert np.isfinite(fitted.log_likelihood)
    assert np.isfinite(fitted.prior.variance_m2)
    assert "mean_m" not in fitted.to_dict()


def test_without_a_nugget_none_is_reported() -> None:
    times = np.arange(40.0)
    fitted = fit(times, sample(times, Matern52(20, 3), rng=1), kernel="matern52", nugget=False)
    assert fitted.nugget_m == 0
    assert fitted.prior == fitted.kernel


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit([0, 1], [0, 1]),
        lambda: fit([0, 0, 0], [0, 1, 2]),
        lambda: fit([0, 1, np.nan], [0, 1, 2]),
        lambda: fit([0, 1, 2], [0, 1]),
        lambda: fit([0, 1, 2], [0, 1, 2], kernel="cubic"),
        lambda: fit([0, 1, 2], [0, 1, 2], length_scales_s=(10, 1)),
        lambda: fit_many([[0, 1, 2]], []),
        lambda: fit_many([[0, 1, 2], [0, 1, 2]], [np.zeros(3), np.zeros((3, 2))]),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_advice(call: object) -> None:
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.advice
