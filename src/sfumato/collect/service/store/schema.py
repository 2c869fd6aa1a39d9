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
    SmallInteger,
    String,
    Table,
    Text,
)

metadata = MetaData()

secrets = Table(
    "server_secrets",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("specification", Text, nullable=False),
    Column("created_at_s", BigInteger, nullable=False),
    Column("state", String(8), nullable=False, server_default="running"),
    Column("paused_at_s", BigInteger, nullable=True),
    # Up to which closed cycle the operator has been told.
    Column("noticed_cycle", Integer, nullable=False, server_default="0"),
)

cycles = Table(
    "cycles",
    metadata,
    Column("campaign_id", Integer, ForeignKey("campaigns.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("version", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("signature", String(86), nullable=False),
    Column("facts", Text, nullable=False),
    Column("state", String(8), nullable=False),
    Column("opened_at_s", BigInteger, nullable=False),
    Column("due_at_s", BigInteger, nullable=True),
    Column("closed_at_s", BigInteger, nullable=True),
    Column("merged_periods", Integer, nullable=False),
    Column("tickets", BigInteger, nullable=False),
    Column("relayed_reports", BigInteger, nullable=False),
    Column("closer", String(32), nullable=True),
    Column("lease_until_s", Double, nullable=True),
    Column("excluded", SmallInteger, nullable=False, server_default="0"),
    CheckConstraint("state IN ('open', 'closing', 'closed')", name="a_cycle_is_open_closing_or_closed"),
)

tallies = Table(
    "tallies",
    metadata,
    Column("campaign_id", Integer, primary_key=True),
    Column("cycle", Integer, primary_key=True),
    Column("relayed", SmallInteger, primary_key=True),
    Column("cell", Integer, primary_key=True),
    Column("reports", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

report_keys = Table(
    "report_keys",
    metadata,
    Column("campaign_id", Integer, primary_key=True),
    Column("cycle", Integer, primary_key=True),
    Column("key", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

# ``scope`` is the cycle's number, the epoch's, or 0 in a campaign where each device reports once.
spent_tickets = Table(
    "spent_tickets",
    metadata,
    Column("campaign_id", Integer, primary_key=True),
    Column("scope", Integer, primary_key=True),
    Column("nonce", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

estimates = Table(
    "estimates",
    metadata,
    Column("campaign_id", Integer, primary_key=True),
    Column("cycle", Integer, primary_key=True),
    Column("facts", Text, nullable=False),
    Column("probabilities", LargeBinary, nullable=False),
    Column("low", LargeBinary, nullable=False),
    Column("high", LargeBinary, nullable=False),
    Column("this_cycle", LargeBinary, nullable=True),
    Column("without_suspicious", LargeBinary, nullable=True),
    Column("areas", LargeBinary, nullable=True),
)

channel_log = Table(
    "channel_log",
    metadata,
    Column("campaign_id", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("cycle", Integer, nullable=False),
    Column("version", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("entry", String(64), nullable=False),
    Column("signature", String(86), nullable=False),
)

operators = Table(
    "operators",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("token_sha256", LargeBinary, nullable=False),
    Column("created_at_s", BigInteger, nullable=False),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("at_s", BigInteger, nullable=False),
    Column("operator", String(63), nullable=False),
    Column("action", String(32), nullable=False),
    Column("campaign", String(63), nullable=True),
    Column("detail", Text, nullable=False),
)

notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("way", String(8), nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at_s", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_try_at_s", Double, nullable=True),
    Column("state", String(8), nullable=False),
)

# One row, written again by whoever asks whether a report would be kept.
probes = Table(
    "probes", metadata, Column("id", Integer, primary_key=True), Column("written", LargeBinary, nullable=False)
)
