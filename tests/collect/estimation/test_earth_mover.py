"""The earth mover's distance without POT, as `pip install sfumato[service]` has it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from sfumato.base.things.grid import Grid
from sfumato.collect.estimation.earth_mover import earth_movers_distance

SIDE = 24


def nearly_empty(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An estimate whose empty cells hold anything down to 1e-70, and the same with a pile of forged reports."""
    rng = np.random.default_rng(seed)
    honest = np.exp(rng.normal(0.0, 40.0, SIDE * SIDE))
    honest /= honest.sum()
    piled = 0.95 * honest
    piled[rng.integers(SIDE * SIDE, size=3)] += [0.05, 1e-28, 1e-20]
    return honest, piled


@pytest.mark.parametrize("seed", [4, 9, 10, 11])
def test_amounts_that_nobody_could_see_do_not_stop_the_distance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ot")
    grid = Grid.plain(SIDE, SIDE)
    honest, piled = nearly_empty(seed)
    assert honest.min() < 1e-30
    by_pot = earth_movers_distance(honest, piled, grid)
    monkeypatch.setitem(sys.modules, "ot", None)
    assert earth_movers_distance(honest, piled, grid) == pytest.approx(by_pot, rel=1e-9, abs=1e-12)


def test_maps_of_numbers_whose_sum_is_none_are_as_far_apart_as_their_shares() -> None:
    grid = Grid.plain(2, 2)
    small = earth_movers_distance(np.ones(4), np.array([1.0, 0, 0, 1.0]), grid)
    assert earth_movers_distance(np.full(4, 1e308), np.array([1e308, 0, 0, 1e308]), grid) == pytest.approx(small)
    assert small == pytest.approx(0.5)
