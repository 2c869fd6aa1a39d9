"""Multiscale noise: drawn as designed, and never giving away more than its certificate, whoever attacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.prior_members import random_member

from sfumato.accountant.compose import composed_losses
from sfumato.base.errors import InputError
from sfumato.tracks.losses.exact_losses import largest_independent_loss, largest_loss
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.noise.multiscale.ladder import (
    Ladder,
    correlation,
    noise_covariance,
    normals_per_time,
    sample_path,
    shipped_ladder,
)
from sfumato.tracks.noise.multiscale.ladder_loops import advance
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.noise.multiscale.solve import design_ladder
from sfumato.tracks.noise.multiscale.universal_bound import universal_bound
from sfumato.tracks.priors.classes import DAY, PRIOR_CLASSES, PriorClass
from sfumato.tracks.priors.kernels import Constant, Matern32, Sum, White

NOISE_M = 150.0


def random_times(rng: np.random.Generator) -> np.ndarray:
    """Irregular times: bursts, gaps, days apart, or one dense run."""
    count = int(rng.integers(1, 70))
    pace = math.exp(rng.uniform(math.log(0.2), math.log(7200)))
    steps = rng.exponential(pace, count) * np.where(rng.random(count) < 0.1, rng.uniform(1, 200), 1.0)
    return 1.7e9 + np.cumsum(steps)


@pytest.mark.parametrize("name", list(PRIOR_CLASSES))
def test_no_random_member_of_the_class_loses_more_than_the_universal_bound(name: str) -> None:
    rng = np.random.default_rng(11)
    members, ladder = PRIOR_CLASSES[name], shipped_ladder(name)
    bound = universal_bound(ladder, members)
    closest = 0.0
    for _ in range(400 if name == "day" else 120):
        times = random_times(rng)
        kernel = random_member(members, rng)
        parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
        offset = sum(part.variance_m2 for part in parts if isinstance(part, Constant))
        moving = kernel.variance_m2 - offset
        loss = float(basic_losses(kernel.covariance(times), noise_covariance(ladder, times, NOISE_M**2)).max())
        free = (
            offset == 0
            or moving >= (bound.free_offset_sd * NOISE_M) ** 2
            or offset <= bound.free_offset_share**2 * moving
        )
        limit = bound.worst_loss if free else max(bound.worst_loss, bound.stay_loss)
        # At sd 0.1 m against 150 m of noise the loss is a difference of nearly equal inverses.
        assert loss * NOISE_M**2 <= limit * (1 + 1e-6)
        closest = max(closest, loss * NOISE_M**2 / limit)
    assert closest > 0.5  # the attack is not toothless


def test_sampling_densely_approaches_the_bound_but_never_passes_it() -> None:
    ladder = shipped_ladder("day")
    bound = universal_bound(ladder, DAY)
    losses = []
    for pace in (15.0, 2.0):
        times = np.arange(0.0, 500.0) * pace
        losses.append(largest_loss(times, MultiscaleNoise(ladder, 1.0, DAY).kernel(), DAY))
    assert max(losses) <= bound.worst_loss
    assert max(losses) > 0.97 * bound.worst_loss


def test_the_state_space_and_the_dense_exact_losses_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.tracks.losses.exact_losses as module

    members = PriorClass(kernels=("matern32", "matern52"))
    kernel = MultiscaleNoise(shipped_ladder("day"), 100.0, members).kernel()
    times = np.cumsum(np.random.default_rng(3).exponential(20.0, 300))
    monkeypatch.setattr(module, "DENSE_SCALES", module.MARKOV_SCALES)
    dense = largest_loss(times, kernel, members)
    monkeypatch.setattr(module, "DENSE_POINTS", 10)
    assert largest_loss(times, kernel, members) == pytest.approx(dense, rel=1e-4)


@pytest.mark.parametrize(
    ("count", "pace", "multiscale", "independent"),
    [(600, 5.0, 1.92, 104.0), (600, 1.0, 1.87, 351.0), (120, 30.0, 1.91, 23.8), (240, 60.0, 1.88, 12.9)],
)
def test_the_finite_sample_losses_of_the_specification(
    count: int, pace: float, multiscale: float, independent: float
) -> None:
    """Golden case: a ladder of six scales, sd 30 m, noise 150 m, Matérn-3/2, length scales 20 s - 10 min."""
    weights = np.array([0.200, 0.254, 0.056, 0.003, 0.001, 0.486])
    ladder = Ladder(np.array([15.0, 30.0, 60.0, 120.0, 240.0, 480.0]), weights / weights.sum(), 0.0, 0.0)
    times = np.arange(count) * pace
    worst, white = 0.0, 0.0
    for scale in (20.0, 37.0, 60.0, 110.0, 127.0, 600.0):
        prior = Matern32(scale, 30.0).covariance(times)
        worst = max(worst, basic_losses(prior, noise_covariance(ladder, times, NOISE_M**2)).max() * NOISE_M**2)
        if scale == 600.0:
            white = basic_losses(prior, NOISE_M**2 * np.eye(count)).max() * NOISE_M**2
    assert worst == pytest.approx(multiscale, rel=6e-3)
    assert white == pytest.approx(independent, rel=0.02)
    assert (
        worst <= universal_bound(ladder, PriorClass(("matern32",), (20, 600), nugget_share=0.0, offset=False)).path_loss
    )


def test_the_weights_printed_in_the_specification_cost_what_it_says() -> None:
    weights = np.array([0.180, 0.086, 0.094, 0.068, 0.038, 0.107, 0.129, 0.032, 0.212, 0.049])
    scales = np.array([10.0, 20.0, 80.0, 160.0, 320.0, 640.0, 2560.0, 5120.0, 20480.0, 40960.0])
    ladder = Ladder(scales, weights / weights.sum(), 0.0, 0.0)
    bound = universal_bound(ladder, PriorClass(nugget_share=0.0, offset=False))
    assert bound.path_loss == pytest.approx(3.51, rel=0.01)


@pytest.mark.parametrize(("nugget_m", "loss"), [(3.0, 1.97), (10.0, 3.53), (30.0, 10.6)])
def test_a_nugget_is_not_covered_without_a_white_share(nugget_m: float, loss: float) -> None:
    """Golden: sd 30 m, length scale 600 s, 900 points at 1 s, the ladder for 20 s - 10 min without a white share."""
    ladder = Ladder(*design_ladder(("matern32",), 20.0, 600.0).value, white_share=0.0, constant_share=0.0)
    times = np.arange(900.0)
    prior = (Matern32(600.0, 30.0) + White(nugget_m)).covariance(times)
    found = basic_losses(prior, noise_covariance(ladder, times, NOISE_M**2)).max() * NOISE_M**2
    assert found == pytest.approx(loss, rel=0.03)
    if nugget_m <= 10:
        shared = Ladder(ladder.length_scales_s, ladder.weights, 0.05, 0.0)
        covered = basic_losses(prior, noise_covariance(shared, times, NOISE_M**2)).max() * NOISE_M**2
        assert covered <= 2.0


def test_an_uncovered_nugget_shows_why_there_is_a_white_share() -> None:
    times = np.arange(0.0, 900.0)
    for nugget_m in (3.0, 10.0):
        prior = Matern32(600.0, 30.0) + White(nugget_m)
        ladder = shipped_ladder("day")
        bare = shipped_ladder("day", white_share=0.0)
        with_share = basic_losses(prior.covariance(times), noise_covariance(ladder, times, NOISE_M**2)).max()
        without = basic_losses(prior.covariance(times), noise_covariance(bare, times, NOISE_M**2)).max()
        assert with_share * NOISE_M**2 <= universal_bound(ladder, DAY).worst_loss
        assert without > with_share


def test_the_covariance_of_a_hundred_thousand_samples_is_the_designed_one() -> None:
    ladder = shipped_ladder("day")
    times = np.array([0.0, 1.0, 9.5, 10.0, 77.0, 900.0, 40000.0]) + 1.7e9
    rng = np.random.default_rng(8)
    count = 100_000
    # One person after the other through the loop that draws every path; a negative step starts a person.
    steps = np.tile(np.diff(times, prepend=times[0] + 1.0), count)
    draws = np.empty((steps.size, 2))
    advance(
        steps, np.sqrt(3.0) / ladder.length_scales_s, np.sqrt(ladder.variances), math.sqrt(ladder.white_share),
        np.zeros((ladder.weights.size, 2, 2)), rng.normal(size=(steps.size, normals_per_time(ladder))), draws,
    )  # fmt: skip
    draws = draws.reshape(count, times.size, 2)
    designed = noise_covariance(ladder, times) - ladder.constant_share
    check_covariance(draws, designed)


def test_whole_paths_with_their_constant_and_repeated_times_have_the_designed_covariance() -> None:
    ladder = shipped_ladder("day")
    times = np.array([0.0, 1.0, 1.0, 77.0, 40000.0]) + 1.7e9
    rng = np.random.default_rng(8)
    draws = np.stack([sample_path(ladder, times, rng) for _ in range(10_000)])
    assert np.array_equal(draws[:, 1], draws[:, 2])  # one moment, one noise
    check_covariance(draws, noise_covariance(ladder, times))


def check_covariance(draws: np.ndarray, designed: np.ndarray) -> None:
    count = len(draws)
    for axis in range(2):
        found = draws[:, :, axis].T @ draws[:, :, axis] / count
        error = np.sqrt((designed**2 + np.outer(designed.diagonal(), designed.diagonal())) / count)
        assert (np.abs(found - designed) < 5 * error).all()
    cross = draws[:, :, 0].T @ draws[:, :, 1] / count
    assert np.abs(cross).max() < 5 / math.sqrt(count)


def test_long_paths_keep_their_covariance_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.tracks.noise.multiscale.ladder as module

    ladder = Ladder(np.array([5.0, 40.0]), np.array([0.5, 0.5]), 0.05, 0.0)
    whole = sample_path(ladder, np.arange(1000.0), 4)
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert np.array_equal(sample_path(ladder, np.arange(1000.0), 4), whole)
    long = sample_path(ladder, np.arange(200_000.0), 9)
    for lag in (0, 1, 5, 40, 200):
        pairs = long[: len(long) - lag] * long[lag:]
        expected = float(correlation(ladder, np.array([float(lag)]))[0])
        assert pairs.mean() == pytest.approx(expected, abs=0.03)


def test_order_of_the_times_does_not_matter_and_equal_times_share_their_noise() -> None:
    ladder = shipped_ladder("day")
    times = np.array([5.0, 0.0, 9.0, 5.0])
    path = sample_path(ladder, times, 1)
    assert np.array_equal(path[0], path[3])
    assert np.array_equal(np.sort(path[:, 0]), np.sort(sample_path(ladder, np.sort(times), 1)[:, 0]))


def test_one_point_and_very_close_or_distant_times_are_finite() -> None:
    ladder = shipped_ladder("year")
    for times in ([0.0], [0.0, 1e-7], [0.0, 1e-3, 1e12], [-6e10, 2e11]):
        assert np.isfinite(sample_path(ladder, np.array(times), 0)).all()


def test_the_noise_law_in_the_certificate_is_the_covariance_that_is_drawn() -> None:
    mechanism = MultiscaleNoise(shipped_ladder("week"), 321.0, PRIOR_CLASSES["week"])
    times = np.array([0.0, 3.0, 3.0, 500.0, 1e6])
    np.testing.assert_allclose(
        mechanism.kernel().covariance(times), noise_covariance(mechanism.ladder, times, 321.0**2), rtol=1e-12
    )
    assert mechanism.kernel().variance_m2 == pytest.approx(321.0**2)


def test_redrawn_noise_costs_as_many_times_as_it_is_drawn() -> None:
    once = MultiscaleNoise(shipped_ladder("day"), 100.0, DAY).losses([np.arange(5.0)])
    thrice = composed_losses(once, 3)
    assert thrice.worst_loss == pytest.approx(3 * once.worst_loss)
    assert thrice.stay_loss == pytest.approx(3 * once.stay_loss)
    # and k independent pieces really cost at most that: averaging k redraws divides the noise by k
    times = np.arange(0.0, 300.0, 5.0)
    prior = Matern32(60.0, 50.0).covariance(times)
    noise = noise_covariance(shipped_ladder("day"), times, 100.0**2)
    assert basic_losses(prior, noise / 3).max() <= thrice.worst_loss


def test_independent_noise_averages_away_and_multiscale_noise_does_not() -> None:
    def independent(pace: float) -> float:
        return largest_independent_loss(np.arange(0.0, 600.0, pace), 1.0, DAY)

    assert independent(1.0) > 9 * independent(10.0)
    ladder = shipped_ladder("day")
    kernel = MultiscaleNoise(ladder, 1.0, DAY).kernel()
    assert largest_loss(np.arange(0.0, 600.0, 1.0), kernel, DAY) <= universal_bound(ladder, DAY).worst_loss


def test_the_fast_loss_of_independent_noise_is_the_exact_one() -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(30.0, 60))
    noise_m = 100.0
    found = largest_independent_loss(times, noise_m**2, DAY)
    from sfumato.tracks.priors.kernels import kernel_named

    best = max(
        basic_losses(
            kernel_named(name, length_scale_s=scale, sd_m=0.5).covariance(times), noise_m**2 * np.eye(60)
        ).max()
        for name in DAY.kernels
        for scale in np.geomspace(10, 21600, 25)
    )
    assert best <= found <= best * 1.01


def test_bad_ladders_and_sizes_are_refused() -> None:
    with pytest.raises(InputError):
        Ladder(np.array([1.0, -2.0]), np.array([0.5, 0.5]))
    with pytest.raises(InputError):
        Ladder(np.array([1.0]), np.array([1.0]), white_share=0.6, constant_share=0.5)
    with pytest.raises(InputError):
        MultiscaleNoise(shipped_ladder("day"), 0.0, DAY)
    with pytest.raises(InputError):
        MultiscaleNoise(shipped_ladder("day"), 1.0, DAY, redraws=0)
    with pytest.raises(InputError):
        shipped_ladder("decade")
    with pytest.raises(InputError):
        Ladder.from_dict({"weights": [1.0]})


def test_a_ladder_survives_its_dictionary_and_counts_its_normals() -> None:
    ladder = shipped_ladder("week")
    again = Ladder.from_dict(ladder.to_dict())
    assert np.array_equal(ladder.weights, again.weights)
    assert normals_per_time(ladder) == 4 * ladder.weights.size + 2
