"""Mechanisms at equal leakage: the published 6 x 6 table, the command, and who wins what."""

from __future__ import annotations

from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest
from channel_command import answer, refused, run

from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.channel import Channel
from sfumato.base.things.grid import Grid
from sfumato.channels.designs import comparison, tuned
from sfumato.channels.designs.comparison import compare
from sfumato.channels.designs.door import compared_rows
from sfumato.channels.designs.geo.planar import planar_laplace_matrix
from sfumato.channels.designs.lip.candidates import best_reported
from sfumato.channels.designs.lip.lip_optimal import optimal_channel
from sfumato.channels.measures.all_measures import measure_all
from sfumato.papers.lip.lip_comparison import synthetic_city


def test_nobody_leaks_more_than_asked_and_the_optimum_is_the_cheapest() -> None:
    grid = Grid.plain(3, 3)
    prior, _ = synthetic_city(3)
    distances = grid.distance_matrix()
    chosen = [name for name in compared_rows() if name != "blahut-arimoto"]  # slow; it is in the table's test
    rows = compare(prior, distances, [0.8], grid=grid, distances=distances, mechanisms=chosen)
    assert [row.mechanism for row in rows] == chosen
    for row in rows:
        assert row.lip <= 0.8
        assert row.average_distortion >= rows[0].average_distortion - 1e-6
        assert row.adversary_distortion <= row.average_distortion + 1e-9
        assert row.mutual_information_nats <= row.maximal_leakage + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("square", [1, 3])
def test_the_cost_of_a_row_is_the_cost_that_measuring_its_channel_finds(
    square: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns come in the order they were generated: a table that took them as symbols was wrong by up to 3,230."""
    grid = Grid.plain(square, 3)
    prior = np.array([0.2, 0.3, 0.5]) if square == 1 else synthetic_city(3)[0]
    cost = 1 - np.eye(3) if square == 1 else grid.distance_matrix()
    seen: list[Channel] = []
    row = comparison._row
    monkeypatch.setattr(
        comparison, "_row", lambda name, channel, *rest: (seen.append(channel), row(name, channel, *rest))[1]
    )
    chosen = [name for name in compared_rows() if name != "blahut-arimoto"]
    rows = compare(prior, cost, [epsilon], grid=grid, mechanisms=chosen)
    for compared, channel in zip(rows, seen, strict=True):
        where = [channel.inputs.index(label) for label in channel.outputs]
        law = CellPrior(prior, labels=channel.inputs)
        found = measure_all(channel, law, cost[:, where], distortion_name="given")
        assert compared.average_distortion == found.numbers["average_distortion"]
        assert compared.lip == found.numbers["lip"]
    best = optimal_channel(prior, cost, epsilon)
    assert rows[0].average_distortion == pytest.approx(best.objective, rel=1e-5)


def test_the_published_optimum_is_printed_whatever_the_order_of_the_symbols() -> None:
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        prior = np.array([0.2, 0.3, 0.5])[order]
        (row,) = compare(prior, 1 - np.eye(3), [2.0], mechanisms=["lip-optimal"])
        assert row.average_distortion == pytest.approx(0.0839078756, abs=1e-6)
        channel = optimal_channel(prior, 1 - np.eye(3), 2.0).value.channel
        assert [int(label) for label in channel.outputs] == sorted(int(label) for label in channel.outputs)


def test_the_synthetic_city_is_the_published_one() -> None:
    prior, distances = synthetic_city(6)
    assert prior.min() == pytest.approx(0.00316495, abs=1e-8)
    assert prior.max() == pytest.approx(0.10925014, abs=1e-8)
    assert -(prior * np.log(prior)).sum() == pytest.approx(3.311827, abs=1e-6)
    assert (prior @ distances).min() == pytest.approx(2.070135, abs=1e-6)


def test_the_command_prints_a_table_and_writes_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "c.svg"
    arguments = ("compare", "--synthetic", "4x4", "--mechanism", "lip-optimal", "--mechanism", "exponential")
    found = answer(*arguments, "--epsilon", 1, "--epsilon", 0.5, "--svg", picture)
    assert [row["target"] for row in found["rows"]] == [0.5, 0.5, 1.0, 1.0]
    assert {"ldp", "mutual_information_nats", "bayes_error", "average_distortion"} <= set(found["rows"][0])
    assert "lip-optimal" in minidom.parse(str(picture)).toxml()
    text = run(*arguments, "--epsilon", 1)
    assert "Bayes err" in text
    assert "exponential" in text


def test_the_command_compares_on_a_prior_of_ones_own(tmp_path: Path) -> None:
    prior = tmp_path / "p.csv"
    prior.write_text("label,value,x_m,y_m\na,5,0,0\nb,3,100,0\nc,2,0,200\n")
    found = answer(
        "compare", "--prior", prior, "--epsilon", 1, "--mechanism", "lip-optimal", "--mechanism", "ldp-tuned"
    )
    assert found["unit"] == "m"
    assert found["rows"][0]["geo_epsilon_per_unit"] > 0


def test_bad_comparisons_are_refused(tmp_path: Path) -> None:
    for arguments, words in (
        (("--epsilon", "1"), "either --prior or --synthetic"),
        (("--synthetic", "4x5"), "not a square city"),
        (("--synthetic", "4x4", "--epsilon", "-1"), "epsilon is -1"),
        (("--synthetic", "4x4", "--svg", str(tmp_path / "x.png")), "cannot be written as '.png'"),
        (("--synthetic", "4x4", "--mechanism", "magic"), "no mechanism ['magic']"),
    ):
        refused("compare", *arguments, says=words)
    with pytest.raises(InputError, match="square matrix"):
        compare([0.5, 0.5], np.zeros((2, 3)), [1.0])


def test_above_400_cells_only_closed_forms_and_the_optimum_of_the_notion_are_compared() -> None:
    place = np.stack(np.divmod(np.arange(21 * 21), 21), axis=1).astype(float)
    far = np.linalg.norm(place[:, None] - place[None], axis=2)
    p = np.full(441, 1 / 441)
    rows = compare(p, far, [1.0], mechanisms=["ldp-tuned", "exponential"])
    assert [row.mechanism for row in rows] == ["exponential"]
    assert 0.99 <= rows[0].lip <= 1.0
    with pytest.raises(InputError, match="441 symbols are too many to compare ldp-tuned"):
        compare(p, far, [1.0], mechanisms=["ldp-tuned"])


def test_a_notion_of_ones_own_is_held_equal() -> None:
    grid = Grid.plain(3, 3)
    prior, distances = synthetic_city(3)[0], grid.distance_matrix()

    def one_guess(matrix: np.ndarray, p: np.ndarray) -> float:
        return float((p[:, None] * matrix).max(axis=0).sum() / p.max() - 1)

    names = ["lip-optimal", "exponential", "randomized-response"]
    rows = compare(prior, distances, [0.2], grid=grid, at=one_guess, mechanisms=names)
    for row in rows:
        assert row.at == "one_guess"
        assert 0.19 <= row.measured <= 0.2
        assert row.measured == pytest.approx(np.expm1(row.min_entropy_leakage), abs=1e-12)
        assert row.within_target
    for bad in (lambda matrix, p: float("nan"), lambda matrix: 1.0, 7):
        with pytest.raises(InputError):
            compare(prior, distances, [0.2], at=bad, mechanisms=names)  # type: ignore[arg-type]


def test_the_optimum_per_unit_of_distance_is_compared_where_that_is_held_equal() -> None:
    grid = Grid.plain(4, 4)
    prior, distances = synthetic_city(4)[0], grid.distance_matrix()
    chosen = ["geo-optimal", "planar-laplace+remap", "exponential+remap"]
    rows = compare(prior, distances, [0.7], grid=grid, distances=distances, at="geo", mechanisms=chosen)
    best = rows[0]
    assert best.mechanism == "geo-optimal"
    assert best.lower_bound is not None
    assert best.lower_bound <= best.average_distortion <= min(row.average_distortion for row in rows[1:])
    assert best.average_distortion <= best.lower_bound * (1 + 1e-4)
    assert best.geo_epsilon_per_unit is not None
    assert best.geo_epsilon_per_unit <= 0.7
    with pytest.raises(InputError, match="cannot be compared at equal lip"):
        compare(prior, distances, [0.7], grid=grid, distances=distances, mechanisms=["geo-optimal"])


def test_the_optimum_that_ran_out_of_time_costs_no_more_than_planar_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "_MOST_SECONDS", 0.01)
    grid = Grid.plain(21, 21, 6 / 21, 6 / 21)
    prior, distances = synthetic_city(21)
    rows = compare(prior, distances, [2.0], grid=grid, at="geo", mechanisms=["geo-optimal", "exponential+remap"])
    stopped, exponential = (row.average_distortion for row in rows)
    laplace = best_reported(planar_laplace_matrix(grid, 2.0), prior, distances)
    assert stopped <= laplace.cost * (1 + 1e-9) < exponential


def test_the_optimum_of_the_notion_is_compared_beyond_400_symbols_with_a_certified_bracket() -> None:
    prior, distances = synthetic_city(21)
    row = compare(prior, distances, [1.0], mechanisms=["lip-optimal"])[0]
    assert row.lip <= 1.0
    assert row.lower_bound is not None
    assert row.lower_bound <= row.average_distortion <= 1.05 * row.lower_bound
    with pytest.raises(InputError, match="441 symbols are too many"):
        compare(prior, distances, [1.0], at="ldp", mechanisms=["lip-optimal"])
