"""Doors that tell the truth, on cabs of San Francisco: keys, trips, ids, and originals sealed as a dataset.

    python benchmarks/evidence_doors.py [--quick]

Printed by evidence_verdicts.py, too. What 0.2.0 did is said beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from held_out import HERE
from sfumato.base.errors import InputError
from sfumato.base.things.frames import differences_m, snap
from sfumato.tracks.certificates.person_ids import given_among
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.folders.verify_folder import judge_folder
from sfumato.tracks.people.door import protect
from sfumato.tracks.people.noise import Noise
from sfumato.tracks.plan import Plan

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "cabspotting" / "cabspotting.parquet"
DAY_S = 86_400


def cabs(count: int) -> pa.Table:
    """All points of the first few cabs, under an e-mail address each, with the number of the fare as a trip."""
    table = pq.read_table(DATA)
    table = table.set_column(0, "cab_id", table.column("cab_id").cast(pa.string()))
    wanted = pc.unique(table.column("cab_id")).slice(0, count)
    table = table.filter(pc.is_in(table.column("cab_id"), wanted)).sort_by(
        [("cab_id", "ascending"), ("time", "ascending")]
    )
    _, first = np.unique(
        table.column("cab_id").cast(pa.string()).combine_chunks().dictionary_encode().indices.to_numpy(),
        return_index=True,
    )
    fares = table.column("occupied").to_numpy().astype(np.int8)
    new = np.append(True, np.diff(fares) != 0)
    new[first] = True
    named = pc.binary_join_element_wise(table.column("cab_id").cast(pa.string()), pa.scalar("cab.example.org"), "@")
    columns = {"user_id": named, "trip_id": pa.array(np.cumsum(new)), "time": table.column("time")}
    where = {name: table.column(f"{name}_e6").to_numpy() / 1e6 for name in ("lat", "lon")}
    return pa.table(columns | where)


def _moved_m(given: pa.Table, out: pa.Table) -> np.ndarray:
    where = [table.column(name).to_numpy() for table in (given, out) for name in ("lat", "lon")]
    return differences_m(*where)


def keys(table: pa.Table) -> Iterator[str]:
    """How well the vector between the same moments of two days is known, under one key."""
    one = table.filter(pc.equal(table.column("user_id"), table.column("user_id")[0]))
    seconds = one.column("time").cast(pa.timestamp("s", "UTC")).cast(pa.int64()).to_numpy()
    first, key, parts = int(seconds[0]) // DAY_S, bytes(range(32)), []
    for day in range(2):
        mine = one.filter(pa.array(seconds // DAY_S == first + 1 + day)).slice(0, 300)
        parts.append(_moved_m(mine, protect_table(mine, Plan(ids="keep"), key=key)[0])[:1])
    apart = float(np.linalg.norm(parts[0] - parts[1]))
    yield f"key=: the noise at the first points of two days differs by {apart:.0f} m (0.2.0: 0.05 m)"


def trips(table: pa.Table) -> Iterator[str]:
    """What averaging leaves of the noise where every trip has its own, and what is said of it."""
    people = len(pc.unique(table.column("user_id")))
    alone = table.drop_columns(["user_id"])
    try:
        protect(alone)
        said = "taken for people"
    except InputError as error:
        said = f"refused: {error.what}"
    yield f"trips of {people} cabs and no person: {said} (0.2.0: taken for people)"
    for name, given, who in (("trip", alone, "trip_id"), ("person", table.drop_columns(["trip_id"]), "user_id")):
        done = protect(given, person=who, ids="keep")
        first = [np.mean(_moved_m(given, done.frame)[rows], axis=0) for rows in _first_hours(table)]
        off_m = np.sqrt(np.mean(np.square(first)))
        yield f"noise by {name}: the mean over a cab's first 24 hours is off by {off_m:.0f} m per coordinate"


def _first_hours(table: pa.Table) -> Iterator[np.ndarray]:
    who = table.column("user_id").combine_chunks().dictionary_encode().indices.to_numpy()
    seconds = table.column("time").cast(pa.timestamp("s", "UTC")).cast(pa.int64()).to_numpy()
    for one in np.unique(who):
        mine = np.flatnonzero(who == one)
        yield mine[seconds[mine] < seconds[mine[0]] + DAY_S]


def ids_and_originals(table: pa.Table) -> Iterator[str]:
    """Whose addresses leave in a dataset; and the verdict on its originals, sealed as a release."""
    given = set(table.column("user_id").to_pylist())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        pq.write_table(table.drop_columns(["trip_id"]), folder / "in" / "a.parquet")
        protect_dataset(folder / "in", folder / "out", Plan())
        left = {
            one
            for part in (folder / "out").glob("*.parquet")
            for one in pq.read_table(part).column("user_id").to_pylist()
        }
        new = given_among(sorted(left)) is None
        yield f"ids of {len(given)} cabs: {len(left & given)} addresses leave, all are new: {new} (0.2.0: all leave)"
        yield f"verdict on the dataset: {judge_folder(folder / 'out' / '_certificate.json', folder / 'out').head()}"

        def unmoved(self: Noise, rows: object) -> object:
            return snap(rows.lat_deg, rows.lon_deg, float(self.plan.snap_m))  # type: ignore[attr-defined]

        with patch.object(Noise, "move", unmoved), patch("sfumato.tracks.people.noise.check_drawn"):
            protect_dataset(folder / "in", folder / "raw", Plan())
        found = judge_folder(folder / "raw" / "_certificate.json", folder / "raw")
        yield f"verdict on its originals sealed as a release: {found.head()} (0.2.0: exit 0)"


def tell_doors(*, quick: bool) -> None:
    """All rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = cabs(3 if quick else 8)
        for rows in (keys, trips, ids_and_originals):
            for line in rows(table):
                print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    if HERE:
        tell_doors(quick=parser.parse_args().quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
