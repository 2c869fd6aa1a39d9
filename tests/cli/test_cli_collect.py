"""``sfumato collect simulate``: the promised JSON, errors with advice."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app

RUN = CliRunner()
FIELDS = {"cycle", "emd_mean", "emd_sd", "epsilon", "mutual_information_nats", "distortion", "spent_epsilon"}


def simulate(*options):
    found = RUN.invoke(app, ["collect", "simulate", *options, "--json"])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return json.loads(found.stdout)


def test_the_json_lists_cycles_from_the_uniform_start():
    found = simulate("--city", "paris", "--beta", "1", "--cycles", "3", "--rounds", "2", "--seed", "0")
    assert [row["cycle"] for row in found["cycles"]] == [0, 1, 2, 3]
    assert all(set(row) == FIELDS for row in found["cycles"])
    assert found["cycles"][0]["emd_mean"] == pytest.approx(2.02262, abs=1e-5)
    assert found["cycles"][0]["spent_epsilon"] == 0
    assert (found["ba_steps"], found["ibu_steps"], found["floor"]) == (8, 10, 0.0)
    assert found["cycles"][3]["spent_epsilon"] == found["cycles"][3]["epsilon"] == pytest.approx(2.0), "one report each"


def test_rounds_are_consecutive_seeds():
    both = simulate("--cycles", "1", "--rounds", "2", "--seed", "7")["cycles"][1]["emd_mean"]
    single = [
        simulate("--cycles", "1", "--rounds", "1", "--seed", seed)["cycles"][1]["emd_mean"] for seed in ("7", "8")
    ]
    assert both == pytest.approx(sum(single) / 2, rel=1e-12)


def test_joint_once_with_feedback_runs_and_spends_one_report():
    options = ("--cycles", "3", "--rounds", "1", "--estimator", "joint", "--reporting", "once", "--feedback")
    options += ("--promise", "mutual-information")
    found = simulate(*options)
    assert found["floor"] == 0.01
    assert found["cycles"][-1]["spent_epsilon"] <= 2.0


def test_last_only_leaves_earlier_distances_out_as_null():
    found = simulate("--cycles", "2", "--rounds", "1", "--estimator", "joint", "--last-only")
    assert found["cycles"][1]["emd_mean"] is None
    assert math.isfinite(found["cycles"][2]["emd_mean"])


def test_a_csv_of_counts_is_a_city(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("row,column,count\n0,0,50\n0,1,10\n1,2,40\n")
    found = simulate("--city", str(path), "--cycles", "2", "--rounds", "1")
    assert found["people"] == 100
    assert found["grid"] == {"rows": 2, "columns": 3, "unit": "cell"}


@pytest.mark.parametrize(
    "text",
    ["", "a,b\n1,2\n", "row,column,count\n0,0,-1\n", "row,column,count\n0,0,x\n", "row,column,count\n0,0,0\n",
     "row,column,count\n0,0,1\n0,0,2\n", "row,column,count\n-1,0,5\n", "row,column,count\n0,0,nan\n"],
)  # fmt: skip
def test_a_csv_that_cannot_be_used_is_refused(tmp_path, text):
    path = tmp_path / "town.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        simulate("--city", str(path))
    assert refused.value.advice


@pytest.mark.parametrize("count", ["99999999999999999999999", "1000000000000"])
def test_more_people_than_can_be_drawn_are_refused_with_advice(tmp_path, count):
    path = tmp_path / "town.csv"
    path.write_text(f"row,column,count\n0,0,{count}\n")
    with pytest.raises(InputError, match="100,000,000") as refused:
        simulate("--city", str(path))
    assert refused.value.advice


def test_a_csv_of_a_spreadsheet_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("row,column,count\n0,0,50\n0,1,10\n", encoding="utf-8-sig")
    assert simulate("--city", str(path), "--cycles", "1", "--rounds", "1")["people"] == 60


@pytest.mark.parametrize(
    "options",
    [("--fake-share", ".1", "--fake-cell", "9999"), ("--fake-share", ".1", "--fake-cell", "-1"),
     ("--reporting", "once", "--cycles", "20000")],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused_with_advice(options):
    with pytest.raises(InputError) as refused:
        simulate(*options)
    assert refused.value.advice


def test_an_enormous_cap_runs():
    few = ("--cycles", "2", "--rounds", "1", "--promise", "mutual-information")
    assert simulate(*few, "--max-log-change", "1000", "--floor", "0.01")["ok"]


@pytest.mark.parametrize(
    "options",
    [("--start", "spike:93"), ("--ibu-steps", "3"), ("--ba-steps", "3"), ("--max-log-change", "1"),
     ("--hold-on-alarm",), ("--feedback",), ("--estimator", "published", "--last-only"),
     ("--promise", "mutual-information", "--feedback", "--last-only"),
     ("--promise", "mutual-information", "--estimator", "joint", "--feedback", "--ibu-steps", "3")],
)  # fmt: skip
def test_an_option_that_would_change_no_cycle_is_refused(options):
    with pytest.raises(InputError, match="would change nothing here") as refused:
        simulate("--cycles", "1", "--rounds", "1", *options)
    assert "--promise mutual-information" in refused.value.advice


def test_the_same_options_change_the_published_loop():
    loop = ("--cycles", "2", "--rounds", "1", "--promise", "mutual-information", "--estimator", "published")
    plain = simulate(*loop)["cycles"][2]["emd_mean"]
    for options in (("--start", "spike:93"), ("--ibu-steps", "3"), ("--ba-steps", "3")):
        assert simulate(*loop, *options)["cycles"][2]["emd_mean"] != plain


@pytest.mark.parametrize("promise", ["epsilon", "mutual-information"])
def test_a_first_channel_is_that_of_the_first_cycle_only(promise):
    found = simulate("--cycles", "3", "--rounds", "1", "--promise", promise, "--first-channel", "laplace:0.5")["cycles"]
    assert found[1]["epsilon"] == pytest.approx(0.5, rel=1e-6)
    assert found[2]["epsilon"] > 1.5
    assert found[3]["epsilon"] > 1.5


def test_a_city_that_is_no_file_is_refused():
    with pytest.raises(InputError):
        simulate("--city", "atlantis")


def test_people_get_a_table():
    found = RUN.invoke(app, ["collect", "simulate", "--cycles", "1", "--rounds", "1"])
    assert found.exit_code == 0
    assert "paris" in found.stdout
    assert "2.0226" in found.stdout
