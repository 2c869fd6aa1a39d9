"""The first tables, written out so that later changes of the schema do not change the past."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from sfumato.collect.service.migrations.steps import forbid_changes
from sfumato.collect.service.store.schema import CYCLE_STATES, columns

revision = "0001"
down_revision = None

_TABLES = {
    "server_secrets": "name 64 key, value bytes",
    "campaigns": "id int key, name 63 unique, specification text, created_at_s big",
    "cycles": "campaign_id int key >campaigns.id, number int key, version 64, payload text, signature 86, facts text,"
    "state 8, opened_at_s big, due_at_s big null, closed_at_s big null, merged_periods int, tickets big,"
    "relayed_reports big, closer 32 null, lease_until_s double null",
    "tallies": "campaign_id int key, cycle int key, relayed small key, cell int key, reports big",
    "report_keys": "campaign_id int key, cycle int key, key bytes16 key",
    "spent_tickets": "campaign_id int key, scope int key, nonce bytes16 key",
    "estimates": "campaign_id int key, cycle int key, facts text, probabilities bytes, low bytes, high bytes",
    "channel_log": "campaign_id int key, position int key, cycle int, version 64, previous 64, entry 64, signature 86",
}
_WITHOUT_ROWID = ("tallies", "report_keys", "spent_tickets")


def upgrade() -> None:
    """Make every table and the triggers that keep the log append-only."""
    for name, described in _TABLES.items():
        rules = [sa.CheckConstraint(CYCLE_STATES, name="a_cycle_is_open_closing_or_closed")] if name == "cycles" else []
        more = {"sqlite_with_rowid": False} if name in _WITHOUT_ROWID else {}
        op.create_table(name, *columns(described), *rules, **more)
    forbid_changes("channel_log", "the log of versions")


def downgrade() -> None:
    """Nothing: the first tables are never taken away from under a campaign."""
    raise NotImplementedError("The first migration cannot be undone; delete the database instead.")
