"""What an operator's day needs: states of campaigns, cycles left out, named operators, an audit log, notices."""

from __future__ import annotations

from alembic import op

from sfumato.collect.service.migrations.steps import forbid_changes, forbid_replacing
from sfumato.collect.service.store.schema import columns

revision = "0003"
down_revision = "0002"

_COLUMNS = (
    ("campaigns", "state 8 =running, paused_at_s big null, noticed_cycle int =0"),
    ("cycles", "excluded small =0"),
)
_TABLES = (
    ("operators", "name 63 key, token_sha256 bytes, created_at_s big"),
    ("audit_log", "position int key, at_s big, operator 63, action 32, campaign 63 null, detail text"),
    (
        "notices",
        "id int key, way 8, subject text, body text, created_at_s big, attempts int, next_try_at_s double null,state 8",
    ),
    ("probes", "id int key, written bytes"),
)


def upgrade() -> None:
    """Add the columns and tables; every campaign there is runs, and nothing that is past is announced."""
    for table, described in _COLUMNS:
        for column in columns(described):
            op.add_column(table, column)
    op.execute(
        "UPDATE campaigns SET noticed_cycle = COALESCE((SELECT max(number) FROM cycles"
        " WHERE cycles.campaign_id = campaigns.id AND cycles.state = 'closed'), 0)"
    )
    for name, described in _TABLES:
        op.create_table(name, *columns(described))
    forbid_changes("audit_log", "the audit log")
    forbid_replacing("audit_log", "the audit log", "position = NEW.position")


def downgrade() -> None:
    """Nothing: what operators did stays written."""
    raise NotImplementedError("The audit log stays; restore a backup of the older version instead.")
