"""`sfumato channel measure` in every notion, from samples and in fractions; `refine`: numbers, refusals, extremes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from channel_command import answer, refused, run

from sfumato.base.things.channel import Channel
from sfumato.channels.measures import g_leakage as g
from sfumato.channels.measures.alpha_leakage import sibson_information
from sfumato.channels.measures.capacity import shannon_capacity
from sfumato.channels.measures.discrete import ldp

Q = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
P = np.array([0.5, 0.3, 0.2])


@pytest.fixture
def channel(tmp_path: Path) -> Path:
    path = tmp_path / "q.csv"
    np.savetxt(path, Q, delimiter=",")
    return path


@pytest.fixture
def prior(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    path.write_text("label,value,x_m,y_m\n0,5,0,0\n1,3,100,0\n2,2,0,200\n")
    return path


def test_every_notion_is_in_the_json_and_is_the_number_of_its_function(channel: Path, prior: Path) -> None:
    found = answer("measure", channel, "--prior", prior, "--order", 3)
    assert found["min_entropy_leakage"] == pytest.approx(math.log(0.69 / 0.5), abs=1e-12)
    assert found["min_entropy_capacity"] == pytest.approx(math.log(2.0), abs=1e-12)
    assert found["capacity"] == pytest.approx(shannon_capacity(Q).objective, abs=1e-9)
    assert found["capacity_gap"] < 1e-9
    assert found["sibson_information"] == pytest.approx(sibson_information(Q, P, 3.0), abs=1e-12)
    assert found["guessing_entropy"] == pytest.approx(1.42)
    assert found["bayes_security"] == pytest.approx(0.4)
    assert found["prediction_risk"]["after"] == pytest.approx(0.23)
    for key in ("alpha_leakage", "maximal_alpha_leakage", "alpha_beta_leakage", "renyi_ldp", "approximate_ldp",
                "gaussian_ldp", "total_variation", "g_leakage", "trade_off", "pointwise_quantile"):  # fmt: skip
        assert key in found
    assert found["not_computed"] == []
    assert found["mutual_information_nats"] <= found["capacity"] <= found["maximal_leakage"] <= found["ldp"]
    table = run("measure", channel, "--prior", prior)
    for words in ("min-entropy leakage", "Shannon capacity", "Rényi LDP, order 2", "Gaussian LDP", "Bayes security"):
        assert words in table


@pytest.mark.parametrize(
    ("gain", "before"), [("tries:2", 0.8), ("within:100m", 0.8), ("nearness:200m", 0.65), ("identity", 0.5)]
)
def test_any_gain_function(channel: Path, prior: Path, gain: str, before: float) -> None:
    assert answer("measure", channel, "--prior", prior, "--gain", gain)["gain"]["before"] == pytest.approx(before)


def test_a_gain_from_a_file_and_gains_that_mean_nothing(channel: Path, prior: Path, tmp_path: Path) -> None:
    table = tmp_path / "gain.csv"
    table.write_text("1,0,0\n0,.5,.5\n")
    assert answer("measure", channel, "--prior", prior, "--gain", table)["gain"]["before"] == pytest.approx(0.5)
    table.write_text("-1,0,0\n0,-.5,-.5\n")
    negative = answer("measure", channel, "--prior", prior, "--gain", table)
    assert "g_leakage" in negative["not_computed"]
    assert negative["gain"]["added"] > 0
    table.write_text("1,0\n0,1\n")
    refused("measure", channel, "--prior", prior, "--gain", table, says="columns")
    for gain in ("tries:0", "tries:9", "within:x", "magic", "within:-1m"):
        refused("measure", channel, "--prior", prior, "--gain", gain, says="")
    bare = tmp_path / "bare.csv"
    bare.write_text("5\n3\n2\n")
    refused("measure", channel, "--prior", bare, "--gain", "within:100m", says="needs places")


@pytest.mark.parametrize("option", [("--order", "0.5"), ("--order", "nan"), ("--second-order", "0"), ("--delta", "1"),
                                    ("--delta", "-1"), ("--delta", "nan")])  # fmt: skip
def test_orders_and_deltas_that_mean_nothing_are_refused(channel: Path, prior: Path, option: tuple[str, str]) -> None:
    refused("measure", channel, "--prior", prior, *option, says="It")


@pytest.mark.parametrize("order", ["1", "inf", "1e6"])
def test_extreme_orders_are_measured(channel: Path, prior: Path, order: str) -> None:
    found = answer("measure", channel, "--prior", prior, "--order", order, "--second-order", "inf")
    assert found["sibson_information"] >= 0
    assert ("alpha_beta_leakage" in found) == (order != "1")
    assert ("alpha_beta_leakage" in found["not_computed"]) == (order == "1")


def test_an_identity_channel_is_infinite_where_it_is_and_nowhere_else(tmp_path: Path, prior: Path) -> None:
    path = tmp_path / "eye.csv"
    path.write_text("1,0,0\n0,1,0\n0,0,1\n")
    found = answer("measure", path, "--prior", prior)
    assert {"ldp", "renyi_ldp", "approximate_ldp", "gaussian_ldp", "alpha_beta_leakage"} <= set(found["infinite"])
    assert found["capacity"] == pytest.approx(math.log(3), abs=1e-9)
    assert found["renyi_ldp"] is None


def test_many_symbols_leave_out_what_needs_all_pairs_and_say_so(tmp_path: Path) -> None:
    n = 330
    path, law = tmp_path / "big.csv", tmp_path / "law.csv"
    np.savetxt(path, 0.5 * np.eye(n) + 0.5 / n, delimiter=",")
    law.write_text("\n".join(["1"] * n))
    found = answer("measure", path, "--prior", law)
    assert "capacity" in found["not_computed"]
    assert "capacity" not in found
    assert found["min_entropy_leakage"] > 0


def samples_file(path: Path, n: int) -> Path:
    x = np.random.default_rng(0).choice(3, n, p=P)
    y = Channel(Q).sample(x, rng=1)
    path.write_text("input,output\n" + "\n".join(f"{'abc'[a]},{'uvw'[b]}" for a, b in zip(x, y, strict=True)))
    return path


def test_samples_alone_give_intervals_that_hold_and_warnings(tmp_path: Path) -> None:
    path = samples_file(tmp_path / "samples.csv", 20_000)
    found = answer("measure", "--samples", path, "--all-outputs", "--gain", "tries:2")
    estimates = found["estimates"]
    assert estimates["bayes_risk"]["lower"] <= 0.31 <= estimates["bayes_risk"]["upper"]
    assert estimates["ldp"]["lower"] <= ldp(Q) <= estimates["ldp"]["upper"]
    assert estimates["vulnerability_2_guesses"]["lower"] <= 0.89 <= estimates["vulnerability_2_guesses"]["upper"]
    open_ended = answer("measure", "--samples", path)
    assert open_ended["estimates"]["ldp"]["upper"] is None
    assert any("never seen may exist" in words for words in open_ended["warnings"])
    law = tmp_path / "law.csv"
    law.write_text("label,value\na,5\nb,3\nc,2\n")
    known = answer("measure", "--samples", path, "--prior", law, "--all-outputs")["estimates"]["lip"]
    assert known["lower"] <= 1.4586150227 <= known["upper"]
    law.write_text("5\n3\n2\n")  # without labels its lines are the inputs 0, 1, 2
    refused("measure", "--samples", path, "--prior", law, says="the samples have 'b'")
    numbered = tmp_path / "numbered.csv"
    numbered.write_text("".join(line.replace("a,", "0,").replace("b,", "1,").replace("c,", "2,")
                                for line in path.read_text().splitlines(keepends=True)))  # fmt: skip
    assert answer("measure", "--samples", numbered, "--prior", law, "--all-outputs")["estimates"]["lip"] == known
    table = run("measure", "--samples", samples_file(tmp_path / "few.csv", 20))
    assert "Warning:" in table
    assert "infinite" in table


def test_samples_that_are_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 600)
    path = tmp_path / "points.parquet"
    columns = {"input": [f"home{v}" for v in x], "x_m": x * 4.0 + rng.normal(size=600), "y_m": rng.normal(size=600)}
    pq.write_table(pa.table(columns), path)
    risk = answer("measure", "--samples", path)["estimates"]["bayes_risk"]
    assert risk["lower"] <= 0.0228 <= risk["upper"]
    assert risk["proved"] is False


def test_samples_that_cannot_be_used_are_refused(tmp_path: Path, channel: Path, prior: Path) -> None:
    path = tmp_path / "s.csv"
    for text, says in (
        ("", "empty"),
        ("input,output\n", "no samples"),
        ("input,other\na,b\n", "no column of outputs"),
        ("output\nu\n", "no column of inputs"),
        ("a,b,c\n", "no header"),
        ("input,output\na\n", "columns"),
        ("input,x_m,y_m\na,1,x\n", "not a number"),
        ("input,x_m,y_m\na,1,nan\n", "NaN"),
    ):
        path.write_text(text)
        refused("measure", "--samples", path, says=says)
    refused("measure", "--samples", tmp_path / "none.csv", says="Cannot read")
    samples = samples_file(path, 50)
    refused("measure", channel, "--samples", samples, says="instead of a channel")
    refused("measure", "--samples", samples, "--error", "0", says="error probability")
    refused("measure", "--samples", samples, "--gain", "within:1m", says="With --samples")
    refused("measure", "--samples", samples, "--prior", prior, says="declared")
    refused("measure", says="nothing to measure")
    refused("measure", channel, says="no prior")


def test_fractions_are_measured_without_rounding(tmp_path: Path) -> None:
    q, p = tmp_path / "q.csv", tmp_path / "p.csv"
    q.write_text("2/3,1/3\n1/3,2/3\n")
    p.write_text("1/2\n1/2\n")
    found = answer("measure", q, "--exact", "--prior", p)["exact"]
    assert found["ldp"]["fraction"] == "2"
    assert found["lip_up"]["fraction"] == "4/3"
    assert found["min_entropy_leakage"]["fraction"] == "4/3"
    assert "4/3" in run("measure", q, "--exact", "--prior", p)
    p.write_text("1/2\n1/3\n")
    refused("measure", q, "--exact", "--prior", p, says="exactly 1")
    refused("measure", q, "--exact", says="--prior")
    q.write_text("2/3,x\n")
    refused("measure", q, "--exact", "--prior", p, says="not a fraction")


def test_refine_decides_both_directions_with_a_proof(tmp_path: Path, channel: Path) -> None:
    r = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    after = tmp_path / "after.csv"
    np.savetxt(after, Q @ r, delimiter=",")
    found = answer("refine", channel, after)
    assert found["verdict"] == "the second never leaks more than the first"
    made = np.array(found["second_never_leaks_more"]["post_processing"])
    assert pytest.approx(Q @ r, abs=1e-9) == Q @ made
    gain = np.array(found["first_never_leaks_more"]["gain"])
    uniform = np.full(3, 1 / 3)
    ahead = g.g_leakage(Q, uniform, gain).average - g.g_leakage(Q @ r, uniform, gain).average
    assert ahead == pytest.approx(found["first_never_leaks_more"]["advantage"], abs=1e-12)
    assert "never leaks more" in run("refine", channel, after)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("1,0\n1/2,1/2\n")
    b.write_text("1/2,1/2\n0,1\n")
    assert answer("refine", a, b, "--exact")["verdict"].startswith("incomparable")
    two = tmp_path / "two.csv"
    two.write_text("1,0\n0,1\n")
    refused("refine", channel, two, says="inputs")
    refused("refine", channel, after, "--tolerance", "nan", says="tolerance")


def test_randomized_response_is_a_design_and_a_row_of_the_comparison(tmp_path: Path, prior: Path) -> None:
    saved = tmp_path / "rr.parquet"
    answer("design", "--mechanism", "randomized-response", "--prior", prior, "--epsilon", 1, "-o", saved)
    found = answer("measure", saved, "--prior", prior)
    assert found["ldp"] == pytest.approx(1.0, abs=1e-9)
    assert found["ldp"] <= 1.0
    rows = answer("compare", "--synthetic", "2x2", "--epsilon", 1, "--mechanism", "randomized-response")["rows"]
    assert rows[0]["lip"] == pytest.approx(1.0, abs=1e-6)
    assert 0 <= rows[0]["min_entropy_leakage"] <= rows[0]["maximal_leakage"]
    assert 1 <= rows[0]["guessing_entropy"] <= 2.5
