"""``sfumato collect plan`` says what a campaign would tell, and when its devices stop."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app


def plans(*options):
    found = CliRunner().invoke(app, ["collect", "plan", *options, "--json"])
    assert found.exit_code == 0, found.output
    return {one["promise"]: one for one in json.loads(found.stdout)["plans"]}


def test_both_promises_are_compared_at_one_epsilon_per_km():
    found = plans("--city", "paris", "--epsilon", "2")
    tight, loop = found["epsilon"], found["mutual-information"]
    assert tight["epsilon_per_km"] == pytest.approx(2.0, abs=1e-6)
    assert loop["epsilon_per_km"] <= 2.0
    assert tight["displacement_m"] < 0.7 * loop["displacement_m"], "a sharper map for the same epsilon"
    assert tight["mutual_information_bits"] > 2 * loop["mutual_information_bits"], "and more told on average"


@pytest.mark.slow
def test_it_says_after_how_many_reports_a_device_stops_and_which_epoch_lasts():
    one = plans("--promise", "epsilon", "--epsilon", "2", "--cycle", "1day", "--lasting", "2year")["epsilon"]
    assert one["reports_until_stop"] == 15
    assert one["every_cycle_lasts_s"] == 15 * 86_400
    assert one["lasting_epoch_s"] == pytest.approx(2 * 31_557_600 / 15)


def test_an_area_asked_for_without_its_cells_is_not_a_built_in_city() -> None:
    told = CliRunner().invoke(app, ["collect", "plan", "--rows", "1", "--columns", "2", "--promise", "epsilon"])
    assert "1 × 2 cells of 500 m" in told.stdout


def test_cells_too_narrow_for_the_promise_are_pointed_out():
    found = CliRunner().invoke(app, ["collect", "plan", "--cell", "100m", "--rows", "8", "--columns", "8"])
    assert found.exit_code == 0, found.output
    assert "335 m" in found.stdout
    assert "stops for good" in found.stdout


def test_what_no_device_would_accept_is_said_before_anything_is_computed():
    found = CliRunner().invoke(app, ["collect", "plan", "--bounds", "45.72,4.78,45.80,4.90", "--cell", "5m"])
    assert isinstance(found.exception, InputError)
    assert "more than the 65,536 that devices accept" in str(found.exception)
    found = CliRunner().invoke(
        app, ["collect", "plan", "--cell", "40m", "--rows", "6", "--columns", "6", "--epsilon", "20"]
    )
    assert found.exit_code == 0, found.output
    assert "no device would take part. A report may cost 10 per km at most, this one 20." in found.stdout
    assert "no device would take part. Cells must be 50 m wide, these are 40 m." in found.stdout
