"""What a database's error means, and what its operator can do about it: told by codes, never by quoting a message."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import DBAPIError

Kind = Literal["full", "read-only", "damaged", "locked", "denied", "missing", "away", "unknown"]
_FAULTS: dict[Kind, tuple[str, str]] = {
    "full": (
        "The disk of the database is full: nothing can be written.",
        "Make room on it (or raise the quota); the collector goes on by itself as soon as a write succeeds.",
    ),
    "read-only": (
        "The database cannot be written, at most read.",
        "Give this user the right to write the database's file and its folder, and mount the disk read-write"
        " (PostgreSQL: this is a standby, or default_transaction_read_only is on).",
    ),
    "damaged": (
        "The database's file is damaged, or is not a database.",
        "Stop the collector, keep a copy of the file, and restore a backup: sfumato collector restore BACKUP.",
    ),
    "locked": (
        "Another program holds the database and does not let go.",
        "Find who has it open (fuser FILE); a backup or a shell with an open transaction does this.",
    ),
    "denied": (
        "The database does not let this user in.",
        "Check its user, its password, and for a file who owns it and its folder.",
    ),
    "missing": ("There is no such database.", "Make it (createdb NAME), or check the name in --database."),
    "away": ("The database does not answer.", "Is it running, and are its address and user right?"),
    "unknown": ("The database cannot be used.", "Look at the database's own log."),
}
_SQLITE: dict[int, Kind] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_CANTOPEN: "read-only",
    sqlite3.SQLITE_PERM: "denied",
    sqlite3.SQLITE_AUTH: "denied",
    # A write that the disk refused half-way; a disk that is full says so here as often as by SQLITE_FULL.
    sqlite3.SQLITE_IOERR: "full",
}
_STATES: dict[str, Kind] = {
    "53100": "full",
    "25006": "read-only",
    "XX001": "damaged",
    "XX002": "damaged",
    "55P03": "locked",
    "28000": "denied",
    "28P01": "denied",
    "42501": "denied",
    "3D000": "missing",
}
_ERRNO: dict[int, Kind] = {28: "full", 122: "full", 30: "read-only", 13: "denied", 1: "denied"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of trouble: what happened, and what to change."""

    kind: Kind
    what: str
    advice: str


def fault(error: BaseException) -> Fault:
    """What ``error`` of a database means."""
    kind = _kind(error)
    return Fault(kind, *_FAULTS[kind])


def _kind(error: BaseException) -> Kind:
    seen: BaseException | None = error
    for _ in range(6):
        if seen is None:
            break
        if isinstance(seen, sqlite3.Error):
            code = getattr(seen, "sqlite_errorcode", None)
            if code is not None:
                return _sqlite_kind(code)
        state = getattr(seen, "sqlstate", None)
        if isinstance(state, str):
            return _STATES.get(state, "away" if state[:2] in ("08", "57", "53") else "unknown")
        if isinstance(seen, OSError) and seen.errno in _ERRNO:
            return _ERRNO[seen.errno]
        if isinstance(seen, OSError):
            return "away"
        seen = seen.orig if isinstance(seen, DBAPIError) and seen.orig is not None else seen.__cause__
    return "unknown"


def _sqlite_kind(code: int) -> Kind:
    if code in (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ):
        return "damaged"
    if code == sqlite3.SQLITE_CANTOPEN_ISDIR:
        return "missing"
    return _SQLITE.get(code & 0xFF, "unknown")
