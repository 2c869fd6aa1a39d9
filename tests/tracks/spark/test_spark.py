"""Spark's release is the local engine's, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_session import KEY, PLAN, assert_same, session, table

from sfumato.base.errors import InputError
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    running = session("local[2]")
    yield running
    running.stop()


def test_the_release_is_the_local_engines_bit_for_bit_and_so_is_what_is_certified(spark: Any, tmp_path: Path) -> None:
    from sfumato.tracks.folders.spark.frames_on_spark import protect

    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=700)
    given = spark.read.parquet(str(tmp_path / "in.parquet"))
    done = protect(given, PLAN, key=KEY)
    local, certificate = protect_table(table(), PLAN, key=KEY)
    assert_same(done.frame.toArrow(), local)
    assert_same(protect(given.repartition(7), PLAN, key=KEY, groups=11).frame.toArrow(), local)
    said = done.certificate()
    assert (said["people"], said["points"]) == (certificate["people"], certificate["points"])
    assert {name: said[name] for name in ("worst_loss", "ids", "columns")} == {
        name: certificate[name] for name in ("worst_loss", "ids", "columns")
    }
    assert done.rejects.count() == 0
    assert KEY.hex() not in repr(done) + repr(done._group)


def test_bad_rows_are_in_the_rejects_with_their_reasons_and_two_spellings_are_refused(spark: Any) -> None:
    from sfumato.tracks.folders.spark.frames_on_spark import protect

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
    called = good.set_column(0, "user_id", pc.binary_join_element_wise(good["user_id"], "example.org", "@"))
    frame_of_addresses = spark.createDataFrame(called)
    with pytest.raises(Exception, match="e-mail addresses"):
        protect(frame_of_addresses, PLAN).frame.count()
    assert protect(frame_of_addresses, Plan(noise_m=100.0, ids="keep")).frame.count() == 60
    with pytest.raises(InputError, match="whose each row is"):
        protect(frame.withColumnRenamed("user_id", "colour"), PLAN)
