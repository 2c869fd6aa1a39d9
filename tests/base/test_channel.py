"""Channels: checked rows, Bayes' rule, exact sampling, and files that give the same bits back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sfumato.base.errors import InputError
from sfumato.base.randomness import Randomness
from sfumato.base.things.cell_files import read_cells
from sfumato.base.things.channel import Channel, _ExactRow
from sfumato.channels.files.channel_files import read_channel, write_channel

Q = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
P = [0.5, 0.3, 0.2]


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    keep = probabilities > 0
    assert counts[~keep].sum() == 0
    return float(stats.chisquare(counts[keep], counts.sum() * probabilities[keep]).pvalue)


@pytest.mark.parametrize(
    "matrix", [[[0.5, 0.6]], [[-0.1, 1.1]], [[np.nan, 1.0]], [[np.inf, 0.0]], [[]], [0.5, 0.5], [["a", "b"]]]
)
def test_what_is_not_a_channel_is_refused_with_advice(matrix: object) -> None:
    with pytest.raises(InputError):
        Channel(matrix)  # type: ignore[arg-type]


def test_the_message_names_the_row_that_does_not_sum_to_one() -> None:
    with pytest.raises(InputError, match=r"Row 1 of the channel sums to 0\.9"):
        Channel([[0.5, 0.5], [0.4, 0.5]])  # type: ignore[arg-type]


def test_rounding_in_a_file_is_forgiven_and_divided_out() -> None:
    channel = Channel(np.array([[0.3333333, 0.3333333, 0.3333333]]))
    assert channel.matrix.sum() == pytest.approx(1.0, abs=1e-15)


def test_the_matrix_is_read_only_and_labels_are_different() -> None:
    channel = Channel(np.array(Q))
    with pytest.raises(ValueError):
        channel.matrix[0, 0] = 1
    with pytest.raises(InputError):
        Channel(np.array(Q), inputs=("a", "a", "b"))


def test_the_posterior_is_bayes_rule_and_an_impossible_report_has_none() -> None:
    channel = Channel(np.array(Q))
    joint = np.array(P)[:, None] * np.array(Q)
    np.testing.assert_allclose(channel.posterior(P, 1), joint[:, 1] / joint[:, 1].sum())
    with pytest.raises(InputError):
        Channel(np.array([[1.0, 0.0], [0.0, 1.0]])).posterior([1.0, 0.0], 1)


def test_composition_and_post_processing_are_what_they_say() -> None:
    a, b = Channel(np.array(Q)), Channel(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    np.testing.assert_allclose(a.compose(b).matrix, np.array(Q) @ b.matrix)
    np.testing.assert_allclose(a.post_process([0, 1, 0]).matrix[:, 0], np.array(Q)[:, [0, 2]].sum(axis=1))
    np.testing.assert_allclose(a.push_forward(P), np.array(P) @ np.array(Q))
    with pytest.raises(InputError):
        b.compose(a)


def test_a_channel_can_be_restricted_to_some_inputs() -> None:
    channel = Channel(np.array(Q), inputs=("a", "b", "c"), distortion=1 - np.eye(3), positions_m=np.ones((3, 2)))
    some = channel.only_inputs([2, 0])
    assert some.inputs == ("c", "a")
    np.testing.assert_array_equal(some.matrix, np.array(Q)[[2, 0]])
    with pytest.raises(InputError):
        channel.only_inputs([3])


def test_samples_follow_the_rows() -> None:
    channel = Channel(np.array(Q))
    drawn = channel.sample(np.repeat([0, 1, 2], 60_000), rng=11)
    for x in range(3):
        counts = np.bincount(drawn[x * 60_000 : (x + 1) * 60_000], minlength=3)
        assert chi_square(counts, channel.row(x)) > 1e-4


def test_thresholds_are_exact_fractions_of_the_stored_doubles() -> None:
    row = np.array([0.1, 0.2, 1e-300, 0.7 - 1e-17])
    exact = _ExactRow.of(row)
    total = sum(Fraction(float(value)) for value in row)
    running = Fraction(0)
    for index, value in enumerate(row[:-1]):
        running += Fraction(float(value))
        assert int(exact.words[index]) == (running / total * 2**64).__floor__()


def test_no_outcome_of_positive_probability_is_lost() -> None:
    # 1e-300 is far below one word; the word that hits its threshold is decided by further bits.
    row = np.array([0.5, 1e-300, 0.5])
    exact = _ExactRow.of(row)
    total = Fraction(row[0]) + Fraction(row[1]) + Fraction(row[2])
    start, stop = Fraction(row[0]) / total, (Fraction(row[0]) + Fraction(row[1])) / total
    middle = (start + stop) / 2
    scaled = middle * 2**64
    bits = [int(scaled)]
    assert bits[0] in exact.words
    for _ in range(20):
        scaled = (scaled - int(scaled)) * 2**64
        bits.append(int(scaled))
    queue = iter(bits)
    source = Randomness(lambda n: np.array([next(queue) for _ in range(n)], dtype=np.uint64), True, "chosen")
    assert exact.draw(1, source).tolist() == [1]


def test_sampling_refuses_symbols_that_are_not_inputs() -> None:
    channel = Channel(np.array(Q))
    for bad in ([3], [-1], [0.5]):
        with pytest.raises(InputError):
            channel.sample(bad, rng=1)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json"])
def test_a_channel_survives_its_file_bit_for_bit(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(4), size=3)
    channel = Channel(
        matrix, inputs=("a", "b, with comma", "ç"), outputs=("w", "x(1)", "y", "z"), distortion=rng.random((3, 4)),
        distortion_name="file", positions_m=rng.random((3, 2)) * 1e3,
    )  # fmt: skip
    path = tmp_path / f"channel{ending}"
    write_channel(channel, path)
    back = read_channel(path)
    np.testing.assert_array_equal(back.matrix, channel.matrix)
    np.testing.assert_array_equal(back.distortion, channel.distortion)  # type: ignore[arg-type]
    np.testing.assert_array_equal(back.positions_m, channel.positions_m)  # type: ignore[arg-type]
    assert (back.inputs, back.outputs, back.distortion_name) == (channel.inputs, channel.outputs, "file")


def test_a_bare_numeric_table_is_a_channel(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("0.7,0.3\n0.2,0.8\n")
    assert read_channel(path).matrix.tolist() == [[0.7, 0.3], [0.2, 0.8]]
    (tmp_path / "bare.json").write_text("[[0.7, 0.3], [0.2, 0.8]]")
    assert read_channel(tmp_path / "bare.json").shape == (2, 2)


@pytest.mark.parametrize("text", ["", "0.7,0.3\n0.2\n", "a,b\n1,2\n", "0.7,0.4\n0.2,0.8\n", "nan,1\n0,1\n"])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        read_channel(path)
    with pytest.raises(InputError):
        read_channel(tmp_path / "absent.parquet")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json"])
def test_odd_labels_survive_every_file(tmp_path: Path, ending: str) -> None:
    names = ("#1", "#2", "a\nb", "a\r\nb", "c\x85d", "e\u2028f", "g\x0ch", 'q"uote')
    channel = Channel(np.eye(8), inputs=names, outputs=names)
    path = tmp_path / f"odd{ending}"
    write_channel(channel, path)
    back = read_channel(path)
    assert (back.inputs, back.outputs) == (names, names)
    np.testing.assert_array_equal(back.matrix, channel.matrix)


def test_a_label_that_begins_with_a_hash_is_a_cell_and_only_the_top_is_comment(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("# counts of May\n\nlabel,value\nb,20\n#2,30\nc,10\n")
    table = read_cells(path)
    assert table.labels == ("b", "#2", "c")
    assert table.values.tolist() == [20, 30, 10]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.json", "[[1,0],[0,1],7]"),
        ("m.json", '{"format": "sfumato channel", "version": 1, "matrix": [[1.0]], "inputs": 5}'),
        ("m.csv", "# only a comment\n"),
    ],
)
def test_what_is_not_a_matrix_is_refused_and_not_shortened(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError):
        read_channel(tmp_path / name)


@pytest.mark.parametrize(("name", "text"), [("p.csv", "label,value\n"), ("p.json", '[{"label": null, "value": 1}]')])
def test_a_prior_without_rows_or_labels_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError):
        read_cells(tmp_path / name)
