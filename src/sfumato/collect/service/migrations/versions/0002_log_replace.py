"""Close the one way around the append-only log that SQLite leaves: INSERT OR REPLACE fires no trigger of deletion."""

from __future__ import annotations

from sfumato.collect.service.migrations.steps import forbid_replacing

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Forbid it."""
    forbid_replacing("channel_log", "the log of versions", "campaign_id = NEW.campaign_id AND position = NEW.position")


def downgrade() -> None:
    """Nothing: the log stays append-only."""
    raise NotImplementedError("The log of versions stays append-only.")
