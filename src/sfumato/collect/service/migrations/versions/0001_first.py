"""The first tables, written out so that later changes of the schema do not change the past."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_FORBID_SQLITE = """
CREATE TRIGGER channel_log_no_{verb} BEFORE {VERB} ON channel_log
BEGIN SELECT RAISE(ABORT, 'the log of versions is append-only'); END
"""
_FORBID_POSTGRES = (
    """
CREATE FUNCTION channel_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the log of versions is append-only'; END $$
""",
    """
CREATE TRIGGER channel_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON channel_log
FOR EACH STATEMENT EXECUTE FUNCTION channel_log_is_append_only()
""",
)


def upgrade() -> None:
    """Make every table and the triggers that keep the log append-only."""
    op.create_table(
        "server_secrets",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(63), nullable=False, unique=True),
        sa.Column("specification", sa.Text, nullable=False),
        sa.Column("created_at_s", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "cycles",
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("signature", sa.String(86), nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("opened_at_s", sa.BigInteger, nullable=False),
        sa.Column("due_at_s", sa.BigInteger, nullable=True),
        sa.Column("closed_at_s", sa.BigInteger, nullable=True),
        sa.Column("merged_periods", sa.Integer, nullable=False),
        sa.Column("tickets", sa.BigInteger, nullable=False),
        sa.Column("relayed_reports", sa.BigInteger, nullable=False),
        sa.Column("closer", sa.String(32), nullable=True),
        sa.Column("lease_until_s", sa.Double, nullable=True),
        sa.CheckConstraint("state IN ('open', 'closing', 'closed')", name="a_cycle_is_open_closing_or_closed"),
    )
    op.create_table(
        "tallies",
        sa.Column("campaign_id", sa.Integer, primary_key=True),
        sa.Column("cycle", sa.Integer, primary_key=True),
        sa.Column("relayed", sa.SmallInteger, primary_key=True),
        sa.Column("cell", sa.Integer, primary_key=True),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_keys",
        sa.Column("campaign_id", sa.Integer, primary_key=True),
        sa.Column("cycle", sa.Integer, primary_key=True),
        sa.Column("key", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spent_tickets",
        sa.Column("campaign_id", sa.Integer, primary_key=True),
        sa.Column("scope", sa.Integer, primary_key=True),
        sa.Column("nonce", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "estimates",
        sa.Column("campaign_id", sa.Integer, primary_key=True),
        sa.Column("cycle", sa.Integer, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("probabilities", sa.LargeBinary, nullable=False),
        sa.Column("low", sa.LargeBinary, nullable=False),
        sa.Column("high", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "channel_log",
        sa.Column("campaign_id", sa.Integer, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("cycle", sa.Integer, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("entry", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(86), nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(_FORBID_SQLITE.format(verb=verb, VERB=verb.upper()))
    else:
        for statement in _FORBID_POSTGRES:
            op.execute(statement)


def downgrade() -> None:
    """Nothing: the first tables are never taken away from under a campaign."""
    raise NotImplementedError("The first migration cannot be undone; delete the database instead.")
