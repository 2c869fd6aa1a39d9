"""Appendix C of PRIVIC: each statement, as printed and as it holds."""

import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.channels.designs.rate_distortion import rate_distortion
from sfumato.papers.privic import privic_appendix_c as continuity
from sfumato.papers.privic.privic_chain import updates
from sfumato.papers.privic.privic_duality import weights_after

LINE = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))


def test_lemma_c_1_holds_between_random_maps():
    rng = np.random.default_rng(0)
    smallest, largest = continuity.distances_of(LINE)
    theta = rng.dirichlet(np.ones(4))
    for _ in range(5):
        other = theta + 0.01 * (rng.dirichlet(np.ones(4)) - theta)
        apart = 2 * continuity.total_variation(theta, other)
        bound = continuity.rate_distortion_change(apart, cells=4, smallest=smallest, largest=largest)
        rates = [rate_distortion(p, LINE, [0.5, 1.0, 2.0, 4.0]).rate(0.4) for p in (theta, other)]
        assert abs(rates[0] - rates[1]) <= bound
    assert continuity.rate_distortion_change(0.01, cells=4, smallest=1.0, largest=3.0) == pytest.approx(
        21 * 0.01 * math.log(1600)
    )


def test_lemma_c_1_says_nothing_about_maps_far_apart():
    with pytest.raises(InputError, match="needs less"):
        continuity.rate_distortion_change(0.5, cells=4, smallest=1.0, largest=3.0)


def test_lemma_c_2_the_order_is_minus_one():
    from scipy.special import lambertw

    a, b, x = 21.0, 16.0, 0.01
    y = a * x * math.log(b / x)
    assert continuity.inverse_of_change(y, scale=a, size=b) == pytest.approx(x, rel=1e-12)
    principal = float(b * np.exp(np.real(lambertw(-y / (a * b), k=0))))
    assert principal > b / math.e  # the other preimage
    with pytest.raises(InputError, match="never reaches"):
        continuity.inverse_of_change(a * b, scale=a, size=b)


@pytest.mark.says("Biswas2023, Cor. C.2.1, reach", "undecided")
def test_corollary_c_2_1_gives_a_radius_that_keeps_the_change():
    for change in (1e-3, 0.1, 50.0):
        radius = continuity.continuity_radius(change, cells=4, smallest=1.0, largest=3.0)
        inside = min(radius, 1 / 12) * (1 - 1e-9)
        assert continuity.rate_distortion_change(inside, cells=4, smallest=1.0, largest=3.0) <= change * (1 + 1e-6)
    assert continuity.continuity_radius(50.0, cells=4, smallest=1.0, largest=3.0) == pytest.approx(1 / 12)
    tight = continuity.continuity_radius(0.1, cells=4, smallest=1.0, largest=3.0)
    assert continuity.rate_distortion_change(tight, cells=4, smallest=1.0, largest=3.0) == pytest.approx(0.1)


@pytest.mark.says("Biswas2023, Lemma C.5", "gap")
def test_lemma_c_5_the_printed_constant_needs_enough_reports_and_ours_does_not():
    channel = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4]])
    shares = np.array([0.5, 0.5])
    near, other = np.array([1e-9, 1 - 1e-9]), np.array([2e-9, 1 - 2e-9])
    moved = [updates(theta, channel, shares[None], steps=1)[0] for theta in (near, other)]
    ratio = continuity.total_variation(*moved) / continuity.total_variation(near, other)
    assert (
        continuity.printed_lipschitz(channel, reports=35) < ratio <= continuity.printed_lipschitz(channel, reports=36)
    )
    assert ratio <= continuity.update_lipschitz(channel, shares)
    assert ratio == pytest.approx(0.5 * 0.5 / 1e-4 + 0.5 * 0.5 / (1 - 1e-4), rel=1e-3)


def test_theorem_c_4_the_corrected_constant_bounds_several_steps():
    two = continuity.update_lipschitz([[0.5, 0.5], [0.25, 0.75]], [0.5, 0.5])
    assert two == pytest.approx(2 * 0.75**2 * (0.5 / 0.0625 + 0.5 / 0.25))
    assert continuity.update_lipschitz([[0.5, 0.5], [0.25, 0.75]], [0.5, 0.5], steps=3) == pytest.approx(two**3)
    rng = np.random.default_rng(1)
    channel = rng.dirichlet(np.ones(3) * 5, size=3)
    shares = rng.dirichlet(np.ones(3))
    for steps in (1, 2, 4):
        limit = continuity.update_lipschitz(channel, shares, steps=steps)
        for _ in range(20):
            a, b = rng.dirichlet(np.ones(3), size=2)
            moved = [updates(theta, channel, shares[None], steps=steps)[0] for theta in (a, b)]
            assert continuity.total_variation(*moved) <= limit * continuity.total_variation(a, b)


def test_an_output_impossible_from_some_cell_has_no_constant():
    assert math.isinf(continuity.update_lipschitz(np.array([[1.0, 0.0], [0.5, 0.5]]), [0.5, 0.5]))


@pytest.mark.says("Biswas2023, Remark 5", "false")
def test_remark_5_two_maps_ever_nearer_have_channels_that_share_no_report():
    for share in (0.1, 1e-3, 1e-9):
        apart, channels_apart, above = continuity.mirrored_maps(share)
        assert apart == pytest.approx(share - share**2)
        assert channels_apart == pytest.approx(1)
        assert abs(above) < 1e-12  # nobody's weights do better
    turns = np.deg2rad([0, 120, 240])  # the same, by the iteration itself
    x = np.concatenate([np.cos(turns), 0.3 * np.cos(turns + 0.4), 0.3 * np.cos(turns - 0.4)])
    y = np.concatenate([np.sin(turns), 0.3 * np.sin(turns + 0.4), 0.3 * np.sin(turns - 0.4)])
    distances = np.hypot(x[:, None] - x, y[:, None] - y)
    people = np.repeat([0.89, 0.1, 0.01], 3) / 3
    found = [
        weights_after(p, distances, beta=0.3, updates=20_000)
        for p in (people, people[[0, 1, 2, *range(6, 9), *range(3, 6)]])
    ]
    assert found[0] == pytest.approx(np.repeat([0, 1, 0], 3) / 3, abs=1e-6)
    assert found[1] == pytest.approx(np.repeat([0, 0, 1], 3) / 3, abs=1e-6)


@pytest.mark.says("Biswas2023, Lemma C.3", "false")
def test_lemma_c_3_fails_for_a_channel_with_a_zero_and_holds_for_a_positive_one():
    for apart in (1e-3, 1e-6, 1e-9):
        assert continuity.torn_apart(apart) == pytest.approx(0.15, abs=1e-3)
    positive, shares = np.array([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5]]), np.array([[0.3, 0.7]])
    starts = [np.array([1 - 2e-6, (1 + s / 2) * 1e-6, (1 - s / 2) * 1e-6]) for s in (1, -1)]
    moved = [updates(start, positive, shares, steps=1)[0] for start in starts]
    assert continuity.total_variation(*moved) < 1e-5
    step = starts[0] * (positive @ (shares[0] / (starts[0] @ positive)))
    np.testing.assert_allclose(moved[0], step / step.sum(), rtol=1e-12)
