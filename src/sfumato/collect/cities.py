"""Two cities as counts per cell: the Gowalla check-ins of central Paris and northern San Francisco on the PRIVIC grids.

The published cells count rows from the north and columns from the *east* (cell = i * columns + j); here row 0 is north
and column 0 *west*, so that published (i, j) is row i, column ``columns - 1 - j``. Distances do not change under the
mirror. Cells named in the paper's figures come from a script that reads it mirrored, from the west as here:
the strong Paris cell is 52 = (3, 7) in both orders; the vulnerable one is 93 = (6, 3) here (in the south-west, as
the text says; counted from the east it would be 101). The corner 164 = (10, 14) of the published order is 150 here.

All check-ins inside the grid are shipped (10,079 and 123,026). The published experiments lost their first record to a
header: its cell is kept in ``first_record_cell``, and :attr:`City.people` leaves it out (10,078 and 123,025).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray, read_only
from sfumato.base.errors import InputError
from sfumato.base.things.cell_prior import CellPrior
from sfumato.base.things.grid import Grid, metres_per_degree

_BOUNDS = {
    # north, west, cell height and width in degrees, rows, columns, cell of the first record (row, column)
    "paris": (48.8286 + 11 * 0.00427, 2.2855, 0.00427, 0.0066, 11, 15, (2, 7)),
    "sf": (37.7228 + 16 * 0.0044875, -122.5153, 0.0044875, 0.005683, 16, 24, (7, 15)),
}
CITIES = tuple(_BOUNDS)
MOST_PEOPLE = 100_000_000
"""In one file of counts: every one of them is drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class City:
    """Check-ins per cell, on the earth (``grid``, metres) and in the papers' cell units (``plain_grid``)."""

    name: str
    counts: IntArray
    plain_grid: Grid
    grid: Grid | None = None
    first_record_cell: int | None = None

    @property
    def people(self) -> IntArray:
        """Counts as the published experiments used them: without the first record."""
        used = np.array(self.counts)
        if self.first_record_cell is not None:
            used[self.first_record_cell] -= 1
        out: IntArray = read_only(used, np.int64)
        return out

    @property
    def probabilities(self) -> FloatArray:
        """The distribution of :attr:`people`."""
        share: FloatArray = self.people / self.people.sum()
        return share

    def prior(self) -> CellPrior:
        """The same as a prior on the city's grid."""
        return CellPrior(self.probabilities, grid=self.grid or self.plain_grid)


@lru_cache(maxsize=4)
def city(name: str) -> City:
    """``"paris"`` or ``"sf"``, as shipped."""
    if name not in _BOUNDS:
        raise InputError(f"There is no city '{name}'.", f"Use {' or '.join(CITIES)}, or a CSV of counts per cell.")
    north, west, height, width, rows, columns, first = _BOUNDS[name]
    north_m, east_m = metres_per_degree(north - rows * height / 2)
    grid = Grid(
        rows=rows,
        columns=columns,
        cell_height=height * north_m,
        cell_width=width * east_m,
        unit="m",
        north_deg=north,
        west_deg=west,
        cell_height_deg=height,
        cell_width_deg=width,
    )
    with resources.as_file(resources.files("sfumato") / "data" / f"gowalla_{name}_counts.csv") as path:
        counts, shape = _read(path)
    if shape != (rows, columns):
        raise InputError(f"The shipped counts of {name} have shape {shape}.", "Reinstall the package.")
    return City(name, counts, Grid.plain(rows, columns), grid, first[0] * columns + first[1])


def city_from_csv(path: str | Path) -> City:
    """Counts per cell from a CSV with the columns row, column, count (row 0 north, column 0 west)."""
    counts, shape = _read(Path(path))
    return City(Path(path).stem, counts, Grid.plain(*shape))


def _read(path: Path) -> tuple[IntArray, tuple[int, int]]:
    try:
        text = path.read_text("utf-8-sig")  # spreadsheets put a byte-order mark first
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read.", "Give a CSV with the columns row, column, count.") from error
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(lines)
    if reader.fieldnames is None or not {"row", "column", "count"} <= set(reader.fieldnames):
        raise InputError(f"{path.name} lacks the columns row, column, count.", "Its first line must name them.")
    cells: dict[tuple[int, int], int] = {}
    for number, entry in enumerate(reader, start=2):
        try:
            row, column, count = (int(entry[key]) for key in ("row", "column", "count"))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Line {number} of {path.name} is not three whole numbers.",
                "Write row,column,count, for example 0,3,25.",
            ) from error
        if row < 0 or column < 0 or count < 0:
            raise InputError(f"Line {number} of {path.name} has a negative number.", "Everything starts at 0.")
        if (row, column) in cells:
            raise InputError(f"Line {number} of {path.name} repeats a cell.", "Give every cell once.")
        cells[row, column] = count
    if not cells or sum(cells.values()) == 0:
        raise InputError(f"{path.name} counts nobody.", "At least one cell needs a count above 0.")
    if sum(cells.values()) > MOST_PEOPLE:
        raise InputError(
            f"{path.name} counts more than {MOST_PEOPLE:,} people.", "Divide all counts by the same number first."
        )
    rows, columns = (1 + max(key[axis] for key in cells) for axis in (0, 1))
    if rows * columns > 1_000_000:
        raise InputError(f"{path.name} spans {rows} x {columns} cells.", "At most a million cells are simulated.")
    counts = np.zeros((rows, columns), dtype=np.int64)
    for (row, column), count in cells.items():
        counts[row, column] = count
    out: IntArray = read_only(counts.ravel(), np.int64)
    return out, (rows, columns)
