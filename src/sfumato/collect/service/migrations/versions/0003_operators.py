"""What an operator's day needs: states of campaigns, cycles left out, named operators, an audit log, notices."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_FORBID_SQLITE = """
CREATE TRIGGER audit_log_no_{verb} BEFORE {VERB} ON audit_log
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
_FORBID_REPLACING = """
CREATE TRIGGER audit_log_no_replacement BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE position = NEW.position)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
_FORBID_POSTGRES = (
    """
CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$
""",
    """
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only()
""",
)


def upgrade() -> None:
    """Add the columns and tables; every campaign there is runs, and nothing that is past is announced."""
    op.add_column("campaigns", sa.Column("state", sa.String(8), nullable=False, server_default="running"))
    op.add_column("campaigns", sa.Column("paused_at_s", sa.BigInteger, nullable=True))
    op.add_column("campaigns", sa.Column("noticed_cycle", sa.Integer, nullable=False, server_default="0"))
    op.add_column("cycles", sa.Column("excluded", sa.SmallInteger, nullable=False, server_default="0"))
    op.execute(
        "UPDATE campaigns SET noticed_cycle = COALESCE((SELECT max(number) FROM cycles"
        " WHERE cycles.campaign_id = campaigns.id AND cycles.state = 'closed'), 0)"
    )
    op.create_table(
        "operators",
        sa.Column("name", sa.String(63), primary_key=True),
        sa.Column("token_sha256", sa.LargeBinary, nullable=False),
        sa.Column("created_at_s", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "audit_log",
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("at_s", sa.BigInteger, nullable=False),
        sa.Column("operator", sa.String(63), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("campaign", sa.String(63), nullable=True),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("way", sa.String(8), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_at_s", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_try_at_s", sa.Double, nullable=True),
        sa.Column("state", sa.String(8), nullable=False),
    )
    op.create_table(
        "probes", sa.Column("id", sa.Integer, primary_key=True), sa.Column("written", sa.LargeBinary, nullable=False)
    )
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(_FORBID_SQLITE.format(verb=verb, VERB=verb.upper()))
        op.execute(_FORBID_REPLACING)
    else:
        for statement in _FORBID_POSTGRES:
            op.execute(statement)


def downgrade() -> None:
    """Nothing: what operators did stays written."""
    raise NotImplementedError("The audit log stays; restore a backup of the older version instead.")
