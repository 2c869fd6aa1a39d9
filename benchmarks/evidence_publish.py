"""A table from raw data or protected traces: which of the two comes nearer to the truth, for whom and how fine.

python benchmarks/evidence_publish.py                  the table of docs/publish_a_fleet.md, mean over 3 draws
python benchmarks/evidence_publish.py --coverage       how often the intervals of published maps hold, 200 tables a row

The same made-up people (`answer_worlds`: everybody has 40 points) are answered for in two ways: by traces with 709 m of
noise (odds of 5 : 1 between places 200 m apart, whatever is asked later), counted and corrected; and by one table with
user-level differential privacy (epsilon 1: odds that somebody is in it move by 2.72 at most). Distances are total
variation between shares of cells and those of these very people; areas of a published map count for their cells evenly.
Noise of both is drawn from the operating system or a seed alike: the law is the same.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

from answer_worlds import BOUNDS, POINTS, SOUTH, WEST, WORLDS, World, released
from sfumato.base.arrays import FloatArray
from sfumato.base.things.grid import Grid, metres_per_degree
from sfumato.tracks.aggregates.holder import publish
from sfumato.tracks.aggregates.public_table import PublicTable
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap

NOISE_M, STAYS = 709.0, 8
CELLS_M = (500.0, 1000.0, 2000.0)
_NORTH_M, _EAST_M = metres_per_degree(SOUTH + 4000 / 111_200)


def rows(places: FloatArray) -> pa.Table:
    """The raw data: one row for each point of each person."""
    people, stays, _ = places.shape
    at = np.repeat(places, POINTS, axis=1).reshape(-1, 2)
    person = np.repeat(np.arange(people), stays * POINTS)
    return pa.table({"user_id": person, "lat": SOUTH + at[:, 1] / _NORTH_M, "lon": WEST + at[:, 0] / _EAST_M})


def true_counts(table: pa.Table, grid: Grid) -> FloatArray:
    """People in each cell, everybody divided as their points inside the grid are."""
    cell, person = grid.locate(table["lat"].to_numpy(), table["lon"].to_numpy()), table["user_id"].to_numpy()
    inside = cell >= 0
    each = np.bincount(person[inside], minlength=person.max() + 1)
    return np.bincount(cell[inside], weights=1 / each[person[inside]], minlength=grid.cells)


def on_cells(found: PublicTable, grid: Grid) -> FloatArray:
    """The published counts, those not shown as nothing, on the cells asked for."""
    assert found.cells is not None
    assert found.sizes is not None
    area = found.cells.locate(*grid.centres_deg())
    return (np.nan_to_num(found.count) / found.sizes)[area]


def apart(found: FloatArray, truth: FloatArray) -> float:
    """Total variation between shares."""
    return 0.5 * float(np.abs(found / max(found.sum(), 1e-300) - truth / truth.sum()).sum())


def one_draw(world: World, people: int, cell_m: float, seed: int) -> list[float]:
    """How far off: counting, corrected, epsilon 1, epsilon 0.1; and of how many areas those two tables are."""
    rng = np.random.default_rng(seed)
    places = world.places(people, STAYS, rng)
    table, grid = rows(places), Grid.from_bounds(*BOUNDS, cell_size_m=cell_m)
    truth = true_counts(table, grid)
    answer = estimate_heatmap([released(places, NOISE_M, rng)], cell_m=cell_m, bounds=BOUNDS)
    made = [publish(table, epsilon=epsilon, cell_m=cell_m, bounds=BOUNDS, rng=seed) for epsilon in (1.0, 0.1)]
    shown = [float(np.count_nonzero(~np.isnan(one.count))) for one in made]
    return [apart(one, truth) for one in (answer.counted, answer.picture, *(on_cells(m, grid) for m in made))] + shown


def compare(draws: int) -> None:
    """The table."""
    print(
        "| city, people | cells | traces: counted | traces: corrected | table, ε = 1 (areas) | table, ε = 0.1 (areas) |"
    )
    print("|---|---|---|---|---|---|")
    for world in (WORLDS[0], WORLDS[2]):
        for people in (100, 1000, 5000):
            for cell_m in CELLS_M:
                mean = np.mean([one_draw(world, people, cell_m, 7 * draw) for draw in range(draws)], axis=0)
                cells = round((8000 / cell_m) ** 2)
                tables = " | ".join(f"{mean[k]:.3f} ({mean[k + 2]:.0f} of {cells})" for k in (2, 3))
                print(
                    f"| {world.name}, {people} | {cell_m:.0f} m | {mean[0]:.3f} | {mean[1]:.3f} | {tables} |",
                    flush=True,
                )


def coverage(tables: int) -> None:
    """Over many tables of one data set: of the numbers shown, how often the truth lies in the interval."""
    print("| city, people | epsilon | cells | areas shown | truth within 90 % | median width / count |")
    print("|---|---|---|---|---|---|")
    for world in (WORLDS[0], WORLDS[2]):
        for people, epsilon, cell_m in ((300, 1.0, 1000.0), (300, 1.0, 500.0), (3000, 1.0, 500.0), (3000, 0.1, 500.0)):
            table = rows(world.places(people, STAYS, np.random.default_rng(1)))
            held, shown, widths = 0, 0, list[float]()
            for seed in range(tables):
                found = publish(table, epsilon=epsilon, cell_m=cell_m, bounds=BOUNDS, rng=seed)
                assert found.cells is not None
                there = ~np.isnan(found.count)
                truth = _in_areas(found, table)[there]
                low, high, count = (one[there] for one in (found.low, found.high, found.count))
                held += int(np.count_nonzero((low <= truth) & (truth <= high)))
                shown += int(there.sum())
                widths += ((high - low) / count).tolist()
            share, wide = 100 * held / shown, float(np.median(widths))
            cells = f"{cell_m:.0f} m | {shown / tables:.0f}"
            print(f"| {world.name}, {people} | {epsilon:g} | {cells} | {share:.1f} % | {wide:.2f} |", flush=True)


def _in_areas(found: PublicTable, table: pa.Table) -> FloatArray:
    assert found.cells is not None
    at, person = found.cells.locate(table["lat"].to_numpy(), table["lon"].to_numpy()), table["user_id"].to_numpy()
    inside = at >= 0
    each = np.bincount(person[inside], minlength=person.max() + 1)
    return np.bincount(at[inside], weights=1 / each[person[inside]], minlength=found.cells.cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--tables", type=int, default=200)
    asked = parser.parse_args()
    coverage(asked.tables) if asked.coverage else compare(asked.draws)
