"""Keep who has had a blind ticket, and the rounds' keys; campaigns made before go on with linkable tickets."""

from __future__ import annotations

from alembic import op

from sfumato.collect.service.store.schema import columns

revision = "0007"
down_revision = "0006"
_ISSUED = "campaign_id int key, scope int key, holder bytes16 key, blinded_sha256 bytes"


def upgrade() -> None:
    """Two tables, empty."""
    op.create_table("issued_tickets", *columns(_ISSUED), sqlite_with_rowid=False)
    op.create_table("ticket_keys", *columns("campaign_id int key, cycle int key, private bytes"))


def downgrade() -> None:
    """Blind tickets of open rounds can no longer be spent."""
    op.drop_table("ticket_keys")
    op.drop_table("issued_tickets")
