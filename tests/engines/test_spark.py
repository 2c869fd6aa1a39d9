"""Spark's release is the local engine's, byte for byte; sums and audits are aggregations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_session import KEY, PLAN, assert_same, session, table

from sfumato.adversary.fleet import audit_fleet
from sfumato.engines.local import protect_table
from sfumato.errors import InputError
from sfumato.estimation.tally import tally_reports
from sfumato.frames import displace
from sfumato.grid import Grid
from sfumato.mechanisms.grids.grid_channel import uniform_channel
from sfumato.traces import Trace

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    running = session("local[2]")
    yield running
    running.stop()


def test_the_release_is_the_local_engines_bit_for_bit_and_so_is_what_is_certified(spark: Any, tmp_path: Path) -> None:
    from sfumato.engines.spark import protect

    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=700)
    given = spark.read.parquet(str(tmp_path / "in.parquet"))
    done = protect(given, PLAN, key=KEY)
    local, certificate = protect_table(table(), PLAN, key=KEY)
    assert_same(done.frame.toArrow(), local)
    assert_same(protect(given.repartition(7), PLAN, key=KEY, groups=11).frame.toArrow(), local)
    said = done.certificate()
    assert (said["people"], said["points"]) == (certificate["people"], certificate["points"])
    assert said["worst_loss"] == certificate["worst_loss"]
    assert done.rejects.count() == 0
    assert KEY.hex() not in repr(done) + repr(done._group)


def test_bad_rows_are_in_the_rejects_with_their_reasons_and_two_spellings_are_refused(spark: Any) -> None:
    from sfumato.engines.spark import protect

    good = table(60, 3)
    rows = good.to_pylist()
    rows[3]["lat"], rows[9]["user_id"], rows[20]["lat"] = float("nan"), None, 400.0
    rows.append({**rows[0], "lat": 48.9})
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=good.schema)).coalesce(1)
    done = protect(frame, PLAN, key=KEY)
    kept, left = done.frame.count(), done.rejects.groupBy("reason").count().collect()
    assert kept == 57
    assert sum(row["count"] for row in left) == 4
    assert len(left) >= 3
    assert_same(protect(frame.repartition(5), PLAN, key=KEY, groups=3).frame.toArrow(), done.frame.toArrow())
    spelled = [{**rows[0], "user_id": "U1 "}, {**rows[5], "user_id": "u1"}]
    with pytest.raises(InputError, match="Two ids are the same"):
        protect(spark.createDataFrame(pa.Table.from_pylist(spelled, schema=good.schema)), PLAN)
    with pytest.raises(InputError, match="whose each row is"):
        protect(frame.withColumnRenamed("user_id", "colour"), PLAN)


def test_tallies_and_heat_maps_are_sums_that_spark_makes(spark: Any) -> None:
    from sfumato.engines.spark_sums import heat_map, tally

    given = table()
    frame = spark.createDataFrame(given)
    grid = Grid.from_bounds(48.45, 2.25, 48.65, 2.45, shape=(9, 7))
    expected = np.bincount(
        grid.locate(given.column("lat").to_numpy(), given.column("lon").to_numpy()), minlength=grid.cells
    )
    np.testing.assert_array_equal(heat_map(frame, grid), expected)
    channel = uniform_channel(grid, 0.001)
    reports = np.random.default_rng(3).integers(0, grid.cells, 500)
    counted = tally(spark.createDataFrame(pa.table({"cell": reports})), channel)
    np.testing.assert_array_equal(counted.counts, tally_reports(channel, reports).counts)
    for wrong, words in (
        ([0, grid.cells, -1], "2 reports name no cell"),
        ([0, None], "1 reports name"),
        ([0.5], "whole numbers"),
    ):
        with pytest.raises(InputError, match=words):
            tally(spark.createDataFrame(pa.table({"cell": wrong})), channel)


def test_offsets_are_those_of_a_world_that_is_known(spark: Any) -> None:
    from sfumato.engines.spark_sums import offsets

    given = table(600, 4).append_column("new.id", table(600, 4).column("user_id"))
    rows = given.to_pylist()
    north, east = np.full(600, 300.0), np.zeros(600)
    north[[row["user_id"] == "u2" for row in rows]] = 0.0
    east[7] = 400.0
    lat, lon = displace(given["lat"].to_numpy(), given["lon"].to_numpy(), np.column_stack((east, north)))
    moved = given.set_column(1, "lat", pa.array(lat)).set_column(2, "lon", pa.array(lon))
    again = pa.Table.from_pylist([*rows, {**rows[3], "lat": 10.0}], schema=given.schema)  # two at one time: unmatched
    found = offsets(spark.createDataFrame(again), spark.createDataFrame(moved), person="new.id")
    kept = np.arange(600) != 3
    assert (found.people, found.points, found.unmatched) == (4, 599, 1)
    assert found.rms_north_m == pytest.approx(np.sqrt(np.mean(north[kept] ** 2)), rel=1e-4)
    assert found.rms_east_m == pytest.approx(400 / np.sqrt(599), rel=1e-3)
    assert found.largest_m == pytest.approx(np.hypot(400, north[7]), rel=1e-3)
    assert found.least_moved_m < 0.01, "u2 was not moved, and is found"
    with pytest.raises(InputError, match="No released point"):
        offsets(spark.createDataFrame(given), spark.createDataFrame(moved.slice(0, 0)), person="user_id")


def test_everybody_is_attacked_on_spark_with_the_local_audits_numbers(spark: Any) -> None:
    from sfumato.engines.spark import protect
    from sfumato.engines.spark_audit import audit_people

    given = table(240, 3)
    done = protect(spark.createDataFrame(given), PLAN, key=KEY)
    released, certificate = protect_table(given, PLAN, key=KEY)
    found = audit_people(spark.createDataFrame(given), done.frame, certificate, person="user_id")
    people = [[(one, _trace(rows, one)) for one in ("u0", "u1", "u2")] for rows in (given, released)]
    local = audit_fleet(*people, certificate)
    assert found.worst.person == local.worst.person
    assert not found.unprotected
    for mine, theirs in zip(found.persons, local.persons, strict=True):
        for name, value in theirs.audit.to_dict().items():
            close = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
            assert mine.person == theirs.person
            assert name == "prior_used" or mine.audit.to_dict()[name] == close, name
    assert [one.loss_at_times for one in found.losses] == pytest.approx([one.loss_at_times for one in local.losses])


def _trace(rows: pa.Table, person: str) -> Trace:
    own = rows.filter(pc.equal(rows["user_id"], person)).sort_by("time")
    times_s = own["time"].cast(pa.int64()).to_numpy() / 1e6
    return Trace(own["lat"].to_numpy(), own["lon"].to_numpy(), times_s)
