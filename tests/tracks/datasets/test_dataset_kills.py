"""Killed at any moment and started again: every row once, under the noise of the one key, which then is gone."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from kills import killed_after, killed_before_change
from people_rows import by_person, rows, written

from sfumato.tracks.folders.rows import dataset, dataset_job
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.people.door import protect_arrow
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.plan import Plan

KILLS = 20
PLAN = Plan(ids="keep", noise_m=200.0)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def the_key(out: Path) -> bytes | None:
    path = out.with_name(f"{out.name}.private") / "job.key"
    if not path.exists() or not (path.parent / "job.json").exists():
        return None
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_bytes()
    if not any(text):  # overwritten: all is in place
        assert (out / "_manifest.json").exists()
        return None
    return bytes.fromhex(text.decode())


def ended(out: Path) -> bool:
    return (out / "_manifest.json").exists() and not out.with_name(f"{out.name}.private").exists()


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small units and buckets."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 600)


def work(folder: Path, out: Path, cores: int) -> None:
    protect_dataset(folder, out, PLAN, cores=cores)


def checked(out: Path, table: pa.Table, keys: set[bytes]) -> None:
    """Every row once; under the one key there was, where one was seen."""
    assert len(keys) <= 1
    found = by_person(ds.dataset(out).to_table())
    assert sum(mine.num_rows for mine in found.values()) == table.num_rows
    assert verify_folder(out / "_certificate.json", out).checks
    if keys:
        expected = by_person(protect_arrow(table, PLAN, TableReading(), job_key=keys.pop()).done.table)
        assert all(found[person].equals(expected[person]) for person in expected)


def test_twenty_kills_at_any_moment_change_nothing(tmp_path: Path, few_rows: None) -> None:
    """All processes are forked before this one has threads of its own: what they did is looked at afterwards."""
    table = rows(4800, 40)
    folder, chance, hits = written(tmp_path / "in", table, 6), random.Random(11), 0
    assert not killed_before_change(10**9, tmp_path, lambda: work(folder, tmp_path / "compiled", 2))
    begun = time.perf_counter()
    assert not killed_before_change(10**9, tmp_path, lambda: work(folder, tmp_path / "timed", 2))
    lasts, outs = time.perf_counter() - begun, []
    while hits < KILLS:
        out, keys = tmp_path / f"out{len(outs)}", set()
        outs.append((out, keys))
        while not ended(out):
            hits += killed_after(chance.uniform(0.3, 1.0) * lasts, lambda out=out: work(folder, out, 2))
            if (key := the_key(out)) is not None:
                keys.add(key)
    for out, keys in outs:
        checked(out, table, keys)


def test_a_kill_before_every_change_of_the_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "ROUND_ROWS", 1000)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 1500)
    table = rows(2000, 40)
    folder, out, keys, change = written(tmp_path / "in", table, 2), tmp_path / "out", set(), 1
    while not ended(out):
        killed_before_change(change, tmp_path, lambda: work(folder, out, 1))
        change += 3  # each run gets a little further
        if (key := the_key(out)) is not None:
            keys.add(key)
    assert change > 10
    checked(out, table, keys)
