"""Noise for many people at once: normal to its tails, of the stated covariance, and each person's own."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from sfumato.base.randomness import Keystream, derived_key
from sfumato.tracks.noise.multiscale import ladder
from sfumato.tracks.noise.multiscale.ladder import noise_covariance, sample_path, shipped_ladder
from sfumato.tracks.noise.multiscale.ladder_loops import EDGES, TAIL_FROM, fill_normals

KEY = bytes(range(32))
LADDER = shipped_ladder()


def normals(count: int, key: bytes = KEY) -> np.ndarray:
    words = Keystream(key).words(int(count * 1.04) + 100)
    out = np.empty(count)
    assert fill_normals(words, 0, words.size, out, count) > 0
    return out


def test_normals_are_normal() -> None:
    draws = normals(3_000_000)
    assert stats.kstest(draws, "norm").pvalue > 1e-4
    for power, expected in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (6, 15.0)):
        spread = np.sqrt(stats.norm.moment(2 * power) - stats.norm.moment(power) ** 2)
        assert abs((draws**power).mean() - expected) < 4.5 * spread / np.sqrt(draws.size)
    # Every layer's edge is a place where a wrong table would show.
    edges = np.concatenate([-EDGES[1:256], EDGES[1:256][::-1]])
    counts = np.diff(np.searchsorted(np.sort(draws), np.sort(edges)))
    expected = np.diff(stats.norm.cdf(np.sort(edges))) * draws.size
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size) > 1e-4


@njit
def _tails(words: np.ndarray, out: np.ndarray) -> None:
    """Draws whose first word lies in the base layer, past its sure part: so they end in the tail."""
    one, at = np.empty(1), 0
    for place in range(out.size):
        words[at] = np.uint64(0xFFFFFFFFFFFFF800)
        at = fill_normals(words, at, words.size, one, 1)
        out[place] = one[0]


def test_the_tail_is_normal_beyond_six_standard_deviations() -> None:
    tail = np.empty(2_000_000)
    _tails(Keystream(derived_key(KEY, b"tail")).words(7_000_000), tail)
    assert tail.min() >= TAIL_FROM
    assert tail.max() > 6.0
    beyond = stats.norm.sf(tail) / stats.norm.sf(TAIL_FROM)  # uniform where the tail is right
    assert stats.kstest(beyond, "uniform").pvalue > 1e-4
    for sigma in (4.0, 5.0, 6.0):  # of the last, 15 are expected
        expected = tail.size * stats.norm.sf(sigma) / stats.norm.sf(TAIL_FROM)
        count = int((tail > sigma).sum())
        assert stats.poisson.sf(count - 1, expected) > 1e-4
        assert stats.poisson.cdf(count, expected) > 1e-4


def test_the_covariance_is_the_stated_one() -> None:
    times_ms = np.array([0, 1000, 5000, 60_000, 61_000, 900_000, 7_200_000])
    people = 30_000
    keys = [derived_key(KEY, b"%d" % person) for person in range(people)]
    starts = np.arange(people + 1) * times_ms.size
    paths = ladder.streamed_paths(LADDER, np.tile(times_ms, people), starts, keys).reshape(people, -1, 2)
    wanted = noise_covariance(LADDER, times_ms / 1000.0)
    for axis in (0, 1):
        found = paths[:, :, axis].T @ paths[:, :, axis] / people
        spread = np.sqrt((wanted**2 + np.outer(np.diag(wanted), np.diag(wanted))) / people)
        assert (np.abs(found - wanted) < 5 * spread).all()
        assert stats.kstest(paths[:, 3, axis], "norm").pvalue > 1e-4
    across = paths[:, :, 0].T @ paths[:, :, 1] / people
    assert np.abs(across).max() < 5 / np.sqrt(people)


def test_it_has_the_law_of_a_path_drawn_alone() -> None:
    """Differences and second differences, which a wrong step or a wrong order would change, against the other code."""
    times_s = np.cumsum(np.random.default_rng(3).integers(1, 90, 400)).astype(float)
    people = 300
    keys = [derived_key(KEY, b"%d" % person) for person in range(people)]
    starts = np.arange(people + 1) * times_s.size
    whole = np.tile((times_s * 1000).astype(np.int64), people)
    paths = ladder.streamed_paths(LADDER, whole, starts, keys).reshape(people, -1, 2)
    alone = np.array([sample_path(LADDER, times_s, rng=person) for person in range(people)])
    for order in (1, 2):
        one, other = (np.diff(values, order, axis=1)[:, ::7].ravel() for values in (paths, alone))
        assert stats.ks_2samp(one, other).pvalue > 1e-4


def test_a_persons_noise_is_their_own_whatever_else_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    times = [np.cumsum(rng.integers(0, 5000, count)) for count in (1, 3000, 10, 700, 2)]
    keys = [derived_key(KEY, b"%d" % person) for person in range(len(times))]
    starts = np.cumsum([0, *(len(part) for part in times)])
    together = ladder.streamed_paths(LADDER, np.concatenate(times), starts, keys)
    for person, part in enumerate(times):
        alone = ladder.streamed_paths(LADDER, part, np.array([0, len(part)]), [keys[person]])
        np.testing.assert_array_equal(alone, together[starts[person] : starts[person + 1]])
    monkeypatch.setattr(ladder, "_WORDS", 997)  # too few for anybody: many refills, the same noise
    np.testing.assert_array_equal(ladder.streamed_paths(LADDER, np.concatenate(times), starts, keys), together)


def test_equal_times_get_equal_noise_and_words_that_run_out_are_drawn_on() -> None:
    times = np.array([0, 0, 1000, 1000, 1000, 2000])
    path = ladder.streamed_paths(LADDER, times, np.array([0, 6]), [KEY])
    assert (path[0] == path[1]).all()
    assert (path[2] == path[4]).all()
    assert (path[4] != path[5]).all()
    out = np.empty(10)
    words = Keystream(KEY).words(9)
    assert fill_normals(words, 0, 9, out, 10) == -1
