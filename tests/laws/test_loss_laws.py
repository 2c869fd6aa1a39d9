"""Laws of the Gaussian loss, for random priors, noises and secrets."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.prior_members import random_member

from sfumato.papers.cip.several_moments import compound_loss_bound, compound_loss_exact
from sfumato.tracks.losses.gaussian_loss import (
    basic_losses,
    basic_losses_statespace,
    loss_matrix,
    posterior_covariance,
    worst_direction,
)
from sfumato.tracks.priors.classes import DAY
from sfumato.tracks.priors.kernels import Kernel, Matern32, Matern52, White

seeds = st.integers(0, 2**31 - 1)


def covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    factor = rng.normal(size=(n, n)) * np.exp(rng.uniform(-2, 2, n))
    return factor @ factor.T + 1e-3 * np.eye(n)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 8), st.integers(1, 4))
def test_more_noise_never_raises_any_loss(seed: int, n: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    prior, noise, more = covariance(rng, n), covariance(rng, n), covariance(rng, n)
    secret = rng.permutation(n)[: min(size, n)]
    before, after = loss_matrix(prior, noise, secret), loss_matrix(prior, noise + more, secret)
    assert np.linalg.eigvalsh(before - after)[0] >= -1e-7 * worst_direction(before)[0]
    assert np.all(basic_losses(prior, noise + more) <= basic_losses(prior, noise) * (1 + 1e-7))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 8))
def test_one_more_released_point_never_tells_less(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    prior, noise = covariance(rng, n), covariance(rng, n)
    fewer = basic_losses(prior[:-1, :-1], noise[:-1, :-1])
    assert np.all(fewer <= basic_losses(prior, noise)[:-1] * (1 + 1e-7))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(2, 8))
def test_a_compound_secret_loses_at_least_each_of_its_points_and_at_most_the_bound(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    prior, noise = covariance(rng, n), covariance(rng, n)
    secret = rng.permutation(n)[:3]
    loss = loss_matrix(prior, noise, secret)
    assert compound_loss_exact(loss) <= compound_loss_bound(loss) * (1 + 1e-9)
    assert compound_loss_exact(loss) >= np.trace(loss) * (1 - 1e-9)  # the mean over sign vectors
    assert np.all(np.linalg.eigvalsh(loss) >= -1e-8 * compound_loss_bound(loss))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 8))
def test_the_posterior_lies_between_nothing_and_the_prior(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    prior, noise = covariance(rng, n), covariance(rng, n)
    left = posterior_covariance(prior, noise)
    scale = float(np.trace(prior))
    assert np.linalg.eigvalsh(left)[0] >= -1e-9 * scale
    assert np.linalg.eigvalsh(prior - left)[0] >= -1e-9 * scale
    assert np.linalg.eigvalsh(noise - left)[0] >= -1e-9 * max(scale, float(np.trace(noise)))


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_the_walk_and_the_dense_formula_agree_for_random_members_of_the_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior: Kernel = random_member(DAY, rng)
    description = prior.to_dict()
    main = description["parts"][0] if description["kernel"] == "sum" else description
    if main["kernel"] == "rbf" or prior.variance_m2 > 1e8:
        prior = Matern52(float(rng.uniform(10, 5000)), float(rng.uniform(1, 2000))) + White(0.5)
    noise = Matern32(float(rng.uniform(10, 5000)), 120.0) + Matern52(60, 50) + White(float(rng.uniform(5, 40)))
    times = np.unique(np.round(rng.exponential(300, 40).cumsum(), 3))
    dense = basic_losses(prior.covariance(times), noise.covariance(times))
    np.testing.assert_allclose(basic_losses_statespace(times, prior, noise), dense, rtol=1e-6)
