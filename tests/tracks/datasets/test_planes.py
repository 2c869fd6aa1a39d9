"""Rows in words of four bytes: every bit comes back, whatever the positions and moments are, and in few words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from people_rows import by_person, rows, written

from sfumato.tracks.folders.rows import dataset, spill
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.rows.planes import MOST_PLANES, Planes, blocks_of, rows_of_each, rows_of_runs
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.people.rows import Rows
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

DAY_MS = 86_400_000
RNG = np.random.default_rng(15)
DECIMAL = np.array([float(f"{value:.7f}") for value in RNG.uniform(-90, 90, 500)])
POSITIONS = {
    "seven decimals": (DECIMAL, 1),
    "five decimals": (np.round(DECIMAL, 5), 1),
    "ends": (np.array([90.0, -90.0, 0.0, 1e-7, -1e-7] * 100), 1),
    "any double": (RNG.uniform(-90, 90, 500), 2),
    "float32": (DECIMAL.astype(np.float32).astype(float), 2),
    "a longitude of 240": (np.where(np.arange(500) == 77, 120.0, DECIMAL), 2),
    "minus nothing": (np.where(np.arange(500) == 77, -0.0, DECIMAL), 2),
    "eight decimals, once": (np.where(np.arange(500) == 499, 12.345678905, DECIMAL), 2),
}
MOMENTS = {"a day": (DAY_MS, 1), "24 days": (24 * DAY_MS, 1), "25 days": (25 * DAY_MS, 2), "ages": (10**14, 2)}


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("moments", MOMENTS)
def test_every_bit_comes_back_in_as_few_words_as_it_takes(positions: str, moments: str) -> None:
    (lat_deg, where), (long_ms, when) = POSITIONS[positions], MOMENTS[moments]
    times_ms = np.random.default_rng(5).integers(-long_ms // 2, long_ms // 2 + 1, lat_deg.size)
    times_ms[[3, 4]] = -long_ms // 2, long_ms // 2
    faults = np.zeros(lat_deg.size, np.uint8)
    faults[::50] = 2
    where_deg = np.where(faults > 0, np.nan, lat_deg), np.where(faults > 0, 1e300, 2 * lat_deg[::-1])
    given = Rows(*where_deg, times_ms, np.arange(lat_deg.size) % 7, tuple("abcdefg"), faults)
    planes = Planes.of(given)
    if not positions.endswith("once"):
        assert planes.words == 2 * where + when + 1
    words = np.empty((MOST_PLANES, 600), np.int32)
    planes.fill(given, 50, words)
    rank = np.array([3, 0, 1, 2, 6, 5, 4])
    codes = np.where(faults == 0, given.codes, -1).astype(np.int32)
    starts = rows_of_each(codes, rank, 7)
    begins = starts[[0, 0, 3, 7]]  # three buckets, the first of them of nobody
    blocks = blocks_of(words[: planes.words, 50:550], codes, rank, starts, begins)
    step = np.repeat(np.diff(begins)[1:], [3, 4])
    at = planes.words * np.repeat(begins[1:3], [3, 4]) + starts[:-1] - np.repeat(begins[1:3], [3, 4])
    kinds = np.tile([planes.fine, planes.long, planes.first_ms, 1000], (7, 1)).astype(np.int64)
    lat, lon, ms, numbers = rows_of_runs(blocks, at, step, np.diff(starts), kinds)
    order = np.argsort(rank[given.codes[faults == 0]], kind="stable")
    good = np.flatnonzero(faults == 0)[order]
    for found, expected in ((lat, given.lat_deg), (lon, given.lon_deg), (ms, times_ms), (numbers - 1050, None)):
        wanted = good if expected is None else expected[good]
        assert found.tobytes() == wanted.tobytes()


def test_rounds_of_other_planes_and_sizes_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 100 rows: some of few decimals, some not, some years away, some of which nothing can be used."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 100)
    monkeypatch.setattr(spill, "HELD_ROWS", 350)
    table = rows(2000, 15)
    lat = np.round(table["lat"].to_numpy(), 5)
    lat[500:800] += 1e-9
    lat[1200:1300] = np.nan
    years = np.where(np.arange(2000) < 1500, 0, 10**11).astype("timedelta64[ms]")
    times = pa.array(table["time"].to_numpy() + years).cast(table.schema.field("time").type)
    table = table.set_column(table.schema.get_field_index("lat"), "lat", pa.array(lat))
    table = table.set_column(table.schema.get_field_index("time"), "time", times)
    folder = written(tmp_path / "in", table, 1)
    plan = Plan(ids="keep", noise_m=200.0, keep=("speed",))
    done = protect_dataset(folder, tmp_path / "out", plan, rng=3)
    assert (done.released, sum(done.skipped.values())) == (1900, 100)
    found = by_person(ds.dataset(tmp_path / "out").to_table())
    with pytest.warns(UserWarning, match="100 of 2000"):
        expected = by_person(protect_table(table, plan, rng=3)[0])
    assert all(found[person].equals(expected[person]) for person in expected)
