"""The tables: tallies by cell, keys and spent tickets apart from them, cycles, estimates and two append-only logs.

Nothing here can hold a coordinate of a person, an address, a browser's name or the time of a report. Keys and
spent tickets share no row id, no time and no order with the tallies, and are deleted when their cycle closes. What
operators did stands in the audit log.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    SmallInteger,
    String,
    Table,
    Text,
)

TableRow = Row[tuple[object, ...]]
_Kind = Integer | Double[float] | String | LargeBinary
_KINDS: dict[str, _Kind] = {"int": Integer(), "big": BigInteger(), "small": SmallInteger(), "double": Double()}
_KINDS |= {"text": Text(), "bytes": LargeBinary(), "bytes16": LargeBinary(16)}
CYCLE_STATES = "state IN ('open', 'closing', 'closed')"


def columns(described: str) -> list[Column[object]]:
    """Columns, each as ``name kind`` and what else there is to it, separated by commas.

    A kind that is a number is a text of at most so many characters. ``key``: part of the primary key; ``null``: may be
    missing; ``unique``; ``=0``: what the database writes where nothing is said; ``>campaigns.id``: a row there.
    """
    found = []
    for name, kind, *more in (one.split() for one in described.split(",")):
        words = set(more)
        default = next((word[1:] for word in more if word[0] == "="), None)
        elsewhere = [ForeignKey(word[1:]) for word in more if word[0] == ">"]
        key, unique, null = "key" in words, "unique" in words or None, "null" in words
        type_: _Kind = String(int(kind)) if kind.isdigit() else _KINDS[kind]
        column: Column[object] = Column(
            name, type_, *elsewhere, primary_key=key, unique=unique, nullable=null, server_default=default
        )
        found.append(column)
    return found


def _table(name: str, described: str, *rules: CheckConstraint) -> Table:
    return Table(name, metadata, *columns(described), *rules)


def _without_rowid(name: str, described: str) -> Table:
    """No row id: no order in which rows came, in SQLite."""
    return Table(name, metadata, *columns(described), sqlite_with_rowid=False)


metadata = MetaData()
secrets = _table("server_secrets", "name 64 key, value bytes")
# noticed_cycle: up to which closed cycle the operator has been told.
campaigns = _table(
    "campaigns",
    "id int key, name 63 unique, specification text, created_at_s big, state 8 =running, paused_at_s big null,"
    "noticed_cycle int =0",
)
cycles = _table(
    "cycles",
    "campaign_id int key >campaigns.id, number int key, version 64, payload text, signature 86, facts text, state 8,"
    "opened_at_s big, due_at_s big null, closed_at_s big null, merged_periods int, tickets big, relayed_reports big,"
    "closer 32 null, lease_until_s double null, excluded small =0",
    CheckConstraint(CYCLE_STATES, name="a_cycle_is_open_closing_or_closed"),
)
tallies = _without_rowid("tallies", "campaign_id int key, cycle int key, relayed small key, cell int key, reports big")
report_keys = _without_rowid("report_keys", "campaign_id int key, cycle int key, key bytes16 key")
# ``scope`` is the cycle's number, the epoch's, or 0 in a campaign where each device reports once.
spent_tickets = _without_rowid("spent_tickets", "campaign_id int key, scope int key, nonce bytes16 key")
# Who has had a blind ticket, as :func:`~..rounds.tickets.device_nonce`, and a hash of its round and what was blinded.
issued_tickets = _without_rowid(
    "issued_tickets", "campaign_id int key, scope int key, holder bytes16 key, blinded_sha256 bytes"
)
# The private keys of rounds that still take reports.
ticket_keys = _table("ticket_keys", "campaign_id int key, cycle int key, private bytes")
estimates = _table(
    "estimates",
    "campaign_id int key, cycle int key, facts text, probabilities bytes, low bytes, high bytes, this_cycle bytes null,"
    "without_suspicious bytes null, areas bytes null, districts text null",
)
channel_log = _table(
    "channel_log",
    "campaign_id int key, position int key, cycle int, version 64, previous 64, entry 64, signature 86",
)
operators = _table("operators", "name 63 key, token_sha256 bytes, created_at_s big")
audit_log = _table("audit_log", "position int key, at_s big, operator 63, action 32, campaign 63 null, detail text")
notices = _table(
    "notices",
    "id int key, way 8, subject text, body text, created_at_s big, attempts int, next_try_at_s double null, state 8",
)
# One row, written again by whoever asks whether a report would be kept.
probes = _table("probes", "id int key, written bytes")
