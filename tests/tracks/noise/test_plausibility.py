"""A release is as rough as its noise: p-values never too small for true releases, tiny for smooth ones."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.plausibility import (
    HALF,
    LAST,
    ORIGINAL,
    SECOND,
    WHITE_ONLY,
    GaussianRoughness,
    LaplaceRoughness,
    Roughness,
    moments_of,
    spread_out,
)
from sfumato.tracks.noise.registry import mechanism_from_dict
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import RBF, Constant, Matern32, White
from sfumato.tracks.priors.statespace import sample

MULTISCALE = Matern32(12, 65) + Matern32(280, 60) + Matern32(24800, 80) + White(33) + Constant(69)  # about 150 m
LARGE = Matern32(12, 300) + Matern32(280, 280) + Matern32(24800, 380) + White(158) + Constant(320)  # about 700 m
DENSE = np.arange(120) * 5.0
TIMES = np.cumsum(np.random.default_rng(7).exponential(10, 40))


def p_value(test: Roughness | None, path: np.ndarray) -> float:
    found = None if test is None else test.p_values(path[:, :, None])
    assert found is not None
    return float(found[0])


@pytest.mark.parametrize(
    ("mechanism", "prior"),
    [("multiscale", None), ("independent", None), ("planar-laplace", None), ("prior-shaped", "preset")],
)
def test_noise_alone_gives_p_values_that_are_not_too_small(mechanism: str, prior: str | None) -> None:
    """A still path is the worst case; P(p <= u) <= u, up to the sampling error of 400 draws."""
    still = Trace(np.full(40, 48.85), np.full(40, 2.35), TIMES)
    made = mechanism_from_dict(protect(still, mechanism=mechanism, prior=prior, rng=0).certificate["parameters"])
    rng = np.random.default_rng(1)
    values = np.array([p_value(made.roughness(TIMES, 0.1), made.draw(TIMES, rng)) for _ in range(400)])  # type: ignore[attr-defined]
    for level in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(values <= level) <= level + 3.5 * np.sqrt(level * (1 - level) / 400)
    assert (
        np.quantile(values, 0.05) < 0.3
    )  # three looks cost little: .08 to .21; the first test, of one look, asked for .35


def test_a_path_only_adds_and_a_smooth_one_is_refused() -> None:
    kernel = Matern32(length_scale_s=600, sd_m=300) + White(sd_m=50)
    rng = np.random.default_rng(2)
    noise = np.linalg.cholesky(kernel.covariance(TIMES)) @ rng.normal(size=(40, 2))
    path = np.outer(TIMES, [3.0, 1.0])
    test = GaussianRoughness(kernel, TIMES, 0.1)
    assert p_value(test, noise + 1e3 * path) > 0.01
    assert p_value(test, path) < 1e-4
    jumps = rng.normal(size=(40, 2))
    assert p_value(LaplaceRoughness(0.01, TIMES, 0.1), jumps) < 1e-4


def test_what_cannot_be_told_is_none() -> None:
    kernel = White(sd_m=50)
    assert GaussianRoughness(kernel, TIMES[:1], 0.1).p_values(np.zeros((1, 2, 1))) is None
    assert LaplaceRoughness(0.01, TIMES[:1], 0.1).p_values(np.zeros((1, 2, 1))) is None
    assert LaplaceRoughness(0.01, TIMES, 100.0).p_values(np.zeros((40, 2, 1))) is None


def test_a_fast_ride_with_a_stop_does_not_hide_that_there_is_no_noise() -> None:
    """The first test summed squares: one step of a fast ride hid all the smooth ones (20 of 57 originals at 150 m)."""
    times = DENSE
    gone = np.where(np.arange(120) // 12 % 2 == 0, 5.0, 0.0).cumsum()
    path = np.outer(gone, [25.0, 8.0])
    test = GaussianRoughness(MULTISCALE, times, 0.1)
    assert p_value(test, path) < 1e-12
    half = path.copy()  # the first half protected, the second not
    half[:60] += sample(times[:60], MULTISCALE, coordinates=2, rng=3)
    assert p_value(test, half) < 1e-4


def test_many_true_releases_pass_and_their_p_values_are_no_smaller_than_uniform() -> None:
    rng = np.random.default_rng(11)
    for times in (TIMES, np.arange(3) * 60.0, np.arange(250) * 7.0):
        root = np.linalg.cholesky(MULTISCALE.covariance(times))
        for speed in (0.0, 12.0):
            noise = np.tensordot(root, rng.standard_normal((times.size, 2, 3000)), axes=1)
            released = np.round(noise + np.outer(times, [speed, 1.0])[:, :, None], 1)
            found = GaussianRoughness(MULTISCALE, times, 0.1).p_values(released)
            assert found is not None
            for level in (1e-3, 1e-2, 0.1):
                assert np.mean(found <= level) <= level + 3.5 * np.sqrt(level / 3000)
            assert found.min() >= 1e-6


def test_directions_without_noise_are_left_out_not_divided_by() -> None:
    smooth = RBF(length_scale_s=4000, sd_m=300)  # in double precision a few directions only
    times = np.arange(60) * 5.0
    noise = np.linalg.cholesky(smooth.covariance(times) + 1e-6 * np.eye(60)) @ np.random.default_rng(4).normal(
        size=(60, 2)
    )
    found = GaussianRoughness(smooth, times, 0.1).p_values(np.round(noise, 1)[:, :, None])
    assert found is None or found[0] > 1e-4


def sealed(kind: str) -> np.ndarray:
    """A walk with noise, with some of its points as they were."""
    walk, noise = np.outer(DENSE, [1.2, 0.5]), sample(DENSE, MULTISCALE, coordinates=2, rng=8)
    true = {
        "every second point": np.arange(120) % 2 == 0,
        "the last fifteen": np.arange(120) >= 105,
        "all": np.ones(120, dtype=bool),
    }[kind]
    return walk + np.where(true[:, None], 0.0, noise)


@pytest.mark.parametrize("kind", ["every second point", "the last fifteen", "all"])
@pytest.mark.parametrize("coarse", [False, True])
def test_points_without_noise_are_found_among_points_with_it(kind: str, coarse: bool) -> None:
    """0.2.0 looked at the first point of each distinct time only, and at the whole."""
    times = spread_out(np.floor(DENSE / 300) * 300, 300.0) if coarse else DENSE
    assert p_value(GaussianRoughness(MULTISCALE, times, 0.1, shown=not coarse), sealed(kind)) < 1e-6


def test_white_noise_alone_is_no_noise_of_many_scales() -> None:
    """Of 120 points about half are refused (the seed that stood here was one of them), of 240 all."""
    times, white = np.arange(240) * 5.0, np.random.default_rng(5).standard_normal((240, 2, 60))
    walks = np.outer(times, [1.2, 0.5])[:, :, None] + 33.0 * white
    few = GaussianRoughness(MULTISCALE, DENSE, 0.1).p_values(walks[:120])
    many = GaussianRoughness(MULTISCALE, times, 0.1).p_values(walks)
    assert few is not None
    assert many is not None
    assert np.mean(few < 1e-4) > 0.3
    assert np.mean(many < 1e-4) > 0.97
    assert np.median(many) < 1e-6


def test_many_true_releases_with_coarse_times_pass() -> None:
    rng = np.random.default_rng(12)
    root = np.linalg.cholesky(MULTISCALE.covariance(DENSE))
    released = np.round(np.tensordot(root, rng.standard_normal((120, 2, 3000)), axes=1), 1)
    times = spread_out(np.floor(DENSE / 300) * 300, 300.0)
    found = GaussianRoughness(MULTISCALE, times, 0.1, shown=False).p_values(released)
    assert found is not None
    assert np.mean(found <= 0.01) <= 0.015
    assert found.min() >= 1e-5


def test_power_is_against_the_original_itself() -> None:
    """Walking or driving at usual rates would be refused without noise; a place every six hours would not."""
    assert GaussianRoughness(MULTISCALE, DENSE, 0.1).power(1e-4)[ORIGINAL] == 1.0
    assert GaussianRoughness(MULTISCALE, np.arange(40) * 21600.0, 0.1).power(1e-4)[ORIGINAL] < 0.1
    assert LaplaceRoughness(0.01, DENSE, 0.1).power(1e-4)[ORIGINAL] == 1.0
    assert 0.0 <= GaussianRoughness(MULTISCALE, DENSE, 0.1).power(1e-4)[HALF] <= 1.0


def test_power_is_against_white_noise_and_parts_too() -> None:
    """0.2.0 called eight of fourteen originals with white noise only good, and fifteen points as they were."""
    dense = GaussianRoughness(LARGE, np.arange(900) * 3.0, 0.1).power(1e-4)
    assert min(dense[WHITE_ONLY], dense[SECOND], dense[LAST]) >= 0.9
    minutes = GaussianRoughness(LARGE, np.arange(400) * 15.0, 0.1).power(1e-4)
    assert minutes[LAST] > 0.42  # .35 with rows of a window in no order, .51 with polynomials from the highest degree
    sparse = GaussianRoughness(LARGE, np.arange(200) * 60.0, 0.1).power(1e-4)
    assert max(sparse[SECOND], sparse[LAST]) < 0.5  # so little of a ride, a point a minute, says nothing
    hour = GaussianRoughness(LARGE, np.arange(60) * 60.0, 0.1).power(1e-4)
    assert hour[ORIGINAL] > 0.9  # .61 while slow functions of time were not left free: the way hid the missing noise
    assert hour[WHITE_ONLY] > 0.4  # .03
    coarse = GaussianRoughness(MULTISCALE, spread_out(np.floor(DENSE / 300) * 300, 300.0), 0.1, shown=False)
    assert coarse.power(1e-4)[WHITE_ONLY] == 0.0  # only the white share is tested there
    independent = GaussianRoughness(White(sd_m=150.0) + Constant(69), DENSE, 0.1)
    assert WHITE_ONLY not in independent.power(1e-4)


@pytest.mark.parametrize("step_s", [5.0, 60.0])
def test_half_of_a_ride_without_noise_and_every_second_point_of_a_stop_are_found(step_s: float) -> None:
    """Only windows of the white share were scanned for parts; a point a minute, parts of a day passed."""
    times, rng = np.arange(400) * step_s, np.random.default_rng(3)
    slow = np.outer(times, [1.2, 0.5])
    noise = sample(times, MULTISCALE, coordinates=2, rng=rng)
    last = np.where(np.arange(400)[:, None] >= 370, 0.0, noise)
    second = np.where(np.arange(400)[:, None] % 2 == 0, 0.0, noise)
    for forged in (slow + last, slow + second):
        assert p_value(GaussianRoughness(MULTISCALE, times, 0.1), forged) < 1e-6


def test_one_position_is_tested_for_each_moment_and_slots_are_spread() -> None:
    times, path = moments_of(np.array([0.0, 0.0, 5.0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert times.tolist() == [0.0, 5.0]
    assert path.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert spread_out(np.array([0.0, 0.0, 300.0, 300.0, 300.0]), 300.0).tolist() == [0.0, 150.0, 300.0, 400.0, 500.0]
