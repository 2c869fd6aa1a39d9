"""What the owner of a bridge said, and what others answered: pauses, links, refusals, what a broker keeps.

*Copies.* Starts, pauses, links, what ends them, and every minute in which something was taken are counted in the file
(``user_version``) and beside it. A file that counts less than is written beside it, or has nothing beside it, is a copy
from before: what was paused, revoked, forgotten and used since is not known, so the bridge shows nothing until somebody
says otherwise. A folder that was set back as a whole cannot be told from one that was not.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from sfumato.base.files import write_text

TURN_FILE = "live.turn"
_PAUSE = (
    "INSERT INTO pause SELECT ?1, ?2, NULL "
    "WHERE NOT EXISTS (SELECT 1 FROM pause WHERE audience = ?1 AND until_ms IS NULL)"
)


class OwnersWord:
    """A part of :class:`~sfumato.tracks.live.store.LiveStore`, on its connection."""

    _db: sqlite3.Connection
    _turn_file: Path

    # Copies.

    def _turn(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @property
    def is_copy(self) -> bool:
        """Whether this file is a copy from before something that it does not know."""
        try:
            return int(self._turn_file.read_text()) > self._turn()
        except FileNotFoundError:
            return self._turn() > 0
        except (OSError, ValueError):
            return True

    def count_turn(self, *, at_least: int = 0) -> None:
        """Something was done that a copy from before would not know: first in the file, then beside it."""
        self._db.execute("BEGIN IMMEDIATE")
        turn = max(self._turn(), at_least) + 1
        self._db.execute(f"PRAGMA user_version = {turn}")
        self._db.execute("COMMIT")
        write_text(self._turn_file, f"{turn}\n", private=True)

    def open_or_close(self, audiences: Iterable[str]) -> None:
        """Of a copy: everybody is paused, no link opens, and nothing kept is shown: all of it before it counts again.

        Since ever: a moment that is not in the copy may have been used, also one from before its last.
        """
        beside = 0
        with contextlib.suppress(OSError, ValueError):
            beside = int(self._turn_file.read_text())
        if self.is_copy:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE pause SET since_ms = 0 WHERE until_ms IS NULL")
            self._db.executemany(_PAUSE, [(one, 0) for one in audiences])
            for all_of_it in ("DELETE FROM link", "DELETE FROM sight", "UPDATE retained SET recall = 1"):
                self._db.execute(all_of_it)
            self._db.execute("COMMIT")
        self.count_turn(at_least=beside)

    # What receivers refused, and what a broker keeps.

    def refuse(self, audience: str, what: str, status: int, now_ms: int) -> None:
        """Count a position that a receiver refused for good."""
        self._db.execute(
            "INSERT INTO refused VALUES (?1, ?2, ?3, 1, ?4) ON CONFLICT DO UPDATE SET count = count + 1, last_ms = ?4",
            (audience, what, status, now_ms),
        )

    def refusals(self) -> list[tuple[str, str, int, int, int]]:
        """Audience, kind of receiver, status, how many positions, and when the last was."""
        return self._db.execute("SELECT * FROM refused ORDER BY audience, what, status").fetchall()

    def retain(self, audience: str, person: str, topic: str) -> None:
        """A broker will keep a message there: written before it is sent."""
        self._db.execute("INSERT OR IGNORE INTO retained VALUES (?, ?, ?, 0)", (audience, person, topic))

    def kept_topics(self, *, all_of: str = "") -> list[tuple[str, str, str]]:
        """Audience, person and topic of what a broker may keep and should not; of one audience all that it may keep."""
        rows = self._db.execute("SELECT audience, person, topic FROM retained WHERE recall OR audience = ?", (all_of,))
        return rows.fetchall()

    def recall(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """What a broker should not keep."""
        some = [(audience, topic) for audience, _, topic in rows]
        self._db.executemany("UPDATE retained SET recall = 1 WHERE audience = ? AND topic = ?", some)

    def drop_topic(self, audience: str, topic: str) -> None:
        """The broker keeps nothing there any more."""
        self._db.execute("DELETE FROM retained WHERE audience = ? AND topic = ?", (audience, topic))

    # Links and pauses.

    def version(self) -> int:
        """A number that differs when another process wrote."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def add_link(self, hash: str, audience: str, person: str, until_ms: int) -> None:
        """A link that ends by itself."""
        self._db.execute("INSERT INTO link VALUES (?, ?, ?, ?)", (hash, audience, person, until_ms))
        self.count_turn()

    def links(self, now_ms: int) -> dict[str, tuple[int, int]]:
        """How many links of each audience open something, and when the last of them ends."""
        open_now = "SELECT audience, COUNT(*), MAX(until_ms) FROM link WHERE until_ms > ? GROUP BY audience"
        return {audience: (count, until) for audience, count, until in self._db.execute(open_now, (now_ms,))}

    def link(self, hash: str, now_ms: int) -> tuple[str, str] | None:
        """Audience and person of a link that still holds."""
        row = self._db.execute("SELECT audience, person FROM link WHERE hash = ? AND until_ms > ?", (hash, now_ms))
        return row.fetchone()  # type: ignore[no-any-return]

    def revoke(self, audience: str, hash: str | None = None) -> int:
        """End one link, or all of an audience; how many."""
        where, values = ("hash = ?", (hash,)) if hash else ("audience = ?", (audience,))
        gone = self._db.execute(f"DELETE FROM link WHERE {where}", values).rowcount
        self.count_turn()
        return gone

    def pause(self, audience: str, since_ms: int) -> None:
        """Nothing more leaves for an audience from now on, until the pause is ended."""
        self._db.execute(_PAUSE, (audience, since_ms))
        self.count_turn()

    def end_pause(self, audience: str, until_ms: int) -> None:
        """What is measured from now on leaves again; what was measured meanwhile never does, however late it comes."""
        ended = "UPDATE pause SET until_ms = ? WHERE audience = ? AND until_ms IS NULL"
        self._db.execute(ended, (until_ms, audience))
        self.count_turn()

    def pauses(self) -> dict[str, list[tuple[int, int | None]]]:
        """When nothing left for an audience, from and until; None is a pause that goes on."""
        out: dict[str, list[tuple[int, int | None]]] = {}
        for name, since_ms, until_ms in self._db.execute("SELECT audience, since_ms, until_ms FROM pause"):
            out.setdefault(name, []).append((since_ms, until_ms))
        return out
