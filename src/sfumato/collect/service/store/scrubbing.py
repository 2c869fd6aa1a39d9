"""Taking deleted secrets out of SQLite's files, and keeping the files to their owner.

``secure_delete`` overwrites what is deleted within the database's pages. The write-ahead log still holds the pages as
they were: it is copied into the database and cut to nothing (``wal_checkpoint(TRUNCATE)``) after every forgetting, and
at the start, for a server that died in between. PostgreSQL offers neither; docs/operator_threats.md says what that
means.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
from pathlib import Path

from sqlalchemy.engine import URL

from sfumato.base.errors import InputError
from sfumato.collect.service.store.engine import Database

_WAIT_MS = 500
SIDE_FILES = ("", "-wal", "-shm", "-journal")
"""What SQLite puts after the database's name."""


async def scrubbed(database: Database) -> bool:
    """Empty the write-ahead log; False if somebody was reading from it, so that it must be tried again."""
    if database.dialect != "sqlite":
        return True
    return await asyncio.to_thread(_truncated, Path(str(database.engine.url.database)))


def _truncated(file: Path) -> bool:
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
        connection.execute("PRAGMA secure_delete=ON")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
    finally:
        connection.close()


def make_private(url: URL) -> None:
    """Make the database's file for its owner alone, or refuse one that others can read.

    SQLite gives the side files the mode of the database.
    """
    file = Path(str(url.database))
    # Whatever stands in the way is said by the first statement, with the advice that fits.
    with contextlib.suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if os.name != "posix":
        return
    for side in SIDE_FILES:
        one = Path(f"{file}{side}")
        if one.is_file() and stat.S_IMODE(one.stat().st_mode) & stat.S_IRWXO:
            raise InputError(
                f"Everybody on this machine can read {one.name}, which holds the keys that sign channels and tickets.",
                f"Close it to others first: chmod 600 {file.name}*",
            )
