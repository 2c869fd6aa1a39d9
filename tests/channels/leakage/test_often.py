"""Measures of small channels are compiled once they are called often: the same numbers, and the same refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.channels.guessing import often
from sfumato.channels.guessing.g_leakage import (
    bayes_vulnerability,
    g_leakage,
    min_entropy_capacity,
    min_entropy_leakage,
    posterior_guessing_entropy,
    prediction_risk,
)
from sfumato.channels.guessing.gain_functions import matrix_gain
from sfumato.channels.measures.discrete import mutual_information

Measure = Callable[[Channel, np.ndarray], object]


@contextmanager
def compiled(monkeypatch: pytest.MonkeyPatch, *, yes: bool) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(often, "OFTEN", 0 if yes else math.inf)
        yield


def measures(symbols: int) -> list[Measure]:
    table = np.random.default_rng(symbols).normal(size=(5, symbols))
    truth = np.arange(symbols) % 3 == 0

    def gained(channel: Channel, prior: np.ndarray) -> tuple[float, ...]:
        found = g_leakage(channel, prior, matrix_gain(table))
        return found.before, found.average, found.worst

    return [
        min_entropy_leakage,
        bayes_vulnerability,
        posterior_guessing_entropy,
        mutual_information,
        gained,
        lambda channel, prior: prediction_risk(channel, prior, truth),
        lambda channel, prior: min_entropy_capacity(channel),
    ]


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 1), (2, 2), (5, 9), (36, 36), (37, 200), (120, 7)])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_compiled_or_not_the_numbers_are_the_same(
    shape: tuple[int, int], zeros: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(shape[0] * 1000 + shape[1])
    raw = rng.dirichlet(np.full(shape[1], 0.5), shape[0]) * (rng.random(shape) >= zeros)
    raw[:, 0] += 1e-3
    prior = rng.dirichlet(np.ones(shape[0])) * (rng.random(shape[0]) >= zeros / 2)
    prior = prior / prior.sum() if prior.sum() > 0 else np.full(shape[0], 1 / shape[0])
    channel = Channel(raw / raw.sum(axis=1, keepdims=True))
    for measure in measures(shape[0]):
        for law in (prior, CellPrior(prior)):
            with compiled(monkeypatch, yes=False):
                expected = measure(channel, law)  # type: ignore[arg-type]
            with compiled(monkeypatch, yes=True):
                assert measure(channel, law) == pytest.approx(expected, rel=1e-13, abs=1e-15)  # type: ignore[arg-type]


def test_one_guess_has_the_same_digits_compiled_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    for size in (1, 3, 7, 8, 9, 36, 100, 128):
        channel, prior = Channel(rng.dirichlet(np.ones(size), size)), rng.dirichlet(np.ones(size))
        with compiled(monkeypatch, yes=False):
            expected = min_entropy_leakage(channel, prior)
        with compiled(monkeypatch, yes=True):
            assert min_entropy_leakage(channel, prior) == expected


@pytest.mark.parametrize("prior", [
    [0.5, 0.6, 0.0], [0.5, 0.5], [np.nan, 0.5, 0.5], [1.5, -0.5, 0.0], [np.inf, 0.0, 0.0], [1.0, 1e-310, 0.0], [],
])  # fmt: skip
def test_what_is_no_prior_is_refused_in_the_same_words(prior: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Channel(np.eye(3) * 0.7 + 0.1)
    for measure in measures(3)[:-1]:
        words = []
        for yes in (False, True):
            with compiled(monkeypatch, yes=yes), pytest.raises(InputError) as refused:
                measure(channel, np.array(prior))
            words.append(str(refused.value))
        assert words[0] == words[1]


def test_a_prior_that_was_rounded_in_a_file_is_divided_by_its_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, prior = Channel(np.eye(3) * 0.7 + 0.1), np.array([0.2, 0.3, 0.5 + 5e-7])
    for measure in measures(3)[:-1]:
        with compiled(monkeypatch, yes=False):
            expected = measure(channel, prior)
        with compiled(monkeypatch, yes=True):
            assert measure(channel, prior) == expected


@pytest.mark.parametrize("size", [1e-9, 1e-5, 0.03, 0.049, 0.051, 0.3, 0.49, 0.51, 0.9])
def test_information_has_its_digits_in_every_range(size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts of 1 + size and 1 - size, against 40 digits of the doubles as they are."""
    channel = Channel(np.array([[0.5 + size / 2, 0.5 - size / 2], [0.5 - size / 2, 0.5 + size / 2]]))
    prior = np.array([0.5, 0.5])
    with mp.workdps(40):
        q = [[mpf(float(value)) for value in row] for row in channel.matrix]
        m = [(q[0][y] + q[1][y]) / 2 for y in range(2)]
        expected = float(sum(q[x][y] * mp.log(q[x][y] / m[y]) / 2 for x in range(2) for y in range(2)))
    with compiled(monkeypatch, yes=True):
        assert mutual_information(channel, prior) == pytest.approx(expected, rel=1e-6 if size < 1e-8 else 1e-10)
        if size > 1e-3:
            assert mutual_information(channel, prior) == pytest.approx(expected, rel=2e-13)


def test_a_single_measure_loads_no_compiler() -> None:
    code = (
        "import sys, numpy as np\n"
        "from sfumato.channels.guessing.g_leakage import min_entropy_leakage\n"
        "min_entropy_leakage(np.eye(3), np.ones(3) / 3)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
