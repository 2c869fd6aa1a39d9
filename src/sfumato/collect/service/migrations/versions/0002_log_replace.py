"""Close the one way around the append-only log that SQLite leaves: INSERT OR REPLACE fires no trigger of deletion."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

_FORBID_REPLACING = """
CREATE TRIGGER channel_log_no_replacement BEFORE INSERT ON channel_log
WHEN EXISTS (SELECT 1 FROM channel_log WHERE campaign_id = NEW.campaign_id AND position = NEW.position)
BEGIN SELECT RAISE(ABORT, 'the log of versions is append-only'); END
"""


def upgrade() -> None:
    """Forbid it on SQLite; PostgreSQL's trigger of updates covers ON CONFLICT DO UPDATE."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_FORBID_REPLACING)


def downgrade() -> None:
    """Nothing: the log stays append-only."""
    raise NotImplementedError("The log of versions stays append-only.")
