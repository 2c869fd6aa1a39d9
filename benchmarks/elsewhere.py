"""Cities nothing was tuned on: made-up ones, and check-ins of ../shared/data/gowalla (1,000 users) where it lies there.

Austin has times enough for weekday and weekend maps. The data may not ship, so that a checkout without ../shared runs
with the made-up cities alone and says so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.base.things.grid import Grid
from sfumato.collect.cities import city

BOXES = {  # south, west, rows, columns of about 0.5 km, offset from UTC in hours
    "austin": (30.230, -97.790, 20, 18, -6),
    "dallas": (32.740, -96.860, 24, 22, -6),
    "new-york": (40.695, -74.025, 22, 20, -5),
    "stockholm": (59.295, 17.980, 14, 16, 1),
}
FILE = Path(__file__).resolve().parents[2] / "shared" / "data" / "gowalla" / "gowalla_users1000.parquet"


def made_up() -> dict[str, tuple[Grid, np.ndarray]]:
    """One hot cell + 5 % uniform, uniform, empty rows, 12 cells, two clusters."""
    grid = Grid.plain(11, 15)
    cells = grid.cells
    hot = np.full(cells, 0.05 / cells)
    hot[82] += 0.95
    rows = np.zeros((11, 15))
    rows[::3] = 1
    rng = np.random.default_rng(5)
    twelve = np.zeros(cells)
    twelve[rng.choice(cells, 12, replace=False)] = rng.dirichlet(np.ones(12))
    centres = grid.centres()
    clusters = np.exp(-((centres - centres[32]) ** 2).sum(1) / 4.5) + 0.6 * np.exp(
        -((centres - centres[130]) ** 2).sum(1) / 2
    )
    maps = {"hot": hot, "uniform": np.ones(cells), "rows": rows.ravel(), "twelve": twelve, "clusters": clusters}
    return {name: (grid, values / values.sum()) for name, values in maps.items()}


def tuned_on() -> dict[str, tuple[Grid, np.ndarray]]:
    """Paris and San Francisco, as shipped."""
    return {name: (city(name).plain_grid, city(name).probabilities) for name in ("paris", "sf")}


def check_ins(name: str) -> tuple[Grid, np.ndarray, np.ndarray]:
    """(grid in cells, cell of every check-in, its local time in hours since 1970)."""
    import pyarrow.parquet as pq

    south, west, rows, columns, offset = BOXES[name]
    table = pq.read_table(FILE, columns=["time", "lat", "lon"])
    lat, lon = (np.asarray(table[key]) for key in ("lat", "lon"))
    hours = np.asarray(table["time"]).astype("datetime64[s]").astype(np.int64) / 3600 + offset
    height = 0.5 / 111.2
    width = height / np.cos(np.radians(south))
    row, column = np.floor((lat - south) / height), np.floor((lon - west) / width)
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    cell = ((rows - 1 - row) * columns + column)[inside].astype(np.int64)
    return Grid.plain(rows, columns), cell, hours[inside]


def untuned() -> dict[str, tuple[Grid, np.ndarray]]:
    """The check-in cities, or nothing without ../shared."""
    found = {}
    if FILE.exists():
        for name in BOXES:
            grid, cell, _ = check_ins(name)
            if cell.size >= 1000:
                counts = np.bincount(cell, minlength=grid.cells)
                found[name] = (grid, counts / counts.sum())
    return found


def weekly(name: str) -> tuple[Grid, np.ndarray, np.ndarray]:
    """(grid, weekday map, weekend map): Saturday and Sunday, local time."""
    grid, cell, hours = check_ins(name)
    weekend = ((hours // 24).astype(np.int64) + 3) % 7 >= 5  # 1 January 1970 was a Thursday
    maps = [np.bincount(cell[chosen], minlength=grid.cells) for chosen in (~weekend, weekend)]
    return grid, maps[0] / maps[0].sum(), maps[1] / maps[1].sum()
