"""PostgreSQL's own tools: what pg_dump wrote and pg_restore put back is a collector that goes on where it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from collector_harness import client, close, create, fill, history, refused, report_body, send, ticket
from postgres_server import PostgresServer

pytestmark = pytest.mark.postgres


def test_a_dump_is_restored_with_every_report_key_and_trigger(postgres: PostgresServer, tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("pg_dump and pg_restore are not installed")
    name = f"t{os.urandom(6).hex()}"
    database = postgres.create_database(name)
    with client(database, tick_s=60) as visitor:
        create(visitor)
        fill(database, [3] * 40)
        assert close(visitor)["closed"]
        body = report_body(visitor, ticket=ticket(visitor, cycle=2))
        assert send(visitor, body).json()["duplicate"] is False
        dump = tmp_path / "monday.dump"
        subprocess.run(["pg_dump", "-Fc", "-d", database, "-f", str(dump)], check=True, timeout=120)
    restored = postgres.create_database(f"{name}b")
    subprocess.run(["pg_restore", "--no-owner", "-d", restored, str(dump)], check=True, timeout=120)
    with client(restored, tick_s=60) as visitor:
        assert [one["reports"] for one in history(visitor)] == [40]
        assert send(visitor, body).json()["duplicate"] is True  # its key came along: counted once
        refused(send(visitor, {**body, "key": "0" * 32}), 409, "already spent")
        create(visitor, "next")  # the sequence goes on after the restored rows
    audit = "UPDATE audit_log SET operator = 'nobody'"
    changed = subprocess.run(
        ["psql", "-d", restored, "-c", audit], capture_output=True, text=True, timeout=60, check=False
    )
    assert "append-only" in changed.stderr
