"""The attacks on a dataset on Spark find what they find without it: of everybody, under new ids, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_session import session

from sfumato.base.errors import InputError
from sfumato.cli.tracks.attacks.run_suite import each_in
from sfumato.tracks.attacks.suite import SuiteAsked, attack_people, attack_releases
from sfumato.tracks.certificates.person_ids import renamed_people
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.io import SourceReading
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.spark
TRIED = ("as released", "nights averaged", "roads", "few moments", "top places")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    running = session("local[2]")
    yield running
    running.stop()


def days_of(people: int, folder: Path) -> Path:
    """Three days of people who live and work in a town, rows by time, in two files."""
    rng, times = np.random.default_rng(5), np.arange(0.0, 3 * 86400.0, 300.0)
    share = np.interp(times / 3600.0 % 24.0, [0, 7.5, 8.2, 17, 17.7, 24], [0, 0, 1, 1, 0, 0])[:, None]
    moments = pa.array(((1.7e9 + times) * 1e6).astype(np.int64)).cast(pa.timestamp("us", tz="UTC"))
    parts = []
    for number in range(people):
        home, work = rng.normal(0, 0.03, (2, 2))
        where = (48.2, 16.37) + home + (work - home) * share + rng.normal(0, 6e-5, (len(times), 2))
        ids = pa.array([f"u{number}"] * len(times))
        parts.append(pa.table({"user_id": ids, "lat": where[:, 0], "lon": where[:, 1], "time": moments}))
    whole = pa.concat_tables(parts).sort_by("time")
    folder.mkdir()
    pq.write_table(whole.slice(0, whole.num_rows // 2), folder / "a 1.parquet", row_group_size=700)
    pq.write_table(whole.slice(whole.num_rows // 2), folder / "b.parquet")
    return folder


def test_the_same_is_found_of_everybody_as_without_spark(spark: Any, tmp_path: Path) -> None:
    from sfumato.tracks.folders.spark.attacked_people import people_on_spark

    rides, shared = days_of(5, tmp_path / "rides"), tmp_path / "shared"
    protect_dataset(rides, shared, Plan(noise_m=300.0), rng=3, reading=TableReading({"id": "user_id"}))
    seen = dict(renamed_people(list(each_in([shared], SourceReading(), [])[1]), shared, given=True))
    pairs = [(name, trace, seen[name]) for name, trace in each_in([rides], SourceReading(), [])[1]]
    expected = attack_releases(pairs, SuiteAsked(TRIED))
    people = people_on_spark(spark, f"file://{rides}", f"file://{shared}", TableReading())
    found = attack_people(people, SuiteAsked(TRIED))
    assert [one.name for one in people] == [name for name, _, _ in pairs]
    assert found.to_dict() == expected.to_dict()
    assert len(found.outcomes) > len(TRIED)
    assert all(one.after is not None for one in found.outcomes)


def test_people_of_another_dataset_are_refused(spark: Any, tmp_path: Path) -> None:
    from sfumato.tracks.folders.spark.attacked_people import people_on_spark

    rides, others = days_of(2, tmp_path / "rides"), days_of(3, tmp_path / "others")
    with pytest.raises(InputError, match="Of 1 people of the release there is nobody in the original"):
        people_on_spark(spark, f"file://{rides}", f"file://{others}", TableReading())
