"""`sfumato channel`: files in, one JSON object out, and refusals with advice."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from channel_command import answer, refused, run
from rich.table import Table

from sfumato.channels.designs.design_registry import DESIGNS
from sfumato.cli.output import table_console


@pytest.fixture
def prior(tmp_path: Path) -> Path:
    path = tmp_path / "prior.csv"
    path.write_text("0.5\n0.3\n0.2\n")
    return path


@pytest.fixture
def places(tmp_path: Path) -> Path:
    path = tmp_path / "places.csv"
    path.write_text("label,value,x_m,y_m\na,5,0,0\nb,3,100,0\nc,2,0,200\n")
    return path


def test_design_and_measure_agree_and_match_the_published_optimum(tmp_path: Path, prior: Path) -> None:
    saved = tmp_path / "channel.parquet"
    made = answer(
        "design", "--mechanism", "lip-optimal", "--prior", prior, "--distortion", "hamming", "--epsilon", 1, "-o", saved
    )
    assert made["average_distortion"] == pytest.approx(0.2742007565, abs=1e-6)
    assert made["gap"] <= 1e-6
    assert made["guarantee"]["notion"] == "local information privacy"
    found = answer("measure", saved, "--prior", prior)
    for field in (
        "lip",
        "lip_up",
        "lip_low",
        "ldp",
        "di",
        "mutual_information_nats",
        "maximal_leakage",
        "average_distortion",
        "bayes_error",
    ):
        assert found[field] == made["measures"][field]
    assert found["lip"] <= 1
    assert found["distortion"] == "hamming"
    assert "geo_epsilon_per_m" not in found


def test_a_bare_channel_is_measured_with_hamming_distortion(tmp_path: Path, prior: Path) -> None:
    bare = tmp_path / "q.csv"
    bare.write_text(".7,.2,.1\n.1,.8,.1\n.25,.25,.5\n")
    found = answer("measure", bare, "--prior", prior, "--epsilon", 0.5)
    assert found["lip"] == pytest.approx(1.4586150227, abs=1e-9)
    assert found["ldp"] == pytest.approx(1.9459101491, abs=1e-9)
    assert found["di"] == pytest.approx(2.4567357728, abs=1e-9)
    assert found["average_distortion"] == pytest.approx(0.31)
    assert found["lip_pair"] == {"input": "1", "output": "0"}
    assert 0 < found["epsilon_delta"]["delta_up"] < 1


def test_places_give_euclidean_distortion_and_geo_indistinguishability(tmp_path: Path, places: Path) -> None:
    saved = tmp_path / "c.json"
    made = answer("design", "--prior", places, "--distortion", "euclidean", "--epsilon", 1, "-o", saved)
    found = answer("measure", saved, "--prior", places)
    assert found["geo_epsilon_per_m"] == pytest.approx(made["measures"]["geo_epsilon_per_m"])
    assert found["distortion"] == "euclidean"
    again = answer("measure", saved, "--prior", places, "--distortion", "hamming")
    assert again["distortion"] == "hamming"
    assert again["average_distortion"] != found["average_distortion"]


def test_labels_bring_a_prior_in_another_order_back_into_order(tmp_path: Path, places: Path) -> None:
    saved, shuffled = tmp_path / "c.csv", tmp_path / "shuffled.csv"
    answer("design", "--prior", places, "--distortion", "euclidean", "--epsilon", 1, "-o", saved)
    shuffled.write_text("label,value,x_m,y_m\nc,2,0,200\na,5,0,0\nb,3,100,0\n")
    assert answer("measure", saved, "--prior", shuffled)["lip"] == answer("measure", saved, "--prior", places)["lip"]
    shuffled.write_text("label,value\nz,2\na,5\nb,3\n")
    refused("measure", saved, "--prior", shuffled, says="by label")


def test_latitudes_and_longitudes_are_metres_on_the_ground(tmp_path: Path) -> None:
    path = tmp_path / "deg.csv"
    path.write_text("label,value,lat,lon\na,0.5,60.0,10.0\nb,0.5,60.0,10.01\n")
    made = answer(
        "design", "--mechanism", "exponential", "--prior", path, "--distortion", "euclidean", "--epsilon", 0.001
    )
    assert made["measures"]["geo_epsilon_per_m"] == pytest.approx(0.001, rel=1e-6)
    odds = made["measures"]["ldp"]
    assert odds == pytest.approx(0.001 * 558.0, rel=1e-3)


@pytest.mark.parametrize("mechanism", ["planar-laplace", "planar-geometric", "exponential", "geo-optimal"])
def test_geo_mechanisms_on_a_grid(tmp_path: Path, mechanism: str) -> None:
    path = tmp_path / "grid.csv"
    path.write_text("\n".join(str(1 + (index % 5)) for index in range(9)))
    made = answer(
        "design",
        "--mechanism",
        mechanism,
        "--prior",
        path,
        "--grid",
        "3x3",
        "--cell-size",
        "500m",
        "--distortion",
        "euclidean",
        "--epsilon",
        0.002,
        "--remap",
        "-o",
        tmp_path / "c.parquet",
    )
    assert made["measures"]["geo_epsilon_per_m"] <= 0.002
    assert answer("measure", tmp_path / "c.parquet", "--prior", path, "--grid", "3x3", "--cell-size", "500m")["lip"] > 0


@pytest.mark.parametrize("mechanism", ["ldp-optimal", "ldp-tuned", "blahut-arimoto", "prior-resampling", "top-k"])
def test_other_mechanisms(prior: Path, mechanism: str) -> None:
    made = answer("design", "--mechanism", mechanism, "--prior", prior, "--epsilon", 1)
    assert made["measures"]["lip"] <= 1
    assert made["average_distortion"] == made["measures"]["average_distortion"]


def test_prior_sets_from_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("500\n300\n200\n")
    known = answer("design", "--prior", path, "--epsilon", 1)
    robust = answer("design", "--prior", path, "--epsilon", 1, "--priors", "clopper-pearson")
    worst = answer("design", "--prior", path, "--epsilon", 1, "--priors", "all")
    assert known["average_distortion"] < robust["average_distortion"] < worst["average_distortion"]
    assert "box" in robust["guarantee"]["assumes"][0]


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("0.5\n0.3\n0.1\n", (), "neither probabilities nor counts"),
        ("0.5\n-0.5\n1\n", (), "negative"),
        ("0.5\nnan\n", (), "NaN"),
        ("a\nb\n", (), "not a number"),
        ("", (), "empty"),
        ("1\n0\n3\n", (), "probability 0"),
        ("0.5\n0.5\n", ("--epsilon", "0"), "epsilon is 0"),
        ("0.5\n0.5\n", ("--epsilon", "-1"), "epsilon is -1"),
        ("0.5\n0.5\n", ("--distortion", "euclidean"), "no coordinates"),
        ("0.5\n0.5\n", ("--mechanism", "magic"), "no mechanism"),
        ("0.5\n0.5\n", ("--priors", "tv:2"), "radius"),
        ("0.5\n0.5\n", ("--priors", "clopper-pearson"), "needs counts"),
        ("0.5\n0.5\n", ("--mechanism", "planar-laplace"), "needs --grid"),
        ("0.5\n0.5\n", ("--grid", "3x3"), "9 cells"),
        ("label,value,lat\na,1,2\n", (), "only one of"),
    ],
)
def test_bad_input_is_refused_with_advice(tmp_path: Path, text: str, arguments: tuple[str, ...], words: str) -> None:
    path = tmp_path / "prior.csv"
    path.write_text(text)
    given = arguments if "--epsilon" in arguments else (*arguments, "--epsilon", "1")
    found = refused("design", "--prior", path, *given, says=words)
    assert found["advice"] or "only one" in words


def test_zeros_are_dropped_or_floored_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("label,value\na,1\nb,0\nc,3\n")
    assert answer("design", "--prior", path, "--epsilon", 1, "--drop-zeros")["measures"]["prior"]["symbols"] == 2
    assert answer("design", "--prior", path, "--epsilon", 1, "--floor", 0.1)["measures"]["prior"]["symbols"] == 3


def test_measuring_leaves_out_zeros_only_on_request(tmp_path: Path) -> None:
    prior, bare = tmp_path / "prior.csv", tmp_path / "q.csv"
    prior.write_text("0.5\n0.5\n0\n")
    bare.write_text("0.5,0.5\n0.5,0.5\n0.001,0.999\n")
    refused("measure", bare, "--prior", prior, says="--drop-zeros")
    over_support = answer("measure", bare, "--prior", prior, "--drop-zeros")
    assert over_support["lip"] == pytest.approx(0, abs=1e-12)
    assert over_support["shape"] == [2, 2]
    assert answer("measure", bare, "--prior", prior, "--floor", 0.3)["lip"] > 3


def test_an_infinite_leakage_is_named_and_the_file_is_never_half_written(tmp_path: Path, prior: Path) -> None:
    bare = tmp_path / "identity.csv"
    bare.write_text("1,0,0\n0,1,0\n0,0,1\n")
    found = answer("measure", bare, "--prior", prior)
    assert found["lip"] is None
    assert "lip" in found["infinite"]
    refused("design", "--prior", prior, "--epsilon", 1, "-o", tmp_path / "c.xlsx", says="cannot be written as '.xlsx'")
    assert not (tmp_path / "c.xlsx").exists()
    two = tmp_path / "two.csv"
    two.write_text("0.5\n0.5\n")
    refused("measure", bare, "--prior", two, says="2 symbols and the channel 3 inputs")
    assert np.isfinite(found["mutual_information_nats"])


@pytest.mark.parametrize("mechanism", ["planar-laplace", "planar-geometric"])
def test_a_grid_with_a_cell_size_promises_per_metre(prior: Path, mechanism: str) -> None:
    made = answer(
        "design", "--prior", prior, "--mechanism", mechanism, "--grid", "1x3", "--cell-size", "500m", "--epsilon", 0.002
    )
    promised = made["guarantee"]["parameters"]
    assert promised["epsilon_per_m"] == 0.002
    assert promised["measured_epsilon_per_m"] == pytest.approx(made["measures"]["geo_epsilon_per_m"])
    assert made["measures"]["geo_epsilon_per_m"] <= 0.002
    assert not any("cell" in key for key in promised)
    assert "d m apart" in made["guarantee"]["covers"][0]


def test_places_in_cells_are_never_taken_for_metres(tmp_path: Path, prior: Path) -> None:
    saved = tmp_path / "cells.json"
    made = answer("design", "--prior", prior, "--grid", "1x3", "--epsilon", 1, "-o", saved)
    assert "geo_epsilon_per_cell" in made["measures"]
    assert "geo_epsilon_per_m" not in made["measures"]
    assert "geo_epsilon_per_m" not in answer("measure", saved, "--prior", prior)
    found = answer("measure", saved, "--prior", prior, "--grid", "1x3")
    assert found["geo_epsilon_per_cell"] == made["measures"]["geo_epsilon_per_cell"]
    assert "geo_epsilon_per_m" not in found


def test_a_grid_that_contradicts_the_coordinates_is_refused(tmp_path: Path) -> None:
    near = tmp_path / "near.csv"
    near.write_text("label,value,x_m,y_m\na,.5,0,0\nb,.3,1,0\nc,.2,2,0\n")
    laplace = ("design", "--prior", near, "--mechanism", "planar-laplace", "--grid", "1x3", "--epsilon", 0.002)
    refused(*laplace, "--cell-size", "500m", says="disagree")
    refused(*laplace, says="has no size to compare")
    made = answer(
        "design",
        "--prior",
        near,
        "--mechanism",
        "planar-laplace",
        "--grid",
        "1x3",
        "--cell-size",
        "1m",
        "--epsilon",
        0.5,
    )
    assert made["measures"]["geo_epsilon_per_m"] <= 0.5


def test_longitudes_are_unwrapped_at_their_largest_gap(tmp_path: Path) -> None:
    bare = tmp_path / "q.csv"
    bare.write_text(".8,.1,.1\n.1,.8,.1\n.1,.1,.8\n")
    across = tmp_path / "across.csv"
    across.write_text("label,value,lat,lon\n0,.5,0,175\n1,.3,0,-175\n2,.2,0,-170\n")
    # the nearest pair is 5 degrees apart on the equator
    assert answer("measure", bare, "--prior", across)["geo_epsilon_per_m"] == pytest.approx(
        np.log(8) / (5 * 111_319.49), rel=2e-3
    )
    for text, words in (
        ("0,.5,0,0\n1,.3,0,170\n2,.2,0,-170\n", "more than 180 degrees"),
        ("0,.5,90,0\n1,.3,90,10\n2,.2,90,20\n", "at a pole"),
    ):
        across.write_text("label,value,lat,lon\n" + text)
        refused("measure", bare, "--prior", across, says=words)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_a_rectangular_distortion_is_refused_where_reports_are_symbols(tmp_path: Path, prior: Path, design) -> None:
    wide = tmp_path / "d.csv"
    wide.write_text("0,1\n1,0\n2,1\n")
    arguments = ("design", "--prior", prior, "--mechanism", design.name, "--grid", "1x3", "--distortion", wide)
    if design.reports_symbols:
        refused(*arguments, "--epsilon", 1, says="reports one of the 3 symbols")
    else:
        assert answer(*arguments, "--epsilon", 1)["measures"]["shape"][1] <= 2


def test_a_prior_in_another_order_is_matched_by_label_also_when_labels_are_numbers(tmp_path: Path, prior: Path) -> None:
    saved, other = tmp_path / "c.parquet", tmp_path / "other.csv"
    made = answer("design", "--prior", prior, "--epsilon", 1, "-o", saved)
    other.write_text("label,value\n2,.2\n0,.5\n1,.3\n")
    assert answer("measure", saved, "--prior", other)["lip"] == pytest.approx(made["measures"]["lip"], abs=1e-12)


def test_the_optimal_geo_channel_records_the_name_of_its_distortion(tmp_path: Path, places: Path) -> None:
    saved = tmp_path / "geo.json"
    answer(
        "design",
        "--prior",
        places,
        "--mechanism",
        "geo-optimal",
        "--distortion",
        "euclidean",
        "--epsilon",
        0.01,
        "-o",
        saved,
    )
    assert answer("measure", saved, "--prior", places)["distortion"] == "euclidean"


def test_a_set_from_counts_states_its_method_and_its_error_probability(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("50\n30\n20\n")
    made = answer("design", "--prior", counts, "--priors", "clopper-pearson", "--set-error", 0.1, "--epsilon", 1)
    assert made["prior_set"] == {"method": "clopper-pearson", "set_error": 0.1, "holds_with_probability": 0.9}
    assert any("probability 0.9" in words for words in made["guarantee"]["assumes"])
    counts.write_text("50\n30\n20\n0\n")
    dropped = ("design", "--prior", counts, "--priors", "clopper-pearson", "--drop-zeros", "--epsilon", 1)
    refused(*dropped, says="never seen cannot be dropped")


@pytest.mark.parametrize("mechanism", ["lip-optimal", "ldp-optimal", "prior-resampling", "top-k"])
@pytest.mark.parametrize("epsilon", ["1e-13", "1e-300"])
def test_an_epsilon_that_drowns_in_rounding_is_refused(prior: Path, mechanism: str, epsilon: str) -> None:
    refused("design", "--prior", prior, "--mechanism", mechanism, "--epsilon", epsilon, says="cannot be told from 0")


@pytest.mark.parametrize("option", ["--gap", "--max-seconds"])
@pytest.mark.parametrize("value", ["nan", "-1", "0", "inf"])
def test_impossible_limits_of_the_solver_are_refused(prior: Path, option: str, value: str) -> None:
    refused("design", "--prior", prior, "--epsilon", 1, option, value, says=f"{option} is")


def test_a_gap_that_is_missed_is_an_error_and_writes_nothing_unless_accepted(tmp_path: Path, places: Path) -> None:
    saved = tmp_path / "channel.json"
    wish = ("design", "--mechanism", "geo-optimal", "--prior", places, "--epsilon", 0.01, "--distortion", "euclidean",
            "--gap", 1e-15, "-o", saved)  # fmt: skip
    refused(*wish, says="--accept-gap")
    assert not saved.exists()
    taken = answer(*wish, "--accept-gap")
    assert taken["status"] == "stopped"
    assert 1e-15 < taken["gap"] < 1e-3
    assert saved.exists()
    reached = answer("design", "--mechanism", "geo-optimal", "--prior", places, "--epsilon", 0.01)
    assert reached["status"] == "converged"
    assert reached["gap"] <= 5e-5


@pytest.mark.parametrize("mechanism", ["exponential", "geo-optimal", "lip-optimal", "prior-resampling"])
def test_after_a_remap_everything_is_measured_on_what_ships(places: Path, mechanism: str) -> None:
    epsilon = 0.01 if "geo" in mechanism or mechanism == "exponential" else 1
    made = answer(
        "design", "--mechanism", mechanism, "--prior", places, "--epsilon", epsilon, "--distortion", "euclidean",
        "--remap", "--gap", 1e-4,
    )  # fmt: skip
    assert made["average_distortion"] == pytest.approx(made["measures"]["average_distortion"], rel=1e-12)
    promised = made["guarantee"]["parameters"]
    if "measured_epsilon_per_m" in promised:
        assert promised["measured_epsilon_per_m"] == pytest.approx(made["measures"]["geo_epsilon_per_m"], rel=1e-9)
        assert promised["measured_epsilon_per_m"] <= epsilon
    else:
        assert promised["measured_up_nats"] == pytest.approx(made["measures"]["lip_up"], rel=1e-9)


def test_comparing_what_cannot_be_compared_is_refused(tmp_path: Path, prior: Path) -> None:
    hamming = ("compare", "--distortion", "hamming", "--prior")
    refused(*hamming, prior, "--mechanism", "planar-laplace", says="needs a grid")
    refused(*hamming, prior, "--mechanism", "magic", says="no mechanism ['magic']")
    one, header = tmp_path / "one.csv", tmp_path / "header.csv"
    one.write_text("1\n")
    header.write_text("label,value\n")
    refused(*hamming, one, says="nothing to compare")
    refused(*hamming, header, says="a header and no rows")


def test_negative_distortions_are_refused_by_measure_too(tmp_path: Path, prior: Path) -> None:
    bare, costs = tmp_path / "q.csv", tmp_path / "d.csv"
    bare.write_text(".7,.2,.1\n.1,.8,.1\n.25,.25,.5\n")
    costs.write_text("0,-1,1\n1,0,1\n1,1,0\n")
    refused("measure", bare, "--prior", prior, "--distortion", costs, says="negative entries")


def test_a_mistyped_option_is_no_refusal_of_ours(prior: Path) -> None:
    with pytest.raises(AssertionError, match="option parser"):
        refused("design", "--prior", prior, "--epsilon", 1, "--gapp", 1, says="")


def test_every_design_is_offered_by_name_and_what_it_does_not_use_is_refused(prior: Path) -> None:
    words = " ".join(run("design", "--help").split())
    for design in DESIGNS:
        assert design.name in words
        if not design.for_prior_sets:
            asked = ("design", "--prior", prior, "--mechanism", design.name, "--epsilon", 1)
            refused(*asked, "--priors", "all", says=f"--priors is not used by {design.name}")
            refused(*asked, "--epsilon-low", 2, says=f"--epsilon-low is not used by {design.name}")


def test_a_table_in_a_pipe_shows_every_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Piped tables were cut at 80 columns: "1.8…"."""
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    table = Table(*(f"column number {k}" for k in range(20)))
    table.add_row(*(f"{k + 0.123456789:.9f}" for k in range(20)))
    table_console().print(table)
    assert "…" not in out.getvalue()
    assert all(f"{k + 0.123456789:.9f}" in out.getvalue() for k in range(20))
