"""Tables in, protected tables out, whichever library made them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.io import read_trace
from sfumato.tracks.io.tables.columns import column_names, columns_by_person
from sfumato.tracks.io.tables.point_table import fleet_table
from sfumato.tracks.plan import Plan


def points(people: int) -> dict[str, object]:
    rows = 6 * people
    return {
        "user": [f"p{i // 6}" for i in range(rows)],
        "lat": 48.5 + np.arange(rows) * 1e-4,
        "lon": np.full(rows, 2.5),
        "time": pa.array(1_700_000_000 + (np.arange(rows) % 6) * 10).cast(pa.timestamp("s", tz="UTC")),
        "heart_rate": np.full(rows, 120.0),
    }


def test_one_person_comes_back_as_positions_and_times_only() -> None:
    out, certificate = protect_table(pa.table(points(1)), Plan(noise_m=100.0))
    assert out.column_names == ["user", "lat", "lon", "time"]
    assert certificate["points"] == 6
    assert sf.verify(certificate, release=read_trace(out)).checks


def test_a_fleet_comes_back_with_its_ids_and_nothing_else() -> None:
    out, certificate = protect_table(pa.table(points(3)), Plan(noise_m=100.0))
    assert out.column_names == ["user", "lat", "lon", "time"]
    assert out.schema == pa.table(points(3)).drop_columns(["heart_rate"]).schema
    assert certificate["people"] == 3
    assert sf.verify(certificate, release=sf.read_traces(out)).checks
    assert len(set(out.column("user").to_pylist())) == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_other_libraries_are_taken(library: str) -> None:
    pytest.importorskip(library)
    table = pa.table(points(2))
    other = table.to_pandas() if library == "pandas" else pytest.importorskip("polars").from_arrow(table)
    out, _ = protect_table(other, Plan(noise_m=100.0))
    assert type(out) is type(other)
    assert len(out) == 12


def test_a_person_goes_before_a_trip_because_noise_belongs_to_people() -> None:
    table = pa.table(points(2))
    trips = table.append_column("trip_id", pa.array([f"t{i // 3}" for i in range(12)]))
    out, certificate = protect_table(trips, Plan(noise_m=100.0))
    assert certificate["people"] == 2
    assert set(out.column("user").to_pylist()) == {"p0", "p1"}
    assert out.column("trip_id").to_pylist() == trips.column("trip_id").to_pylist()
    kept, _ = protect_table(trips, Plan(noise_m=100.0, keep=("trip_id",)))
    assert kept.column("trip_id").to_pylist() == trips.column("trip_id").to_pylist()
    assert columns_by_person(["lat", "lon", "time", "trip_id"]) == {}
    assert columns_by_person(["user", "trip"], {"id": "trip"}) == {"id": "trip"}


def test_nobody_is_refused() -> None:
    with pytest.raises(InputError):
        fleet_table([])


def test_the_package_name_protect_can_be_called_whatever_was_imported_before() -> None:
    trace = Trace([48.5], [2.5], [0.0])
    import sfumato
    import sfumato.tracks.people.door

    assert sfumato.protect(trace, noise_m=1.0).certificate["points"] == 1
    assert sf.protect(trace, noise_m=1.0).certificate["points"] == 1


def test_a_parquet_whose_names_are_not_utf8_is_left_to_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"latitude": [1.0], "longitude": [2.0]}), path)
    path.write_bytes(path.read_bytes().replace(b"latitude", b"la\xeftude"))
    assert column_names(path) == []
