"""Where a campaign begins, and how long it remembers."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app
from sfumato.collect.cities import city
from sfumato.collect.loop.simulation import Protocol, first_channel_named, simulate, start_named

GRID = city("paris").plain_grid


@pytest.mark.parametrize("text", ["uniform", "spike:93", "spike:3:0.5", "random"])
def test_every_start_has_full_support(text):
    theta = start_named(text, GRID)
    assert theta.min() > 0
    assert theta.sum() == pytest.approx(1)
    assert theta.max() > (0.4 if text.startswith("spike") else 0.9 / GRID.cells)
    assert bool(np.ptp(theta) == 0) is (text == "uniform")


def test_a_spike_holds_nine_tenths_and_a_random_start_follows_its_seed():
    assert start_named("spike:93", GRID)[93] == pytest.approx(0.9 + 0.1 / GRID.cells)
    np.testing.assert_array_equal(start_named("random", GRID, seed=3), start_named("random", GRID, seed=3))
    assert np.any(start_named("random", GRID, seed=3) != start_named("random", GRID, seed=4))


def test_a_start_from_a_file_is_taken_and_one_with_a_zero_refused(tmp_path):
    file = tmp_path / "start.csv"
    file.write_text("\n".join(["1"] * (GRID.cells - 1) + ["3"]))
    assert start_named(str(file), GRID)[-1] == pytest.approx(3 / (GRID.cells + 2))
    file.write_text("\n".join(["1"] * (GRID.cells - 1) + ["0"]))
    with pytest.raises(InputError, match="gives a cell nothing"):
        start_named(str(file), GRID)


@pytest.mark.parametrize("text", ["spike", "spike:x", "spike:999", "spike:1:2", "nothing-like-it"])
def test_what_is_no_start_is_refused_with_advice(text):
    with pytest.raises(InputError, match=r"start|cell"):
        start_named(text, GRID)


def test_the_first_channel_has_the_exact_epsilon_asked_for():
    channel = first_channel_named("laplace:1.9", GRID)
    assert channel.epsilon().upper == pytest.approx(1.9, rel=1e-6)
    assert first_channel_named("rate:2", GRID).epsilon().upper == pytest.approx(2.206, abs=1e-3)
    assert first_channel_named("blahut-arimoto", GRID) is None
    with pytest.raises(InputError, match="first channel"):
        first_channel_named("laplace:many", GRID)


def test_a_start_that_holds_almost_everything_in_one_cell_is_not_left():
    place = city("paris")
    protocol = Protocol(beta=1.0, cycles=3)
    (stuck,) = simulate(place.people, GRID, protocol, rounds=1, start=start_named("spike:93:0.999999", GRID))
    (free,) = simulate(place.people, GRID, protocol, rounds=1)
    assert stuck[-1].emd == pytest.approx(stuck[0].emd, rel=1e-3)
    assert free[-1].emd < 0.2 * free[0].emd


def test_the_command_takes_a_start_and_a_first_channel():
    arguments = ["collect", "simulate", "--cycles", "2", "--rounds", "1", "--json", "--promise", "mutual-information"]
    run = CliRunner().invoke(app, [*arguments, "--start", "spike:93", "--first-channel", "laplace:1.5"])
    found = json.loads(run.stdout)
    assert found["start"] == "spike:93"
    assert found["cycles"][1]["epsilon"] == pytest.approx(1.5, rel=1e-6)
    assert found["cycles"][0]["emd_mean"] > 5
