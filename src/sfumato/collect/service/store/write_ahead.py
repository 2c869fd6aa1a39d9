"""SQLite's write-ahead log on a disk that may be small or full: kept short, and always with room to be copied back.

A commit appends the pages it changed to the log; a checkpoint copies them into the database, after which the log begins
anew. SQLite does that by itself, but only after a commit that leaves 1,000 pages (4 MB) in the log. If the disk is full
before that, no commit succeeds any more and no checkpoint follows; one may even fail, because the database has to grow
by the pages that only the log holds. A collector on such a disk would refuse reports for ever although everything would
fit. So the thread that writes reports keeps three rules:

* it writes nothing unless the disk would still have room for copying the log back (:meth:`WriteAheadLog.leave_room`);
* when the disk is full, it copies the log back, cuts it to nothing and tries once more (:meth:`WriteAheadLog.cut`);
* when the log is longer than :data:`LONGEST_BYTES`, for instance because somebody read one old state for long, it is
  cut as soon as it can be (:meth:`WriteAheadLog.keep_short`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import time
from pathlib import Path

from sqlalchemy.engine.interfaces import DBAPICursor

LONGEST_BYTES = 32 << 20
"""How long the log may become while nobody holds an old state of the database."""
ROOM_BYTES = 256 << 10
"""What is left free beside that: for what the operator and closing cycles write, and for new pages of a group."""
_SPARE_PAGES, _LARGEST_PAGE_BYTES = 16, 65_536
# How long to wait for those who read an old state: when the disk is full, and when the log is merely long.
_FULL_WAITS_MS, _LONG_WAITS_MS, _BUSY_MS = 500, 50, 10_000
_CUT_EVERY_S = 1.0


class WriteAheadLog:
    """The log beside one database, for the one connection whose cursors it is given."""

    def __init__(self, database: Path) -> None:
        self._folder, self._database = str(database.absolute().parent), str(database.absolute())
        self._file = f"{self._database}-wal"
        self._cut_again_at_s = 0.0

    def leave_room(self, cursor: DBAPICursor, rows: int) -> None:
        """Fail as a full disk does if, after ``rows`` more rows, the log could no longer be copied back.

        Room is needed for the pages that the rows change, in the log (each row one page and a few that split, but no
        more than there are), and for those that the database has to grow by when the log is copied.
        """
        free_bytes = shutil.disk_usage(self._folder).free - ROOM_BYTES
        # The usual case, without asking the database: no page is larger, and each new page is in the log.
        if free_bytes > (rows + rows // 8 + _SPARE_PAGES) * _LARGEST_PAGE_BYTES + _size(self._file):
            return
        pages, page_bytes = _pragma(cursor, "page_count"), _pragma(cursor, "page_size")
        changed = min(rows, pages) + rows // 8 + _SPARE_PAGES
        growth_bytes = max(pages * page_bytes - _size(self._database), 0)
        if free_bytes < changed * page_bytes + growth_bytes:
            raise OSError(errno.ENOSPC, "no room to copy the write-ahead log back")

    def cut(self, cursor: DBAPICursor, *, wait_ms: int = _FULL_WAITS_MS) -> bool:
        """Copy the log into the database and cut it to nothing; False if there was none, or it cannot be done now.

        It cannot while somebody reads an old state (for ``wait_ms`` that is waited for), or while the disk has no room
        for the pages that are new.
        """
        if _size(self._file) == 0:
            return False
        cursor.execute(f"PRAGMA busy_timeout={wait_ms}")
        try:
            with contextlib.suppress(sqlite3.Error):
                return _pragma(cursor, "wal_checkpoint(TRUNCATE)") == 0  # 1: somebody reads
        finally:
            cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        return False

    def keep_short(self, cursor: DBAPICursor) -> None:
        """Cut a log that is too long; tried at most once a second, since it may have to wait for who reads."""
        if _size(self._file) > LONGEST_BYTES and time.monotonic() >= self._cut_again_at_s:
            self.cut(cursor, wait_ms=_LONG_WAITS_MS)
            self._cut_again_at_s = time.monotonic() + _CUT_EVERY_S


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except FileNotFoundError:
        return 0


def _pragma(cursor: DBAPICursor, name: str) -> int:
    """The first number that a pragma answers."""
    cursor.execute(f"PRAGMA {name}")
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
