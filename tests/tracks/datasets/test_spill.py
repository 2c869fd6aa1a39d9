"""Rows dealt out and gathered again: ids of any type, pieces of any size, row groups of any size."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from people_rows import by_person, rows, written

from sfumato.base.errors import InputError
from sfumato.tracks.certificates.person_ids import _visible, canonical_id
from sfumato.tracks.folders.rows import dataset, dataset_job, spill
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.rows.planes import people_bytes, people_from
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

PLAN = Plan(ids="keep", noise_m=200.0)
IDS = [
    pa.array(["a", "", "ümlaut", "x" * 40, "b"]),
    pa.array(["a", "bc", "d", "e", "f"], pa.large_string()),
    pa.array([b"a", b"\0\xff", b"", b"d", b"e"]),
    pa.array([1, -2, 3, 4, 5], pa.int32()),
    pa.array([1.5, 2.5, -3.0, 4.0, 5.0]),
    pa.array([True, False, True, True, False]),
    pa.array([Decimal("1.25"), Decimal("2"), Decimal("3"), Decimal("4"), Decimal("5")]),
    pa.array([1, 2, 3, 4, 5], pa.timestamp("us", "UTC")),
]


@pytest.mark.parametrize("ids", IDS, ids=lambda ids: str(ids.type))
@pytest.mark.parametrize("offset", [0, 2])
def test_people_come_back_bucket_by_bucket(ids: pa.Array, offset: int) -> None:
    ids = ids.slice(offset)
    counts, edges = np.arange(10, 10 + len(ids)), np.array([0, 1, 1, len(ids)])
    data, ends = people_bytes(counts, ids, edges)
    parts = [
        (int(edges[bucket + 1] - edges[bucket]), data[ends[bucket] : ends[bucket + 1]].tobytes()) for bucket in range(3)
    ]
    found, people = people_from([parts[2], parts[0]], ids.type)
    assert found.tolist() == [*counts[1:].tolist(), 10]
    assert people.type == ids.type
    assert people.to_pylist() == [*ids.slice(1).to_pylist(), ids[0].as_py()]


def test_ids_in_plain_letters_are_what_all_letters_are() -> None:
    """The short way through :func:`canonical_id` against the long one, that of letters which must be looked at."""
    rng = np.random.default_rng(5)
    letters = [chr(code) for code in range(32, 127)]
    for _ in range(3000):
        text = "".join(rng.choice(letters, rng.integers(1, 6)))
        if text.strip():
            assert canonical_id(text) == canonical_id(text + "\u200b"), text  # the same, with what cannot be seen
            assert _visible(text) == text


@pytest.mark.parametrize("piece_rows", [1, 300, 10**6])
def test_pieces_change_no_byte_of_anybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_rows: int) -> None:
    monkeypatch.setattr(dataset_job, "_PIECE_ROWS", piece_rows)
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    table = rows(2000, 15)
    protect_dataset(written(tmp_path / "in", table), tmp_path / "out", PLAN, rng=3)
    found = by_person(ds.dataset(tmp_path / "out").to_table())
    expected = by_person(protect_table(table, PLAN, rng=3)[0])
    assert all(found[person].equals(expected[person]) for person in expected)


def test_two_spellings_are_refused_whatever_piece_they_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_job, "_PIECE_ROWS", 1)
    table = rows(600, 5)
    names = pa.array(["Eve" if row % 3 else "EVE" if row % 2 else f"x{row % 4}" for row in range(600)])
    table = table.set_column(table.schema.get_field_index("user_id"), "user_id", names)
    with pytest.raises(InputError, match="same id"):
        protect_dataset(written(tmp_path / "in", table), tmp_path / "out", PLAN)
    assert not (tmp_path / "out").exists()


def test_a_row_group_is_never_held_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "ROUND_ROWS", 2000)
    monkeypatch.setattr(spill, "HELD_ROWS", 4000)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 4000)
    table = rows(150_000, 20)
    (tmp_path / "in").mkdir()
    pq.write_table(
        table, tmp_path / "in" / "a.parquet", row_group_size=10**9, data_page_size=1 << 14, use_dictionary=["user_id"]
    )
    before, held, read = pa.total_allocated_bytes(), [], spill.read_rows

    def watched(part: pa.Table, layout: object) -> object:
        held.append(pa.total_allocated_bytes() - before)
        return read(part, layout)  # type: ignore[arg-type]

    monkeypatch.setattr(spill, "read_rows", watched)
    done = protect_dataset(tmp_path / "in", tmp_path / "out", PLAN, cores=1)
    assert done.released == 150_000
    assert len(held) == 75
    assert max(held) < table.nbytes / 2


def test_one_person_of_most_rows_and_many_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "ROUND_ROWS", 500)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 600)
    monkeypatch.setattr(dataset_job, "_PIECE_ROWS", 200)
    table = rows(4000, 2)
    whose = [f"{'giant' if row % 5 < 3 else row // 5 % 300:-<40}" for row in range(4000)]
    table = table.set_column(table.schema.get_field_index("user_id"), "user_id", pa.array(whose))
    reading = TableReading({"id": "user_id"})
    done = protect_dataset(written(tmp_path / "in", table, 7), tmp_path / "out", PLAN, reading=reading, rng=3)
    found = by_person(ds.dataset(tmp_path / "out").to_table())
    expected = by_person(protect_table(table, PLAN, rng=3)[0])
    assert done.people == len(expected) == 301
    assert all(found[person].equals(expected[person]) for person in expected)
