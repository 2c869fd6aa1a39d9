"""What a bridge must not forget, in one SQLite file: times already used, what audiences may still see, links, pauses.

No true position is in it. What a blurred audience will see is kept as it will see it; an exact audience's positions are
sealed with AES-256-GCM under a key derived from the bridge's. A time is kept with a keyed fingerprint of its position:
two positions of one moment would get one noise, so the second is not shared, and a point sent again is known. A pipe
keeps what became of it, too, under a keyed mask: whoever has the file does not read in it when somebody was at home.

One transaction per batch: with ``durable`` on the disk (fsync) before :meth:`LiveStore.commit` returns; without it, it
survives a killed process but not a power cut. What is deleted is overwritten (``secure_delete``) and cut from the log.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.base.errors import InputError
from sfumato.base.files import create_text
from sfumato.base.randomness import KEY_BYTES, derived_key, fresh_key
from sfumato.tracks.live.owners_word import TURN_FILE, OwnersWord

_TABLES = """
CREATE TABLE IF NOT EXISTS person (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, track BLOB);
CREATE TABLE IF NOT EXISTS used (person INTEGER, time_ms INTEGER, print INTEGER, fate INTEGER,
  PRIMARY KEY (person, time_ms)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sight (audience TEXT, person INTEGER, time_ms INTEGER, due_ms INTEGER, held INTEGER,
  unsent INTEGER, body BLOB, PRIMARY KEY (audience, person, time_ms)) WITHOUT ROWID;
DROP INDEX IF EXISTS unsent;
CREATE INDEX IF NOT EXISTS waiting ON sight (audience, due_ms, time_ms) WHERE unsent > 0 AND held = 0;
CREATE TABLE IF NOT EXISTS link (hash TEXT PRIMARY KEY, audience TEXT, person TEXT, until_ms INTEGER);
CREATE TABLE IF NOT EXISTS pause (audience TEXT, since_ms INTEGER, until_ms INTEGER);
CREATE TABLE IF NOT EXISTS shape (audience TEXT PRIMARY KEY, mark BLOB);
CREATE TABLE IF NOT EXISTS refused (audience TEXT, what TEXT, status INTEGER, count INTEGER, last_ms INTEGER,
  PRIMARY KEY (audience, what, status));
CREATE TABLE IF NOT EXISTS retained (audience TEXT, person TEXT, topic TEXT, recall INTEGER,
  PRIMARY KEY (audience, topic));
CREATE TABLE IF NOT EXISTS process (person INTEGER, size_m REAL, began_ms INTEGER, PRIMARY KEY (person, size_m));
"""
_POINT = struct.Struct("<dd")
_NEVER = 1 << 62
NOTHING = (-1, -1, "")  # before everything that is due
KEY_FILE, STORE_FILE = "live.key", "live.db"


@dataclass(frozen=True, slots=True)
class Sight:
    """What one audience may see of one person at one time: a place (lat, lon), or a name."""

    audience: str
    person: str
    time_ms: int
    due_ms: int
    lat_deg: float | None = None
    lon_deg: float | None = None
    name: str | None = None
    held: bool = False
    unsent: bool = False
    sealed: bool = False


@dataclass(slots=True, eq=False)
class LiveBatch:
    """What one transaction writes."""

    used: list[tuple[int, int, int, int | None]] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    last_only: set[str] = field(default_factory=set)
    leave: list[tuple[int, int]] = field(default_factory=list)  # person, time: held points that leave
    withhold: list[tuple[int, int]] = field(default_factory=list)
    tracks: dict[int, bytes] = field(default_factory=dict)
    processes: list[tuple[int, float, int]] = field(default_factory=list)


def live_key(folder: Path) -> bytes:
    """The bridge's key, made at the first start; whoever reads it can undo all noise, past and future."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, stored = folder / KEY_FILE, (folder / STORE_FILE).exists()
    if file.exists() and not stored:  # two places of one moment would share their noise, and pauses would end
        what = f"{folder / STORE_FILE} is gone: pauses, and the moments whose noise was used."
        raise InputError(what, f"Restore it from a copy, or move {file} away: another process of noise begins.")
    if not file.exists():
        if stored:
            raise InputError(f"{file} is gone, and {STORE_FILE} is here.", "Restore the key from a copy.")
        with contextlib.suppress(FileExistsError):
            create_text(file, fresh_key().hex() + "\n", private=True)
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise InputError(f"Others can read {file}, which undoes all noise.", f"Run: chmod 600 {file}")
    try:
        key = bytes.fromhex(file.read_text().strip())
    except ValueError as error:
        raise InputError(f"{file} is damaged.", "Restore it from a copy.") from error
    if len(key) != KEY_BYTES:
        raise InputError(f"{file} is damaged.", "Restore it from a copy.")
    return key


class LiveStore(OwnersWord):
    """The file, opened by one thread at a time."""

    def __init__(self, folder: Path, key: bytes, *, durable: bool = True) -> None:
        path = folder / STORE_FILE
        try:
            # Never opened beside SQLite: closing it drops the locks of another store of this process (POSIX), and a
            # command that ends would then delete the log which this process goes on writing.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.execute("PRAGMA cache_size = -16000")
            self._db.executescript(_TABLES)
            with contextlib.suppress(
                sqlite3.OperationalError
            ):  # a file of before: what became of its moments is unknown
                self._db.execute("ALTER TABLE used ADD COLUMN fate INTEGER")
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{path} cannot be used: {error}.", "Check disk, permissions, or restore a copy."
            ) from error
        self._seal = AESGCM(derived_key(key, b"live sealed positions"))
        self._fate_key = derived_key(key, b"live fates")
        self._ids: dict[str, int] = dict(self._db.execute("SELECT name, id FROM person"))
        self._turn_file = folder / TURN_FILE

    def close(self) -> None:
        """Everything is on disk already."""
        self._db.close()

    # People and their tracks.

    def id_of(self, person: str) -> int:
        """A number for a name, for ever."""
        found = self._ids.get(person)
        if found is None:
            self._db.execute("INSERT OR IGNORE INTO person (name) VALUES (?)", (person,))
            row = self._db.execute("SELECT id FROM person WHERE name = ?", (person,)).fetchone()
            found = self._ids[person] = int(row[0])
        return found

    def begin(self) -> None:
        """What follows is one transaction, until :meth:`commit`."""
        self._db.execute("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        """Forget what was begun."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._ids = dict(self._db.execute("SELECT name, id FROM person"))

    def track_of(self, person: int) -> bytes | None:
        """What was kept of somebody's way: no position."""
        row = self._db.execute("SELECT track FROM person WHERE id = ?", (person,)).fetchone()
        return None if row is None else row[0]

    def mark_and_fate(self, person: int, time_ms: int) -> tuple[int | None, int | None]:
        """The fingerprint of the position that this moment had, and its fate; None is unknown."""
        found = self._db.execute("SELECT print, fate FROM used WHERE person = ? AND time_ms = ?", (person, time_ms))
        mark, fate = found.fetchone() or (None, None)
        return mark, None if fate is None else self._masked(person, time_ms, fate)

    def _masked(self, person: int, time_ms: int, fate: int) -> int:
        """One of four fates as it stands in the file, and back."""
        return fate ^ (hmac.digest(self._fate_key, b"%d %d" % (person, time_ms), "sha256")[0] & 3)

    def beside(self, person: int, time_ms: int) -> tuple[int, int]:
        """The moments of somebody right before and after this one."""
        found = self._db.execute(
            "SELECT (SELECT MAX(time_ms) FROM used WHERE person = ?1 AND time_ms < ?2), "
            "(SELECT MIN(time_ms) FROM used WHERE person = ?1 AND time_ms > ?2)",
            (person, time_ms),
        )
        before, after = found.fetchone()
        return -1 if before is None else before, _NEVER if after is None else after

    def newest(self, person: int) -> int:
        """The latest moment of somebody that was used; before 1970 where there is none."""
        found = self._db.execute("SELECT MAX(time_ms) FROM used WHERE person = ?", (person,)).fetchone()[0]
        return -1 if found is None else int(found)

    def processes(self) -> dict[str, list[float]]:
        """The sizes of all finest processes that were ever begun, by person: their losses add up."""
        rows = self._db.execute("SELECT name, size_m FROM process JOIN person ON id = person ORDER BY began_ms")
        out: dict[str, list[float]] = {}
        for name, size in rows:
            out.setdefault(name, []).append(float(size))
        return out

    # What audiences see.

    def commit(self, batch: LiveBatch) -> None:
        """Write a batch into the transaction that was begun, and end it."""
        db = self._db
        used = [(*row[:3], None if row[3] is None else self._masked(row[0], row[1], row[3])) for row in batch.used]
        db.executemany("INSERT OR IGNORE INTO used VALUES (?, ?, ?, ?)", used)
        if batch.processes:
            db.executemany("INSERT OR IGNORE INTO process VALUES (?, ?, ?)", batch.processes)
        if batch.leave or batch.withhold:
            db.executemany("UPDATE sight SET held = 0 WHERE person = ? AND time_ms = ? AND held = 1", batch.leave)
            db.executemany("DELETE FROM sight WHERE person = ? AND time_ms = ? AND held = 1", batch.withhold)
            fates = ((0, batch.leave), (3, batch.withhold))  # passes, withheld
            rows_ = [(self._masked(*one, fate), *one) for fate, some in fates for one in some]
            db.executemany("UPDATE used SET fate = ? WHERE person = ? AND time_ms = ? AND fate IS NOT NULL", rows_)
        for_last: dict[tuple[str, str], Sight] = {}
        rows = []
        for one in batch.sights:
            simple = one.audience in batch.last_only and not one.held and one.due_ms <= one.time_ms and not one.unsent
            if simple:
                known = for_last.get((one.audience, one.person))
                if known is None or known.time_ms < one.time_ms:
                    for_last[one.audience, one.person] = one
            else:
                rows.append(self._row(one))
        rows += [self._row(one) for one in for_last.values()]
        db.executemany("INSERT OR IGNORE INTO sight VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        older = [(one.audience, self.id_of(one.person), one.time_ms) for one in for_last.values()]
        db.executemany(
            "DELETE FROM sight WHERE audience = ? AND person = ? AND time_ms < ? AND held = 0 AND unsent = 0", older
        )
        tracks = [(track, one) for one, track in batch.tracks.items()]
        db.executemany("UPDATE person SET track = ? WHERE id = ?", tracks)
        db.execute("COMMIT")

    def _row(self, one: Sight) -> tuple[str, int, int, int, int, int, bytes]:
        if one.lat_deg is None or one.lon_deg is None:
            body = b"n" + (one.name or "").encode()
        elif one.sealed:
            nonce = os.urandom(12)
            body = b"s" + nonce + self._seal.encrypt(nonce, _POINT.pack(one.lat_deg, one.lon_deg), self._about(one))
        else:
            body = b"p" + _POINT.pack(one.lat_deg, one.lon_deg)
        person = self.id_of(one.person)
        return one.audience, person, one.time_ms, one.due_ms, int(one.held), int(one.unsent), body

    def _about(self, one: Sight) -> bytes:
        return f"{one.audience}\0{one.person}\0{one.time_ms}".encode()

    def _sights(self, rows: Iterable[tuple[str, str, int, int, int, bytes]]) -> list[Sight]:
        return [self._sight(*row) for row in rows]

    def _sight(self, audience: str, person: str, time_ms: int, due_ms: int, unsent: int, body: bytes) -> Sight:
        bare = Sight(audience, person, time_ms, due_ms, unsent=bool(unsent))
        if body[:1] == b"n":
            return Sight(audience, person, time_ms, due_ms, name=body[1:].decode(), unsent=bool(unsent))
        plain = body[1:] if body[:1] == b"p" else self._seal.decrypt(body[1:13], body[13:], self._about(bare))
        lat, lon = _POINT.unpack(plain)
        return Sight(audience, person, time_ms, due_ms, lat, lon, unsent=bool(unsent), sealed=body[:1] == b"s")

    _SEEN = "SELECT audience, name, time_ms, due_ms, unsent, body FROM sight JOIN person ON id = person WHERE held = 0 "

    def visible(self, audience: str, person: str, now_ms: int, *, most: int, since_ms: int = 0) -> list[Sight]:
        """What may be seen now, in the order of its times; the last ``most``."""
        rows = self._db.execute(
            self._SEEN + "AND audience = ? AND name = ? AND due_ms <= ? AND time_ms >= ? ORDER BY time_ms DESC LIMIT ?",
            (audience, person, now_ms, since_ms, most),
        )
        return self._sights(rows)[::-1]

    def people_seen(self, audience: str) -> list[str]:
        """Everybody of whom an audience may see something."""
        rows = self._db.execute(
            "SELECT DISTINCT name FROM sight JOIN person ON id = person WHERE audience = ? AND held = 0", (audience,)
        )
        return [name for (name,) in rows]

    def due(self, now_ms: int, audience: str, *, after: tuple[int, int, str] = NOTHING, most: int = 100) -> list[Sight]:
        """What is to be sent to an audience now, behind a due time, time and person."""
        rows = self._db.execute(
            self._SEEN + "AND unsent > 0 AND audience = ? AND due_ms <= ? AND (due_ms, time_ms, name) > (?, ?, ?) "
            "ORDER BY due_ms, time_ms, name LIMIT ?",
            (audience, now_ms, *after, most),
        )
        return self._sights(rows)

    def waiting(self, now_ms: int) -> dict[str, tuple[int, int]]:
        """Of what is due and did not arrive yet, by audience: how many, and since when the oldest waits."""
        rows = self._db.execute(
            "SELECT audience, COUNT(*), MIN(due_ms) FROM sight WHERE unsent > 0 AND held = 0 AND due_ms <= ? "
            "GROUP BY audience",
            (now_ms,),
        )
        return {audience: (count, oldest) for audience, count, oldest in rows}

    def mark_sent(self, sights: Sequence[Sight]) -> None:
        """They arrived."""
        rows = [(one.audience, self.id_of(one.person), one.time_ms) for one in sights]
        sent = "UPDATE sight SET unsent = 0 WHERE audience = ? AND person = ? AND time_ms = ?"
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(sent, rows)
        self._db.execute("COMMIT")

    def forget_old(self, keep_s: Mapping[str, float | None], now_ms: int) -> None:
        """Drop what an audience may no longer look back at, with None all but the last that is due; and ended links."""
        self._db.execute("DELETE FROM link WHERE until_ms <= ?", (now_ms,))
        for audience, keep in keep_s.items():
            gone = "DELETE FROM sight WHERE audience = ?1 AND unsent = 0 AND time_ms < "
            if keep is None:
                last = "SELECT MAX(time_ms) FROM sight AS s WHERE s.audience = ?1 AND s.person = sight.person"
                self._db.execute(f"{gone}({last} AND s.due_ms <= ?2 AND s.held = 0) AND held = 0", (audience, now_ms))
            else:
                self._db.execute(f"{gone}?2", (audience, now_ms - int(1000 * keep)))
        self._db.execute(  # what a broker keeps of whom nothing is kept here
            "UPDATE retained SET recall = 1 WHERE NOT EXISTS (SELECT 1 FROM sight JOIN person ON id = sight.person "
            "WHERE sight.audience = retained.audience AND name = retained.person AND held = 0)"
        )
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def keep_only(self, marks: Mapping[str, bytes]) -> None:
        """Delete what was kept for audiences that are no more, or may see something else than when it was kept."""
        self._db.execute("BEGIN IMMEDIATE")
        known = dict(self._db.execute("SELECT audience, mark FROM shape"))
        kept = {name for (name,) in self._db.execute("SELECT DISTINCT audience FROM sight")}
        gone = [(name,) for name in kept | set(known) if name not in marks or known.get(name) != marks[name]]
        self._db.executemany("DELETE FROM sight WHERE audience = ?", gone)
        self._db.executemany("DELETE FROM shape WHERE audience = ?", gone)
        self._db.executemany("UPDATE retained SET recall = 1 WHERE audience = ?", gone)
        if known != marks:  # what left by another rule is not told again
            self._db.execute("UPDATE used SET fate = NULL")
        self._db.executemany("INSERT OR REPLACE INTO shape VALUES (?, ?)", list(marks.items()))
        self._db.execute("COMMIT")
        if gone:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget(self, audience: str, person: str | None = None) -> int:
        """Delete what was kept for an audience, overwritten and cut from the log; how many positions that were."""
        where, values = ("", ()) if person is None else (" AND person = ?", (self.id_of(person),))
        gone = self._db.execute(f"DELETE FROM sight WHERE audience = ?{where}", (audience, *values))
        self.recall(row for row in self.kept_topics(all_of=audience) if person in (None, row[1]))
        self.count_turn()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone.rowcount
