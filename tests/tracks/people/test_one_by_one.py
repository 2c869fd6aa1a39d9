"""A large table's people one by one: the same tracks as all together, held small, and made when they are asked for."""

from __future__ import annotations

import made_town as town
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.attacks.truths import ReleasedDigest
from sfumato.tracks.io import read_points
from sfumato.tracks.people.door import people_one_by_one, read_people
from sfumato.tracks.people.layout import TableReading


def table(order: str) -> pa.Table:
    """Three people, a row without a position, and somebody of whom nothing can be used."""
    parts = [town.person(k, days=1).to_table().drop_columns(["segment"]) for k in range(3)]
    parts = [part.add_column(0, "uid", pa.array([f"p{k}"] * len(part))) for k, part in enumerate(parts)]
    nobody = parts[0].slice(0, 2).set_column(0, "uid", pa.array(["gone"] * 2))
    broken = [parts[0], nobody, *parts[1:]]
    whole = pa.concat_tables(broken)
    lat = whole.column("lat").to_pylist()
    lat[5] = lat[len(parts[0])] = lat[len(parts[0]) + 1] = None
    whole = whole.set_column(1, "lat", pa.array(lat, pa.float64()))
    if order == "shuffled":
        rows = np.random.default_rng(0).permutation(len(whole))
        whole = whole.take(rows).sort_by("time")
    return whole.set_column(0, "uid", whole.column("uid").dictionary_encode()) if order == "dictionary" else whole


@pytest.mark.parametrize("order", ["person after person", "shuffled", "dictionary"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_people_one_by_one_are_the_people_all_together(tmp_path, ending, order):
    path, made = tmp_path / f"people.{ending}", table(order)
    if ending == "parquet":
        pq.write_table(made, path, row_group_size=100)
    else:
        pc.write_csv(made.set_column(0, "uid", made.column("uid").cast(pa.string())), path)
    together = read_people(path, TableReading())
    names, one_by_one = people_one_by_one(path, TableReading())
    found = list(one_by_one)
    assert [name for name, _ in found] == [name for name, _ in together]
    assert set(names) == {"gone", "p0", "p1", "p2"}
    for (_, ours), (_, theirs) in zip(found, together, strict=True):
        for field in ("lat_deg", "lon_deg", "times_s", "segment"):
            assert np.array_equal(getattr(ours, field), getattr(theirs, field))
    assert sum(sum(trace.skipped.values()) for _, trace in found) == 3


def test_positions_that_are_no_plain_numbers_are_read_as_they_always_were(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("uid;lat;lon;time\n" + "".join(f"{k % 2};48,{k};16,{k};{1700000000 + k}\n" for k in range(1, 9)))
    names, found = people_one_by_one(path, TableReading())
    assert names == ["1", "0"]
    assert [trace.lat_deg[0] for _, trace in found] == [48.1, 48.2]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_times_that_are_written_in_two_ways_are_read_as_they_always_were(tmp_path, ending):
    path, rows = tmp_path / f"people.{ending}", 140_000
    times = np.array(["2024-03-01T10:00:00Z"] * rows)
    times[-1] = "1709290000"
    table = pa.table(
        {"uid": [f"p{k % 2}" for k in range(rows)], "lat": [48.0] * rows, "lon": [16.0] * rows, "time": times}
    )
    pq.write_table(table, path) if ending == "parquet" else pc.write_csv(table, path)
    together = read_people(path, TableReading())
    for (_, ours), (_, theirs) in zip(people_one_by_one(path, TableReading())[1], together, strict=True):
        assert np.array_equal(ours.times_s, theirs.times_s)


def test_a_table_of_which_most_cannot_be_used_is_refused_when_it_is_through(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("uid,lat,lon,time\n" + "".join(f"{k % 2},{100 + k},16,{1.7e9 + k}\n" for k in range(8)))
    with pytest.raises(InputError, match="None of 8 points"):
        list(people_one_by_one(path, TableReading())[1])


def test_ids_take_four_bytes_a_row_and_a_digest_holds_no_track(tmp_path):
    """What made an audit of 1e7 points take 1.6 GB: names as text, all tracks at once, and views of them."""
    people = [town.person(k, days=4) for k in range(3)]
    rows = [one.to_table().drop_columns(["segment"]) for one in people]
    whole = [part.add_column(0, "uid", pa.array([f"somebody {k}"] * len(part))) for k, part in enumerate(rows)]
    pq.write_table(pa.concat_tables(whole), tmp_path / "people.parquet")
    small = read_points(tmp_path / "people.parquet", small=True).table
    assert small.nbytes < 30 * small.num_rows
    long = Trace(
        *(np.tile(part, 40) for part in (people[0].lat_deg, people[0].lon_deg)), np.arange(40.0 * len(people[0]))
    )
    seen = ReleasedDigest.of(long).seen
    for values in (seen.times_s, seen.path_m, seen.mean_m, seen.looks, seen.ride):
        assert values.base is None or values.base.size <= 4 * values.size
