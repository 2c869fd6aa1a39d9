"""Databases for tests: PostgreSQL once per session, and "either" kind where both must do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer, postgres_server, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of its own, stopped at the end."""
    if programs() is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/collector.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database(f"t{os.urandom(6).hex()}")
