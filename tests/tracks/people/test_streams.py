"""Lazy tables go through a folder, batch by batch, and come back lazy over what was released there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.plan import Plan

PLAN = Plan(ids="keep", noise_m=100.0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = 400
    folder = tmp_path / "in"
    folder.mkdir()
    table = pa.table(
        {
            "user_id": [f"p{i % 7}" for i in range(rows)],
            "lat": 48.5 + np.arange(rows) * 1e-4,
            "lon": np.full(rows, 2.5),
            "time": pa.array(1_700_000_000_000_000 + np.arange(rows) * 10_000_000).cast(pa.timestamp("us", tz="UTC")),
        }
    )
    pq.write_table(table, folder / "a.parquet")
    return folder


def given(kind: str, source: Path) -> Any:
    if kind == "polars":
        return pytest.importorskip("polars", reason="polars is not installed").scan_parquet(source / "a.parquet")
    if kind == "duckdb":
        return pytest.importorskip("duckdb", reason="duckdb is not installed").sql(f"from '{source}/a.parquet'")
    found = ds.dataset(source, format="parquet")
    return found if kind == "dataset" else found.scanner().to_reader()


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    if hasattr(table, "collect"):
        return [tuple(row) for row in table.select("user_id", "lat", "lon").collect().rows()]
    if hasattr(table, "fetchall"):
        return [tuple(row) for row in table.project("user_id, lat, lon").fetchall()]
    return list(zip(*(table.to_table().column(name).to_pylist() for name in ("user_id", "lat", "lon")), strict=True))


@pytest.mark.parametrize("kind", ["polars", "duckdb", "dataset", "reader"])
def test_a_lazy_table_comes_back_lazy_over_the_dataset_jobs_rows(kind: str, source: Path, tmp_path: Path) -> None:
    protect_dataset(source, tmp_path / "local", PLAN, rng=5)
    table = given(kind, source)
    out, certificate = protect_table(table, PLAN, into=tmp_path / "out", rng=5)
    assert isinstance(out, type(table) if kind != "reader" else ds.Dataset)
    expected = sorted(rows_of(ds.dataset(tmp_path / "local", format="parquet")))
    assert sorted(rows_of(out)) == expected
    assert certificate["people"]["points"] == 400
    verify_folder(certificate, tmp_path / "out")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"in", "local", "out"}, "the rows as they were are gone"


def test_what_fails_leaves_neither_rows_nor_a_release_and_shows_no_value(source: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    broken = duckdb.sql(f"select user_id, time, lon, error('at ' || lat) as lat from '{source}/a.parquet'")
    with pytest.raises(InputError, match="could not be read to its end") as refused:
        protect_table(broken, PLAN, into=tmp_path / "out")
    assert "48.5" not in str(refused.value)
    assert refused.value.__suppress_context__
    bad = duckdb.sql(
        f"select * replace (case when lat < 48.501 then 400 else lat end as lat) from '{source}/a.parquet'"
    )
    with pytest.raises(InputError, match="rows cannot be used"):
        protect_table(bad, PLAN, into=tmp_path / "out", strict=True)
    with pytest.warns(UserWarning, match="off the globe"):
        protect_table(bad, PLAN, into=tmp_path / "kept")
    with pytest.raises(InputError, match="key of its own"):
        protect_table(bad, PLAN, into=tmp_path / "out", key=bytes(32))
    assert {path.name for path in tmp_path.iterdir()} == {"in", "kept"}


def test_addresses_stay_in_no_folder_unless_that_is_asked(source: Path, tmp_path: Path) -> None:
    """Ids of lazy tables stay, because their owner joins them; addresses were kept without a word."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    lazy = polars.scan_parquet(source / "a.parquet").with_columns(polars.col("user_id") + "@example.org")
    with pytest.raises(InputError, match="e-mail addresses"):
        protect_table(lazy, Plan(noise_m=100.0), into=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    protect_table(lazy, PLAN, into=tmp_path / "out")
