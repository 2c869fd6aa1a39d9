"""How often a device reports, and what that costs: once, in every cycle, or once per epoch."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.grid import Grid
from sfumato.cli.collect.collect_simulate import simulate_command
from sfumato.collect.loop import Rules, checked_rhythm, epoch_number, first_channel, next_channel
from sfumato.collect.loop.forecast import SECONDS_PER_DAY, plan
from sfumato.collect.loop.rhythm import spent_by
from sfumato.collect.loop.simulation import Protocol

GRID = Grid.plain(5, 5)


def test_epochs_of_three_cycles():
    assert [epoch_number(cycle, 3) for cycle in range(1, 8)] == [1, 1, 1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("rhythm", "cycles"),
    [("once", 3), ("every-cycle", 2), ("once-per-epoch", None), ("once-per-epoch", 1), ("daily", 3)],
)
def test_epochs_are_said_where_there_are_epochs_and_only_there(rhythm, cycles):
    with pytest.raises(InputError):
        checked_rhythm(rhythm, cycles)
    with pytest.raises(InputError):
        Rules(beta=1.0, reporting=rhythm, epoch_cycles=cycles)


def test_epochs_add_up_and_within_an_epoch_the_dearest_channel_counts():
    rules = Rules(beta=0.5, promise="mutual-information", max_log_change=None)
    uniform = first_channel(GRID, rules)
    peaked = next_channel(uniform, np.random.default_rng(1).dirichlet(np.full(25, 0.2)), rules)
    low, high = sorted(one.epsilon().upper for one in (uniform, peaked))
    assert low < high == peaked.epsilon().upper
    channels = [uniform, peaked, uniform, uniform, peaked]
    found = spent_by(channels, "once-per-epoch", 2).level
    assert found.upper == pytest.approx(peaked.epsilon().upper + uniform.epsilon().upper + peaked.epsilon().upper)
    assert found.lower <= found.upper
    # From the second cycle of an epoch on: {uniform}, {peaked, uniform}, {uniform, peaked}.
    assert spent_by(channels, "once-per-epoch", 2, first_cycle=2).level.upper == pytest.approx(
        uniform.epsilon().upper + 2 * high
    )
    assert spent_by(channels, "once", None).level.upper == pytest.approx(high)
    guarantee = spent_by(channels, "once-per-epoch", 2).guarantee
    assert guarantee.parameters["reports"] == 3


def test_a_tight_campaign_spends_its_promise_once_an_epoch():
    channel = first_channel(GRID, Rules(beta=1.0))
    level = spent_by([channel] * 14, "once-per-epoch", 7).level
    assert level.upper == pytest.approx(4.0, rel=1e-6)
    assert level.lower == pytest.approx(4.0, rel=1e-6)


def test_a_plan_says_which_epoch_lasts_and_what_is_spent_for_ever():
    found = plan(
        Grid(rows=6, columns=6, cell_height=500.0, cell_width=500.0, unit="m"),
        epsilon=0.002,
        promise="epsilon",
        budget=0.03,
        cycle_s=SECONDS_PER_DAY,
        lasting_s=730 * SECONDS_PER_DAY,
    )
    assert found.reports_until_stop == 15
    assert found.lasting_epoch_cycles == math.ceil(730 / 15)
    assert found.for_ever == pytest.approx(0.03, rel=1e-6)
    assert found.for_ever <= 0.03 * (1 + 1e-9)


def test_once_is_the_default_of_rules_simulations_and_their_command():
    assert Rules(beta=1.0).reporting == "once"
    assert Protocol(beta=1.0, cycles=1).reporting == "once"
    assert inspect.signature(simulate_command).parameters["reporting"].default == "once"
