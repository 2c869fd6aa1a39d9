"""One person changes a table by no more than the bound, whoever they are and whatever their rows hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.base.errors import InputError
from sfumato.base.randomness import randomness
from sfumato.base.things.grid import Grid
from sfumato.tracks.aggregates.contributions import PARTS, at_most, shared_out
from sfumato.tracks.aggregates.person_rows import PersonRows, TableColumns, id_text

KEYS = 6
ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, KEYS - 1)), max_size=40)
ONE = st.lists(st.integers(0, KEYS - 1), max_size=60)


def rows_of(pairs: list[tuple[int, int]]) -> PersonRows:
    """Rows as arrays."""
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return PersonRows(found[:, 0].copy(), found[:, 1].copy())


def neighbours(others: list[tuple[int, int]], theirs: list[int]) -> tuple[PersonRows, PersonRows]:
    """Data without and with one person, whose rows come last (so that the others draw the same numbers)."""
    return rows_of(others), rows_of([*others, *((99, key) for key in theirs)])


@settings(max_examples=150, deadline=None)
@given(ROWS, ONE, st.integers(1, 5), st.integers(0, 9))
def test_one_person_more_changes_bounded_counts_by_at_most_the_bound(
    others: list[tuple[int, int]], theirs: list[int], bound: int, seed: int
) -> None:
    without, with_them = (at_most(one, KEYS, bound, randomness(seed)) for one in neighbours(others, theirs))
    assert np.abs(with_them - without).sum() == min(bound, len(theirs))
    assert (with_them >= without).all()


@settings(max_examples=150, deadline=None)
@given(ROWS, ONE)
def test_everybody_who_has_a_row_weighs_exactly_the_same(others: list[tuple[int, int]], theirs: list[int]) -> None:
    without, with_them = (shared_out(one, KEYS) for one in neighbours(others, theirs))
    assert np.abs(with_them - without).sum() == (PARTS if theirs else 0)
    own = np.bincount(theirs, minlength=KEYS) / max(len(theirs), 1) * PARTS
    assert np.abs((with_them - without) - own).max() < 1


def test_a_person_with_a_million_rows_weighs_what_the_bound_says() -> None:
    crowd = [(person, person % KEYS) for person in range(50)]
    without = rows_of(crowd)
    million = PersonRows(np.r_[without.person, np.full(10**6, 99)], np.r_[without.key, np.full(10**6, 3)])
    one = at_most(million, KEYS, 7, randomness(1)) - at_most(without, KEYS, 7, randomness(1))
    assert one.tolist() == [0, 0, 0, 7, 0, 0]
    divided = shared_out(million, KEYS) - shared_out(without, KEYS)
    assert divided.tolist() == [0, 0, 0, PARTS, 0, 0]


def test_which_rows_of_a_person_count_is_left_to_chance() -> None:
    rows = rows_of([(0, key) for key in range(KEYS) for _ in range(10)])
    drawn = np.sum([at_most(rows, KEYS, 6, randomness(seed)) for seed in range(300)], axis=0)
    assert np.abs(drawn / 300 - 1).max() < 0.25


@pytest.mark.parametrize(
    ("one", "other"), [(7, "7"), (7, 7.0), ("7.0", " 7 "), ("Anna", " Anna\t"), ("Ⅷ", "VIII"), (True, "True")]
)
def test_one_person_is_one_person_however_their_id_is_typed(one: object, other: object) -> None:
    assert id_text(one) == id_text(other) != ""


@pytest.mark.parametrize("nobody", [None, float("nan"), "", "  ", "NaN", "None", "null", "n/a", "<NA>"])
def test_ids_of_nobody_are_nobody(nobody: object) -> None:
    assert id_text(nobody) == ""


def test_ids_that_floats_cannot_tell_apart_are_refused_without_naming_them() -> None:
    with pytest.raises(InputError) as error:
        id_text(9007199254740994.0)
    assert "9007199254740994" not in str(error.value)


def test_one_person_in_files_of_three_kinds_is_one_person(tmp_path: Path) -> None:
    folder = tmp_path
    where = {"lat": [48.1, 48.1], "lon": [2.1, 2.1]}
    pyarrow.parquet.write_table(pa.table({"user_id": pa.array([7, 8]), **where}), folder / "a.parquet")
    floats = pa.table({"user_id": pa.array([7.0, None]), **where})
    pyarrow.parquet.write_table(floats, folder / "b.parquet")
    pyarrow.csv.write_csv(pa.table({"user_id": [" 7 ", "none"], **where}), folder / "c.csv")
    rows = TableColumns(folder).in_cells(Grid.from_bounds(48.0, 2.0, 48.2, 2.2, cell_size_m=30_000))
    assert sorted(np.bincount(rows.person).tolist()) == [1, 3]
