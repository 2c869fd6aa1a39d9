"""``channel convert | compose | mismatch | rate-distortion``, prior sets from files, and Blahut-Arimoto by its rate."""

from __future__ import annotations

import json
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest
from channel_command import answer, refused, run

from sfumato.channels.files.channel_files import read_channel


@pytest.fixture
def prior(tmp_path: Path) -> Path:
    path = tmp_path / "prior.csv"
    path.write_text(".5\n.3\n.2\n")
    return path


@pytest.fixture
def places(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    path.write_text("label,value,x_m,y_m\na,.5,0,0\nb,.3,500,0\nc,.2,0,900\n")
    return path


@pytest.fixture
def channel(tmp_path: Path, prior: Path) -> Path:
    path = tmp_path / "c.parquet"
    answer("design", "--prior", prior, "--epsilon", 1, "-o", path)
    return path


def test_a_conversion_gives_the_tightest_and_the_printed_with_its_erratum(prior: Path) -> None:
    found = answer("convert", 1, "--from", "lip", "--to", "ldp", "--prior", prior)["conversions"]["ldp"]
    assert found["value"] == pytest.approx(2.0)
    assert found["tight"]
    assert {one["place"] for one in found["printed"]} == {"Jiang2021, Prop. 1", "Jiang2021, Thm 2"}
    assert any("E2" in str(one["erratum"]) for one in found["printed"])
    back = answer("convert", 1, "--from", "ldp", "--to", "lip", "--prior", prior)["conversions"]["lip"]
    assert back["value"] == pytest.approx(0.8648397252)
    assert back["printed"][0]["value"] == pytest.approx(0.8648397252)


def test_everything_that_follows_is_listed_and_what_does_not_is_refused(prior: Path) -> None:
    found = answer("convert", 1, "--from", "lip", "--prior", prior)["conversions"]
    assert {"ldp", "di", "mutual_information_nats", "maximal_leakage"} <= set(found)
    assert found["mutual_information_nats"]["value"] <= np.tanh(0.5) + 1e-9  # the paper prints 1
    assert "attained" in run("convert", 1, "--from", "lip", "--to", "ldp", "--prior", prior)
    refused("convert", 1, "--from", "nothing", says="no notion")


def test_two_reports_of_the_optimal_channel_leak_the_published_amounts(prior: Path, channel: Path) -> None:
    found = answer("compose", channel, channel, "--prior", prior)
    assert found["exact"] == pytest.approx(2.658734, abs=1e-5)
    assert found["theorem_4"] == pytest.approx(3.781425, abs=1e-5)
    assert found["sum_if_designed_for_the_posterior"] == pytest.approx(2, abs=1e-6)
    assert found["exact"] > 2  # leakages do not add
    worst = answer("compose", "--epsilon", 1, "--epsilon", 1, "--prior", prior)
    assert worst["worst_case_exact"] == pytest.approx(2.658734, abs=1e-5)
    refused("compose", "--prior", prior, says="Give channels")


def test_a_moving_symbol_is_composed_by_corollary_5(tmp_path: Path) -> None:
    prior, moves, binary = tmp_path / "p.csv", tmp_path / "t.csv", tmp_path / "b.parquet"
    prior.write_text(".6\n.4\n")
    moves.write_text(".9,.1\n.15,.85\n")
    answer("design", "--prior", prior, "--epsilon", 0.7, "-o", binary)
    found = answer("compose", binary, binary, binary, "--prior", prior, "--transition", moves)
    assert found["exact"] <= found["corollary_5"]
    assert found["reports"] == 3


def test_a_mismatch_is_bounded_and_measured(tmp_path: Path, prior: Path, channel: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(".45\n.3\n.25\n")
    found = answer("mismatch", "--designed-for", prior, "--truth", other, "--channel", channel, "--samples", 6609)
    assert found["lemma_3_overhead"] == pytest.approx(0.2231435513)
    assert found["leakage_true"] <= found["bound"]
    assert found["corollary_3_overhead"] <= 0.1 + 1e-6
    assert found["knowing_the_prior_helps"]
    golden = answer("mismatch", "--designed-for", prior, "--truth", other, "--epsilon", 1)
    assert golden["corollary_6_largest_variation"] == pytest.approx(0.2 * (np.e - 1), rel=1e-9)
    refused("mismatch", "--designed-for", prior, "--truth", other, says="Give a --channel")


def test_the_rate_distortion_curve_is_printed_drawn_and_bracketed(tmp_path: Path, places: Path) -> None:
    picture = tmp_path / "curve.svg"
    found = answer("rate-distortion", "--prior", places, "--beta", 0.002, "--beta", 0.005, "-o", picture)
    assert found["distortion"] == "euclidean"
    for point in found["points"]:
        assert 0 <= point["mutual_information_nats"] - point["lower_bound_nats"] < 1e-5
    assert found["points"][0]["mutual_information_nats"] < found["points"][1]["mutual_information_nats"]
    minidom.parse(str(picture))
    assert "nothing costs 330" in run("rate-distortion", "--prior", places, "--beta", 0.002)


@pytest.mark.parametrize("wish", [("--beta", 0.005), ("--distortion-target", 100), ("--epsilon", 0.004)])
def test_blahut_arimoto_meets_each_of_its_three_targets(places: Path, wish: tuple[str, float]) -> None:
    found = answer("design", "--mechanism", "blahut-arimoto", "--prior", places, *wish)
    measures = found["measures"]
    assert measures["distortion"] == "euclidean"  # the default wherever the prior has coordinates
    if wish[0] == "--epsilon":
        assert measures["geo_epsilon_per_m"] <= 0.004
        assert measures["geo_epsilon_per_m"] > 0.0039
    if wish[0] == "--distortion-target":
        assert found["average_distortion"] <= 100
        assert found["average_distortion"] > 99
    stated = found["guarantee"]["parameters"]
    assert stated["mutual_information_nats"] == pytest.approx(measures["mutual_information_nats"], rel=1e-6)
    assert stated["epsilon_per_m"] >= measures["geo_epsilon_per_m"]


def test_no_channel_of_that_distortion_tells_less(places: Path, tmp_path: Path) -> None:
    best = answer("design", "--mechanism", "blahut-arimoto", "--prior", places, "--distortion-target", 100)
    other = answer("design", "--mechanism", "exponential", "--prior", places, "--epsilon", 0.008)
    curve = answer("rate-distortion", "--prior", places, "--beta", 0.003, "--beta", 0.004)
    assert best["measures"]["mutual_information_nats"] < other["measures"]["mutual_information_nats"]
    assert curve["free_distortion"] == pytest.approx(330)


def test_a_first_channel_may_forbid_an_output(places: Path, tmp_path: Path) -> None:
    weights = tmp_path / "w.csv"
    weights.write_text("1\n0\n1\n")
    saved = tmp_path / "c.json"
    arguments = ("design", "--mechanism", "blahut-arimoto", "--prior", places, "--beta", 0.005)
    answer(*arguments, "--first-channel", weights, "-o", saved)
    assert read_channel(saved).outputs == ("a", "c")
    refused("design", "--prior", places, "--epsilon", 1, "--first-channel", weights, says="not used by lip-optimal")
    refused(*arguments, "--epsilon", 1, says="needs one target and got 2")
    refused("design", "--prior", places, says="No epsilon")


def test_prior_sets_are_read_from_files(prior: Path, tmp_path: Path) -> None:
    known = answer("design", "--prior", prior, "--epsilon", 1)["average_distortion"]
    polytope, box = tmp_path / "poly.csv", tmp_path / "box.csv"
    polytope.write_text(".5,.3,.2\n.4,.4,.2\n.45,.25,.3\n")
    box.write_text(".45,.25,.15\n.55,.35,.25\n")
    for text in (f"polytope:{polytope}", f"box:{box}"):
        robust = answer("design", "--prior", prior, "--epsilon", 1, "--priors", text)
        assert robust["average_distortion"] > known
    refused("design", "--prior", prior, "--epsilon", 1, "--priors", "cube", says="no prior set")
    box.write_text(".45,.25,.15\n")
    refused("design", "--prior", prior, "--epsilon", 1, "--priors", f"box:{box}", says="has 1 rows")


def test_answers_are_json(prior: Path) -> None:
    assert json.loads(run("convert", 1, "--from", "lip", "--to", "ldp", "--prior", prior, "--json"))["ok"]


def test_a_yes_or_no_has_the_closed_form_also_for_an_interval() -> None:
    found = answer("binary", "0.3", "--epsilon", 1)["matrix"]
    assert found[0][1] == pytest.approx(0.1103638324)
    assert found[1][0] == pytest.approx(0.2575156088)
    interval = answer("binary", "0.2:0.4", "--epsilon", 1)["matrix"]
    assert interval[0][1] == pytest.approx(0.1534121321)
    assert interval[1][0] == pytest.approx(0.2689414214)
    refused("binary", "often", "--epsilon", 1, says="not a probability")


def test_the_most_information_within_a_leakage(tmp_path: Path) -> None:
    prior = tmp_path / "p.csv"
    prior.write_text(".5\n.3\n.15\n.05\n")
    assert answer("most-information", "--prior", prior, "--epsilon", 1)["mutual_information_nats"] == pytest.approx(
        0.2999050192
    )


def test_resampling_with_a_delta_tells_the_truth_more_often(prior: Path) -> None:
    assert answer("resample", "--prior", prior, "--epsilon", 1, "--delta", 0.05)["share_of_truth"] == pytest.approx(
        0.4920704571
    )
    stated = answer("resample", "--prior", prior, "--epsilon", 1, "--delta", 0.05)["guarantee"]["parameters"]
    assert max(stated["measured_delta_low"], stated["measured_delta_up"]) <= 0.05 + 1e-12


def test_a_latent_variable_is_hidden_and_the_symbol_is_not_promised(tmp_path: Path) -> None:
    given, secret = tmp_path / "given.csv", tmp_path / "s.csv"
    given.write_text(".6,.3,.1,0\n0,.1,.3,.6\n")
    secret.write_text(".7\n.3\n")
    found = answer("latent", "--given", given, "--secret-prior", secret, "--epsilon", 0.5)
    stated = found["guarantee"]["parameters"]
    assert max(stated["measured_up_nats"], stated["measured_low_nats"]) <= 0.5
    assert "nothing is promised" in run("latent", "--given", given, "--secret-prior", secret, "--epsilon", 0.5)


def test_a_leakage_whose_exponential_is_no_number_is_converted(prior: Path) -> None:
    found = answer("convert", 710, "--from", "lip", "--to", "ldp", "--prior", prior)["conversions"]["ldp"]
    smallest = min(float(line) for line in prior.read_text().split())
    assert found["value"] == pytest.approx(710 - np.log(smallest))
    assert found["printed"][0]["value"] == pytest.approx(710 - np.log(smallest))
    for source in ("ldp", "di", "lip"):
        assert "lip" in answer("convert", 1e5, "--from", source, "--prior", prior)["conversions"]
