"""``sfumato reading``: a number in, a private number out, and the guarantee."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from typer.testing import CliRunner

from sfumato.cli import app

GAUSSIAN = ("--prior-mean", "20", "--prior-sd", "2", "--epsilon", "1", "--delta", "0.01")


def answer(*arguments: object) -> dict:
    run = CliRunner().invoke(app, ["reading", *map(str, arguments), "--json"])
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def test_gaussian_noise_has_the_calibrated_size() -> None:
    found = answer(21.3, *GAUSSIAN, "--promise", "range", "--radius", 6)
    assert found["guarantee"]["parameters"]["noise_variance"] == pytest.approx(4 * 34.70101466, rel=1e-6)
    assert not found["simulation"]
    average = answer(21.3, *GAUSSIAN, "--promise", "average")
    assert average["guarantee"]["parameters"]["noise_variance"] == pytest.approx(4 * 7.83117797, rel=1e-6)


def test_a_promise_must_be_chosen_and_a_reading_outside_the_range_is_not_reported() -> None:
    refused("reading", "21", *GAUSSIAN, says="The promise is ''")
    refused("reading", "30", *GAUSSIAN, "--promise", "range", "--radius", "6", says="outside the range")
    refused("reading", *GAUSSIAN, says="Give one number")
    refused("reading", "21", "--epsilon", "1", "--delta", ".1", "--prior-mean", "20", says="needs --prior-sd")
    refused("reading", "21", "--mechanism", "magic", "--epsilon", "1", says="no mechanism")


def test_a_file_of_readings_is_written_and_follows_the_seed(tmp_path: Path) -> None:
    readings, out = tmp_path / "r.csv", tmp_path / "private.csv"
    readings.write_text("\n".join(str(20 + 0.1 * k) for k in range(40)))
    arguments = ("--readings", readings, *GAUSSIAN, "--promise", "average", "--seed", 5)
    assert answer(*arguments, "-o", out)["simulation"]
    first = np.loadtxt(out)
    answer(*arguments, "-o", out)
    np.testing.assert_array_equal(first, np.loadtxt(out))
    assert first.size == 40


def test_laplace_noise_is_clamped_and_context_aware_noise_keeps_epsilon_exactly(tmp_path: Path) -> None:
    values = tmp_path / "v.csv"
    values.write_text("0,.5\n1,.3\n2,.2\n")
    for mechanism in ("laplace", "context-laplace"):
        found = answer(1, "--mechanism", mechanism, "--values", values, "--epsilon", 2)
        assert 0 <= found["private"][0] <= 2
        measured = found["guarantee"]["parameters"]
        assert max(measured["measured_up_nats"], measured["measured_low_nats"]) <= 2
    refused("reading", "1.5", "--mechanism", "laplace", "--values", str(values), "--epsilon", "2", says="not among")
    refused("reading", "1", "--mechanism", "laplace", "--epsilon", "2", says="needs --values")


def test_sampling_states_that_delta_is_how_often_the_truth_is_told() -> None:
    run = CliRunner().invoke(app, ["reading", "21.3", "--mechanism", "sampling", *GAUSSIAN])
    assert run.exit_code == 0
    assert "share_of_truth 0.01" in run.output
    assert "the report is the value itself" in run.output
