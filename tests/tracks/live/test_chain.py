"""Audiences in a chain: together they know what the finest one knows, by the covariance that is sampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.base.things.frames import differences_m
from sfumato.tracks.live.chain import Chain, LiveNoise
from sfumato.tracks.losses.exact_losses import largest_loss
from sfumato.tracks.noise.multiscale.continuing import KeptPath, continuing_path
from sfumato.tracks.priors.classes import prior_class_named

START_MS = 1_790_000_000_000
CHAIN = Chain((900.0, 300.0, 2000.0))


def _released_m(noise: LiveNoise, times_ms: np.ndarray, person: str = "anna") -> dict[float, np.ndarray]:
    lat, lon = np.full(times_ms.size, 48.85), np.full(times_ms.size, 2.35)
    found = noise.release([person] * times_ms.size, times_ms, lat, lon)
    return {size: differences_m(lat, lon, *there) for size, there in found.items()}


def test_a_path_kept_in_memory_is_bit_by_bit_the_one_drawn_whole_in_any_order() -> None:
    times = START_MS + np.random.default_rng(1).integers(0, 10**9, 60)
    times[30:] = times[:30]
    path = KeptPath(CHAIN.ladder, b"k" * 32)
    one_by_one = np.array([path.at(int(time)) for time in times])
    assert np.array_equal(one_by_one, continuing_path(CHAIN.ladder, times / 1000.0, b"k" * 32))


def test_late_and_repeated_points_have_their_place_in_the_process_whatever_the_order_or_the_batch() -> None:
    times = START_MS + 60_000 * np.arange(40)
    whole = _released_m(LiveNoise(CHAIN, b"a" * 32), times)
    again = LiveNoise(CHAIN, b"a" * 32)
    order = np.random.default_rng(2).permutation(np.concatenate([np.arange(40), np.arange(10)]))
    for row in order.tolist():
        for size, moved in _released_m(again, times[row : row + 1]).items():
            assert np.abs(moved[0] - whole[size][row]).max() < 1e-6


def test_audiences_together_lose_what_the_finest_loses_at_all_their_times_on_random_schedules() -> None:
    @given(st.data())
    @settings(max_examples=25, deadline=None)
    def holds(data: st.DataObject) -> None:
        sizes = sorted(data.draw(st.sets(st.sampled_from([100.0, 300.0, 900.0, 901.0, 2500.0]), min_size=1)))
        chain = Chain(tuple(sizes))
        whole = START_MS / 1000.0 + np.cumsum(data.draw(st.lists(st.sampled_from([1.0, 60.0, 3600.0]), min_size=4,
                                                                 max_size=14)))  # fmt: skip
        seen = {}
        for size in sizes:
            some = data.draw(st.lists(st.booleans(), min_size=whole.size, max_size=whole.size))
            if any(some):
                seen[size] = whole[np.array(some)]
        if not seen:
            return
        together = chain.loss_together(seen)
        union = np.unique(np.concatenate(list(seen.values())))
        finest = chain.loss_together({min(seen): union})
        bound = chain.mechanism(min(seen)).bound().worst_loss / min(seen) ** 2
        assert together <= finest * (1 + 1e-9)
        assert together <= bound

    holds()


def test_whoever_has_both_at_the_same_times_knows_exactly_what_the_finer_one_knows() -> None:
    times = START_MS / 1000.0 + 60.0 * np.arange(50)
    both, fine = CHAIN.loss_together({300.0: times, 900.0: times}), CHAIN.loss_together({300.0: times})
    assert both == pytest.approx(fine, rel=1e-9)
    alone = largest_loss(times, CHAIN.mechanism(300.0).kernel(), prior_class_named("year"))
    assert fine == pytest.approx(alone, rel=1e-9)


def test_white_noise_between_two_audiences_would_average_out() -> None:
    """What the multiscale noise of the difference is for: a stay, seen through white noise in its place."""
    times = START_MS / 1000.0 + 60.0 * np.arange(200)
    ours = CHAIN.covariance_m2({900.0: times})
    white = CHAIN.covariance_m2({300.0: times}) + (900.0**2 - 300.0**2) * np.eye(times.size)
    loss_ours, loss_white = (1.0 / (1.0 / np.linalg.inv(cov).sum()) for cov in (ours, white))
    assert loss_white > 5.0 * loss_ours


def test_releases_have_the_covariance_that_the_certificate_is_computed_from() -> None:
    times = START_MS + np.array([0, 30_000, 3_600_000])
    seconds = times / 1000.0
    rows = []
    for person in range(1500):
        found = _released_m(LiveNoise(CHAIN, b"z" * 32), times, f"p{person}")
        rows.append(np.concatenate([found[size] for size in CHAIN.sizes_m]))
    drawn = np.concatenate([np.array(rows)[:, :, 0], np.array(rows)[:, :, 1]])
    empirical = drawn.T @ drawn / len(drawn)
    stated = CHAIN.covariance_m2(dict.fromkeys(CHAIN.sizes_m, seconds))
    spread = np.sqrt((np.outer(np.diag(stated), np.diag(stated)) + stated**2) / len(drawn))
    assert (np.abs(empirical - stated) < 5 * spread + 0.01).all()


def test_another_size_is_another_process() -> None:
    times = START_MS + 60_000 * np.arange(3)
    one = _released_m(LiveNoise(Chain((300.0,)), b"a" * 32), times)[300.0] / 300.0
    other = _released_m(LiveNoise(Chain((301.0,)), b"a" * 32), times)[301.0] / 301.0
    assert np.abs(one - other).max() > 0.01
    steps = Chain((300.0, 500.0)).steps_m
    assert math.hypot(*steps) == pytest.approx(500.0)
