"""The adversary: exact posteriors, attacks by averaging, nights at one place, circles; what each reaches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.tracks.adversary.places.cuts import circle_through
from sfumato.tracks.adversary.posterior import Belief, believe, remaining_sd_m
from sfumato.tracks.adversary.repetition import average_of, redrawn_stay_attack, rms_m, stay_attack, stay_times
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.priors.classes import DAY
from sfumato.tracks.priors.kernels import RBF, Constant, Kernel, Matern32, White, kernel_from_dict
from sfumato.tracks.priors.statespace import sample

PRIOR = Matern32(66, 123) + White(1)


def shipped(noise_m: float = 150.0, **shares: float) -> MultiscaleNoise:
    return MultiscaleNoise(shipped_ladder("day", **shares), noise_m, DAY)


def law(mechanism: MultiscaleNoise) -> Kernel:
    return kernel_from_dict(mechanism.law())


@pytest.mark.slow
@pytest.mark.parametrize("noise", [White(150), law(shipped())], ids=["independent", "multiscale"])
def test_claimed_intervals_are_the_measured_errors_when_the_prior_is_true(noise: Kernel) -> None:
    times = np.cumsum(np.random.default_rng(0).uniform(1, 9, 120))
    inside, squares, repeats = [], [], 150
    for seed in range(repeats):
        truth = sample(times, PRIOR, coordinates=2, rng=seed)
        belief = believe(
            times, truth + sample(times, noise, coordinates=2, rng=10_000 + seed), prior=PRIOR, noise=noise
        )
        inside.append(belief.coverage(truth))
        squares.append(np.mean(belief.errors_m(truth) ** 2))
    expected = math.erf(1 / math.sqrt(2))
    assert np.mean(inside) == pytest.approx(expected, abs=3 * np.std(inside) / math.sqrt(repeats))
    predicted = float(np.mean(remaining_sd_m(times, prior=PRIOR, noise=noise) ** 2))
    assert np.mean(squares) == pytest.approx(predicted, abs=3 * np.std(squares) / math.sqrt(repeats))


def _rms(belief: Belief, truth: FloatArray) -> float:
    return float(np.sqrt(np.mean(belief.errors_m(truth) ** 2)))


def test_smoothing_removes_independent_noise_and_not_multiscale_noise() -> None:
    times = np.arange(600) * 2.0
    prior = Matern32(300, 1000) + White(1)
    truth = sample(times, prior, coordinates=2, rng=1)
    errors = {}
    for name, noise in (("independent", White(150)), ("multiscale", law(shipped()))):
        release = truth + sample(times, noise, coordinates=2, rng=2)
        errors[name] = _rms(believe(times, release, prior=prior, noise=noise), truth)
    assert errors["independent"] < 40
    assert errors["multiscale"] > 100


def test_each_look_uses_more_than_the_one_before() -> None:
    times = np.arange(200) * 5.0
    truth = sample(times, PRIOR, coordinates=2, rng=3)
    release = truth + sample(times, White(150), coordinates=2, rng=4)
    looks = ("raw", "pointwise", "smoothed")
    beliefs = [believe(times, release, prior=PRIOR, noise=White(150), look=look) for look in looks]
    errors = [_rms(belief, truth) for belief in beliefs]
    assert errors[0] > errors[1] > errors[2]
    assert [float(np.mean(belief.sd_m)) for belief in beliefs] == pytest.approx(errors, rel=0.25)


def test_the_dense_route_for_smooth_kernels_agrees_with_the_walk_where_both_exist() -> None:
    times = np.array([0.0, 3.0, 3.0, 9.0, 30.0])
    release = np.random.default_rng(5).normal(0, 100, (5, 2))
    smooth = believe(times, release, prior=RBF(20, 100), noise=White(150))
    assert np.all(smooth.sd_m > 0)
    assert smooth.mean_m[1] == pytest.approx(smooth.mean_m[2])
    walked = believe(times, release, prior=PRIOR, noise=White(150), mean_m=[7.0, 8.0])
    # A product with the constant 1 has no state-space form, so the same prior takes the dense route.
    dense = believe(times, release, prior=PRIOR + Matern32(9, 0.0) * Constant(1), noise=White(150), mean_m=[7.0, 8.0])
    assert dense.mean_m == pytest.approx(walked.mean_m, rel=1e-9)
    assert dense.sd_m == pytest.approx(walked.sd_m, rel=1e-9)


def test_posteriors_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InputError):
        believe([0, 1], np.zeros((3, 2)), prior=PRIOR, noise=White(1))
    with pytest.raises(InputError):
        believe([0, 1], np.zeros((2, 2)), prior=PRIOR, noise=White(1), look="squinting")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no O"):
        believe(np.arange(4000), np.zeros((4000, 2)), prior=RBF(20, 100), noise=White(1))


# --- averaging ---


def test_averaging_redrawn_releases_wins_and_averaging_continuing_ones_gains_nothing() -> None:
    times = np.arange(100) * 10.0
    truth = sample(times, PRIOR, coordinates=2, rng=6)
    fresh = [truth + shipped().draw(times, rng) for rng in range(25)]
    assert rms_m(average_of(fresh) - truth) < 150 / 5 * 1.6
    same = shipped().with_key(bytes(range(32)))
    continuing = [truth + same.draw(times, rng) for rng in range(25)]
    assert rms_m(average_of(continuing) - truth) == pytest.approx(rms_m(continuing[0] - truth), rel=1e-12)


# --- nights at one place ---


def test_without_a_constant_share_a_home_is_learned_night_by_night_and_with_it_never() -> None:
    """A prototype had 4.0 after 30 min, 41 after 8 h, 1236 after 30 nights for a ladder that reaches a little
    further than this one; a constant share caps it for ever."""
    scales, weights = (15, 30, 60, 120, 240, 480), (0.200, 0.254, 0.056, 0.003, 0.001, 0.486)
    short: Kernel = Matern32(scales[0], 150 * math.sqrt(weights[0]))
    for scale, weight in zip(scales[1:], weights[1:], strict=True):
        short = short + Matern32(scale, 150 * math.sqrt(weight))
    stays = [
        stay_attack(stay_times(duration_s=1800, every_s=10), short),
        stay_attack(stay_times(duration_s=8 * 3600, every_s=10), short),
        stay_attack(stay_times(duration_s=8 * 3600, every_s=10, nights=30), short),
    ]
    assert [stay.loss_over_floor for stay in stays] == pytest.approx([4.0, 41, 1236], rel=0.3)
    day = law(shipped())
    nights = [
        stay_attack(stay_times(duration_s=8 * 3600, every_s=60, nights=nights), day).loss_over_floor
        for nights in (1, 10, 100)
    ]
    assert nights[0] < nights[1] < nights[2] < 1 / shipped().ladder.constant_share


def test_the_stay_attack_is_generalised_least_squares() -> None:
    times, noise = np.sort(np.random.default_rng(7).uniform(0, 5000, 80)), law(shipped())
    information = float(np.sum(np.linalg.inv(noise.covariance(times))))
    found = stay_attack(times, noise)
    assert found.loss_per_m2 == pytest.approx(information, rel=1e-6)
    assert found.error_m == pytest.approx(information**-0.5, rel=1e-6)
    assert stay_attack(times, RBF(5, 150) + White(20)).loss_per_m2 == pytest.approx(
        float(np.sum(np.linalg.inv((RBF(5, 150) + White(20)).covariance(times)))), rel=1e-6
    )


def test_nights_with_redrawn_noise_add_up() -> None:
    night = stay_times(duration_s=8 * 3600, every_s=300)
    one, ten = redrawn_stay_attack([night], law(shipped())), redrawn_stay_attack([night] * 10, law(shipped()))
    assert ten.loss_per_m2 == pytest.approx(10 * one.loss_per_m2)
    assert ten.error_m == pytest.approx(one.error_m / math.sqrt(10), rel=1e-6)


# --- zone inversion ---


def test_a_zone_cut_out_of_every_track_gives_its_centre_away() -> None:
    rng = np.random.default_rng(8)
    home, radius = np.array([1234.0, -567.0]), 400.0
    angles = rng.uniform(0, 2 * np.pi, 8)
    borders = home + radius * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(0, 5, (8, 2))
    circle = circle_through(borders)
    assert np.linalg.norm(circle.centre_m - home) < 15
    assert circle.radius_m == pytest.approx(radius, abs=15)
    exact = circle_through(home + radius * np.array([[1.0, 0], [0, 1], [-1, 0]]))
    assert exact.centre_m == pytest.approx(home)
    with pytest.raises(InputError):
        circle_through([[0, 0], [1, 1], [2, 2]])
    with pytest.raises(InputError):
        circle_through([[0, 0], [1, 1]])


def test_multiscale_noise_leaves_no_circle_to_fit() -> None:
    """The same attack on a release: where tracks enter 400 m around home is now as uncertain as the noise."""
    rng = np.random.default_rng(9)
    home, errors = np.zeros(2), []
    mechanism = shipped().with_key(bytes(range(32)))
    for day in range(8):
        angle = rng.uniform(0, 2 * np.pi)
        border = home + 400 * np.array([[np.cos(angle), np.sin(angle)]])
        errors.append(border + mechanism.draw(np.array([day * 86400.0 + 1e5])))
    circle = circle_through(np.concatenate(errors))
    assert circle.rms_residual_m > 20 or np.linalg.norm(circle.centre_m - home) > 40
