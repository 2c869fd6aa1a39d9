"""Folders as 0.2.0 wrote them: run once, in an empty folder, with sfumato 0.2.0 installed.

python make_v0_2.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf


def ride(day: int, points: int = 40) -> sf.Trace:
    """Straight out of Paris, another way every day."""
    rng, step = np.random.default_rng(day), np.arange(points)
    lat, lon = 48.85 + 1e-3 * step * np.cos(day), 2.35 + 1e-3 * step * np.sin(day)
    return sf.Trace(lat + 1e-5 * rng.normal(size=points), lon, 1.7e9 + 86400.0 * day + 30.0 * step)


def run(*words: str) -> None:
    """One command."""
    subprocess.run([sys.executable, "-c", "from sfumato.cli import main; main()", *words], check=True)


Path("rides").mkdir()
Path("rows").mkdir()
Path("people").mkdir()
sf.write_trace(ride(0), "rides/a.gpx")
sf.write_trace(ride(1), "rides/b.geojson")
tables = []
for person in range(22):
    trace = ride(person, 12)
    times = pa.array((1000 * trace.times_s).astype(np.int64)).cast(pa.timestamp("ms", "UTC"))
    who = [f"p{person}"] * len(trace)
    tables.append(pa.table({"user_id": who, "lat": trace.lat_deg, "lon": trace.lon_deg, "time": times}))
    run("places", "add", "home", "48.85,2.35", "--zone", "400m", "--places", f"people/p{person}.places")
pq.write_table(pa.concat_tables(tables), "rows/a.parquet")
run("places", "add", "home", "48.85,2.35", "--zone", "400m", "--places", "me.places")
run("hide", "rides", "-o", "hidden", "--places", "me.places", "--certificate", "hidden.json")
run("protect", "rides", "-o", "noisy", "--one-person", "--certificate", "noisy.json")
run("protect", "rides", "-o", "at_once", "--mechanism", "independent", "--noise", "200m", "--one-person",
    "--certificate", "at_once.json")  # fmt: skip
run("protect", "rows", "-o", "dataset", "--user-column", "user_id")
run("hide", "rows", "-o", "hidden_rows", "--places", "people", "--user-column", "user_id")
run("protect", "rides/a.gpx", "-o", "track.gpx", "--certificate", "track.json")
run("protect", "rows/a.parquet", "-o", "people.csv", "--user-column", "user_id", "--certificate", "people.json")
run("smooth", "track.gpx", "--certificate", "track.json", "-o", "smooth.gpx")
