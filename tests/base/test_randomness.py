"""The one source of randomness: OS entropy by default, seeds marked as simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness, randomness, uniforms_from_words


def test_without_a_seed_the_source_is_the_operating_system_and_not_a_simulation() -> None:
    source = randomness()
    assert not source.simulation
    assert "urandom" in source.source


def test_every_word_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr("os.urandom", urandom)
    assert randomness().words(1000).sum() == 0
    assert sum(asked) == 8000


def test_a_seed_marks_a_simulation_and_repeats() -> None:
    assert randomness(7).simulation
    np.testing.assert_array_equal(randomness(7).normals(5), randomness(7).normals(5))


def test_the_extreme_words_give_finite_normals() -> None:
    words = np.array([0, 2**64 - 1], dtype=np.uint64)
    uniforms = uniforms_from_words(words)
    assert 0 < uniforms[0] < uniforms[1] < 1
    source = Randomness(lambda count: words[:count].copy(), simulation=True, source="extremes")
    normals = source.normals(2)
    assert np.all(np.isfinite(normals))
    assert normals[0] == pytest.approx(-normals[1])


@pytest.mark.parametrize("seed", [None, 11])
def test_uniforms_and_normals_follow_their_laws(seed: int | None) -> None:
    source = randomness(seed)
    assert stats.kstest(source.uniforms(20_000), "uniform").pvalue > 1e-6
    assert stats.kstest(source.normals(20_000), "norm").pvalue > 1e-6


def test_integers_are_uniform_even_when_the_range_does_not_divide_the_words() -> None:
    counts = np.bincount(randomness(3).integers(7, 70_000), minlength=7)
    assert counts.size == 7
    assert stats.chisquare(counts).pvalue > 1e-6


def test_integers_reject_the_last_partial_range() -> None:
    words = iter([np.array([2**64 - 1], dtype=np.uint64), np.array([5], dtype=np.uint64)])
    source = Randomness(lambda _count: next(words), simulation=True, source="two words")
    assert source.integers(3, 1)[0] == 2


@pytest.mark.parametrize("bad", [-1, "7", 1.5, True])
def test_odd_seeds_are_refused(bad: object) -> None:
    with pytest.raises(InputError):
        randomness(bad)  # type: ignore[arg-type]
