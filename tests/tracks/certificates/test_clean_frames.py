"""A table that a library wrote from ``.frame`` is clean as it is, and not with anything hidden in it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.tracks.certificates.clean import written_otherwise
from sfumato.tracks.people.door import ProtectedFrame

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

pd = pytest.importorskip("pandas")
HIDDEN = "48.853012"
EACH = 400
ROWS = 2 * EACH


def cabs() -> pd.DataFrame:
    walk = np.random.default_rng(5).normal(0, 3e-4, (2, ROWS)).cumsum(axis=1)
    when = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(np.tile(np.arange(EACH) * 10, 2), unit="s")
    kinds = {"cab_id": np.repeat(["a", "b"], EACH), "lat": 37.76 + walk[0], "lon": -122.43 + walk[1], "when": when}
    return pd.DataFrame({**kinds, "fare": np.arange(float(ROWS)), "note": "x"})


@pytest.fixture(scope="module")
def done() -> ProtectedFrame[pd.DataFrame]:
    return sf.protect(cabs(), person="cab_id", odds=5.0, keep=["fare"])


def verdict(protected: ProtectedFrame[object], path: Path) -> sf.Verdict:
    protected.certificate.write(path.with_suffix(".json"))
    return sf.judge(path.with_suffix(".json"), release=path)


def written_by_polars(path: Path) -> ProtectedFrame[object]:
    pl = pytest.importorskip("polars")
    protected = sf.protect(pl.from_pandas(cabs()), person="cab_id", odds=5.0, keep=["fare"])
    protected.frame.write_parquet(path)
    return protected


def written_by_geopandas(path: Path, **options: object) -> ProtectedFrame[object]:
    gpd = pytest.importorskip("geopandas")
    rows = cabs()
    points = gpd.points_from_xy(rows.pop("lon"), rows.pop("lat"))
    protected = sf.protect(gpd.GeoDataFrame(rows, geometry=points, crs="EPSG:4326"), person="cab_id", odds=5.0)
    protected.frame.to_parquet(path, **options)
    return protected


def written_by_duckdb(path: Path) -> ProtectedFrame[object]:
    duckdb = pytest.importorskip("duckdb")
    rows = cabs()
    protected = sf.protect(duckdb.from_df(rows), person="cab_id", odds=5.0)
    protected.frame.write_parquet(str(path))
    return protected


def written_by_arrow(path: Path) -> ProtectedFrame[object]:
    table = pa.Table.from_pandas(cabs(), preserve_index=False).replace_schema_metadata(None)
    protected = sf.protect(table, person="cab_id", odds=5.0)
    pq.write_table(protected.frame, path)
    return protected


def written_by_pandas(path: Path) -> ProtectedFrame[object]:
    rows = cabs().astype({"cab_id": "category", "fare": "Float64"})
    protected = sf.protect(rows, person="cab_id", odds=5.0, keep=["fare"])
    protected.frame.to_parquet(path)
    return protected


def written_by_pandas_at_times(path: Path) -> ProtectedFrame[object]:
    protected = sf.protect(cabs().set_index("when"), person="cab_id", odds=5.0)
    protected.frame.to_parquet(path, compression="zstd")
    return protected


WRITTEN: list[Callable[[Path], ProtectedFrame[object]]] = [
    *(written_by_pandas, written_by_pandas_at_times, written_by_geopandas, written_by_polars, written_by_duckdb),
    written_by_arrow,
]


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITTEN, ids=lambda write: write.__name__)
def test_what_a_library_writes_of_a_frame_in_its_usual_way_is_good(
    write: Callable[[Path], ProtectedFrame[object]], tmp_path: Path
) -> None:
    path = tmp_path / "cabs.parquet"
    found = verdict(write(path), path)
    assert found.ok, found.reasons


TEXTS: dict[str, Callable[[ProtectedFrame[object], Path], object]] = {
    "pandas": lambda done, path: done.frame.to_csv(path, index=False),
    "pandas on Windows": lambda done, path: done.frame.to_csv(path, index=False, lineterminator="\r\n"),
    "polars": lambda done, path: pytest.importorskip("polars").from_pandas(done.frame).write_csv(path),
    "Arrow": lambda done, path: csv.write_csv(pa.Table.from_pandas(done.frame, preserve_index=False), path),
}
CHANGES = {
    "a digit": (r"(,-122\.\d+)", r"\g<1>0"),
    "a sign": (r",(37\.)", r",+\1"),
    "a way to write moments": (r" 00:00:00", r"T00:00:00"),
    "a quote": (r"\na,", '\n"a",'),
    "a line": (r"\na,", "\n\na,"),
}


@pytest.mark.parametrize("library", TEXTS)
def test_csv_that_a_library_wrote_of_a_frame_is_good(
    library: str, done: ProtectedFrame[pd.DataFrame], tmp_path: Path
) -> None:
    """`done.frame.to_csv("shared.csv", index=False)` was NOT GOOD: "it holds something beside the columns"."""
    path = tmp_path / "cabs.csv"
    TEXTS[library](done, path)
    assert written_otherwise(path, people=2, kept=["fare"]) is None
    if library == "pandas":
        assert verdict(done, path).ok
        for name, (old, new) in CHANGES.items():
            text = path.read_text()
            changed = re.sub(old, new, text, count=1)
            assert changed != text, name
            (tmp_path / "changed.csv").write_text(changed)
            assert written_otherwise(tmp_path / "changed.csv", people=2, kept=["fare"]), name


def test_people_under_any_name_are_found_by_the_certificate(tmp_path: Path) -> None:
    """A column that `person=` had to name made a release that could not be read."""
    protected = sf.protect(cabs().rename(columns={"cab_id": "Fahrzeug"}), person="Fahrzeug", odds=5.0)
    for ending in ("parquet", "csv"):
        path = tmp_path / f"cabs.{ending}"
        (protected.frame.to_parquet if ending == "parquet" else protected.frame.to_csv)(path, index=False)
        assert verdict(protected, path).ok, ending


def test_the_command_says_so_too(done: ProtectedFrame[pd.DataFrame], tmp_path: Path) -> None:
    path = tmp_path / "cabs.parquet"
    done.frame.to_parquet(path)
    done.certificate.write(tmp_path / "c.json")
    found = CliRunner().invoke(app, ["verify", str(tmp_path / "c.json"), "--release", str(path)])
    assert found.exit_code == 0, found.output


def attrs(frame: pd.DataFrame, path: Path) -> None:
    frame.attrs["true"] = HIDDEN
    frame.to_parquet(path)


def name_of_columns(frame: pd.DataFrame, path: Path) -> None:
    frame.columns.name = HIDDEN
    frame.to_parquet(path)


def name_of_index(frame: pd.DataFrame, path: Path) -> None:
    frame.index.name = HIDDEN
    frame.to_parquet(path)


def numbers_of_rows(frame: pd.DataFrame, path: Path) -> None:
    frame.index = pd.RangeIndex(48_853_012, 48_853_012 + ROWS)
    frame.to_parquet(path)


def unused_categories(frame: pd.DataFrame, path: Path) -> None:
    frame["cab_id"] = pd.Categorical(frame["cab_id"], categories=["a", "b", HIDDEN])
    frame.to_parquet(path)


def order_of_categories(frame: pd.DataFrame, path: Path) -> None:
    frame["cab_id"] = pd.Categorical(frame["cab_id"], categories=["b", "a"])
    frame.to_parquet(path)


def digits_of_positions(frame: pd.DataFrame, path: Path) -> None:
    frame["lat"] = frame["lat"] + 1e-12
    frame.to_parquet(path)


def digits_of_times(frame: pd.DataFrame, path: Path) -> None:
    frame["when"] = frame["when"].astype("datetime64[ns, UTC]") + pd.to_timedelta(np.arange(ROWS), unit="ns")
    frame.to_parquet(path)


def metadata(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"true": HIDDEN}), path)


def metadata_of_a_column(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame)
    field = table.schema.field("lat").with_metadata({"true": HIDDEN})
    pq.write_table(table.cast(table.schema.set(table.schema.names.index("lat"), field)), path)


def inside_the_pandas_note(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame)
    note = table.schema.metadata[b"pandas"].replace(
        b'"attributes": {}', b'"attributes": {"a": "' + HIDDEN.encode() + b'"}'
    )
    pq.write_table(table.replace_schema_metadata({b"pandas": note}), path)


def bytes_before_the_footer(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path)
    data = path.read_bytes()
    foot = int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[: -8 - foot] + HIDDEN.encode() + data[-8 - foot :])


def another_program(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-abc-" + HIDDEN[:5].encode()))


HIDINGS: list[Callable[[pd.DataFrame, Path], None]] = [
    *(attrs, name_of_columns, name_of_index, numbers_of_rows, unused_categories, order_of_categories, metadata),
    *(digits_of_positions, digits_of_times, metadata_of_a_column, inside_the_pandas_note, bytes_before_the_footer),
    another_program,
]


@pytest.mark.parametrize("hide", HIDINGS, ids=lambda hide: hide.__name__)
def test_what_is_hidden_in_a_frame_or_its_file_is_not_clean(
    hide: Callable[[pd.DataFrame, Path], None], done: ProtectedFrame[pd.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "cabs.parquet"
    hide(done.frame.copy(), path)
    found = verdict(done, path)
    assert not found.ok
    assert found.clean is not True
    assert HIDDEN not in str(found.reasons)


def test_a_height_hidden_in_points_and_notes_of_polars_are_not_clean(tmp_path: Path) -> None:
    gpd = pytest.importorskip("geopandas")
    pl = pytest.importorskip("polars")
    path = tmp_path / "cabs.parquet"
    protected = written_by_geopandas(path)
    flat = gpd.read_parquet(path)
    flat["geometry"] = gpd.points_from_xy(flat.geometry.x, flat.geometry.y, np.full(ROWS, float(HIDDEN)))
    flat.to_parquet(path)
    assert not verdict(protected, path).ok
    protected = written_by_polars(path)
    assert verdict(protected, path).ok
    pl.read_parquet(path).write_parquet(path, metadata={"true": HIDDEN})
    assert not verdict(protected, path).ok


def test_an_index_of_numbers_is_named_with_what_to_do(tmp_path: Path) -> None:
    rows = cabs()
    rows.index = np.random.default_rng(1).permutation(ROWS)
    protected = sf.protect(rows, person="cab_id", odds=5.0)
    assert list(protected.frame.index) == list(rows.index)
    path = tmp_path / "cabs.parquet"
    protected.frame.to_parquet(path)
    assert "index=False" in verdict(protected, path).reasons["unchanged"]
    protected.frame.to_parquet(path, index=False)
    assert verdict(protected, path).ok


@pytest.mark.parametrize("trips", [[48, 853012], ["home", HIDDEN]])
def test_a_column_of_trips_that_was_added_cannot_tell_anything(
    trips: list[object], done: ProtectedFrame[pd.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "cabs.parquet"
    done.frame.assign(trip_id=np.tile(np.repeat(trips, EACH // 2), 2)).to_parquet(path)
    assert "names of their own" in str(written_otherwise(path, people=2, kept=["fare"]))
    assert not verdict(done, path).ok


def test_labels_that_were_kept_are_named_and_may_be_the_index_again(tmp_path: Path) -> None:
    rows = cabs().assign(label=[f"row {place}" for place in range(ROWS)]).set_index("label")
    with pytest.warns(UserWarning, match="reset_index"):
        assert "label" not in sf.protect(rows, person="cab_id", odds=5.0).frame.reset_index().columns
    protected = sf.protect(rows.reset_index(), person="cab_id", odds=5.0, keep=["label"])
    path = tmp_path / "cabs.parquet"
    for frame in (protected.frame, protected.frame.set_index("label")):
        frame.to_parquet(path)
        found = verdict(protected, path)
        assert found.ok, found.reasons
    protected.frame.set_index("label").rename_axis(HIDDEN).to_parquet(path)
    assert not verdict(protected, path).ok


def test_without_the_library_that_wrote_it_nothing_is_called_clean(
    done: ProtectedFrame[pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cabs.parquet"
    done.frame.to_parquet(path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pandas, which is not installed" in str(written_otherwise(path, people=2, kept=["fare"]))
