"""``sfumato design`` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import refused
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app

FIELDS = ("loss", "direct", "inferential", "two_sigma", "trace", "gap", "nugget", "seconds")


def design(*words):
    run = CliRunner().invoke(app, ["design", *words, "--json"])
    if run.exception is not None and isinstance(run.exception, InputError):
        raise run.exception
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def test_the_issues_own_command_prints_every_field_and_the_golden_loss():
    base = ("--kernel", "rbf", "--length-scale", "6", "--points", "50", "--secret", "24", "--mse", "0.02")
    for method, golden in (("joint", 7.608579), ("block", 12.347507), ("uniform", 260.6), ("convex", 7.6085)):
        found = design(*base, "--method", method)
        assert all(name in found for name in FIELDS)
        assert found["loss"] == pytest.approx(golden, rel=1e-4)
        assert found["direct"] + found["inferential"] == pytest.approx(found["loss"])
        assert found["trace"] == pytest.approx(1.0)
        assert found["nugget"] == (1e-6 if method == "convex" else 0)


def test_secrets_classes_targets_and_every_point():
    assert design("--secret", "24,25")["loss"] == pytest.approx(205.533011, rel=1e-5)
    every = design("--secret", "all", "--mse", "0.35", "--method", "prior-shaped")
    assert every["loss"] == pytest.approx(1 / 0.35, rel=1e-9)
    several = design("--points", "20", "--secret", "4", "--secret", "10,11", "--target", "3", "--target", "30")
    assert several["gap"] < 1e-4
    assert several["loss"] == pytest.approx(30, rel=1e-6)
    class_of_two = ("--length-scale", "2", "--length-scale", "3")
    wide = design("--points", "16", *class_of_two, "--secret", "8", "--method", "minimax", "--gap", "1e-3")
    assert wide["length_scales"] == [2.0, 3.0]
    periodic = design("--kernel", "periodic", "--length-scale", "1.1", "--points", "48", "--secret", "24", "--method",
                      "joint")  # fmt: skip
    assert periodic["loss"] == pytest.approx(9.898306, rel=1e-6)


def test_noise_is_written_under_its_own_name_or_refused_before_any_work(tmp_path):
    """`-o noise` ended with success, nothing in `noise` and the covariance in a hidden file."""
    written = design("--points", "8", "--method", "joint", "-o", str(tmp_path / "noise.npy"))
    assert np.trace(np.load(tmp_path / "noise.npy")) == pytest.approx(written["written_trace"])
    for name in ("noise", "noise.csv", "noise.NPY", ".npy"):
        with pytest.raises(InputError, match="cannot be written"):
            design("--points", "8", "--method", "joint", "-o", str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == ["noise.npy"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--secret 50", "names index 50, but the trace has 50 points"),
        ("--secret x", "'x' does not name secrets"),
        ("--mse -1", "mse is -1"),
        ("--kernel cosine", "no kernel 'cosine'"),
        ("--method magic", "no method 'magic'"),
        ("--points 0", "points is 0"),
        ("--length-scale 0", "length scale is 0"),
        ("--secret 1 --secret 2 --method joint", "joint is for one secret; 2 were given"),
        ("--mse 0.001 --target 3", "cannot be met with a budget of 0.05"),
        ("--nugget -1", "The nugget is -1"),
        ("--target 3 --method uniform", "uniform does not take targets"),
        ("multiscale --shortest 10min --longest 20s", "The class runs from 600 s to 20 s"),
        ("multiscale --kernel magic", "names no kernel it can hold"),
    ],
)
def test_bad_wishes_are_refused_with_advice(words: str, says: str) -> None:
    assert refused("design", *words.split(), says=says).advice


def test_a_target_the_budget_does_not_allow_says_the_least_budget_that_works():
    with pytest.raises(InputError) as caught:
        design("--secret", "24", "--mse", "0.001", "--target", "3")
    least = design("--secret", "24", "--target", "3")["trace"]
    assert f"least budget that works is {least:.6g}" in caught.value.advice
    assert design("--secret", "24", "--mse", str(least / 50 * 1.001), "--target", "3")["loss"] <= 3 * (1 + 1e-9)


def test_a_target_for_every_point_is_weighed_against_the_budget_as_noise_not_as_loss():
    with pytest.raises(InputError) as caught:
        design("--secret", "all", "--target", "5", "--mse", "0.15")  # n/target = 10, the budget 7.5
    assert "least budget that works is 10 (at least 10 is proved)" in caught.value.advice
    allowed = design("--secret", "all", "--target", "20", "--mse", "0.1")  # n/target = 2.5, the budget 5
    assert allowed["trace"] == pytest.approx(2.5)
    assert allowed["loss"] == pytest.approx(20)
    assert allowed["lower_bound"] == pytest.approx(2.5)


def test_the_file_written_holds_the_jitter_that_is_certified(tmp_path):
    path = tmp_path / "noise.npy"
    found = design("--secret", "24", "--method", "joint", "-o", str(path))
    written = np.load(path)
    assert found["jitter"] > 0
    assert np.trace(written) == pytest.approx(found["trace"] + 50 * found["jitter"], rel=1e-12)
    assert np.linalg.eigvalsh(written)[0] > 0.5 * found["jitter"]
    assert any("jitter" in note for note in found["notes"])


def test_a_loss_beyond_double_precision_is_stated_as_more_than_what_can_be_certified():
    found = design("--secret", "24", "--method", "concentrated")
    assert found["loss"] is None
    assert f"more than {found['certified_loss']:.6g}" in found["notes"][0]


def test_minimax_stops_at_a_gap_it_reaches_in_seconds_unless_told_otherwise():
    words = ("--points", "16", "--length-scale", "2", "--length-scale", "3", "--secret", "all", "--mse", "0.35")
    found = design(*words, "--method", "minimax")
    assert found["status"] == "converged"
    assert found["gap"] <= 1e-3
    assert found["lower_bound"] <= found["loss"]


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_published_noise_for_several_secrets_has_the_trace_asked_for_and_says_so():
    pytest.importorskip("cvxpy")
    found = design("--method", "published", "--points", "20", "--secret", "5", "--secret", "14", "--mse", "0.02")
    assert found["mse"] == pytest.approx(0.02)
    assert any("trace asked for" in note for note in found["notes"])
    best = design(
        "--points", "20", "--secret", "5", "--secret", "14", "--mse", "0.02", "--nugget", "0", "--gap", "1e-3"
    )
    assert found["loss"] > best["lower_bound"]


def test_a_radius_adds_what_every_loss_means() -> None:
    found = design("--method", "joint", "--secret", "24", "--radius", "0.2")
    (row,) = found["meaning"]
    assert row["epsilon"] == pytest.approx(2.5 * 0.04 * found["loss"])
    assert row["mu"] == pytest.approx(0.2 * found["loss"] ** 0.5)
    assert row["odds_99"] == pytest.approx(4.20198, abs=1e-4)
    assert row["odds_99_theorem_3_1"] > row["odds_99"]
    assert "meaning" not in design("--method", "joint", "--secret", "24")
